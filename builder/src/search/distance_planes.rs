//! The distances found so far, one bitmap per binary digit.

use std::collections::TryReserveError;
use std::ops::Range;

use fearless_simd::{Simd, dispatch};
use fearless_simd_macros::simd;
use rayon::prelude::*;
use sternhalma_cpu::level;
use sternhalma_data::Encoding;
use sternhalma_data::board::MirroredRuns;
use sternhalma_data::table::write::BlockEncoder;

use super::occupancy::{BLOCK, Occupancy};
use crate::bits::{load, low_mask, words_for};

/// One bit per state, by rank or reduced rank, and a spare word.
pub(crate) type Bitmap = Vec<u64>;

/// The words that one task of a parallel pass over bitmaps covers.
pub(crate) const STRIPE: usize = 1 << 13;

/// More layers than any known table has: plans of memory hold for distances below it.
pub(crate) const MAX_LAYERS: u64 = 64;

/// Returns an empty bitmap. The threads of the current pool clear its pages.
pub(crate) fn new_bitmap(states: u64) -> Result<Bitmap, TryReserveError> {
    let words = words_for(states);
    let mut bitmap = Vec::new();
    bitmap.try_reserve_exact(words)?;
    (0..words).into_par_iter().map(|_| 0).collect_into_vec(&mut bitmap);
    Ok(bitmap)
}

/// The distances of the seen states, or the distances modulo 3.
pub(crate) enum DistancePlanes {
    /// The distance of a seen state in binary: `digits[i]` has its bit `i`.
    Distance { states: u64, seen: Bitmap, digits: Vec<Bitmap> },
    /// 1 + the distance modulo 3 in binary, and 0 for an unseen state.
    Mod3 { digits: [Bitmap; 2] },
}

impl DistancePlanes {
    /// Returns planes without any seen state.
    pub fn new(states: u64, encoding: Encoding) -> Result<DistancePlanes, TryReserveError> {
        Ok(match encoding {
            Encoding::Mod3 => DistancePlanes::Mod3 { digits: [new_bitmap(states)?, new_bitmap(states)?] },
            _ => DistancePlanes::Distance { states, seen: new_bitmap(states)?, digits: Vec::new() },
        })
    }

    /// Returns the number of bitmaps with at most [`MAX_LAYERS`] layers.
    pub const fn bitmaps(encoding: Encoding) -> u64 {
        match encoding {
            Encoding::Mod3 => 2,
            // The seen states, and one bitmap per binary digit.
            _ => 1 + MAX_LAYERS.ilog2() as u64,
        }
    }

    /// Returns two bitmaps. A state is seen if at least one of them contains it.
    pub fn seen(&self) -> [&[u64]; 2] {
        match self {
            DistancePlanes::Distance { seen, .. } => [seen, seen],
            DistancePlanes::Mod3 { digits: [low, high] } => [low, high],
        }
    }

    /// Returns whether the block of bitmaps with this number, see [`Occupancy`], has an unseen state.
    pub fn any_unseen(&self, block: usize) -> bool {
        let words = self.seen().map(|bitmap| bitmap.iter().skip(block * BLOCK).take(BLOCK));
        let [a, b] = words;
        a.zip(b).any(|(a, b)| a | b != u64::MAX)
    }

    /// Sets the distance of the states of `layer`, which must be unseen.
    pub fn add(&mut self, layer: &[u64], occupancy: &Occupancy, distance: u8) -> Result<(), TryReserveError> {
        let (label, digits): (u8, Vec<&mut Bitmap>) = match self {
            DistancePlanes::Distance { states, seen, digits } => {
                while distance >> digits.len() != 0 {
                    digits.push(new_bitmap(*states)?);
                }
                let digits = digits.iter_mut().chain([seen]).collect::<Vec<_>>();
                (distance | 1 << (digits.len() - 1), digits)
            }
            DistancePlanes::Mod3 { digits } => (distance % 3 + 1, digits.iter_mut().collect()),
        };
        for (_, digit) in digits.into_iter().enumerate().filter(|(i, _)| label >> i & 1 != 0) {
            let stripes = digit.par_chunks_mut(STRIPE).zip(layer.par_chunks(STRIPE));
            stripes.enumerate().for_each(|(stripe, (digit, layer))| {
                let blocks = digit.chunks_mut(BLOCK).zip(layer.chunks(BLOCK)).enumerate();
                let occupied = blocks.filter(|(block, _)| occupancy.contains(stripe * (STRIPE / BLOCK) + block));
                occupied
                    .for_each(|(_, (digit, layer))| digit.iter_mut().zip(layer).for_each(|(digit, new)| *digit |= new));
            });
        }
        Ok(())
    }

    /// Returns whether the first `states` states are all seen.
    pub fn all_seen(&self, states: u64) -> bool {
        let [a, b] = self.seen();
        (0..states).step_by(64).all(|rank| {
            let wanted = low_mask(states - rank);
            (a[(rank / 64) as usize] | b[(rank / 64) as usize]) & wanted == wanted
        })
    }

    /// Returns the bytes of a table block with these indices. The first state of the
    /// planes has index `first_index`, and all states of the block must be seen.
    pub fn encode_block(
        &self,
        first_index: u64,
        indices: Range<u64>,
        encoding: Encoding,
        encoder: &mut BlockEncoder,
    ) -> Vec<u8> {
        let states = indices.start - first_index..indices.end - first_index;
        match self {
            DistancePlanes::Mod3 { digits } => encode_mod3(digits, states),
            DistancePlanes::Distance { .. } => {
                let mut bytes = vec![0; (states.end - states.start) as usize];
                self.read(states.start, &mut bytes);
                encode_distances(bytes, indices, encoding, encoder)
            }
        }
    }

    /// Returns the bytes of a block of an unmirrored table with these ranks. The planes are by reduced rank.
    pub fn encode_reduced_block(
        &self,
        runs: &MirroredRuns,
        ranks: Range<u64>,
        encoding: Encoding,
        encoder: &mut BlockEncoder,
    ) -> Vec<u8> {
        let bytes = runs.read_by_rank(ranks.clone(), |first, bytes| self.read(first, bytes));
        match self {
            DistancePlanes::Mod3 { .. } => pack_mod3(&bytes),
            DistancePlanes::Distance { .. } => encode_distances(bytes, ranks, encoding, encoder),
        }
    }

    /// Reads the distances, or the distances modulo 3, of the states from position `first` on.
    pub fn read(&self, first: u64, out: &mut [u8]) {
        dispatch!(level(), simd => self.read_at(simd, first, out));
    }

    #[simd]
    fn read_at<S: Simd>(&self, _: S, first: u64, out: &mut [u8]) {
        let (digits, is_mod3) = match self {
            DistancePlanes::Distance { digits, .. } => (&digits[..], false),
            DistancePlanes::Mod3 { digits } => (&digits[..], true),
        };
        for (at, out) in (first..).step_by(64).zip(out.chunks_mut(64)) {
            let mut bytes = [0u64; 8];
            let mut add = |bits: u64, digit: usize| {
                for (eighth, bytes) in bytes.iter_mut().enumerate() {
                    *bytes |= spread(bits >> (8 * eighth) & 0xff) << digit;
                }
            };
            if is_mod3 {
                let (low, high) = (load(&digits[0], at), load(&digits[1], at));
                // 1, 2, 3 are stored as 0, 1, 2.
                add(high & !low, 0);
                add(high & low, 1);
            } else {
                digits.iter().enumerate().for_each(|(digit, bits)| add(load(bits, at), digit));
            }
            let bytes = bytes.map(u64::to_le_bytes);
            out.copy_from_slice(&bytes.as_flattened()[..out.len()]);
        }
    }
}

/// Returns the distances of these states modulo 3, four per byte. The planes already have this layout.
fn encode_mod3(digits: &[Bitmap; 2], states: Range<u64>) -> Vec<u8> {
    dispatch!(level(), simd => encode_mod3_at(simd, digits, states))
}

#[simd]
fn encode_mod3_at<S: Simd>(_: S, [low, high]: &[Bitmap; 2], states: Range<u64>) -> Vec<u8> {
    let count = (states.end - states.start) as usize;
    let mut out = Vec::with_capacity(count / 4 + 16);
    for at in states.step_by(64) {
        let left = count - 4 * out.len();
        let mask = low_mask(left as u64);
        // 1, 2, 3 are stored as 0, 1, 2.
        let (low, high) = (load(low, at), load(high, at) & mask);
        let pairs = interleave(high & !low, high & low);
        out.extend(pairs.to_le_bytes());
    }
    out.truncate(count.div_ceil(4));
    out
}

/// Returns the bytes of a table block with these indices and distances.
fn encode_distances(
    distances: Vec<u8>,
    indices: Range<u64>,
    encoding: Encoding,
    encoder: &mut BlockEncoder,
) -> Vec<u8> {
    if encoding == Encoding::Byte { distances } else { encoder.encode(indices, &distances) }
}

/// Packs distances modulo 3, four per byte.
fn pack_mod3(bytes: &[u8]) -> Vec<u8> {
    let pack = |four: &[u8]| {
        let mut padded = [0; 4];
        padded[..four.len()].copy_from_slice(four);
        let four = u32::from_le_bytes(padded);
        (four | four >> 6 | four >> 12 | four >> 18) as u8
    };
    bytes.chunks(4).map(pack).collect()
}

/// Spreads the eight bits of a byte to eight bytes of 0 or 1.
#[inline]
fn spread(byte: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let picked = (byte * ONES) & 0x8040_2010_0804_0201;
    // A byte that is not zero has one bit, and the sum carries into bit 7.
    ((picked + 0x7f * ONES) >> 7) & ONES
}

/// Moves bit `i` of `even` to bit `2i`, and bit `i` of `odd` to bit `2i + 1`.
#[inline]
fn interleave(even: u64, odd: u64) -> u128 {
    let widen = |bits: u64| {
        let mut wide = u128::from(bits);
        for (shift, mask) in [
            (32, 0x0000_0000_ffff_ffff_0000_0000_ffff_ffff),
            (16, 0x0000_ffff_0000_ffff_0000_ffff_0000_ffff),
            (8, 0x00ff_00ff_00ff_00ff_00ff_00ff_00ff_00ff),
            (4, 0x0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f),
            (2, 0x3333_3333_3333_3333_3333_3333_3333_3333),
            (1, 0x5555_5555_5555_5555_5555_5555_5555_5555),
        ] {
            wide = (wide | wide << shift) & mask;
        }
        wide
    };
    widen(even) | widen(odd) << 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn planes_encode_each_state(distances in prop::collection::vec(0u8..40, 1..400), cut in 0usize..400) {
            let states = distances.len() as u64;
            let cut = cut.min(distances.len() - 1);
            for encoding in [Encoding::Byte, Encoding::Mod3] {
                let mut planes = DistancePlanes::new(states, encoding).unwrap();
                for distance in 0..40 {
                    let mut layer = new_bitmap(states).unwrap();
                    for (i, _) in distances.iter().enumerate().filter(|(_, d)| **d == distance) {
                        layer[i / 64] |= 1 << (i % 64);
                    }
                    let mut occupancy = Occupancy::new(layer.len());
                    occupancy.update(&layer);
                    planes.add(&layer, &occupancy, distance).unwrap();
                }
                let seen = planes.seen();
                for i in 0..states {
                    let word = (i / 64) as usize;
                    prop_assert!((seen[0][word] | seen[1][word]) >> (i % 64) & 1 == 1);
                }
                let mut bytes = vec![0; distances.len() - cut];
                planes.read(cut as u64, &mut bytes);
                if let DistancePlanes::Mod3 { digits } = &planes {
                    let packed = pack_mod3(&bytes);
                    bytes = encode_mod3(digits, cut as u64..states);
                    prop_assert_eq!(&bytes, &packed);
                }
                let per_byte = encoding.states_per_byte().unwrap() as usize;
                prop_assert_eq!(bytes.len(), (distances.len() - cut).div_ceil(per_byte));
                let mut padded = distances[cut..].to_vec();
                if encoding == Encoding::Mod3 {
                    padded.resize(bytes.len() * 4, 0);
                    let expected: Vec<u8> = padded.chunks(4).map(|c| c.iter().rev().fold(0, |byte, d| (byte << 2) | (d % 3))).collect();
                    prop_assert_eq!(bytes, expected);
                } else {
                    prop_assert_eq!(bytes, padded);
                }
            }
        }
    }
}
