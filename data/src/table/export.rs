//! All distances of a table, one byte per state.

use std::borrow::Cow;
use std::io::{self, Write};

use super::error::TableError;
use super::reader::Table;
use super::stream::DistanceStream;
use crate::board::{Board, binomial};

impl Table {
    /// Returns the distances of all states by rank, in every encoding.
    ///
    /// Blocks of a table of bytes are not compared with their checksums
    /// ([`Table::check_block`]).
    ///
    /// Memory: one byte per state, except for a table of bytes.
    /// [`DistanceStream`] returns the same in parts.
    ///
    /// # Errors
    /// If the data is damaged, or distances contradict each other.
    pub fn distances(&self) -> Result<Cow<'_, [u8]>, TableError> {
        if let Some(bytes) = self.as_bytes() {
            return Ok(Cow::Borrowed(bytes));
        }
        let states = self.prefix().states();
        let mut out = vec![0; usize::try_from(states).expect("the data is mapped")];
        let mut stream = DistanceStream::new(self, 0..states)?;
        // A part is still in the cache when the stream checks its distances.
        out.chunks_mut(1 << 16).try_for_each(|part| stream.read(part))?;
        Ok(Cow::Owned(out))
    }
}

/// Writes all distances, one byte per state, in lexicographic order.
///
/// The index of a state is C(N, k) - 1 - Σ C(N-1-cᵢ, k-i), where cᵢ is the i-th
/// smallest cell in goal order and i counts from 0. Other published programs
/// use this order.
///
/// # Errors
/// If `out` cannot be written.
///
/// # Panics
/// If `distances` are not those of all states of the board. The
/// indices of a prefix are not contiguous in this order.
pub fn write_lex(board: Board, distances: &[u8], out: &mut impl Write) -> io::Result<()> {
    assert_eq!(distances.len() as u64, board.states(), "only whole tables have this order");
    write_by_last_cell(distances, board.cells(), board.pieces(), out)
}

/// Visits the sets of cells in lexicographic order, in which the largest cell
/// changes fastest.
fn write_by_last_cell(distances: &[u8], cells: usize, pieces: usize, out: &mut impl Write) -> io::Result<()> {
    let weight = |cell, index: usize| binomial(cell, index + 1).expect("ranks of the table fit in 64 bits");
    let mut lower: Vec<usize> = (0..pieces - 1).collect();
    let mut buffer = Vec::with_capacity(cells);
    loop {
        let base: u64 = lower.iter().enumerate().map(|(i, &cell)| weight(cell, i)).sum();
        let first = lower.last().map_or(0, |last| last + 1);
        buffer.clear();
        buffer.extend((first..cells).map(|cell| distances[(base + weight(cell, pieces - 1)) as usize]));
        out.write_all(&buffer)?;
        // The last lower piece that can move up and leaves room for those after it.
        let Some(i) = (0..lower.len()).rev().find(|&i| lower[i] < cells - pieces + i) else { return Ok(()) };
        let cell = lower[i] + 1;
        for (step, slot) in lower[i..].iter_mut().enumerate() {
            *slot = cell + step;
        }
    }
}
