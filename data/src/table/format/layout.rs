//! The places of partitions and blocks in a table file.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::encoding::{BLOCK_BYTES, Encoding};
use crate::board::{Cell, Prefix};
use crate::table::distance::Distance;

pub(super) const HEADER_BYTES: usize = 128;
pub(super) const ENTRY_BYTES: u64 = 32;
/// Data begins on a page, so that a map of the file is a map of the data.
const DATA_ALIGNMENT: u64 = 4096;

/// Returns the checksum of data, of a partition's block checksums, or of a
/// record: its XXH3 with 64 bits.
pub fn checksum(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// A block of a table: data under one checksum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The ranks of the block's states, all of one partition.
    pub ranks: Range<u64>,
    /// The place of its bytes, counted from the first byte of the data.
    pub bytes: Range<u64>,
}

/// A partition of a table: the states with one back piece cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// The cell of the back piece in goal order.
    pub back: Cell,
    /// The ranks of its states.
    pub ranks: Range<u64>,
    /// The place of its bytes, counted from the first byte of the data.
    pub bytes: Range<u64>,
}

/// The places of the partitions and blocks of a table.
#[derive(Clone, Debug)]
pub struct Layout {
    prefix: Prefix,
    encoding: Encoding,
    partitions: Vec<PartitionLayout>,
    extents: BlockExtents,
}

#[derive(Clone, Debug)]
struct PartitionLayout {
    ranks: Range<u64>,
    /// The place of its bytes, counted from the first byte of the data. Empty
    /// as long as block lengths are unknown.
    bytes: Range<u64>,
    first_block: u64,
    blocks: u64,
}

/// The places of blocks within the data.
#[derive(Clone, Debug)]
enum BlockExtents {
    /// All blocks have the same length, except the last of a partition.
    Fixed,
    /// Block lengths depend on the data. The vector holds the end of each
    /// block, or nothing as long as the lengths are unknown.
    Listed(Vec<u64>),
}

impl Layout {
    /// Returns the layout of a table: one partition per cell of the back piece.
    /// Byte ranges are relative to the start of the data.
    ///
    /// For [`Encoding::Zstd`] block lengths depend on the data, so byte ranges
    /// are empty until the lengths are known.
    pub fn new(prefix: Prefix, encoding: Encoding) -> Layout {
        let (mut offset, mut first_block) = (0, 0);
        let mut partitions = Vec::new();
        for back in prefix.back_cells() {
            let ranks = prefix.partition(back);
            let states = ranks.end - ranks.start;
            let length = encoding.states_per_byte().map_or(0, |per_byte| states.div_ceil(per_byte));
            let bytes = offset..offset + length;
            offset = bytes.end;
            let partition =
                PartitionLayout { ranks, bytes, first_block, blocks: states.div_ceil(encoding.block_states()) };
            first_block += partition.blocks;
            partitions.push(partition);
        }
        let extents = match encoding.states_per_byte() {
            Some(_) => BlockExtents::Fixed,
            None => BlockExtents::Listed(Vec::new()),
        };
        Layout { prefix, encoding, partitions, extents }
    }

    /// Returns the layout with the lengths of all blocks, if the file lists them.
    pub(super) fn with_lengths(mut self, lengths: &[u32]) -> Layout {
        if lengths.is_empty() {
            return self;
        }
        let add = |end: &mut u64, &length: &u32| {
            *end += u64::from(length);
            Some(*end)
        };
        let ends: Vec<u64> = lengths.iter().scan(0, add).collect();
        let end = |blocks: u64| if blocks == 0 { 0 } else { ends[blocks as usize - 1] };
        for partition in &mut self.partitions {
            partition.bytes = end(partition.first_block)..end(partition.first_block + partition.blocks);
        }
        self.extents = BlockExtents::Listed(ends);
        self
    }

    /// Returns the covered states.
    pub fn prefix(&self) -> Prefix {
        self.prefix
    }

    /// Returns how distances are stored.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the number of bytes of all partitions.
    pub fn data_bytes(&self) -> u64 {
        self.last().bytes.end
    }

    /// Returns the number of blocks.
    pub fn blocks(&self) -> u64 {
        self.last().first_block + self.last().blocks
    }

    /// Returns the number of blocks whose length is in the file.
    pub(super) fn listed_blocks(&self) -> u64 {
        match self.extents {
            BlockExtents::Fixed => 0,
            BlockExtents::Listed(_) => self.blocks(),
        }
    }

    /// Returns the partitions, nearest to the goal first.
    pub fn partitions(&self) -> impl Iterator<Item = Partition> + '_ {
        self.prefix.back_cells().zip(&self.partitions).map(|(back, partition)| Partition {
            back: Cell::new(back),
            ranks: partition.ranks.clone(),
            bytes: partition.bytes.clone(),
        })
    }

    /// Returns the numbers of the blocks of each partition.
    pub(super) fn partition_blocks(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.partitions.iter().map(|p| p.first_block as usize..(p.first_block + p.blocks) as usize)
    }

    fn last(&self) -> &PartitionLayout {
        self.partitions.last().expect("a prefix has at least one partition")
    }

    /// Returns the offset of the data in a file with this number of layers.
    pub(super) fn data_offset(&self, layers: usize) -> u64 {
        let directory = ENTRY_BYTES * self.partitions.len() as u64;
        let tables = 8 * layers as u64 + directory + 8 * self.blocks() + 4 * self.listed_blocks();
        (HEADER_BYTES as u64 + tables).next_multiple_of(DATA_ALIGNMENT)
    }

    /// Returns an upper bound of the size of the file, with a provenance of
    /// ordinary length.
    ///
    /// For [`Encoding::Zstd`] the bound assumes two bits per state, and
    /// compressed distances take less.
    pub fn file_bytes(&self) -> u64 {
        let data = match self.extents {
            BlockExtents::Fixed => self.data_bytes(),
            BlockExtents::Listed(_) => self.prefix.states().div_ceil(4),
        };
        self.data_offset(Distance::COUNT) + data + 4096
    }

    /// Returns block `number`, counted from 0.
    ///
    /// # Panics
    /// If the block does not exist.
    pub fn block(&self, number: u64) -> Block {
        let partition = self.partitions.partition_point(|p| p.first_block + p.blocks <= number);
        let partition = &self.partitions[partition];
        let within = number - partition.first_block;
        let first = partition.ranks.start + within * self.encoding.block_states();
        let ranks = first..partition.ranks.end.min(first + self.encoding.block_states());
        Block { ranks, bytes: self.block_bytes(partition, number) }
    }

    /// Returns the place of a block, or an empty range if it is unknown.
    fn block_bytes(&self, partition: &PartitionLayout, number: u64) -> Range<u64> {
        match &self.extents {
            BlockExtents::Fixed => {
                let start = partition.bytes.start + (number - partition.first_block) * BLOCK_BYTES;
                start..partition.bytes.end.min(start + BLOCK_BYTES)
            }
            BlockExtents::Listed(ends) => {
                let end = |blocks: u64| blocks.checked_sub(1).and_then(|last| ends.get(last as usize)).copied();
                end(number).unwrap_or(0)..end(number + 1).unwrap_or(0)
            }
        }
    }

    /// Returns the number of the block that holds the state of this rank.
    ///
    /// # Panics
    /// If no state has this rank.
    pub fn block_of_rank(&self, rank: u64) -> u64 {
        let partition = &self.partitions[self.partitions.partition_point(|p| p.ranks.end <= rank)];
        partition.first_block + (rank - partition.ranks.start) / self.encoding.block_states()
    }

    #[inline]
    fn partition(&self, back: usize) -> &PartitionLayout {
        &self.partitions[back + 1 - self.prefix.board().pieces()]
    }

    /// Returns the place of the partition of `back` in the data.
    pub(crate) fn partition_bytes(&self, back: usize) -> Range<u64> {
        self.partition(back).bytes.clone()
    }

    /// Returns the place of a state in an encoding with `per_byte` states per
    /// byte: its byte in the data, and its index within the byte.
    #[inline]
    pub(crate) fn place(&self, rank: u64, back: usize, per_byte: u64) -> (u64, u32) {
        let partition = self.partition(back);
        let state = rank - partition.ranks.start;
        (partition.bytes.start + state / per_byte, (state % per_byte) as u32)
    }

    /// Returns the number of the block that holds the state of this rank and
    /// back piece.
    #[inline]
    pub(crate) fn block_of(&self, rank: u64, back: usize) -> u64 {
        let partition = self.partition(back);
        partition.first_block + (rank - partition.ranks.start) / self.encoding.block_states()
    }
}
