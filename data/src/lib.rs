//! Boards, moves, ranks and distance-table files of Chinese Checkers.
//!
//! A [`Board`] is a diamond of `side` × `side` cells with armies of so many
//! pieces. One player's pieces, alone on the board, are a *state*: a
//! [`CellSet`] in the order of cells that the player's goal tip sees. States
//! are numbered by their [`Rank`], and a [`Table`] holds for each the fewest
//! moves to the goal.
//!
//! ```
//! use sternhalma_data::{Board, Cell, CellSet, Side, Position, Rank, army_moves};
//! let board = Board::new(9, 6)?;
//! assert_eq!(board.states(), 324_540_216);
//!
//! // The army of `x` at home is as far from its goal as a rank can be.
//! let home = Position::initial(board).army(Side::X);
//! let state = Side::X.goal_view(board.cells(), home);
//! assert_eq!(Rank::of(state), Rank(board.states() - 1));
//! assert_eq!(army_moves(board.geometry(), state, CellSet::EMPTY).count(), 10);
//! # Ok::<(), sternhalma_data::BoardError>(())
//! ```
//!
//! `docs/notation.md` defines the text of cells, moves and positions,
//! `docs/table-format.md` the bytes of a table file.

#![deny(unsafe_code)]

mod block;
mod board;
mod cache;
mod cell;
mod error;
mod flat;
mod format;
#[allow(unsafe_code)]
mod map;
mod notation;
mod options;
mod position;
mod predict;
mod rank;
mod storage;
mod table;
mod unfold;
mod writer;

pub use block::BlockEncoder;
pub use board::{Board, BoardError, Geometry, Jump, Prefix, Side};
pub use cell::{Cell, CellIter, CellSet};
pub use error::TableError;
pub use flat::write_lex;
pub use format::{
    BLOCK_BYTES, Block, Encoding, LayerTraffic, Layout, Partition, Provenance, TableInfo, Zstd, checksum,
};
pub use map::install_sigbus_handler;
pub use notation::NotationError;
pub use options::TableOptions;
pub use position::{Move, Position, army_moves};
pub use rank::{PartialRank, Rank, States, binomial};
pub use storage::{AtomicFile, FileSystem, OsFileSystem, RandomAccessFile, Traffic, parent_directory};
pub use table::{Distance, Probe, ProbedState, Table};
pub use unfold::DistanceStream;
pub use writer::{NewTable, TableWriter};
