//! The successors of a layer, many states at a time.
//!
//! A move leaves all pieces but one where they stand. Call those the
//! *context* of the move: within a context the mover's cells are joined by
//! steps and by chains of jumps over the context's pieces, whatever else is
//! in the layer. So a layer is expanded context by context, for all cells of
//! the mover at once, and for very many contexts at once, one bit each.
//!
//! A *group* is the contexts that share their upper pieces, and differ in
//! their `lanes` lowest pieces, all below the upper ones. A *plane* is, for
//! one cell of the mover, one bit a context of the group: whether the context
//! with the mover on this cell is in the layer. Steps and jumps are word
//! operations between planes.
//!
//! States are numbered by rank, so a plane is nothing but a run of the
//! layer's bitmap where the mover stands above the group's lowest piece `v`.
//! Where it stands below, the planes come from the *block* of the group, the
//! states whose pieces below `v` are one more than the lanes. A block is a
//! row of *triangles*: for fixed upper `lanes - 1` of its pieces, the lowest
//! two, `x < y`. The plane of `x` reads a triangle by columns and that of `y`
//! by rows, which is what a symmetric matrix holds.
//!
//! The bitmaps need not hold all states: [`Places`] says where those are that
//! the groups at hand take part in.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use sternhalma_data::board::binomial;
use sternhalma_data::{Board, Cell, CellSet, Prefix, Rank};

use crate::bits::{Square, load, low_mask, or_at, or_run};

/// The most words of a plane that are worked on at once.
const CHUNK: usize = 8;

/// A board has at most 121 cells; with 128 planes an index needs no check.
pub(crate) const PLANES: usize = 128;

pub(crate) fn choose(n: usize, k: usize) -> u64 {
    binomial(n, k).expect("counts of a board's states fit in 64 bits")
}

/// Everything about a prefix that does not change from layer to layer.
pub(crate) struct Expander {
    prefix: Prefix,
    /// Pieces of a context that differ within a group.
    lanes: usize,
    /// For each cell, the contexts of a group that have a piece there. The
    /// same for all groups, because the lanes are ranked from the first cell.
    has: Vec<Vec<u64>>,
    /// The triangles of a block in order; a group has the first few.
    triangles: Vec<Triangle>,
    hops: Vec<Hop>,
    neighbors: Vec<Vec<u8>>,
}

/// The states of a block with the same pieces but the two lowest.
struct Triangle {
    /// The lowest of those pieces: both others are below. `None` stands for
    /// the group's own lowest piece where the lanes are one.
    apex: Option<u8>,
    /// Where, in the plane of either of the two lowest cells, the bits begin
    /// that belong to the other.
    lane: u64,
    /// The same pieces as movers: their plane, and where the triangle begins in it.
    runs: Vec<(u8, u64)>,
}

/// Two cells a jump joins, in either direction, and the cell jumped over.
#[derive(Clone, Copy)]
struct Hop {
    ends: [u8; 2],
    over: u8,
}

/// What one thread works in.
pub(crate) struct Scratch {
    /// The planes of a group one after the other, each with a spare word.
    planes: Vec<u64>,
    stride: usize,
    square: Square,
    triangle: Vec<u64>,
    hops: GroupHops,
    successors: u64,
}

impl Scratch {
    /// How many successors have been met since this was last asked: states a
    /// move away from the layer, once for each context they share with it.
    pub fn take_successors(&mut self) -> u64 {
        std::mem::take(&mut self.successors)
    }
}

#[derive(Default)]
struct GroupHops {
    /// Over upper pieces, which every context of the group has.
    always: Vec<Hop>,
    /// Over cells where a lane may have a piece.
    sometimes: Vec<Hop>,
}

/// Where in the bitmaps the states of some groups are: at their rank less an
/// offset, which depends on the cell of the mover.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// For movers below the lowest of the upper pieces all groups share.
    pub block: u64,
    /// For a mover on each cell above that.
    pub above: [u64; PLANES],
}

impl Places {
    /// Bitmaps of all states by rank.
    pub const ALL: Places = Places { block: 0, above: [0; PLANES] };
}

/// A layer, what has been seen up to it, and the layer to come.
pub(crate) struct Layer<'a> {
    pub places: &'a Places,
    pub frontier: &'a [u64],
    /// A state is seen if either bitmap has it.
    pub seen: [&'a [u64]; 2],
    pub next: &'a [AtomicU64],
    /// Set when a successor lies outside the prefix.
    pub escapes: &'a AtomicBool,
}

impl Layer<'_> {
    #[inline(always)]
    fn unseen(&self, word: usize) -> u64 {
        !(self.seen[0][word] | self.seen[1][word])
    }

    /// Whether one of `len` states from place `start` on has not been seen.
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

    /// Adds those of 64 states from place `start` on that have not been seen.
    #[inline(always)]
    pub fn reach(&self, start: u64, states: u64) {
        if states == 0 {
            return;
        }
        let (word, shift) = ((start / 64) as usize, start % 64);
        self.reach_word(word, states << shift);
        self.reach_word(word + 1, states >> 1 >> (63 - shift));
    }

    /// A state is reached for the first time once, so the atomic operation is rare.
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
    /// Needs at least two pieces.
    pub fn new(prefix: Prefix, lanes: usize) -> Expander {
        let board = prefix.board();
        let still = board.pieces() - 1;
        assert!((1..=still).contains(&lanes), "a context has {still} pieces, of which {lanes} cannot be lanes");
        // The upper pieces take at least this many cells away from the lanes.
        let room = prefix.within() - (still - lanes);
        Expander {
            prefix,
            lanes,
            has: lane_masks(board, lanes, room),
            triangles: triangles(lanes, room),
            hops: hops(board),
            neighbors: neighbors(board),
        }
    }

    /// An upper bound of the bytes an expander takes.
    pub fn memory(prefix: Prefix, lanes: usize) -> u64 {
        let room = prefix.within() - (prefix.board().pieces() - 1 - lanes);
        let masks = 8 * prefix.board().cells() * plane_words(choose(room, lanes));
        masks as u64 + choose(room, lanes - 1) * (64 + 16 * lanes as u64)
    }

    /// An upper bound of the bytes a [`Scratch`] takes.
    pub fn scratch_memory(prefix: Prefix, lanes: usize) -> u64 {
        let room = prefix.within() - (prefix.board().pieces() - 1 - lanes);
        (8 * prefix.board().cells() * (plane_words(choose(room, lanes)) + 1) + (16 << 10)) as u64
    }

    /// The words of the planes of all groups: what the work on a layer grows with.
    pub fn work(prefix: Prefix, lanes: usize) -> u64 {
        let (cells, upper) = (prefix.board().cells() as u64, prefix.board().pieces() - 1 - lanes);
        let words = |lowest: usize| cells * plane_words(choose(lowest, lanes)) as u64;
        match upper {
            0 => words(prefix.within()),
            // So many sets of upper pieces have this one lowest.
            _ => (lanes..prefix.within())
                .map(|lowest| choose(prefix.within() - lowest - 1, upper - 1) * words(lowest))
                .sum(),
        }
    }

    /// The groups: ranks of the sets of upper pieces.
    pub fn groups(&self) -> u64 {
        choose(self.prefix.within(), self.upper_pieces())
    }

    fn upper_pieces(&self) -> usize {
        self.prefix.board().pieces() - 1 - self.lanes
    }

    pub fn scratch(&self) -> Scratch {
        let within = self.prefix.within() as u64;
        Scratch {
            planes: Vec::new(),
            stride: 0,
            square: Square::new(),
            triangle: vec![0; crate::bits::words_for(within * within / 2)],
            hops: GroupHops::default(),
            successors: 0,
        }
    }

    /// Adds to the next layer every unseen successor by a move whose context
    /// is in the group with this number.
    pub fn expand_group(&self, number: u64, layer: &Layer, scratch: &mut Scratch) {
        let upper = Rank(number).state(self.upper_pieces()).cells();
        let lowest = upper.first().map_or(self.prefix.within(), Cell::index);
        if lowest < self.lanes {
            return;
        }
        let group = Group::new(self, upper, lowest, layer.places);
        scratch.stride = plane_words(group.contexts) + 1;
        scratch.planes.clear();
        scratch.planes.resize(self.prefix.board().cells() * scratch.stride, 0);
        group.gather_above(layer, scratch);
        group.gather_block(layer, scratch);
        group.hops(&mut scratch.hops);
        if group.move_all(layer, scratch) {
            group.scatter_above(layer, scratch);
            group.scatter_block(layer, scratch);
        }
    }
}

/// The words of a plane, a whole number of chunks.
fn plane_words(contexts: u64) -> usize {
    match contexts.div_ceil(64) as usize {
        words @ 0..=4 => words.next_power_of_two(),
        words => words.next_multiple_of(CHUNK),
    }
}

/// For each cell, a bit a set of `lanes` cells below `room`: whether it has the cell.
fn lane_masks(board: Board, lanes: usize, room: usize) -> Vec<Vec<u64>> {
    let count = choose(room, lanes);
    let words = plane_words(count);
    let mut has = vec![vec![0; words]; board.cells()];
    for (rank, set) in sternhalma_data::States::of_ranks(lanes, 0..count) {
        for cell in set.cells() {
            has[cell.index()][(rank.0 / 64) as usize] |= 1 << (rank.0 % 64);
        }
    }
    has
}

fn triangles(lanes: usize, room: usize) -> Vec<Triangle> {
    let mut lane = 0;
    let sets = sternhalma_data::States::of_ranks(lanes - 1, 0..choose(room, lanes - 1));
    sets.map(|(_, set)| {
        let set = set.cells();
        let apex = set.first().map(|cell| cell.index() as u8);
        // The other two of the lanes are the lowest, so the rest keep their
        // order from the third place on, and count from there.
        let run = |mover: Cell| {
            let rest = set.without(mover).iter().enumerate();
            (mover.index() as u8, rest.map(|(i, cell)| choose(cell.index(), i + 3)).sum())
        };
        let triangle = Triangle { apex, lane, runs: set.iter().map(run).collect() };
        lane += apex.map_or(0, u64::from);
        triangle
    })
    .collect()
}

fn hops(board: Board) -> Vec<Hop> {
    let cells = (0..board.cells()).map(Cell::new);
    let jumps = cells.flat_map(|from| board.geometry().jumps(from).iter().map(move |jump| (from, jump)));
    let once = jumps.filter(|(from, jump)| *from < jump.to);
    let mut hops: Vec<Hop> = once
        .map(|(from, jump)| Hop { ends: [from.index() as u8, jump.to.index() as u8], over: jump.over.index() as u8 })
        .collect();
    hops.sort_by_key(|hop| hop.over);
    hops
}

fn neighbors(board: Board) -> Vec<Vec<u8>> {
    let cells = (0..board.cells()).map(Cell::new);
    cells.map(|cell| board.geometry().neighbors(cell).iter().map(|c| c.index() as u8).collect()).collect()
}

/// The contexts with the same upper pieces.
struct Group<'a> {
    expander: &'a Expander,
    places: &'a Places,
    upper: CellSet,
    /// The lanes' cells, and the block's, are below.
    lowest: usize,
    contexts: u64,
    /// The place of the block's first state.
    block_start: u64,
}

impl<'a> Group<'a> {
    fn new(expander: &'a Expander, upper: CellSet, lowest: usize, places: &'a Places) -> Group<'a> {
        let contexts = choose(lowest, expander.lanes);
        let block_start = rank_above(upper, expander.lanes + 1) - places.block;
        Group { expander, places, upper, lowest, contexts, block_start }
    }

    /// The cells above the lanes where the mover's state is in the prefix,
    /// each with the place of its first.
    fn cells_above(&self) -> impl Iterator<Item = (usize, u64)> + use<'a> {
        let (upper, lanes, places) = (self.upper, self.expander.lanes, self.places);
        let cells = self.expander.prefix.cells() - CellSet::first_cells(self.lowest) - upper;
        let place = move |cell: Cell| rank_above(upper.with(cell), lanes).wrapping_sub(places.above[cell.index()]);
        cells.iter().map(move |cell| (cell.index(), place(cell)))
    }

    fn gather_above(&self, layer: &Layer, scratch: &mut Scratch) {
        for (cell, start) in self.cells_above() {
            let plane = &mut scratch.planes[cell * scratch.stride..];
            let mut done = 0;
            for word in plane.iter_mut().take(self.contexts.div_ceil(64) as usize) {
                *word = load(layer.frontier, start + done) & low_mask(self.contexts - done);
                done += 64;
            }
        }
    }

    /// The triangles of the block: apex, place of the first state, states.
    fn triangles(&self) -> impl Iterator<Item = (&'a Triangle, usize, u64, u64)> + use<'a> {
        let count = choose(self.lowest, self.expander.lanes - 1) as usize;
        let (lowest, mut start) = (self.lowest, self.block_start);
        self.expander.triangles[..count].iter().filter_map(move |triangle| {
            let apex = triangle.apex.map_or(lowest, usize::from);
            let (first, states) = (start, choose(apex, 2));
            start += states;
            (states > 0).then_some((triangle, apex, first, states))
        })
    }

    fn gather_block(&self, layer: &Layer, scratch: &mut Scratch) {
        let Scratch { planes, stride, square, .. } = scratch;
        for (triangle, apex, start, states) in self.triangles() {
            if !any_set(layer.frontier, start, states) {
                continue;
            }
            let mut row_start = start;
            for y in 0..apex {
                let bits = y as u64;
                square.near[y] = load(layer.frontier, row_start) & low_mask(bits);
                square.far[y] = match bits > 64 {
                    true => load(layer.frontier, row_start + 64) & low_mask(bits - 64),
                    false => 0,
                };
                row_start += bits;
            }
            clear_rows(square, apex);
            square.symmetrize(apex);
            for cell in 0..apex {
                let plane = &mut planes[cell * *stride..][..*stride];
                or_at(plane, triangle.lane, square.near[cell]);
                if apex > 64 {
                    or_at(plane, triangle.lane + 64, square.far[cell]);
                }
            }
            for &(cell, offset) in &triangle.runs {
                let plane = &mut planes[usize::from(cell) * *stride..][..*stride];
                or_run(plane, offset, layer.frontier, start, states);
            }
        }
    }

    /// The hops that some context of the group may use.
    fn hops(&self, hops: &mut GroupHops) {
        hops.always.clear();
        hops.sometimes.clear();
        for hop in &self.expander.hops {
            if hop.ends.iter().any(|&end| self.upper.contains(Cell::new(usize::from(end)))) {
                continue;
            }
            if self.upper.contains(Cell::new(usize::from(hop.over))) {
                hops.always.push(*hop);
            } else if usize::from(hop.over) < self.lowest {
                hops.sometimes.push(*hop);
            }
        }
    }

    /// Turns every plane from the states of the layer to those one move away
    /// (and maybe some of the layer itself). False if there are none.
    fn move_all(&self, layer: &Layer, scratch: &mut Scratch) -> bool {
        let words = self.contexts.div_ceil(64) as usize;
        let mut any = false;
        let mut at = 0;
        while at < words {
            any |= match words - at {
                1 => self.move_chunk::<1>(at, layer, scratch),
                2 => self.move_chunk::<2>(at, layer, scratch),
                3 | 4 => self.move_chunk::<4>(at, layer, scratch),
                _ => self.move_chunk::<CHUNK>(at, layer, scratch),
            };
            at += CHUNK;
        }
        any
    }

    fn move_chunk<const W: usize>(&self, at: usize, layer: &Layer, scratch: &mut Scratch) -> bool {
        let Scratch { planes, stride, hops, successors, .. } = scratch;
        let cells = self.expander.prefix.board().cells();
        let mut before = [[0u64; W]; PLANES];
        let mut has = [[0u64; W]; PLANES];
        let mut any = [0u64; W];
        for cell in 0..cells {
            before[cell].copy_from_slice(&planes[cell * *stride + at..][..W]);
            has[cell].copy_from_slice(&self.expander.has[cell][at..][..W]);
            any = or(any, before[cell]);
        }
        if any == [0; W] {
            return false;
        }
        let mut reached = before;
        chain_jumps(&mut reached, &has, hops);
        for cell in 0..cells {
            // What steps onto the upper pieces goes nowhere.
            if self.upper.contains(Cell::new(cell)) {
                continue;
            }
            let mut plane = reached[cell];
            for &neighbor in &self.expander.neighbors[cell] {
                plane = or(plane, before[usize::from(neighbor)]);
            }
            for ((word, has), before) in plane.iter_mut().zip(has[cell]).zip(before[cell]) {
                *word &= !has;
                *successors += u64::from((*word & !before).count_ones());
            }
            planes[cell * *stride + at..][..W].copy_from_slice(&plane);
            if cell >= self.expander.prefix.within() && plane != [0; W] {
                layer.escapes.store(true, Relaxed);
            }
        }
        true
    }

    fn scatter_above(&self, layer: &Layer, scratch: &Scratch) {
        for (cell, start) in self.cells_above() {
            let plane = &scratch.planes[cell * scratch.stride..];
            for (word, &states) in plane.iter().take(self.contexts.div_ceil(64) as usize).enumerate() {
                layer.reach(start + 64 * word as u64, states);
            }
        }
    }

    fn scatter_block(&self, layer: &Layer, scratch: &mut Scratch) {
        let Scratch { planes, stride, square, triangle: packed, .. } = scratch;
        for (triangle, apex, start, states) in self.triangles() {
            if !layer.any_unseen(start, states) {
                continue;
            }
            for cell in 0..apex {
                let plane = &planes[cell * *stride..][..*stride];
                square.near[cell] = load(plane, triangle.lane) & low_mask(apex as u64);
                square.far[cell] = match apex > 64 {
                    true => load(plane, triangle.lane + 64) & low_mask(apex as u64 - 64),
                    false => 0,
                };
            }
            clear_rows(square, apex);
            square.symmetrize(apex);
            let packed = &mut packed[..(states / 64) as usize + 2];
            packed.fill(0);
            let mut row_start = 0;
            for y in 0..apex {
                let bits = y as u64;
                or_at(packed, row_start, square.near[y] & low_mask(bits));
                if bits > 64 {
                    or_at(packed, row_start + 64, square.far[y] & low_mask(bits - 64));
                }
                row_start += bits;
            }
            for &(cell, offset) in &triangle.runs {
                or_run(packed, 0, &planes[usize::from(cell) * *stride..][..*stride], offset, states);
            }
            for (word, &states) in packed.iter().enumerate() {
                layer.reach(start + 64 * word as u64, states);
            }
        }
    }
}

/// The rank of the first state with these pieces and `below` pieces below them.
pub(crate) fn rank_above(pieces: CellSet, below: usize) -> u64 {
    pieces.iter().enumerate().map(|(i, cell)| choose(cell.index(), below + i + 1)).sum()
}

/// Leaves no row of an earlier matrix within the power of two that is transposed.
fn clear_rows(square: &mut Square, size: usize) {
    let rows = size.next_power_of_two().max(8);
    square.near[size..rows].fill(0);
    square.far[size..rows].fill(0);
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

/// Adds to each plane what chains of jumps reach, by going over the hops until
/// nothing changes.
fn chain_jumps<const W: usize>(reached: &mut [[u64; W]; PLANES], has: &[[u64; W]; PLANES], hops: &GroupHops) {
    loop {
        let mut changed = [0u64; W];
        for hop in &hops.always {
            join(reached, has, [u64::MAX; W], hop, &mut changed);
        }
        for hop in &hops.sometimes {
            join(reached, has, has[usize::from(hop.over) % PLANES], hop, &mut changed);
        }
        if changed == [0; W] {
            return;
        }
    }
}

#[inline(always)]
fn join<const W: usize>(
    reached: &mut [[u64; W]; PLANES],
    has: &[[u64; W]; PLANES],
    over: [u64; W],
    hop: &Hop,
    changed: &mut [u64; W],
) {
    let [a, b] = hop.ends.map(|end| usize::from(end) % PLANES);
    let (at_a, at_b) = (reached[a], reached[b]);
    let (has_a, has_b) = (has[a], has[b]);
    let mut new_a = [0; W];
    let mut new_b = [0; W];
    for i in 0..W {
        new_a[i] = at_a[i] | (at_b[i] & over[i] & !has_a[i]);
        new_b[i] = at_b[i] | (at_a[i] & over[i] & !has_b[i]);
        changed[i] |= (new_a[i] ^ at_a[i]) | (new_b[i] ^ at_b[i]);
    }
    reached[a] = new_a;
    reached[b] = new_b;
}
