//! The size of a board and of its armies.

use std::fmt;

use thiserror::Error;

use super::cell::CellSet;
use super::colex::{MAX_PIECES, binomial};
use super::geometry::Geometry;
use super::side::Side;

/// A board of `size` × `size` cells and the number of pieces of an army.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Board {
    size: u8,
    pieces: u8,
}

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
        let board = Board { size: small, pieces: pieces as u8 };
        if binomial(board.cells(), board.pieces()).is_none() {
            return Err(BoardError::TooManyStates { size: board.size, pieces: board.pieces });
        }
        Ok(board)
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
        let first = CellSet::first_cells(self.pieces());
        match side {
            Side::X => first,
            Side::O => first.rotate_180(self.cells()),
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
        2 * self.pieces() <= self.cells()
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

    #[test]
    fn invalid_boards_are_rejected() {
        assert!(Board::new(9, 6).is_ok() && Board::new(11, 15).is_ok() && Board::new(3, 8).is_ok());
        assert_eq!(Board::new(2, 1).unwrap_err(), BoardError::Size(2));
        assert_eq!(Board::new(267, 1).unwrap_err(), BoardError::Size(267));
        assert_eq!(Board::new(3, 9).unwrap_err(), BoardError::Pieces { size: 3, pieces: 9, most: 8 });
        assert_eq!(Board::new(9, 0).unwrap_err(), BoardError::Pieces { size: 9, pieces: 0, most: 15 });
    }
}
