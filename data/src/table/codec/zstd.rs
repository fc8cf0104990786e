//! Compressed blocks: predicted distances as symbols, packed by zstd.

use std::cell::RefCell;
use std::ops::Range;

use zstd::bulk::{Compressor, Decompressor};

use super::predict::{DEFAULT_MAP, NeighborCells, Runs, Slice};
use crate::board::{Geometry, State};

/// The byte that is no distance: the predictor of a block's first state, and
/// the result for invalid data.
const NONE: u8 = u8::MAX;
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

    /// Returns the bytes of the block that begins with `first`.
    pub fn encode(&mut self, first: State, distances: &[u8]) -> Vec<u8> {
        let mut symbols = Vec::with_capacity(distances.len());
        let mut escapes = Vec::new();
        let mut add = |predictor: u8, symbol_map: u32| {
            let distance = distances[symbols.len()];
            let symbol = if predictor == NONE { ESCAPE } else { symbol_of(distance, predictor, symbol_map) };
            symbols.push(symbol);
            escapes.extend((symbol == ESCAPE).then_some(distance));
            distance
        };
        walk(&self.neighbors, &mut self.slice, first, distances.len(), &mut add);
        let mut content = packed(symbols.into_iter());
        content.extend(escapes);
        self.compressor.compress(&content).expect("the library sizes its own output buffer")
    }
}

/// Packs symbols into two bits each, from the lowest bits of each byte up.
pub(super) fn packed(symbols: impl ExactSizeIterator<Item = u8>) -> Vec<u8> {
    let mut out = vec![0; symbols.len().div_ceil(SYMBOLS_PER_BYTE)];
    for (i, symbol) in symbols.enumerate() {
        out[i / SYMBOLS_PER_BYTE] |= symbol << (2 * (i % SYMBOLS_PER_BYTE));
    }
    out
}

fn symbol_of(distance: u8, predictor: u8, symbol_map: u32) -> u8 {
    let difference = distance.wrapping_sub(predictor).wrapping_add(1);
    (0..ESCAPE).find(|symbol| symbol_map >> (2 * symbol) & 3 == u32::from(difference)).unwrap_or(ESCAPE)
}

/// Visits the states of a block in rank order, calling
/// `distance(predictor, symbol_map)` for each. The first state has no predictor
/// ([`NONE`]).
fn walk(
    neighbors: &NeighborCells,
    slice: &mut Slice,
    first: State,
    states: usize,
    distance: &mut impl FnMut(u8, u32) -> u8,
) {
    let (mut runs, mut lowest) = (Runs::at(first), lowest_of(first));
    slice.clear_before(runs.second(), lowest);
    let (mut start, mut before, mut begins) = (NONE, NONE, true);
    let mut left = states;
    while left > 0 {
        let second = runs.second();
        if begins {
            start = distance(start, DEFAULT_MAP);
            slice.set(second, lowest, start);
            (before, lowest, left) = (start, lowest + 1, left - 1);
        }
        let end = second.min(lowest + left);
        left -= end.saturating_sub(lowest);
        before = slice.run(neighbors, second, lowest..end, before, &mut *distance);
        (lowest, begins) = (0, runs.next_run());
    }
}

fn lowest_of(state: State) -> usize {
    state.cells().first().map_or(0, |cell| cell.index())
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

    fn distance(&self, i: usize, escapes: &mut usize, predictor: u8, symbol_map: u32) -> u8 {
        match self.symbol(i) {
            ESCAPE => {
                *escapes += 1;
                self.escapes.get(*escapes - 1).copied().unwrap_or(NONE)
            }
            symbol => predictor.wrapping_add((symbol_map >> (2 * symbol) & 3) as u8).wrapping_sub(1),
        }
    }

    /// Writes the distances of the wanted states of a block that begins with
    /// `first` to `out`. Slices that end before the wanted states are skipped.
    fn read(&self, neighbors: &NeighborCells, slice: &mut Slice, first: State, wanted: Range<usize>, out: &mut [u8]) {
        let (mut runs, mut lowest) = (Runs::at(first), lowest_of(first));
        slice.clear_before(runs.second(), lowest);
        let (mut start, mut before, mut begins) = (NONE, NONE, true);
        let (mut at, mut escapes) = (0, 0);
        while at < wanted.end {
            let second = runs.second();
            let (from, mut cell) = (at, lowest);
            if begins {
                start = self.distance(at, &mut escapes, start, DEFAULT_MAP);
                let left = runs.slice_states() - (second * (second - 1) / 2 + lowest);
                if at + left <= wanted.start {
                    escapes += self.count_escapes(at + 1..at + left);
                    at += left;
                    lowest = 0;
                    runs.next_slice();
                    continue;
                }
                slice.set(second, lowest, start);
                (before, cell, at) = (start, lowest + 1, at + 1);
            }
            let end = second.min(cell + wanted.end - at);
            before = slice.run(neighbors, second, cell..end, before, |predictor, symbol_map| {
                at += 1;
                self.distance(at - 1, &mut escapes, predictor, symbol_map)
            });
            if at > wanted.start {
                let skipped = wanted.start.saturating_sub(from);
                let row = &slice.row(second)[lowest + skipped..lowest + (at - from)];
                let out = &mut out[from + skipped - wanted.start..];
                out.iter_mut().zip(row).for_each(|(out, &distance)| *out = distance as u8);
            }
            (lowest, begins) = (0, runs.next_run());
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

/// Writes the distances of the wanted states to `out`.
///
/// `content` is from [`decompress`], and `wanted` counts from the first state
/// of the block. A state without a valid distance has 255.
pub(super) fn read(
    neighbors: &NeighborCells,
    content: &[u8],
    states: usize,
    first: State,
    wanted: Range<usize>,
    out: &mut [u8],
) {
    let (symbols, escapes) = content.split_at(states.div_ceil(SYMBOLS_PER_BYTE));
    WORKSPACE.with_borrow_mut(|workspace| {
        Content { symbols, escapes }.read(neighbors, &mut workspace.slice, first, wanted, out);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Board, Prefix, Rank};
    use proptest::prelude::*;

    fn block(board: Board, start: u64, distances: &[u8]) -> Vec<u8> {
        ZstdEncoder::new(board.geometry(), 3).encode(Rank(start).state(board.pieces()), distances)
    }

    fn distances() -> impl Strategy<Value = Vec<u8>> {
        let walk = prop::collection::vec(0u8..3, 1..3000).prop_map(|steps| {
            let walked = steps.iter().scan(100u8, |at, step| {
                *at = (*at + step).clamp(1, 255) - 1;
                Some(*at)
            });
            walked.collect::<Vec<u8>>()
        });
        prop_oneof![
            walk,
            prop::collection::vec(0u8..=254, 1..3000),
            prop::collection::vec(prop_oneof![Just(0u8), Just(254), Just(253), Just(1)], 1..3000),
            (1usize..3000, 0u8..=254).prop_map(|(states, distance)| vec![distance; states]),
        ]
    }

    proptest! {
        #[test]
        fn every_part_of_a_block_reads_as_encoded(
            distances in distances(),
            board in (3u64..=11, 1u64..=15).prop_filter_map("too many pieces", |(side, k)| Board::new(side, k).ok()),
            start: u64,
            (from, to) in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            let prefix = Prefix::whole(board);
            // A block is part of one partition.
            let start = start % prefix.states();
            let back = Rank(start).state(board.pieces()).cells().last().unwrap().index();
            let states = distances.len().min((prefix.partition(back).end - start) as usize);
            let distances = &distances[..states];
            let content = decompress(&block(board, start, distances), states).unwrap();
            let (from, to) = (from.index(states), to.index(states));
            let wanted = from.min(to)..from.max(to) + 1;
            let neighbors = NeighborCells::of(board.geometry());
            let mut out = vec![0; wanted.len()];
            read(&neighbors, &content, states, Rank(start).state(board.pieces()), wanted.clone(), &mut out);
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
            let mut content = packed(symbols.into_iter());
            content.extend(&escapes[..escaped.len()]);
            let frame = zstd::bulk::compress(&content, 1).unwrap();
            let content = decompress(&frame, states).expect("the content is valid");

            let board = Board::new(9, 6).unwrap();
            let neighbors = NeighborCells::of(board.geometry());
            let read = |wanted: Range<usize>| {
                let mut out = vec![0; wanted.len()];
                read(&neighbors, &content, states, Rank(start).state(6), wanted, &mut out);
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
