//! Positions of both armies.

use super::cell::{Cell, CellSet};
use super::geometry::Geometry;
use super::moves::Move;
use super::setup::Board;
use super::side::Side;

/// Both armies on a board, the player to move, and the number of plies played.
///
/// Cells are in board order, which starts at `a1`. The armies are disjoint.
/// The armies may have any number of pieces, so a position can describe a
/// single-agent state (one army) as well as a game.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Position {
    size: u8,
    armies: [CellSet; 2],
    side: Side,
    ply: u32,
}

impl Position {
    /// Returns the initial position of a game: both armies in their homes, `x`
    /// to move.
    ///
    /// # Panics
    /// If the homes overlap ([`Board::homes_are_apart`]).
    pub fn initial(board: Board) -> Position {
        assert!(board.homes_are_apart(), "the homes of {board} overlap");
        let armies = [board.home(Side::X), board.home(Side::O)];
        Position { size: board.size() as u8, armies, side: Side::X, ply: 0 }
    }

    /// Returns the position of disjoint armies on a board of this size, or
    /// `None` if the armies share a cell or leave the board.
    pub fn new(geometry: &Geometry, x: CellSet, o: CellSet, side: Side, ply: u32) -> Option<Position> {
        let fits = (x & o).is_empty() && (x | o).is_subset(CellSet::first_cells(geometry.cells()));
        fits.then_some(Position { size: geometry.size() as u8, armies: [x, o], side, ply })
    }

    /// Returns the geometry of the board.
    #[inline]
    pub fn geometry(&self) -> &'static Geometry {
        Geometry::of_size(self.size)
    }

    /// Returns the cells of a player's pieces in board order.
    #[inline]
    pub const fn army(&self, side: Side) -> CellSet {
        self.armies[side as usize]
    }

    /// Returns all occupied cells.
    #[inline]
    pub fn occupied(&self) -> CellSet {
        self.armies[0] | self.armies[1]
    }

    /// Returns the player to move.
    #[inline]
    pub const fn side_to_move(&self) -> Side {
        self.side
    }

    /// Returns the number of plies played.
    #[inline]
    pub const fn ply(&self) -> u32 {
        self.ply
    }

    /// Returns the legal moves of the player to move.
    pub fn moves(&self) -> impl Iterator<Item = Move> + use<> {
        self.geometry().army_moves(self.army(self.side), self.army(self.side.other()))
    }

    /// Returns the number of move sequences of length `depth` by the move
    /// rules alone.
    ///
    /// Sequences continue beyond a win. A sequence ends uncounted if the player
    /// to move has no move. The last moves are counted, not played. The search recurses once per ply.
    pub fn perft(&self, depth: u32) -> u64 {
        match depth {
            0 => 1,
            1 => {
                let (army, occupied) = (self.army(self.side), self.occupied());
                let destinations = |from: Cell| self.geometry().destinations(occupied.without(from), from);
                army.iter().map(|from| destinations(from).len() as u64).sum()
            }
            _ => self.moves().map(|mv| self.after(mv).perft(depth - 1)).sum(),
        }
    }

    /// Returns the position after a move of the player to move. The move must
    /// be one of [`moves`](Position::moves). Release builds do not check this, and
    /// another move gives an unspecified position.
    #[inline]
    #[must_use]
    pub fn after(mut self, mv: Move) -> Position {
        let army = &mut self.armies[self.side as usize];
        debug_assert!(army.contains(mv.from));
        *army = army.without(mv.from).with(mv.to);
        self.side = self.side.other();
        self.ply += 1;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Prefix, States};
    use std::collections::BTreeSet;

    /// Returns the destinations by coordinates and recursion, straight from the rules.
    fn reference_destinations(size: i32, occupied: &BTreeSet<(i32, i32)>, from: (i32, i32)) -> BTreeSet<(i32, i32)> {
        const RING: [(i32, i32); 6] = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)];
        let on_board = |(x, y): (i32, i32)| (0..size).contains(&x) && (0..size).contains(&y);
        let others: BTreeSet<_> = occupied.iter().copied().filter(|&c| c != from).collect();
        fn hop(
            at: (i32, i32),
            others: &BTreeSet<(i32, i32)>,
            on_board: &dyn Fn((i32, i32)) -> bool,
            found: &mut BTreeSet<(i32, i32)>,
        ) {
            for (dx, dy) in RING {
                let (over, to) = ((at.0 + dx, at.1 + dy), (at.0 + 2 * dx, at.1 + 2 * dy));
                if others.contains(&over) && on_board(to) && !others.contains(&to) && found.insert(to) {
                    hop(to, others, on_board, found);
                }
            }
        }
        let mut found = BTreeSet::new();
        hop(from, &others, &on_board, &mut found);
        let steps = RING.iter().map(|(dx, dy)| (from.0 + dx, from.1 + dy));
        found.extend(steps.filter(|&c| on_board(c) && !others.contains(&c)));
        found.remove(&from);
        found
    }

    fn coordinates(geometry: &Geometry, cells: CellSet) -> BTreeSet<(i32, i32)> {
        cells.iter().map(|c| geometry.coordinates(c)).map(|(x, y)| (i32::from(x), i32::from(y))).collect()
    }

    #[test]
    fn every_move_of_small_boards_is_coordinates() {
        for (size, most) in [(3, 8), (4, 6), (5, 6)] {
            for pieces in 1..=most {
                let board = Board::new(size, pieces).unwrap();
                let geometry = board.geometry();
                for (_, state) in States::all(Prefix::whole(board)) {
                    for from in state.cells() {
                        let expected = reference_destinations(
                            size as i32,
                            &coordinates(geometry, state.cells()),
                            coordinates(geometry, from.into()).pop_first().unwrap(),
                        );
                        let found = geometry.destinations(state.cells().without(from), from);
                        assert_eq!(coordinates(geometry, found), expected, "{state:?} from {from:?}");
                    }
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn two_sided_moves_of_side_nine_are_coordinates(
            cells in proptest::sample::subsequence((0..81usize).collect::<Vec<_>>(), 20)
        ) {
            let geometry = Geometry::of_size(9);
            let set = |cells: &[usize]| cells.iter().map(|&c| Cell::new(c)).collect::<CellSet>();
            let odd: Vec<_> = cells.iter().copied().step_by(2).collect();
            let position =
                Position::new(geometry, set(&odd), set(&cells) - set(&odd), Side::X, 0).unwrap();
            let occupied = coordinates(geometry, position.occupied());
            let mut expected = Vec::new();
            for from in set(&odd) {
                let start = coordinates(geometry, from.into()).pop_first().unwrap();
                for (x, y) in reference_destinations(9, &occupied, start) {
                    expected.push((from, geometry.at(x as u8, y as u8).unwrap()));
                }
            }
            expected.sort();
            let found: Vec<_> = position.moves().map(|mv| (mv.from, mv.to)).collect();
            proptest::prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn every_move_can_be_reversed() {
        let board = Board::new(4, 4).unwrap();
        for (_, state) in States::all(Prefix::whole(board)) {
            for mv in board.geometry().army_moves(state.cells(), CellSet::EMPTY) {
                let after = state.after(mv).cells();
                let back = Move { from: mv.to, to: mv.from };
                assert!(board.geometry().army_moves(after, CellSet::EMPTY).any(|mv| mv == back));
            }
        }
    }
}
