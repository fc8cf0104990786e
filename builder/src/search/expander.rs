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
//! [`BitOffsets`] gives their positions.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use sternhalma_data::board::binomial;
use sternhalma_data::{Board, Cell, CellSet, Prefix, Rank, States};

use crate::bits::{BitMatrix, load, low_mask, or_at, or_run, words_for};
use crate::ranks::{BitOffsets, MAX_CELLS, choose, rank_above};

/// The words of a slice that are expanded at once.
const BATCH_WORDS: usize = 8;

/// The largest size of all slices of a group, so that they fit in a core's L2 cache.
pub(crate) const MAX_SLICES_BYTES: u64 = 5 << 18;

/// The data about a prefix that is the same for all layers.
pub(crate) struct Expander {
    prefix: Prefix,
    /// The number of pieces of a context that differ within a group.
    slice_pieces: usize,
    /// For each cell, the contexts of a group with a piece there. The masks
    /// are the same for all groups, because the pieces are ranked from cell 0.
    occupied: Vec<Vec<u64>>,
    /// The triangles of a lower block in order. A group has the first few triangles.
    triangles: Vec<StateTriangle>,
    jumps: Vec<JumpPair>,
    neighbors: Vec<Vec<u8>>,
}

/// The states of a lower block that differ only in their lowest two pieces.
struct StateTriangle {
    /// The lowest of the other pieces. `None` stands for the group's own
    /// lowest piece, if `slice_pieces` is one.
    apex: Option<u8>,
    /// The first bit of the triangle in the slices of the lowest two cells.
    bit: u64,
    /// The other pieces as movers: the cell, and the first bit of the triangle in its slice.
    runs: Vec<(u8, u64)>,
}

/// Two cells that a jump connects, in either direction, and the cell between them.
#[derive(Clone, Copy)]
struct JumpPair {
    ends: [u8; 2],
    over: u8,
}

/// The buffers of one thread.
pub(crate) struct ExpanderScratch {
    /// The slices of a group, one per cell, each with a spare word.
    bit_slices: Vec<u64>,
    stride: usize,
    matrix: BitMatrix,
    triangle: Vec<u64>,
    jumps: GroupJumps,
    successors: u64,
}

impl ExpanderScratch {
    /// Returns the number of successors since the last call, and resets it. A
    /// successor counts once for each context that it shares with the layer.
    pub fn take_successors(&mut self) -> u64 {
        std::mem::take(&mut self.successors)
    }
}

#[derive(Default)]
struct GroupJumps {
    /// Jumps over upper pieces, which all contexts of the group have.
    over_upper: Vec<JumpPair>,
    /// Jumps over cells where only some contexts of the group have a piece.
    over_lower: Vec<JumpPair>,
}

/// A layer, the states seen up to it, and the next layer.
pub(crate) struct LayerBitmaps<'a> {
    pub offsets: &'a BitOffsets,
    pub frontier: &'a [u64],
    /// A state is seen if either bitmap contains it.
    pub seen: [&'a [u64]; 2],
    pub next: &'a [AtomicU64],
    /// Set when a successor lies outside the prefix.
    pub escapes: &'a AtomicBool,
}

impl LayerBitmaps<'_> {
    #[inline(always)]
    fn unseen(&self, word: usize) -> u64 {
        !(self.seen[0][word] | self.seen[1][word])
    }

    /// Returns whether one of `len` states from position `start` on is unseen.
    #[inline]
    fn any_unseen(&self, start: u64, len: u64) -> bool {
        let (first, last) = ((start / 64) as usize, ((start + len - 1) / 64) as usize);
        if first == last {
            return (self.unseen(first) >> (start % 64)) & low_mask(len) != 0;
        }
        self.unseen(first) >> (start % 64) != 0
            || (first + 1..last).any(|word| self.unseen(word) != 0)
            || self.unseen(last) & low_mask((start + len - 1) % 64 + 1) != 0
    }

    /// Adds the unseen states of `states` to the next layer. Bit `i` stands for
    /// the state at position `start + i`.
    #[inline(always)]
    pub fn reach(&self, start: u64, states: u64) {
        if states == 0 {
            return;
        }
        let (word, shift) = ((start / 64) as usize, start % 64);
        self.reach_word(word, states << shift);
        // Two shifts, because a shift by 64 is not defined if `shift` is 0.
        self.reach_word(word + 1, states >> 1 >> (63 - shift));
    }

    /// A state is new only once, so the atomic operation is rare.
    #[inline(always)]
    fn reach_word(&self, word: usize, states: u64) {
        if states != 0 {
            let new = states & self.unseen(word) & !self.next[word].load(Relaxed);
            if new != 0 {
                self.next[word].fetch_or(new, Relaxed);
            }
        }
    }
}

impl Expander {
    /// Prepares the expansion of groups with `slice_pieces` lower pieces. The
    /// board must have at least two pieces.
    pub fn new(prefix: Prefix, slice_pieces: usize) -> Expander {
        let board = prefix.board();
        let context_pieces = board.pieces() - 1;
        assert!(
            (1..=context_pieces).contains(&slice_pieces),
            "a context of {context_pieces} pieces has no {slice_pieces} lower pieces"
        );
        // The cells that the lower pieces can take if the upper pieces are the last ones.
        let room = prefix.within() - (context_pieces - slice_pieces);
        Expander {
            prefix,
            slice_pieces,
            occupied: occupancy_masks(board, slice_pieces, room),
            triangles: triangles(slice_pieces, room),
            jumps: jumps(board),
            neighbors: neighbors(board),
        }
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
            let room = prefix.within() - (context_pieces - slice_pieces);
            binomial(room, slice_pieces).map_or(u64::MAX, |contexts| contexts / 8) * prefix.board().cells() as u64
        };
        (1..context_pieces).rev().find(|&slice_pieces| bytes(slice_pieces) <= max_bytes).unwrap_or(1)
    }

    /// Returns an upper bound of the memory of an expander, in bytes.
    pub fn memory(prefix: Prefix, slice_pieces: usize) -> u64 {
        let room = prefix.within() - (prefix.board().pieces() - 1 - slice_pieces);
        let masks = 8 * prefix.board().cells() * slice_words(choose(room, slice_pieces));
        masks as u64 + choose(room, slice_pieces - 1) * (64 + 16 * slice_pieces as u64)
    }

    /// Returns an upper bound of the memory of an [`ExpanderScratch`], in bytes.
    pub fn scratch_memory(prefix: Prefix, slice_pieces: usize) -> u64 {
        let room = prefix.within() - (prefix.board().pieces() - 1 - slice_pieces);
        (8 * prefix.board().cells() * (slice_words(choose(room, slice_pieces)) + 1) + (16 << 10)) as u64
    }

    /// Returns the number of 64-bit words in the slices of all groups. The time
    /// per layer is proportional to this number.
    pub fn work(prefix: Prefix, slice_pieces: usize) -> u64 {
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
        choose(self.prefix.within(), self.upper_pieces())
    }

    fn upper_pieces(&self) -> usize {
        self.prefix.board().pieces() - 1 - self.slice_pieces
    }

    pub fn scratch(&self) -> ExpanderScratch {
        let within = self.prefix.within() as u64;
        ExpanderScratch {
            bit_slices: Vec::new(),
            stride: 0,
            matrix: BitMatrix::new(),
            triangle: vec![0; words_for(within * within / 2)],
            jumps: GroupJumps::default(),
            successors: 0,
        }
    }

    /// Adds the unseen successors of all moves whose context is in this group to the next layer.
    pub fn expand_group(&self, number: u64, layer: &LayerBitmaps, scratch: &mut ExpanderScratch) {
        let upper = Rank(number).state(self.upper_pieces()).cells();
        let lowest = upper.first().map_or(self.prefix.within(), Cell::index);
        if lowest < self.slice_pieces {
            return;
        }
        let group = ContextGroup::new(self, upper, lowest, layer.offsets);
        scratch.stride = slice_words(group.contexts) + 1;
        scratch.bit_slices.clear();
        scratch.bit_slices.resize(self.prefix.board().cells() * scratch.stride, 0);
        group.gather_above(layer, scratch);
        group.gather_below(layer, scratch);
        group.jumps(&mut scratch.jumps);
        if group.move_all(layer, scratch) {
            group.scatter_above(layer, scratch);
            group.scatter_below(layer, scratch);
        }
    }
}

/// Returns the words of a slice, a whole number of batches.
fn slice_words(contexts: u64) -> usize {
    match contexts.div_ceil(64) as usize {
        words @ 0..=4 => words.next_power_of_two(),
        words => words.next_multiple_of(BATCH_WORDS),
    }
}

/// Returns for each cell a mask with one bit per set of `slice_pieces` cells
/// below `room`, which is set if the set contains the cell.
fn occupancy_masks(board: Board, slice_pieces: usize, room: usize) -> Vec<Vec<u64>> {
    let count = choose(room, slice_pieces);
    let words = slice_words(count);
    let mut occupied = vec![vec![0; words]; board.cells()];
    for (rank, set) in States::of_ranks(slice_pieces, 0..count) {
        for cell in set.cells() {
            occupied[cell.index()][(rank.0 / 64) as usize] |= 1 << (rank.0 % 64);
        }
    }
    occupied
}

fn triangles(slice_pieces: usize, room: usize) -> Vec<StateTriangle> {
    let mut bit = 0;
    let sets = States::of_ranks(slice_pieces - 1, 0..choose(room, slice_pieces - 1));
    sets.map(|(_, set)| {
        let set = set.cells();
        let apex = set.first().map(|cell| cell.index() as u8);
        // The lowest two pieces come first, so the others start at the third place.
        let run = |mover: Cell| {
            let rest = set.without(mover).iter().enumerate();
            (mover.index() as u8, rest.map(|(i, cell)| choose(cell.index(), i + 3)).sum())
        };
        let triangle = StateTriangle { apex, bit, runs: set.iter().map(run).collect() };
        bit += apex.map_or(0, u64::from);
        triangle
    })
    .collect()
}

fn jumps(board: Board) -> Vec<JumpPair> {
    let cells = (0..board.cells()).map(Cell::new);
    let jumps = cells.flat_map(|from| board.geometry().jumps(from).iter().map(move |jump| (from, jump)));
    let once = jumps.filter(|(from, jump)| *from < jump.to);
    let mut jumps: Vec<JumpPair> = once
        .map(|(from, jump)| JumpPair {
            ends: [from.index() as u8, jump.to.index() as u8],
            over: jump.over.index() as u8,
        })
        .collect();
    jumps.sort_by_key(|jump| jump.over);
    jumps
}

fn neighbors(board: Board) -> Vec<Vec<u8>> {
    let cells = (0..board.cells()).map(Cell::new);
    cells.map(|cell| board.geometry().neighbors(cell).iter().map(|c| c.index() as u8).collect()).collect()
}

/// The contexts that share their upper pieces.
struct ContextGroup<'a> {
    expander: &'a Expander,
    offsets: &'a BitOffsets,
    upper: CellSet,
    /// The lowest upper piece. The lower pieces stand below this piece.
    lowest: usize,
    contexts: u64,
    /// The position of the first state of the lower block.
    below_start: u64,
}

impl<'a> ContextGroup<'a> {
    fn new(expander: &'a Expander, upper: CellSet, lowest: usize, offsets: &'a BitOffsets) -> ContextGroup<'a> {
        let contexts = choose(lowest, expander.slice_pieces);
        let below_start = rank_above(upper, expander.slice_pieces + 1) - offsets.below;
        ContextGroup { expander, offsets, upper, lowest, contexts, below_start }
    }

    /// Iterates over the cells of a mover above the lower pieces, each with
    /// the position of its first state.
    fn cells_above(&self) -> impl Iterator<Item = (usize, u64)> + use<'a> {
        let (upper, slice_pieces, offsets) = (self.upper, self.expander.slice_pieces, self.offsets);
        let cells = self.expander.prefix.cells() - CellSet::first_cells(self.lowest) - upper;
        let position =
            move |cell: Cell| rank_above(upper.with(cell), slice_pieces).wrapping_sub(offsets.above[cell.index()]);
        cells.iter().map(move |cell| (cell.index(), position(cell)))
    }

    fn gather_above(&self, layer: &LayerBitmaps, scratch: &mut ExpanderScratch) {
        for (cell, start) in self.cells_above() {
            let slice = &mut scratch.bit_slices[cell * scratch.stride..];
            let mut done = 0;
            for word in slice.iter_mut().take(self.contexts.div_ceil(64) as usize) {
                *word = load(layer.frontier, start + done) & low_mask(self.contexts - done);
                done += 64;
            }
        }
    }

    /// Iterates over the triangles of the lower block, each with its apex, the
    /// position of its first state, and its number of states.
    fn triangles(&self) -> impl Iterator<Item = (&'a StateTriangle, usize, u64, u64)> + use<'a> {
        let count = choose(self.lowest, self.expander.slice_pieces - 1) as usize;
        let (lowest, mut start) = (self.lowest, self.below_start);
        self.expander.triangles[..count].iter().filter_map(move |triangle| {
            let apex = triangle.apex.map_or(lowest, usize::from);
            let (first, states) = (start, choose(apex, 2));
            start += states;
            (states > 0).then_some((triangle, apex, first, states))
        })
    }

    fn gather_below(&self, layer: &LayerBitmaps, scratch: &mut ExpanderScratch) {
        let ExpanderScratch { bit_slices, stride, matrix, .. } = scratch;
        for (triangle, apex, start, states) in self.triangles() {
            if !any_set(layer.frontier, start, states) {
                continue;
            }
            let mut row_start = start;
            for y in 0..apex {
                let bits = y as u64;
                matrix.near[y] = load(layer.frontier, row_start) & low_mask(bits);
                matrix.far[y] = match bits > 64 {
                    true => load(layer.frontier, row_start + 64) & low_mask(bits - 64),
                    false => 0,
                };
                row_start += bits;
            }
            clear_rows(matrix, apex);
            matrix.symmetrize(apex);
            for cell in 0..apex {
                let slice = &mut bit_slices[cell * *stride..][..*stride];
                or_at(slice, triangle.bit, matrix.near[cell]);
                if apex > 64 {
                    or_at(slice, triangle.bit + 64, matrix.far[cell]);
                }
            }
            for &(cell, offset) in &triangle.runs {
                let slice = &mut bit_slices[usize::from(cell) * *stride..][..*stride];
                or_run(slice, offset, layer.frontier, start, states);
            }
        }
    }

    /// Selects the jumps that some context of the group allows.
    fn jumps(&self, jumps: &mut GroupJumps) {
        jumps.over_upper.clear();
        jumps.over_lower.clear();
        for jump in &self.expander.jumps {
            if jump.ends.iter().any(|&end| self.upper.contains(Cell::new(usize::from(end)))) {
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
    /// away, which may include some of the layer. Returns whether there are any
    /// such states.
    fn move_all(&self, layer: &LayerBitmaps, scratch: &mut ExpanderScratch) -> bool {
        let words = self.contexts.div_ceil(64) as usize;
        let mut any = false;
        let mut at = 0;
        while at < words {
            any |= match words - at {
                1 => self.move_words::<1>(at, layer, scratch),
                2 => self.move_words::<2>(at, layer, scratch),
                3 | 4 => self.move_words::<4>(at, layer, scratch),
                _ => self.move_words::<BATCH_WORDS>(at, layer, scratch),
            };
            at += BATCH_WORDS;
        }
        any
    }

    fn move_words<const W: usize>(&self, at: usize, layer: &LayerBitmaps, scratch: &mut ExpanderScratch) -> bool {
        let ExpanderScratch { bit_slices, stride, jumps, successors, .. } = scratch;
        let cells = self.expander.prefix.board().cells();
        let mut before = [[0u64; W]; MAX_CELLS];
        let mut occupied = [[0u64; W]; MAX_CELLS];
        let mut any = [0u64; W];
        for cell in 0..cells {
            before[cell].copy_from_slice(&bit_slices[cell * *stride + at..][..W]);
            occupied[cell].copy_from_slice(&self.expander.occupied[cell][at..][..W]);
            any = or(any, before[cell]);
        }
        if any == [0; W] {
            return false;
        }
        let mut reached = before;
        chain_jumps(&mut reached, &occupied, jumps);
        for cell in 0..cells {
            // The upper pieces occupy these cells in all contexts.
            if self.upper.contains(Cell::new(cell)) {
                continue;
            }
            let mut slice = reached[cell];
            for &neighbor in &self.expander.neighbors[cell] {
                slice = or(slice, before[usize::from(neighbor)]);
            }
            for ((word, occupied), before) in slice.iter_mut().zip(occupied[cell]).zip(before[cell]) {
                *word &= !occupied;
                *successors += u64::from((*word & !before).count_ones());
            }
            bit_slices[cell * *stride + at..][..W].copy_from_slice(&slice);
            if cell >= self.expander.prefix.within() && slice != [0; W] {
                layer.escapes.store(true, Relaxed);
            }
        }
        true
    }

    fn scatter_above(&self, layer: &LayerBitmaps, scratch: &ExpanderScratch) {
        for (cell, start) in self.cells_above() {
            let slice = &scratch.bit_slices[cell * scratch.stride..];
            for (word, &states) in slice.iter().take(self.contexts.div_ceil(64) as usize).enumerate() {
                layer.reach(start + 64 * word as u64, states);
            }
        }
    }

    fn scatter_below(&self, layer: &LayerBitmaps, scratch: &mut ExpanderScratch) {
        let ExpanderScratch { bit_slices, stride, matrix, triangle: packed, .. } = scratch;
        for (triangle, apex, start, states) in self.triangles() {
            if !layer.any_unseen(start, states) {
                continue;
            }
            for cell in 0..apex {
                let slice = &bit_slices[cell * *stride..][..*stride];
                matrix.near[cell] = load(slice, triangle.bit) & low_mask(apex as u64);
                matrix.far[cell] = match apex > 64 {
                    true => load(slice, triangle.bit + 64) & low_mask(apex as u64 - 64),
                    false => 0,
                };
            }
            clear_rows(matrix, apex);
            matrix.symmetrize(apex);
            let packed = &mut packed[..(states / 64) as usize + 2];
            packed.fill(0);
            let mut row_start = 0;
            for y in 0..apex {
                let bits = y as u64;
                or_at(packed, row_start, matrix.near[y] & low_mask(bits));
                if bits > 64 {
                    or_at(packed, row_start + 64, matrix.far[y] & low_mask(bits - 64));
                }
                row_start += bits;
            }
            for &(cell, offset) in &triangle.runs {
                or_run(packed, 0, &bit_slices[usize::from(cell) * *stride..][..*stride], offset, states);
            }
            for (word, &states) in packed.iter().enumerate() {
                layer.reach(start + 64 * word as u64, states);
            }
        }
    }
}

/// Clears the rows between `size` and the power of two that is transposed.
fn clear_rows(matrix: &mut BitMatrix, size: usize) {
    let rows = size.next_power_of_two().max(8);
    matrix.near[size..rows].fill(0);
    matrix.far[size..rows].fill(0);
}

#[inline]
fn any_set(words: &[u64], start: u64, len: u64) -> bool {
    let mut done = 0;
    while done < len {
        if load(words, start + done) & low_mask(len - done) != 0 {
            return true;
        }
        done += 64;
    }
    false
}

#[inline(always)]
fn or<const W: usize>(a: [u64; W], b: [u64; W]) -> [u64; W] {
    std::array::from_fn(|i| a[i] | b[i])
}

/// Adds to each slice the states that chains of jumps reach. Repeats all jumps until
/// nothing changes.
fn chain_jumps<const W: usize>(
    reached: &mut [[u64; W]; MAX_CELLS],
    occupied: &[[u64; W]; MAX_CELLS],
    jumps: &GroupJumps,
) {
    loop {
        let mut changed = [0u64; W];
        for jump in &jumps.over_upper {
            join(reached, occupied, [u64::MAX; W], jump, &mut changed);
        }
        for jump in &jumps.over_lower {
            join(reached, occupied, occupied[usize::from(jump.over) % MAX_CELLS], jump, &mut changed);
        }
        if changed == [0; W] {
            return;
        }
    }
}

#[inline(always)]
fn join<const W: usize>(
    reached: &mut [[u64; W]; MAX_CELLS],
    occupied: &[[u64; W]; MAX_CELLS],
    over: [u64; W],
    jump: &JumpPair,
    changed: &mut [u64; W],
) {
    let [a, b] = jump.ends.map(|end| usize::from(end) % MAX_CELLS);
    let (at_a, at_b) = (reached[a], reached[b]);
    let (occupied_a, occupied_b) = (occupied[a], occupied[b]);
    let mut new_a = [0; W];
    let mut new_b = [0; W];
    for i in 0..W {
        new_a[i] = at_a[i] | (at_b[i] & over[i] & !occupied_a[i]);
        new_b[i] = at_b[i] | (at_a[i] & over[i] & !occupied_b[i]);
        changed[i] |= (new_a[i] ^ at_a[i]) | (new_b[i] ^ at_b[i]);
    }
    reached[a] = new_a;
    reached[b] = new_b;
}
