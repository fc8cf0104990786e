//! Prediction of a distance from earlier distances of the same block
//! (`docs/research/compression.md`).

use std::ops::Range;

use crate::board::{Cell, CellSet, Geometry, MAX_PIECES, ROW, State};

/// The distance of a state that is not earlier in the block. The value is above
/// all bytes, so that differences to it are distinct from those of distances.
const MISSING: u16 = 512;
/// A cell that no board has. Its distances are missing.
const NO_CELL: u8 = 127;

/// The number of contexts without their last digit, which belongs to the
/// previous state in the row.
const GROUPS: usize = 6 * 6 * 6 * 4 * 4 * 6;
/// The symbol map of a state whose predictor is the previous state.
pub(super) const DEFAULT_MAP: u32 = 0b00_10_01;

/// For each context, the differences −1, 0 and +1 to the predictor (stored as
/// 0, 1 and 2) sorted by likelihood, two bits each, the likeliest in the lowest
/// bits. `examples/count_orders.rs` computes the order of the differences from
/// tables.
///
/// The four contexts that differ only in their last digit share one `u32`, one
/// byte each. The load therefore does not wait for the previous distance.
static SYMBOL_MAPS: [u32; GROUPS] = symbol_maps();

const fn symbol_maps() -> [u32; GROUPS] {
    let (words, _) = include_bytes!("orders.bin").as_chunks::<4>();
    let mut maps = [0; GROUPS];
    let mut group = 0;
    while group < GROUPS {
        maps[group] = u32::from_le_bytes(words[group]);
        group += 1;
    }
    maps
}

/// Previous cells for a state whose previous cell has no distance.
pub(super) const NO_PREVIOUS_CELLS: &[u8; ROW] = &[NO_CELL; ROW];

/// Neighbors of each cell on the boards of one size.
#[derive(Debug)]
pub(super) struct NeighborCells {
    /// The lowest neighbor of each cell, if it is lower than the cell.
    near: [u8; ROW],
    /// The same, except that cell 0 is not a neighbor.
    near_second: [u8; ROW],
    /// The previous cell, if it is in the same row.
    pub before: [u8; ROW],
    /// The next cell, if it is in the same row.
    after: [u8; ROW],
}

impl NeighborCells {
    /// Computes the neighbors of all cells. An entry without such a neighbor
    /// is [`NO_CELL`].
    pub fn of(geometry: &Geometry) -> NeighborCells {
        let mut cells = NeighborCells {
            near: [NO_CELL; ROW],
            near_second: [NO_CELL; ROW],
            before: [NO_CELL; ROW],
            after: [NO_CELL; ROW],
        };
        let index = |cell: Option<Cell>| cell.map_or(NO_CELL, |cell| cell.index() as u8);
        for cell in 1..geometry.cells() {
            let below = geometry.neighbors(Cell::new(cell)) & CellSet::first_cells(cell);
            cells.near[cell] = index(below.first());
            // The second-lowest piece is never on cell 0, because another piece is below it.
            cells.near_second[cell] = index(below.without(Cell::new(0)).first());
            if geometry.row(Cell::new(cell - 1)) == geometry.row(Cell::new(cell)) {
                cells.before[cell] = cell as u8 - 1;
                cells.after[cell - 1] = cell as u8;
            }
        }
        cells
    }
}

/// The distances of the states that share all pieces except the two lowest,
/// indexed by the second lowest and the lowest. Distances of later states are
/// missing or never read.
#[derive(Debug)]
pub(super) struct Slice([[u16; ROW]; ROW]);

impl Slice {
    pub fn new() -> Box<Slice> {
        Box::new(Slice([[MISSING; ROW]; ROW]))
    }

    /// Marks the states before the one with these lowest pieces as missing.
    pub fn clear_before(&mut self, second: usize, lowest: usize) {
        self.0[..second].iter_mut().for_each(|row| row.fill(MISSING));
        self.0[second][..lowest].fill(MISSING);
    }

    /// Marks the states between two states as missing: those from the first one on, without the
    /// second one. A state is given by its second lowest and its lowest piece.
    pub fn clear_between(&mut self, (second, lowest): (usize, usize), (next_second, next_lowest): (usize, usize)) {
        let mut from = lowest;
        for row in second..next_second {
            self.0[row][from..].fill(MISSING);
            from = 0;
        }
        self.0[next_second][from..next_lowest].fill(MISSING);
    }

    /// Visits the states of a run with these lowest pieces in order, calling
    /// `distance(predictor, symbol_map)` for each.
    ///
    /// `previous_cells` are those of `neighbors`, or [`NO_PREVIOUS_CELLS`].
    /// `before` is the distance of the state before the first one. Returns the
    /// distance of the last one.
    #[inline(always)]
    pub fn run(
        &mut self,
        neighbors: &NeighborCells,
        previous_cells: &[u8; ROW],
        second: usize,
        lowest: Range<usize>,
        mut before: u8,
        mut distance: impl FnMut(u8, u32) -> u8,
    ) -> u8 {
        let [three, five] = &DIGITS;
        let second = second & (ROW - 1);
        let (done, rest) = self.0.split_at_mut(second);
        let Some(row) = rest.first_mut() else { return before };
        const ALL_MISSING: [u16; ROW] = [MISSING; ROW];
        let done = |cell: u8| done.get(usize::from(cell)).unwrap_or(&ALL_MISSING);
        let near = neighbors.near_second[second];
        let (beside, below) = (done((second as u8).wrapping_sub(1)), done(near));
        let below_after = done(neighbors.after[usize::from(near) & (ROW - 1)]);
        for cell in lowest {
            let cell = cell & (ROW - 1);
            let near = usize::from(neighbors.near[cell]) & (ROW - 1);
            let predictor = if cell == 0 { below[0] } else { row[near] };
            let after = usize::from(neighbors.after[near]) & (ROW - 1);
            let far = usize::from(neighbors.near[usize::from(neighbors.near[near]) & (ROW - 1)]) & (ROW - 1);
            let mut group = (digit(five, beside[cell], predictor) * 6 + digit(five, below[cell], predictor)) * 6;
            group = ((group + digit(five, below_after[cell], predictor)) * 4 + digit(three, row[after], predictor)) * 4;
            group = (group + digit(three, beside[near], predictor)) * 6 + digit(five, row[far], predictor);
            let previous = if previous_cells[cell] == NO_CELL { MISSING } else { before.into() };
            let symbol_map = SYMBOL_MAPS[group] >> (8 * digit(three, previous, predictor));
            before = if predictor == MISSING {
                distance(before, DEFAULT_MAP)
            } else {
                distance(predictor as u8, symbol_map)
            };
            row[cell] = before.into();
        }
        before
    }

    /// Returns the distances of a run.
    #[inline]
    pub fn row(&self, second: usize) -> &[u16; ROW] {
        &self.0[second]
    }

    /// Sets the distance of a state.
    #[inline]
    pub fn set(&mut self, second: usize, lowest: usize, distance: u8) {
        self.0[second][lowest] = distance.into();
    }
}

/// Maps `distance − predictor + 256` to a context digit: the difference clamped
/// to `−most..=most`, plus `most`, or `2 * most + 1` if the distance is missing.
type Digits = [u8; 1024];

static DIGITS: [Digits; 2] = [digits(1), digits(2)];

const fn digits(most: i32) -> Digits {
    let mut digits = [0; 1024];
    let mut difference = -256;
    while difference < 768 {
        let digit = match difference {
            _ if difference > 256 => 2 * most + 1,
            _ if difference < -most => 0,
            _ if difference > most => 2 * most,
            _ => difference + most,
        };
        digits[(difference + 256) as usize] = digit as u8;
        difference += 1;
    }
    digits
}

#[inline(always)]
fn digit(digits: &Digits, distance: u16, predictor: u16) -> usize {
    usize::from(digits[usize::from(distance.wrapping_add(256).wrapping_sub(predictor)) & 1023])
}

/// The pieces of a state except the lowest, which step through runs and slices
/// in the order of ranks. A *run* is the states that differ in the lowest piece.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    pieces: usize,
    cells: [u8; MAX_PIECES + 1],
}

impl Runs {
    pub fn at(state: State) -> Runs {
        let mut cells = [NO_CELL; MAX_PIECES + 1];
        state.cells().iter().zip(&mut cells).for_each(|(cell, slot)| *slot = cell.index() as u8);
        Runs { pieces: state.cells().len(), cells }
    }

    /// Returns the cell of the second lowest piece, which is the number of
    /// states of the run.
    #[inline]
    pub fn second(&self) -> usize {
        usize::from(self.cells[1])
    }

    /// Returns whether both differ only in the two lowest pieces.
    pub fn same_slice(&self, other: &Runs) -> bool {
        self.cells[2..] == other.cells[2..]
    }

    /// Returns the number of states of the slice: those that differ only in the two lowest pieces, a *triangle* of the
    /// glossary. With fewer than three pieces it is an upper bound, as if the next piece stood on `NO_CELL`, so that the
    /// only slice ends in no block.
    #[inline]
    pub fn slice_states(&self) -> usize {
        let third = usize::from(if self.pieces < 3 { NO_CELL } else { self.cells[2] });
        third * (third - 1) / 2 + usize::from(self.pieces < 2) * ROW
    }

    /// Steps to the next run. Returns whether the new run begins a slice.
    #[inline]
    pub fn next_run(&mut self) -> bool {
        if self.pieces > 1 && (self.pieces == 2 || self.cells[1] + 1 < self.cells[2]) {
            self.cells[1] += 1;
            return false;
        }
        self.next_slice();
        true
    }

    /// Steps to the first run of the next slice. With fewer than three pieces there is only one slice, and no block
    /// reaches its end.
    pub fn next_slice(&mut self) {
        let mut i = 2;
        while i + 1 < self.pieces && self.cells[i] + 1 == self.cells[i + 1] {
            self.cells[i] = i as u8;
            i += 1;
        }
        // `i` is below `MAX_PIECES`; the minimum spares the check of the index.
        self.cells[i.min(MAX_PIECES)] += 1;
        self.cells[1] = 1;
    }
}

#[cfg(test)]
mod tests {
    /// The symbol maps are part of the file format (`docs/reference/table-format.md`).
    #[test]
    fn symbol_maps_have_the_documented_checksum() {
        let bytes = include_bytes!("orders.bin");
        assert_eq!(bytes.len(), 82_944);
        assert_eq!(xxhash_rust::xxh3::xxh3_64(bytes), 0x0b99_2d96_de85_b08f);
    }
}
