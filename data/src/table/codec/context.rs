//! The contexts of the encoding `ans`: what the known distances say about the next one.
//!
//! A *lower neighbor* of a state has one piece moved to an adjacent cell with a lower number. States one
//! move apart differ in distance by at most one. The distances of the lower neighbors that come earlier
//! in the block therefore leave at most three values for the distance of a state, and often one.
//! `docs/reference/table-format.md` defines the contexts.

use std::ops::Range;

use fearless_simd::Simd;
use fearless_simd_macros::simd;

use super::intervals::Intervals;
use crate::board::{Cell, CellSet, Geometry, MAX_PIECES, ROW, Stretch, choose};

/// The number of contexts.
pub(super) const CONTEXTS: usize = FIRST + 1;
/// The context of a state without a known lower neighbor.
const FIRST: usize = CLASSES * DIGITS;

/// The classes of lower neighbors with the lowest piece unmoved: none, distances that differ by two or
/// more, equal distances by their number, and distances that differ by one by the number of each.
const CLASSES: usize = 2 + MAX_EQUAL + MOST_OF_TWO * MOST_OF_TWO;
/// Equal distances are counted up to this number.
const MAX_EQUAL: usize = 8;
/// Each of two distances is counted up to this number.
const MOST_OF_TWO: usize = 4;
/// The values of the digits of the three lower neighbors with the lowest piece moved.
const DIGITS: usize = 6 * 6 * 6;

/// The distance of a state that is not known, which is above all distances.
const UNKNOWN: u8 = u8::MAX;
/// The same where differences to it must be distinct from differences of distances.
const UNKNOWN_DIFFERENCE: u16 = 512;
/// A cell that no board has. Its distances are unknown.
const NO_CELL: u8 = ROW as u8 - 1;
const _: () = assert!(Cell::LIMIT < ROW - 1);

/// The second lowest piece of a state that has none which may move. No board has this cell.
const NO_SECOND: usize = ROW - 2;
/// The number of states whose neighbors are compared at once.
const LANES: usize = 16;
/// The most lower neighbors of a state with one of the pieces above the two lowest moved.
const MAX_UPPER: usize = 3 * MAX_PIECES;

/// The lower neighbors of each cell: the previous cell of its row, and the two cells of the row below,
/// the lower one first. An absent one is [`NO_CELL`].
#[derive(Debug)]
pub(super) struct LowerCells([[u8; 3]; ROW]);

impl LowerCells {
    pub fn of(geometry: &Geometry) -> LowerCells {
        let lower = |cell: usize| {
            let mut lower = [NO_CELL; 3];
            if cell < geometry.cells() {
                let row = |cell: Cell| geometry.row(cell);
                let cells = geometry.neighbors(Cell::new(cell)) & CellSet::first_cells(cell);
                let (beside, below): (Vec<Cell>, Vec<Cell>) =
                    cells.iter().partition(|&near| row(near) == row(Cell::new(cell)));
                let slots = beside.first().into_iter().zip(0..).chain(below.iter().zip(1..));
                slots.for_each(|(near, slot): (_, usize)| lower[slot] = near.index() as u8);
            }
            lower
        };
        LowerCells(std::array::from_fn(lower))
    }
}

/// The source of distances that a walk asks for, in the order of the states.
pub(super) trait NextDistance {
    /// Returns the distance of the next state in this context. The likely distances are `base` and
    /// those that differ from it by one.
    fn next(&mut self, context: usize, base: u8) -> u8;
}

/// The memory of walks, which walks of one thread share.
#[derive(Debug)]
pub(super) struct Workspace {
    /// The distances of the block from entry [`ROW`] on. The others are unknown.
    distances: Vec<u8>,
    /// `pairs[a][b]` is the distance of the state whose two lowest pieces are on `a` and `b`, in either
    /// order, and whose other pieces are those of the current state. A state that is not earlier in
    /// the block is unknown or never read.
    pairs: Box<[[u8; ROW]; ROW]>,
    /// The distances of the states that differ from the current state in the lowest piece.
    run: [u16; ROW],
}

impl Workspace {
    pub fn new() -> Workspace {
        let pairs = vec![[UNKNOWN; ROW]; ROW].into_boxed_slice();
        let pairs = pairs.try_into().expect("it has as many rows");
        Workspace { distances: Vec::new(), pairs, run: [UNKNOWN_DIFFERENCE; ROW] }
    }

    /// Visits the states of a block in order, and returns their distances.
    #[simd]
    pub fn visit<S: Simd>(
        &mut self,
        simd: S,
        lower: &LowerCells,
        intervals: Intervals,
        source: &mut impl NextDistance,
    ) -> &[u8] {
        self.distances.clear();
        self.distances.resize(ROW, UNKNOWN);
        for stretch in intervals {
            let from = self.distances.len();
            let end = from + stretch.states as usize;
            // Whole lanes are read at the end of a run.
            self.distances.resize(end + ROW, UNKNOWN);
            Walk { lower, workspace: self, at: from, end }.visit(simd, &stretch, source);
            self.distances.truncate(end);
        }
        &self.distances[ROW..]
    }
}

/// A walk through the states of an interval.
struct Walk<'a> {
    lower: &'a LowerCells,
    workspace: &'a mut Workspace,
    /// The place of the next state in the distances, and the place after the last one.
    at: usize,
    end: usize,
}

/// The lower neighbors of the states of a *slice*, which have the same pieces except the two lowest,
/// with one of these pieces moved: the new cell, and the difference of the ranks.
struct UpperNeighbors {
    moves: [(u8, usize); MAX_UPPER],
    count: usize,
}

impl Walk<'_> {
    #[simd]
    fn visit<S: Simd>(&mut self, simd: S, stretch: &Stretch, source: &mut impl NextDistance) {
        // The pieces that differ between the states, followed by the cell after the last of their cells.
        let mut cells = [0; MAX_PIECES + 1];
        let mut pieces = 0;
        for cell in stretch.first.cells() & CellSet::first_cells(stretch.below) {
            cells[pieces] = cell.index();
            pieces += 1;
        }
        cells[pieces] = stretch.below;
        let mut lowest = cells[0];
        if pieces < 2 {
            let end = if pieces == 0 { lowest + 1 } else { stretch.below };
            return self.visit_run(simd, NO_SECOND, lowest..end, &UpperNeighbors::NONE, source);
        }
        if (lowest, cells[1]) != (0, 1) {
            self.workspace.pairs.iter_mut().for_each(|row| row.fill(UNKNOWN));
        }
        while self.at < self.end {
            let upper = UpperNeighbors::of(self.lower, &cells[..pieces]);
            let third = cells[2];
            for second in cells[1]..third {
                self.visit_run(simd, second, lowest..second, &upper, source);
                lowest = 0;
            }
            step(&mut cells, pieces);
        }
    }

    /// Visits the states of a run, which differ in the lowest piece. `second` is the second lowest piece,
    /// or [`NO_SECOND`] if it is the same in all states of the interval.
    #[simd]
    fn visit_run<S: Simd>(
        &mut self,
        _: S,
        second: usize,
        lowest: Range<usize>,
        upper: &UpperNeighbors,
        source: &mut impl NextDistance,
    ) {
        let lowest = lowest.start..lowest.end.min(lowest.start + self.end - self.at);
        if lowest.is_empty() {
            return;
        }
        if lowest.start > 0 {
            self.workspace.run.fill(UNKNOWN_DIFFERENCE);
        }
        // The place of the state with the lowest piece on cell 0. The first run of a block may begin
        // before the block.
        let start = self.at as isize - lowest.start as isize;
        let mut rows = [0; MAX_UPPER];
        let mut count = 0;
        for &(to, difference) in &upper.moves[..upper.count] {
            rows[count] = start.wrapping_sub_unsigned(difference) as usize;
            count += usize::from(usize::from(to) > second && start >= difference as isize);
        }
        for first in (lowest.start / LANES * LANES..lowest.end).step_by(LANES) {
            let known = self.known_neighbors(first, &rows[..count], second);
            let cells = first.max(lowest.start)..lowest.end.min(first + LANES);
            self.visit_lanes(second, cells, &known, source);
        }
    }

    /// Visits the states of a run with these lowest pieces, which are in one group of lanes.
    ///
    /// The context of a state is the class of its known neighbors followed by the digits, base 6, of the three neighbors
    /// with the lowest piece moved, relative to `base`. `base` is the minimum of the known distances with another piece
    /// moved. If there is none, it is the minimum of the three distances with the lowest piece moved. Without any known neighbor the context is `FIRST` and `base` the previous distance, which is
    /// 0 for the first state of a block: `distances` begins at `ROW`.
    #[inline(always)]
    fn visit_lanes(
        &mut self,
        second: usize,
        cells: Range<usize>,
        known: &KnownNeighbors,
        source: &mut impl NextDistance,
    ) {
        let Workspace { distances, pairs, run } = &mut *self.workspace;
        let mut previous = if self.at > ROW { distances[self.at - 1] } else { 0 };
        let out = &mut distances[self.at..self.at + cells.len()];
        self.at += cells.len();
        for (cell, out) in cells.zip(out) {
            let cell = cell & (ROW - 1);
            let (class, base) = (known.classes[cell % LANES], known.least[cell % LANES]);
            let near = self.lower.0[cell].map(|cell| run[usize::from(cell) & (ROW - 1)]);
            let mut base = u16::from(base);
            if class == NO_CLASS {
                base = near[0].min(near[1]).min(near[2]);
            }
            let context = if base == UNKNOWN_DIFFERENCE {
                base = previous.into();
                FIRST
            } else {
                near.iter().fold(class.into(), |number, &distance| 6 * number + digit(distance, base))
            };
            let distance = source.next(context, base as u8);
            run[cell] = distance.into();
            pairs[second & (ROW - 1)][cell] = distance;
            pairs[cell][second & (ROW - 1)] = distance;
            (*out, previous) = (distance, distance);
        }
    }

    /// Compares the lower neighbors of the states with the lowest piece on the cells from `first` on and
    /// another piece moved.
    #[inline(always)]
    fn known_neighbors(&self, first: usize, rows: &[usize], second: usize) -> KnownNeighbors {
        let mut neighbors = KnownLanes::default();
        for place in rows {
            neighbors.add(lanes(&self.workspace.distances[place + first..]));
        }
        for cell in self.lower.0[second & (ROW - 1)] {
            neighbors.add(lanes(&self.workspace.pairs[usize::from(cell) & (ROW - 1)][first & (ROW - LANES)..]));
        }
        neighbors.compare()
    }
}

/// The known lower neighbors of [`LANES`] states, in counts modulo 256.
struct KnownLanes {
    least: [u8; LANES],
    /// The greatest distance plus 1.
    most: [u8; LANES],
    count: [u8; LANES],
    /// The sum of the distances plus 1.
    sum: [u8; LANES],
}

impl Default for KnownLanes {
    #[inline(always)]
    fn default() -> KnownLanes {
        KnownLanes { least: [UNKNOWN; LANES], most: [0; LANES], count: [0; LANES], sum: [0; LANES] }
    }
}

impl KnownLanes {
    #[inline(always)]
    fn add(&mut self, distances: &[u8; LANES]) {
        for (lane, &distance) in distances.iter().enumerate() {
            // An unknown distance plus 1 is 0.
            let above = distance.wrapping_add(1);
            self.least[lane] = self.least[lane].min(distance);
            self.most[lane] = self.most[lane].max(above);
            self.sum[lane] = self.sum[lane].wrapping_add(above);
            self.count[lane] += u8::from(above != 0);
        }
    }

    #[inline(always)]
    fn compare(self) -> KnownNeighbors {
        let KnownLanes { least, most, count, sum } = self;
        let mut classes = [0; LANES];
        for lane in 0..LANES {
            let above_least = least[lane].wrapping_add(1);
            let differing = most[lane].wrapping_sub(above_least);
            // If all are the least or one more, the sum counts the latter.
            let others = sum[lane].wrapping_sub(count[lane].wrapping_mul(above_least));
            let of_least = count[lane].wrapping_sub(others);
            let equal = 1 + count[lane].min(MAX_EQUAL as u8);
            let row = of_least.min(MOST_OF_TWO as u8).wrapping_sub(1).wrapping_mul(MOST_OF_TWO as u8);
            let of_two = row.wrapping_add(1 + MAX_EQUAL as u8).wrapping_add(others.min(MOST_OF_TWO as u8));
            let class = if differing == 1 { of_two } else { 1 };
            let class = if differing == 0 { equal } else { class };
            classes[lane] = if count[lane] == 0 { NO_CLASS } else { class };
        }
        KnownNeighbors { least, classes }
    }
}

/// The class of a state without a known lower neighbor with another piece moved.
const NO_CLASS: u8 = 0;

/// The known lower neighbors of [`LANES`] states with a piece moved that is not the lowest.
struct KnownNeighbors {
    /// Their least distance, or [`UNKNOWN`].
    least: [u8; LANES],
    classes: [u8; LANES],
}

fn lanes(distances: &[u8]) -> &[u8; LANES] {
    distances.first_chunk().expect("whole lanes are in the buffer")
}

/// Returns the digit of a lower neighbor.
#[inline(always)]
fn digit(distance: u16, base: u16) -> usize {
    static DIGITS: [u8; 1024] = digits();
    usize::from(DIGITS[usize::from(distance.wrapping_add(256).wrapping_sub(base)) & 1023])
}

/// Returns the digits by difference plus 256: the difference clamped to −2 … 2, plus 2, or 5 if the
/// distance is unknown.
const fn digits() -> [u8; 1024] {
    let mut digits = [0; 1024];
    let mut difference: i32 = -256;
    while difference < 768 {
        digits[(difference + 256) as usize] = match difference {
            ..=-2 => 0,
            -1..=1 => (difference + 2) as u8,
            2..=255 => 4,
            _ => 5,
        };
        difference += 1;
    }
    digits
}

impl UpperNeighbors {
    const NONE: UpperNeighbors = UpperNeighbors { moves: [(0, 0); MAX_UPPER], count: 0 };

    /// Returns the lower neighbors of the states of a slice. The two lowest pieces do not count.
    ///
    /// The differences of ranks are valid if the new cell is above the second lowest piece.
    fn of(lower: &LowerCells, cells: &[usize]) -> UpperNeighbors {
        let mut neighbors = UpperNeighbors::NONE;
        for (piece, &from) in cells.iter().enumerate().skip(2) {
            for &to in &lower.0[from & (ROW - 1)] {
                let cell = usize::from(to);
                if to == NO_CELL || cells[2..piece].contains(&cell) {
                    continue;
                }
                // The pieces above the new cell become one piece higher in the order.
                let mut difference = choose(from, piece + 1);
                let mut place = piece;
                while place > 2 && cells[place - 1] > cell {
                    place -= 1;
                    let passed = cells[place];
                    difference =
                        difference.wrapping_add(choose(passed, place + 1)).wrapping_sub(choose(passed, place + 2));
                }
                difference = difference.wrapping_sub(choose(cell, place + 1));
                neighbors.moves[neighbors.count] = (to, difference as usize);
                neighbors.count += 1;
            }
        }
        neighbors
    }
}

/// Steps to the first state of the next slice, if there is one.
fn step(cells: &mut [usize; MAX_PIECES + 1], pieces: usize) {
    let mut piece = 2;
    while piece + 1 < pieces && cells[piece] + 1 == cells[piece + 1] {
        cells[piece] = piece;
        piece += 1;
    }
    cells[piece] += 1;
    cells[1] = 1;
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use fearless_simd::dispatch;

    use super::super::test_blocks::{blocks, prefixes, walks};
    use super::*;
    use crate::board::{Row, State, Symmetry};
    use proptest::prelude::*;

    /// The contexts of a block, computed state by state from the definitions of
    /// `docs/reference/table-format.md`.
    struct Oracle {
        geometry: &'static Geometry,
        distances: HashMap<CellSet, i32>,
    }

    impl Oracle {
        /// Returns the distances of the known lower neighbors with a piece moved from `from`, in the order
        /// of the digits.
        fn lower_neighbors(&self, state: CellSet, from: Cell, allowed: impl Fn(Cell) -> bool) -> [Option<i32>; 3] {
            let lower = self.geometry.neighbors(from).iter().filter(|&to| to < from);
            let in_row = |to: &Cell| self.geometry.row(*to) == self.geometry.row(from);
            let (beside, below): (Vec<Cell>, Vec<Cell>) = lower.partition(in_row);
            [beside.first(), below.first(), below.get(1)].map(|to| {
                let to = *to.filter(|&&to| !state.contains(to) && allowed(to))?;
                self.distances.get(&state.without(from).with(to)).copied()
            })
        }

        /// Returns the context and the base of the next state, given the distance of the state before.
        fn context(&self, state: CellSet, below: usize, previous: i32) -> (usize, i32) {
            let pieces: Vec<Cell> = state.iter().filter(|piece| piece.index() < below).collect();
            let known = |number: usize| {
                let allowed = |to: Cell| number < 2 || to > pieces[1];
                self.lower_neighbors(state, pieces[number], allowed)
            };
            let others: Vec<i32> = (1..pieces.len()).flat_map(known).flatten().collect();
            let lowest = if pieces.is_empty() { [None; 3] } else { known(0) };
            let Some(&base) = others.iter().min().or(lowest.iter().flatten().min()) else {
                return (5616, previous);
            };
            let of_base = others.iter().filter(|&&distance| distance == base).count();
            let class = match others.iter().max().map(|greatest| greatest - base) {
                None => 0,
                Some(0) => 1 + of_base.min(8),
                Some(1) => 9 + 4 * (of_base.min(4) - 1) + (others.len() - of_base).min(4),
                Some(_) => 1,
            };
            let digit = |distance: Option<i32>| distance.map_or(5, |d| (d - base).clamp(-2, 2) + 2) as usize;
            (lowest.into_iter().fold(class, |number, distance| 6 * number + digit(distance)), base)
        }
    }

    /// The contexts and bases that a walk asks for.
    struct Recorder<'a> {
        distances: &'a [u8],
        asked: Vec<(usize, i32)>,
    }

    impl NextDistance for Recorder<'_> {
        fn next(&mut self, context: usize, base: u8) -> u8 {
            self.asked.push((context, base.into()));
            self.distances[self.asked.len() - 1]
        }
    }

    fn deciding_row(symmetry: &Symmetry, state: State) -> usize {
        let pattern = |row: &Row| row.pattern(state.cells());
        let decides = |row: &Row| pattern(row) != row.mirror(pattern(row));
        symmetry.rows().filter(decides).last().map_or(0, |row| row.first_cell)
    }

    /// Returns distances of a walk modulo 4, many of which are equal.
    fn near_walks() -> impl Strategy<Value = Vec<u8>> {
        walks(200, 2500).prop_map(|distances| distances.into_iter().map(|distance| distance % 4).collect())
    }

    proptest! {
        #[test]
        fn contexts_of_both_forms_are_as_documented(
            block in blocks(prefixes(1), prop_oneof![walks(200, 2500), near_walks()]),
            level in prop::sample::select(sternhalma_cpu::levels()),
        ) {
            let (board, distances) = (block.prefix.board(), &block.distances);
            let mut recorder = Recorder { distances, asked: Vec::new() };
            // The workspace of another block must not change the contexts.
            let mut workspace = Workspace::new();
            workspace.pairs.iter_mut().enumerate().for_each(|(a, row)| {
                row.iter_mut().enumerate().for_each(|(b, distance)| {
                    *distance = if a == b || a.max(b) >= NO_SECOND { UNKNOWN } else { 7 };
                });
            });
            let lower = LowerCells::of(board.geometry());
            let intervals = block.intervals(distances.len());
            let visited = dispatch!(level, simd => workspace.visit(simd, &lower, intervals, &mut recorder));
            prop_assert_eq!(visited, &distances[..]);

            let mut oracle = Oracle { geometry: board.geometry(), distances: HashMap::new() };
            let mut previous = 0;
            for ((index, &distance), asked) in block.indices.clone().zip(distances).zip(recorder.asked) {
                let state = block.state(index);
                let below = block.symmetry.as_ref().map_or(board.cells(), |symmetry| deciding_row(symmetry, state));
                prop_assert_eq!(asked, oracle.context(state.cells(), below, previous), "index {}", index);
                oracle.distances.insert(state.cells(), distance.into());
                previous = distance.into();
            }
        }
    }
}
