//! The moves of an army.

use super::cell::{Cell, CellSet};
use super::geometry::Geometry;

/// A move: the cell that a piece leaves and the cell on which it ends. The
/// path of a chain of jumps does not matter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Move {
    /// The cell of the piece before the move.
    pub from: Cell,
    /// The cell of the piece after the move.
    pub to: Cell,
}

impl Geometry {
    /// Returns the moves of the pieces of an army, ordered by `from`, then `to`.
    ///
    /// `others` are the pieces of the other army. Pass [`CellSet::EMPTY`] if
    /// the army is alone on the board, as it is in distance tables.
    ///
    /// ```
    /// use sternhalma_data::{Board, CellSet, State};
    /// let board = Board::new(9, 6)?;
    /// let start = State::start(board).cells();
    /// assert_eq!(board.geometry().army_moves(start, CellSet::EMPTY).count(), 10);
    /// # Ok::<(), sternhalma_data::BoardError>(())
    /// ```
    pub fn army_moves(&self, army: CellSet, others: CellSet) -> impl Iterator<Item = Move> + '_ {
        army.iter().flat_map(move |from| {
            let destinations = self.destinations((army | others).without(from), from);
            destinations.iter().map(move |to| Move { from, to })
        })
    }
}
