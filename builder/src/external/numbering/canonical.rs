//! One state of each mirrored pair, numbered by reduced rank.

use std::cmp::Ordering;
use std::ops::Range;

use sternhalma_data::board::{Symmetry, choose};
use sternhalma_data::{Cell, CellSet, Prefix, State};

use super::{ClassPositions, StateNumbering, SuccessorStates, below, partition_of};
use crate::ranks::IndexIntervals;

impl StateNumbering for Symmetry {
    type Positions = IndexIntervals;

    fn prefix(&self) -> Prefix {
        Symmetry::prefix(self)
    }

    fn states(&self) -> u64 {
        Symmetry::states(self)
    }

    fn state(&self, index: u64) -> State {
        Symmetry::state(self, index)
    }

    fn interval(&self, upper: CellSet, cell: usize, lower: usize) -> Range<u64> {
        if cell < lower {
            return 0..0;
        }
        let lowest = upper | CellSet::first_cells(lower);
        let highest = upper | (CellSet::first_cells(cell) - CellSet::first_cells(cell - lower));
        let is_stored = self.compare_with_mirror(highest) != Ordering::Greater;
        self.states_below(lowest)..self.states_below(highest) + u64::from(is_stored)
    }

    /// The rows above that of the lowest piece decide whether all or none of the states are stored.
    /// If they are their own mirror image, the pieces in its row decide which.
    fn shape_key(&self, pieces: CellSet) -> Option<(usize, u128)> {
        let below = below(self.prefix(), pieces);
        let Some(lowest) = pieces.first() else { return Some((below, 0)) };
        let row = self.row_of(lowest);
        match self.compare_with_mirror(pieces - CellSet::first_cells(row.end())) {
            Ordering::Less => Some((below, 0)),
            Ordering::Equal => Some((below, row.cells(row.pattern(pieces)).bits())),
            Ordering::Greater => None,
        }
    }

    /// These are the canonical states that have, or whose mirror image has, the mover above the
    /// lowest fixed piece of an expanded context.
    fn successor_states(&self, pieces: CellSet) -> Vec<SuccessorStates> {
        let Some(lowest) = pieces.first() else { return Vec::new() };
        let row = self.row_of(lowest);
        // Contexts are expanded unless a row down to that of the lowest fixed piece shows that their
        // mirror image is smaller.
        let is_expanded = |context: CellSet| {
            let rows = context - CellSet::first_cells(row.first_cell);
            self.compare_with_mirror(rows) != Ordering::Greater
        };
        if self.compare_with_mirror(pieces - CellSet::first_cells(row.end())) == Ordering::Greater {
            return Vec::new();
        }
        let own = partition_of(pieces, pieces.len());
        let (below, lower) = (lowest.index(), self.prefix().board().pieces() - pieces.len() - 1);
        let mut intervals: Vec<SuccessorStates> = Vec::new();
        for mover in (self.prefix().cells() - CellSet::first_cells(below) - pieces).iter() {
            let mut add = |upper_pieces: CellSet, indices: Range<u64>| {
                let partition = partition_of(upper_pieces, pieces.len());
                if partition != own && !indices.is_empty() {
                    intervals.push(SuccessorStates { mover, partition, indices });
                }
            };
            let with_mover = pieces.with(mover);
            add(with_mover, self.interval(with_mover, below, lower));
            images(self, with_mover, lowest, lower, |below| is_expanded(pieces | below), &mut add);
        }
        merge(intervals)
    }

    fn positions(&self, start: u64, states: u64, _: usize) -> IndexIntervals {
        IndexIntervals::new(start, states)
    }

    /// A mover has at most one interval of images for each pattern of a row.
    fn image_words(&self) -> usize {
        (2 * self.prefix().within()) << self.prefix().board().size()
    }
}

impl ClassPositions for IndexIntervals {
    fn add(&mut self, successor: &SuccessorStates, at: u64) {
        self.push(successor.indices.clone(), at);
    }
}

/// Visits the indices of the mirror images of the states with the pieces `upper` and `lower`
/// pieces below `cell` that are not stored themselves. States with the same pattern in the row of
/// `cell` are visited together. Patterns with a state for which `is_needed` returns false are skipped.
///
/// States whose mirror images have the same upper pieces are omitted.
fn images(
    symmetry: &Symmetry,
    upper: CellSet,
    cell: Cell,
    lower: usize,
    is_needed: impl Fn(CellSet) -> bool,
    visit: &mut impl FnMut(CellSet, Range<u64>),
) {
    let row = symmetry.row_of(cell);
    let above = upper - CellSet::first_cells(row.end());
    let order = symmetry.compare_with_mirror(above);
    if order == Ordering::Less {
        return;
    }
    for pattern in 0..1u32 << (cell.index() - row.first_cell) {
        let Some(rest) = lower.checked_sub(pattern.count_ones() as usize) else { continue };
        let pieces = row.cells(pattern);
        let image = symmetry.mirror(upper | pieces);
        let is_stored = order == Ordering::Equal && image.bits() >= (upper | pieces).bits();
        let states = choose(row.first_cell, rest);
        if states > 0 && !is_stored && is_needed(pieces) {
            let start = symmetry.states_below(image | CellSet::first_cells(rest));
            visit(image, start..start + states);
        }
    }
}

/// Sorts intervals and joins those that overlap or touch within a partition.
fn merge(mut intervals: Vec<SuccessorStates>) -> Vec<SuccessorStates> {
    intervals.sort_unstable_by_key(|interval| (interval.partition, interval.indices.start));
    let mut merged: Vec<SuccessorStates> = Vec::new();
    for interval in intervals {
        match merged.last_mut() {
            Some(last) if last.partition == interval.partition && interval.indices.start <= last.indices.end => {
                last.indices.end = last.indices.end.max(interval.indices.end);
            }
            _ => merged.push(interval),
        }
    }
    merged
}
