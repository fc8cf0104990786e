//! Boards, moves and distance tables of Chinese Checkers.
//!
//! A distance table holds, for every way to place one player's army, the fewest
//! moves to its goal. This crate opens such tables and probes them:
//!
//! ```
//! use sternhalma_data::{Probe, Side, Table};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1-4x4-3-within13-byte.sht");
//! # /*
//! let path = "tests/golden/v1-4x4-3-within13-byte.sht";
//! # */
//! let table = Table::open(path)?;
//! let state = table.board().parse_state("d4,d3,b4", Side::X)?;
//! match table.probe(state)? {
//!     Probe::Exact(distance) => println!("{distance} moves"),
//!     Probe::UpperBound(distance) => println!("at most {distance} moves"),
//!     Probe::NotCovered => println!("outside the table"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`board`] has the rules: boards, cells, moves, states, ranks and notation.
//!   The module does no I/O.
//! - [`table`] has the tables: opening, probing and streaming. The modules
//!   [`table::write`] and [`table::fs`] are the low level on which the crate
//!   `sternhalma-builder` makes tables.
//!
//! The army of one player alone on the board is a [`State`], in which cell 0 is
//! the tip of the goal. [`Position`]s and texts use the cells of the board.
//! [`State::from_army`] and [`State::to_army`] convert between the two:
//!
//! ```
//! use sternhalma_data::{Board, Position, Rank, Side, State};
//! let board = Board::new(9, 6)?;
//! assert_eq!(board.states(), 324_540_216);
//!
//! // The state in which the army is at home has the largest rank.
//! let home = Position::initial(board).army(Side::X);
//! let state = State::from_army(board, Side::X, home);
//! assert_eq!(state.rank(), Rank(board.states() - 1));
//! # Ok::<(), sternhalma_data::BoardError>(())
//! ```
//!
//! `docs/reference/notation.md` defines the text of cells, moves and positions, and
//! `docs/reference/table-format.md` the bytes of a table file.

#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod board;
pub mod solution;
pub mod table;

pub use board::{
    Board, BoardError, Cell, CellSet, Geometry, Move, NotationError, Position, Prefix, Rank, RuleSet, Side, State,
    States,
};
pub use table::{
    Distance, DistanceStream, Encoding, Probe, ProbedState, SideTable, Table, TableError, TableInfo, TableOptions,
    TableSpec,
};
