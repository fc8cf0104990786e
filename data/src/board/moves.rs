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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::board::Board;

    const DIRECTIONS: [(i32, i32); 6] = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)];

    fn coordinates(geometry: &Geometry, cell: Cell) -> (i32, i32) {
        let (x, y) = geometry.coordinates(cell);
        (i32::from(x), i32::from(y))
    }

    fn cell_at(geometry: &Geometry, place: (i32, i32)) -> Option<Cell> {
        CellSet::first_cells(geometry.cells()).iter().find(|&cell| coordinates(geometry, cell) == place)
    }

    /// Returns the cell that is `steps` cells away in a direction.
    fn toward(geometry: &Geometry, cell: Cell, (dx, dy): (i32, i32), steps: i32) -> Option<Cell> {
        let (x, y) = coordinates(geometry, cell);
        cell_at(geometry, (x + steps * dx, y + steps * dy))
    }

    /// Returns the cells that a piece reaches by one jump.
    fn one_jump(geometry: &Geometry, others: CellSet, from: Cell) -> Vec<Cell> {
        let jump = |&direction: &(i32, i32)| {
            let over = toward(geometry, from, direction, 1)?;
            toward(geometry, from, direction, 2).filter(|&to| others.contains(over) && !others.contains(to))
        };
        DIRECTIONS.iter().filter_map(jump).collect()
    }

    /// Returns the number of cells of the shortest path to each cell. Relaxes the lengths of jump chains until none
    /// changes.
    fn lengths(geometry: &Geometry, others: CellSet, from: Cell) -> Vec<Option<usize>> {
        let mut found = vec![None; geometry.cells()];
        found[from.index()] = Some(1);
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for cell in CellSet::first_cells(geometry.cells()) {
                let Some(length) = found[cell.index()] else { continue };
                for to in one_jump(geometry, others, cell) {
                    if found[to.index()].is_none_or(|known| known > length + 1) {
                        found[to.index()] = Some(length + 1);
                        changed = true;
                    }
                }
            }
        }
        for to in DIRECTIONS.iter().filter_map(|&direction| toward(geometry, from, direction, 1)) {
            if !others.contains(to) {
                found[to.index()] = Some(2);
            }
        }
        found[from.index()] = None;
        found
    }

    proptest! {
        #[test]
        fn paths_are_shortest_chains_of_jumps(size in 3u64..=7, pieces in any::<u64>(), more in any::<u64>(), start in any::<usize>()) {
            let geometry = Board::new(size, 1).unwrap().geometry();
            let cells: Vec<Cell> = CellSet::first_cells(geometry.cells()).iter().collect();
            let from = cells[start % cells.len()];
            let is_other = |cell: &Cell| (pieces & more) >> cell.index() & 1 == 1;
            let others = cells.iter().copied().filter(is_other).collect::<CellSet>().without(from);
            let expected = lengths(geometry, others, from);
            for &to in &cells {
                let path = geometry.move_path(others, Move { from, to });
                prop_assert_eq!(path.as_ref().map(Vec::len), expected[to.index()]);
                for hop in path.iter().flat_map(|path| path.windows(2)) {
                    let step = expected[to.index()] == Some(2) && !one_jump(geometry, others, from).contains(&to);
                    prop_assert!(step || one_jump(geometry, others, hop[0]).contains(&hop[1]));
                }
            }
        }
    }
}
