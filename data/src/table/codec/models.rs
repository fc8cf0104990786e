//! The probabilities of the encoding `ans`.

use std::sync::LazyLock;

use super::context::CONTEXTS;
use super::rans::{Decoder, Encoder, SLOTS};

/// The symbol of a distance that is none of the likely ones. Symbol `s` of the others means the
/// difference `s - 1` to the base.
pub(super) const ESCAPE: u8 = 3;
/// The number of slots of each distance that follows [`ESCAPE`].
const ESCAPED_SLOTS: u32 = SLOTS / 256;

/// The models that a block may choose from. `examples/count_models.rs` counts them.
///
/// The file has the numbers of slots of the symbols 0, 1 and 2 for each model and context, in 16 bits
/// each. The rest of the slots is that of [`ESCAPE`].
static FILE: &[u8] = include_bytes!("models.bin");
static MODELS: LazyLock<Vec<Model>> = LazyLock::new(|| {
    let (words, _) = FILE.as_chunks::<2>();
    let lengths: Vec<u16> = words.iter().map(|&word| u16::from_le_bytes(word)).collect();
    lengths.chunks_exact(3 * CONTEXTS).map(Model::of).collect()
});

/// The entries of a model, so that `context % ROOM` needs no bounds check.
const ROOM: usize = CONTEXTS.next_power_of_two();

/// Returns all models.
pub(super) fn models() -> &'static [Model] {
    &MODELS
}

/// The probabilities of the symbols in each context.
#[derive(Debug)]
pub(super) struct Model {
    contexts: Box<[Context; ROOM]>,
    /// The cost of each symbol in each context, in 1/256 bits.
    costs: Box<[[u16; 4]; CONTEXTS]>,
}

/// The symbols of a context, the likeliest first.
#[derive(Clone, Copy, Debug)]
struct Context {
    /// The ends of the ranges of the first three symbols. The range of the last one ends with the slots.
    ends: [u16; 3],
    /// The symbols in two bits each, from the lowest bits up.
    symbols: u16,
}

impl Model {
    fn of(lengths: &[u16]) -> Model {
        let (lengths, _) = lengths.as_chunks::<3>();
        let lengths = |context: usize| {
            let [low, equal, high] = lengths[context];
            [low, equal, high, SLOTS as u16 - low - equal - high]
        };
        let cost = |length: u16| (256.0 * (f64::from(SLOTS) / f64::from(length)).log2()).round() as u16;
        let mut contexts: Vec<Context> = (0..CONTEXTS).map(|context| Context::of(lengths(context))).collect();
        contexts.resize(ROOM, contexts[0]);
        let costs: Vec<[u16; 4]> = (0..CONTEXTS).map(|context| lengths(context).map(cost)).collect();
        let whole = "there is one entry per context";
        Model {
            contexts: contexts.into_boxed_slice().try_into().expect(whole),
            costs: costs.into_boxed_slice().try_into().expect(whole),
        }
    }

    /// Returns the cost of a symbol in 1/256 bits, without the distance after [`ESCAPE`].
    #[inline]
    pub fn cost(&self, context: usize, symbol: u8) -> u64 {
        self.costs[context][usize::from(symbol)].into()
    }

    /// Encodes a symbol before those that have been encoded.
    #[inline]
    pub fn encode(&self, encoder: &mut Encoder, context: usize, symbol: u8) {
        let Context { ends: [first, second, third], symbols } = self.contexts[context % ROOM];
        let starts = [0, first, second, third, SLOTS as u16];
        let place = (0..4).find(|place| symbols >> (2 * place) & 3 == u16::from(symbol)).unwrap_or(3);
        let (start, end) = (starts[place], starts[place + 1]);
        encoder.push(start.into(), (end - start).into());
    }

    /// Decodes the next symbol.
    #[inline(always)]
    pub fn decode(&self, decoder: &mut Decoder, context: usize) -> u8 {
        let slot = decoder.slot();
        let Context { ends, symbols } = self.contexts[context % ROOM];
        let [first, second, third] = ends.map(u32::from);
        // The first symbol is likely, so that branches are predicted well.
        let (start, end, place) = if slot < first {
            (0, first, 0)
        } else if slot < second {
            (first, second, 1)
        } else if slot < third {
            (second, third, 2)
        } else {
            (third, SLOTS, 3)
        };
        decoder.advance(start, end - start);
        (symbols >> (2 * place) & 3) as u8
    }
}

impl Context {
    fn of(lengths: [u16; 4]) -> Context {
        let mut symbols = [0u8, 1, 2, 3];
        // Equal symbols stay in order.
        symbols.sort_by_key(|&symbol| std::cmp::Reverse(lengths[usize::from(symbol)]));
        let length = |place: usize| lengths[usize::from(symbols[place])];
        let (first, second) = (length(0), length(0) + length(1));
        let packed = symbols.iter().rev().fold(0, |packed, &symbol| packed << 2 | u16::from(symbol));
        Context { ends: [first, second, second + length(2)], symbols: packed }
    }
}

/// Encodes the distance after an [`ESCAPE`].
pub(super) fn encode_escaped(encoder: &mut Encoder, distance: u8) {
    encoder.push(u32::from(distance) * ESCAPED_SLOTS, ESCAPED_SLOTS);
}

/// Decodes the distance after an [`ESCAPE`].
#[cold]
pub(super) fn decode_escaped(decoder: &mut Decoder) -> u8 {
    let distance = decoder.slot() / ESCAPED_SLOTS;
    decoder.advance(distance * ESCAPED_SLOTS, ESCAPED_SLOTS);
    distance as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The models are part of the file format (`docs/table-format.md`).
    #[test]
    fn models_have_a_slot_for_each_symbol() {
        assert!(!models().is_empty() && models().len() <= 256);
        assert_eq!(FILE.len(), models().len() * 3 * CONTEXTS * 2);
        assert_eq!((FILE.len(), xxhash_rust::xxh3::xxh3_64(FILE)), (134_808, 0x769a_eeaa_1aa8_c875));
        let (words, _) = FILE.as_chunks::<2>();
        let lengths: Vec<u32> = words.iter().map(|&word| u16::from_le_bytes(word).into()).collect();
        for lengths in lengths.chunks(3) {
            assert!(lengths.iter().all(|&length| length > 0) && lengths.iter().sum::<u32>() < SLOTS);
        }
    }
}
