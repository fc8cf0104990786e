//! Absolute distances of a mod-3 table in rank order, in constant memory.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::board::{Cell, CellSet, Geometry, MAX_PIECES, ROW, Rank, State};
use crate::table::codec::{DecodedBlocks, neighbor_distance, packed, residue};
use crate::table::error::TableError;
use crate::table::reader::Table;

/// The byte that is no distance, which results from contradictions.
const NONE: u8 = u8::MAX;
/// The byte that is no cell.
const NO_CELL: u8 = u8::MAX;

/// `STEPS[residue][distance]` is the distance of a neighbor whose distance is
/// `residue` modulo 3, or `NONE`. The residue 3 occurs only in damaged tables,
/// and all its entries are `NONE`.
static STEPS: [[u8; 256]; 4] = steps();

const fn steps() -> [[u8; 256]; 4] {
    let mut table = [[NONE; 256]; 4];
    let mut value = 0;
    while value < 3 {
        let mut distance = 0;
        while distance < NONE {
            if let Some(next) = neighbor_distance(distance, value) {
                table[value as usize][distance as usize] = next;
            }
            distance += 1;
        }
        value += 1;
    }
    table
}

/// The states of a mirrored table that are unfolded together.
const UNFOLDED: u64 = 1 << 16;

/// The distances modulo 3 of consecutive ranks, four per byte: a partition, or
/// unfolded states of a mirrored table. A clone of the latter is empty.
#[derive(Debug)]
struct Window<'a> {
    bytes: Cow<'a, [u8]>,
    ranks: Range<u64>,
}

impl Window<'_> {
    const EMPTY: Window<'static> = Window { bytes: Cow::Borrowed(&[]), ranks: 0..0 };
}

/// `enter_window` loads an empty window again, so that clones of streams are small.
impl Clone for Window<'_> {
    fn clone(&self) -> Self {
        match self.bytes {
            Cow::Borrowed(bytes) => Window { bytes: Cow::Borrowed(bytes), ranks: self.ranks.clone() },
            Cow::Owned(_) => Window::EMPTY,
        }
    }
}

/// A reader of the distances of a mod-3 table in rank order.
///
/// The states that differ only in the lowest piece are a *run*. The first state
/// of a run has the lowest piece on cell 0. If the pieces below piece `i` are on
/// the first `i` cells and piece `i` steps to a lower cell, the first state of a
/// run becomes the first state of an earlier run. One distance per piece and
/// cell is therefore enough.
#[derive(Clone, Debug)]
pub(super) struct Mod3Stream<'a> {
    table: &'a Table,
    pieces: usize,
    /// The cells of the pieces of the run, the lowest on cell 0, followed by the
    /// number of cells of the prefix.
    cells: [u8; MAX_PIECES + 1],
    /// `levels[i][c]` is the distance of the state with the pieces above `i` as
    /// in the run, piece `i` on `c`, and the pieces below it on the first cells.
    /// The distance is known for the cells up to that of piece `i`.
    levels: [[u8; ROW]; MAX_PIECES],
    /// `nearer[i][c]` is the lowest neighbor of `c` that is below `c` and not
    /// among the first `i` cells.
    nearer: Arc<NearerCells>,
    /// Whether mapped pages are released after a descent has read all over the
    /// table.
    pub release_pages: bool,
    /// The rank of the first state of the run.
    start: u64,
    /// The number of states of the run that have been read.
    read: usize,
    /// The distances modulo 3 of the run and others.
    window: Window<'a>,
    /// The distances of the run, decoded when they are read in parts.
    run: [u8; ROW],
    decoded: bool,
}

impl<'a> Mod3Stream<'a> {
    /// Returns a reader positioned before the state with this rank.
    pub fn new(table: &'a Table, rank: u64) -> Result<Mod3Stream<'a>, TableError> {
        let pieces = table.board().pieces();
        let mut stream = Mod3Stream {
            table,
            pieces,
            cells: [0; MAX_PIECES + 1],
            levels: [[NONE; ROW]; MAX_PIECES],
            nearer: Arc::new(nearer_cells(table.board().geometry())),
            release_pages: false,
            start: 0,
            read: 0,
            window: Window::EMPTY,
            run: [NONE; ROW],
            decoded: false,
        };
        (0..pieces).for_each(|i| stream.cells[i] = i as u8);
        stream.cells[pieces] = table.prefix().within() as u8;
        if table.value(stream.state())? != Some(0) {
            return Err(table.contradiction(0));
        }
        (0..pieces).for_each(|i| stream.levels[i][i] = 0);
        stream.seek(rank)?;
        Ok(stream)
    }

    /// Moves the pieces to their cells, the highest first, one cell at a time.
    fn seek(&mut self, rank: u64) -> Result<(), TableError> {
        let state: Vec<Cell> = Rank(rank).state(self.pieces).cells().iter().collect();
        for i in (1..self.pieces).rev() {
            for cell in i + 1..=state[i].index() {
                self.cells[i] = cell as u8;
                self.start = Rank::of(self.state()).0;
                let residue = self.table.value(self.state())?.expect("the prefix covers the state");
                self.enter(i, residue)?;
            }
        }
        self.read = state[0].index();
        if self.pieces == 1 {
            self.decode_single_piece()?;
        }
        Ok(())
    }

    /// Decodes the only run of an army of one piece. Each of its states is in a
    /// partition of its own, so [`decode_run`](Self::decode_run) cannot read them.
    /// The rank of a state is the cell of the piece.
    fn decode_single_piece(&mut self) -> Result<(), TableError> {
        self.run[0] = 0;
        for cell in 1..self.length() {
            let state = State::from_cells(CellSet::single(Cell::new(cell)));
            let value = self.table.value(state)?.expect("the prefix covers the state");
            // Every cell except 0 has a neighbor with a lower number.
            let near = self.run[usize::from(self.nearer[0][cell])];
            self.run[cell] = STEPS[usize::from(value)][usize::from(near)];
        }
        self.decoded = true;
        Ok(())
    }

    /// Returns the first state of the run.
    fn state(&self) -> State {
        State::from_cells(self.cells[..self.pieces].iter().map(|&cell| Cell::new(cell.into())).collect())
    }

    /// Returns the number of states of the run: the cells below the second piece,
    /// or all cells of the prefix for a single piece.
    #[inline]
    fn length(&self) -> usize {
        usize::from(self.cells[1])
    }

    /// Makes the window contain the run.
    #[inline]
    fn enter_window(&mut self) -> Result<(), TableError> {
        if self.start + self.length() as u64 > self.window.ranks.end {
            self.window = self.load_window()?;
        }
        Ok(())
    }

    #[cold]
    fn load_window(&self) -> Result<Window<'a>, TableError> {
        let prefix = self.table.prefix();
        if self.table.spec().mirrored {
            let ranks = self.start..prefix.states().min(self.start + UNFOLDED);
            let values = self.table.unfold(ranks.clone(), &mut DecodedBlocks::new(0))?;
            return Ok(Window { bytes: Cow::Owned(packed(&values)), ranks });
        }
        let back = usize::from(self.cells[self.pieces - 1]);
        Ok(Window { bytes: Cow::Borrowed(self.table.partition_bytes(back)), ranks: prefix.partition(back) })
    }

    /// Writes the distances of the next states to `out`.
    pub fn read(&mut self, mut out: &mut [u8]) -> Result<(), TableError> {
        while !out.is_empty() {
            let length = self.length();
            if !self.decoded {
                self.enter_window()?;
            }
            if self.read == 0 && out.len() >= ROW && !self.decoded {
                self.decode_run(out.first_chunk_mut().expect("there is room for a row"));
                out = &mut out[length..];
                self.next_run()?;
                continue;
            }
            if !self.decoded {
                let mut run = self.run;
                self.decode_run(&mut run);
                (self.run, self.decoded) = (run, true);
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

    /// Writes the distances of all states of the run to the start of `out`. The
    /// rest of `out` becomes invalid.
    #[inline]
    fn decode_run(&self, out: &mut [u8; ROW]) {
        /// The number of states whose values fit in a word, wherever the first value
        /// begins in its byte.
        const WORD: usize = 29;
        let nearer = &self.nearer[0];
        let bytes = &*self.window.bytes;
        let at = (self.start - self.window.ranks.start) as usize;
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

    /// Steps to the next run, if there is one.
    #[inline]
    fn next_run(&mut self) -> Result<(), TableError> {
        self.start += self.length() as u64;
        (self.read, self.decoded) = (0, false);
        let mut i = 1;
        while i < self.pieces && self.cells[i] + 1 == self.cells[i + 1] {
            self.cells[i] = i as u8;
            i += 1;
        }
        if i >= self.pieces {
            return Ok(());
        }
        self.cells[i] += 1;
        self.enter_window()?;
        let at = (self.start - self.window.ranks.start) as usize;
        let residue = residue(self.window.bytes[at / 4], (at % 4) as u32);
        self.enter(i, residue)
    }

    /// Sets the distance of the first state of the run after piece `i` has moved
    /// up one cell and the pieces below it to the first cells. `residue` is the
    /// distance modulo 3.
    #[inline]
    fn enter(&mut self, i: usize, residue: u8) -> Result<(), TableError> {
        let cell = usize::from(self.cells[i]);
        let near = self.nearer[i][cell];
        let distance = match near {
            NO_CELL => self.distance_around(i)?,
            _ => STEPS[usize::from(residue)][usize::from(self.levels[i][usize::from(near) & (ROW - 1)])],
        };
        self.levels[i][cell & (ROW - 1)] = distance;
        (0..i).for_each(|below| self.levels[below][below] = distance);
        Ok(())
    }

    /// Returns the distance of the first state of the run if the pieces below `i`
    /// block the way down: piece `i` moves up from cell `i`, around them.
    #[cold]
    #[inline(never)]
    fn distance_around(&self, i: usize) -> Result<u8, TableError> {
        let state = self.state();
        let to = Cell::new(self.cells[i].into());
        let others = state.cells().without(to);
        let mut distance = self.levels[i][i];
        let Some(path) = self.path(Cell::new(i), to, others) else {
            let distance = self.table.distance(state)?.expect("the prefix covers the state");
            if self.release_pages {
                self.table.release_pages();
            }
            return Ok(distance);
        };
        for cell in path {
            let value = self.table.value(State::from_cells(others.with(cell)))?.expect("the prefix covers the state");
            distance = STEPS[usize::from(value)][usize::from(distance)];
        }
        Ok(distance)
    }

    /// Returns the cells after `from`, up to and with `to`, of a shortest path
    /// through free cells, by steps and by jumps over `others`. Returns `None` if
    /// there is no path. The two cells must differ.
    fn path(&self, from: Cell, to: Cell, others: CellSet) -> Option<Vec<Cell>> {
        let geometry = self.table.board().geometry();
        let free = self.table.prefix().cells() - others;
        let beside = |cell: Cell| {
            let jumps = geometry.jumps(cell).iter().filter(|jump| others.contains(jump.over));
            (geometry.neighbors(cell) | jumps.map(|jump| jump.to).collect()) & free
        };
        // Entry `i` contains the cells at `i` steps or jumps from `from`.
        let mut layers = vec![CellSet::single(from)];
        let mut seen = layers[0];
        while !seen.contains(to) {
            let last = layers.last().expect("it is never empty");
            let next = last.iter().fold(CellSet::EMPTY, |all, cell| all | beside(cell)) - seen;
            if next.is_empty() {
                return None;
            }
            layers.push(next);
            seen |= next;
        }
        // Backwards from `to`, each cell is in the previous entry.
        let mut path = vec![to];
        for cells in layers[1..layers.len() - 1].iter().rev() {
            let near = beside(path[path.len() - 1]) & *cells;
            path.push(near.first().expect("each cell has a neighbor one step earlier"));
        }
        path.reverse();
        Some(path)
    }
}

/// Returns the eight bytes at `at`, with zeros after the last byte.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(word) => u64::from_le_bytes(*word),
        None => bytes[at..].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

type NearerCells = [[u8; ROW]; MAX_PIECES];

fn nearer_cells(geometry: &Geometry) -> NearerCells {
    let mut nearer = [[NO_CELL; ROW]; MAX_PIECES];
    for (i, row) in nearer.iter_mut().enumerate() {
        for (cell, nearer) in row.iter_mut().enumerate().take(geometry.cells()).skip(i + 1) {
            let below = CellSet::first_cells(cell) - CellSet::first_cells(i);
            let near = (geometry.neighbors(Cell::new(cell)) & below).first();
            *nearer = near.map_or(NO_CELL, |near| near.index() as u8);
        }
    }
    nearer
}

const _: () = assert!(Cell::LIMIT < ROW);
