//! Truth values in 512 lanes.

use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Not};

use fearless_simd::{Simd, SimdBase, dispatch, u64x8};
use fearless_simd_macros::simd;
use rand::RngExt;
use sternhalma_cpu::level;
use sternhalma_game::Rng;
use sternhalma_game::util::bits;

/// The number of lanes.
pub const LANES: usize = 512;

/// One bit per lane. Operations are loops over words, which the compiler
/// vectorises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(64))]
pub struct Bits(pub [u64; Bits::WORDS]);

impl Bits {
    /// The number of words; each has 64 lanes.
    pub const WORDS: usize = LANES / 64;
    /// The empty set of lanes.
    pub const NONE: Bits = Bits([0; Bits::WORDS]);
    /// The set of all lanes.
    pub const ALL: Bits = Bits([!0; Bits::WORDS]);

    /// Returns the same value in all lanes.
    #[inline]
    pub fn all_if(value: bool) -> Bits {
        if value { Bits::ALL } else { Bits::NONE }
    }

    /// Returns the value in a lane.
    #[inline]
    pub fn get(&self, lane: usize) -> bool {
        self.0[lane / 64] >> (lane % 64) & 1 == 1
    }

    /// Sets the value in a lane.
    #[inline]
    pub fn set(&mut self, lane: usize, value: bool) {
        let bit = 1 << (lane % 64);
        let word = &mut self.0[lane / 64];
        *word = if value { *word | bit } else { *word & !bit };
    }

    /// Returns whether the value is true in any lane.
    #[inline]
    pub fn any(&self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) != 0
    }

    /// Returns the number of lanes in which the value is true.
    #[inline]
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the lanes in which the value is true, in order.
    #[inline]
    pub fn lanes(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(index, word)| bits(word).map(move |bit| 64 * index + bit))
    }

    /// Calls a function with each of these lanes. The loop is compiled for the instruction set of the caller, unlike
    /// the methods of an iterator.
    #[inline(always)]
    pub fn for_each_lane(self, mut call: impl FnMut(usize)) {
        for (index, mut word) in self.0.into_iter().enumerate() {
            while word != 0 {
                call(64 * index + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
    }

    /// Returns the first `count` of these lanes.
    pub fn take(self, count: usize) -> Bits {
        let mut taken = Bits::NONE;
        self.lanes().take(count).for_each(|lane| taken.set(lane, true));
        taken
    }

    #[inline(always)]
    fn zip(self, other: Bits, operation: impl Fn(u64, u64) -> u64) -> Bits {
        Bits(std::array::from_fn(|word| operation(self.0[word], other.0[word])))
    }
}

impl BitAnd for Bits {
    type Output = Bits;
    #[inline(always)]
    fn bitand(self, other: Bits) -> Bits {
        self.zip(other, |a, b| a & b)
    }
}

impl BitOr for Bits {
    type Output = Bits;
    #[inline(always)]
    fn bitor(self, other: Bits) -> Bits {
        self.zip(other, |a, b| a | b)
    }
}

impl BitXor for Bits {
    type Output = Bits;
    #[inline(always)]
    fn bitxor(self, other: Bits) -> Bits {
        self.zip(other, |a, b| a ^ b)
    }
}

impl Not for Bits {
    type Output = Bits;
    #[inline(always)]
    fn not(self) -> Bits {
        self ^ Bits::ALL
    }
}

impl BitAndAssign for Bits {
    #[inline(always)]
    fn bitand_assign(&mut self, other: Bits) {
        *self = *self & other;
    }
}

impl BitOrAssign for Bits {
    #[inline(always)]
    fn bitor_assign(&mut self, other: Bits) {
        *self = *self | other;
    }
}

impl BitXorAssign for Bits {
    #[inline(always)]
    fn bitxor_assign(&mut self, other: Bits) {
        *self = *self ^ other;
    }
}

/// Transposes 64 planes, for 64 lanes per word: bit p of word w of row r
/// becomes bit r of word w of plane p.
///
/// Off-diagonal squares are swapped, with half the size in each step [Warren
/// 2012, section 7-3].
pub fn transpose(planes: &mut [Bits; 64]) {
    dispatch!(level(), simd => transpose_at(simd, planes));
}

// The vectors are explicit: with 512 bits the compiler would vectorise the loop over rows, with gathers.
#[simd]
#[inline(never)]
fn transpose_at<S: Simd>(simd: S, planes: &mut [Bits; 64]) {
    let mut width = 32;
    let mut low = u64::from(u32::MAX);
    while width > 0 {
        let (mask, shift) = (u64x8::splat(simd, low), width as u32);
        for first in (0..64).step_by(2 * width) {
            let (upper, lower) = planes[first..first + 2 * width].split_at_mut(width);
            for (a, b) in upper.iter_mut().zip(lower) {
                let (before_a, before_b) = (u64x8::from_slice(simd, &a.0), u64x8::from_slice(simd, &b.0));
                let change = ((before_a >> shift) ^ before_b) & mask;
                (before_b ^ change).store_slice(&mut b.0);
                (before_a ^ (change << shift)).store_slice(&mut a.0);
            }
        }
        width /= 2;
        low ^= low << width;
    }
}

/// Bit planes, transposed into one row of words per lane.
#[derive(Clone, Debug, Default)]
pub struct TransposedPlanes(Vec<[Bits; 64]>);

impl TransposedPlanes {
    /// Replaces the planes.
    pub fn set(&mut self, planes: impl ExactSizeIterator<Item = Bits>) {
        self.0.resize(planes.len().div_ceil(64), [Bits::NONE; 64]);
        let mut blocks = self.0.iter_mut();
        let mut planes = planes.peekable();
        while planes.peek().is_some()
            && let Some(block) = blocks.next()
        {
            block.iter_mut().for_each(|row| *row = planes.next().unwrap_or(Bits::NONE));
            transpose(block);
        }
    }

    /// Returns the words of a lane: plane p is bit p mod 64 of word p / 64. Unused bits are 0.
    #[inline]
    pub fn words(&self, lane: usize) -> impl Iterator<Item = u64> {
        self.0.iter().map(move |block| block[lane % 64].0[lane / 64])
    }
}

/// Eight random number generators side by side: xoshiro256++ [Blackman and
/// Vigna 2021].
#[derive(Clone, Debug)]
pub struct RandomBits([[u64; Bits::WORDS]; 4]);

impl RandomBits {
    /// Creates generators whose seeds come from another generator. That
    /// generator never returns 256 zero bits in a row.
    pub fn new(rng: &mut Rng) -> RandomBits {
        RandomBits(std::array::from_fn(|_| std::array::from_fn(|_| rng.random())))
    }

    /// Draws a fair coin for each lane.
    #[simd]
    #[inline(never)]
    pub fn toss<S: Simd>(&mut self, _: S, coins: &mut Bits) {
        let [a, b, c, d] = &mut self.0;
        for i in 0..Bits::WORDS {
            coins.0[i] = a[i].wrapping_add(d[i]).rotate_left(23).wrapping_add(a[i]);
            let shifted = b[i] << 17;
            c[i] ^= a[i];
            d[i] ^= b[i];
            b[i] ^= c[i];
            a[i] ^= d[i];
            c[i] ^= shifted;
            d[i] = d[i].rotate_left(45);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn lanes_are_those_that_were_set() {
        let mut rng = Rng::seed_from_u64(1);
        let chosen: Vec<bool> = (0..LANES).map(|_| rng.random()).collect();
        let mut bits = Bits::ALL;
        for (lane, &value) in chosen.iter().enumerate() {
            bits.set(lane, value);
        }
        assert!((0..LANES).all(|lane| bits.get(lane) == chosen[lane]));
        let lanes: Vec<usize> = (0..LANES).filter(|&lane| chosen[lane]).collect();
        assert!(bits.lanes().eq(lanes.iter().copied()));
        let mut called = Vec::new();
        bits.for_each_lane(|lane| called.push(lane));
        assert_eq!(called, lanes);
        assert_eq!(bits.count(), lanes.len());
        assert_eq!((bits.any(), Bits::NONE.any()), (true, false));
        for count in [0, 1, 63, 64, 65, 200, 511, 512] {
            assert!(bits.take(count).lanes().eq(lanes.iter().copied().take(count)), "{count}");
        }
    }

    #[test]
    fn planes_become_rows() {
        let mut rng = Rng::seed_from_u64(3);
        let planes: [Bits; 64] = std::array::from_fn(|_| Bits(std::array::from_fn(|_| rng.random())));
        for level in sternhalma_cpu::levels() {
            let mut rows = planes;
            dispatch!(level, simd => transpose_at(simd, &mut rows));
            for (plane, bits) in planes.iter().enumerate() {
                for lane in 0..LANES {
                    assert_eq!(rows[lane % 64].0[lane / 64] >> plane & 1 == 1, bits.get(lane), "{plane} {lane}");
                }
            }
        }
    }

    #[test]
    fn transposed_planes_have_the_bits_of_each_lane() {
        let mut rng = Rng::seed_from_u64(4);
        let mut transposed = TransposedPlanes::default();
        for count in [130_usize, 64, 1, 0, 70] {
            let planes: Vec<Bits> = (0..count).map(|_| Bits(std::array::from_fn(|_| rng.random()))).collect();
            transposed.set(planes.iter().copied());
            for lane in 0..LANES {
                let mut expected = vec![0; count.div_ceil(64)];
                (0..count).for_each(|plane| expected[plane / 64] |= u64::from(planes[plane].get(lane)) << (plane % 64));
                assert!(transposed.words(lane).eq(expected));
            }
        }
    }

    #[test]
    fn coins_are_those_of_xoshiro() {
        // Each word is one generator of the published kind.
        use rand_xoshiro::Xoshiro256PlusPlus;
        let mut random = RandomBits::new(&mut Rng::seed_from_u64(2));
        let seed =
            |word: usize| -> [u8; 32] { std::array::from_fn(|byte| random.0[byte / 8][word].to_le_bytes()[byte % 8]) };
        let mut expected: [_; Bits::WORDS] = std::array::from_fn(|word| Xoshiro256PlusPlus::from_seed(seed(word)));
        let mut coins = Bits::NONE;
        for level in sternhalma_cpu::levels().into_iter().cycle().take(100) {
            dispatch!(level, simd => random.toss(simd, &mut coins));
            assert_eq!(coins.0, expected.each_mut().map(|generator| generator.random::<u64>()));
        }
    }
}
