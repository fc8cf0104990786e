//! The data about groups that is the same for all layers.

use sternhalma_data::board::choose;
use sternhalma_data::{Cell, CellSet, Geometry, Prefix, States};

use crate::ranks::MAX_CELLS;

/// The words of a slice that are expanded at once.
pub(super) const BATCH_WORDS: usize = 8;

/// The cells that an army can take, and the size of the army.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FieldSize {
    /// The cells of the field, numbered from 0.
    pub cells: usize,
    /// The states have all pieces on this many first cells. Moves to other cells leave the states.
    pub within: usize,
    pub pieces: usize,
}

impl From<Prefix> for FieldSize {
    fn from(prefix: Prefix) -> FieldSize {
        let board = prefix.board();
        FieldSize { cells: board.cells(), within: prefix.within(), pieces: board.pieces() }
    }
}

/// How the pieces of an army move on the cells of a field.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    neighbors: Vec<Vec<u8>>,
    /// The jumps over a cell of the field.
    jumps: Vec<JumpPair>,
    /// The jumps over an obstacle. All contexts have them.
    over_obstacles: Vec<JumpPair>,
}

/// The data about the groups of a field that is the same for all layers.
pub(super) struct GroupTables {
    pub size: FieldSize,
    /// The number of pieces of a context that differ within a group.
    pub slice_pieces: usize,
    /// For each cell, the contexts of a group with a piece there. The masks
    /// are the same for all groups, because the pieces are ranked from cell 0.
    pub occupied: Vec<Vec<u64>>,
    /// The triangles of a lower block in order. A group has the first few triangles.
    pub triangles: Vec<StateTriangle>,
}

/// The states of a lower block that differ only in their lowest two pieces.
pub(super) struct StateTriangle {
    /// The lowest of the other pieces. `None` stands for the group's own
    /// lowest piece, if `slice_pieces` is one.
    pub apex: Option<u8>,
    /// The first bit of the triangle in the slices of the lowest two cells.
    pub bit: u64,
    /// The other pieces as movers: the cell, and the first bit of the triangle in its slice.
    pub runs: Vec<(u8, u64)>,
}

/// What stands for the cell of an obstacle, which has no number.
const NO_CELL: u8 = u8::MAX;

/// Two cells that a jump connects, in either direction, and the cell between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct JumpPair {
    pub ends: [u8; 2],
    pub over: u8,
}

impl GroupTables {
    /// Prepares groups with `slice_pieces` lower pieces. The
    /// army must have at least two pieces.
    pub fn new(size: FieldSize, slice_pieces: usize) -> GroupTables {
        let context_pieces = size.pieces - 1;
        assert!(
            (1..=context_pieces).contains(&slice_pieces),
            "a context of {context_pieces} pieces has no {slice_pieces} lower pieces"
        );
        // The cells that the lower pieces can take if the upper pieces are the last ones.
        let room = lower_cells(size, slice_pieces);
        GroupTables {
            size,
            slice_pieces,
            occupied: occupancy_masks(size.cells, slice_pieces, room),
            triangles: triangles(slice_pieces, room),
        }
    }

    /// Returns the same tables with only the lowest two pieces of the triangles as movers.
    pub fn without_runs(mut self) -> GroupTables {
        self.triangles.iter_mut().for_each(|triangle| triangle.runs.clear());
        self
    }

    /// Returns the number of upper pieces of a group.
    pub fn upper_pieces(&self) -> usize {
        self.size.pieces - 1 - self.slice_pieces
    }
}

/// Returns the words of a slice, a whole number of batches.
pub(super) fn slice_words(contexts: u64) -> usize {
    match contexts.div_ceil(64) as usize {
        words @ 0..=4 => words.next_power_of_two(),
        words => words.next_multiple_of(BATCH_WORDS),
    }
}

/// Returns the number of cells on which the lower pieces of a context can stand: those that are left if the upper pieces
/// stand on the highest cells.
pub(super) fn lower_cells(size: FieldSize, slice_pieces: usize) -> usize {
    size.within - (size.pieces - 1 - slice_pieces)
}

/// Returns for each cell a mask with one bit per set of `slice_pieces` cells
/// below `room`, which is set if the set contains the cell.
fn occupancy_masks(cells: usize, slice_pieces: usize, room: usize) -> Vec<Vec<u64>> {
    let count = choose(room, slice_pieces);
    let words = slice_words(count);
    let mut occupied = vec![vec![0; words]; cells];
    for (rank, set) in States::of_ranks(slice_pieces, 0..count) {
        for cell in set.cells() {
            occupied[cell.index()][(rank.0 / 64) as usize] |= 1 << (rank.0 % 64);
        }
    }
    occupied
}

/// Returns a triangle per set of the pieces of a lower block above its two lowest ones, by the rank of the set. The bits
/// of the slices are in the same order, so a triangle, of `apex` bits for each lower cell, begins where the one before
/// ends.
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

impl Field {
    /// Returns the field of the cells without an obstacle, in their order.
    pub fn new(geometry: &Geometry, obstacles: CellSet) -> Field {
        let free = CellSet::first_cells(geometry.cells()) - obstacles;
        let mut numbers = [None; MAX_CELLS];
        free.iter().enumerate().for_each(|(number, cell)| numbers[cell.index()] = Some(number as u8));
        let number = |cell: Cell| numbers[cell.index()];
        let mut field = Field { neighbors: Vec::new(), jumps: Vec::new(), over_obstacles: Vec::new() };
        for (from, at) in free.iter().zip(0..) {
            field.neighbors.push(geometry.neighbors(from).iter().filter_map(number).collect());
            for jump in geometry.jumps(from).iter().filter(|jump| from < jump.to) {
                let Some(to) = number(jump.to) else { continue };
                match number(jump.over) {
                    Some(over) => field.jumps.push(JumpPair { ends: [at, to], over }),
                    None => field.over_obstacles.push(JumpPair { ends: [at, to], over: NO_CELL }),
                }
            }
        }
        field.jumps.sort_by_key(|jump| jump.over);
        field
    }

    /// Returns the cells one step from a cell.
    #[inline]
    pub(super) fn neighbors(&self, cell: usize) -> &[u8] {
        &self.neighbors[cell]
    }

    /// Returns the jumps over a cell of the field.
    pub(super) fn jumps(&self) -> &[JumpPair] {
        &self.jumps
    }

    /// Returns the jumps over obstacles.
    pub(super) fn over_obstacles(&self) -> &[JumpPair] {
        &self.over_obstacles
    }
}
