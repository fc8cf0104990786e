//! The data about groups that is the same for all layers.

use sternhalma_data::{Board, Cell, Prefix, States};

use sternhalma_data::board::choose;

/// The words of a slice that are expanded at once.
pub(super) const BATCH_WORDS: usize = 8;

/// The data about the groups of a prefix that is the same for all layers.
pub(super) struct GroupTables {
    pub prefix: Prefix,
    /// The number of pieces of a context that differ within a group.
    pub slice_pieces: usize,
    /// For each cell, the contexts of a group with a piece there. The masks
    /// are the same for all groups, because the pieces are ranked from cell 0.
    pub occupied: Vec<Vec<u64>>,
    /// The triangles of a lower block in order. A group has the first few triangles.
    pub triangles: Vec<StateTriangle>,
    pub jumps: Vec<JumpPair>,
    pub neighbors: Vec<Vec<u8>>,
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

/// Two cells that a jump connects, in either direction, and the cell between them.
#[derive(Clone, Copy)]
pub(super) struct JumpPair {
    pub ends: [u8; 2],
    pub over: u8,
}

impl GroupTables {
    /// Prepares groups with `slice_pieces` lower pieces. The
    /// board must have at least two pieces.
    pub fn new(prefix: Prefix, slice_pieces: usize) -> GroupTables {
        let board = prefix.board();
        let context_pieces = board.pieces() - 1;
        assert!(
            (1..=context_pieces).contains(&slice_pieces),
            "a context of {context_pieces} pieces has no {slice_pieces} lower pieces"
        );
        // The cells that the lower pieces can take if the upper pieces are the last ones.
        let room = lower_cells(prefix, slice_pieces);
        GroupTables {
            prefix,
            slice_pieces,
            occupied: occupancy_masks(board, slice_pieces, room),
            triangles: triangles(slice_pieces, room),
            jumps: jumps(board),
            neighbors: neighbors(board),
        }
    }

    /// Returns the number of upper pieces of a group.
    pub fn upper_pieces(&self) -> usize {
        self.prefix.board().pieces() - 1 - self.slice_pieces
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
pub(super) fn lower_cells(prefix: Prefix, slice_pieces: usize) -> usize {
    prefix.within() - (prefix.board().pieces() - 1 - slice_pieces)
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
