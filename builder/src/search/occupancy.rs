//! A summary of a bitmap: which of its blocks are not empty.

use rayon::prelude::*;

/// The number of words in a block.
const BLOCK: usize = 64;

/// One bit per block of 4096 bits of a bitmap, set if the block is not empty.
///
/// Most runs of a sparse layer are empty, and the summary shows this without a
/// read of the bitmap.
#[derive(Default)]
pub(crate) struct Occupancy(Vec<u64>);

impl Occupancy {
    /// Returns the memory of the summary of a bitmap in bytes.
    pub fn memory(bitmap_bytes: u64) -> u64 {
        bitmap_bytes / (64 * BLOCK as u64) + 8
    }

    /// Summarizes a bitmap on the threads of the current pool.
    pub fn update(&mut self, bitmap: &[u64]) {
        let blocks = |words: &[u64]| {
            let any = |block: &[u64]| u64::from(block.iter().any(|&word| word != 0));
            words.chunks(BLOCK).enumerate().fold(0, |bits, (i, block)| bits | any(block) << i)
        };
        self.0.clear();
        self.0.par_extend(bitmap.par_chunks(64 * BLOCK).map(blocks));
    }

    /// Returns whether one of the blocks with these bits is not empty. `len` is at least 1.
    #[inline]
    pub fn any(&self, start: u64, len: u64) -> bool {
        let block = 64 * BLOCK as u64;
        let (first, last) = (start / block, (start + len - 1) / block);
        let (low, high) = ((first / 64) as usize, (last / 64) as usize);
        let (from, to) = (!0 << (first % 64), !0 >> (63 - last % 64));
        if low == high {
            return self.0[low] & from & to != 0;
        }
        self.0[low] & from != 0 || self.0[low + 1..high].iter().any(|&word| word != 0) || self.0[high] & to != 0
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
            let mut occupancy = Occupancy::default();
            occupancy.update(&bitmap);
            let blocks = start / 4096..=(start + len - 1) / 4096;
            prop_assert_eq!(occupancy.any(start, len), states.iter().any(|at| blocks.contains(&(at / 4096))));
        }
    }
}
