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

use sternhalma_data::{Cell, CellSet, Prefix, Rank, States};

use crate::expand::{PLANES, Places, choose, rank_above};

/// How a prefix is cut. See the module.
#[derive(Debug)]
pub(crate) struct Cut {
    prefix: Prefix,
    fixed: usize,
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
            let shape = &shapes[below(prefix, pieces)];
            first_chunks.push(first_chunks[first_chunks.len() - 1] + shape.chunks.len() as u64);
        }
        Cut { prefix, fixed, shapes, first_chunks }
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
                Rank::of(upper(state, fixed)).0
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
        Rank(unit).state(self.fixed)
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
            let visited = Rank::of(pieces.with(cell).without(Cell::new(below))).0;
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

    /// The most words that the bitmaps of a class have.
    pub fn most_words(&self) -> usize {
        most_words(self.prefix, self.fixed)
    }
}

/// The most words that the bitmaps of a class have.
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
