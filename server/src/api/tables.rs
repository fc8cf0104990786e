//! The tables and their metadata.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde::Serialize;
use sternhalma_data::table::Provenance;
use sternhalma_data::{Side, State as ArmyState, Table, TableError};

use super::cache::answer_about;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Json, Name, NoParams, Params};
use crate::tables::{Listing, OpenTable};

/// What a table contains. The names are those of `sternhalma info --json`.
#[derive(Serialize)]
struct TableRow {
    name: String,
    side: usize,
    pieces: usize,
    within: usize,
    states: u64,
    encoding: String,
    mirrored: bool,
    bytes: u64,
    max_distance: u8,
    /// The distance of the army in the corner opposite the goal.
    start_distance: Option<u8>,
    exact_to: Option<u32>,
    checksum: String,
}

impl TableRow {
    fn of(open: &OpenTable) -> Result<TableRow, TableError> {
        let table = &*open.table;
        let (prefix, board) = (table.prefix(), table.board());
        Ok(TableRow {
            name: open.name.clone(),
            side: board.size(),
            pieces: board.pieces(),
            within: prefix.within(),
            states: prefix.states(),
            encoding: table.encoding().to_string(),
            mirrored: table.spec().mirrored,
            bytes: table.file_bytes(),
            max_distance: table.max_distance().0,
            start_distance: table.probe(ArmyState::start(board))?.distance().map(|distance| distance.0),
            exact_to: table.proven_depth(),
            checksum: format!("{:016x}", table.checksum()),
        })
    }
}

#[derive(Serialize)]
pub struct Tables {
    tables: Vec<TableRow>,
    unreadable: Vec<Unreadable>,
}

#[derive(Serialize)]
struct Unreadable {
    name: String,
    error: String,
}

pub async fn list(
    State(app): State<Arc<App>>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<Tables>, ApiError> {
    let shared = app.clone();
    let list = move |_| {
        let Listing { tables: open, mut unreadable } = shared.tables.list()?;
        let mut tables = Vec::new();
        for open in open {
            match TableRow::of(&open) {
                Ok(row) => tables.push(row),
                Err(error) => unreadable.push((open.name.clone(), error)),
            }
        }
        let row = |(name, error): (String, TableError)| Unreadable { name, error: error.to_string() };
        Ok(Json(Tables { tables, unreadable: unreadable.into_iter().map(row).collect() }))
    };
    app.work.run(list).await
}

#[derive(Serialize)]
struct TableDetails {
    #[serde(flatten)]
    table: TableRow,
    /// The number of states at each distance.
    layers: Vec<u64>,
    partitions: Vec<PartitionRow>,
    provenance: Provenance,
}

/// The states whose rearmost piece is on a cell, and the prefix that ends with them.
#[derive(Serialize)]
struct PartitionRow {
    /// The cell of the rearmost piece of side `x`.
    back: String,
    within: usize,
    states: u64,
}

fn partitions(table: &Table) -> Vec<PartitionRow> {
    let (board, prefix) = (table.board(), table.prefix());
    let row = |back: usize| {
        let ranks = prefix.partition(back);
        let cell = sternhalma_data::Cell::new(back).to_board_order(board, Side::X);
        PartitionRow { back: board.geometry().cell_name(cell), within: back + 1, states: ranks.end - ranks.start }
    };
    prefix.back_cells().map(row).collect()
}

pub async fn table(
    State(app): State<Arc<App>>,
    Name(name): Name,
    Params(NoParams {}): Params<NoParams>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let details = |open: &OpenTable, _| {
        Ok(TableDetails {
            table: TableRow::of(open)?,
            layers: open.table.info().layers.clone(),
            partitions: partitions(&open.table),
            provenance: open.table.provenance().clone(),
        })
    };
    answer_about(app, name, uri, headers, details).await
}
