//! The expansion of a group over bitmaps of all states.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use fearless_simd::Simd;
use fearless_simd_macros::simd;
use sternhalma_data::board::{choose, rank_above};
use sternhalma_data::{Cell, CellSet};

use super::layer::LayerBitmaps;
use super::tables::{BATCH_WORDS, Field, GroupTables, JumpPair, StateTriangle, slice_words};
use crate::bits::{BitMatrix, load, low_mask, or_at, or_run, words_for};
use crate::ranks::{BitOffsets, MAX_CELLS, MAX_PIECES};

/// The slices of a group, and buffers.
pub(super) struct GroupScratch {
    /// The slices of a group, one per cell, each with a spare word.
    pub bit_slices: Vec<u64>,
    pub stride: usize,
    matrix: BitMatrix,
    triangle: Vec<u64>,
    pub jumps: GroupJumps,
    pub successors: u64,
}

#[derive(Default)]
pub(super) struct GroupJumps {
    /// Jumps over obstacles and upper pieces, which all contexts of the group have.
    over_upper: Vec<JumpPair>,
    /// Jumps over cells where only some contexts of the group have a piece.
    over_lower: Vec<JumpPair>,
    /// Those of `over_lower` that some context of the current batch allows.
    possible: Vec<JumpPair>,
}

impl GroupJumps {
    /// Selects the jumps over lower pieces that some context of a batch allows.
    #[inline(always)]
    pub fn select_possible<const W: usize>(&mut self, occupied: &[Lanes<W>; MAX_CELLS]) {
        let is_possible = |jump: &&JumpPair| occupied[usize::from(jump.over) % MAX_CELLS].0 != [0; W];
        self.possible.clear();
        self.possible.extend(self.over_lower.iter().filter(is_possible));
    }
}

impl GroupScratch {
    /// Creates buffers for groups of a prefix within this number of cells.
    pub fn new(within: usize) -> GroupScratch {
        let within = within as u64;
        GroupScratch {
            bit_slices: Vec::new(),
            stride: 0,
            matrix: BitMatrix::new(),
            triangle: vec![0; words_for(within * within / 2)],
            jumps: GroupJumps::default(),
            successors: 0,
        }
    }
}

/// The contexts that share their upper pieces.
pub(super) struct ContextGroup<'a> {
    pub tables: &'a GroupTables,
    pub field: &'a Field,
    offsets: &'a BitOffsets,
    pub upper: CellSet,
    /// The lowest upper piece. The lower pieces stand below this piece.
    pub lowest: usize,
    pub contexts: u64,
    /// The position of the first state of the lower block.
    pub below_start: u64,
    /// By the number of upper pieces below a mover above the lower pieces, what the upper pieces add to the rank of
    /// the first state of its run.
    sums: [u64; MAX_PIECES],
}

/// A triangle of the lower block of a group.
#[derive(Clone, Copy)]
pub(super) struct BlockTriangle<'a> {
    pub shape: &'a StateTriangle,
    /// The lowest of the pieces above the triangle's two.
    pub apex: usize,
    /// The position of the first state.
    pub start: u64,
    pub states: u64,
}

impl<'a> ContextGroup<'a> {
    pub fn new(
        tables: &'a GroupTables,
        field: &'a Field,
        upper: CellSet,
        lowest: usize,
        offsets: &'a BitOffsets,
    ) -> ContextGroup<'a> {
        let contexts = choose(lowest, tables.slice_pieces);
        // Below all upper pieces, the mover raises the index of each of them by one.
        let mut sums = [rank_above(upper, tables.slice_pieces + 1); MAX_PIECES];
        for (index, cell) in upper.iter().map(Cell::index).enumerate() {
            let [as_lower, as_upper] = [1, 2].map(|raise| choose(cell, tables.slice_pieces + index + raise));
            sums[index + 1] = sums[index] - as_upper + as_lower;
        }
        let below_start = sums[0] - offsets.below;
        ContextGroup { tables, field, offsets, upper, lowest, contexts, below_start, sums }
    }

    /// Adds the unseen successors of all moves whose context is in this group to the next layer.
    #[simd]
    pub fn expand<S: Simd>(&self, simd: S, layer: &LayerBitmaps, scratch: &mut GroupScratch) {
        if !self.is_occupied(layer) {
            return;
        }
        self.clear_slices(scratch);
        self.gather_above(simd, layer, scratch);
        self.gather_below(simd, layer.frontier, self.below_start, scratch);
        self.jumps(&mut scratch.jumps);
        if self.move_all(simd, 0..self.words(), layer, scratch) {
            self.scatter_above(simd, layer, scratch);
            self.scatter_below(simd, layer, self.below_start, scratch);
        }
    }

    /// Returns the number of words of a slice with contexts.
    pub fn words(&self) -> usize {
        self.contexts.div_ceil(64) as usize
    }

    /// Returns whether the layer may have states with a context of the group.
    fn is_occupied(&self, layer: &LayerBitmaps) -> bool {
        let below = choose(self.lowest, self.tables.slice_pieces + 1);
        below > 0 && layer.occupancy.any(self.below_start, below)
            || self.runs_above().any(|(_, start)| layer.occupancy.any(start, self.contexts))
    }

    pub fn clear_slices(&self, scratch: &mut GroupScratch) {
        scratch.stride = slice_words(self.contexts) + 1;
        scratch.bit_slices.clear();
        scratch.bit_slices.resize(self.tables.size.cells * scratch.stride, 0);
    }

    /// Iterates over the cells of a mover above the lower pieces, each with
    /// the position of its first state.
    fn runs_above(&self) -> impl Iterator<Item = (usize, u64)> + use<'a> {
        let (upper, sums, slice_pieces, offsets) = (self.upper, self.sums, self.tables.slice_pieces, self.offsets);
        let position = move |cell: usize| {
            let passed = (upper & CellSet::first_cells(cell)).len();
            (sums[passed] + choose(cell, slice_pieces + passed + 1)).wrapping_sub(offsets.above[cell])
        };
        self.cells_above().iter().map(Cell::index).map(move |cell| (cell, position(cell)))
    }

    /// Returns the cells of a mover above the lower pieces.
    pub fn cells_above(&self) -> CellSet {
        CellSet::first_cells(self.tables.size.within) - CellSet::first_cells(self.lowest) - self.upper
    }

    #[simd]
    fn gather_above<S: Simd>(&self, simd: S, layer: &LayerBitmaps, scratch: &mut GroupScratch) {
        for (cell, start) in self.runs_above().filter(|&(_, start)| layer.occupancy.any(start, self.contexts)) {
            let slice = &mut scratch.bit_slices[cell * scratch.stride..];
            let (mut at, end) = (start, start + self.contexts);
            while let Some(part) = layer.occupancy.first_part(at, end) {
                or_run(slice, part.start - start, layer.frontier, part.start, part.end - part.start);
                at = part.end;
            }
        }
    }

    /// Iterates over the triangles of the lower block. `start` is the position of the block.
    pub fn triangles(&self, mut start: u64) -> impl Iterator<Item = BlockTriangle<'a>> + use<'a> {
        let count = choose(self.lowest, self.tables.slice_pieces - 1) as usize;
        let lowest = self.lowest;
        let place = move |shape: &'a StateTriangle| {
            let apex = shape.apex.map_or(lowest, usize::from);
            let triangle = BlockTriangle { shape, apex, start, states: choose(apex, 2) };
            start += triangle.states;
            triangle
        };
        self.tables.triangles[..count].iter().map(place).filter(|triangle| triangle.states > 0)
    }

    /// Reads the lower block, which begins at position `start` of the bitmap `frontier`.
    #[simd]
    pub fn gather_below<S: Simd>(&self, simd: S, frontier: &[u64], start: u64, scratch: &mut GroupScratch) {
        for triangle in self.triangles(start) {
            if any_set(frontier, triangle.start, triangle.states) {
                self.gather_triangle(simd, triangle, frontier, scratch);
            }
        }
    }

    #[simd]
    pub fn gather_triangle<S: Simd>(
        &self,
        simd: S,
        triangle: BlockTriangle,
        frontier: &[u64],
        scratch: &mut GroupScratch,
    ) {
        let GroupScratch { bit_slices, stride, matrix, .. } = scratch;
        let BlockTriangle { shape, apex, start, states } = triangle;
        let mut row_start = start;
        for y in 0..apex {
            let bits = y as u64;
            matrix.near[y] = load(frontier, row_start) & low_mask(bits);
            matrix.far[y] = match bits > 64 {
                true => load(frontier, row_start + 64) & low_mask(bits - 64),
                false => 0,
            };
            row_start += bits;
        }
        clear_rows(matrix, apex);
        matrix.symmetrize(simd, apex);
        for cell in 0..apex {
            let slice = &mut bit_slices[cell * *stride..][..*stride];
            or_at(slice, shape.bit, matrix.near[cell]);
            if apex > 64 {
                or_at(slice, shape.bit + 64, matrix.far[cell]);
            }
        }
        for &(cell, offset) in &shape.runs {
            let slice = &mut bit_slices[usize::from(cell) * *stride..][..*stride];
            or_run(slice, offset, frontier, start, states);
        }
    }

    /// Selects the jumps that some context of the group allows.
    pub fn jumps(&self, jumps: &mut GroupJumps) {
        let is_free = |jump: &JumpPair| !jump.ends.iter().any(|&end| self.upper.contains(Cell::new(usize::from(end))));
        jumps.over_lower.clear();
        jumps.over_upper.clear();
        jumps.over_upper.extend(self.field.over_obstacles().iter().filter(|jump| is_free(jump)));
        for jump in self.field.jumps() {
            if !is_free(jump) {
                continue;
            }
            if self.upper.contains(Cell::new(usize::from(jump.over))) {
                jumps.over_upper.push(*jump);
            } else if usize::from(jump.over) < self.lowest {
                jumps.over_lower.push(*jump);
            }
        }
    }

    /// Replaces the states of the layer in every slice with the states one move
    /// away that are not in the layer with the same context. Returns whether the
    /// layer has any states in the slices.
    ///
    /// All states must be in these words of the slices.
    #[simd]
    pub fn move_all<S: Simd>(
        &self,
        simd: S,
        words: Range<usize>,
        layer: &LayerBitmaps,
        scratch: &mut GroupScratch,
    ) -> bool {
        let mut any = false;
        let mut at = words.start / BATCH_WORDS * BATCH_WORDS;
        while at < words.end {
            any |= match self.words() - at {
                1 => self.move_words::<S, 1>(simd, at, layer, scratch),
                2 => self.move_words::<S, 2>(simd, at, layer, scratch),
                3 | 4 => self.move_words::<S, 4>(simd, at, layer, scratch),
                _ => self.move_words::<S, BATCH_WORDS>(simd, at, layer, scratch),
            };
            at += BATCH_WORDS;
        }
        any
    }

    #[simd]
    fn move_words<S: Simd, const W: usize>(
        &self,
        simd: S,
        at: usize,
        layer: &LayerBitmaps,
        scratch: &mut GroupScratch,
    ) -> bool {
        let GroupScratch { bit_slices, stride, jumps, successors, .. } = scratch;
        let cells = self.tables.size.cells;
        let mut before = [Lanes([0u64; W]); MAX_CELLS];
        let mut occupied = [Lanes([0u64; W]); MAX_CELLS];
        let mut any = [0u64; W];
        for cell in 0..cells {
            let states = lanes(&bit_slices[cell * *stride + at..]);
            before[cell] = Lanes(states);
            occupied[cell] = Lanes(lanes(&self.tables.occupied[cell][at..]));
            any = or(any, states);
        }
        if any == [0; W] {
            return false;
        }
        jumps.select_possible(&occupied);
        let mut reached = before;
        chain_jumps(simd, &mut reached, &occupied, jumps);
        let mut counts = [0u64; W];
        // The upper pieces occupy their cells in all contexts.
        for cell in (CellSet::first_cells(cells) - self.upper).iter().map(Cell::index) {
            let mut near = reached[cell].0;
            for &neighbor in self.field.neighbors(cell) {
                near = or(near, before[usize::from(neighbor)].0);
            }
            let (taken, before) = (occupied[cell].0, before[cell].0);
            let mut successors = [0; W];
            for i in 0..W {
                successors[i] = near[i] & !(taken[i] | before[i]);
                counts[i] += u64::from(successors[i].count_ones());
            }
            bit_slices[cell * *stride + at..][..W].copy_from_slice(&successors);
            if cell >= self.tables.size.within && successors != [0; W] {
                layer.escapes.store(true, Relaxed);
            }
        }
        *successors += counts.iter().sum::<u64>();
        true
    }

    #[simd]
    fn scatter_above<S: Simd>(&self, simd: S, layer: &LayerBitmaps, scratch: &GroupScratch) {
        for (cell, start) in self.runs_above() {
            let slice = &scratch.bit_slices[cell * scratch.stride..];
            layer.reach_run(start, slice, 0, self.contexts);
        }
    }

    #[simd]
    pub fn scatter_below<S: Simd>(&self, simd: S, layer: &LayerBitmaps, start: u64, scratch: &mut GroupScratch) {
        for triangle in self.triangles(start) {
            if layer.may_have_unseen(triangle.start, triangle.states)
                && layer.any_unseen(triangle.start, triangle.states)
            {
                let packed = self.pack_triangle(simd, triangle, scratch);
                layer.reach_run(triangle.start, packed, 0, triangle.states);
            }
        }
    }

    /// Returns the states of a triangle in the slices, as a bitmap from its first state on.
    #[simd]
    pub fn pack_triangle<'s, S: Simd>(
        &self,
        simd: S,
        triangle: BlockTriangle,
        scratch: &'s mut GroupScratch,
    ) -> &'s [u64] {
        let BlockTriangle { shape, apex, states, .. } = triangle;
        let GroupScratch { bit_slices, stride, matrix, triangle: packed, .. } = scratch;
        let mut any = 0;
        for cell in 0..apex {
            let slice = &bit_slices[cell * *stride..][..*stride];
            matrix.near[cell] = load(slice, shape.bit) & low_mask(apex as u64);
            matrix.far[cell] = match apex > 64 {
                true => load(slice, shape.bit + 64) & low_mask(apex as u64 - 64),
                false => 0,
            };
            any |= matrix.near[cell] | matrix.far[cell];
        }
        let packed = &mut packed[..(states / 64) as usize + 2];
        if any == 0 {
            packed.fill(0);
        } else {
            clear_rows(matrix, apex);
            matrix.symmetrize(simd, apex);
            pack_rows(matrix, apex, packed);
        }
        for &(cell, offset) in &shape.runs {
            or_run(packed, 0, &bit_slices[usize::from(cell) * *stride..][..*stride], offset, states);
        }
        packed
    }
}

/// Writes the columns left of the diagonal of each row, one row after the other, and fills the rest of `packed` with 0.
#[inline(always)]
fn pack_rows(matrix: &BitMatrix, size: usize, packed: &mut [u64]) {
    // The bits of the word `at` so far: fewer than 64.
    let (mut at, mut word, mut filled) = (0, 0u64, 0);
    let mut push = |bits: u64, count: usize| {
        word |= bits << filled;
        packed[at] = word;
        let end = filled + count;
        // Two shifts, because a shift by 64 is not defined if `filled` is 0.
        word = if end < 64 { word } else { bits >> 1 >> (63 - filled) };
        at += end / 64;
        filled = end % 64;
    };
    for row in 1..size {
        push(matrix.near[row] & low_mask(row as u64), row.min(64));
        if row > 64 {
            push(matrix.far[row] & low_mask(row as u64 - 64), row - 64);
        }
    }
    packed[at..].fill(0);
    packed[at] = word;
}

/// Clears the rows between `size` and the power of two that is transposed.
fn clear_rows(matrix: &mut BitMatrix, size: usize) {
    let rows = size.next_power_of_two().max(8);
    matrix.near[size..rows].fill(0);
    matrix.far[size..rows].fill(0);
}

#[inline]
pub(super) fn any_set(words: &[u64], start: u64, len: u64) -> bool {
    let mut done = 0;
    while done < len {
        if load(words, start + done) & low_mask(len - done) != 0 {
            return true;
        }
        done += 64;
    }
    false
}

/// Some words of a slice. The alignment keeps each of them within a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Lanes<const W: usize>(pub [u64; W]);

/// Returns the first words.
#[inline(always)]
pub(super) fn lanes<const W: usize>(words: &[u64]) -> [u64; W] {
    *words.first_chunk().expect("the slices end with a whole batch")
}

#[inline(always)]
pub(super) fn or<const W: usize>(a: [u64; W], b: [u64; W]) -> [u64; W] {
    let mut both = [0; W];
    for i in 0..W {
        both[i] = a[i] | b[i];
    }
    both
}

/// Adds to each slice the states that chains of jumps reach. Repeats all jumps until
/// nothing changes, in both orders in turn, because chains lead up and down the board.
#[simd]
pub(super) fn chain_jumps<S: Simd, const W: usize>(
    _: S,
    reached: &mut [Lanes<W>; MAX_CELLS],
    occupied: &[Lanes<W>; MAX_CELLS],
    jumps: &GroupJumps,
) {
    let over_lower = |jump: &JumpPair| occupied[usize::from(jump.over) % MAX_CELLS].0;
    loop {
        let mut changed = [0u64; W];
        for jump in &jumps.over_upper {
            join(reached, occupied, [u64::MAX; W], jump, &mut changed);
        }
        for jump in &jumps.possible {
            join(reached, occupied, over_lower(jump), jump, &mut changed);
        }
        if changed == [0; W] {
            return;
        }
        changed = [0; W];
        for jump in jumps.possible.iter().rev() {
            join(reached, occupied, over_lower(jump), jump, &mut changed);
        }
        for jump in jumps.over_upper.iter().rev() {
            join(reached, occupied, [u64::MAX; W], jump, &mut changed);
        }
        if changed == [0; W] {
            return;
        }
    }
}

/// Adds to each slice of `near` the states that one jump reaches.
#[simd]
pub(super) fn single_jumps<S: Simd, const W: usize>(
    _: S,
    near: &mut [Lanes<W>; MAX_CELLS],
    from: &[Lanes<W>; MAX_CELLS],
    occupied: &[Lanes<W>; MAX_CELLS],
    jumps: &GroupJumps,
) {
    let over_upper = jumps.over_upper.iter().map(|jump| (jump, [u64::MAX; W]));
    let over_lower = jumps.possible.iter().map(|jump| (jump, occupied[usize::from(jump.over) % MAX_CELLS].0));
    for (jump, over) in over_upper.chain(over_lower) {
        let [a, b] = jump.ends.map(|end| usize::from(end) % MAX_CELLS);
        for (i, over) in over.into_iter().enumerate() {
            near[a].0[i] |= from[b].0[i] & over;
            near[b].0[i] |= from[a].0[i] & over;
        }
    }
}

#[inline(always)]
fn join<const W: usize>(
    reached: &mut [Lanes<W>; MAX_CELLS],
    occupied: &[Lanes<W>; MAX_CELLS],
    over: [u64; W],
    jump: &JumpPair,
    changed: &mut [u64; W],
) {
    let [a, b] = jump.ends.map(|end| usize::from(end) % MAX_CELLS);
    let (at_a, at_b) = (reached[a].0, reached[b].0);
    let (taken_a, taken_b) = (occupied[a].0, occupied[b].0);
    let mut new_a = [0; W];
    let mut new_b = [0; W];
    for i in 0..W {
        new_a[i] = at_a[i] | (at_b[i] & over[i] & !taken_a[i]);
        new_b[i] = at_b[i] | (at_a[i] & over[i] & !taken_b[i]);
        changed[i] |= (new_a[i] ^ at_a[i]) | (new_b[i] ^ at_b[i]);
    }
    (reached[a], reached[b]) = (Lanes(new_a), Lanes(new_b));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_packed_bit_by_bit() {
        let mut matrix = BitMatrix::new();
        let mut hash = 1u64;
        for word in matrix.near.iter_mut().chain(&mut matrix.far) {
            hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) ^ 5;
            *word = hash;
        }
        for size in 0..=128 {
            let is_set = |row: usize, column: usize| {
                let half = if column < 64 { matrix.near[row] } else { matrix.far[row] };
                half >> (column % 64) & 1 != 0
            };
            let bits: Vec<bool> = (0..size).flat_map(|row| (0..row).map(move |column| is_set(row, column))).collect();
            let mut packed = vec![u64::MAX; bits.len() / 64 + 2];
            pack_rows(&matrix, size, &mut packed);
            let bit = |at: usize| packed[at / 64] >> (at % 64) & 1 != 0;
            assert!((0..64 * packed.len()).all(|at| bit(at) == bits.get(at).copied().unwrap_or(false)), "{size} rows");
        }
    }
}
