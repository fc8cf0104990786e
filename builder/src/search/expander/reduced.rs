//! The expansion of groups over bitmaps of canonical states.
//!
//! At least one context of each mirrored pair is expanded. Both are if only rows
//! below that of the lowest upper piece differ. The states of an expanded
//! context need not be canonical: if the mover stands in the highest rows, the
//! bitmap may hold the mirror image of a state.

use std::cmp::Ordering;
use std::mem;
use std::ops::Range;

use fearless_simd::Simd;
use fearless_simd_macros::simd;
use sternhalma_data::Cell;
use sternhalma_data::board::{MirroredRuns, RunPart, choose};

use super::group::{BlockTriangle, ContextGroup, GroupScratch, any_set};
use super::layer::LayerBitmaps;
use crate::bits::{or_run, words_for};
use crate::search::run_bits::{gather, mark_expanded, scatter};

/// The parts of the slices of a group, and buffers.
#[derive(Default)]
pub(super) struct ReducedScratch {
    contexts: ExpandedContexts,
    /// The parts of the slices of movers above the lower pieces, and the end of each slice's parts.
    above: Vec<RunPart>,
    ends: Vec<usize>,
    /// The parts of the lower block.
    below: Vec<RunPart>,
    /// The lower block by rank.
    block: Vec<u64>,
    permuted: Vec<u64>,
}

/// The contexts of a group that are expanded.
#[derive(Default)]
struct ExpandedContexts {
    /// Whether all are.
    all: bool,
    /// Otherwise one bit per context.
    marks: Vec<u64>,
}

impl ExpandedContexts {
    /// Returns the range of words that include all expanded contexts, of `words` words with contexts.
    fn words(&self, words: usize) -> Range<usize> {
        if self.all {
            return 0..words;
        }
        let first = self.marks.iter().position(|&word| word != 0);
        let last = self.marks.iter().rposition(|&word| word != 0);
        first.zip(last).map_or(0..0, |(first, last)| first..last + 1)
    }

    fn contains(&self, context: u64) -> bool {
        self.all || self.marks[(context / 64) as usize] >> (context % 64) & 1 != 0
    }

    /// Returns whether a state of a triangle belongs to an expanded context.
    fn involve(&self, triangle: BlockTriangle) -> bool {
        let BlockTriangle { shape, apex, states, .. } = triangle;
        self.all
            || any_set(&self.marks, shape.bit, apex as u64)
            || shape.runs.iter().any(|&(_, bit)| any_set(&self.marks, bit, states))
    }
}

impl ContextGroup<'_> {
    /// Adds the unseen successors of all moves whose context is in this group to the next layer. One
    /// context of each mirrored pair suffices.
    #[simd]
    pub(super) fn expand_reduced<S: Simd>(
        &self,
        simd: S,
        runs: &MirroredRuns,
        layer: &LayerBitmaps,
        scratch: &mut GroupScratch,
        buffers: &mut ReducedScratch,
    ) {
        if self.find_contexts(runs, &mut buffers.contexts) && self.find_parts(simd, runs, layer, buffers) {
            self.clear_slices(scratch);
            self.gather_reduced(simd, runs, layer, scratch, buffers);
            self.jumps(&mut scratch.jumps);
            if self.move_all(simd, buffers.contexts.words(self.words()), layer, scratch) {
                self.scatter_reduced(simd, runs, layer, scratch, buffers);
            }
        }
    }

    fn lowest_cell(&self) -> Cell {
        Cell::new(self.lowest)
    }

    /// Finds the contexts to expand. Returns whether there are any.
    fn find_contexts(&self, runs: &MirroredRuns, contexts: &mut ExpandedContexts) -> bool {
        // If the rows above decide, they do so for all contexts of the group.
        let above = runs.compare_above(self.upper, self.lowest_cell());
        contexts.all = above == Ordering::Less;
        if above == Ordering::Equal {
            let slice_pieces = self.tables.slice_pieces;
            mark_expanded(runs, self.upper, self.lowest_cell(), slice_pieces, &mut contexts.marks);
        }
        above != Ordering::Greater && !contexts.words(self.words()).is_empty()
    }

    /// Finds the parts of all slices that belong to expanded contexts. Returns whether the layer
    /// may have states in them.
    #[simd]
    fn find_parts<S: Simd>(
        &self,
        _: S,
        runs: &MirroredRuns,
        layer: &LayerBitmaps,
        buffers: &mut ReducedScratch,
    ) -> bool {
        let ReducedScratch { contexts, above, ends, below, .. } = buffers;
        let words = contexts.words(self.words());
        let range = 64 * words.start as u64..self.contexts.min(64 * words.end as u64);
        // In placed parts, `reduced` is the position in the bitmaps. Bitmaps with only some intervals of states hold
        // all parts of expanded contexts, so a part without a position belongs to none of them.
        let place = |part: RunPart| layer.position(part.reduced).map(|reduced| RunPart { reduced, ..part });
        above.clear();
        ends.clear();
        below.clear();
        for cell in self.cells_above() {
            let upper = self.upper.with(cell);
            runs.parts(upper, self.lowest_cell(), self.tables.slice_pieces, &mut |part| {
                let Some(part) = place(part) else { return };
                if part.len == self.contexts && part.permuted.is_none() {
                    // The part is the whole slice.
                    above.push(part.clip(&range));
                } else if contexts.contains(part.start) {
                    // A part has one pattern in the row of the lowest upper piece, so all of its
                    // contexts are expanded, or none of them is.
                    above.push(part);
                }
            });
            ends.push(above.len());
        }
        let pieces = self.tables.slice_pieces + 1;
        runs.parts(self.upper, self.lowest_cell(), pieces, &mut |part| {
            // Without lower pieces in the row of the lowest upper piece, the upper pieces decide
            // that the contexts of a permuted part are not expanded.
            if part.permuted != Some(pieces) {
                below.extend(place(part));
            }
        });
        above.iter().chain(&*below).any(|part| layer.occupancy.any(part.reduced, part.len))
    }

    /// Returns the reduced rank of the first state of the lower block if it is a part, which is not permuted.
    fn whole_block(&self, buffers: &ReducedScratch) -> Option<u64> {
        buffers.below.first().filter(|_| buffers.contexts.all).map(|part| part.reduced)
    }

    #[simd]
    fn gather_reduced<S: Simd>(
        &self,
        simd: S,
        runs: &MirroredRuns,
        layer: &LayerBitmaps,
        scratch: &mut GroupScratch,
        buffers: &mut ReducedScratch,
    ) {
        let gather = |part: &RunPart, run: &mut [u64]| {
            if layer.occupancy.any(part.reduced, part.len) {
                gather(simd, runs, part, layer.frontier, run);
            }
        };
        for (cell, parts) in self.parts_above(buffers) {
            let slice = &mut scratch.bit_slices[cell * scratch.stride..][..scratch.stride];
            parts.iter().for_each(|part| gather(part, slice));
        }
        if let Some(start) = self.whole_block(buffers) {
            return self.gather_below(simd, layer.frontier, start, scratch);
        }
        let mut block = self.take_block(buffers);
        buffers.below.iter().for_each(|part| gather(part, &mut block));
        for triangle in self.triangles(0) {
            if any_set(&block, triangle.start, triangle.states) && buffers.contexts.involve(triangle) {
                self.gather_triangle(simd, triangle, &block, scratch);
            }
        }
        buffers.block = block;
        if !buffers.contexts.all {
            for slice in scratch.bit_slices.chunks_exact_mut(scratch.stride) {
                slice.iter_mut().zip(&buffers.contexts.marks).for_each(|(word, marks)| *word &= marks);
            }
        }
    }

    #[simd]
    fn scatter_reduced<S: Simd>(
        &self,
        simd: S,
        runs: &MirroredRuns,
        layer: &LayerBitmaps,
        scratch: &mut GroupScratch,
        buffers: &mut ReducedScratch,
    ) {
        let mut permuted = mem::take(&mut buffers.permuted);
        let mut reach = |part: &RunPart, run: &[u64]| {
            let add = |states: &[u64], start: u64| layer.reach_run(part.reduced, states, start, part.len);
            scatter(simd, runs, part, run, &mut permuted, |reduced| layer.new_states(reduced), add);
        };
        for (cell, parts) in self.parts_above(buffers) {
            let slice = &scratch.bit_slices[cell * scratch.stride..][..scratch.stride];
            parts.iter().for_each(|part| reach(part, slice));
        }
        if let Some(start) = self.whole_block(buffers) {
            self.scatter_below(simd, layer, start, scratch);
        } else {
            let mut block = self.take_block(buffers);
            for triangle in self.triangles(0) {
                if buffers.contexts.involve(triangle) {
                    let packed = self.pack_triangle(simd, triangle, scratch);
                    or_run(&mut block, triangle.start, packed, 0, triangle.states);
                }
            }
            buffers.below.iter().for_each(|part| reach(part, &block));
            buffers.block = block;
        }
        buffers.permuted = permuted;
    }

    /// Iterates over the cells of a mover above the lower pieces, each with the parts of its slice.
    fn parts_above<'s>(&self, buffers: &'s ReducedScratch) -> impl Iterator<Item = (usize, &'s [RunPart])> {
        let starts = std::iter::once(0).chain(buffers.ends.iter().copied());
        let parts = starts.zip(&buffers.ends).map(|(start, &end)| &buffers.above[start..end]);
        self.cells_above().iter().map(Cell::index).zip(parts)
    }

    /// Takes the buffer of the lower block and clears it.
    fn take_block(&self, buffers: &mut ReducedScratch) -> Vec<u64> {
        let mut block = mem::take(&mut buffers.block);
        block.clear();
        block.resize(words_for(choose(self.lowest, self.tables.slice_pieces + 1)), 0);
        block
    }
}
