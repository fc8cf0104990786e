//! Boards, states, moves, ranks and their notation. Nothing here does I/O.
//!
//! | type | meaning |
//! |---|---|
//! | [`Board`] | size of the board and of its armies |
//! | [`Geometry`] | neighbors, jumps and names of the cells |
//! | [`CellSet`] | a set of cells, as a bitboard |
//! | [`Position`] | both armies in board order |
//! | [`State`] | one army in goal order, the index of tables |
//! | [`Rank`] | the number of a state |
//! | [`Drawing`] | a position as a picture |
//! | [`Prefix`] | the states that a table covers |
//! | [`Symmetry`] | the mirror symmetry of a prefix, and reduced ranks |
//! | [`MirroredRuns`] | the reduced ranks of runs of consecutive ranks |

mod cell;
mod colex;
mod drawing;
mod geometry;
mod moves;
mod notation;
mod position;
mod prefix;
mod rank;
mod rule_set;
mod rules;
mod runs;
mod seal;
mod setup;
mod side;
mod state;
mod states;
mod symmetry;

pub use cell::{Cell, CellIter, CellSet};
pub(crate) use colex::{MAX_PIECES, ROW};
pub use colex::{binomial, choose};
pub use drawing::Drawing;
pub use geometry::{Geometry, Jump};
pub use moves::Move;
pub use notation::{NotationError, PositionFault};
pub use position::Position;
pub use prefix::Prefix;
pub use rank::{PartialRank, Rank, rank_above};
pub use rule_set::{BlockedGoal, ParseRuleSetError, RuleSet, Switches, WithoutMove, WonAlready};
pub use rules::{GameRules, Pattern, Standing};
pub use runs::{MirroredRuns, RunPart};
pub use seal::{Seal, SealRule, Suspects};
pub use setup::{Board, BoardError};
pub use side::{ParseSideError, Side};
pub use state::State;
pub use states::States;
pub use symmetry::{Row, Stretch, Symmetry};
