//! The game: rules, moves, repetitions, and games in lanes for reinforcement learning.

mod filter;
mod game;
pub mod lanes;
mod repetition;

pub(crate) use filter::random_move;
pub use filter::{Filter, Pieces};
pub use game::{Action, ChineseCheckers, GameSetup, GameState, Outcome, PLY_LIMIT, Placement, board_of};
pub use repetition::{OCCURRENCES, Repetitions};
