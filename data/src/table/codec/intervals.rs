//! The states of a block, which may be several intervals of ranks.

use std::ops::Range;

use crate::board::{Prefix, Rank, Stretch, Symmetry};

/// The states of a block in intervals of consecutive ranks.
///
/// A block of an unmirrored table is one interval. In a mirrored table, each interval is a stretch of
/// reduced ranks, or the part of it in the block.
#[derive(Clone, Debug)]
pub(super) struct Intervals<'a> {
    prefix: Prefix,
    symmetry: Option<&'a Symmetry>,
    next: u64,
    end: u64,
}

impl<'a> Intervals<'a> {
    /// Returns the intervals of the states with these indices.
    pub fn of(indices: Range<u64>, prefix: Prefix, symmetry: Option<&'a Symmetry>) -> Intervals<'a> {
        Intervals { prefix, symmetry, next: indices.start, end: indices.end }
    }
}

impl Iterator for Intervals<'_> {
    type Item = Stretch;

    #[inline]
    fn next(&mut self) -> Option<Stretch> {
        let left = self.end - self.next;
        if left == 0 {
            return None;
        }
        let mut stretch = match self.symmetry {
            None => {
                let first = Rank(self.next).state(self.prefix.board().pieces());
                Stretch { first, states: left, below: self.prefix.within() }
            }
            Some(symmetry) => symmetry.stretch(self.next),
        };
        stretch.states = stretch.states.min(left);
        self.next += stretch.states;
        Some(stretch)
    }
}
