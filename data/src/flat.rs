//! All distances of a table as flat bytes, one a state.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::board::Geometry;
use crate::cell::{Cell, CellSet};
use crate::error::TableError;
use crate::format::Encoding;
use crate::rank::{Rank, States, binomial};
use crate::table::{Table, step};

impl Table {
    /// The distances of all states by rank, whatever the encoding. Blocks are
    /// not checked against their checksums ([`Table::check_block`]).
    ///
    /// Mod-3 tables are unfolded in one pass: every state but a few has a
    /// neighbour of lower rank, whose distance is known by then. Memory: one
    /// byte a state, for other encodings than bytes.
    ///
    /// # Errors
    /// If two neighbours, or the goal, contradict each other.
    pub fn distances(&self) -> Result<Cow<'_, [u8]>, TableError> {
        match self.encoding() {
            Encoding::Byte => Ok(Cow::Borrowed(self.as_bytes().expect("the encoding is bytes"))),
            Encoding::Mod3 => self.unfold().map(Cow::Owned),
        }
    }

    fn unfold(&self) -> Result<Vec<u8>, TableError> {
        let prefix = self.prefix();
        let pieces = prefix.board().pieces();
        let lower = LowerNeighbors::of(prefix.board().geometry());
        let mut out = vec![0u8; usize::try_from(prefix.states()).expect("the data is mapped")];
        for number in 0..self.layout().blocks() {
            let bytes = self.block_bytes(number);
            let ranks = self.layout().block(number).ranks;
            for (rank, state) in States::of_ranks(pieces, ranks.clone()) {
                let within = rank.0 - ranks.start;
                let value = bytes[(within / 4) as usize] >> (2 * (within % 4)) & 3;
                let near = lower.neighbor(rank, state);
                let distance = match near {
                    Some(near) => step(out[near.0 as usize], value),
                    None => self.cursor(state)?.map(|cursor| cursor.distance().0),
                };
                let fits = distance.filter(|_| value < 3);
                out[rank.0 as usize] = fits.ok_or_else(|| {
                    let what = format!("the distances about the state of rank {rank} contradict each other");
                    TableError::corrupt(self.path(), what)
                })?;
            }
        }
        Ok(out)
    }
}

/// For each cell the lowest neighbour, which is below it except at the tip.
struct LowerNeighbors<'a> {
    geometry: &'a Geometry,
    lowest: Vec<Cell>,
}

impl LowerNeighbors<'_> {
    fn of(geometry: &Geometry) -> LowerNeighbors<'_> {
        let cells = (0..geometry.cells()).map(Cell::new);
        let lowest = cells.map(|cell| geometry.neighbors(cell).first().expect("a board has at least 9 cells"));
        LowerNeighbors { geometry, lowest: lowest.collect() }
    }

    /// The rank of a neighbour of lower rank, a step away. None if no piece
    /// can step to a lower cell, as in the goal and a few states like it.
    #[inline]
    fn neighbor(&self, rank: Rank, state: CellSet) -> Option<Rank> {
        let lowest = state.first()?;
        if lowest.index() > 0 {
            // Nothing stands below the lowest piece, so its rank falls by the cells it steps down.
            return Some(Rank(rank.0 - (lowest.index() - self.lowest[lowest.index()].index()) as u64));
        }
        state.iter().find_map(|from| {
            let to = (self.geometry.neighbors(from) & CellSet::first_cells(from.index())) - state;
            to.first().map(|to| rank.after_move(state, from, to))
        })
    }
}

/// How flat distances are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// By [`Rank`].
    Colex,
    /// By C(N, k) - 1 - Σ C(N-1-cᵢ, k-i), with cᵢ the i-th smallest cell from
    /// the goal tip and i from 0, as other published programs do. For whole
    /// tables only: in a prefix these numbers have gaps.
    Lex,
}

/// Writes all distances, one byte a state.
///
/// # Errors
/// If `out` cannot be written.
///
/// # Panics
/// If the order is [`Order::Lex`] and `distances` are not those of all
/// `pieces`-subsets of `cells` cells.
pub fn write_flat(distances: &[u8], order: Order, cells: usize, pieces: usize, out: &mut impl Write) -> io::Result<()> {
    match order {
        Order::Colex => out.write_all(distances),
        Order::Lex => {
            assert_eq!(Some(distances.len() as u64), binomial(cells, pieces), "only whole tables have this order");
            write_lex(distances, cells, pieces, out)
        }
    }
}

/// Counts up the sets of cells in lexicographic order, in which the largest
/// changes fastest.
fn write_lex(distances: &[u8], cells: usize, pieces: usize, out: &mut impl Write) -> io::Result<()> {
    let place = |cell, index: usize| binomial(cell, index + 1).expect("ranks of the table fit in 64 bits");
    let mut lower: Vec<usize> = (0..pieces - 1).collect();
    let mut buffer = Vec::with_capacity(cells);
    loop {
        let base: u64 = lower.iter().enumerate().map(|(i, &cell)| place(cell, i)).sum();
        let first = lower.last().map_or(0, |last| last + 1);
        buffer.clear();
        buffer.extend((first..cells).map(|cell| distances[(base + place(cell, pieces - 1)) as usize]));
        out.write_all(&buffer)?;
        // The last lower piece that may still go up, leaving room for those after it.
        let Some(i) = (0..lower.len()).rev().find(|&i| lower[i] < cells - pieces + i) else { return Ok(()) };
        let cell = lower[i] + 1;
        for (step, slot) in lower[i..].iter_mut().enumerate() {
            *slot = cell + step;
        }
    }
}
