//! Intervals of bits at any offset of a word array, and transposed bit matrices.
//!
//! Every array that is read here ends in one spare word, so that 64 bits at
//! any offset can be loaded as two whole words.

use fearless_simd::Simd;
use fearless_simd_macros::simd;

/// Returns the number of words for `bits` bits, with the spare one.
pub(crate) fn words_for(bits: u64) -> usize {
    usize::try_from(bits.div_ceil(64) + 1).expect("the caller has checked that the bitmap fits in memory")
}

/// Returns the 64 bits from `offset` on.
#[inline(always)]
pub(crate) fn load(words: &[u64], offset: u64) -> u64 {
    let (word, shift) = ((offset / 64) as usize, offset % 64);
    (words[word] >> shift) | (words[word + 1] << 1 << (63 - shift))
}

/// Returns a word with the lowest `len` bits set, for `len` up to 64.
#[inline(always)]
pub(crate) fn low_mask(len: u64) -> u64 {
    if len >= 64 { u64::MAX } else { (1 << len) - 1 }
}

/// Sets the bits of `value` in `words`, from `offset` on.
#[inline(always)]
pub(crate) fn or_at(words: &mut [u64], offset: u64, value: u64) {
    let (word, shift) = ((offset / 64) as usize, offset % 64);
    words[word] |= value << shift;
    words[word + 1] |= value >> 1 >> (63 - shift);
}

/// Takes `len` bits of `from` from `start` on, and sets the bits of `to` from
/// `offset` on that are set among them.
#[inline(always)]
pub(crate) fn or_run(to: &mut [u64], offset: u64, from: &[u64], start: u64, len: u64) {
    let Some(run) = AlignedRun::new(offset, from, start, len) else { return };
    to[run.word] |= run.first;
    let after = run.word + 1;
    for (to, pair) in to[after..].iter_mut().zip(run.middle.windows(2)) {
        *to |= run.join(pair[0], pair[1]);
    }
    if run.last != 0 {
        to[after + run.middle.len() - 1] |= run.last;
    }
}

/// A run of bits that is moved to another offset, divided at the words of its new place.
pub(crate) struct AlignedRun<'a> {
    /// The first word of the new place.
    pub word: usize,
    /// The bits in the first word.
    pub first: u64,
    /// The words of the old place with the bits of the whole words after the first one. There is one word more
    /// than whole words: two successive words contain the bits of one, see [`join`](AlignedRun::join).
    pub middle: &'a [u64],
    shift: u64,
    /// The bits in the word after the whole ones. The array may end before this word if there are none.
    pub last: u64,
}

impl<'a> AlignedRun<'a> {
    /// Divides the `len` bits of `from` from `start` on, which are moved to `offset`. Returns `None` if `len` is 0.
    #[inline(always)]
    pub fn new(offset: u64, from: &'a [u64], start: u64, len: u64) -> Option<AlignedRun<'a>> {
        if len == 0 {
            return None;
        }
        let lead = (64 - offset % 64).min(len);
        let first = (load(from, start) & low_mask(lead)) << (offset % 64);
        let (start, len) = (start + lead, len - lead);
        let (at, whole) = ((start / 64) as usize, (len / 64) as usize);
        let last = if len % 64 == 0 { 0 } else { load(from, start + 64 * whole as u64) & low_mask(len % 64) };
        Some(AlignedRun {
            word: (offset / 64) as usize,
            first,
            middle: &from[at..=at + whole],
            shift: start % 64,
            last,
        })
    }

    /// Returns the bits of a whole word of the new place, given two successive words of `middle`.
    #[inline(always)]
    pub fn join(&self, low: u64, high: u64) -> u64 {
        // Two shifts, because a shift by 64 is not defined if `shift` is 0.
        low >> self.shift | high << 1 << (63 - self.shift)
    }
}

/// Calls `visit(offset, bits)` for each 64 of the `len` bits from `start` on with a set bit.
/// `offset` counts from `start`. Bits after the last one are 0.
#[inline(always)]
pub(crate) fn for_each_word(words: &[u64], start: u64, len: u64, mut visit: impl FnMut(u64, u64)) {
    let Some(last) = len.checked_sub(1).map(|last| (last / 64) as usize) else { return };
    let (first, shift) = ((start / 64) as usize, start % 64);
    let pairs = words[first..first + last + 2].windows(2);
    for (word, pair) in pairs.enumerate() {
        let mut bits = (pair[0] >> shift) | (pair[1] << 1 << (63 - shift));
        if word == last {
            bits &= low_mask(len - 64 * last as u64);
        }
        if bits != 0 {
            visit(64 * word as u64, bits);
        }
    }
}

/// A matrix of at most 128 × 128 bits. Row `r` has its columns 0 to 63 in
/// `near[r]`, and the others in `far[r]`. The lowest bit is the first column.
pub(crate) struct BitMatrix {
    pub near: [u64; 128],
    pub far: [u64; 128],
}

impl BitMatrix {
    pub fn new() -> BitMatrix {
        BitMatrix { near: [0; 128], far: [0; 128] }
    }

    /// Adds the transpose of the first `size` rows and columns to them. In
    /// the rows up to the next power of two, at least 8, all other bits must be 0.
    #[simd]
    pub fn symmetrize<S: Simd>(&mut self, simd: S, size: usize) {
        match size {
            0..=8 => add_transpose::<8>(&mut self.near),
            9..=16 => add_transpose::<16>(&mut self.near),
            17..=32 => add_transpose::<32>(&mut self.near),
            33..=64 => add_transpose::<64>(&mut self.near),
            _ => self.symmetrize_large(simd),
        }
    }

    #[simd]
    fn symmetrize_large<S: Simd>(&mut self, _: S) {
        let mut upper = quadrant(&self.far, 0);
        let mut lower = quadrant(&self.near, 64);
        transpose(&mut upper);
        transpose(&mut lower);
        for row in 0..64 {
            self.near[64 + row] |= upper[row];
            self.far[row] |= lower[row];
        }
        add_transpose::<64>(&mut self.near);
        let mut corner = quadrant(&self.far, 64);
        transpose(&mut corner);
        for (row, corner) in self.far[64..].iter_mut().zip(corner) {
            *row |= corner;
        }
    }
}

/// Returns the 64 rows from `first` on.
fn quadrant(rows: &[u64; 128], first: usize) -> [u64; 64] {
    std::array::from_fn(|row| rows[first + row])
}

/// Adds the transpose of the first N rows and columns to them.
#[inline(always)]
fn add_transpose<const N: usize>(rows: &mut [u64; 128]) {
    let mut turned: [u64; N] = std::array::from_fn(|row| rows[row]);
    transpose(&mut turned);
    for (row, turned) in rows.iter_mut().zip(turned) {
        *row |= turned;
    }
}

/// Transposes N × N bits, for N a power of two up to 64, by swapping halves,
/// quarters and so on across the diagonal [Warren 2012, section 7-3]. The words
/// have 64 columns, and every N of them are transposed by themselves.
#[inline(always)]
fn transpose<const N: usize>(rows: &mut [u64; N]) {
    swap_across_diagonal::<N, 32>(rows, 0x0000_0000_ffff_ffff);
    swap_across_diagonal::<N, 16>(rows, 0x0000_ffff_0000_ffff);
    swap_across_diagonal::<N, 8>(rows, 0x00ff_00ff_00ff_00ff);
    swap_across_diagonal::<N, 4>(rows, 0x0f0f_0f0f_0f0f_0f0f);
    swap_across_diagonal::<N, 2>(rows, 0x3333_3333_3333_3333);
    swap_across_diagonal::<N, 1>(rows, 0x5555_5555_5555_5555);
}

/// Exchanges the upper right and the lower left quarter of each block of 2 HALF rows and columns, if there are
/// such blocks. `left` has the left columns of the blocks. The constant parameters let the compiler unroll the loops.
#[inline(always)]
fn swap_across_diagonal<const N: usize, const HALF: usize>(rows: &mut [u64; N], left: u64) {
    for block in rows.chunks_exact_mut(2 * HALF) {
        let (top, bottom) = block.split_at_mut(HALF);
        for (a, b) in top.iter_mut().zip(bottom) {
            let swap = ((*a >> HALF) ^ *b) & left;
            *a ^= swap << HALF;
            *b ^= swap;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fearless_simd::dispatch;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_copied_bit_by_bit(from in prop::collection::vec(any::<u64>(), 16), start in 0u64..400, len in 0u64..560, offset in 0u64..200) {
            let bit = |words: &[u64], at: u64| words[(at / 64) as usize] >> (at % 64) & 1;
            let mut to = vec![0u64; 13];
            let start = start.min(15 * 64 - len);
            or_run(&mut to, offset, &from, start, len);
            for at in 0..13 * 64 {
                let inside = (offset..offset + len).contains(&at);
                let expected = if inside { bit(&from, start + at - offset) } else { 0 };
                prop_assert_eq!(bit(&to, at), expected);
            }
        }

        #[test]
        fn symmetric_matrices_hold_both_entries(size in 1usize..=121, bits in prop::collection::vec((0usize..121, 0usize..121), 0..300)) {
            let mut matrix = BitMatrix::new();
            let set = |matrix: &mut BitMatrix, r: usize, c: usize| {
                let half = if c < 64 { &mut matrix.near } else { &mut matrix.far };
                half[r] |= 1 << (c % 64);
            };
            let mut expected = BitMatrix::new();
            for (r, c) in bits.into_iter().map(|(r, c)| (r % size, c % size)) {
                set(&mut matrix, r, c);
                set(&mut expected, r, c);
                set(&mut expected, c, r);
            }
            let level = sternhalma_cpu::levels().into_iter().cycle().nth(size).expect("there is a level");
            dispatch!(level, simd => matrix.symmetrize(simd, size));
            prop_assert_eq!(&matrix.near[..size], &expected.near[..size]);
            prop_assert_eq!(&matrix.far[..size], &expected.far[..size]);
        }
    }
}
