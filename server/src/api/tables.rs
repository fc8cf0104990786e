//! The tables and their metadata.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use sternhalma_data::table::Provenance;
use sternhalma_data::{Side, Table, TableError};
use utoipa::{IntoParams, ToSchema};

use super::cache::answer_about;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Json, NoParams, Path, Query, TablePath};
use crate::openapi::{self, Shared};
use crate::rows::{TableRow, Unreadable};
use crate::tables::{Listing, OpenTable};

/// The tables, and the files that cannot be read.
#[derive(Serialize, ToSchema)]
pub struct Tables {
    tables: Vec<TableRow>,
    unreadable: Vec<Unreadable>,
    /// Whether this server deletes tables.
    deletes: bool,
}

/// Lists the tables.
#[utoipa::path(
    get,
    path = "/api/tables",
    operation_id = "tables",
    responses((status = 200, body = Tables), Shared<500>)
)]
pub async fn list(State(app): State<Arc<App>>, Query(NoParams {}): Query<NoParams>) -> Result<Json<Tables>, ApiError> {
    let shared = app.clone();
    let list = move |_| {
        let Listing { tables: open, mut unreadable } = shared.tables.list()?;
        let mut tables = Vec::new();
        for open in open {
            match TableRow::new(&open.name, &open.table) {
                Ok(row) => tables.push(row),
                Err(error) => unreadable.push((open.name.clone(), error)),
            }
        }
        let row = |(name, error): (String, TableError)| Unreadable { name, error: error.to_string() };
        let unreadable = unreadable.into_iter().map(row).collect();
        Ok(Json(Tables { tables, unreadable, deletes: shared.deletes_tables }))
    };
    app.work.run(list).await
}

/// A table and how it was built.
#[derive(Serialize, ToSchema)]
#[schema(as = Table)]
struct TableDetails {
    #[serde(flatten)]
    table: TableRow,
    /// The number of states at each distance.
    layers: Vec<u64>,
    partitions: Vec<PartitionRow>,
    /// How the table was built, see docs/reference/table-format.md, without the commands, which name folders.
    #[schema(value_type = Object)]
    provenance: Provenance,
}

/// The states whose rearmost piece is on a cell, and the prefix that ends with them.
#[derive(Serialize, ToSchema)]
#[schema(as = Partition)]
struct PartitionRow {
    /// The cell of the rearmost piece of side `x`.
    #[schema(value_type = openapi::Cell)]
    back: String,
    #[schema(minimum = 1, maximum = 121)]
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

/// Describes a table.
#[utoipa::path(
    get,
    path = "/api/tables/{table}",
    params(TablePath),
    responses((status = 200, body = TableDetails), Shared<304>, Shared<404>, Shared<500>)
)]
pub async fn table(
    State(app): State<Arc<App>>,
    Path(TablePath { table }): Path<TablePath>,
    Query(NoParams {}): Query<NoParams>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let details = |open: &OpenTable, _| {
        Ok(TableDetails {
            table: TableRow::new(&open.name, &open.table)?,
            layers: open.table.info().layers.clone(),
            partitions: partitions(&open.table),
            provenance: open.table.provenance().without_commands(),
        })
    };
    answer_about(app, table, uri, headers, details).await
}

/// The contents of the table to delete.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteParams {
    /// The checksum of the table, so that no other table is deleted that has the same name by now.
    #[param(pattern = "^[0-9a-f]{16}$", example = "0000000000000000")]
    checksum: String,
}

/// Deletes the file of a table.
#[utoipa::path(
    delete,
    path = "/api/tables/{table}",
    params(TablePath, DeleteParams),
    operation_id = "deleteTable",
    responses((status = 204, description = "The file is deleted."), Shared<404>, Shared<409>, Shared<500>)
)]
pub async fn delete(
    State(app): State<Arc<App>>,
    Path(TablePath { table }): Path<TablePath>,
    Query(DeleteParams { checksum }): Query<DeleteParams>,
) -> Result<StatusCode, ApiError> {
    if !app.deletes_tables {
        return Err(ApiError::forbidden(
            "this server does not delete tables, because other machines can connect; remove the file on its machine",
        ));
    }
    let shared = app.clone();
    app.work.run(move |_| shared.tables.delete(&table, &checksum)).await?;
    Ok(StatusCode::NO_CONTENT)
}
