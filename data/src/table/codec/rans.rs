//! Range asymmetric numeral systems, an entropy coder (Duda 2014).
//!
//! A symbol has a range of *slots* among [`SLOTS`]: its probability is the share of its range. The
//! encoder takes the symbols in reverse order. The coded bytes are the state of the coder in 8 bytes,
//! followed by words of 4 bytes in the order in which the decoder reads them, all little-endian.

/// The binary logarithm of [`SLOTS`].
const SLOT_BITS: u32 = 12;
/// The number of slots, which all symbols share.
pub const SLOTS: u32 = 1 << SLOT_BITS;
/// The lower bound of the state between two symbols. The state of an empty sequence is this number.
const LOW: u64 = 1 << 31;

/// An encoder of symbols, the last one first.
#[derive(Debug)]
pub struct Encoder {
    state: u64,
    /// The words so far, the last one for the decoder first.
    words: Vec<u32>,
}

impl Encoder {
    /// Returns an encoder of an empty sequence.
    pub fn new() -> Encoder {
        Encoder { state: LOW, words: Vec::new() }
    }

    /// Adds the symbol before all others. Its range has `length` slots, the first of which is `start`.
    ///
    /// # Panics
    /// If `length` is 0.
    #[inline]
    pub fn push(&mut self, start: u32, length: u32) {
        let (start, length) = (u64::from(start), u64::from(length));
        if self.state >= (LOW >> SLOT_BITS << 32) * length {
            self.words.push(self.state as u32);
            self.state >>= 32;
        }
        let quotient = divide(self.state, length);
        self.state = (quotient << SLOT_BITS) + (self.state - quotient * length) + start;
    }

    /// Appends the coded bytes to `out`.
    pub fn finish(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.state.to_le_bytes());
        self.words.iter().rev().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    }
}

/// Divides a number below 2^63 by a length of 1 to [`SLOTS`] [Granlund and Montgomery 1994, theorem 4.2].
#[inline]
fn divide(dividend: u64, length: u64) -> u64 {
    let product = u128::from(dividend) * u128::from(RECIPROCALS[length as usize]);
    (product >> 63) as u64 >> ceil_log2(length)
}

/// For each length `d`, ⌊2^(63 + l) / d⌋ + 1, where `l` is ⌈log₂ d⌉. The entry of length 0 is not used.
static RECIPROCALS: [u64; SLOTS as usize + 1] = reciprocals();

const fn reciprocals() -> [u64; SLOTS as usize + 1] {
    let mut reciprocals = [0; SLOTS as usize + 1];
    let mut length = 1;
    while length <= SLOTS as u64 {
        reciprocals[length as usize] = ((1 << (63 + ceil_log2(length))) / length as u128 + 1) as u64;
        length += 1;
    }
    reciprocals
}

/// Returns the binary logarithm of the length, rounded up.
const fn ceil_log2(length: u64) -> u32 {
    u64::BITS - (length - 1).leading_zeros()
}

impl Default for Encoder {
    fn default() -> Encoder {
        Encoder::new()
    }
}

/// A decoder of symbols.
#[derive(Debug)]
pub struct Decoder<'a> {
    state: u64,
    words: &'a [u8],
    /// Whether a word was missing.
    exhausted: bool,
}

impl<'a> Decoder<'a> {
    /// Returns a decoder of these bytes, or `None` if they are too short for a coded sequence.
    pub fn new(bytes: &'a [u8]) -> Option<Decoder<'a>> {
        let (state, words) = bytes.split_first_chunk()?;
        Some(Decoder { state: u64::from_le_bytes(*state), words, exhausted: false })
    }

    /// Returns the slot of the next symbol, below [`SLOTS`].
    #[inline(always)]
    pub fn slot(&self) -> u32 {
        self.state as u32 % SLOTS
    }

    /// Removes the next symbol. Its range contains the next slot, and has `length` slots, the first of
    /// which is `start`.
    #[inline(always)]
    pub fn advance(&mut self, start: u32, length: u32) {
        let within = u64::from(self.slot() - start);
        self.state = u64::from(length).wrapping_mul(self.state >> SLOT_BITS).wrapping_add(within);
        if self.state < LOW {
            self.fill();
        }
    }

    #[inline(always)]
    fn fill(&mut self) {
        match self.words.split_first_chunk() {
            Some((word, rest)) => {
                self.state = self.state << 32 | u64::from(u32::from_le_bytes(*word));
                self.words = rest;
            }
            None => self.exhausted = true,
        }
    }

    /// Returns whether exactly the symbols of the sequence have been removed.
    pub fn is_finished(&self) -> bool {
        self.state == LOW && self.words.is_empty() && !self.exhausted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotients_at_multiples_of_all_lengths_are_exact() {
        for length in 1..=u64::from(SLOTS) {
            for quotient in [0, 1, 2, LOW / length, (LOW << 32) / length - 1] {
                let multiple = quotient * length;
                assert_eq!(divide(multiple, length), quotient);
                assert_eq!(divide(multiple + length - 1, length), quotient, "{multiple} / {length}");
            }
        }
    }

    proptest! {
        #[test]
        fn quotients_are_exact(dividend in 0..LOW << 32, length in 1..=u64::from(SLOTS)) {
            prop_assert_eq!(divide(dividend, length), dividend / length);
        }

        #[test]
        fn symbols_decode_as_encoded(
            symbols in prop::collection::vec((0u32..SLOTS, 1u32..=SLOTS), 0..2000),
            cut: prop::sample::Index,
        ) {
            let ranges: Vec<(u32, u32)> =
                symbols.into_iter().map(|(start, length)| (start, length.min(SLOTS - start))).collect();
            let mut encoder = Encoder::new();
            ranges.iter().rev().for_each(|&(start, length)| encoder.push(start, length));
            let mut bytes = Vec::new();
            encoder.finish(&mut bytes);

            let mut decoder = Decoder::new(&bytes).unwrap();
            for &(start, length) in &ranges {
                prop_assert!((start..start + length).contains(&decoder.slot()));
                decoder.advance(start, length);
            }
            prop_assert!(decoder.is_finished());

            // Bytes that are cut short are detected.
            let cut = cut.index(bytes.len());
            if let Some(mut decoder) = Decoder::new(&bytes[..cut]) {
                for &(start, length) in &ranges {
                    if !(start..start + length).contains(&decoder.slot()) {
                        return Ok(());
                    }
                    decoder.advance(start, length);
                }
                prop_assert!(!decoder.is_finished());
            }
        }
    }
}
