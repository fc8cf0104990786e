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

/// Returns the file of the models of the encoding `ans`, which other readers of tables need: see
/// `docs/reference/table-format.md`.
pub fn ans_models() -> &'static [u8] {
    FILE
}

/// The number of models.
const COUNT: usize = FILE.len() / (2 * 3 * CONTEXTS);
/// The costs of each [`CodedSymbol`] in 1/256 bits, by model, without the distance after [`ESCAPE`].
static COSTS: LazyLock<Vec<[u16; COUNT]>> = LazyLock::new(|| {
    let cost = |length: u16| (256.0 * (f64::from(SLOTS) / f64::from(length)).log2()).round() as u16;
    let costs = |symbol: usize| std::array::from_fn(|model: usize| cost(MODELS[model].ranges[symbol].length));
    (0..4 * CONTEXTS).map(costs).collect()
});

/// A symbol with its context: four times the context, plus the symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodedSymbol(u16);

impl CodedSymbol {
    #[inline(always)]
    pub fn new(context: usize, symbol: u8) -> CodedSymbol {
        CodedSymbol(4 * context as u16 + u16::from(symbol))
    }

    #[inline(always)]
    pub fn is_escape(self) -> bool {
        self.0 % 4 == u16::from(ESCAPE)
    }
}

/// Returns the number of the model with the least cost of these symbols, the first one of several.
#[inline(always)]
pub(super) fn cheapest_model(symbols: &[CodedSymbol]) -> usize {
    let mut sums = [0u64; COUNT];
    let costs = &COSTS[..];
    for symbol in symbols {
        sums.iter_mut().zip(costs[usize::from(symbol.0)]).for_each(|(sum, cost)| *sum += u64::from(cost));
    }
    let (number, _) = sums.into_iter().enumerate().min_by_key(|&(_, sum)| sum).expect("there are models");
    number
}

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
    /// The ranges of each [`CodedSymbol`].
    ranges: Vec<SlotRange>,
}

/// The range of a symbol.
#[derive(Clone, Copy, Debug)]
struct SlotRange {
    start: u16,
    length: u16,
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
        let mut contexts: Vec<Context> = (0..CONTEXTS).map(|context| Context::of(lengths(context))).collect();
        let ranges = contexts.iter().flat_map(Context::ranges).collect();
        contexts.resize(ROOM, contexts[0]);
        let contexts = contexts.into_boxed_slice().try_into().expect("there is one entry per context");
        Model { contexts, ranges }
    }

    /// Encodes a symbol before those that have been encoded.
    #[inline]
    pub fn encode(&self, encoder: &mut Encoder, symbol: CodedSymbol) {
        let SlotRange { start, length } = self.ranges[usize::from(symbol.0)];
        encoder.push(start.into(), length.into());
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

    /// Returns the ranges of the symbols, by symbol.
    fn ranges(&self) -> [SlotRange; 4] {
        let Context { ends: [first, second, third], symbols } = *self;
        let mut ranges = [SlotRange { start: 0, length: 0 }; 4];
        let ends = [first, second, third, SLOTS as u16];
        for (place, (start, end)) in std::iter::once(0).chain(ends).zip(ends).enumerate() {
            ranges[usize::from(symbols >> (2 * place) & 3)] = SlotRange { start, length: end - start };
        }
        ranges
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

    /// The models are part of the file format (`docs/reference/table-format.md`).
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
