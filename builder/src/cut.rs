//! The states of a prefix cut into pieces that fit in memory.
//!
//! The states whose `fixed` upper pieces are the same are a *unit*: a run of
//! ranks, and a bitmap of its own. The contexts whose `fixed` upper pieces are
//! the same are a *class*. A class with upper pieces Q, the lowest of them q,
//! meets the states of the unit Q, where the mover stands below q, and for
//! every cell c above q those of the unit Q ∪ {c} \ {q} whose next piece is
//! q, again a run of ranks: the *visits* of the class. So all states a class
//! takes to all it reaches are few runs, and classes can be expanded one at a
//! time. A visited unit always comes after the unit of the class in the order
//! of ranks. Classes taken in that order thus have a unit complete as soon as
//! its own class is done.
//!
//! The bitmap of a unit is kept in *chunks*: one for each cell of the next
//! piece, so that a visit is a few whole chunks, or several where one would be
//! too large. Chunks are cut between words; where one ends within a word, it
//! and the next one each hold that word with their own bits alone.

use std::ops::Range;

use sternhalma_data::{Cell, CellSet, Prefix, Rank, State, States};

use crate::expand::{PLANES, Places, choose, rank_above};

/// How a prefix is cut. See the module.
#[derive(Debug)]
pub(crate) struct Cut {
    prefix: Prefix,
    fixed: usize,
    chunk_words: usize,
    /// By the number of cells below the fixed pieces.
    shapes: Vec<Shape>,
    /// By the number of a unit: its first chunk; and one more for the end.
    first_chunks: Vec<u64>,
}

/// What units with as many cells below their fixed pieces have in common.
#[derive(Debug, Default)]
struct Shape {
    bits: u64,
    chunks: Vec<Chunk>,
    /// By the cell of the next piece: its first chunk; and one more for the end.
    first_chunks: Vec<usize>,
}

/// A part of a unit's bitmap.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    /// Its bits, counted from the first of the unit.
    pub bits: Range<u64>,
}

impl Chunk {
    /// The words that hold its bits; the first and the last may hold others too.
    pub fn words(&self) -> Range<usize> {
        (self.bits.start / 64) as usize..self.bits.end.div_ceil(64) as usize
    }

    /// Which bits of a word of its are its own.
    pub fn mask(&self, word: usize) -> u64 {
        let first = 64 * word as u64;
        let low = self.bits.start.saturating_sub(first);
        crate::bits::low_mask(self.bits.end - first) & (u64::MAX << low)
    }
}

/// A chunk within the bitmaps of a class.
#[derive(Debug)]
pub(crate) struct Part {
    /// Its number.
    pub chunk: u64,
    /// Where its first word is.
    pub at: usize,
    pub shape: Chunk,
}

impl Part {
    pub fn words(&self) -> usize {
        self.shape.words().len()
    }

    /// Where its own bits are.
    pub fn bits(&self) -> Range<usize> {
        let first = 64 * self.at + (self.shape.bits.start % 64) as usize;
        first..first + (self.shape.bits.end - self.shape.bits.start) as usize
    }
}

/// The contexts with the same fixed pieces, and their states.
#[derive(Debug)]
pub(crate) struct Class {
    /// Numbers of its groups of contexts.
    pub groups: Range<u64>,
    /// Its own unit's number; its bitmap comes first.
    pub unit: u64,
    pub visits: Vec<Visit>,
    /// Where its states are in bitmaps of [`Class::words`] words.
    pub places: Places,
    /// With the spare word.
    pub words: usize,
}

/// The states of another unit that a class meets.
#[derive(Debug)]
pub(crate) struct Visit {
    /// Numbers of the chunks that hold them.
    pub chunks: Range<u64>,
    /// Where the first word of the first chunk is in the bitmaps of the class.
    pub at: usize,
}

impl Cut {
    /// Cuts units with `fixed` pieces fixed into chunks of at most
    /// `chunk_words` words.
    pub fn new(prefix: Prefix, fixed: usize, chunk_words: usize) -> Cut {
        let loose = prefix.board().pieces() - fixed;
        let shape = |cells: usize| Shape::new(cells, loose, chunk_words);
        let shapes: Vec<Shape> = (0..=prefix.within()).map(shape).collect();
        let mut first_chunks = vec![0];
        for (_, pieces) in States::of_ranks(fixed, 0..choose(prefix.within(), fixed)) {
            let shape = &shapes[below(prefix, pieces.cells())];
            first_chunks.push(first_chunks[first_chunks.len() - 1] + shape.chunks.len() as u64);
        }
        Cut { prefix, fixed, chunk_words, shapes, first_chunks }
    }

    /// The words of the largest chunks.
    pub fn chunk_words(&self) -> usize {
        self.chunk_words
    }

    pub fn units(&self) -> u64 {
        self.first_chunks.len() as u64 - 1
    }

    pub fn chunks(&self) -> u64 {
        self.first_chunks[self.first_chunks.len() - 1]
    }

    /// The chunks of a unit: the number of the first, and what they hold.
    pub fn unit_chunks(&self, unit: u64) -> (u64, &[Chunk]) {
        (self.first_chunks[unit as usize], &self.shape(self.pieces(unit)).chunks)
    }

    /// The chunk of this number.
    pub fn chunk(&self, number: u64) -> &Chunk {
        let (first, chunks) = self.unit_chunks(self.unit_of(number));
        &chunks[(number - first) as usize]
    }

    /// The unit of a chunk.
    fn unit_of(&self, chunk: u64) -> u64 {
        self.first_chunks.partition_point(|&first| first <= chunk) as u64 - 1
    }

    /// The rank of the first of a chunk's own states.
    pub fn first_rank(&self, chunk: u64) -> u64 {
        self.start(self.unit_of(chunk)) + self.chunk(chunk).bits.start
    }

    /// The chunks of a class's own unit.
    pub fn own_parts(&self, class: &Class) -> Vec<Part> {
        let (first, chunks) = self.unit_chunks(class.unit);
        let part = |(chunk, shape): (u64, &Chunk)| Part { chunk, at: shape.words().start, shape: shape.clone() };
        (first..).zip(chunks).map(part).collect()
    }

    /// The chunks of other units that a class meets.
    pub fn visited_parts(&self, class: &Class) -> Vec<Part> {
        let mut parts = Vec::new();
        for visit in &class.visits {
            let mut at = visit.at;
            for chunk in visit.chunks.clone() {
                let part = Part { chunk, at, shape: self.chunk(chunk).clone() };
                at += part.words();
                parts.push(part);
            }
        }
        parts
    }

    /// The chunks, by number, with a state of these ranks, and the rank of the first bit of each.
    pub fn chunks_of(&self, ranks: Range<u64>) -> impl Iterator<Item = (u64, &Chunk, u64)> {
        let unit = match self.fixed {
            0 => 0,
            fixed => {
                let state = Rank(ranks.start).state(self.prefix.board().pieces());
                State::from_cells(upper(state.cells(), fixed)).rank().0
            }
        };
        let units = (unit..self.units()).map(|unit| (self.start(unit), self.unit_chunks(unit)));
        let end = ranks.end;
        let units = units.take_while(move |(start, _)| *start < end);
        let chunks = units.flat_map(|(start, (first, chunks))| {
            (first..).zip(chunks).map(move |(number, chunk)| (number, chunk, start + chunk.bits.start))
        });
        let begins =
            chunks.skip_while(move |(_, chunk, rank)| rank + (chunk.bits.end - chunk.bits.start) <= ranks.start);
        begins.take_while(move |(_, _, rank)| *rank < end)
    }

    fn pieces(&self, unit: u64) -> CellSet {
        Rank(unit).state(self.fixed).cells()
    }

    fn loose(&self) -> usize {
        self.prefix.board().pieces() - self.fixed
    }

    fn shape(&self, pieces: CellSet) -> &Shape {
        &self.shapes[below(self.prefix, pieces)]
    }

    /// The rank of the first state of a unit.
    fn start(&self, unit: u64) -> u64 {
        rank_above(self.pieces(unit), self.loose())
    }

    /// The class of this number, its groups having `upper` upper pieces.
    pub fn class(&self, unit: u64, upper: usize) -> Class {
        let pieces = self.pieces(unit);
        let below = below(self.prefix, pieces);
        let first_group = rank_above(pieces, upper - self.fixed);
        let groups = first_group..first_group + choose(below, upper - self.fixed);
        let mut words = self.shape(pieces).bits.div_ceil(64) as usize;
        let mut places = Places { block: self.start(unit), above: [0; PLANES] };
        // Cells between the pieces of a group and below the fixed ones are in the unit.
        places.above[..below].fill(self.start(unit));
        let mut visits = Vec::new();
        let above = self.prefix.cells() - CellSet::first_cells(below) - pieces;
        for cell in above.iter().filter(|_| !groups.is_empty()) {
            let visited = State::from_cells(pieces.with(cell).without(Cell::new(below))).rank().0;
            let (shape, first_chunk) = (self.shape(self.pieces(visited)), self.first_chunks[visited as usize]);
            let chunks = shape.first_chunks[below] as u64..shape.first_chunks[below + 1] as u64;
            if chunks.is_empty() {
                continue;
            }
            let first_word = shape.chunks[chunks.start as usize].words().start;
            let last_word = shape.chunks[chunks.end as usize - 1].words().end;
            places.above[cell.index()] =
                self.start(visited).wrapping_add(64 * first_word as u64).wrapping_sub(64 * words as u64);
            visits.push(Visit { chunks: first_chunk + chunks.start..first_chunk + chunks.end, at: words });
            words += last_word - first_word;
        }
        Class { groups, unit, visits, places, words: words + 1 }
    }

    /// An upper bound of the words that the bitmaps of a class have.
    pub fn most_words(&self) -> usize {
        most_words(self.prefix, self.fixed)
    }
}

/// An upper bound of the words that the bitmaps of a class have.
pub(crate) fn most_words(prefix: Prefix, fixed: usize) -> usize {
    let loose = prefix.board().pieces() - fixed;
    let words = |below: usize| {
        let visited = if fixed > 0 { (prefix.within() - below - fixed) as u64 } else { 0 };
        let visit = if fixed > 0 { choose(below, loose - 1) / 64 + 2 } else { 0 };
        choose(below, loose) / 64 + 2 + visited * visit
    };
    let most = match fixed {
        0 => words(prefix.within()),
        _ => (0..=prefix.within() - fixed).map(words).max().unwrap_or(0),
    };
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// The chunks a cut has in all, without making it.
pub(crate) fn count_chunks(prefix: Prefix, fixed: usize, chunk_words: usize) -> u64 {
    let loose = prefix.board().pieces() - fixed;
    let run = |next: usize| {
        let (start, end) = (choose(next, loose), choose(next + 1, loose));
        if start == end { 0 } else { (end - start / 64 * 64).div_ceil(64 * chunk_words as u64) }
    };
    let chunks = |below: usize| (0..below).map(run).sum::<u64>();
    match fixed {
        0 => chunks(prefix.within()),
        // So many sets of fixed pieces have this one lowest.
        _ => (0..prefix.within())
            .map(|below| choose(prefix.within() - below - 1, fixed - 1).saturating_mul(chunks(below)))
            .fold(0, u64::saturating_add),
    }
}

impl Shape {
    fn new(cells: usize, loose: usize, chunk_words: usize) -> Shape {
        let mut shape = Shape { bits: choose(cells, loose), ..Shape::default() };
        let chunk_bits = 64 * chunk_words as u64;
        for next in 0..cells {
            shape.first_chunks.push(shape.chunks.len());
            let (mut start, end) = (choose(next, loose), choose(next + 1, loose));
            while start < end {
                let cut = end.min((start / 64 * 64).saturating_add(chunk_bits));
                shape.chunks.push(Chunk { bits: start..cut });
                start = cut;
            }
        }
        shape.first_chunks.push(shape.chunks.len());
        shape
    }
}

/// How many cells are below these pieces.
fn below(prefix: Prefix, pieces: CellSet) -> usize {
    pieces.first().map_or(prefix.within(), Cell::index)
}

/// The upper pieces of a state.
fn upper(state: CellSet, count: usize) -> CellSet {
    let lower: CellSet = state.iter().take(state.len() - count).collect();
    state - lower
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};
    use sternhalma_data::{Board, CellSet};

    /// Boards small enough to enumerate, and prefixes of them.
    fn prefixes() -> Vec<Prefix> {
        let prefix = |(side, pieces, within)| Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap();
        let cases = [(3, 2, 9), (3, 3, 7), (3, 4, 9), (4, 2, 16), (4, 3, 16), (4, 4, 11), (5, 3, 25), (4, 3, 4)];
        cases.map(prefix).to_vec()
    }

    fn cuts() -> impl Iterator<Item = (Prefix, usize, usize, Cut)> {
        prefixes().into_iter().flat_map(|prefix| {
            let fixed = 0..=prefix.board().pieces() - 2;
            fixed.flat_map(move |fixed| {
                [1, 2, 3, 100].map(|words| (prefix, fixed, words, Cut::new(prefix, fixed, words)))
            })
        })
    }

    /// The chunk of each state, found by going through the chunks in order.
    fn chunk_by_rank(cut: &Cut) -> Vec<u64> {
        let mut chunks = Vec::new();
        for unit in 0..cut.units() {
            let (first, shapes) = cut.unit_chunks(unit);
            for (number, chunk) in (first..).zip(shapes) {
                assert_eq!(cut.start(unit) + chunk.bits.start, chunks.len() as u64, "chunks follow each other");
                assert_eq!(cut.chunk(number).bits, chunk.bits);
                chunks.extend(chunk.bits.clone().map(|_| number));
            }
        }
        chunks
    }

    #[test]
    fn every_state_is_in_one_chunk_of_its_unit() {
        for (prefix, fixed, chunk_words, cut) in cuts() {
            let chunks = chunk_by_rank(&cut);
            assert_eq!(chunks.len() as u64, prefix.states());
            let used: BTreeSet<u64> = chunks.iter().copied().collect();
            assert_eq!(used.len() as u64, cut.chunks(), "no chunk is empty");
            assert_eq!(count_chunks(prefix, fixed, chunk_words), cut.chunks());
            for (rank, state) in States::all(prefix) {
                let unit = State::from_cells(upper(state.cells(), fixed)).rank().0;
                let (first, shapes) = cut.unit_chunks(unit);
                let chunk = chunks[rank.0 as usize];
                assert!((first..first + shapes.len() as u64).contains(&chunk), "{state:?} is in the unit {unit}");
            }
        }
    }

    #[test]
    fn chunks_are_no_longer_than_asked_and_masks_part_the_words_they_share() {
        for (_, _, chunk_words, cut) in cuts() {
            for unit in 0..cut.units() {
                let mut bits = BTreeMap::new();
                for chunk in cut.unit_chunks(unit).1 {
                    assert!((1..=chunk_words).contains(&chunk.words().len()));
                    for word in chunk.words() {
                        let others = bits.entry(word).or_insert(0u64);
                        assert_eq!(*others & chunk.mask(word), 0);
                        *others |= chunk.mask(word);
                    }
                }
                let states: u32 = bits.values().map(|word| word.count_ones()).sum();
                assert_eq!(u64::from(states), cut.shape(cut.pieces(unit)).bits);
            }
        }
    }

    #[test]
    fn the_chunks_of_ranks_are_those_that_hold_one() {
        for (prefix, _, _, cut) in cuts() {
            let chunks = chunk_by_rank(&cut);
            let all = prefix.states();
            let step = (all / 23).max(1) as usize;
            let starts = (0..all).step_by(step).chain([all - 1]);
            for (start, length) in starts.flat_map(|start| [1, 5, 64, 200, all].map(|length| (start, length))) {
                let ranks = start..all.min(start + length);
                let mut told = chunks[ranks.start as usize..ranks.end as usize].to_vec();
                told.dedup();
                let found: Vec<u64> = cut.chunks_of(ranks).map(|(number, _, _)| number).collect();
                assert_eq!(found, told);
            }
            for (number, chunk, first) in cut.chunks_of(0..all) {
                assert_eq!(chunks[first as usize], number);
                assert_ne!(chunks.get((first + chunk.bits.end - chunk.bits.start) as usize), Some(&number));
            }
        }
    }

    /// The states that a class meets by the cell of the mover, where it is
    /// above the lanes, and `None` where it is below: context by context.
    fn met(prefix: Prefix, fixed: usize, unit: u64) -> BTreeSet<(Option<Cell>, CellSet)> {
        let (pieces, still) = (Rank(unit).state(fixed).cells(), prefix.board().pieces() - 1);
        let contexts = States::of_ranks(still, 0..choose(prefix.within(), still));
        let own = contexts.map(|(_, context)| context.cells()).filter(|&context| upper(context, fixed) == pieces);
        own.flat_map(|context| {
            (prefix.cells() - context).iter().map(move |cell| {
                let above = pieces.first().is_some_and(|lowest| cell > lowest);
                (above.then_some(cell), context.with(cell))
            })
        })
        .collect()
    }

    #[test]
    fn a_class_has_a_bit_of_its_own_for_every_state_it_meets() {
        for (prefix, fixed, _, cut) in cuts() {
            let chunks = chunk_by_rank(&cut);
            for upper in fixed..=prefix.board().pieces() - 2 {
                let mut groups = 0;
                for unit in 0..cut.units() {
                    let class = cut.class(unit, upper);
                    // Groups are taken once each and in order.
                    assert!(class.groups.is_empty() || class.groups.start == groups);
                    groups = groups.max(class.groups.end);
                    let mut bits: BTreeMap<u64, CellSet> = BTreeMap::new();
                    for (mover, state) in met(prefix, fixed, unit) {
                        let offset = mover.map_or(class.places.block, |cell| class.places.above[cell.index()]);
                        let rank = State::from_cells(state).rank().0;
                        let bit = rank.wrapping_sub(offset);
                        if mover.is_none() {
                            assert_eq!(
                                class.places.above[..below(prefix, cut.pieces(unit))],
                                vec![offset; below(prefix, cut.pieces(unit))]
                            );
                        }
                        // A word is left over for loads across the end.
                        assert!(bit < 64 * (class.words as u64 - 1), "{state:?} is at {bit}");
                        assert_eq!(*bits.entry(bit).or_insert(state), state, "bit {bit} is of two states");
                        assert_chunk(&cut, &class, chunks[rank as usize], rank, bit);
                    }
                }
                assert_eq!(groups, choose(prefix.within(), upper));
            }
        }
    }

    /// The bit of a state is where its chunk is put in the class's bitmap.
    fn assert_chunk(cut: &Cut, class: &Class, chunk: u64, rank: u64, bit: u64) {
        let (first, own) = cut.unit_chunks(class.unit);
        let (unit, at) = if (first..first + own.len() as u64).contains(&chunk) {
            (class.unit, 0)
        } else {
            let mut visits = class.visits.iter().filter(|visit| visit.chunks.contains(&chunk));
            let visit = visits.next().expect("the class visits the chunk");
            assert!(visits.next().is_none(), "chunk {chunk} is visited once");
            let unit = cut.first_chunks.partition_point(|&first| first <= visit.chunks.start) as u64 - 1;
            assert!(unit > class.unit, "visits go to units to come");
            let first_word = cut.chunk(visit.chunks.start).words().start as u64;
            (unit, (64 * visit.at as u64).wrapping_sub(64 * first_word))
        };
        assert_eq!(bit, (rank - cut.start(unit)).wrapping_add(at));
    }

    #[test]
    fn no_class_has_more_words_than_the_most() {
        for (prefix, fixed, _, cut) in cuts() {
            let words = |upper| (0..cut.units()).map(|unit| cut.class(unit, upper).words).max().unwrap();
            let most = words(fixed);
            assert!(most <= cut.most_words(), "{prefix}, {fixed} fixed: {most}");
            // It is a bound, and what it gives away is a word or two a visit.
            let visits = (0..cut.units()).map(|unit| cut.class(unit, fixed).visits.len()).max().unwrap();
            assert!(cut.most_words() <= most + 2 * prefix.within() + visits, "{prefix}, {fixed} fixed: {most}");
        }
    }
}
