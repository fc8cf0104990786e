//! All states of a range of ranks, in order.

use std::ops::Range;

use super::cell::CellSet;
use super::prefix::Prefix;
use super::rank::Rank;
use super::state::State;

/// An iterator over the states of a range of ranks in order, each with its rank.
///
/// ```
/// use sternhalma_data::board::States;
/// use sternhalma_data::{Board, Prefix};
/// let prefix = Prefix::whole(Board::new(3, 2)?);
/// assert_eq!(States::all(prefix).count(), 36);
/// # Ok::<(), sternhalma_data::BoardError>(())
/// ```
#[derive(Clone, Debug)]
pub struct States {
    next: u64,
    end: u64,
    /// The pieces of the next state except the lowest.
    upper: u128,
    /// The lowest piece of the next state.
    lowest: u128,
}

impl States {
    /// Returns all states of a prefix.
    pub fn all(prefix: Prefix) -> States {
        States::of_ranks(prefix.board().pieces(), 0..prefix.states())
    }

    /// Returns the states of `pieces` cells with these ranks.
    ///
    /// # Panics
    /// If the range is not empty and [`Rank::state`] panics for its first rank.
    pub fn of_ranks(pieces: usize, ranks: Range<u64>) -> States {
        let bits = if ranks.is_empty() { 1 } else { Rank(ranks.start).state(pieces).cells().bits() };
        let lowest = bits & bits.wrapping_neg();
        States { next: ranks.start, end: ranks.end.max(ranks.start), upper: bits ^ lowest, lowest }
    }

    /// Steps to the next subset in colexicographic order when the lowest piece
    /// is adjacent to the second. The top of the run of adjacent pieces moves up
    /// one cell, and the rest of the run moves to the lowest cells.
    #[cold]
    #[inline(never)]
    fn carry(&mut self) {
        let bits = self.upper | self.lowest;
        let above = bits.wrapping_add(self.lowest);
        let run = bits & !above;
        let fallen = run >> (run.trailing_zeros() + 1);
        let bits = above | fallen;
        self.lowest = bits & bits.wrapping_neg();
        self.upper = bits ^ self.lowest;
    }
}

impl Iterator for States {
    type Item = (Rank, State);

    #[inline]
    fn next(&mut self) -> Option<(Rank, State)> {
        if self.next == self.end {
            return None;
        }
        let state = State::from_cells(CellSet::from_valid_bits(self.upper | self.lowest));
        let item = (Rank(self.next), state);
        self.next += 1;
        // The state after the last one may be beyond the last cell. It is never used.
        let raised = self.lowest << 1;
        if raised & self.upper == 0 {
            self.lowest = raised
        } else {
            self.carry()
        }
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.end - self.next).ok();
        (left.unwrap_or(usize::MAX), left)
    }
}
