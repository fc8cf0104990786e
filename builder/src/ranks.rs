//! Ranks of states with given upper pieces, and their positions in bitmaps.

use sternhalma_data::CellSet;
use sternhalma_data::board::binomial;

/// An upper bound of the cells of a board (121). With a power of two, an
/// array access needs no bounds check.
pub(crate) const MAX_CELLS: usize = 128;

/// Returns the number of ways to choose `k` of `n` cells.
pub(crate) fn choose(n: usize, k: usize) -> u64 {
    binomial(n, k).expect("counts of a board's states fit in 64 bits")
}

/// Returns the rank of the first state with these pieces and `below` pieces below them.
pub(crate) fn rank_above(pieces: CellSet, below: usize) -> u64 {
    pieces.iter().enumerate().map(|(i, cell)| choose(cell.index(), below + i + 1)).sum()
}

/// The positions of states in a bitmap that holds only some of them.
///
/// The bit of a state is its rank minus an offset, which depends on the cell
/// of the moving piece.
#[derive(Clone, Debug)]
pub(crate) struct BitOffsets {
    /// The offset if the mover stands below the upper pieces that all states share.
    pub below: u64,
    /// The offset for each cell of a mover above the lowest of these pieces.
    pub above: [u64; MAX_CELLS],
}

impl BitOffsets {
    /// The offsets of a bitmap of all states by rank.
    pub const ZERO: BitOffsets = BitOffsets { below: 0, above: [0; MAX_CELLS] };
}
