//! Two-sided positions and the moves from them.

use crate::board::{Board, Geometry, Side};
use crate::cell::{Cell, CellSet};

/// A move: the cell a piece leaves and the cell it ends on. The path of a
/// chain of jumps does not matter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Move {
    /// Where the piece stands before the move.
    pub from: Cell,
    /// Where it stands after.
    pub to: Cell,
}

/// The moves of the pieces of an army, in order of `from`, then `to`.
///
/// `others` are the pieces of the other army, [`CellSet::EMPTY`] where the
/// army is alone on the board as in the distance tables.
///
/// ```
/// use sternhalma_data::{army_moves, Board, CellSet};
/// let board = Board::new(9, 6)?;
/// assert_eq!(army_moves(board.geometry(), board.home(), CellSet::EMPTY).count(), 10);
/// # Ok::<(), sternhalma_data::BoardError>(())
/// ```
pub fn army_moves(geometry: &Geometry, army: CellSet, others: CellSet) -> impl Iterator<Item = Move> + '_ {
    army.iter().flat_map(move |from| {
        let destinations = geometry.destinations((army | others).without(from), from);
        destinations.iter().map(move |to| Move { from, to })
    })
}

/// Both armies on a board, who is to move, and how many plies were played.
///
/// Cells are in the board's order, from `a1`. The armies are disjoint; they
/// may have any number of pieces, so that a position can stand for a
/// single-agent state (one army) as well as for a game.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Position {
    size: u8,
    armies: [CellSet; 2],
    side: Side,
    ply: u32,
}

impl Position {
    /// The initial position of a game: both armies at home, `x` to move.
    ///
    /// # Panics
    /// If the homes overlap ([`Board::homes_are_apart`]).
    pub fn initial(board: Board) -> Position {
        assert!(board.homes_are_apart(), "the homes of {board} overlap");
        let armies = [board.home(), board.home().turned(board.cells())];
        Position { size: board.size() as u8, armies, side: Side::X, ply: 0 }
    }

    /// A position of disjoint armies on a board of this size; `None` if they
    /// share a cell or leave the board.
    pub fn new(geometry: &Geometry, x: CellSet, o: CellSet, side: Side, ply: u32) -> Option<Position> {
        let fits = (x & o).is_empty() && (x | o).is_subset(CellSet::first_cells(geometry.cells()));
        fits.then_some(Position { size: geometry.size() as u8, armies: [x, o], side, ply })
    }

    /// The geometry of the board.
    #[inline]
    pub fn geometry(&self) -> &'static Geometry {
        Geometry::of_size(self.size)
    }

    /// The cells of a player's pieces, in the board's order.
    #[inline]
    pub const fn army(&self, side: Side) -> CellSet {
        self.armies[side as usize]
    }

    /// All occupied cells.
    #[inline]
    pub fn occupied(&self) -> CellSet {
        self.armies[0] | self.armies[1]
    }

    /// Who is to move.
    #[inline]
    pub const fn side_to_move(&self) -> Side {
        self.side
    }

    /// The plies played so far.
    #[inline]
    pub const fn ply(&self) -> u32 {
        self.ply
    }

    /// The legal moves of the player to move.
    pub fn moves(&self) -> impl Iterator<Item = Move> + use<> {
        army_moves(self.geometry(), self.army(self.side), self.army(self.side.other()))
    }

    /// The number of lines of `depth` moves from here by the rules alone: won
    /// games go on, and a player without a move ends a line that is not
    /// counted. The last moves are counted, not played.
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

    /// The position after a move of the player to move. The move is one of
    /// [`moves`](Position::moves).
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
    use crate::board::Prefix;
    use crate::rank::States;
    use std::collections::BTreeSet;

    /// Destinations by coordinates and recursion, as the rules are told.
    fn told_destinations(size: i32, occupied: &BTreeSet<(i32, i32)>, from: (i32, i32)) -> BTreeSet<(i32, i32)> {
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

    fn as_told(geometry: &Geometry, cells: CellSet) -> BTreeSet<(i32, i32)> {
        cells.iter().map(|c| geometry.coordinates(c)).map(|(x, y)| (i32::from(x), i32::from(y))).collect()
    }

    #[test]
    fn every_move_of_small_boards_is_as_told() {
        for (size, most) in [(3, 8), (4, 6), (5, 6)] {
            for pieces in 1..=most {
                let board = Board::new(size, pieces).unwrap();
                let geometry = board.geometry();
                for (_, state) in States::all(Prefix::whole(board)) {
                    for from in state {
                        let told = told_destinations(
                            size as i32,
                            &as_told(geometry, state),
                            as_told(geometry, from.into()).pop_first().unwrap(),
                        );
                        let found = geometry.destinations(state.without(from), from);
                        assert_eq!(as_told(geometry, found), told, "{state:?} from {from:?}");
                    }
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn two_sided_moves_of_side_nine_are_as_told(
            cells in proptest::sample::subsequence((0..81usize).collect::<Vec<_>>(), 20)
        ) {
            let geometry = Geometry::of_size(9);
            let set = |cells: &[usize]| cells.iter().map(|&c| Cell::new(c)).collect::<CellSet>();
            let odd: Vec<_> = cells.iter().copied().step_by(2).collect();
            let position =
                Position::new(geometry, set(&odd), set(&cells) - set(&odd), Side::X, 0).unwrap();
            let occupied = as_told(geometry, position.occupied());
            let mut told = Vec::new();
            for from in set(&odd) {
                let start = as_told(geometry, from.into()).pop_first().unwrap();
                for (x, y) in told_destinations(9, &occupied, start) {
                    told.push((from, geometry.at(x as u8, y as u8).unwrap()));
                }
            }
            told.sort();
            let found: Vec<_> = position.moves().map(|mv| (mv.from, mv.to)).collect();
            proptest::prop_assert_eq!(found, told);
        }
    }

    #[test]
    fn moves_are_undone_by_moves() {
        let board = Board::new(4, 4).unwrap();
        for (_, state) in States::all(Prefix::whole(board)) {
            for mv in army_moves(board.geometry(), state, CellSet::EMPTY) {
                let after = state.without(mv.from).with(mv.to);
                let back = Move { from: mv.to, to: mv.from };
                assert!(army_moves(board.geometry(), after, CellSet::EMPTY).any(|mv| mv == back));
            }
        }
    }
}
