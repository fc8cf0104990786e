//! The bitmaps of a layer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::bits::low_mask;
use crate::ranks::{BitOffsets, IndexIntervals};
use crate::search::occupancy::Occupancy;

/// A layer, the states seen up to it, and the next layer.
pub(crate) struct LayerBitmaps<'a> {
    /// The positions of states in bitmaps by rank.
    pub offsets: &'a BitOffsets,
    /// The positions of states in bitmaps by reduced rank that hold only some intervals.
    pub intervals: Option<&'a IndexIntervals>,
    pub frontier: &'a [u64],
    /// The summary of `frontier`.
    pub occupancy: &'a Occupancy,
    /// A state is seen if either bitmap contains it.
    pub seen: [&'a [u64]; 2],
    pub next: &'a [AtomicU64],
    /// The summary of `next`.
    pub next_occupancy: &'a Occupancy,
    /// Set when a successor lies outside the prefix.
    pub escapes: &'a AtomicBool,
}

impl LayerBitmaps<'_> {
    #[inline(always)]
    fn unseen(&self, word: usize) -> u64 {
        !(self.seen[0][word] | self.seen[1][word])
    }

    /// Returns the position of the state with this reduced rank, or `None` if the bitmaps do not hold it.
    #[inline]
    pub fn position(&self, reduced: u64) -> Option<u64> {
        self.intervals.map_or(Some(reduced), |intervals| intervals.position(reduced))
    }

    /// Returns whether one of `len` states from position `start` on is unseen.
    #[inline]
    pub fn any_unseen(&self, start: u64, len: u64) -> bool {
        let (first, last) = ((start / 64) as usize, ((start + len - 1) / 64) as usize);
        if first == last {
            return (self.unseen(first) >> (start % 64)) & low_mask(len) != 0;
        }
        self.unseen(first) >> (start % 64) != 0
            || (first + 1..last).any(|word| self.unseen(word) != 0)
            || self.unseen(last) & low_mask((start + len - 1) % 64 + 1) != 0
    }

    /// Adds the unseen states of `states` to the next layer. Bit `i` stands for
    /// the state at position `start + i`.
    #[inline(always)]
    pub fn reach(&self, start: u64, states: u64) {
        if states == 0 {
            return;
        }
        let (word, shift) = ((start / 64) as usize, start % 64);
        self.reach_word(word, states << shift);
        // Two shifts, because a shift by 64 is not defined if `shift` is 0.
        self.reach_word(word + 1, states >> 1 >> (63 - shift));
    }

    /// A state is new only once, so the atomic operation is rare.
    #[inline(always)]
    fn reach_word(&self, word: usize, states: u64) {
        if states != 0 {
            let new = states & self.unseen(word) & !self.next[word].load(Relaxed);
            if new != 0 {
                self.next[word].fetch_or(new, Relaxed);
                self.next_occupancy.mark(word);
            }
        }
    }
}
