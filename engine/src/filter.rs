//! Which moves a player considers.

use std::fmt;

use serde::{Deserialize, Serialize};
use sternhalma_data::{Cell, CellSet};

/// The moves a player restricts itself to, by their ends: forward is a higher
/// row toward the goal. A filter that leaves no move widens for that turn.
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
    /// Whether the filter keeps a move that leads so many rows toward the goal.
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

/// Where each piece of an army may go.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    from: [Cell; 15],
    to: [CellSet; 15],
    len: usize,
    any: CellSet,
}

impl Pieces {
    /// No pieces.
    #[inline]
    pub(crate) fn none() -> Pieces {
        Pieces { from: [Cell::new(0); 15], to: [CellSet::EMPTY; 15], len: 0, any: CellSet::EMPTY }
    }

    /// Leaves no pieces.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.any = CellSet::EMPTY;
    }

    /// Adds a piece with the cells it may go to.
    ///
    /// # Panics
    /// If there are 15 pieces.
    #[inline]
    pub(crate) fn push(&mut self, from: Cell, to: CellSet) {
        self.from[self.len] = from;
        self.to[self.len] = to;
        self.len += 1;
        self.any |= to;
    }

    /// The pieces with the cells they may go to, maybe none.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (Cell, CellSet)> + '_ {
        self.from[..self.len].iter().copied().zip(self.to.iter().copied())
    }

    /// Whether no piece may move.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.any.is_empty()
    }

    /// How many moves there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.iter().map(|(_, to)| to.len()).sum()
    }
}
