//! The part of a board's states that a table covers.

use std::fmt;
use std::ops::Range;

use super::cell::CellSet;
use super::colex::choose;
use super::setup::{Board, BoardError};

/// The states whose pieces all lie within the `within` cells nearest the
/// goal. These states have the ranks `0 .. C(within, pieces)`, so they are a
/// prefix of the rank order.
///
/// The whole board is the prefix with `within` equal to the number of cells. A
/// prefix is divided into partitions, one for each cell `b` of the *back
/// piece*. Partition `b` holds the ranks `C(b, pieces) .. C(b + 1, pieces)`
/// [Roschke and Sturtevant 2013, section 3 and Table 1].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Prefix {
    board: Board,
    within: u8,
}

impl Prefix {
    /// Returns the prefix of all states of a board.
    ///
    /// # Panics
    /// If the goal has other cells than the first ones: distance tables have the goal at rank 0.
    pub const fn whole(board: Board) -> Prefix {
        assert!(board.has_first_goal(), "a distance table has the first cells as its goal");
        Prefix { board, within: board.cells() as u8 }
    }

    /// Returns the prefix of the states with every piece within the `within`
    /// cells nearest the goal.
    ///
    /// # Errors
    /// If `within` is below the number of pieces or above the number of cells, or if the goal has other cells than the
    /// first ones.
    pub fn new(board: Board, within: u64) -> Result<Prefix, BoardError> {
        if within < board.pieces() as u64 || within > board.cells() as u64 {
            return Err(BoardError::Within { within, pieces: board.pieces() as u8, cells: board.cells() });
        }
        if !board.has_first_goal() {
            return Err(BoardError::OtherGoal);
        }
        Ok(Prefix { board, within: within as u8 })
    }

    /// Returns the board.
    #[inline]
    pub const fn board(self) -> Board {
        self.board
    }

    /// Returns the number of covered cells, which are those nearest the goal.
    #[inline]
    pub const fn within(self) -> usize {
        self.within as usize
    }

    /// Returns the covered cells in goal order.
    #[inline]
    pub const fn cells(self) -> CellSet {
        CellSet::first_cells(self.within())
    }

    /// Returns whether every cell of the board is covered.
    #[inline]
    pub const fn is_whole(self) -> bool {
        self.within() == self.board.cells()
    }

    /// Returns the number of states.
    pub fn states(self) -> u64 {
        choose(self.within(), self.board.pieces())
    }

    /// Returns the cells of the back piece that have a partition, nearest first.
    pub fn back_cells(self) -> Range<usize> {
        self.board.pieces() - 1..self.within()
    }

    /// Returns the ranks of the partition with back piece `back`.
    pub fn partition(self, back: usize) -> Range<u64> {
        let edge = |cells| choose(cells, self.board.pieces());
        edge(back)..edge(back + 1)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.board.fmt(f)?;
        if self.is_whole() {
            return Ok(());
        }
        write!(f, ", within {} cells", self.within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_have_at_least_the_army_and_at_most_the_board() {
        let board = Board::new(4, 3).unwrap();
        assert!(Prefix::new(board, 2).is_err() && Prefix::new(board, 17).is_err());
        assert_eq!(Prefix::new(board, 16).unwrap(), Prefix::whole(board));
    }

    #[test]
    fn prefix_sizes_are_those_of_the_paper_s_table_1() {
        let ten = Board::new(9, 10).unwrap();
        assert_eq!(ten.states(), 1_878_392_407_320);
        for (start, states) in [(5, 1_096_993_404_430), (25, 43_183_019_880), (40, 1_471_442_973)] {
            assert_eq!(Prefix::new(ten, 82 - start).unwrap().states(), states);
        }
        assert_eq!(Board::new(9, 6).unwrap().states(), 324_540_216);
    }

    #[test]
    fn partitions_tile_the_ranks() {
        for pieces in 1..=6 {
            let prefix = Prefix::new(Board::new(4, pieces).unwrap(), 11).unwrap();
            let mut next = 0;
            for back in prefix.back_cells() {
                assert_eq!(prefix.partition(back).start, next);
                next = prefix.partition(back).end;
            }
            assert_eq!(next, prefix.states());
        }
    }
}
