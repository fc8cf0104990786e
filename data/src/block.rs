//! The bytes of a block: distances to file and back.

use std::cell::RefCell;
use std::ops::Range;

use zstd::bulk::{Compressor, Decompressor};

use crate::board::Prefix;
use crate::cell::CellSet;
use crate::format::Encoding;
use crate::predict::{PLAIN, Runs, Shape, Triangle};
use crate::rank::Rank;

/// No distance: the anchor of a block's first state, and what cannot be.
const NONE: u8 = u8::MAX;
/// The symbol of a state whose distance stands behind the symbols.
const ESCAPE: u8 = 3;
const SYMBOLS_PER_BYTE: usize = 4;

/// Makes the bytes of blocks. They depend on the distances and the encoding
/// alone (in `zstd` also on the version of the zstd library).
///
/// ```
/// use sternhalma_data::{BlockEncoder, Board, Encoding, Prefix};
/// let prefix = Prefix::whole(Board::new(3, 2)?);
/// let mut encoder = BlockEncoder::new(prefix, Encoding::Mod3);
/// assert_eq!(encoder.encode(1..3, &[2, 4]), [0b01_10]);
/// # Ok::<(), sternhalma_data::BoardError>(())
/// ```
pub struct BlockEncoder {
    pieces: usize,
    zstd: Option<Packer>,
    encoding: Encoding,
}

struct Packer {
    shape: Shape,
    triangle: Box<Triangle>,
    compressor: Compressor<'static>,
}

impl BlockEncoder {
    /// An encoder of blocks of tables of these states.
    pub fn new(prefix: Prefix, encoding: Encoding) -> BlockEncoder {
        let packer = |level| Packer {
            shape: Shape::of(prefix.board().geometry()),
            triangle: Triangle::new(),
            compressor: Compressor::new(level).expect("zstd has the level"),
        };
        let zstd = match encoding {
            Encoding::Zstd(zstd) => Some(packer(zstd.level().into())),
            _ => None,
        };
        BlockEncoder { pieces: prefix.board().pieces(), zstd, encoding }
    }

    /// The bytes of the block with these ranks, whose distances, at most 254,
    /// are given. Cost: a copy for bytes, and in `zstd` about what the library
    /// takes for a quarter as many bytes.
    ///
    /// # Panics
    /// If there is not one distance a rank.
    pub fn encode(&mut self, ranks: Range<u64>, distances: &[u8]) -> Vec<u8> {
        assert_eq!(ranks.end - ranks.start, distances.len() as u64, "there is a distance a rank");
        match (&mut self.zstd, self.encoding) {
            (Some(packer), _) => packer.encode(Rank(ranks.start).state(self.pieces), distances),
            (None, Encoding::Mod3) => packed(distances.iter().map(|distance| distance % 3)),
            (None, _) => distances.to_vec(),
        }
    }
}

/// Two bits each, from the lowest bits of each byte up.
fn packed(symbols: impl ExactSizeIterator<Item = u8>) -> Vec<u8> {
    let mut out = vec![0; symbols.len().div_ceil(SYMBOLS_PER_BYTE)];
    for (i, symbol) in symbols.enumerate() {
        out[i / SYMBOLS_PER_BYTE] |= symbol << (2 * (i % SYMBOLS_PER_BYTE));
    }
    out
}

impl Packer {
    fn encode(&mut self, first: CellSet, distances: &[u8]) -> Vec<u8> {
        let mut symbols = Vec::with_capacity(distances.len());
        let mut escapes = Vec::new();
        let mut add = |anchor: u8, order: u32| {
            let distance = distances[symbols.len()];
            let symbol = if anchor == NONE { ESCAPE } else { symbol_of(distance, anchor, order) };
            symbols.push(symbol);
            escapes.extend((symbol == ESCAPE).then_some(distance));
            distance
        };
        walk(&self.shape, &mut self.triangle, first, distances.len(), &mut add);
        let mut content = packed(symbols.into_iter());
        content.extend(escapes);
        self.compressor.compress(&content).expect("the library gives the room it needs")
    }
}

fn symbol_of(distance: u8, anchor: u8, order: u32) -> u8 {
    let difference = distance.wrapping_sub(anchor).wrapping_add(1);
    (0..ESCAPE).find(|symbol| order >> (2 * symbol) & 3 == u32::from(difference)).unwrap_or(ESCAPE)
}

/// Goes through the states of a block from its first on. `distance` is told
/// anchor and order of each, the anchor of the first being missing.
fn walk(
    shape: &Shape,
    triangle: &mut Triangle,
    first: CellSet,
    states: usize,
    distance: &mut impl FnMut(u8, u32) -> u8,
) {
    let (mut runs, mut lowest) = (Runs::at(first), lowest_of(first));
    triangle.forget(runs.second(), lowest);
    let (mut start, mut before, mut begins) = (NONE, NONE, true);
    let mut left = states;
    while left > 0 {
        let second = runs.second();
        if begins {
            start = distance(start, PLAIN);
            triangle.set(second, lowest, start);
            (before, lowest, left) = (start, lowest + 1, left - 1);
        }
        let end = second.min(lowest + left);
        left -= end.saturating_sub(lowest);
        before = triangle.run(shape, second, lowest..end, before, &mut *distance);
        (lowest, begins) = (0, runs.next_run());
    }
}

fn lowest_of(state: CellSet) -> usize {
    state.first().map_or(0, |cell| cell.index())
}

/// What a `zstd` block holds, decompressed: the symbols, and behind them the
/// distances of the states that have no other symbol.
#[derive(Clone, Copy)]
struct Content<'a> {
    symbols: &'a [u8],
    escapes: &'a [u8],
}

impl<'a> Content<'a> {
    /// None if these are not the bytes of so many states.
    fn of(bytes: &'a [u8], states: usize) -> Option<Content<'a>> {
        let (symbols, escapes) = bytes.split_at_checked(states.div_ceil(SYMBOLS_PER_BYTE))?;
        let content = Content { symbols, escapes };
        let unused = (states..symbols.len() * SYMBOLS_PER_BYTE).all(|i| content.symbol(i) == 0);
        let sound = unused && content.symbol(0) == ESCAPE && content.count_escapes(0..states) == escapes.len();
        sound.then_some(content)
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

    fn distance(&self, i: usize, escapes: &mut usize, anchor: u8, order: u32) -> u8 {
        match self.symbol(i) {
            ESCAPE => {
                *escapes += 1;
                self.escapes.get(*escapes - 1).copied().unwrap_or(NONE)
            }
            symbol => anchor.wrapping_add((order >> (2 * symbol) & 3) as u8).wrapping_sub(1),
        }
    }

    /// The distances of the wanted states of a block that begins with `first`.
    /// Triangles that end before them are passed over.
    fn read(&self, shape: &Shape, triangle: &mut Triangle, first: CellSet, wanted: Range<usize>, out: &mut [u8]) {
        let (mut runs, mut lowest) = (Runs::at(first), lowest_of(first));
        triangle.forget(runs.second(), lowest);
        let (mut start, mut before, mut begins) = (NONE, NONE, true);
        let (mut at, mut escapes) = (0, 0);
        while at < wanted.end {
            let second = runs.second();
            let (from, mut cell) = (at, lowest);
            if begins {
                start = self.distance(at, &mut escapes, start, PLAIN);
                let left = runs.triangle() - (second * (second - 1) / 2 + lowest);
                if at + left <= wanted.start {
                    escapes += self.count_escapes(at + 1..at + left);
                    at += left;
                    lowest = 0;
                    runs.next_triangle();
                    continue;
                }
                triangle.set(second, lowest, start);
                (before, cell, at) = (start, lowest + 1, at + 1);
            }
            let end = second.min(cell + wanted.end - at);
            before = triangle.run(shape, second, cell..end, before, |anchor, order| {
                at += 1;
                self.distance(at - 1, &mut escapes, anchor, order)
            });
            if at > wanted.start {
                let skipped = wanted.start.saturating_sub(from);
                let row = &triangle.row(second)[lowest + skipped..lowest + (at - from)];
                let out = &mut out[from + skipped - wanted.start..];
                out.iter_mut().zip(row).for_each(|(out, &distance)| *out = distance as u8);
            }
            (lowest, begins) = (0, runs.next_run());
        }
    }
}

/// The pairs of bits that are 3.
fn threes(bits: u64) -> usize {
    (bits & bits >> 1 & 0x5555_5555_5555_5555).count_ones() as usize
}

fn count_threes(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks();
    let words: usize = words.iter().map(|word| threes(u64::from_le_bytes(*word))).sum();
    words + rest.iter().map(|&byte| threes(byte.into())).sum::<usize>()
}

/// What a thread needs to read `zstd` blocks.
struct Workspace {
    decompressor: Decompressor<'static>,
    content: Vec<u8>,
    triangle: Box<Triangle>,
}

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::new(Workspace {
        decompressor: Decompressor::new().expect("the library asks nothing of a new decompressor"),
        content: Vec::new(),
        triangle: Triangle::new(),
    });
}

/// Decompresses a block of so many states. None if it does not hold just them.
/// Memory: at most five bytes in four states.
pub(crate) fn decompress(bytes: &[u8], states: usize) -> Option<std::sync::Arc<[u8]>> {
    WORKSPACE.with_borrow_mut(|workspace| {
        workspace.content.resize(states.div_ceil(SYMBOLS_PER_BYTE) + states, 0);
        let length = workspace.decompressor.decompress_to_buffer(bytes, &mut workspace.content[..]).ok()?;
        let content = &workspace.content[..length];
        Content::of(content, states)?;
        Some(content.into())
    })
}

/// The distances of the wanted states of a block of so many, counted from its
/// first; `content` is from [`decompress`]. 255 for what cannot be.
pub(crate) fn read(shape: &Shape, content: &[u8], states: usize, first: CellSet, wanted: Range<usize>, out: &mut [u8]) {
    let (symbols, escapes) = content.split_at(states.div_ceil(SYMBOLS_PER_BYTE));
    WORKSPACE.with_borrow_mut(|workspace| {
        Content { symbols, escapes }.read(shape, &mut workspace.triangle, first, wanted, out);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Board;
    use crate::format::Zstd;
    use proptest::prelude::*;

    fn block(prefix: Prefix, start: u64, distances: &[u8]) -> Vec<u8> {
        let encoding = Encoding::Zstd(Zstd::new(1 << 12, 3).unwrap());
        BlockEncoder::new(prefix, encoding).encode(start..start + distances.len() as u64, distances)
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
        fn any_distances_come_back_from_any_part(
            distances in distances(),
            board in (3u64..=11, 1u64..=15).prop_filter_map("too many pieces", |(side, k)| Board::new(side, k).ok()),
            start: u64,
            (from, to) in any::<(prop::sample::Index, prop::sample::Index)>(),
        ) {
            let prefix = Prefix::whole(board);
            // A block lies in one partition.
            let start = start % prefix.states();
            let back = Rank(start).state(board.pieces()).last().unwrap().index();
            let states = distances.len().min((prefix.partition(back).end - start) as usize);
            let distances = &distances[..states];
            let content = decompress(&block(prefix, start, distances), states).unwrap();
            let (from, to) = (from.index(states), to.index(states));
            let wanted = from.min(to)..from.max(to) + 1;
            let shape = Shape::of(board.geometry());
            let mut out = vec![0; wanted.len()];
            read(&shape, &content, states, Rank(start).state(board.pieces()), wanted.clone(), &mut out);
            prop_assert_eq!(out, &distances[wanted]);
        }

        #[test]
        fn other_bytes_are_refused_or_read(content in prop::collection::vec(any::<u8>(), 0..400), states in 1usize..800) {
            let frame = zstd::bulk::compress(&content, 1).unwrap();
            let Some(content) = decompress(&frame, states) else { return Ok(()) };
            let prefix = Prefix::whole(Board::new(9, 6).unwrap());
            let first = prefix.board().home().turned(60);
            let mut out = vec![0; states];
            read(&Shape::of(prefix.board().geometry()), &content, states, first, 0..states, &mut out);
        }
    }

    #[test]
    fn only_blocks_of_just_the_states_are_taken() {
        let prefix = Prefix::whole(Board::new(9, 6).unwrap());
        let distances: Vec<u8> = (0..1001).map(|i| (i / 7 % 5) as u8 + 20).collect();
        let right = block(prefix, 50_000_000, &distances);
        assert!(decompress(&right, 1001).is_some());
        for states in [1, 500, 997, 1000, 1005, 5000] {
            assert!(decompress(&right, states).is_none(), "{states}");
        }
        for length in 0..right.len() {
            assert!(decompress(&right[..length], 1001).is_none(), "{length}");
        }
        // A frame that promises more than there is room for.
        let bomb = zstd::bulk::compress(&vec![0; 1 << 24], 19).unwrap();
        assert!(decompress(&bomb, 1001).is_none());
    }
}
