//! The moves of an army.

use std::collections::VecDeque;

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

    /// Returns a shortest path of a move: the cells on which the piece lands,
    /// beginning with the cell that it leaves. Returns `None` if the move is
    /// not legal.
    ///
    /// `others` are all pieces of both players except the one that moves. A
    /// step has two cells; a chain of jumps has one more cell than jumps.
    ///
    /// ```
    /// use sternhalma_data::Position;
    /// let position: Position = "5/x4/5/x4/x4 x 0".parse()?;
    /// let geometry = position.geometry();
    /// let others = |mv: sternhalma_data::Move| position.occupied().without(mv.from);
    /// let jumps = geometry.parse_move("a1-a5")?;
    /// let landings = [jumps.from, geometry.parse_cell("a3")?, jumps.to];
    /// assert_eq!(geometry.move_path(others(jumps), jumps), Some(landings.to_vec()));
    /// let too_far = geometry.parse_move("a1-c1")?;
    /// assert_eq!(geometry.move_path(others(too_far), too_far), None);
    /// # Ok::<(), sternhalma_data::NotationError>(())
    /// ```
    pub fn move_path(&self, others: CellSet, mv: Move) -> Option<Vec<Cell>> {
        if mv.from == mv.to || !self.destinations(others, mv.from).contains(mv.to) {
            return None;
        }
        if self.neighbors(mv.from).contains(mv.to) {
            return Some(vec![mv.from, mv.to]);
        }
        // Breadth-first search. `before` has the cell from which each cell was reached.
        let mut before: Vec<Option<Cell>> = vec![None; self.cells()];
        let mut queue = VecDeque::from([mv.from]);
        while let Some(cell) = queue.pop_front() {
            for jump in self.jumps(cell) {
                let open = others.contains(jump.over) && !others.contains(jump.to) && jump.to != mv.from;
                if open && before[jump.to.index()].is_none() {
                    before[jump.to.index()] = Some(cell);
                    queue.push_back(jump.to);
                }
            }
        }
        let mut path = vec![mv.to];
        while let Some(cell) = before[path[path.len() - 1].index()] {
            path.push(cell);
        }
        path.reverse();
        Some(path)
    }
}
