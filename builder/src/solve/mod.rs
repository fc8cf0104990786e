//! The strong solution of the two-player game: win, loss or draw of every position, with the plies to the end.
//!
//! Positions are found layer by layer from the ends of games. A position is won in `d` plies if a move leads to a position
//! that is lost in `d - 1`, and lost in `d` if all moves lead to won positions, the longest of which take `d - 1`. What is
//! left is drawn. The moves of one player beside a fixed army of the opponent stay in one row of the
//! [space of positions](sternhalma_data::solution::PositionSpace), so a row is expanded at once.

mod row;
mod solver;

#[cfg(test)]
mod tests;

pub use solver::{Solution, solve};
