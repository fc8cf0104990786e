//! Armies with pieces beyond the prefix of a table.

use sternhalma_data::{Cell, Geometry, Prefix, State};

/// Moves pieces beyond a prefix to cells inside.
///
/// Each piece is moved to the nearest free cell inside, on the empty board. The nearest pieces come
/// first, and ties go to the farthest cell from the tip of the goal.
#[derive(Clone, Debug)]
pub struct DrawIn {
    prefix: Prefix,
    /// For each cell beyond the prefix, the nearest cells inside with the number of steps, nearest
    /// first. There is one for each piece, so one of them is free.
    nearest: Vec<Vec<(Cell, u8)>>,
}

impl DrawIn {
    /// Prepares a prefix.
    pub fn new(prefix: Prefix) -> DrawIn {
        let geometry = prefix.board().geometry();
        let nearest_to = |from: usize| {
            let steps = |to: Cell| steps_between(geometry, Cell::new(from), to);
            let mut cells: Vec<(Cell, u8)> = prefix.cells().iter().map(|to| (to, steps(to))).collect();
            cells.sort_by_key(|&(to, steps)| (steps, std::cmp::Reverse(to)));
            cells.truncate(prefix.board().pieces());
            cells
        };
        DrawIn { prefix, nearest: (prefix.within()..geometry.cells()).map(nearest_to).collect() }
    }

    /// Returns the army with its pieces inside, and the number of steps.
    #[inline]
    pub fn place(&self, army: State) -> (State, u32) {
        let covered = self.prefix.cells();
        let mut placed = army.cells() & covered;
        let mut sum = 0;
        for cell in army.cells() - covered {
            let mut nearest = self.nearest[cell.index() - self.prefix.within()].iter();
            let &(to, steps) = nearest.find(|(to, _)| !placed.contains(*to)).expect("a cell is free");
            sum += u32::from(steps);
            placed = placed.with(to);
        }
        (State::from_cells(placed), sum)
    }
}

/// Returns the number of steps between two cells on the empty board.
fn steps_between(geometry: &Geometry, a: Cell, b: Cell) -> u8 {
    let ((ax, ay), (bx, by)) = (geometry.coordinates(a), geometry.coordinates(b));
    let (dx, dy) = (i16::from(ax) - i16::from(bx), i16::from(ay) - i16::from(by));
    // A step along (1, -1) changes both coordinates.
    dx.abs().max(dy.abs()).max((dx + dy).abs()) as u8
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use sternhalma_data::{Board, Rank};
    use sternhalma_ggp::Rng;

    use super::*;

    /// Moves the pieces by comparing all free cells.
    fn slow_place(prefix: Prefix, army: State) -> (State, u32) {
        let covered = prefix.cells();
        let mut placed = army.cells() & covered;
        let mut steps = 0;
        for cell in army.cells() - covered {
            let apart = |to: Cell| u32::from(steps_between(prefix.board().geometry(), cell, to));
            let free = (covered - placed).iter();
            let to = free.min_by_key(|&to| (apart(to), std::cmp::Reverse(to))).unwrap();
            steps += apart(to);
            placed = placed.with(to);
        }
        (State::from_cells(placed), steps)
    }

    #[test]
    fn steps_are_the_lengths_of_shortest_paths() {
        let geometry = Board::new(5, 3).unwrap().geometry();
        let cells = || (0..geometry.cells()).map(Cell::new);
        for from in cells() {
            let (mut reached, mut steps) = (sternhalma_data::CellSet::single(from), 0);
            while reached.len() < geometry.cells() {
                let next = reached.iter().fold(reached, |all, cell| all | geometry.neighbors(cell));
                steps += 1;
                assert!((next - reached).iter().all(|to| steps_between(geometry, from, to) == steps));
                reached = next;
            }
        }
    }

    #[test]
    fn pieces_are_drawn_to_the_nearest_free_cells() {
        for (size, pieces, within) in [(5, 3, 3), (6, 4, 20), (9, 10, 36), (9, 10, 10), (9, 6, 81)] {
            let prefix = Prefix::new(Board::new(size, pieces).unwrap(), within).unwrap();
            let (draw_in, mut rng) = (DrawIn::new(prefix), Rng::seed_from_u64(within));
            for _ in 0..2000 {
                let army = Rank(rng.random_range(0..prefix.board().states())).state(pieces as usize);
                assert_eq!(draw_in.place(army), slow_place(prefix, army), "{army:?}");
            }
        }
    }
}
