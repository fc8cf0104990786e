//! A reader of the distances of consecutive ranks in every encoding.

use std::ops::Range;

use super::mod3::Mod3Stream;
use crate::table::codec::{Codec, DecodedBlocks};
use crate::table::error::TableError;
use crate::table::reader::Table;

/// A reader of the distances of states in the order of their ranks.
///
/// A clone continues from the same state. A pass over a table can therefore
/// keep a clone wherever it needs to read again; a clone takes under 3 KiB.
///
/// Memory: under 5 KiB, plus one block for [`Encoding::Zstd`] and [`Encoding::Ans`], or 64 KiB for a
/// mirrored table. A stream of a mirrored table also keeps up to 16 MiB of blocks in these two encodings
/// ([`cache_bytes`](DistanceStream::cache_bytes)).
///
/// Cost: a copy for [`Encoding::Byte`], and a few nanoseconds per
/// state for [`Encoding::Mod3`] and [`Encoding::Zstd`]. [`Encoding::Ans`] and mirrored tables take some tens
/// of nanoseconds per state. Creating a stream of an
/// [`Encoding::Mod3`] table takes one look-up for each piece and each cell below it
/// in the first state.
///
/// [`Encoding::Byte`]: crate::Encoding::Byte
/// [`Encoding::Mod3`]: crate::Encoding::Mod3
/// [`Encoding::Zstd`]: crate::Encoding::Zstd
/// [`Encoding::Ans`]: crate::Encoding::Ans
///
/// ```
/// use sternhalma_data::{DistanceStream, Table};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1-4x4-3-within13-mod3.sht");
/// let table = Table::open(path)?;
/// let mut left = table.prefix().states();
/// let mut stream = DistanceStream::new(&table, 0..left)?;
/// let (mut part, mut sum) = (vec![0; 100], 0);
/// while left > 0 {
///     let part = &mut part[..left.min(100) as usize];
///     stream.read(part)?;
///     sum += part.iter().map(|&distance| u64::from(distance)).sum::<u64>();
///     left -= part.len() as u64;
/// }
/// assert_eq!(sum, 1122);
/// # Ok::<(), sternhalma_data::TableError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DistanceStream<'a> {
    table: &'a Table,
    /// The ranks that have not been read.
    ranks: Range<u64>,
    /// The ranks below this one are in verified blocks. Mirrored tables verify
    /// blocks when they are unfolded.
    verified: u64,
    source: Source<'a>,
}

#[derive(Clone, Debug)]
enum Source<'a> {
    Byte(&'a [u8]),
    Mod3(Box<Mod3Stream<'a>>),
    Compressed(DecodedBlock),
    /// A mirrored table of distances.
    Mirrored(DecodedBlock, DecodedBlocks),
}

/// The states of a mirrored table that are unfolded together.
const UNFOLDED: u64 = 1 << 16;

/// The distances of consecutive ranks: of a compressed block, or of unfolded
/// states. A clone decodes them again.
#[derive(Debug, Default)]
struct DecodedBlock {
    distances: Vec<u8>,
    /// The rank of the first distance.
    start: u64,
}

impl Clone for DecodedBlock {
    fn clone(&self) -> DecodedBlock {
        DecodedBlock::default()
    }
}

impl DecodedBlock {
    /// Writes the distances from `rank` on to `out`. `decode(rank, out)` must write
    /// the distances of a part with this rank, and return the first rank of the part.
    fn read(
        &mut self,
        mut rank: u64,
        mut out: &mut [u8],
        mut decode: impl FnMut(u64, &mut Vec<u8>) -> Result<u64, TableError>,
    ) -> Result<(), TableError> {
        while !out.is_empty() {
            let within = rank.wrapping_sub(self.start);
            if within >= self.distances.len() as u64 {
                // After an error the value must not look like a block.
                self.distances.clear();
                self.start = decode(rank, &mut self.distances)?;
                continue;
            }
            let rest = &self.distances[within as usize..];
            let (part, after) = out.split_at_mut(out.len().min(rest.len()));
            part.copy_from_slice(&rest[..part.len()]);
            rank += part.len() as u64;
            out = after;
        }
        Ok(())
    }
}

impl Table {
    /// Decodes the compressed block of this rank. Returns the rank of the
    /// block's first state.
    fn decode_block_of(&self, rank: u64, out: &mut Vec<u8>) -> Result<u64, TableError> {
        let Codec::Compressed(reader) = self.codec() else {
            unreachable!("only compressed tables have a decoded block")
        };
        let number = self.layout().block_of_index(rank);
        self.verify(number)?;
        let block = self.layout().block(number);
        let read = reader.read_block(&block, self.block_bytes(number), out);
        read.map_err(|fault| self.bad_block(number, fault))?;
        Ok(block.indices.start)
    }
}

impl<'a> DistanceStream<'a> {
    /// Returns a stream of the distances of these ranks.
    ///
    /// # Errors
    /// If the data before or around the first state is damaged.
    ///
    /// # Panics
    /// If the table does not contain all of these ranks.
    pub fn new(table: &'a Table, ranks: Range<u64>) -> Result<DistanceStream<'a>, TableError> {
        assert!(ranks.end <= table.prefix().states(), "the table contains the ranks to read");
        let source = match table.codec() {
            Codec::Byte | Codec::Compressed(_) if table.spec().mirrored => {
                Source::Mirrored(DecodedBlock::default(), DecodedBlocks::new(DecodedBlocks::BYTES))
            }
            Codec::Byte => Source::Byte(table.as_bytes().expect("the encoding is Byte")),
            Codec::Mod3 => {
                Source::Mod3(Box::new(Mod3Stream::new(table, ranks.start.min(table.prefix().states() - 1))?))
            }
            Codec::Compressed(_) => Source::Compressed(DecodedBlock::default()),
        };
        let verified = if table.spec().mirrored { ranks.end } else { ranks.start };
        Ok(DistanceStream { table, verified, ranks, source })
    }

    /// Sets whether the stream releases mapped pages
    /// ([`Table::release_pages`]) after reading all over the table. The default
    /// is `false`.
    #[must_use]
    pub fn release_pages(mut self, release: bool) -> DistanceStream<'a> {
        if let Source::Mod3(stream) = &mut self.source {
            stream.release_pages = release;
        }
        self
    }

    /// Sets how many bytes of decoded blocks the stream keeps if the table is mirrored and its blocks are
    /// compressed. The stream keeps at least two blocks. The default is 16 MiB.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: usize) -> DistanceStream<'a> {
        if let Source::Mirrored(_, decoded) = &mut self.source {
            *decoded = DecodedBlocks::new(bytes);
        }
        self
    }

    /// Reads the distances of the next `out.len()` states.
    ///
    /// If the table verifies blocks
    /// ([`TableOptions::verify_blocks`](crate::TableOptions::verify_blocks)),
    /// blocks are compared with their checksums first.
    ///
    /// # Errors
    /// If the data is damaged, or distances contradict each other. Later
    /// results of the stream are then meaningless.
    ///
    /// # Panics
    /// If fewer states are left.
    pub fn read(&mut self, out: &mut [u8]) -> Result<(), TableError> {
        let ranks = self.ranks.start..self.ranks.start + out.len() as u64;
        assert!(ranks.end <= self.ranks.end, "there are states left to read");
        while self.verified < ranks.end {
            self.verified = self.table.verify_block_of(self.verified)?;
        }
        match &mut self.source {
            Source::Byte(bytes) => out.copy_from_slice(&bytes[ranks.start as usize..ranks.end as usize]),
            Source::Mod3(stream) => stream.read(out)?,
            Source::Compressed(block) => {
                block.read(ranks.start, out, |rank, out| self.table.decode_block_of(rank, out))?;
            }
            Source::Mirrored(part, decoded) => part.read(ranks.start, out, |rank, out| {
                let ranks = rank..self.ranks.end.min(rank + UNFOLDED);
                *out = self.table.unfold(ranks, decoded)?;
                Ok(rank)
            })?,
        }
        self.ranks.start = ranks.end;
        let most = self.table.max_distance().0;
        // The maximum is computed with vector instructions; the place only if it is needed.
        if out.iter().fold(0, |max, &distance| distance.max(max)) > most {
            let place = out.iter().position(|&distance| distance > most).expect("the maximum is one of them");
            return Err(self.table.contradiction(ranks.start + place as u64));
        }
        Ok(())
    }
}
