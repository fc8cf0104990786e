//! Positions of states in bitmaps.

/// An upper bound of the cells of a board (121). With a power of two, an
/// array access needs no bounds check.
pub(crate) const MAX_CELLS: usize = 128;

/// The most pieces of a state.
pub(crate) const MAX_PIECES: usize = 15;

/// The positions of states in a bitmap that holds only some of them.
///
/// The bit of a state is its rank minus an offset, which depends on the cell
/// of the moving piece.
#[derive(Clone, Debug)]
pub struct BitOffsets {
    /// The offset if the mover stands below the upper pieces that all states share.
    pub below: u64,
    /// The offset for each cell of a mover above the lowest of these pieces.
    pub above: [u64; MAX_CELLS],
}

impl BitOffsets {
    /// The offsets of a bitmap of all states by rank.
    pub const ZERO: BitOffsets = BitOffsets { below: 0, above: [0; MAX_CELLS] };
}

/// The positions of states in a bitmap that holds some intervals of indices.
#[derive(Clone, Debug)]
pub struct IndexIntervals(Vec<IndexInterval>);

#[derive(Clone, Debug)]
struct IndexInterval {
    start: u64,
    end: u64,
    /// The position of the first state.
    at: u64,
}

impl IndexIntervals {
    /// Returns the positions if the bitmap begins with `states` states from index `start` on.
    pub fn new(start: u64, states: u64) -> IndexIntervals {
        IndexIntervals(vec![IndexInterval { start, end: start + states, at: 0 }])
    }

    /// Adds an interval of larger indices, whose first state is at position `at`.
    pub fn push(&mut self, indices: std::ops::Range<u64>, at: u64) {
        debug_assert!(self.0.last().is_none_or(|last| last.end <= indices.start), "intervals are in order");
        self.0.push(IndexInterval { start: indices.start, end: indices.end, at });
    }

    /// Returns the position of the state with this index, or `None` if the bitmap does not hold it.
    #[inline]
    pub fn position(&self, index: u64) -> Option<u64> {
        let interval = &self.0[self.0.partition_point(|interval| interval.end <= index)..];
        let IndexInterval { start, at, .. } = interval.first()?;
        Some(at + index.checked_sub(*start)?)
    }
}
