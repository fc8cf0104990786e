//! States of one army: their distances, moves and shortest lines.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use sternhalma_data::{Board, CellSet, Move, Probe, Side, Table, TableError};

use super::cache::answer_about;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Name, Params};
use crate::rows::{MoveRow, default_player, path};
use crate::tables::OpenTable;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateParams {
    state: String,
    #[serde(default = "default_player")]
    player: Side,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeatParams {
    state: String,
    #[serde(default = "default_player")]
    player: Side,
    piece: String,
}

/// Parses the army of a request.
fn parse_army(table: &Table, text: &str, side: Side) -> Result<CellSet, ApiError> {
    let board = table.board();
    Ok(board.parse_state(text, side)?.to_army(board, side))
}

/// What a table knows about a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
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

#[derive(Serialize)]
struct StateAnswer {
    state: String,
    player: Side,
    rank: u64,
    #[serde(flatten)]
    distance: Probe,
    category: Category,
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

pub async fn state(
    State(app): State<Arc<App>>,
    Name(name): Name,
    Params(params): Params<StateParams>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let answer = move |open: &OpenTable, _| {
        let army = parse_army(&open.table, &params.state, params.player)?;
        Ok(state_answer(&open.table, params.player, army)?)
    };
    answer_about(app, name, uri, headers, answer).await
}

#[derive(Serialize)]
struct LineAnswer {
    state: String,
    player: Side,
    #[serde(flatten)]
    distance: Probe,
    line: Vec<LineRow>,
}

/// A move of a line, and the state after it.
#[derive(Serialize)]
struct LineRow {
    #[serde(rename = "move")]
    mv: String,
    path: Vec<String>,
    state: String,
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

pub async fn line(
    State(app): State<Arc<App>>,
    Name(name): Name,
    Params(params): Params<StateParams>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let answer = move |open: &OpenTable, _| {
        let (side, board) = (params.player, open.table.board());
        let army = parse_army(&open.table, &params.state, side)?;
        let probed = open.table.side(side).probed(army)?;
        let line = probed.solution()?.ok_or_else(|| ApiError::missing("the table does not cover this state"))?;
        Ok(LineAnswer {
            state: board.geometry().cells_text(army),
            player: side,
            distance: probed.probe(),
            line: line_rows(board, army, &line),
        })
    };
    answer_about(app, name, uri, headers, answer).await
}

#[derive(Serialize)]
struct HeatAnswer {
    state: String,
    player: Side,
    piece: String,
    cells: Vec<HeatRow>,
}

#[derive(Serialize)]
struct HeatRow {
    cell: String,
    #[serde(flatten)]
    distance: Probe,
}

pub async fn heat(
    State(app): State<Arc<App>>,
    Name(name): Name,
    Params(params): Params<HeatParams>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let answer = move |open: &OpenTable, _| {
        let (side, board) = (params.player, open.table.board());
        let geometry = board.geometry();
        let army = parse_army(&open.table, &params.state, side)?;
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
    answer_about(app, name, uri, headers, answer).await
}
