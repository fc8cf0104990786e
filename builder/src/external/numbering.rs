//! The numbers of the states that a search stores.

use std::cmp::Ordering;
use std::ops::Range;

use sternhalma_data::board::{Symmetry, choose, rank_above};
use sternhalma_data::{Cell, CellSet, Prefix, TableSpec};

/// The states that a search stores, numbered in the order of ranks.
///
/// The *index* of a state is its rank. If only one state of each mirrored pair is stored, the
/// index is the reduced rank.
#[derive(Clone, Debug)]
pub struct Numbering {
    prefix: Prefix,
    symmetry: Option<Symmetry>,
}

impl Numbering {
    /// Numbers all states of a prefix, or the canonical ones if it has a symmetry.
    pub fn new(prefix: Prefix, symmetry: Option<Symmetry>) -> Numbering {
        Numbering { prefix, symmetry }
    }

    /// Numbers the states that a table stores.
    pub fn of(spec: TableSpec) -> Numbering {
        Numbering::new(spec.prefix, Symmetry::of(spec.prefix).filter(|_| spec.mirrored))
    }

    /// Returns the prefix.
    pub fn prefix(&self) -> Prefix {
        self.prefix
    }

    /// Returns the symmetry, if only canonical states are stored.
    pub fn symmetry(&self) -> Option<&Symmetry> {
        self.symmetry.as_ref()
    }

    /// Returns the number of stored states.
    pub fn states(&self) -> u64 {
        self.symmetry.as_ref().map_or(self.prefix.states(), Symmetry::states)
    }

    /// Returns the indices of the stored states with the pieces `upper` and `lower` pieces below
    /// `cell`. The upper pieces are not below `cell`.
    pub fn interval(&self, upper: CellSet, cell: usize, lower: usize) -> Range<u64> {
        if cell < lower {
            return 0..0;
        }
        let lowest = upper | CellSet::first_cells(lower);
        let Some(symmetry) = &self.symmetry else {
            let start = rank_above(upper, lower);
            return start..start + choose(cell, lower);
        };
        let highest = upper | (CellSet::first_cells(cell) - CellSet::first_cells(cell - lower));
        let is_stored = symmetry.compare_with_mirror(highest) != Ordering::Greater;
        symmetry.states_below(lowest)..symmetry.states_below(highest) + u64::from(is_stored)
    }

    /// Visits the indices of the mirror images of the states with the pieces `upper` and `lower`
    /// pieces below `cell` that are not stored themselves. States with the same pattern in the row of
    /// `cell` are visited together. Patterns with a state for which `is_needed` returns false are skipped.
    ///
    /// States whose mirror images have the same upper pieces are omitted.
    pub fn images(
        &self,
        upper: CellSet,
        cell: Cell,
        lower: usize,
        is_needed: impl Fn(CellSet) -> bool,
        visit: &mut impl FnMut(CellSet, Range<u64>),
    ) {
        let Some(symmetry) = &self.symmetry else { return };
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
}
