//! The bitmaps of a layer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::bits::{AlignedRun, low_mask};
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
    /// The blocks of states that may have an unseen state. `None` stands for all blocks.
    pub unseen_blocks: Option<&'a Occupancy>,
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

    /// Returns whether one of `len` states from position `start` on may be unseen. `len` is at least 1.
    #[inline]
    pub fn may_have_unseen(&self, start: u64, len: u64) -> bool {
        self.unseen_blocks.is_none_or(|blocks| blocks.any(start, len))
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

    /// Returns those of the 64 states from a position on that are unseen and not in the next layer.
    #[inline(always)]
    pub fn new_states(&self, start: u64) -> u64 {
        let (word, shift) = ((start / 64) as usize, start % 64);
        let new = |word: usize| self.unseen(word) & !self.next[word].load(Relaxed);
        // Two shifts, because a shift by 64 is not defined if `shift` is 0.
        new(word) >> shift | new(word + 1) << 1 << (63 - shift)
    }

    /// Adds the unseen states of a run to the next layer. Bit `start + i` of `states` stands for the state at
    /// position `position + i`, for `i` below `len`.
    #[inline(always)]
    pub fn reach_run(&self, position: u64, states: &[u64], start: u64, len: u64) {
        let end = position + len;
        let Some(blocks) = self.unseen_blocks else { return self.reach_part(position, states, start, len) };
        let mut at = position;
        while let Some(part) = blocks.first_part(at, end) {
            self.reach_part(part.start, states, start + (part.start - position), part.end - part.start);
            at = part.end;
        }
    }

    #[inline(always)]
    fn reach_part(&self, position: u64, states: &[u64], start: u64, len: u64) {
        /// The words that are compared at once.
        const STEP: usize = 8;
        let Some(run) = AlignedRun::new(position, states, start, len) else { return };
        self.reach_word(run.word, run.first);
        let (mut word, mut words) = (run.word + 1, run.middle);
        while let Some((part, _)) = words.split_first_chunk::<{ STEP + 1 }>() {
            let mut reached = [0; STEP];
            for i in 0..STEP {
                reached[i] = run.join(part[i], part[i + 1]);
            }
            self.reach_words(word, reached);
            (word, words) = (word + STEP, &words[STEP..]);
        }
        for pair in words.windows(2) {
            self.reach_word(word, run.join(pair[0], pair[1]));
            word += 1;
        }
        self.reach_word(word, run.last);
    }

    #[inline(always)]
    fn reach_words<const N: usize>(&self, word: usize, states: [u64; N]) {
        if states == [0; N] {
            return;
        }
        let [low, high] = [&self.seen[0][word..word + N], &self.seen[1][word..word + N]];
        let mut unseen = [0; N];
        for i in 0..N {
            unseen[i] = states[i] & !(low[i] | high[i]);
        }
        if unseen != [0; N] {
            for (i, unseen) in unseen.into_iter().enumerate() {
                self.add(word + i, unseen);
            }
        }
    }

    /// Adds the unseen states of a word to the next layer.
    #[inline(always)]
    pub fn reach_word(&self, word: usize, states: u64) {
        if states != 0 {
            self.add(word, states & self.unseen(word));
        }
    }

    /// Adds unseen states to a word of the next layer. Each state is new only once, so the atomic operation is rare.
    #[inline(always)]
    fn add(&self, word: usize, states: u64) {
        if states != 0 {
            let new = states & !self.next[word].load(Relaxed);
            if new != 0 {
                self.next[word].fetch_or(new, Relaxed);
                self.next_occupancy.mark(word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_reached_bit_by_bit(
            words in prop::collection::vec(any::<u64>(), 200),
            empty in prop::collection::vec(any::<bool>(), 200),
            position in 0u64..6000, start in 0u64..200, len in 0u64..1500, blocks in any::<bool>(),
        ) {
            let words: Vec<u64> = words.into_iter().zip(empty).map(|(word, empty)| if empty { 0 } else { word }).collect();
            let (states, seen) = words.split_at(30);
            let seen = [&seen[..120], &seen[50..]];
            let next: Vec<AtomicU64> = (0..120).map(|i| AtomicU64::new(words[i] & words[i + 80])).collect();
            let bit = |words: &[u64], at: u64| words[(at / 64) as usize] >> (at % 64) & 1 != 0;
            let bits_of = |words: &[AtomicU64]| words.iter().map(|word| word.load(Relaxed)).collect::<Vec<u64>>();
            let before = bits_of(&next);
            let (mut unseen_blocks, occupancy, next_occupancy) = (Occupancy::full(120), Occupancy::new(120), Occupancy::new(120));
            unseen_blocks.retain(|block| block == 1);
            let (offsets, escapes) = (BitOffsets::ZERO, AtomicBool::new(false));
            let layer = LayerBitmaps {
                offsets: &offsets,
                intervals: None,
                frontier: &[],
                occupancy: &occupancy,
                seen,
                unseen_blocks: blocks.then_some(&unseen_blocks),
                next: &next,
                next_occupancy: &next_occupancy,
                escapes: &escapes,
            };
            let len = len.min(64 * 29 - start);
            layer.reach_run(position, states, start, len);
            let after = bits_of(&next);
            for at in 0..64 * 120 {
                let is_reached = (position..position + len).contains(&at) && bit(states, start + at - position);
                let is_unseen = !seen.iter().any(|seen| bit(seen, at)) && (!blocks || at / 4096 == 1);
                let is_new = is_reached && is_unseen && !bit(&before, at);
                prop_assert_eq!(bit(&after, at), bit(&before, at) || is_new, "{}", at);
                prop_assert!(!is_new || next_occupancy.contains((at / 4096) as usize));
            }
        }
    }
}
