//! All distances of a table as flat bytes, one a state.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::error::TableError;
use crate::rank::binomial;
use crate::table::Table;
use crate::unfold::DistanceStream;

impl Table {
    /// The distances of all states by rank, whatever the encoding. Blocks of
    /// a table of bytes are not checked against their checksums
    /// ([`Table::check_block`]).
    ///
    /// Memory: one byte a state, for other encodings than bytes;
    /// [`DistanceStream`] gives the same in parts.
    ///
    /// # Errors
    /// If the data is damaged, or distances contradict each other.
    pub fn distances(&self) -> Result<Cow<'_, [u8]>, TableError> {
        if let Some(bytes) = self.as_bytes() {
            return Ok(Cow::Borrowed(bytes));
        }
        let states = self.prefix().states();
        let mut out = vec![0; usize::try_from(states).expect("the data is mapped")];
        let mut reader = DistanceStream::new(self, 0..states)?;
        // In parts, which are still in the cache when they are looked over.
        out.chunks_mut(1 << 16).try_for_each(|part| reader.read(part))?;
        Ok(Cow::Owned(out))
    }
}

/// Writes all distances, one byte a state, in the order
/// C(N, k) - 1 - Σ C(N-1-cᵢ, k-i), with cᵢ the i-th smallest cell from the
/// goal tip and i from 0, as other published programs have it.
///
/// # Errors
/// If `out` cannot be written.
///
/// # Panics
/// If `distances` are not those of all `pieces`-subsets of `cells` cells: in
/// a prefix the numbers of this order have gaps.
pub fn write_lex(distances: &[u8], cells: usize, pieces: usize, out: &mut impl Write) -> io::Result<()> {
    assert_eq!(Some(distances.len() as u64), binomial(cells, pieces), "only whole tables have this order");
    write_by_last_cell(distances, cells, pieces, out)
}

/// Counts up the sets of cells in lexicographic order, in which the largest
/// changes fastest.
fn write_by_last_cell(distances: &[u8], cells: usize, pieces: usize, out: &mut impl Write) -> io::Result<()> {
    let place = |cell, index: usize| binomial(cell, index + 1).expect("ranks of the table fit in 64 bits");
    let mut lower: Vec<usize> = (0..pieces - 1).collect();
    let mut buffer = Vec::with_capacity(cells);
    loop {
        let base: u64 = lower.iter().enumerate().map(|(i, &cell)| place(cell, i)).sum();
        let first = lower.last().map_or(0, |last| last + 1);
        buffer.clear();
        buffer.extend((first..cells).map(|cell| distances[(base + place(cell, pieces - 1)) as usize]));
        out.write_all(&buffer)?;
        // The last lower piece that may still go up, leaving room for those after it.
        let Some(i) = (0..lower.len()).rev().find(|&i| lower[i] < cells - pieces + i) else { return Ok(()) };
        let cell = lower[i] + 1;
        for (step, slot) in lower[i..].iter_mut().enumerate() {
            *slot = cell + step;
        }
    }
}
