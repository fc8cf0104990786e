//! Positions of states in bitmaps.

/// An upper bound of the cells of a board (121). With a power of two, an
/// array access needs no bounds check.
pub(crate) const MAX_CELLS: usize = 128;

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
