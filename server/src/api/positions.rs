//! Positions of the two-player game.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sternhalma_data::{Board, Position, Probe, Side, State as ArmyState, TableError};
use sternhalma_engine::ugi::legal_action;
use sternhalma_engine::{Action, ChineseCheckers, Distances, Filter, GameState, Outcome, Separated, board_of};
use sternhalma_ggp::Game;

use super::rows::{DistanceRow, MoveRow, best_first};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Json, NoParams, Params};
use crate::tables::OpenTable;

/// The board of `startpos`, if no table is named: its size and its pieces.
const DEFAULT_BOARD: (u64, u64) = (9, 6);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositionParams {
    position: String,
    table: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayBody {
    position: String,
    #[serde(rename = "move")]
    mv: String,
    table: Option<String>,
}

/// The rules of a board, and a state of its game.
pub struct Placed {
    /// The rules.
    pub game: ChineseCheckers,
    /// The state.
    pub state: GameState,
}

impl Placed {
    /// Parses a position string, or `startpos` on a board. A position string contains its board.
    ///
    /// # Errors
    /// If the text is neither, or no game has such a position.
    pub fn parse(text: &str, board: Option<Board>) -> Result<Placed, ApiError> {
        let default = || Board::new(DEFAULT_BOARD.0, DEFAULT_BOARD.1);
        let position: Position = match (text.contains('/'), board) {
            (true, None) => text.parse()?,
            (_, Some(board)) => board.parse_position(text)?,
            (false, None) => default()?.parse_position(text)?,
        };
        let game = ChineseCheckers::new(board_of(&position).map_err(ApiError::invalid)?, Filter::All);
        let state = game.state(&position).ok_or_else(|| ApiError::invalid("no game has this position"))?;
        Ok(Placed { game, state })
    }

    /// Plays a move.
    ///
    /// # Errors
    /// If the move is not legal.
    pub fn play(&mut self, text: &str) -> Result<Action, ApiError> {
        let action = legal_action(&self.game, &self.state, text).map_err(ApiError::invalid)?;
        self.game.play_action(&mut self.state, action);
        Ok(action)
    }
}

#[derive(Serialize)]
pub struct PositionAnswer {
    position: String,
    side: usize,
    pieces: usize,
    player: String,
    ply: u32,
    result: Option<String>,
    /// The name of the table of the distances.
    table: Option<String>,
    distances: BothDistances,
    /// The distance of `o` minus that of `x`.
    lead: Option<i16>,
    /// Whether the armies have passed each other.
    separated: bool,
    moves: Vec<MoveRow>,
}

#[derive(Serialize)]
struct BothDistances {
    x: DistanceRow,
    o: DistanceRow,
}

fn answer(Placed { game, state }: &Placed, open: Option<&OpenTable>) -> Result<PositionAnswer, TableError> {
    let board = game.board();
    let probe = |army, side| -> Result<DistanceRow, TableError> {
        let probe =
            open.map_or(Ok(Probe::NotCovered), |open| open.table.probe(ArmyState::from_army(board, side, army)))?;
        Ok(probe.into())
    };
    let of = |side| probe(state.army(side), side);
    let distances = BothDistances { x: of(Side::X)?, o: of(Side::O)? };
    let player = state.player();
    let before = if player == Side::X { distances.x } else { distances.o };
    let occupied = state.army(Side::X) | state.army(Side::O);
    let mut moves = Vec::new();
    for action in legal(game, state) {
        moves.push(match action {
            Some(mv) => {
                let after = probe(state.army(player).without(mv.from).with(mv.to), player)?;
                MoveRow::new(board, occupied.without(mv.from), mv, before, after)
            }
            None => MoveRow::pass(before),
        });
    }
    best_first(&mut moves);
    Ok(PositionAnswer {
        position: game.position(state).to_string(),
        side: board.size(),
        pieces: board.pieces(),
        player: player.to_string(),
        ply: state.ply(),
        result: state.outcome().map(result_text),
        table: open.map(|open| open.name.clone()),
        lead: distances.o.change(distances.x),
        distances,
        separated: Separated::new(game, Distances::estimated(board)).holds(state),
        moves,
    })
}

/// Returns the legal actions. A finished game has none.
fn legal(game: &ChineseCheckers, state: &GameState) -> Vec<Action> {
    let mut legal = Vec::new();
    if state.outcome().is_none() {
        game.legal(state, state.player() as usize, &mut legal);
    }
    legal
}

fn result_text(outcome: Outcome) -> String {
    match outcome {
        Outcome::Won(side) => side.to_string(),
        Outcome::Draw => "draw".to_owned(),
    }
}

/// Looks up a position, after a move if there is one.
async fn look_up(
    app: Arc<App>,
    position: String,
    mv: Option<String>,
    table: Option<String>,
) -> Result<Json<PositionAnswer>, ApiError> {
    let shared = app.clone();
    let job = move |_| {
        let named = table.map(|name| shared.tables.open(&name)).transpose()?;
        let mut placed = Placed::parse(&position, named.as_ref().map(|open| open.table.board()))?;
        if let Some(open) = named.as_ref().filter(|open| open.table.board() != placed.game.board()) {
            let (board, found) = (open.table.board(), placed.game.board());
            return Err(ApiError::invalid(format!("the table is of {board}, and the position of {found}")));
        }
        if let Some(mv) = mv {
            placed.play(&mv)?;
        }
        let open = named.map_or_else(|| shared.tables.best(placed.game.board()), |open| Ok(Some(open)))?;
        Ok(Json(answer(&placed, open.as_deref())?))
    };
    app.work.run(job).await
}

pub async fn position(
    State(app): State<Arc<App>>,
    Params(params): Params<PositionParams>,
) -> Result<Json<PositionAnswer>, ApiError> {
    look_up(app, params.position, None, params.table).await
}

pub async fn play(
    State(app): State<Arc<App>>,
    Params(NoParams {}): Params<NoParams>,
    Json(body): Json<PlayBody>,
) -> Result<Json<PositionAnswer>, ApiError> {
    look_up(app, body.position, Some(body.mv), body.table).await
}
