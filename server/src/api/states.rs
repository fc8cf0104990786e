//! States of one army: their distances, moves and shortest lines.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use sternhalma_data::{Board, CellSet, Move, Probe, Side, State as ArmyState, Table, TableError};

use super::cache::answer_about;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Name, Params};
use crate::rows::{DistanceRow, MoveRow, Player, best_first, path};
use crate::tables::OpenTable;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateParams {
    state: String,
    #[serde(default)]
    player: Player,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeatParams {
    state: String,
    #[serde(default)]
    player: Player,
    piece: String,
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
    player: String,
    rank: u64,
    #[serde(flatten)]
    distance: DistanceRow,
    category: Category,
    moves: Vec<MoveRow>,
}

/// Returns the answer for a state, with all its moves, the best first.
fn state_answer(table: &Table, side: Side, state: ArmyState) -> Result<StateAnswer, TableError> {
    let board = table.board();
    let probed = table.probed_state(state)?;
    let probe = probed.as_ref().map_or(Probe::NotCovered, |probed| probed.probe());
    let before = DistanceRow::from(probe);
    let army = state.to_army(board, side);
    let mut moves = Vec::new();
    for mv in board.geometry().army_moves(state.cells(), CellSet::EMPTY) {
        let after = match &probed {
            Some(probed) => probed.after(mv)?.map_or(Probe::NotCovered, |probed| probed.probe()),
            None => table.probe(state.after(mv))?,
        };
        let mv = mv.to_board_order(board, side);
        moves.push(MoveRow::new(board, army.without(mv.from), mv, before, after.into()));
    }
    best_first(&mut moves);
    Ok(StateAnswer {
        state: board.geometry().cells_text(army),
        player: side.to_string(),
        rank: state.rank().0,
        distance: before,
        category: Category::of(probe),
        moves,
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
        let Player(side) = params.player;
        let state = open.table.board().parse_state(&params.state, side)?;
        Ok(state_answer(&open.table, side, state)?)
    };
    answer_about(app, name, uri, headers, answer).await
}

#[derive(Serialize)]
struct LineAnswer {
    state: String,
    player: String,
    #[serde(flatten)]
    distance: DistanceRow,
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
fn line_rows(board: Board, side: Side, start: ArmyState, line: &[Move]) -> Vec<LineRow> {
    let mut state = start;
    let mut left = line.len() as u8;
    let row = |&mv: &Move| {
        let army = state.to_army(board, side);
        state = state.after(mv);
        left -= 1;
        let mv = mv.to_board_order(board, side);
        LineRow {
            mv: board.geometry().move_text(mv),
            path: path(board, army.without(mv.from), mv),
            state: board.state_text(state, side),
            distance: left,
        }
    };
    line.iter().map(row).collect()
}

pub async fn line(
    State(app): State<Arc<App>>,
    Name(name): Name,
    Params(params): Params<StateParams>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let answer = move |open: &OpenTable, _| {
        let (Player(side), board) = (params.player, open.table.board());
        let state = board.parse_state(&params.state, side)?;
        let outside = || ApiError::missing("the table does not cover this state");
        let probed = open.table.probed_state(state)?.ok_or_else(outside)?;
        Ok(LineAnswer {
            state: board.state_text(state, side),
            player: side.to_string(),
            distance: probed.probe().into(),
            line: line_rows(board, side, state, &probed.solution()?),
        })
    };
    answer_about(app, name, uri, headers, answer).await
}

#[derive(Serialize)]
struct HeatAnswer {
    state: String,
    player: String,
    piece: String,
    cells: Vec<HeatRow>,
}

#[derive(Serialize)]
struct HeatRow {
    cell: String,
    #[serde(flatten)]
    distance: DistanceRow,
}

pub async fn heat(
    State(app): State<Arc<App>>,
    Name(name): Name,
    Params(params): Params<HeatParams>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let answer = move |open: &OpenTable, _| {
        let (Player(side), board) = (params.player, open.table.board());
        let geometry = board.geometry();
        let army = board.parse_state(&params.state, side)?.to_army(board, side);
        let piece = geometry.parse_cell(&params.piece)?;
        if !army.contains(piece) {
            return Err(ApiError::invalid(format!("the state has no piece on `{}`", params.piece)));
        }
        let others = army.without(piece);
        let mut cells = Vec::new();
        for cell in CellSet::first_cells(board.cells()) - others {
            let state = ArmyState::from_army(board, side, others.with(cell));
            let distance = open.table.probe(state)?.into();
            cells.push(HeatRow { cell: geometry.cell_name(cell), distance });
        }
        let state = geometry.cells_text(army);
        Ok(HeatAnswer { state, player: side.to_string(), piece: params.piece, cells })
    };
    answer_about(app, name, uri, headers, answer).await
}
