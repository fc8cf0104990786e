//! The result, the legal moves and the distances of a position of the two-player game.

use serde::Serialize;
use sternhalma_data::{Board, CellSet, Move, Position, Probe, RuleSet, Side, Table, TableError};
use sternhalma_engine::players::Separated;
use sternhalma_engine::{Action, ChineseCheckers, Distances, Filter, GameHistory, GameState, Outcome, board_of};
use sternhalma_ggp::Game;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::openapi;
use crate::rows::{MoveRow, best_first, change, short};

/// Returns the rule set of requests that name none.
pub fn newest_rules() -> RuleSet {
    RuleSet::NEWEST
}

/// The board of `startpos`, if no table is named: its size and its pieces.
const DEFAULT_BOARD: (u64, u64) = (9, 6);

/// A game on a board, at a position.
pub struct Placed {
    /// The game since the position of a request.
    pub history: GameHistory,
}

impl Placed {
    /// Parses a position string, or `startpos` on a board. A position string contains its board.
    ///
    /// # Errors
    /// If the text is neither, or no game has such a position.
    pub fn parse(text: &str, board: Option<Board>, rules: RuleSet) -> Result<Placed, ApiError> {
        let default = || Board::new(DEFAULT_BOARD.0, DEFAULT_BOARD.1);
        let position: Position = match (text.contains('/'), board) {
            (true, None) => text.parse()?,
            (_, Some(board)) => board.parse_position(text)?,
            (false, None) => default()?.parse_position(text)?,
        };
        let board = board_of(&position)?;
        let game = ChineseCheckers::new(board, Filter::All).with_rules(rules);
        let history = GameHistory::at(game, position).ok_or_else(|| ApiError::invalid("no game has this position"))?;
        Ok(Placed { history })
    }

    /// Plays a move.
    ///
    /// # Errors
    /// If the move is not legal.
    pub fn play(&mut self, text: &str) -> Result<Action, ApiError> {
        Ok(self.history.play_text(text)?)
    }

    /// Returns the rules.
    pub fn game(&self) -> &ChineseCheckers {
        self.history.rules()
    }

    /// Returns the state after the moves.
    pub fn state(&self) -> &GameState {
        self.history.state()
    }
}

/// A position, with the distances of both armies and the legal moves.
#[derive(Serialize, ToSchema)]
#[schema(as = Position)]
pub struct PositionAnswer {
    position: String,
    /// The cells along an edge.
    #[schema(minimum = 3, maximum = 11)]
    side: usize,
    /// The pieces of an army.
    #[schema(minimum = 1, maximum = 15)]
    pieces: usize,
    /// The player to move.
    #[schema(value_type = openapi::Side)]
    player: Side,
    ply: u32,
    #[schema(value_type = Option<openapi::Result>)]
    result: Option<String>,
    /// The name of the table of the distances.
    table: Option<String>,
    distances: BothDistances,
    /// The distance of `o` minus that of `x`.
    lead: Option<i16>,
    /// Whether the armies have passed each other.
    separated: bool,
    /// The legal moves, best first. The distance is that of the player that moves.
    moves: Vec<MoveRow>,
    #[schema(value_type = openapi::RuleSet)]
    rules: RuleSet,
    /// The moves that only the rule against sealed goals forbids.
    forbidden: Vec<ForbiddenMove>,
}

/// A move that would seal the goal of the opponent.
#[derive(Serialize, ToSchema)]
struct ForbiddenMove {
    #[serde(rename = "move")]
    #[schema(value_type = openapi::Move)]
    mv: String,
    /// The cells that no piece of the opponent could enter.
    #[schema(value_type = Vec<openapi::Cell>)]
    sealed: Vec<String>,
}

/// A position as few characters. [`short`] and [`MoveRow::short`] describe the texts.
#[derive(Serialize)]
pub struct ShortPosition {
    #[serde(skip_serializing_if = "String::is_empty")]
    x: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    o: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    separated: bool,
    /// The moves, separated by blanks, best first.
    moves: String,
}

/// The distances of both armies.
#[derive(Serialize, ToSchema)]
struct BothDistances {
    #[schema(value_type = openapi::Distance)]
    x: Probe,
    #[schema(value_type = openapi::Distance)]
    o: Probe,
}

impl PositionAnswer {
    /// Looks up a position in a table with a name, if there is one.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub fn new(
        game: &ChineseCheckers,
        state: &GameState,
        table: Option<(&str, &Table)>,
    ) -> Result<PositionAnswer, TableError> {
        let board = game.board();
        let probe = |army, side| table.map_or(Ok(Probe::NotCovered), |(_, table)| table.side(side).probe(army));
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
            player,
            ply: state.ply(),
            result: state.outcome().map(result_text),
            table: table.map(|(name, _)| name.to_owned()),
            lead: change(distances.o, distances.x),
            distances,
            separated: Separated::new(game, Distances::estimated(board), Default::default(), Default::default())
                .holds(state),
            moves,
            rules: game.rules(),
            forbidden: game.forbidden(state).into_iter().map(|forbidden| ForbiddenMove::new(game, forbidden)).collect(),
        })
    }

    /// Returns the position without what follows from the position string.
    pub fn short(&self) -> ShortPosition {
        let moves: Vec<String> = self.moves.iter().map(MoveRow::short).collect();
        ShortPosition {
            x: short(self.distances.x),
            o: short(self.distances.o),
            result: self.result.clone(),
            separated: self.separated,
            moves: moves.join(" "),
        }
    }
}

impl ForbiddenMove {
    fn new(game: &ChineseCheckers, (mv, sealed): (Move, CellSet)) -> ForbiddenMove {
        let geometry = game.geometry();
        let sealed = sealed.iter().map(|cell| geometry.cell_name(cell)).collect();
        ForbiddenMove { mv: geometry.move_text(mv), sealed }
    }
}

/// Returns the legal actions. A finished game has none.
fn legal(game: &ChineseCheckers, state: &GameState) -> Vec<Action> {
    let mut legal = Vec::new();
    if state.outcome().is_none() {
        game.legal(state, state.player() as usize, &mut legal);
    }
    legal
}

/// Returns the result as the interface names it.
pub fn result_text(outcome: Outcome) -> String {
    match outcome {
        Outcome::Won(side) => side.to_string(),
        Outcome::Draw => "draw".to_owned(),
    }
}
