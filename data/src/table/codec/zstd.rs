//! Compressed blocks: predicted distances as symbols, packed by zstd.

use std::cell::RefCell;
use std::ops::Range;

use fearless_simd::dispatch;
use sternhalma_cpu::level;
use zstd::bulk::{Compressor, Decompressor};

use super::intervals::Intervals;
use super::predict::{NeighborCells, Slice};
use super::walk::{DistanceSource, NONE, Walk};
use crate::board::Geometry;

/// The symbol of a state whose distance follows the symbols.
const ESCAPE: u8 = 3;
const SYMBOLS_PER_BYTE: usize = 4;

/// The state of the compressor of blocks.
pub(super) struct ZstdEncoder {
    neighbors: NeighborCells,
    slice: Box<Slice>,
    compressor: Compressor<'static>,
}

impl ZstdEncoder {
    pub fn new(geometry: &Geometry, level: u8) -> ZstdEncoder {
        ZstdEncoder {
            neighbors: NeighborCells::of(geometry),
            slice: Slice::new(),
            compressor: Compressor::new(level.into()).expect("zstd has the level"),
        }
    }

    /// Returns the bytes of the block of these states.
    pub fn encode(&mut self, states: Intervals, distances: &[u8]) -> Vec<u8> {
        let mut encoder = SymbolEncoder { distances, symbols: vec![0; distances.len()], at: 0, escapes: Vec::new() };
        dispatch!(level(), simd => Walk::visit(simd, &self.neighbors, &mut self.slice, states, &mut encoder));
        let mut content = packed(&encoder.symbols);
        content.extend(encoder.escapes);
        self.compressor.compress(&content).expect("the library sizes its own output buffer")
    }
}

/// The distances of a block to encode, and its symbols.
struct SymbolEncoder<'a> {
    distances: &'a [u8],
    /// The symbols of the first `at` states, followed by zeros.
    symbols: Vec<u8>,
    at: usize,
    escapes: Vec<u8>,
}

impl DistanceSource for SymbolEncoder<'_> {
    #[inline(always)]
    fn next(&mut self, predictor: u8, symbol_map: u32) -> u8 {
        let distance = self.distances[self.at];
        let symbol = if predictor == NONE { ESCAPE } else { symbol_of(distance, predictor, symbol_map) };
        self.symbols[self.at] = symbol;
        self.at += 1;
        if symbol == ESCAPE {
            self.escapes.push(distance);
        }
        distance
    }

    fn skip(&mut self, _: usize) -> bool {
        false
    }

    fn collect(&mut self, _: &[u16]) {}
}

/// Packs symbols into two bits each, from the lowest bits of each byte up.
pub(crate) fn packed(symbols: &[u8]) -> Vec<u8> {
    let pack = |symbols: [u8; SYMBOLS_PER_BYTE]| symbols.iter().rev().fold(0, |byte, symbol| byte << 2 | symbol);
    let (whole, rest) = symbols.as_chunks();
    let mut out: Vec<u8> = whole.iter().map(|&symbols| pack(symbols)).collect();
    if !rest.is_empty() {
        out.push(pack(std::array::from_fn(|i| rest.get(i).copied().unwrap_or(0))));
    }
    out
}

#[inline(always)]
fn symbol_of(distance: u8, predictor: u8, symbol_map: u32) -> u8 {
    let difference = distance.wrapping_sub(predictor).wrapping_add(1);
    INVERSE_MAPS[symbol_map as usize % INVERSE_MAPS.len()] >> (2 * difference.min(ESCAPE)) & 3
}

/// The inverse of each symbol map, which is a permutation of the differences −1, 0 and +1. It has the symbols of
/// these differences, and [`ESCAPE`] for all others, in two bits each. The symbol of −1 is in the lowest bits.
static INVERSE_MAPS: [u8; 64] = inverse_maps();

const fn inverse_maps() -> [u8; 64] {
    let mut inverses = [u8::MAX; 64];
    let mut map = 0;
    while map < inverses.len() {
        let mut symbol = 0;
        while symbol < ESCAPE {
            let place = 2 * (map >> (2 * symbol) & 3);
            inverses[map] = inverses[map] & !(3 << place) | symbol << place;
            symbol += 1;
        }
        inverses[map] |= ESCAPE << (2 * ESCAPE);
        map += 1;
    }
    inverses
}

/// A decompressed block: one symbol per state, followed by the distances of the
/// states with the symbol [`ESCAPE`].
#[derive(Clone, Copy)]
struct Content<'a> {
    symbols: &'a [u8],
    escapes: &'a [u8],
}

impl<'a> Content<'a> {
    /// Returns the content in these bytes, or `None` if they are not the bytes of
    /// a block of `states` states.
    fn parse(bytes: &'a [u8], states: usize) -> Option<Content<'a>> {
        let (symbols, escapes) = bytes.split_at_checked(states.div_ceil(SYMBOLS_PER_BYTE))?;
        let content = Content { symbols, escapes };
        // The symbols after the last state are padding and must be zero. No
        // earlier distance predicts that of the first state.
        let padded = (states..symbols.len() * SYMBOLS_PER_BYTE).all(|i| content.symbol(i) == 0);
        let valid = padded && content.symbol(0) == ESCAPE && content.count_escapes(0..states) == escapes.len();
        valid.then_some(content)
    }

    #[inline]
    fn symbol(&self, i: usize) -> u8 {
        self.symbols[i / SYMBOLS_PER_BYTE] >> (2 * (i % SYMBOLS_PER_BYTE)) & 3
    }

    fn count_escapes(&self, states: Range<usize>) -> usize {
        let upto = |end: usize| {
            let (whole, rest) = self.symbols.split_at(end / SYMBOLS_PER_BYTE);
            let last = rest.first().map_or(0, |byte| byte & ((1 << (2 * (end % SYMBOLS_PER_BYTE))) - 1));
            (whole, last)
        };
        let ((before, cut), (whole, last)) = (upto(states.start), upto(states.end));
        let count = count_threes(&whole[before.len().min(whole.len())..]);
        count + threes(last.into()) - threes(cut.into())
    }
}

/// A decompressed block from which distances are decoded.
struct Decoder<'a> {
    content: Content<'a>,
    /// The number of decoded or skipped states, and of their symbols [`ESCAPE`].
    at: usize,
    escapes: usize,
    /// The states of the block whose distances are written to `out`.
    wanted: Range<usize>,
    out: &'a mut [u8],
}

impl DistanceSource for Decoder<'_> {
    #[inline(always)]
    fn next(&mut self, predictor: u8, symbol_map: u32) -> u8 {
        self.at += 1;
        match self.content.symbol(self.at - 1) {
            ESCAPE => {
                self.escapes += 1;
                self.content.escapes.get(self.escapes - 1).copied().unwrap_or(NONE)
            }
            symbol => predictor.wrapping_add((symbol_map >> (2 * symbol) & 3) as u8).wrapping_sub(1),
        }
    }

    #[inline]
    fn skip(&mut self, states: usize) -> bool {
        let end = self.at + states;
        if end > self.wanted.start {
            return false;
        }
        self.escapes += self.content.count_escapes(self.at..end);
        self.at = end;
        true
    }

    #[inline]
    fn collect(&mut self, distances: &[u16]) {
        if self.at > self.wanted.start {
            let from = self.at - distances.len();
            let skipped = self.wanted.start.saturating_sub(from);
            let out = &mut self.out[from + skipped - self.wanted.start..];
            out.iter_mut().zip(&distances[skipped..]).for_each(|(out, &distance)| *out = distance as u8);
        }
    }
}

/// Returns the number of bit pairs that are 3.
fn threes(bits: u64) -> usize {
    (bits & bits >> 1 & 0x5555_5555_5555_5555).count_ones() as usize
}

fn count_threes(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks();
    let words: usize = words.iter().map(|word| threes(u64::from_le_bytes(*word))).sum();
    words + rest.iter().map(|&byte| threes(byte.into())).sum::<usize>()
}

/// The buffers of a thread that reads blocks.
struct Workspace {
    decompressor: Decompressor<'static>,
    content: Vec<u8>,
    slice: Box<Slice>,
}

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::new(Workspace {
        decompressor: Decompressor::new().expect("creating a decompressor allocates a constant amount"),
        content: Vec::new(),
        slice: Slice::new(),
    });
}

/// Decompresses a block. Returns `None` if the block does not contain exactly
/// `states` states.
///
/// Memory: at most five bytes per four states.
pub(super) fn decompress(bytes: &[u8], states: usize) -> Option<std::sync::Arc<[u8]>> {
    WORKSPACE.with_borrow_mut(|workspace| {
        workspace.content.resize(states.div_ceil(SYMBOLS_PER_BYTE) + states, 0);
        let length = workspace.decompressor.decompress_to_buffer(bytes, &mut workspace.content[..]).ok()?;
        let content = &workspace.content[..length];
        Content::parse(content, states)?;
        Some(content.into())
    })
}

/// Writes the distances of the wanted states of a block to `out`.
///
/// `content` is from [`decompress`], the block has `states` states, and `wanted`
/// counts from its first state. `visited` are the states of the block up to the
/// last wanted one. A state without a valid distance has 255.
pub(super) fn read(
    neighbors: &NeighborCells,
    content: &[u8],
    states: usize,
    visited: Intervals,
    wanted: Range<usize>,
    out: &mut [u8],
) {
    let (symbols, escapes) = content.split_at(states.div_ceil(SYMBOLS_PER_BYTE));
    let content = Content { symbols, escapes };
    let mut decoder = Decoder { content, at: 0, escapes: 0, wanted, out };
    WORKSPACE.with_borrow_mut(|workspace| {
        dispatch!(level(), simd => Walk::visit(simd, neighbors, &mut workspace.slice, visited, &mut decoder));
    });
}

#[cfg(test)]
mod tests {
    use super::super::test_blocks::{blocks, distances, whole_boards};
    use super::*;
    use crate::board::{Board, Prefix};
    use proptest::prelude::*;

    /// Returns the states of this number of ranks from `start` on.
    fn states_from(board: Board, start: u64, states: usize) -> Intervals<'static> {
        Intervals::of(start..start + states as u64, Prefix::whole(board), None)
    }

    fn block(board: Board, start: u64, distances: &[u8]) -> Vec<u8> {
        ZstdEncoder::new(board.geometry(), 3).encode(states_from(board, start, distances.len()), distances)
    }

    proptest! {
        #[test]
        fn every_part_of_a_block_reads_as_encoded(
            block in blocks(whole_boards(), distances()),
            (from, to) in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            let geometry = block.prefix.board().geometry();
            let (distances, states) = (&block.distances, block.distances.len());
            let bytes = ZstdEncoder::new(geometry, 3).encode(block.intervals(states), distances);
            let content = decompress(&bytes, states).unwrap();
            let (from, to) = (from.index(states), to.index(states));
            let wanted = from.min(to)..from.max(to) + 1;
            let neighbors = NeighborCells::of(geometry);
            let mut out = vec![0; wanted.len()];
            read(&neighbors, &content, states, block.intervals(wanted.end), wanted.clone(), &mut out);
            prop_assert_eq!(out, &distances[wanted]);
        }

        /// Blocks of random symbols are valid if they have as many escape bytes
        /// as escapes. All such blocks are read without a panic.
        #[test]
        fn random_symbols_are_read(
            mut symbols in prop::collection::vec(0u8..4, 1..800),
            escapes in prop::collection::vec(any::<u8>(), 800),
            start in 0u64..300_000_000,
            (from, to) in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            symbols[0] = ESCAPE;
            let states = symbols.len();
            let escaped: Vec<usize> = (0..states).filter(|&i| symbols[i] == ESCAPE).collect();
            let mut content = packed(&symbols);
            content.extend(&escapes[..escaped.len()]);
            let frame = zstd::bulk::compress(&content, 1).unwrap();
            let content = decompress(&frame, states).expect("the content is valid");

            let board = Board::new(9, 6).unwrap();
            let neighbors = NeighborCells::of(board.geometry());
            let read = |wanted: Range<usize>| {
                let mut out = vec![0; wanted.len()];
                read(&neighbors, &content, states, states_from(board, start, wanted.end), wanted, &mut out);
                out
            };
            let all = read(0..states);
            for (place, escape) in escaped.into_iter().zip(escapes) {
                prop_assert_eq!(all[place], escape);
            }
            let (from, to) = (from.index(states), to.index(states));
            let wanted = from.min(to)..from.max(to) + 1;
            prop_assert_eq!(read(wanted.clone()), &all[wanted]);
        }

        #[test]
        fn random_bytes_are_rejected_unless_escapes_match(
            content in prop::collection::vec(any::<u8>(), 0..400),
            states in 1usize..800,
        ) {
            let symbols: Vec<u8> = content.iter().flat_map(|byte| [0, 2, 4, 6].map(|bit| byte >> bit & 3)).collect();
            let escapes = content.len().checked_sub(states.div_ceil(SYMBOLS_PER_BYTE));
            let matching = escapes.is_some_and(|escapes| {
                let (used, unused) = symbols[..4 * (content.len() - escapes)].split_at(states);
                let count = used.iter().filter(|&&symbol| symbol == ESCAPE).count();
                used[0] == ESCAPE && count == escapes && unused.iter().all(|&symbol| symbol == 0)
            });
            let frame = zstd::bulk::compress(&content, 1).unwrap();
            prop_assert_eq!(decompress(&frame, states).is_some(), matching);
        }
    }

    #[test]
    fn a_block_decompresses_only_to_its_own_number_of_states() {
        let board = Board::new(9, 6).unwrap();
        let distances: Vec<u8> = (0..1001).map(|i| (i / 7 % 5) as u8 + 20).collect();
        let right = block(board, 50_000_000, &distances);
        assert!(decompress(&right, 1001).is_some());
        for states in [1, 500, 997, 1000, 1005, 5000] {
            assert!(decompress(&right, states).is_none(), "{states}");
        }
        for length in 0..right.len() {
            assert!(decompress(&right[..length], 1001).is_none(), "{length}");
        }
        // A frame that decompresses to more than a block can hold.
        let bomb = zstd::bulk::compress(&vec![0; 1 << 24], 19).unwrap();
        assert!(decompress(&bomb, 1001).is_none());
    }
}
