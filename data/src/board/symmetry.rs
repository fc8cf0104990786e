//! The left-right mirror symmetry of states, and ranks without mirror images.

use std::cmp::Ordering;

use super::cell::{Cell, CellSet};
use super::colex::choose;
use super::geometry::Geometry;
use super::prefix::Prefix;
use super::rank::{Rank, rank_above};
use super::state::State;

/// The mirror symmetry of a prefix.
///
/// Mirroring exchanges the columns and the lines of the board, so it reverses
/// each row of the diamond. A state and its mirror image have the same distance
/// if the goal and the cells of the prefix are whole rows. The *canonical*
/// state of a mirrored pair is the one with the smaller rank.
///
/// The *reduced rank* of a canonical state is the number of canonical states
/// with a smaller rank. The *pattern* of a row is the set of its pieces. Ranks
/// compare states from the highest cell down, so the highest row whose pattern
/// is not its own mirror image decides which state of a pair is canonical.
/// Canonical states with the same pieces in this row and above have consecutive
/// ranks and consecutive reduced ranks.
///
/// ```
/// use sternhalma_data::board::{State, Symmetry};
/// use sternhalma_data::{Board, Prefix};
///
/// let board = Board::new(9, 6)?;
/// let symmetry = Symmetry::of(Prefix::whole(board)).expect("the goal has three whole rows");
/// assert_eq!(symmetry.states(), (324_540_216 + 34_440) / 2);
/// assert_eq!(symmetry.reduced_rank(State::start(board)), symmetry.states() - 1);
/// # Ok::<(), sternhalma_data::BoardError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Symmetry {
    prefix: Prefix,
    geometry: &'static Geometry,
    /// The rows of the prefix, lowest first.
    rows: Vec<RowCounts>,
    decisions: RowDecisions,
}

/// A row of the diamond. A pattern of its pieces has one bit per cell.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The first cell, which is also the number of cells below the row.
    pub first_cell: usize,
    /// The number of cells.
    pub size: usize,
}

/// The reduced ranks of the states up to a row.
#[derive(Clone, Debug)]
struct RowCounts {
    row: Row,
    /// `before[pieces << size | pattern]` is the number of canonical states of
    /// `pieces` pieces up to this row that have a smaller pattern in this row.
    before: Vec<u64>,
    /// The number of canonical states up to this row, by the number of pieces.
    states: Vec<u64>,
}

/// The decisions of the highest occupied rows of sets of cells.
#[derive(Clone, Debug, Default)]
struct RowDecisions {
    /// By the highest cell plus 1. The first entry is for the empty set.
    rows: Vec<HighestRow>,
    /// The decision for a pattern of a row, with `pieces` pieces in the row and below, is at
    /// `first + (pieces << size | pattern)`.
    decisions: Vec<RowDecision>,
}

/// The highest occupied row of a set of cells.
#[derive(Clone, Copy, Debug)]
struct HighestRow {
    first_cell: u8,
    size: u8,
    /// The place of the first decision.
    first: u32,
    /// The place of the first decision if the set has all pieces of the board.
    first_of_army: u32,
}

/// The number of smaller states that are not canonical, as far as the pattern of a row determines it, and whether
/// the row decides which state of a pair is canonical.
///
/// Bit 0 is set if the pattern is greater than its mirror image, and bit 1 if both are equal, so that a lower
/// row decides. The other bits are the number, which is at most half of all states and thus below 2^62.
#[derive(Clone, Copy, Debug)]
struct RowDecision(u64);

/// A part of a stretch, from some state on.
///
/// A *stretch* contains the canonical states with the same pieces in the row that decides and above.
/// These states have consecutive ranks and consecutive reduced ranks. A state that is its own mirror
/// image is a stretch by itself.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// The first state of the part.
    pub first: State,
    /// The number of states from the first one to the end of the stretch.
    pub states: u64,
    /// The first cell of the row that decides, or 0 for a state that is its own mirror image. The
    /// states of the stretch differ in the pieces below this cell.
    pub below: usize,
}

impl Row {
    /// Returns the cell after the last one.
    #[inline]
    pub fn end(self) -> usize {
        self.first_cell + self.size
    }

    /// Returns the pattern of the pieces in this row.
    #[inline]
    pub fn pattern(self, cells: CellSet) -> u32 {
        (cells.bits() >> self.first_cell) as u32 & ((1 << self.size) - 1)
    }

    /// Returns the cells of a pattern.
    #[inline]
    pub fn cells(self, pattern: u32) -> CellSet {
        CellSet::from_bits(u128::from(pattern) << self.first_cell)
    }

    /// Returns the mirror image of a pattern.
    #[inline]
    pub fn mirror(self, pattern: u32) -> u32 {
        pattern.reverse_bits() >> (32 - self.size)
    }
}

impl Symmetry {
    /// Returns the symmetry of a prefix, or `None` if its goal or its cells end within a row.
    pub fn of(prefix: Prefix) -> Option<Symmetry> {
        let (board, geometry) = (prefix.board(), prefix.board().geometry());
        let ends_with_row = |cells: usize| geometry.mirror(CellSet::first_cells(cells)) == CellSet::first_cells(cells);
        if !ends_with_row(board.pieces()) || !ends_with_row(prefix.within()) {
            return None;
        }
        let mut symmetry = Symmetry { prefix, geometry, rows: Vec::new(), decisions: RowDecisions::default() };
        let mut first_cell = 0;
        while first_cell < prefix.within() {
            let row = Row { first_cell, size: geometry.row_of(Cell::new(first_cell)).len() };
            symmetry.rows.push(symmetry.count(row));
            first_cell = row.end();
        }
        symmetry.decisions = RowDecisions::new(&symmetry);
        Some(symmetry)
    }

    /// Counts the canonical states up to the row after the last one.
    fn count(&self, row: Row) -> RowCounts {
        let mut counts = RowCounts { row, before: Vec::new(), states: Vec::new() };
        for pieces in 0..=self.prefix.board().pieces() {
            let mut states = 0;
            for pattern in 0u32..1 << row.size {
                counts.before.push(states);
                let Some(lower) = pieces.checked_sub(pattern.count_ones() as usize) else {
                    continue;
                };
                states += match pattern.cmp(&row.mirror(pattern)) {
                    Ordering::Less => choose(row.first_cell, lower),
                    Ordering::Equal => self.rows.last().map_or(u64::from(lower == 0), |below| below.states[lower]),
                    Ordering::Greater => 0,
                };
            }
            counts.states.push(states);
        }
        counts
    }

    /// Returns the prefix.
    pub fn prefix(&self) -> Prefix {
        self.prefix
    }

    /// Returns the rows of the prefix, lowest first.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row> {
        self.rows.iter().map(|counts| counts.row)
    }

    /// Returns the row of a cell.
    ///
    /// # Panics
    /// If the prefix does not have the cell.
    pub fn row_of(&self, cell: Cell) -> Row {
        self.rows[self.prefix.board().geometry().row(cell)].row
    }

    /// Returns the number of canonical states.
    pub fn states(&self) -> u64 {
        self.rows.last().map_or(0, |counts| counts.states[self.prefix.board().pieces()])
    }

    /// Returns the number of states that are their own mirror images.
    pub fn symmetric_states(&self) -> u64 {
        2 * self.states() - self.prefix.states()
    }

    /// Calls `visit` with each state that is its own mirror image, in the order of ranks.
    pub fn for_each_symmetric(&self, mut visit: impl FnMut(State)) {
        self.visit_symmetric(self.rows.len(), self.prefix.board().pieces(), CellSet::EMPTY, &mut visit);
    }

    /// Returns the reduced ranks of the states that are their own mirror images, in order.
    pub fn symmetric_reduced_ranks(&self) -> Vec<u64> {
        let mut ranks = Vec::with_capacity(self.symmetric_states() as usize);
        self.for_each_symmetric(|state| ranks.push(self.reduced_rank_of_canonical(state.cells())));
        ranks
    }

    /// Visits the symmetric states with these upper pieces and `pieces` pieces in the first `rows` rows.
    fn visit_symmetric(&self, rows: usize, pieces: usize, upper: CellSet, visit: &mut impl FnMut(State)) {
        if pieces == 0 {
            return visit(State::from_cells(upper));
        }
        let Some(row) = rows.checked_sub(1).map(|row| self.rows[row].row).filter(|row| row.end() >= pieces) else {
            return;
        };
        for pattern in (0u32..1 << row.size).filter(|&pattern| pattern == row.mirror(pattern)) {
            if let Some(lower) = pieces.checked_sub(pattern.count_ones() as usize) {
                self.visit_symmetric(rows - 1, lower, upper | row.cells(pattern), visit);
            }
        }
    }

    /// Returns the mirror image of some cells.
    #[inline]
    pub fn mirror(&self, cells: CellSet) -> CellSet {
        self.geometry.mirror(cells)
    }

    /// Compares the rank of a set of cells with that of its mirror image.
    pub fn compare_with_mirror(&self, cells: CellSet) -> Ordering {
        // A set of cells compares like its rank: by the highest cell that differs.
        cells.bits().cmp(&self.mirror(cells).bits())
    }

    /// Returns the reduced rank of a state or of its mirror image, whichever is canonical.
    ///
    /// # Panics
    /// If the prefix does not cover the state, or the state has more pieces than the goal.
    #[inline]
    pub fn reduced_rank(&self, state: State) -> u64 {
        self.reduced_rank_of_canonical(self.canonical(state).cells())
    }

    /// Returns the canonical state of the pair of a state and its mirror image.
    #[inline]
    pub fn canonical(&self, state: State) -> State {
        // A set of cells compares like its rank: by the highest cell that differs.
        let mirrored = self.mirror(state.cells());
        if mirrored.bits() < state.cells().bits() { State::from_cells(mirrored) } else { state }
    }

    /// Writes the reduced rank of each state to `out`, as [`reduced_rank`](Symmetry::reduced_rank) returns it.
    ///
    /// This is faster than separate calls, because the steps of the states overlap and no branch depends on which row
    /// decides.
    ///
    /// # Panics
    /// If the prefix does not cover a state, a state does not have the board's number of pieces, or `out` is shorter
    /// than `states`.
    #[inline(always)]
    pub fn reduced_ranks(&self, states: &[State], out: &mut [u64]) {
        /// Few enough for the level 1 cache.
        const BATCH: usize = 64;
        assert!(out.len() >= states.len(), "each state has a reduced rank");
        for (states, out) in states.chunks(BATCH).zip(out.chunks_mut(BATCH)) {
            let mut canonical = [CellSet::EMPTY; BATCH];
            // First, `out` has the numbers of states that are not canonical. The lists contain the places of the states
            // whose mirror image is canonical, and of those that the highest row leaves undecided.
            let (mut mirrored, mut mirrored_count) = ([0; BATCH], 0);
            let (mut undecided, mut undecided_count) = ([0; BATCH], 0);
            for (place, ((canonical, out), state)) in canonical.iter_mut().zip(&mut *out).zip(states).enumerate() {
                *canonical = state.cells();
                let decision = self.decisions.of_army(state.cells());
                *out = decision.omitted();
                mirrored[mirrored_count % BATCH] = place as u8;
                mirrored_count += usize::from(decision.is_greater());
                undecided[undecided_count % BATCH] = place as u8;
                undecided_count += usize::from(decision.is_equal());
            }
            for &place in &undecided[..undecided_count] {
                let (cells, out) = (canonical[usize::from(place)], &mut out[usize::from(place)]);
                let decision = self.decisions.of_rows(self.decisions.below_highest_row(cells), out);
                mirrored[mirrored_count % BATCH] = place;
                mirrored_count += usize::from(decision.is_greater());
            }
            for &place in &mirrored[..mirrored_count] {
                let cells = &mut canonical[usize::from(place)];
                *cells = self.mirror(*cells);
            }
            for (out, &cells) in out.iter_mut().zip(&canonical[..states.len()]) {
                *out = Rank::of(State::from_cells(cells)).0.wrapping_sub(*out);
            }
        }
    }

    /// Returns the reduced rank of the canonical state with these cells. The result for other states
    /// is not specified.
    ///
    /// # Panics
    /// If the prefix does not cover the state, or the state has more pieces than the goal.
    #[inline]
    pub fn reduced_rank_of_canonical(&self, cells: CellSet) -> u64 {
        // The rank takes the same steps for all states, so only the number of symmetric rows is hard to predict.
        let mut omitted = 0;
        self.decisions.of_rows(cells, &mut omitted);
        Rank::of(State::from_cells(cells)).0.wrapping_sub(omitted)
    }

    /// Returns the number of canonical states with a smaller rank than the state with these cells.
    ///
    /// # Panics
    /// If the prefix does not cover the state, or the state has more pieces than the goal.
    pub fn states_below(&self, mut cells: CellSet) -> u64 {
        let mut states = 0;
        while let Some(last) = cells.last() {
            let RowCounts { row, before, .. } = &self.rows[self.prefix.board().geometry().row(last)];
            let pattern = row.pattern(cells);
            states += before[cells.len() << row.size | pattern as usize];
            cells -= row.cells(pattern);
            match pattern.cmp(&row.mirror(pattern)) {
                Ordering::Less => return states + Rank::of(State::from_cells(cells)).0,
                // No state with this pattern is canonical.
                Ordering::Greater => return states,
                Ordering::Equal => {}
            }
        }
        states
    }

    /// Returns the number of canonical states of `pieces` pieces up to row number `row` that have a
    /// smaller pattern in this row.
    ///
    /// # Panics
    /// If there is no such row, or `pieces` is above the number of pieces of the goal.
    #[inline]
    pub fn states_before(&self, row: usize, pieces: usize, pattern: u32) -> u64 {
        let RowCounts { row, before, .. } = &self.rows[row];
        before[pieces << row.size | pattern as usize]
    }

    /// Returns the number of canonical states with all pieces on the first `cells` cells.
    ///
    /// # Panics
    /// If the prefix has fewer cells.
    pub fn states_within(&self, cells: usize) -> u64 {
        let pieces = self.prefix.board().pieces();
        assert!(cells <= self.prefix.within(), "{} has no {cells} cells", self.prefix);
        let row = self.rows.partition_point(|counts| counts.row.end() <= cells);
        let row_cells = self.rows.get(row).map(|counts| cells - counts.row.first_cell);
        row_cells.map_or(self.states(), |row_cells| self.states_before(row, pieces, 1 << row_cells))
    }

    /// Returns the canonical state with this reduced rank.
    ///
    /// Cost: one binary search per row.
    ///
    /// # Panics
    /// If `reduced` is not below [`states`](Symmetry::states).
    pub fn state(&self, reduced: u64) -> State {
        self.stretch(reduced).first
    }

    /// Returns the part of a stretch from the state with this reduced rank on.
    ///
    /// Cost: one binary search per row.
    ///
    /// # Panics
    /// If `reduced` is not below [`states`](Symmetry::states).
    pub fn stretch(&self, reduced: u64) -> Stretch {
        assert!(reduced < self.states(), "{} has no reduced rank {reduced}", self.prefix);
        let (mut rest, mut pieces, mut cells) = (reduced, self.prefix.board().pieces(), CellSet::EMPTY);
        for RowCounts { row, before, .. } in self.rows.iter().rev() {
            let before = &before[pieces << row.size..(pieces + 1) << row.size];
            // The last pattern with this count has states; the ones before it have none.
            let pattern = (before.partition_point(|&count| count <= rest) - 1) as u32;
            rest -= before[pattern as usize];
            cells |= row.cells(pattern);
            pieces -= pattern.count_ones() as usize;
            if pattern != row.mirror(pattern) {
                let states = choose(row.first_cell, pieces);
                let first = State::from_cells(cells | Rank(rest).state(pieces).cells());
                return Stretch { first, states: states - rest, below: row.first_cell };
            }
        }
        Stretch { first: State::from_cells(cells), states: 1, below: 0 }
    }
}

impl RowDecisions {
    fn new(symmetry: &Symmetry) -> RowDecisions {
        let pieces = symmetry.prefix.board().pieces();
        let mut all = RowDecisions::default();
        // The empty set is its own mirror image, and no row below decides.
        all.rows.push(HighestRow { first_cell: 0, size: 0, first: 0, first_of_army: 0 });
        all.decisions.push(RowDecision(0));
        for RowCounts { row, before, .. } in &symmetry.rows {
            let first = u32::try_from(all.decisions.len()).expect("there are at most 2^20 decisions");
            all.rows.extend((0..row.size).map(|_| HighestRow {
                first_cell: row.first_cell as u8,
                size: row.size as u8,
                first,
                first_of_army: first + ((pieces as u32) << row.size),
            }));
            for pieces in 0..=pieces {
                all.decisions.extend((0..1u32 << row.size).map(|pattern| {
                    let image = row.mirror(pattern);
                    let canonical = pattern.min(image);
                    let omitted = pieces.checked_sub(pattern.count_ones() as usize).map_or(0, |lower| {
                        rank_above(row.cells(canonical), lower) - before[pieces << row.size | canonical as usize]
                    });
                    RowDecision(omitted << 2 | u64::from(pattern > image) | u64::from(pattern == image) << 1)
                }));
            }
        }
        all
    }

    #[inline(always)]
    fn highest_row(&self, cells: CellSet) -> HighestRow {
        self.rows[128 - cells.bits().leading_zeros() as usize]
    }

    /// Returns the cells below the highest occupied row.
    #[inline(always)]
    fn below_highest_row(&self, cells: CellSet) -> CellSet {
        cells & CellSet::first_cells(self.highest_row(cells).first_cell.into())
    }

    /// Returns the decision of the highest occupied row of a set with all pieces of the board.
    #[inline(always)]
    fn of_army(&self, cells: CellSet) -> RowDecision {
        let HighestRow { first_cell, first_of_army, .. } = self.highest_row(cells);
        self.decisions[first_of_army as usize + (cells.bits() >> first_cell) as usize]
    }

    /// Returns the decision of the highest row that decides. Adds the numbers of this row and of those above
    /// to `omitted`.
    #[inline(always)]
    fn of_rows(&self, mut cells: CellSet, omitted: &mut u64) -> RowDecision {
        loop {
            let HighestRow { first_cell, size, first, .. } = self.highest_row(cells);
            let pattern = (cells.bits() >> first_cell) as usize;
            let decision = self.decisions[first as usize + (cells.len() << size | pattern)];
            *omitted += decision.omitted();
            if !decision.is_equal() {
                return decision;
            }
            cells &= CellSet::first_cells(first_cell.into());
        }
    }
}

impl RowDecision {
    /// Returns the number of smaller states that are not canonical.
    #[inline(always)]
    fn omitted(self) -> u64 {
        self.0 >> 2
    }

    #[inline(always)]
    fn is_greater(self) -> bool {
        self.0 & 1 != 0
    }

    #[inline(always)]
    fn is_equal(self) -> bool {
        self.0 & 2 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Board, States, binomial};
    use proptest::prelude::*;

    fn prefixes() -> impl Iterator<Item = Prefix> {
        [(3, 1, 9), (3, 3, 9), (3, 3, 6), (4, 1, 16), (4, 3, 13), (4, 6, 16), (5, 3, 25), (5, 6, 22), (6, 3, 36)]
            .into_iter()
            .map(|(size, pieces, within)| Prefix::new(Board::new(size, pieces).unwrap(), within).unwrap())
    }

    #[test]
    fn reduced_ranks_number_the_smaller_state_of_each_pair() {
        for prefix in prefixes() {
            let symmetry = Symmetry::of(prefix).unwrap();
            let mut next = 0;
            for (rank, state) in States::all(prefix) {
                let mirrored = State::from_cells(symmetry.mirror(state.cells()));
                assert_eq!(symmetry.compare_with_mirror(state.cells()), rank.cmp(&mirrored.rank()));
                assert_eq!(symmetry.states_below(state.cells()), next);
                if rank <= mirrored.rank() {
                    assert_eq!(symmetry.reduced_rank(state), next, "{prefix}, rank {rank}");
                    assert_eq!(symmetry.state(next), state);
                    next += 1;
                }
                assert_eq!(symmetry.reduced_rank(mirrored), symmetry.reduced_rank(state));
            }
            assert_eq!(symmetry.states(), next);
            let states: Vec<State> = States::all(prefix).map(|(_, state)| state).collect();
            let mut reduced = vec![0; states.len()];
            symmetry.reduced_ranks(&states, &mut reduced);
            assert!(states.iter().zip(reduced).all(|(&state, reduced)| symmetry.reduced_rank(state) == reduced));
            for cells in prefix.board().pieces()..=prefix.within() {
                let part = Prefix::new(prefix.board(), cells as u64).unwrap();
                let canonical = |&(_, state): &(Rank, State)| symmetry.canonical(state) == state;
                assert_eq!(symmetry.states_within(cells), States::all(part).filter(canonical).count() as u64);
            }
            let mut symmetric = Vec::new();
            symmetry.for_each_symmetric(|state| symmetric.push(state));
            let states = States::all(prefix).map(|(_, state)| state);
            assert!(
                symmetric
                    .iter()
                    .copied()
                    .eq(states.filter(|state| symmetry.compare_with_mirror(state.cells()).is_eq()))
            );
            assert_eq!(symmetry.symmetric_states(), symmetric.len() as u64);
        }
    }

    /// Returns the pieces of a canonical state in the highest row that is not symmetric, and above.
    fn upper_rows(symmetry: &Symmetry, state: State) -> CellSet {
        let pieces_from = |row: Row| state.cells() - CellSet::first_cells(row.first_cell);
        let rows: Vec<Row> = symmetry.rows().collect();
        let decides = |row: &&Row| symmetry.compare_with_mirror(pieces_from(**row)).is_ne();
        rows.iter().rev().find(decides).map_or(state.cells(), |row| pieces_from(*row))
    }

    #[test]
    fn stretches_have_the_same_upper_rows_and_end_where_they_differ() {
        for prefix in prefixes() {
            let symmetry = Symmetry::of(prefix).unwrap();
            let upper: Vec<CellSet> =
                (0..symmetry.states()).map(|reduced| upper_rows(&symmetry, symmetry.state(reduced))).collect();
            for (reduced, first) in upper.iter().enumerate() {
                let Stretch { first: state, states, below } = symmetry.stretch(reduced as u64);
                assert_eq!(state.cells() - CellSet::first_cells(below), *first, "{prefix}, reduced rank {reduced}");
                let same = upper[reduced..].iter().take_while(|upper| *upper == first).count();
                assert_eq!(states, same as u64, "{prefix}, reduced rank {reduced}");
                let last = symmetry.state(reduced as u64 + states - 1);
                assert_eq!(last.rank().0, state.rank().0 + states - 1, "{prefix}, reduced rank {reduced}");
            }
        }
    }

    #[test]
    fn mirroring_keeps_neighbors_and_jumps() {
        for size in Geometry::SIZES {
            let geometry = Geometry::of_size(size);
            let mirror = |cell: Cell| geometry.mirror(CellSet::single(cell)).first().unwrap();
            for cell in (0..geometry.cells()).map(Cell::new) {
                assert_eq!(mirror(mirror(cell)), cell);
                assert_eq!(geometry.row(mirror(cell)), geometry.row(cell));
                assert_eq!(geometry.mirror(geometry.neighbors(cell)), geometry.neighbors(mirror(cell)));
                for jump in geometry.jumps(cell) {
                    let mirrored = crate::board::Jump { over: mirror(jump.over), to: mirror(jump.to) };
                    assert!(geometry.jumps(mirror(cell)).contains(&mirrored));
                }
            }
        }
    }

    #[test]
    fn goals_and_prefixes_within_a_row_have_no_symmetry() {
        let symmetry = |size, pieces, within| {
            Symmetry::of(Prefix::new(Board::new(size, pieces).unwrap(), within).unwrap()).is_some()
        };
        assert!(symmetry(9, 10, 81) && symmetry(9, 10, 60) && symmetry(9, 10, 45) && symmetry(9, 15, 66));
        assert!(!symmetry(9, 9, 81) && !symmetry(9, 10, 47) && !symmetry(9, 8, 81) && !symmetry(9, 6, 79));
    }

    #[test]
    fn ten_pieces_have_half_of_the_states() {
        let symmetry = Symmetry::of(Prefix::whole(Board::new(9, 10).unwrap())).unwrap();
        // 36 pairs of cells and nine cells that are their own mirror image.
        let symmetric: u64 =
            (0..=5).map(|pairs| binomial(36, pairs).unwrap() * binomial(9, 10 - 2 * pairs).unwrap()).sum();
        assert_eq!(symmetry.states(), (1_878_392_407_320 + symmetric) / 2);
    }

    proptest! {
        #[test]
        fn reduced_ranks_of_large_boards_invert(large in 0..6usize, place in 0.0..1.0f64) {
            let (size, pieces, within) =
                [(9, 10, 81), (9, 10, 60), (9, 15, 66), (11, 10, 121), (11, 15, 66), (11, 15, 121)][large];
            let symmetry = Symmetry::of(Prefix::new(Board::new(size, pieces).unwrap(), within).unwrap()).unwrap();
            let reduced = ((symmetry.states() as f64 * place) as u64).min(symmetry.states() - 1);
            let state = symmetry.state(reduced);
            let mirrored = State::from_cells(symmetry.mirror(state.cells()));
            prop_assert!(state.rank() <= mirrored.rank());
            prop_assert_eq!(symmetry.reduced_rank(state), reduced);
            prop_assert_eq!(symmetry.reduced_rank(mirrored), reduced);
            let mut batch = [0; 2];
            symmetry.reduced_ranks(&[state, mirrored], &mut batch);
            prop_assert_eq!(batch, [reduced; 2]);
            let stretch = symmetry.stretch(reduced).states;
            let last = Rank(state.rank().0 + stretch - 1).state(pieces as usize);
            prop_assert_eq!(symmetry.canonical(last), last);
            prop_assert_eq!(symmetry.reduced_rank(last), reduced + stretch - 1);
            // The next canonical state has the next reduced rank.
            let next = (state.rank().0 + 1..).map(|rank| Rank(rank).state(pieces as usize));
            let next = next.take(4000).find(|state| symmetry.compare_with_mirror(state.cells()).is_le());
            if let Some(next) = next.filter(|_| reduced + 1 < symmetry.states()) {
                prop_assert_eq!(symmetry.reduced_rank(next), reduced + 1);
            }
        }
    }
}
