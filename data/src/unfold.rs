//! Absolute distances of a run of ranks in order, in memory that does not
//! depend on the table.

use std::ops::Range;
use std::sync::Arc;

use crate::board::Geometry;
use crate::cell::{Cell, CellSet};
use crate::error::TableError;
use crate::format::Encoding;
use crate::rank::{MOST_PIECES, Rank};
use crate::table::{Table, step};

/// Reads the distances of states in the order of their ranks.
///
/// Memory: under 5 KiB, and of `zstd` a block. Cost: of a table of bytes a
/// copy; of others a few nanoseconds a state, of mod-3 after one look-up for
/// each piece and cell below it of the first state.
///
/// ```
/// use sternhalma_data::{DistanceStream, Table, TableError};
/// fn sum(table: &Table) -> Result<u64, TableError> {
///     let states = table.prefix().states();
///     let mut reader = DistanceStream::new(table, 0..states)?;
///     let (mut part, mut sum, mut left) = (vec![0; 1 << 16], 0, states);
///     while left > 0 {
///         let part = &mut part[..left.min(1 << 16) as usize];
///         reader.read(part)?;
///         sum += part.iter().map(|&distance| u64::from(distance)).sum::<u64>();
///         left -= part.len() as u64;
///     }
///     Ok(sum)
/// }
/// ```
/// A clone goes on from the same state; one takes under 3 KiB, so a pass over
/// a table can leave one wherever it is to be read again.
#[derive(Clone, Debug)]
pub struct DistanceStream<'a> {
    table: &'a Table,
    /// The ranks not read yet.
    ranks: Range<u64>,
    /// The ranks below this one are in blocks that are ready to be read.
    ready: u64,
    source: Source<'a>,
}

#[derive(Clone, Debug)]
enum Source<'a> {
    Bytes(&'a [u8]),
    Mod3(Box<Unfold<'a>>),
    Packed(PackedBlock),
}

/// The distances of a compressed block. A clone unpacks it anew.
#[derive(Debug, Default)]
struct PackedBlock {
    distances: Vec<u8>,
    /// The rank of the first.
    start: u64,
}

impl Clone for PackedBlock {
    fn clone(&self) -> PackedBlock {
        PackedBlock::default()
    }
}

impl PackedBlock {
    /// The distances from this rank on.
    fn fill(&mut self, table: &Table, mut rank: u64, mut out: &mut [u8]) -> Result<(), TableError> {
        while !out.is_empty() {
            let within = rank.wrapping_sub(self.start);
            if within >= self.distances.len() as u64 {
                let number = table.layout().block_of_rank(rank);
                // What an error leaves behind is not to be taken for a block.
                self.start = table.layout().block(number).ranks.start;
                self.distances.clear();
                table.read_packed_block(number, &mut self.distances)?;
                continue;
            }
            let rest = &self.distances[within as usize..];
            let (part, after) = out.split_at_mut(out.len().min(rest.len()));
            part.copy_from_slice(&rest[..part.len()]);
            rank += part.len() as u64;
            out = after;
        }
        Ok(())
    }
}

impl<'a> DistanceStream<'a> {
    /// A reader of these ranks.
    ///
    /// # Errors
    /// If the data before or about the first state is damaged.
    ///
    /// # Panics
    /// If the table has not all of these ranks.
    pub fn new(table: &'a Table, ranks: Range<u64>) -> Result<DistanceStream<'a>, TableError> {
        assert!(ranks.end <= table.prefix().states(), "the table has the ranks to read");
        let source = match table.as_bytes() {
            Some(bytes) => Source::Bytes(bytes),
            None if table.encoding() != Encoding::Mod3 => Source::Packed(PackedBlock::default()),
            None => Source::Mod3(Box::new(Unfold::new(table, ranks.start.min(table.prefix().states() - 1))?)),
        };
        Ok(DistanceStream { table, ready: ranks.start, ranks, source })
    }

    /// Sets whether the stream releases mapped pages
    /// ([`Table::release_pages`]) after reading all over the table.
    #[must_use]
    pub fn release_pages(mut self, release: bool) -> DistanceStream<'a> {
        if let Source::Mod3(unfold) = &mut self.source {
            unfold.release_pages = release;
        }
        self
    }

    /// The distances of the next `out.len()` states. Of a table opened with
    /// [`Table::open_checked`], blocks are compared with their checksums first.
    ///
    /// # Errors
    /// If the data is damaged, or distances contradict each other. What the
    /// reader gives after that means nothing.
    ///
    /// # Panics
    /// If fewer states are left.
    pub fn read(&mut self, out: &mut [u8]) -> Result<(), TableError> {
        let ranks = self.ranks.start..self.ranks.start + out.len() as u64;
        assert!(ranks.end <= self.ranks.end, "there are states left to read");
        while self.ready < ranks.end {
            self.ready = self.table.ready_block(self.ready)?;
        }
        match &mut self.source {
            Source::Bytes(bytes) => out.copy_from_slice(&bytes[ranks.start as usize..ranks.end as usize]),
            Source::Mod3(unfold) => unfold.fill(out)?,
            Source::Packed(block) => block.fill(self.table, ranks.start, out)?,
        }
        self.ranks.start = ranks.end;
        let most = self.table.max_distance().0;
        // The maximum is found by words of many bytes; the place only if it is needed.
        if out.iter().fold(0, |max, &distance| distance.max(max)) > most {
            let place = out.iter().position(|&distance| distance > most).expect("the maximum is one of them");
            return Err(self.table.contradiction(ranks.start + place as u64));
        }
        Ok(())
    }
}

/// More than the cells of any board, and a power of two.
const ROW: usize = 128;
/// No distance: what follows from a contradiction.
const NONE: u8 = u8::MAX;
/// No cell.
const NOWHERE: u8 = u8::MAX;

/// `STEPS[value][distance]`: the distance of a neighbour whose distance is
/// `value` modulo 3, or `NONE`.
static STEPS: [[u8; 256]; 4] = steps();

const fn steps() -> [[u8; 256]; 4] {
    let mut table = [[NONE; 256]; 4];
    let mut value = 0;
    while value < 3 {
        let mut distance = 0;
        while distance < NONE {
            if let Some(next) = step(distance, value) {
                table[value as usize][distance as usize] = next;
            }
            distance += 1;
        }
        value += 1;
    }
    table
}

/// The absolute distances of a mod-3 table, state by state.
///
/// The states with the same pieces but the lowest are a *run*, whose first
/// has the lowest piece on cell 0. A piece `i` that steps to a lower cell, the
/// pieces below it on the first `i` cells, leads from the first state of a run
/// to that of a run before it. So a distance a piece and cell is all that has
/// to be kept of what came before.
#[derive(Clone, Debug)]
struct Unfold<'a> {
    table: &'a Table,
    pieces: usize,
    /// The pieces of the run by their cells, the lowest on cell 0. Behind
    /// them, the cells of the prefix.
    cells: [u8; MOST_PIECES + 1],
    /// `levels[i][c]`: the distance of the state with the pieces above `i` as
    /// in the run, piece `i` on `c`, and those below it on the first cells.
    /// Known for the cells up to that of piece `i`.
    levels: [[u8; ROW]; MOST_PIECES],
    /// `nearer[i][c]`: the lowest cell beside and below `c` that the pieces on
    /// the first `i` cells leave free.
    nearer: Arc<NearerCells>,
    /// Whether pages are given back once a descent has read all over the table.
    release_pages: bool,
    /// The rank of the first state of the run.
    start: u64,
    /// How many states of the run are read.
    read: usize,
    /// The data of the run's partition, and the rank it begins with.
    partition: (&'a [u8], u64),
    /// The distances of the run, once they are asked for in parts.
    run: [u8; ROW],
    unfolded: bool,
}

impl<'a> Unfold<'a> {
    /// Stands before the state of this rank.
    fn new(table: &'a Table, rank: u64) -> Result<Unfold<'a>, TableError> {
        let pieces = table.prefix().board().pieces();
        let mut unfold = Unfold {
            table,
            pieces,
            cells: [0; MOST_PIECES + 1],
            levels: [[NONE; ROW]; MOST_PIECES],
            nearer: Arc::new(nearer_cells(table.prefix().board().geometry())),
            release_pages: false,
            start: 0,
            read: 0,
            partition: (&[], 0),
            run: [NONE; ROW],
            unfolded: false,
        };
        (0..pieces).for_each(|i| unfold.cells[i] = i as u8);
        unfold.cells[pieces] = table.prefix().within() as u8;
        if table.value_of_rank(0, pieces - 1)? != 0 {
            return Err(table.contradiction(0));
        }
        (0..pieces).for_each(|i| unfold.levels[i][i] = 0);
        unfold.go_to(rank)?;
        Ok(unfold)
    }

    /// Brings the pieces to their cells, the highest first, each cell by cell.
    fn go_to(&mut self, rank: u64) -> Result<(), TableError> {
        let state: Vec<Cell> = Rank(rank).state(self.pieces).iter().collect();
        for i in (1..self.pieces).rev() {
            for cell in i + 1..=state[i].index() {
                self.cells[i] = cell as u8;
                self.start = Rank::of(self.state()).0;
                self.enter_partition();
                self.table.ready_block(self.start)?;
                self.enter(i)?;
            }
        }
        self.enter_partition();
        self.read = state[0].index();
        if self.pieces == 1 {
            self.unfold_single_piece()?;
        }
        Ok(())
    }

    /// One piece has one run, and partitions of one state each.
    fn unfold_single_piece(&mut self) -> Result<(), TableError> {
        self.run[0] = 0;
        for cell in 1..self.length() {
            let value = self.table.value_of_rank(cell as u64, cell)?;
            let near = self.run[usize::from(self.nearer[0][cell])];
            self.run[cell] = STEPS[usize::from(value)][usize::from(near)];
        }
        self.unfolded = true;
        Ok(())
    }

    /// The first state of the run.
    fn state(&self) -> CellSet {
        self.cells[..self.pieces].iter().map(|&cell| Cell::new(cell.into())).collect()
    }

    /// The states of the run.
    #[inline]
    fn length(&self) -> usize {
        usize::from(self.cells[1])
    }

    fn enter_partition(&mut self) {
        let back = usize::from(self.cells[self.pieces - 1]);
        self.partition = (self.table.partition_bytes(back), self.table.prefix().partition(back).start);
    }

    fn fill(&mut self, mut out: &mut [u8]) -> Result<(), TableError> {
        while !out.is_empty() {
            let length = self.length();
            if self.read == 0 && out.len() >= ROW && !self.unfolded {
                self.unfold_run(out.first_chunk_mut().expect("there is room for a row"));
                out = &mut out[length..];
                self.next_run()?;
                continue;
            }
            if !self.unfolded {
                let mut run = self.run;
                self.unfold_run(&mut run);
                (self.run, self.unfolded) = (run, true);
            }
            let part = out.len().min(length - self.read);
            out[..part].copy_from_slice(&self.run[self.read..self.read + part]);
            self.read += part;
            out = &mut out[part..];
            if self.read == length {
                self.next_run()?;
            }
        }
        Ok(())
    }

    /// The distances of all states of the run; what `out` has behind them is spoilt.
    #[inline]
    fn unfold_run(&self, out: &mut [u8; ROW]) {
        /// States of which a word has the values, whatever the first one's place in its byte.
        const WORD: usize = 29;
        let nearer = &self.nearer[0];
        let (bytes, first) = self.partition;
        let at = (self.start - first) as usize;
        let length = self.length();
        out[0] = self.levels[0][0];
        for from in (1..length).step_by(WORD) {
            let at = at + from;
            let mut values = word_at(bytes, at / 4) >> (2 * (at % 4));
            for cell in from..length.min(from + WORD) {
                let near = out[usize::from(nearer[cell & (ROW - 1)]) & (ROW - 1)];
                out[cell & (ROW - 1)] = STEPS[(values & 3) as usize][usize::from(near)];
                values >>= 2;
            }
        }
    }

    /// Goes to the next run, if there is one.
    #[inline]
    fn next_run(&mut self) -> Result<(), TableError> {
        self.start += self.length() as u64;
        (self.read, self.unfolded) = (0, false);
        let mut i = 1;
        while i < self.pieces && self.cells[i] + 1 == self.cells[i + 1] {
            self.cells[i] = i as u8;
            i += 1;
        }
        if i >= self.pieces {
            return Ok(());
        }
        self.cells[i] += 1;
        if i == self.pieces - 1 {
            self.enter_partition();
        }
        self.enter(i)
    }

    /// Notes the distance of the first state of the run, once piece `i` has
    /// gone up a cell and those below it have gone to the first cells.
    #[inline]
    fn enter(&mut self, i: usize) -> Result<(), TableError> {
        let cell = usize::from(self.cells[i]);
        let near = self.nearer[i][cell];
        let distance = match near {
            NOWHERE => self.distance_around(i)?,
            _ => {
                let (bytes, first) = self.partition;
                let at = (self.start - first) as usize;
                let value = bytes[at / 4] >> (2 * (at % 4)) & 3;
                STEPS[usize::from(value)][usize::from(self.levels[i][usize::from(near) & (ROW - 1)])]
            }
        };
        self.levels[i][cell & (ROW - 1)] = distance;
        (0..i).for_each(|below| self.levels[below][below] = distance);
        Ok(())
    }

    /// The distance of the first state of the run where the pieces below `i`
    /// bar the way down: piece `i` is walked up from cell `i`, around them.
    #[cold]
    #[inline(never)]
    fn distance_around(&self, i: usize) -> Result<u8, TableError> {
        let state = self.state();
        let to = Cell::new(self.cells[i].into());
        let others = state.without(to);
        let mut distance = self.levels[i][i];
        let Some(path) = self.path(Cell::new(i), to, others) else {
            let probed = self.table.probed_state(state)?.expect("the prefix covers the state");
            if self.release_pages {
                self.table.release_pages();
            }
            return Ok(probed.distance().0);
        };
        for cell in path {
            let value = self.table.value(others.with(cell))?.expect("the prefix covers the state");
            distance = STEPS[usize::from(value)][usize::from(distance)];
        }
        Ok(distance)
    }

    /// The cells after `from` of a shortest way through free cells, by steps
    /// and by jumps over `others`.
    fn path(&self, from: Cell, to: Cell, others: CellSet) -> Option<Vec<Cell>> {
        let geometry = self.table.prefix().board().geometry();
        let free = self.table.prefix().cells() - others;
        let beside = |cell: Cell| {
            let jumps = geometry.jumps(cell).iter().filter(|jump| others.contains(jump.over));
            (geometry.neighbors(cell) | jumps.map(|jump| jump.to).collect()) & free
        };
        let mut around = vec![CellSet::single(from)];
        let mut seen = around[0];
        while !seen.contains(to) {
            let last = around.last().expect("it begins with one");
            let next = last.iter().fold(CellSet::EMPTY, |all, cell| all | beside(cell)) - seen;
            if next.is_empty() {
                return None;
            }
            around.push(next);
            seen |= next;
        }
        let mut path = vec![to];
        for cells in around[1..around.len() - 1].iter().rev() {
            let near = beside(path[path.len() - 1]) & *cells;
            path.push(near.first().expect("each cell is beside one of those before"));
        }
        path.reverse();
        Some(path)
    }
}

/// Eight bytes from this one on, zeros behind the last.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(word) => u64::from_le_bytes(*word),
        None => bytes[at..].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

type NearerCells = [[u8; ROW]; MOST_PIECES];

fn nearer_cells(geometry: &Geometry) -> NearerCells {
    let mut nearer = [[NOWHERE; ROW]; MOST_PIECES];
    for (i, row) in nearer.iter_mut().enumerate() {
        for (cell, nearer) in row.iter_mut().enumerate().take(geometry.cells()).skip(i + 1) {
            let below = CellSet::first_cells(cell) - CellSet::first_cells(i);
            let near = (geometry.neighbors(Cell::new(cell)) & below).first();
            *nearer = near.map_or(NOWHERE, |near| near.index() as u8);
        }
    }
    nearer
}

const _: () = assert!(Cell::LIMIT < ROW);
