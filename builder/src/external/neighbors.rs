//! The positions of neighboring states relative to those of the states of a word.

use std::ops::Range;

use sternhalma_data::board::choose;
use sternhalma_data::{Cell, CellSet, Geometry, State};

use super::delta::{References, SLOTS};
use super::numbering::{Numbering, StateNumbering};
use crate::ranks::{MAX_CELLS, MAX_PIECES};

/// Pieces that move after fewer states have no references. Words would change them too often.
const MIN_STATES: u64 = 256;

/// Returns whether a piece on this cell stays there for enough states to have references.
fn is_slow(piece: usize, cell: usize) -> bool {
    choose(cell, piece) >= MIN_STATES
}

/// The lowest neighbor of each cell. Cells without a lower neighbor are their own.
#[derive(Debug)]
pub(super) struct LowerCells([u8; MAX_CELLS]);

impl LowerCells {
    pub fn of(geometry: &Geometry) -> LowerCells {
        let lowest = |cell: usize| match cell < geometry.cells() {
            true => (geometry.neighbors(Cell::new(cell)) & CellSet::first_cells(cell)).first(),
            false => None,
        };
        LowerCells(std::array::from_fn(|cell| lowest(cell).map_or(cell, Cell::index) as u8))
    }
}

/// The references of the words of a segment.
///
/// The indices of consecutive states with the same upper pieces are consecutive. Within
/// such an interval, moving a piece changes the index by an amount that depends only on the piece
/// and on its cells.
pub struct NeighborOffsets<'a> {
    numbering: &'a Numbering,
    lower_cells: &'a LowerCells,
    /// The pieces that are not fixed.
    free_pieces: usize,
    /// The indices of the states of the segment.
    indices: Range<u64>,
    /// The bits before the segment in its first word.
    skipped: u64,
    interval: Interval,
}

/// Consecutive indices of states with the same upper pieces.
#[derive(Default)]
struct Interval {
    indices: Range<u64>,
    /// The number of lower pieces, which are below `cells`.
    pieces: usize,
    cells: usize,
}

impl<'a> NeighborOffsets<'a> {
    pub(super) fn new(
        numbering: &'a Numbering,
        lower_cells: &'a LowerCells,
        free_pieces: usize,
        indices: Range<u64>,
        skipped: u64,
    ) -> NeighborOffsets<'a> {
        NeighborOffsets { numbering, lower_cells, free_pieces, indices, skipped, interval: Interval::default() }
    }

    /// Returns the bits of the segment, counted from the first bit of its first word.
    pub(super) fn bits(&self) -> Range<u64> {
        self.skipped..self.skipped + self.indices.end - self.indices.start
    }

    /// Returns the references of words from `word` on. Words are visited in order.
    pub(super) fn references(&mut self, word: usize) -> References {
        let index = self.indices.start + (64 * word as u64).saturating_sub(self.skipped);
        if !self.interval.indices.contains(&index) {
            self.interval = self.interval_of(index);
        }
        let Interval { indices, pieces, cells } = &self.interval;
        let mut lower = [0; MAX_PIECES + 1];
        unrank(index - indices.start, &mut lower[..*pieces], *cells);
        lower[*pieces] = *cells;

        // If a piece has references, so do the ones above it.
        let first = (2..*pieces).find(|&piece| is_slow(piece, lower[piece])).unwrap_or(*pieces);
        let states = self.states_until_change(index, &lower[..=*pieces], first);
        let end = (index - self.indices.start + self.skipped).saturating_add(states).div_ceil(64);
        let mut references = References { end: usize::try_from(end).unwrap_or(usize::MAX), ..References::default() };
        let offset = |states: u64| u32::try_from(states).unwrap_or(0);
        for (slot, piece) in (first..*pieces).take(SLOTS).enumerate() {
            let cell = lower[piece];
            if cell - 1 > lower[piece - 1] {
                references.previous[slot] = offset(choose(cell - 1, piece));
            }
            if cell + 1 < lower[piece + 1] {
                references.next[slot] = offset(choose(cell, piece));
            }
            let below = usize::from(self.lower_cells.0[cell]);
            if below + 1 < cell && below > lower[piece - 1] {
                references.lower[slot] = offset(choose(cell, piece + 1) - choose(below, piece + 1));
            }
        }
        references
    }

    /// Returns the number of states until piece number `first`, the lowest one with references, moves, or the
    /// piece below it has references. `lower` ends with the number of cells of the interval.
    fn states_until_change(&self, index: u64, lower: &[usize], first: usize) -> u64 {
        let pieces = lower.len() - 1;
        let rank = |piece: usize| (0..=piece).map(|piece| choose(lower[piece], piece + 1)).sum::<u64>();
        let moves = match first {
            first if first < pieces => choose(lower[first] + 1, first + 1) - rank(first),
            _ => self.interval.indices.end - index,
        };
        let Some(below) = first.checked_sub(1).filter(|&below| below >= 2) else { return moves };
        let slow = (lower[below]..lower[first]).find(|&cell| is_slow(below, cell));
        slow.map_or(moves, |cell| moves.min(choose(cell, below + 1) - rank(below)))
    }

    fn interval_of(&self, index: u64) -> Interval {
        let state = self.numbering.state(index).cells();
        let mut cells = state.iter().nth(self.free_pieces).map_or(self.numbering.prefix().within(), Cell::index);
        if let Some(symmetry) = self.numbering.symmetry() {
            // The highest row that is not its own mirror image decides which states are stored.
            let decides = |row: &sternhalma_data::board::Row| {
                let pattern = row.pattern(state);
                pattern != row.mirror(pattern)
            };
            let decided = symmetry.rows().filter(decides).last().map_or(0, |row| row.first_cell);
            cells = cells.min(decided);
        }
        let lower = state & CellSet::first_cells(cells);
        let start = index - State::from_cells(lower).rank().0;
        Interval { indices: start..start + choose(cells, lower.len()), pieces: lower.len(), cells }
    }
}

/// Sets `cells` to those of the state with this rank, which has no piece from cell number `end` on.
fn unrank(mut rank: u64, cells: &mut [usize], end: usize) {
    let mut cell = end;
    for (piece, slot) in cells.iter_mut().enumerate().rev() {
        // The loop ends at the latest when the binomial coefficient is 0.
        cell -= 1;
        while choose(cell, piece + 1) > rank {
            cell -= 1;
        }
        rank -= choose(cell, piece + 1);
        *slot = cell;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::external::Partitioning;
    use sternhalma_data::board::Symmetry;
    use sternhalma_data::{Board, Prefix};

    /// Returns the index of a state with these cells, or `None` if it is not stored.
    fn index_of(numbering: &Numbering, cells: CellSet) -> Option<u64> {
        match numbering.symmetry() {
            None => Some(State::from_cells(cells).rank().0),
            Some(symmetry) => symmetry.compare_with_mirror(cells).is_le().then(|| symmetry.states_below(cells)),
        }
    }

    /// Checks the references of the first state of each chunk of some segments, and returns their number.
    fn check(numbering: &Numbering, fixed_pieces: usize, segment_words: usize) -> usize {
        let partitioning = Partitioning::new(numbering.clone(), fixed_pieces, segment_words);
        let mut checked = 0;
        for segment in (0..partitioning.segments()).step_by(1 + partitioning.segments() as usize / 50) {
            let mut offsets = partitioning.neighbors(segment);
            let words = partitioning.segment(segment).words().len();
            let mut word = 0;
            while word < words {
                let references = offsets.references(word);
                let index = offsets.indices.start + (64 * word as u64).saturating_sub(offsets.skipped);
                let state = numbering.state(index).cells();
                let moved = |distance: u64, expected: &dyn Fn(Cell) -> usize| {
                    state.iter().any(|piece| {
                        let to = Cell::new(expected(piece));
                        let moved = state.without(piece).with(to);
                        !state.contains(to) && index_of(numbering, moved) == Some(index.wrapping_sub(distance))
                    })
                };
                for slot in 0..SLOTS {
                    let [previous, next, lower] = [references.previous, references.next, references.lower]
                        .map(|distances| u64::from(distances[slot]));
                    let lower_cells = &partitioning_lower_cells(numbering);
                    assert!(previous == 0 || moved(previous, &|cell| cell.index().saturating_sub(1)), "{state:?}");
                    assert!(next == 0 || moved(next.wrapping_neg(), &|cell| cell.index() + 1), "{state:?}");
                    assert!(lower == 0 || moved(lower, &|cell| lower_cells.0[cell.index()].into()), "{state:?}");
                    checked += usize::from(previous != 0);
                }
                assert!(references.end > word);
                word = references.end;
            }
        }
        checked
    }

    fn partitioning_lower_cells(numbering: &Numbering) -> LowerCells {
        LowerCells::of(numbering.prefix().board().geometry())
    }

    #[test]
    fn references_are_moves_of_one_piece() {
        for (pieces, within, least) in [(6, 28, 20), (4, 81, 20), (10, 21, 20)] {
            let prefix = Prefix::new(Board::new(9, pieces).unwrap(), within).unwrap();
            for symmetry in [None, Symmetry::of(prefix)] {
                let numbering = Numbering::new(prefix, symmetry);
                for (fixed_pieces, segment_words) in [(0, 1000), (1, 300), (2, 4)] {
                    let checked = check(&numbering, fixed_pieces, segment_words);
                    assert!(fixed_pieces == 2 || checked > least, "{checked} references");
                }
            }
        }
    }
}
