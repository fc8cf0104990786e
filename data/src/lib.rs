//! Boards, moves, ranks and distance-table files of Chinese Checkers.
#![warn(missing_docs)]

mod board;
mod cell;
mod notation;
mod position;
mod rank;

pub use board::{Board, BoardError, Geometry, Jump, Player, Prefix};
pub use cell::{Cell, CellIter, CellSet};
pub use notation::NotationError;
pub use position::{Move, Position, army_moves};
pub use rank::{Rank, States, binomial};
