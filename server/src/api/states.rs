//! States of one army: their distances, moves and shortest lines.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use sternhalma_data::{Board, CellSet, Move, Probe, Side, Table, TableError};
use utoipa::{IntoParams, ToSchema};

use super::cache::answer_about;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Path, Query, TablePath};
use crate::openapi::{self, Shared};
use crate::rows::{MoveRow, default_player, path};
use crate::tables::OpenTable;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StateParams {
    /// Cells, `startpos`, `#RANK`, or a position string.
    #[param(min_length = 1, example = "a1,b1,c1,a2,b2,a3")]
    state: String,
    /// The side of the pieces; by default `x`.
    #[serde(default = "default_player")]
    #[param(value_type = openapi::Side)]
    player: Side,
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HeatParams {
    /// Cells, `startpos`, `#RANK`, or a position string.
    #[param(min_length = 1, example = "a1,b1,c1,a2,b2,a3")]
    state: String,
    /// The side of the pieces; by default `x`.
    #[serde(default = "default_player")]
    #[param(value_type = openapi::Side)]
    player: Side,
    /// The cell of the piece.
    #[param(value_type = openapi::Cell, example = "a1")]
    piece: String,
}

/// What a table knows about a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Category {
    Goal,
    Exact,
    Bound,
    Outside,
}

impl Category {
    fn of(probe: Probe) -> Category {
        match probe {
            Probe::Exact(distance) if distance.0 == 0 => Category::Goal,
            Probe::Exact(_) => Category::Exact,
            Probe::UpperBound(_) => Category::Bound,
            Probe::NotCovered => Category::Outside,
        }
    }
}

/// One army alone on the board.
#[derive(Serialize, ToSchema)]
#[schema(as = State)]
struct StateAnswer {
    state: String,
    #[schema(value_type = openapi::Side)]
    player: Side,
    rank: u64,
    #[serde(flatten)]
    #[schema(value_type = openapi::Distance)]
    distance: Probe,
    category: Category,
    /// The moves, best first.
    moves: Vec<MoveRow>,
}

/// Returns the answer for an army, with all its moves, the best first.
fn state_answer(table: &Table, side: Side, army: CellSet) -> Result<StateAnswer, TableError> {
    let board = table.board();
    let probed = table.side(side).probed(army)?;
    let before = probed.probe();
    let row = |(mv, after): (Move, _)| MoveRow::new(board, army.without(mv.from), mv, before, after);
    Ok(StateAnswer {
        state: board.geometry().cells_text(army),
        player: side,
        rank: probed.state().rank().0,
        distance: before,
        category: Category::of(before),
        moves: probed.moves()?.into_iter().map(row).collect(),
    })
}

/// Looks up a state and its moves.
#[utoipa::path(
    get,
    path = "/api/tables/{table}/state",
    params(TablePath, StateParams),
    responses((status = 200, body = StateAnswer), Shared<304>, Shared<404>, Shared<500>)
)]
pub async fn state(
    State(app): State<Arc<App>>,
    Path(TablePath { table }): Path<TablePath>,
    Query(params): Query<StateParams>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let answer = move |open: &OpenTable, _| {
        let army = open.table.board().parse_army(&params.state, params.player)?;
        Ok(state_answer(&open.table, params.player, army)?)
    };
    answer_about(app, table, uri, headers, answer).await
}

/// A shortest way to the goal.
#[derive(Serialize, ToSchema)]
#[schema(as = Line)]
struct LineAnswer {
    state: String,
    #[schema(value_type = openapi::Side)]
    player: Side,
    #[serde(flatten)]
    #[schema(value_type = openapi::KnownDistance)]
    distance: Probe,
    line: Vec<LineRow>,
}

/// A move of a line, and the state after it.
#[derive(Serialize, ToSchema)]
#[schema(as = LineMove)]
struct LineRow {
    #[serde(rename = "move")]
    #[schema(value_type = openapi::Move)]
    mv: String,
    #[schema(value_type = openapi::Path)]
    path: Vec<String>,
    state: String,
    #[schema(value_type = openapi::Moves)]
    distance: u8,
}

/// Returns the moves of a line, each with the state after it. Each move is one nearer to the goal.
fn line_rows(board: Board, mut army: CellSet, line: &[Move]) -> Vec<LineRow> {
    let geometry = board.geometry();
    let row = |(&mv, distance): (&Move, u8)| {
        let others = army.without(mv.from);
        army = others.with(mv.to);
        LineRow {
            mv: geometry.move_text(mv),
            path: path(board, others, mv),
            state: geometry.cells_text(army),
            distance,
        }
    };
    line.iter().zip((0..line.len() as u8).rev()).map(row).collect()
}

/// Returns a shortest line from a state to the goal.
#[utoipa::path(
    get,
    path = "/api/tables/{table}/line",
    params(TablePath, StateParams),
    responses((status = 200, body = LineAnswer), Shared<304>, Shared<404>, Shared<500>)
)]
pub async fn line(
    State(app): State<Arc<App>>,
    Path(TablePath { table }): Path<TablePath>,
    Query(params): Query<StateParams>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let answer = move |open: &OpenTable, _| {
        let (side, board) = (params.player, open.table.board());
        let army = board.parse_army(&params.state, side)?;
        let probed = open.table.side(side).probed(army)?;
        let line = probed.solution()?.ok_or_else(|| ApiError::missing("the table does not cover this state"))?;
        Ok(LineAnswer {
            state: board.geometry().cells_text(army),
            player: side,
            distance: probed.probe(),
            line: line_rows(board, army, &line),
        })
    };
    answer_about(app, table, uri, headers, answer).await
}

/// The distances for the cells that a piece could stand on.
#[derive(Serialize, ToSchema)]
#[schema(as = Heat)]
struct HeatAnswer {
    state: String,
    #[schema(value_type = openapi::Side)]
    player: Side,
    #[schema(value_type = openapi::Cell)]
    piece: String,
    cells: Vec<HeatRow>,
}

/// The distance if the piece stands on a cell.
#[derive(Serialize, ToSchema)]
#[schema(as = HeatCell)]
struct HeatRow {
    #[schema(value_type = openapi::Cell)]
    cell: String,
    #[serde(flatten)]
    #[schema(value_type = openapi::Distance)]
    distance: Probe,
}

/// Returns the distance for each cell that a piece could stand on.
#[utoipa::path(
    get,
    path = "/api/tables/{table}/heat",
    params(TablePath, HeatParams),
    responses((status = 200, body = HeatAnswer), Shared<304>, Shared<404>, Shared<500>)
)]
pub async fn heat(
    State(app): State<Arc<App>>,
    Path(TablePath { table }): Path<TablePath>,
    Query(params): Query<HeatParams>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let answer = move |open: &OpenTable, _| {
        let (side, board) = (params.player, open.table.board());
        let geometry = board.geometry();
        let army = board.parse_army(&params.state, side)?;
        let piece = geometry.parse_cell(&params.piece)?;
        if !army.contains(piece) {
            return Err(ApiError::invalid(format!("the state has no piece on `{}`", params.piece)));
        }
        let others = army.without(piece);
        let mut cells = Vec::new();
        for cell in CellSet::first_cells(board.cells()) - others {
            let distance = open.table.side(side).probe(others.with(cell))?;
            cells.push(HeatRow { cell: geometry.cell_name(cell), distance });
        }
        let state = geometry.cells_text(army);
        Ok(HeatAnswer { state, player: side, piece: params.piece, cells })
    };
    answer_about(app, table, uri, headers, answer).await
}
