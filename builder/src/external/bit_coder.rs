//! An entropy coder of bit streams with a fixed probability per stream.
//!
//! The coder ([`rans`]) takes one byte of a stream per step. The model of a stream is one of a few static
//! tables, which assume independent bits with the same probability. A stream
//! therefore needs no table in the coded bytes, so that short streams are small.

use std::sync::LazyLock;

use sternhalma_data::table::rans::{self, SLOTS};

/// The number of tables. Table `i` is for bits that are 1 with probability `2^(-1 - i / 2)`.
const LEVELS: usize = 20;
/// The level of a stream without ones, of which no byte is coded.
const EMPTY: u8 = LEVELS as u8;
/// The flag of a level whose stream is coded with all bits inverted.
const INVERTED: u8 = 0x80;

/// The model of a byte.
struct ByteTable {
    /// The first slot of each byte, and the number of slots.
    starts: [u16; 257],
    /// The byte of each slot.
    bytes: [u8; SLOTS as usize],
}

static TABLES: LazyLock<Vec<ByteTable>> = LazyLock::new(|| (0..LEVELS).map(ByteTable::new).collect());

impl ByteTable {
    /// Returns the table of a level. The computation uses integers only, because the
    /// tables are part of the file format.
    fn new(level: usize) -> ByteTable {
        // 46341 is the square root of one half.
        let probability = if level.is_multiple_of(2) { 65536 } else { 46341 } >> (1 + level / 2);
        let share = |ones: u32| {
            let factor = |bit: u32| if bit < ones { probability } else { 65536 - probability };
            (0..8).fold(1u64 << 32, |share, bit| (share * factor(bit)) >> 16)
        };
        let shares: Vec<u64> = (0..=8).map(share).collect();
        let mut frequencies = [0; 256];
        for (byte, frequency) in (0u32..).zip(&mut frequencies) {
            *frequency = ((shares[byte.count_ones() as usize] * u64::from(SLOTS)) >> 32).max(1);
        }
        // The byte 0 is the likeliest.
        frequencies[0] = u64::from(SLOTS) - frequencies[1..].iter().sum::<u64>();
        let mut table = ByteTable { starts: [0; 257], bytes: [0; SLOTS as usize] };
        for (byte, frequency) in frequencies.into_iter().enumerate() {
            let (start, end) = (table.starts[byte] as usize, table.starts[byte] as usize + frequency as usize);
            table.bytes[start..end].fill(byte as u8);
            table.starts[byte + 1] = end as u16;
        }
        table
    }

    /// Returns the first slot of a byte, and the number of its slots.
    #[inline]
    fn range(&self, byte: u8) -> (u32, u32) {
        let start = u32::from(self.starts[usize::from(byte)]);
        (start, u32::from(self.starts[usize::from(byte) + 1]) - start)
    }
}

/// A sequence of bits that is written.
#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    buffer: u64,
    /// The number of bits in the buffer, below 64.
    buffered: u32,
}

impl BitWriter {
    /// Adds the lowest `count` bits of `bits`, at most 8. The other bits must be 0.
    #[inline(always)]
    pub fn push(&mut self, bits: u64, count: u32) {
        self.buffer |= bits << self.buffered;
        let filled = self.buffered + count;
        if filled < 64 {
            self.buffered = filled;
            return;
        }
        self.bytes.extend_from_slice(&self.buffer.to_le_bytes());
        self.buffer = if self.buffered == 0 { 0 } else { bits >> (64 - self.buffered) };
        self.buffered = filled - 64;
    }

    /// Returns the number of bits, and bytes with these bits.
    fn finish(mut self) -> (u64, Vec<u8>) {
        let bits = 8 * self.bytes.len() as u64 + u64::from(self.buffered);
        let rest = self.buffer.to_le_bytes();
        self.bytes.extend_from_slice(&rest[..self.buffered.div_ceil(8) as usize]);
        (bits, self.bytes)
    }
}

/// A sequence of bits that is read.
#[derive(Default)]
pub(super) struct BitReader {
    bytes: Vec<u8>,
    bits: u64,
    /// The next byte that is not in the buffer.
    at: usize,
    taken: u64,
    buffer: u64,
    buffered: u32,
}

impl BitReader {
    /// Returns the next `count` bits, at most 8. Bits after the end are 0.
    #[inline(always)]
    pub fn take(&mut self, count: u32) -> u64 {
        if self.buffered < count {
            self.fill();
        }
        let bits = self.buffer & ((1 << count) - 1);
        self.buffer >>= count;
        self.buffered -= count;
        bits
    }

    #[inline(never)]
    fn fill(&mut self) {
        // At most 7 bits are left.
        let next = match self.bytes.get(self.at..).and_then(|bytes| bytes.first_chunk::<8>()) {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => 0,
        };
        self.buffer |= next << self.buffered;
        self.at += 7;
        self.taken += 56;
        self.buffered += 56;
        self.buffer &= u64::MAX >> (64 - self.buffered);
    }

    /// Returns whether exactly the bits of the sequence have been read.
    pub fn is_finished(&self) -> bool {
        self.taken - u64::from(self.buffered) == self.bits
    }
}

/// Encodes streams of bits.
pub(super) fn encode<const N: usize>(streams: [BitWriter; N]) -> Vec<u8> {
    let streams = streams.map(BitWriter::finish);
    let mut out = Vec::new();
    let mut levels = [EMPTY; N];
    for ((bits, bytes), level) in streams.iter().zip(&mut levels) {
        *level = level_of(*bits, bytes);
        push_number(&mut out, *bits);
        out.push(*level);
    }
    // Decoding reverses the order of the steps.
    let mut encoder = rans::Encoder::new();
    for ((_, bytes), level) in streams.iter().zip(levels).rev() {
        let Some((table, inverted)) = table_of(level) else { continue };
        for &byte in bytes.iter().rev() {
            let (start, slots) = table.range(byte ^ inverted);
            encoder.push(start, slots);
        }
    }
    encoder.finish(&mut out);
    out
}

/// Returns the streams in these bytes. Returns `None` if the bytes are not `N`
/// streams with at most `most` bits in all.
pub(super) fn decode<const N: usize>(mut bytes: &[u8], most: u64) -> Option<[BitReader; N]> {
    let mut streams: [BitReader; N] = std::array::from_fn(|_| BitReader::default());
    let mut levels = [EMPTY; N];
    let mut left = most;
    for (stream, level) in streams.iter_mut().zip(&mut levels) {
        stream.bits = take_number(&mut bytes)?;
        left = left.checked_sub(stream.bits)?;
        (*level, bytes) = bytes.split_first().map(|(level, rest)| (*level, rest))?;
        if usize::from(*level & !INVERTED) > LEVELS {
            return None;
        }
    }
    let mut decoder = rans::Decoder::new(bytes)?;
    for (stream, level) in streams.iter_mut().zip(levels) {
        let length = usize::try_from(stream.bits.div_ceil(8)).ok()?;
        // A read of 64 bits needs up to eight bytes after the last one.
        stream.bytes.reserve_exact(length + 8);
        match table_of(level) {
            None => stream.bytes.resize(length, if level & INVERTED == 0 { 0 } else { u8::MAX }),
            Some((table, inverted)) => {
                for _ in 0..length {
                    let byte = table.bytes[decoder.slot() as usize];
                    let (start, slots) = table.range(byte);
                    decoder.advance(start, slots);
                    stream.bytes.push(byte ^ inverted);
                }
            }
        }
        stream.bytes.resize(length + 8, 0);
    }
    decoder.is_finished().then_some(streams)
}

/// Returns the level whose table fits the stream best.
fn level_of(bits: u64, bytes: &[u8]) -> u8 {
    let ones = bytes.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
    let (rare, inverted) = if 2 * ones > bits { (bits - ones, INVERTED) } else { (ones, 0) };
    if rare == 0 {
        return EMPTY | inverted;
    }
    // The level is twice the binary logarithm of `bits / (2 * rare)`, rounded:
    // `(bits / (2 * rare))²` is compared with `2^(level + 1/2)`.
    let ratio = ((u128::from(bits) << 16) / u128::from(2 * rare)).pow(2);
    let level = (0..LEVELS - 1).take_while(|level| ratio > 46341 << (17 + level)).count();
    level as u8 | inverted
}

/// Returns the table of a level and the mask of its bytes, or `None` if no byte is coded.
fn table_of(level: u8) -> Option<(&'static ByteTable, u8)> {
    let inverted = if level & INVERTED == 0 { 0 } else { u8::MAX };
    TABLES.get(usize::from(level & !INVERTED)).map(|table| (table, inverted))
}

/// Adds a number in base 128, lowest digit first.
fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for digit in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << (7 * digit);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the bits in their order, written in parts of up to eight bits.
    fn written(bits: &[bool]) -> BitWriter {
        let mut writer = BitWriter::default();
        for (i, part) in bits.chunks(5).enumerate() {
            let (first, rest) = part.split_at(i % (part.len() + 1));
            for part in [first, rest] {
                let number = part.iter().rev().fold(0, |number, &bit| number << 1 | u64::from(bit));
                writer.push(number, part.len() as u32);
            }
        }
        writer
    }

    proptest! {
        #[test]
        fn streams_decode_as_encoded(
            streams in prop::array::uniform3((0usize..3000, 0u32..=64, any::<u64>())),
        ) {
            let bits = streams.map(|(length, ones, seed)| {
                let hash = |i: usize| (seed ^ i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) >> 58;
                (0..length).map(|i| hash(i) < ones.into()).collect::<Vec<bool>>()
            });
            let bytes = encode([&bits[0], &bits[1], &bits[2]].map(|bits| written(bits)));
            let total = bits.iter().map(Vec::len).sum::<usize>() as u64;
            prop_assert!(total == 0 || decode::<3>(&bytes, total - 1).is_none());
            let mut decoded = decode::<3>(&bytes, total).unwrap();
            for (stream, bits) in decoded.iter_mut().zip(&bits) {
                prop_assert!(bits.iter().all(|&bit| stream.take(1) == u64::from(bit)));
                prop_assert!(stream.is_finished());
            }
        }
    }

    /// The bits of a stream take little more than their entropy.
    #[test]
    fn rare_bits_take_little_space() {
        for (step, most) in [(7, 0.63), (40, 0.19), (300, 0.05)] {
            let bits: Vec<bool> = (0..100_000u64).map(|i| i.wrapping_mul(i + 7) % 10_007 % step == 0).collect();
            let size = encode([written(&bits)]).len() as f64 * 8.0 / bits.len() as f64;
            assert!(size < most, "one of {step}: {size} bits");
        }
    }
}
