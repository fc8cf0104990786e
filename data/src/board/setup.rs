//! The size of a board and of its armies.

use std::fmt;

use thiserror::Error;

use super::cell::CellSet;
use super::colex::{MAX_PIECES, binomial};
use super::geometry::Geometry;
use super::side::Side;

/// A board of `size` × `size` cells, the number of pieces of an army, and the shape of the homes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Board {
    size: u8,
    pieces: u8,
    /// The cells of the home at `a1`, one bit each.
    home: u32,
}

/// A home is among this many first cells.
const HOME_CELLS: usize = 32;

/// The reason why a [`Board`] or a [`Prefix`](crate::Prefix) is invalid.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoardError {
    /// The size is out of range.
    #[error("expected a board of 3 to 11 cells along an edge, got {0}")]
    Size(u64),
    /// The number of pieces is out of range.
    #[error("expected 1 to {most} pieces on a {size}x{size} board, got {pieces}")]
    Pieces {
        /// The size of the board.
        size: u8,
        /// The requested number of pieces.
        pieces: u64,
        /// The largest number of pieces on a board of this size.
        most: u64,
    },
    /// The states cannot be numbered in 64 bits.
    #[error("{pieces} pieces on a {size}x{size} board have more than 2^64 states")]
    TooManyStates {
        /// The size of the board.
        size: u8,
        /// The number of pieces.
        pieces: u8,
    },
    /// The goal does not fit the army.
    #[error("expected a goal of {pieces} of the first {most} cells for {pieces} pieces, got {cells} cells")]
    Goal {
        /// The pieces of the army.
        pieces: u8,
        /// The number of cells that a goal may use.
        most: usize,
        /// The requested cells, of which some may be too far from the tip.
        cells: usize,
    },
    /// The goal has other cells than the first ones.
    #[error("a distance table has the first cells as its goal, but the board has another one")]
    OtherGoal,
    /// The board is too small for two armies.
    #[error("the homes of two armies of {pieces} overlap on a {size}x{size} board")]
    HomesOverlap {
        /// The size of the board.
        size: u8,
        /// The number of pieces.
        pieces: u8,
    },
    /// The armies of a position differ in size.
    #[error("expected armies of the same size, got {x} and {o} pieces")]
    UnequalArmies {
        /// The pieces of the player `x`.
        x: usize,
        /// The pieces of the player `o`.
        o: usize,
    },
    /// A prefix has fewer cells than the army or more than the board.
    #[error("expected a prefix of {pieces} to {cells} cells for {pieces} pieces on {cells} cells, got {within}")]
    Within {
        /// The requested number of covered cells.
        within: u64,
        /// The pieces of the army.
        pieces: u8,
        /// The cells of the board.
        cells: usize,
    },
}

impl Board {
    /// Returns the board of `size` × `size` cells with armies of `pieces`.
    ///
    /// # Errors
    /// If `size` is not 3 to 11, if `pieces` is not 1 to 15 and less than the
    /// number of cells, or if the states cannot be numbered in 64 bits.
    pub fn new(size: u64, pieces: u64) -> Result<Board, BoardError> {
        let small = u8::try_from(size).ok().filter(|size| Geometry::SIZES.contains(size));
        let small = small.ok_or(BoardError::Size(size))?;
        let most = (MAX_PIECES as u64).min(size * size - 1);
        if pieces == 0 || pieces > most {
            return Err(BoardError::Pieces { size: small, pieces, most });
        }
        let board = Board { size: small, pieces: pieces as u8, home: (1 << pieces) - 1 };
        if binomial(board.cells(), board.pieces()).is_none() {
            return Err(BoardError::TooManyStates { size: board.size, pieces: board.pieces });
        }
        Ok(board)
    }

    /// Returns the same board with another goal, given in goal order: cell 0 is the tip. Solutions of the two-player game
    /// use such goals; distance tables have the first cells as their goal.
    ///
    /// # Errors
    /// If the goal has not as many cells as the army has pieces, or a cell that is too far from the tip.
    pub fn with_goal(self, goal: CellSet) -> Result<Board, BoardError> {
        let most = HOME_CELLS.min(self.cells());
        if goal.len() != self.pieces() || !goal.is_subset(CellSet::first_cells(most)) {
            return Err(BoardError::Goal { pieces: self.pieces, most, cells: goal.len() });
        }
        Ok(Board { home: goal.bits() as u32, ..self })
    }

    /// Returns whether the goal has the first cells, as a distance table requires.
    #[inline]
    pub const fn has_first_goal(self) -> bool {
        self.home == (1 << self.pieces) - 1
    }

    /// Returns the number of cells along an edge.
    #[inline]
    pub const fn size(self) -> usize {
        self.size as usize
    }

    /// Returns the number of pieces of an army.
    #[inline]
    pub const fn pieces(self) -> usize {
        self.pieces as usize
    }

    /// Returns the number of cells of the board.
    #[inline]
    pub const fn cells(self) -> usize {
        self.size() * self.size()
    }

    /// Returns the number of ways to place an army: C(cells, pieces).
    pub fn states(self) -> u64 {
        binomial(self.cells(), self.pieces()).expect("the states of a board can be numbered in 64 bits")
    }

    /// Returns the neighbors and jumps of boards of this size.
    #[inline]
    pub fn geometry(self) -> &'static Geometry {
        Geometry::of_size(self.size)
    }

    /// Returns the cells on which a player's army starts, in board order.
    #[inline]
    pub const fn home(self, side: Side) -> CellSet {
        let home = CellSet::from_valid_bits(self.home as u128);
        match side {
            Side::X => home,
            Side::O => home.rotate_180(self.cells()),
        }
    }

    /// Returns the cells that a player's army has to reach, in board order:
    /// the home of the other player.
    #[inline]
    pub const fn goal(self, side: Side) -> CellSet {
        self.home(side.other())
    }

    /// Returns whether the two homes share no cell, which a two-player game
    /// requires.
    pub const fn homes_are_apart(self) -> bool {
        self.home(Side::X).bits() & self.home(Side::O).bits() == 0
    }

    /// Returns the board if a two-player game can be played on it.
    ///
    /// # Errors
    /// If the homes overlap.
    pub fn for_two(self) -> Result<Board, BoardError> {
        let apart = self.homes_are_apart();
        if apart { Ok(self) } else { Err(BoardError::HomesOverlap { size: self.size, pieces: self.pieces }) }
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.pieces == 1 { "" } else { "s" };
        write!(f, "{0}x{0}, {1} piece{s}", self.size, self.pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Cell, Prefix};

    #[test]
    fn invalid_boards_are_rejected() {
        assert!(Board::new(9, 6).is_ok() && Board::new(11, 15).is_ok() && Board::new(3, 8).is_ok());
        assert_eq!(Board::new(2, 1).unwrap_err(), BoardError::Size(2));
        assert_eq!(Board::new(267, 1).unwrap_err(), BoardError::Size(267));
        assert_eq!(Board::new(3, 9).unwrap_err(), BoardError::Pieces { size: 3, pieces: 9, most: 8 });
        let board = Board::new(4, 4).unwrap();
        let goal = |cells: &[usize]| cells.iter().map(|&cell| Cell::new(cell)).collect::<CellSet>();
        let symmetric = board.with_goal(goal(&[0, 1, 2, 4])).unwrap();
        assert!(board.has_first_goal() && !symmetric.has_first_goal() && symmetric.homes_are_apart());
        assert_eq!(symmetric.goal(Side::X), goal(&[15, 14, 13, 11]));
        assert_eq!(Prefix::new(symmetric, 16).unwrap_err(), BoardError::OtherGoal);
        let error = board.with_goal(goal(&[0, 1, 2])).unwrap_err();
        assert_eq!(error, BoardError::Goal { pieces: 4, most: 16, cells: 3 });
        assert_eq!(Board::new(9, 0).unwrap_err(), BoardError::Pieces { size: 9, pieces: 0, most: 15 });
    }
}
