//! The successors of a layer, many states at a time.
//!
//! A move leaves all pieces but one in place. These pieces are the *context*
//! of the move. Within a context, steps and chains of jumps over the context's
//! pieces connect the cells of the mover, regardless of the other states of the
//! layer. A layer is therefore expanded context by context, for all cells of
//! the mover at once, and for many contexts at once with one bit per context.
//!
//! A *group* consists of the contexts that share their upper pieces. The
//! contexts of a group differ in their `slice_pieces` lowest pieces, which are
//! below the upper pieces. A *bit slice* belongs to one cell of the mover and
//! has one bit per context of the group. The bit is set if the layer contains
//! the context with the mover on this cell. Steps and jumps are word operations
//! between slices.
//!
//! States are numbered by rank. If the mover stands above the lowest upper
//! piece `v` of the group, its slice is therefore an interval of the layer's
//! bitmap. If the mover stands below `v`, the slices come from the *lower
//! block* of the group: the states that have `slice_pieces + 1` pieces below
//! `v`. A lower block is a sequence of *triangles*. A triangle consists of the
//! states that differ only in their lowest two pieces `x < y`. The slice of `x`
//! reads a triangle by columns and the slice of `y` reads it by rows, so that
//! both are rows of a symmetric matrix.
//!
//! A bitmap may hold only the states that the groups at hand involve:
//! [`BitOffsets`](crate::ranks::BitOffsets) gives their positions. It may also
//! hold only canonical states: [`MirroredRuns`] then maps runs of ranks to
//! reduced ranks. [`IndexIntervals`](crate::ranks::IndexIntervals) gives the
//! positions if the bitmap holds only some canonical states.

mod group;
mod layer;
mod reduced;
mod row;
mod tables;

use fearless_simd::dispatch;
use sternhalma_cpu::level;
use sternhalma_data::board::{MirroredRuns, Symmetry, binomial, choose};
use sternhalma_data::{Cell, CellSet, Prefix, Rank};

use group::{ContextGroup, GroupScratch};
pub(crate) use layer::LayerBitmaps;
use reduced::ReducedScratch;
pub(crate) use row::{RowExpander, RowMoves, RowScratch};
pub(crate) use tables::Field;
use tables::{GroupTables, lower_cells, slice_words};

/// The largest size of all slices of a group, so that they fit in a core's L2 cache.
pub(crate) const MAX_SLICES_BYTES: u64 = 5 << 18;

/// The expansion of the groups of a prefix.
pub(crate) struct Expander {
    tables: GroupTables,
    field: Field,
    /// Maps ranks to positions if bitmaps hold only canonical states.
    pub runs: Option<MirroredRuns>,
}

/// The buffers of one thread.
pub(crate) struct ExpanderScratch {
    group: GroupScratch,
    reduced: ReducedScratch,
}

impl ExpanderScratch {
    /// Returns the number of successors since the last call, and resets it. A
    /// successor counts once for each context that it shares with the layer.
    pub fn take_successors(&mut self) -> u64 {
        std::mem::take(&mut self.group.successors)
    }
}

impl Expander {
    /// Prepares the expansion of groups with `slice_pieces` lower pieces. The
    /// board must have at least two pieces.
    pub fn new(prefix: Prefix, slice_pieces: usize) -> Expander {
        let field = Field::new(prefix.board().geometry(), CellSet::EMPTY);
        Expander { tables: GroupTables::new(prefix.into(), slice_pieces), field, runs: None }
    }

    /// Prepares the expansion of bitmaps by reduced rank, see [`Symmetry`]. A group must have an upper piece.
    pub fn reduced(symmetry: Symmetry, slice_pieces: usize) -> Expander {
        let expander = Expander::new(symmetry.prefix(), slice_pieces);
        assert!(expander.tables.upper_pieces() > 0, "the groups of a symmetric prefix have upper pieces");
        Expander { runs: Some(MirroredRuns::new(symmetry, slice_pieces)), ..expander }
    }

    /// Returns the largest number of lower pieces with slices of a group
    /// within [`MAX_SLICES_BYTES`].
    pub fn best_slice_pieces(prefix: Prefix) -> usize {
        Expander::slice_pieces_within(prefix, MAX_SLICES_BYTES)
    }

    /// Returns the largest number of lower pieces with slices of a group within
    /// `max_bytes`, if possible with one upper piece, so that there are many groups.
    pub fn slice_pieces_within(prefix: Prefix, max_bytes: u64) -> usize {
        let context_pieces = prefix.board().pieces() - 1;
        let bytes = |slice_pieces: usize| {
            let room = lower_cells(prefix.into(), slice_pieces);
            binomial(room, slice_pieces).map_or(u64::MAX, |contexts| contexts / 8) * prefix.board().cells() as u64
        };
        (1..context_pieces).rev().find(|&slice_pieces| bytes(slice_pieces) <= max_bytes).unwrap_or(1)
    }

    /// Returns an upper bound of the memory of an expander, in bytes.
    pub fn memory(prefix: Prefix, slice_pieces: usize) -> u64 {
        let room = lower_cells(prefix.into(), slice_pieces);
        let masks = 8 * prefix.board().cells() * slice_words(choose(room, slice_pieces));
        masks as u64 + choose(room, slice_pieces - 1) * (64 + 16 * slice_pieces as u64)
    }

    /// Returns an upper bound of the memory that bitmaps by reduced rank need in addition, in bytes: of the runs, and
    /// of the indices of the states that are their own mirror images.
    pub fn reduced_memory(symmetry: &Symmetry, slice_pieces: usize) -> u64 {
        MirroredRuns::memory(symmetry, slice_pieces) + 8 * symmetry.symmetric_states()
    }

    /// Returns an upper bound of the memory of an [`ExpanderScratch`], in bytes.
    pub fn scratch_memory(prefix: Prefix, slice_pieces: usize) -> u64 {
        let room = lower_cells(prefix.into(), slice_pieces);
        // The slices, each with a word beyond its end, and small buffers.
        let slices = 8 * prefix.board().cells() * (slice_words(choose(room, slice_pieces)) + 1);
        (slices + (16 << 10)) as u64
    }

    /// Returns an upper bound of the memory that an [`ExpanderScratch`] needs in addition for bitmaps
    /// by reduced rank, in bytes.
    pub fn reduced_scratch_memory(prefix: Prefix, slice_pieces: usize) -> u64 {
        let room = lower_cells(prefix.into(), slice_pieces);
        // The lower block by rank, a permuted part of it, and the parts.
        choose(room, slice_pieces + 1) / 4 + (64 << 10)
    }

    /// Returns the number of 64-bit words in the slices of all groups. The time
    /// per layer is proportional to this number.
    pub fn work(prefix: Prefix, slice_pieces: usize) -> u64 {
        // A single piece has no slice pieces.
        let slice_pieces = slice_pieces.min(prefix.board().pieces() - 1);
        let (cells, upper) = (prefix.board().cells() as u64, prefix.board().pieces() - 1 - slice_pieces);
        // The words of a group whose lowest upper piece is on cell `lowest`.
        let words = |lowest: usize| cells * slice_words(choose(lowest, slice_pieces)) as u64;
        match upper {
            0 => words(prefix.within()),
            // The factor is the number of sets of upper pieces with this lowest one.
            _ => (slice_pieces..prefix.within())
                .map(|lowest| choose(prefix.within() - lowest - 1, upper - 1) * words(lowest))
                .sum(),
        }
    }

    /// Returns the number of groups. Groups are numbered by the rank of their upper pieces.
    pub fn groups(&self) -> u64 {
        choose(self.tables.size.within, self.tables.upper_pieces())
    }

    pub fn scratch(&self) -> ExpanderScratch {
        ExpanderScratch { group: GroupScratch::new(self.tables.size.within), reduced: ReducedScratch::default() }
    }

    /// Adds the unseen successors of all moves whose context is in this group to the next layer.
    pub fn expand_group(&self, number: u64, layer: &LayerBitmaps, scratch: &mut ExpanderScratch) {
        let upper = Rank(number).state(self.tables.upper_pieces()).cells();
        let lowest = upper.first().map_or(self.tables.size.within, Cell::index);
        if lowest < self.tables.slice_pieces {
            return;
        }
        let group = ContextGroup::new(&self.tables, &self.field, upper, lowest, layer.offsets);
        let ExpanderScratch { group: slices, reduced } = scratch;
        match &self.runs {
            None => dispatch!(level(), simd => group.expand(simd, layer, slices)),
            Some(runs) => dispatch!(level(), simd => group.expand_reduced(simd, runs, layer, slices, reduced)),
        }
    }
}
