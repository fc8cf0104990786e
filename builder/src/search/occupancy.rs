//! A summary of a bitmap: which of its blocks are not empty.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;

/// The number of words in a block.
pub(crate) const BLOCK: usize = 64;

/// One bit per block of 4096 bits of a bitmap. The bit is set if the block may have a state.
///
/// Most runs of a sparse layer are empty, and the summary shows this without a
/// read of the bitmap.
pub(crate) struct Occupancy(Vec<AtomicU64>);

impl Occupancy {
    /// Returns the summary of an empty bitmap.
    pub fn new(words: usize) -> Occupancy {
        let mut summary = Vec::new();
        summary.resize_with(words.div_ceil(64 * BLOCK), AtomicU64::default);
        Occupancy(summary)
    }

    /// Returns the summary of a bitmap whose blocks all have states.
    pub fn full(words: usize) -> Occupancy {
        let mut summary = Occupancy::new(words);
        summary.0.iter_mut().for_each(|bits| *bits.get_mut() = u64::MAX);
        summary
    }

    /// Returns the first part of `start..end` in successive blocks that may have a state.
    #[inline(always)]
    pub fn first_part(&self, start: u64, end: u64) -> Option<Range<u64>> {
        const BITS: u64 = 64 * BLOCK as u64;
        let holds = |at: u64| self.contains((at / BITS) as usize);
        let next_block = |at: u64| (at / BITS + 1) * BITS;
        let mut first = start;
        while first < end && !holds(first) {
            first = next_block(first);
        }
        let mut last = first;
        while last < end && holds(last) {
            last = next_block(last);
        }
        (first < end).then(|| first..last.min(end))
    }

    /// Marks the blocks as empty for which `keep` returns false, on the threads of the current pool. Only blocks that
    /// are marked as occupied are passed to `keep`.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool + Sync) {
        self.0.par_iter_mut().enumerate().for_each(|(word, bits)| {
            let mut rest = *bits.get_mut();
            while rest != 0 {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                if !keep(64 * word + bit) {
                    *bits.get_mut() &= !(1 << bit);
                }
            }
        });
    }

    /// Returns the memory of the summary of a bitmap in bytes.
    pub fn memory(bitmap_bytes: u64) -> u64 {
        bitmap_bytes / (64 * BLOCK as u64) + 8
    }

    /// Summarizes a bitmap that is not larger than the one for which the summary was created, on
    /// the threads of the current pool.
    pub fn update(&mut self, bitmap: &[u64]) {
        let blocks = |words: &[u64]| {
            let any = |block: &[u64]| u64::from(block.iter().any(|&word| word != 0));
            words.chunks(BLOCK).enumerate().fold(0, |bits, (i, block)| bits | any(block) << i)
        };
        let (covered, rest) = self.0.split_at_mut(bitmap.len().div_ceil(64 * BLOCK));
        covered
            .par_iter_mut()
            .zip(bitmap.par_chunks(64 * BLOCK))
            .for_each(|(bits, words)| *bits.get_mut() = blocks(words));
        rest.iter_mut().for_each(|bits| *bits.get_mut() = 0);
    }

    /// Marks the block of a word as occupied.
    #[inline]
    pub fn mark(&self, word: usize) {
        let block = word / BLOCK;
        let (bits, bit) = (&self.0[block / 64], 1 << (block % 64));
        if bits.load(Relaxed) & bit == 0 {
            bits.fetch_or(bit, Relaxed);
        }
    }

    /// Marks the blocks with these bits as occupied. `len` is at least 1.
    pub fn mark_bits(&self, start: u64, len: u64) {
        let block = 64 * BLOCK as u64;
        (start / block..=(start + len - 1) / block).for_each(|number| self.mark(number as usize * BLOCK));
    }

    /// Marks all blocks as empty.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|bits| *bits.get_mut() = 0);
    }

    /// Returns whether a block may have a state.
    #[inline]
    pub fn contains(&self, block: usize) -> bool {
        self.0[block / 64].load(Relaxed) >> (block % 64) & 1 != 0
    }

    /// Returns whether one of the blocks with these bits may have a state. `len` is at least 1.
    #[inline]
    pub fn any(&self, start: u64, len: u64) -> bool {
        let block = 64 * BLOCK as u64;
        let (first, last) = (start / block, (start + len - 1) / block);
        let (low, high) = ((first / 64) as usize, (last / 64) as usize);
        let (from, to) = (!0 << (first % 64), !0 >> (63 - last % 64));
        let bits = |word: usize| self.0[word].load(Relaxed);
        if low == high {
            return bits(low) & from & to != 0;
        }
        bits(low) & from != 0 || (low + 1..high).any(|word| bits(word) != 0) || bits(high) & to != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_without_states_in_their_blocks_are_empty(
            states in prop::collection::vec(0u64..700_000, 0..4), start in 0u64..700_000, len in 1u64..300_000,
        ) {
            let mut bitmap = vec![0u64; 1_000_100 / 64];
            states.iter().for_each(|&at| bitmap[(at / 64) as usize] |= 1 << (at % 64));
            let (mut occupancy, marked) = (Occupancy::new(bitmap.len()), Occupancy::new(bitmap.len()));
            occupancy.update(&bitmap);
            states.iter().for_each(|at| marked.mark((at / 64) as usize));
            let blocks = start / 4096..=(start + len - 1) / 4096;
            let expected = states.iter().any(|at| blocks.contains(&(at / 4096)));
            prop_assert_eq!(occupancy.any(start, len), expected);
            prop_assert_eq!(marked.any(start, len), expected);
            prop_assert_eq!(blocks.clone().any(|block| marked.contains(block as usize)), expected);
            let mut parts = Vec::new();
            let (mut at, end) = (start, start + len);
            while let Some(part) = marked.first_part(at, end) {
                at = part.end;
                parts.push(part);
            }
            // Parts are separated by blocks without states.
            prop_assert!(parts.windows(2).all(|pair| pair[0].end < pair[1].start));
            for block in blocks {
                let own = start.max(4096 * block)..end.min(4096 * (block + 1));
                let inside = parts.iter().any(|part| part.start <= own.start && own.end <= part.end);
                let outside = parts.iter().all(|part| part.end <= own.start || own.end <= part.start);
                prop_assert_eq!((inside, outside), (marked.contains(block as usize), !marked.contains(block as usize)));
            }
            let mut kept = Occupancy::full(bitmap.len());
            kept.retain(|block| marked.contains(block));
            prop_assert!((0..bitmap.len() / BLOCK).all(|block| kept.contains(block) == marked.contains(block)));
            occupancy.clear();
            prop_assert!(!occupancy.any(start, len));
        }
    }
}
