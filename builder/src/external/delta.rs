//! Delta compression of a segment of a layer, given the two previous layers.
//!
//! States one move apart differ in distance by at most one. A state is therefore in
//! the layer only if no neighbor is two layers earlier, and it is in the layer if it
//! is in none of the two previous layers and has a neighbor in the last one. Some
//! neighbors of the states of a word are at the same distance in bits for all of
//! them ([`References`]). The coder counts, for each bit, the set bits among these
//! neighbors in the last layer and among the earlier ones in this layer, with bitwise
//! operations on whole words. Bits with a high count in the last layer are expected
//! to be set, bits without any neighbor are expected to be zero, and the deviations
//! are coded. The other bits are divided into classes by their counts, and each
//! class is a stream ([`bit_coder`](super::bit_coder)).
//!
//! Compression does not depend on the references being neighbors.

use std::ops::Range;

use fearless_simd::{Simd, dispatch};
use fearless_simd_macros::simd;
use sternhalma_cpu::level;

use super::bit_coder::{self, BitReader, BitWriter};
use crate::bits::low_mask;

/// The number of pieces whose moves are references.
pub(super) const SLOTS: usize = 5;

/// The words that are predicted at once.
const BLOCK: usize = 8;

/// The streams after those of the classes. Each is followed by two more ([`deviations`]).
const ACTIVE: usize = 8;
const QUIET: usize = ACTIVE + 3;
const STREAMS: usize = QUIET + 3;

/// The most bits of all streams per word: a flag, eight flags of bytes, and twice the bits.
const STREAM_BITS: u64 = 1 + 8 + 2 * 64;

/// The distances between the bits of a state and of the states with one piece moved,
/// which are the same in consecutive words. 0 stands for no reference.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct References {
    /// The word after the last one with these references.
    pub end: usize,
    /// The bits up from the state with a piece on the previous cell.
    pub previous: [u32; SLOTS],
    /// The bits down to the state with a piece on the next cell.
    pub next: [u32; SLOTS],
    /// The bits up from the state with a piece on the lowest neighbor of its cell.
    pub lower: [u32; SLOTS],
}

/// The known layers of a segment.
#[derive(Clone)]
pub(super) struct Known<'a> {
    /// The bits of the segment, counted from the first bit of the first word.
    pub bits: Range<u64>,
    /// The segment in the previous layer and in the one before. Other bits are 0.
    pub layers: [&'a [u64]; 2],
}

impl Known<'_> {
    /// Returns the bits of a word that may be set.
    #[inline(always)]
    fn unknown(&self, word: usize) -> u64 {
        let first = 64 * word as u64;
        let low = self.bits.start.saturating_sub(first).min(64) as u32;
        let inside = low_mask(self.bits.end.saturating_sub(first)) & u64::MAX.checked_shl(low).unwrap_or(0);
        inside & !(self.layers[0][word] | self.layers[1][word])
    }
}

/// Compresses a segment. All set bits of `words` must be bits of the segment that are in no known layer.
pub(super) fn encode(words: &mut [u64], known: &Known, references: impl FnMut(usize) -> References) -> Vec<u8> {
    let mut streams: [BitWriter; STREAMS] = std::array::from_fn(|_| BitWriter::default());
    dispatch!(level(), simd => transfer(simd, &mut streams, words, known, references));
    bit_coder::encode(streams)
}

/// Fills `words` with a compressed segment. Returns whether the bytes are valid.
pub(super) fn decode(
    bytes: &[u8],
    words: &mut [u64],
    known: &Known,
    references: impl FnMut(usize) -> References,
) -> bool {
    words.fill(0);
    let most = STREAM_BITS * words.len() as u64;
    let Some(mut streams) = bit_coder::decode::<STREAMS>(bytes, most) else { return false };
    dispatch!(level(), simd => transfer(simd, &mut streams, words, known, references));
    streams.iter().all(BitReader::is_finished)
}

/// Streams that are written or read. Both share the code of a segment, so that they cannot differ.
trait Streams {
    /// Writes `bits`, of which none is above the lowest `count`, and returns them, or reads that many bits.
    fn code_bits(&mut self, stream: usize, bits: u64, count: u32) -> u64;
}

impl Streams for [BitWriter; STREAMS] {
    #[inline(always)]
    fn code_bits(&mut self, stream: usize, bits: u64, count: u32) -> u64 {
        self[stream].push(bits, count);
        bits
    }
}

impl Streams for [BitReader; STREAMS] {
    #[inline(always)]
    fn code_bits(&mut self, stream: usize, _: u64, count: u32) -> u64 {
        self[stream].take(count)
    }
}

/// Transfers all words of a segment. If the streams are read, `words` must be zero.
#[simd]
fn transfer<S: Simd>(
    _: S,
    streams: &mut impl Streams,
    words: &mut [u64],
    known: &Known,
    mut references: impl FnMut(usize) -> References,
) {
    let mut word = 0;
    while word < words.len() {
        let References { end, previous, next, lower } = references(word);
        let end = end.clamp(word + 1, words.len());
        // Words of a block are predicted before any of them is read.
        let usable = previous.map(|distance| if distance < 64 { 0 } else { distance });
        let most = usable
            .iter()
            .filter(|&&distance| distance > 0)
            .fold(BLOCK, |most, &distance| most.min(distance as usize / 64));
        while word < end {
            let (mut same, mut last) = (Counts::default(), Counts::default());
            last.add(Offset::down(1).block(known.layers[0], word));
            last.add(Offset::up(1).block(known.layers[0], word));
            for slot in 0..SLOTS {
                if usable[slot] > 0 {
                    same.add(Offset::down(usable[slot]).block(words, word));
                    last.add(Offset::down(usable[slot]).block(known.layers[0], word));
                }
                if next[slot] > 0 {
                    last.add(Offset::up(next[slot]).block(known.layers[0], word));
                }
                if lower[slot] > 0 {
                    last.add(Offset::down(lower[slot]).block(known.layers[0], word));
                }
            }
            for i in 0..most.min(end - word) {
                let counts = [last.low[i], same.low[i], same.high[i]];
                words[word] = transfer_word(streams, words[word], known.unknown(word), last.high[i], counts);
                word += 1;
            }
        }
    }
}

/// Transfers a word. `unknown` has the bits that may be set, and `likely` those with at least two
/// neighbors in the last layer. `counts` are the other binary digits of the counts.
#[inline(always)]
fn transfer_word(streams: &mut impl Streams, word: u64, unknown: u64, likely: u64, counts: [u64; 3]) -> u64 {
    let expected = unknown & likely;
    let mut uncertain = unknown & !likely & (counts[0] | counts[1] | counts[2]);
    let stream = if expected | uncertain == 0 { QUIET } else { ACTIVE };
    let deviations = deviations(streams, stream, (word ^ expected) & !uncertain);
    let mut bits = (expected ^ deviations) & unknown & !uncertain;
    while uncertain != 0 {
        let at = uncertain.trailing_zeros();
        let class = (counts[0] >> at & 1) | (counts[1] >> at & 1) << 1 | (counts[2] >> at & 1) << 2;
        bits |= streams.code_bits(class as usize, word >> at & 1, 1) << at;
        uncertain &= uncertain - 1;
    }
    bits
}

/// Transfers a word with few set bits: a flag that it is not zero, a flag for each byte, and these bytes.
#[inline(always)]
fn deviations(streams: &mut impl Streams, stream: usize, word: u64) -> u64 {
    if streams.code_bits(stream, (word != 0).into(), 1) == 0 {
        return 0;
    }
    let bytes = word.to_le_bytes();
    let flags = (0..8).fold(0, |flags, i| flags | u64::from(bytes[i] != 0) << i);
    let mut flags = streams.code_bits(stream + 1, flags, 8);
    let mut out = [0; 8];
    while flags != 0 {
        let i = flags.trailing_zeros() as usize & 7;
        out[i] = streams.code_bits(stream + 2, bytes[i].into(), 8) as u8;
        flags &= flags - 1;
    }
    u64::from_le_bytes(out)
}

/// The place of some bits relative to those of a word.
#[derive(Clone, Copy)]
struct Offset {
    /// The words down to the first word with these bits, modulo the largest number of words.
    words: usize,
    shift: u32,
}

impl Offset {
    fn down(distance: u32) -> Offset {
        Offset { words: distance.div_ceil(64) as usize, shift: distance.wrapping_neg() % 64 }
    }

    fn up(distance: u32) -> Offset {
        Offset { words: (distance as usize / 64).wrapping_neg(), shift: distance % 64 }
    }

    /// Returns the bits relative to each word of a block, which begins with word number `word`.
    /// Bits outside `words` are 0.
    #[inline(always)]
    fn block(self, words: &[u64], word: usize) -> [u64; BLOCK] {
        let first = word.wrapping_sub(self.words);
        if let Some(window) = words.get(first..).and_then(|words| words.first_chunk()) {
            return self.shift(window);
        }
        let at = |i: usize| words.get(first.wrapping_add(i)).copied().unwrap_or(0);
        self.shift(&std::array::from_fn(at))
    }

    #[inline(always)]
    fn shift(self, window: &[u64; BLOCK + 1]) -> [u64; BLOCK] {
        std::array::from_fn(|i| window[i] >> self.shift | window[i + 1] << 1 << (63 - self.shift))
    }
}

/// A count from 0 to 3 for each bit of a block, in binary. Larger counts are 3.
#[derive(Default)]
struct Counts {
    low: [u64; BLOCK],
    high: [u64; BLOCK],
}

impl Counts {
    #[inline(always)]
    fn add(&mut self, bits: [u64; BLOCK]) {
        for ((low, high), bits) in self.low.iter_mut().zip(&mut self.high).zip(bits) {
            let carry = *low & bits;
            *low = (*low ^ bits) | (*low & *high);
            *high |= carry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn references() -> impl Strategy<Value = Vec<References>> {
        let distance = || prop_oneof![Just(0u32), 1u32..200, 1u32..5000, any::<u32>()];
        let distances = || prop::array::uniform5(distance());
        let chunk = (0usize..30, distances(), distances(), distances());
        prop::collection::vec(chunk, 1..20).prop_map(|chunks| {
            let chunks = chunks.into_iter();
            chunks.map(|(end, previous, next, lower)| References { end, previous, next, lower }).collect()
        })
    }

    fn words() -> impl Strategy<Value = u64> {
        prop_oneof![
            4 => Just(0u64),
            1 => Just(u64::MAX),
            2 => any::<u64>(),
            2 => (0u32..64).prop_map(|bit| 1 << bit),
            2 => (0u32..64, 0u32..64).prop_map(|(from, length)| (u64::MAX << from) & (u64::MAX >> length)),
        ]
    }

    /// Returns references for words: the next ones of the list for each chunk.
    fn cycle(references: &[References]) -> impl FnMut(usize) -> References {
        let mut chunks = references.iter().cycle();
        move |word| {
            let chunk = *chunks.next().unwrap();
            References { end: word + chunk.end, ..chunk }
        }
    }

    proptest! {
        #[test]
        fn segments_decode_as_encoded(
            layers in prop::collection::vec([words(), words(), words()], 1..200),
            (start, end) in (0u64..64, 0u64..64),
            references in references(),
            flipped in any::<(prop::sample::Index, u8)>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let bits = start.min(64 * layers.len() as u64 - 1 - end)..64 * layers.len() as u64 - end;
            let column = |i: usize| layers.iter().map(|words| words[i]).collect::<Vec<u64>>();
            let [mut words, last, before] = [0, 1, 2].map(column);
            let known = Known { bits, layers: [&last, &before] };
            words.iter_mut().enumerate().for_each(|(i, word)| *word &= known.unknown(i));
            let expected = words.clone();
            let bytes = encode(&mut words, &known, cycle(&references));
            prop_assert_eq!(&words, &expected);

            let mut decoded = vec![u64::MAX; words.len()];
            prop_assert!(decode(&bytes, &mut decoded, &known, cycle(&references)));
            prop_assert_eq!(&decoded, &expected);

            // Damaged bytes are rejected, or decode to possible states.
            let mut damaged = bytes.clone();
            damaged[flipped.0.index(bytes.len())] ^= flipped.1;
            for damaged in [&damaged[..], &bytes[..cut.index(bytes.len())], &[&bytes[..], &[0]].concat()] {
                if decode(damaged, &mut decoded, &known, cycle(&references)) {
                    prop_assert!(decoded.iter().enumerate().all(|(i, word)| word & !known.unknown(i) == 0));
                }
            }
            prop_assert!(!decode(&bytes[..bytes.len() - 1], &mut decoded, &known, cycle(&references)));
        }

        #[test]
        fn random_bytes_are_decoded_without_a_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            references in references(),
        ) {
            let (mut words, zeros) = (vec![0; 50], vec![0; 50]);
            let known = Known { bits: 3..3190, layers: [&zeros, &zeros] };
            let _ = decode(&bytes, &mut words, &known, cycle(&references));
        }
    }
}
