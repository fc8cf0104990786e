//! Filters of the moves that a player considers.

use std::fmt;

use rand::RngExt;
use serde::{Deserialize, Serialize};
use sternhalma_data::{Cell, CellSet, Move};
use sternhalma_ggp::Rng;

/// The moves that a player considers, by their direction; forward is towards a
/// higher row as seen from the own home.
///
/// If a filter leaves no move, it widens for that turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Filter {
    /// Moves to higher rows.
    Forward,
    /// Moves to higher rows or within a row.
    NonBackward,
    /// All legal moves.
    #[default]
    All,
}

impl Filter {
    /// Returns whether the filter keeps a move that advances by `rows` rows.
    pub fn keeps(self, rows: i32) -> bool {
        match self {
            Filter::Forward => rows > 0,
            Filter::NonBackward => rows >= 0,
            Filter::All => true,
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Filter::Forward => "forward",
            Filter::NonBackward => "non-backward",
            Filter::All => "all",
        })
    }
}

/// The destinations of each piece of an army.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    from: [Cell; 15],
    to: [CellSet; 15],
    len: usize,
    any: CellSet,
}

impl Pieces {
    /// Creates an empty set of pieces.
    #[inline]
    pub(crate) fn none() -> Pieces {
        Pieces { from: [Cell::new(0); 15], to: [CellSet::EMPTY; 15], len: 0, any: CellSet::EMPTY }
    }

    /// Removes all pieces.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.any = CellSet::EMPTY;
    }

    /// Adds a piece with its destinations.
    ///
    /// # Panics
    ///
    /// Panics if there are 15 pieces already.
    #[inline]
    pub(crate) fn push(&mut self, from: Cell, to: CellSet) {
        self.from[self.len] = from;
        self.to[self.len] = to;
        self.len += 1;
        self.any |= to;
    }

    /// Returns the pieces with their destinations, which may be empty.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (Cell, CellSet)> + '_ {
        self.from[..self.len].iter().copied().zip(self.to.iter().copied())
    }

    /// Returns whether no piece can move.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.any.is_empty()
    }

    /// Returns the number of moves.
    #[inline]
    pub fn count(&self) -> usize {
        self.iter().map(|(_, to)| to.len()).sum()
    }
}

/// Returns a uniformly random move, or `None` if there is none.
#[inline]
pub(crate) fn random_move(pieces: &Pieces, rng: &mut Rng) -> Option<Move> {
    let count = pieces.count() as u32;
    let mut index = match count {
        0 => return None,
        1 => 0,
        _ => rng.random_range(0..count) as usize,
    };
    for (from, to) in pieces.iter() {
        if index < to.len() {
            return to.iter().nth(index).map(|to| Move { from, to });
        }
        index -= to.len();
    }
    unreachable!("the index is below the number of moves")
}
