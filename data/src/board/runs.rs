//! The reduced ranks of runs of consecutive ranks.
//!
//! A *run* is the set of states with the same upper pieces and a given number of
//! lower pieces below a cell. Its states have consecutive ranks. In a bitmap by
//! reduced rank ([`Symmetry`]) their canonical states are in several places. A
//! run is therefore divided into *parts* with consecutive reduced ranks. Either
//! the states of a part are canonical, or their mirror images are. The latter
//! are in another order, which depends only on the number of lower pieces:
//! mirroring permutes the sets of cells below a row.

use std::cmp::Ordering;
use std::ops::Range;

use super::cell::{Cell, CellSet};
use super::colex::choose;
use super::rank::{Rank, rank_above};
use super::state::State;
use super::states::States;
use super::symmetry::{Row, Symmetry};

/// The reduced ranks of the runs of a symmetric prefix.
#[derive(Debug)]
pub struct MirroredRuns {
    symmetry: Symmetry,
    rows: Vec<RowRanks>,
    /// By the number of lower pieces, the rank of the mirror image of each set of cells.
    permutations: Vec<Vec<u32>>,
    /// By row and number of pieces, the parts of the run of all states below the row.
    parts_below_row: Vec<Vec<Box<[RunPart]>>>,
}

/// States of a run that have consecutive ranks, and whose canonical states have consecutive
/// reduced ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunPart {
    /// The first state, counted from the start of the run.
    pub start: u64,
    /// The number of states.
    pub len: u64,
    /// The reduced rank of the first canonical state.
    pub reduced: u64,
    /// If the mirror images are canonical, the number of lower pieces, whose sets are permuted.
    pub permuted: Option<usize>,
}

impl RunPart {
    /// Returns the states of an unmirrored part that are in a range of its run.
    pub fn clip(self, range: &Range<u64>) -> RunPart {
        let (start, end) = (self.start.max(range.start), (self.start + self.len).min(range.end));
        RunPart { start, len: end.saturating_sub(start), reduced: self.reduced + start - self.start, ..self }
    }

    /// Returns this part as a part of a longer run, in which this run starts at state `start` and
    /// reduced rank `reduced`.
    fn offset_by(self, start: u64, reduced: u64) -> RunPart {
        RunPart { start: start + self.start, reduced: reduced + self.reduced, ..self }
    }
}

/// A row, and the ranks of its patterns.
#[derive(Debug)]
struct RowRanks {
    number: usize,
    row: Row,
    /// `ranks[lower << size | pattern]` is the rank of the first state with this pattern and `lower`
    /// pieces below the row.
    ranks: Vec<u64>,
}

impl RowRanks {
    /// Prepares a row for up to `pieces` pieces in the row and below, `most_lower` of them below.
    fn new(number: usize, row: Row, pieces: usize, most_lower: usize) -> RowRanks {
        let mut ranks = Vec::new();
        for lower in 0..=most_lower {
            let rank = |cells: CellSet| if cells.len() + lower <= pieces { rank_above(cells, lower) } else { 0 };
            ranks.extend((0..1 << row.size).map(|pattern| rank(row.cells(pattern))));
        }
        RowRanks { number, row, ranks }
    }

    /// Returns the pieces above the row.
    fn above(&self, cells: CellSet) -> CellSet {
        cells - CellSet::first_cells(self.row.end())
    }

    #[inline]
    fn rank(&self, pattern: u32, lower: usize) -> u64 {
        self.ranks[lower << self.row.size | pattern as usize]
    }

    /// Iterates over the patterns of at most `most` pieces below `cell`, in the order of ranks, with
    /// the number of pieces that remain.
    fn patterns(&self, cell: usize, most: usize) -> impl Iterator<Item = (u32, usize)> + use<> {
        let patterns = 0..1u32 << (cell - self.row.first_cell);
        patterns.filter_map(move |pattern| Some((pattern, most.checked_sub(pattern.count_ones() as usize)?)))
    }
}

impl MirroredRuns {
    /// Prepares runs with up to `most_permuted` lower pieces in a permuted part.
    ///
    /// # Panics
    /// If there are 2^32 sets of this number of pieces.
    pub fn new(symmetry: Symmetry, most_permuted: usize) -> MirroredRuns {
        let pieces = symmetry.prefix().board().pieces();
        let row = |(number, row)| RowRanks::new(number, row, pieces, most_permuted + 1);
        let rows: Vec<RowRanks> = symmetry.rows().enumerate().map(row).collect();
        let image = |(_, set): (Rank, State)| {
            let rank = State::from_cells(symmetry.mirror(set.cells())).rank().0;
            u32::try_from(rank).expect("a slice has fewer than 2^32 contexts")
        };
        let below = cells_below_last_row(&symmetry);
        let permutation = |pieces| States::of_ranks(pieces, 0..choose(below, pieces)).map(image).collect();
        let permutations = (0..=most_permuted).map(permutation).collect();
        let mut runs = MirroredRuns { symmetry, rows, permutations, parts_below_row: Vec::new() };
        for row in 0..runs.rows.len() {
            let parts = (0..=most_permuted + 1).map(|pieces| runs.all_below(row, pieces)).collect();
            runs.parts_below_row.push(parts);
        }
        runs
    }

    /// Returns an upper bound of the memory of these runs, in bytes.
    pub fn memory(symmetry: &Symmetry, most_permuted: usize) -> u64 {
        let below = cells_below_last_row(symmetry);
        let permutations = (0..=most_permuted).map(|pieces| 4 * choose(below, pieces)).sum::<u64>();
        let ranks = symmetry.rows().map(|row| (8 * (most_permuted as u64 + 2)) << row.size).sum::<u64>();
        // The number of parts below a row by the number of pieces, and of all rows.
        let (mut counts, mut parts) = (vec![0u64; most_permuted + 2], 0);
        counts[0] = 1;
        for row in symmetry.rows() {
            parts += counts.iter().sum::<u64>();
            let mut next = vec![0; counts.len()];
            for (pieces, next) in next.iter_mut().enumerate() {
                for pattern in 0u32..1 << row.size {
                    let Some(lower) = pieces.checked_sub(pattern.count_ones() as usize) else { continue };
                    *next += if pattern == row.mirror(pattern) { counts[lower] } else { 1 };
                }
            }
            counts = next;
        }
        permutations + ranks + parts * size_of::<RunPart>() as u64
    }

    /// Returns the parts of the run of all states of `pieces` pieces below a row.
    fn all_below(&self, row: usize, pieces: usize) -> Box<[RunPart]> {
        let mut parts = Vec::new();
        match row.checked_sub(1).map(|row| &self.rows[row]) {
            Some(row) => self.split_row(row, 0, row.row.end(), pieces, 0, &mut |part| parts.push(part)),
            None if pieces == 0 => parts.push(RunPart { start: 0, len: 1, reduced: 0, permuted: None }),
            None => {}
        }
        parts.into()
    }

    /// Compares a set with its mirror image by its rows above that of `cell`.
    pub fn compare_above(&self, upper: CellSet, cell: Cell) -> Ordering {
        self.symmetry.compare_with_mirror(self.row_of(cell).above(upper))
    }

    /// Visits the parts of the run of all states with the pieces `upper` and `lower` pieces below
    /// `cell`, in the order of ranks. The upper pieces are not below `cell`.
    pub fn parts(&self, upper: CellSet, cell: Cell, lower: usize, visit: &mut impl FnMut(RunPart)) {
        let row = self.row_of(cell);
        let fixed = row.row.pattern(upper);
        // The pieces in the row and below.
        let rest = lower + fixed.count_ones() as usize;
        let above = row.above(upper);
        let image = self.symmetry.mirror(above);
        let reduced =
            |upper: CellSet, lower: usize| self.symmetry.reduced_rank_of_canonical(upper | CellSet::first_cells(lower));
        match above.bits().cmp(&image.bits()) {
            Ordering::Less => {
                let len = choose(cell.index(), lower);
                if len > 0 {
                    visit(RunPart { start: 0, len, reduced: reduced(upper, lower), permuted: None });
                }
            }
            Ordering::Equal => {
                self.split_row(row, fixed, cell.index(), lower, reduced(above, rest), visit);
            }
            Ordering::Greater => {
                // A higher row decides, so all patterns of this row have states.
                let start = reduced(image, rest);
                for (pattern, lower) in row.patterns(cell.index(), lower) {
                    let len = choose(row.row.first_cell, lower);
                    if len > 0 {
                        let reduced = start + row.rank(row.row.mirror(pattern | fixed), lower);
                        visit(RunPart { start: row.rank(pattern, lower), len, reduced, permuted: Some(lower) });
                    }
                }
            }
        }
    }

    /// Visits the parts of a run whose rows above `row` are symmetric: the pieces `fixed` in the
    /// row, and `lower` pieces below `cell`, which is in the row or its end. `reduced` is the reduced
    /// rank of the first state with the rows above and as many pieces in the row and below.
    fn split_row(
        &self,
        row: &RowRanks,
        fixed: u32,
        cell: usize,
        lower: usize,
        reduced: u64,
        visit: &mut impl FnMut(RunPart),
    ) {
        let pieces = lower + fixed.count_ones() as usize;
        for (pattern, lower) in row.patterns(cell, lower) {
            let len = choose(row.row.first_cell, lower);
            if len == 0 {
                continue;
            }
            let start = row.rank(pattern, lower);
            let (pattern, image) = (pattern | fixed, row.row.mirror(pattern | fixed));
            let reduced = reduced + self.symmetry.states_before(row.number, pieces, pattern.min(image));
            match pattern.cmp(&image) {
                Ordering::Less => visit(RunPart { start, len, reduced, permuted: None }),
                Ordering::Greater => visit(RunPart { start, len, reduced, permuted: Some(lower) }),
                Ordering::Equal => {
                    let parts = self.parts_below_row[row.number][lower].iter();
                    parts.for_each(|part| visit(part.offset_by(start, reduced)));
                }
            }
        }
    }

    /// Visits the ranks of the sets of `lower` pieces below `cell` that have, together with the pieces
    /// `upper`, a pattern in the row of `cell` that is not greater than its mirror image. The ranks
    /// of each pattern are one interval.
    pub fn smaller_patterns(&self, upper: CellSet, cell: Cell, lower: usize, mut visit: impl FnMut(Range<u64>)) {
        let row = self.row_of(cell);
        let fixed = row.row.pattern(upper);
        for (pattern, lower) in row.patterns(cell.index(), lower) {
            if pattern | fixed <= row.row.mirror(pattern | fixed) {
                let start = row.rank(pattern, lower);
                visit(start..start + choose(row.row.first_cell, lower));
            }
        }
    }

    /// Returns the mirror symmetry of the states.
    pub fn symmetry(&self) -> &Symmetry {
        &self.symmetry
    }

    /// Returns the rank of the mirror image of each set of `pieces` cells below the last row, by the
    /// rank of the set.
    ///
    /// # Panics
    /// If no part of a run permutes so many pieces.
    #[inline]
    pub fn permutation(&self, pieces: usize) -> &[u32] {
        &self.permutations[pieces]
    }

    fn row_of(&self, cell: Cell) -> &RowRanks {
        &self.rows[self.symmetry.prefix().board().geometry().row(cell)]
    }

    /// Returns the values of the states with these ranks. `read(reduced, out)` must write the values
    /// of `out.len()` canonical states from `reduced` on.
    pub fn read_by_rank(&self, ranks: Range<u64>, mut read: impl FnMut(u64, &mut [u8])) -> Vec<u8> {
        let pieces = self.symmetry.prefix().board().pieces();
        let lower = self.permutations.len() - 1;
        let first: CellSet = Rank(ranks.start).state(pieces).cells().iter().skip(lower).collect();
        let end = choose(self.symmetry.prefix().within(), pieces - lower);
        let mut values = Vec::new();
        let mut by_rank = vec![0; (ranks.end - ranks.start) as usize];
        for (_, upper) in States::of_ranks(pieces - lower, State::from_cells(first).rank().0..end) {
            let upper = upper.cells();
            let run = rank_above(upper, lower);
            if run >= ranks.end {
                break;
            }
            let Some(lowest) = upper.first() else { break };
            self.parts(upper, lowest, lower, &mut |part| {
                // The states of the part with one of the ranks, counted from the start of the part.
                let rank = run + part.start;
                let wanted =
                    ranks.start.saturating_sub(rank).min(part.len)..ranks.end.saturating_sub(rank).min(part.len);
                if wanted.is_empty() {
                    return;
                }
                let at = (rank + wanted.start - ranks.start) as usize;
                let out = &mut by_rank[at..at + (wanted.end - wanted.start) as usize];
                match part.permuted {
                    None => read(part.reduced + wanted.start, out),
                    Some(pieces) => {
                        values.resize(part.len as usize, 0);
                        read(part.reduced, &mut values);
                        let permutation = &self.permutations[pieces][wanted.start as usize..wanted.end as usize];
                        out.iter_mut().zip(permutation).for_each(|(out, &at)| *out = values[at as usize]);
                    }
                }
            });
        }
        by_rank
    }
}

/// Returns the number of cells below the last row: the lower pieces of permuted parts are there.
fn cells_below_last_row(symmetry: &Symmetry) -> usize {
    symmetry.rows().last().map_or(0, |row| row.first_cell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Board, Prefix};

    fn lowest(upper: CellSet) -> Cell {
        upper.first().unwrap()
    }

    fn symmetries() -> impl Iterator<Item = Symmetry> {
        [(3, 3, 9), (3, 6, 9), (4, 3, 13), (4, 6, 16), (5, 3, 25), (5, 6, 19), (6, 3, 33)].into_iter().map(
            |(size, pieces, within)| {
                Symmetry::of(Prefix::new(Board::new(size, pieces).unwrap(), within).unwrap()).unwrap()
            },
        )
    }

    /// Returns the reduced rank of each state of a part, in the order of ranks.
    fn reduced_ranks<'a>(runs: &'a MirroredRuns, part: &'a RunPart) -> impl Iterator<Item = u64> + 'a {
        (0..part.len)
            .map(|at| part.reduced + part.permuted.map_or(at, |pieces| runs.permutations[pieces][at as usize].into()))
    }

    #[test]
    fn parts_of_all_runs_have_the_reduced_ranks_of_their_states() {
        for symmetry in symmetries() {
            let (prefix, pieces) = (symmetry.prefix(), symmetry.prefix().board().pieces());
            let most_permuted = pieces - 2;
            let runs = MirroredRuns::new(symmetry.clone(), most_permuted);
            for lower in 0..=most_permuted {
                for (_, upper) in States::of_ranks(pieces - lower, 0..choose(prefix.within(), pieces - lower)) {
                    // The lower pieces end at any cell up to the lowest upper piece.
                    let upper = upper.cells();
                    for cell in lower..=lowest(upper).index() {
                        let mut parts = Vec::new();
                        runs.parts(upper, Cell::new(cell), lower, &mut |part| parts.push(part));
                        let states = States::of_ranks(lower, 0..choose(cell, lower));
                        let expected =
                            states.map(|(_, set)| symmetry.reduced_rank(State::from_cells(set.cells() | upper)));
                        let found = parts.iter().flat_map(|part| reduced_ranks(&runs, part));
                        assert!(found.eq(expected), "{prefix}: {upper:?} and {lower} below {cell}");
                        let starts = parts
                            .iter()
                            .scan(0, |next, part| Some((std::mem::replace(next, *next + part.len), part.start)));
                        assert!(starts.into_iter().all(|(next, start)| next == start));
                    }
                }
            }
        }
    }

    #[test]
    fn one_context_of_each_mirrored_pair_is_marked() {
        for symmetry in symmetries() {
            let (prefix, pieces) = (symmetry.prefix(), symmetry.prefix().board().pieces());
            let runs = MirroredRuns::new(symmetry.clone(), pieces - 2);
            for lower in 1..pieces - 1 {
                let upper = pieces - 1 - lower;
                for (_, upper) in States::of_ranks(upper, 0..choose(prefix.within(), upper)) {
                    let (upper, cell) = (upper.cells(), lowest(upper.cells()));
                    let mut marked = vec![false; choose(cell.index(), lower) as usize];
                    runs.smaller_patterns(upper, cell, lower, |ranks| {
                        marked[ranks.start as usize..ranks.end as usize].fill(true);
                    });
                    let above = runs.compare_above(upper, cell);
                    for (rank, set) in States::of_ranks(lower, 0..choose(cell.index(), lower)) {
                        let is_marked = above == Ordering::Less || above == Ordering::Equal && marked[rank.0 as usize];
                        let context = set.cells() | upper;
                        // Both contexts of a pair are marked if rows below that of the group decide.
                        match symmetry.compare_with_mirror(context) {
                            Ordering::Less | Ordering::Equal => assert!(is_marked, "{prefix}: {context:?}"),
                            Ordering::Greater if is_marked => {
                                let row = runs.row_of(cell);
                                let decided = context - CellSet::first_cells(row.row.first_cell);
                                assert_eq!(
                                    symmetry.compare_with_mirror(decided),
                                    Ordering::Equal,
                                    "{prefix}: {context:?}"
                                );
                            }
                            Ordering::Greater => {}
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn unfolded_values_are_those_of_the_states() {
        for symmetry in symmetries() {
            let (prefix, pieces) = (symmetry.prefix(), symmetry.prefix().board().pieces());
            let values: Vec<u8> = (0..symmetry.states()).map(|rank| (rank * 37 % 251) as u8).collect();
            let runs = MirroredRuns::new(symmetry.clone(), (pieces - 2).min(2));
            let states = prefix.states();
            for ranks in [0..states, states / 3..states / 2, states - 1..states] {
                let read = |first: u64, out: &mut [u8]| out.copy_from_slice(&values[first as usize..][..out.len()]);
                let unfolded = runs.read_by_rank(ranks.clone(), read);
                let expected = States::of_ranks(pieces, ranks);
                let expected = expected.map(|(_, state)| values[symmetry.reduced_rank(state) as usize]);
                assert!(unfolded.into_iter().eq(expected), "{prefix}");
            }
        }
    }
}
