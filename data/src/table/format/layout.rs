//! The places of partitions and blocks in a table file.

use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::encoding::{BLOCK_BYTES, Encoding};
use crate::board::{Cell, Prefix, Symmetry};
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
    /// The indices of the block's states, all of one partition. The *index* of a
    /// state is its rank, or its reduced rank in a mirrored table.
    pub indices: Range<u64>,
    /// The place of its bytes, counted from the first byte of the data.
    pub bytes: Range<u64>,
}

/// A partition of a table: the stored states with one back piece cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// The cell of the back piece in goal order.
    pub back: Cell,
    /// The indices of its states: their ranks, or their reduced ranks in a
    /// mirrored table.
    pub indices: Range<u64>,
    /// The place of its bytes, counted from the first byte of the data.
    pub bytes: Range<u64>,
}

/// The places of the partitions and blocks of a table.
#[derive(Clone, Debug)]
pub struct Layout {
    prefix: Prefix,
    encoding: Encoding,
    /// The symmetry of the states, if the table is mirrored.
    symmetry: Option<Arc<Symmetry>>,
    partitions: Vec<PartitionLayout>,
    extents: BlockExtents,
}

#[derive(Clone, Debug)]
struct PartitionLayout {
    indices: Range<u64>,
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
    /// Returns the layout of a table that is not mirrored: one partition per cell
    /// of the back piece. Byte ranges are relative to the start of the data.
    ///
    /// For [`Encoding::Zstd`] block lengths depend on the data, so byte ranges
    /// are empty until the lengths are known.
    pub fn new(prefix: Prefix, encoding: Encoding) -> Layout {
        Layout::of_partitions(prefix, encoding, None)
    }

    /// Returns the layout of a mirrored table, which stores only canonical states.
    /// Returns `None` if the prefix has no mirrored form, because its states have
    /// no [`Symmetry`] or a single piece.
    pub fn mirrored(prefix: Prefix, encoding: Encoding) -> Option<Layout> {
        let symmetry = Symmetry::of(prefix).filter(|_| prefix.board().pieces() > 1)?;
        Some(Layout::of_partitions(prefix, encoding, Some(Arc::new(symmetry))))
    }

    fn of_partitions(prefix: Prefix, encoding: Encoding, symmetry: Option<Arc<Symmetry>>) -> Layout {
        let (mut offset, mut first_block, mut first_index) = (0, 0, 0);
        let mut partitions = Vec::new();
        for back in prefix.back_cells() {
            let end = symmetry
                .as_ref()
                .map_or_else(|| prefix.partition(back).end, |symmetry| symmetry.states_within(back + 1));
            let indices = std::mem::replace(&mut first_index, end)..end;
            let states = indices.end - indices.start;
            let length = encoding.states_per_byte().map_or(0, |per_byte| states.div_ceil(per_byte));
            let bytes = offset..offset + length;
            offset = bytes.end;
            let partition =
                PartitionLayout { indices, bytes, first_block, blocks: states.div_ceil(encoding.block_states()) };
            first_block += partition.blocks;
            partitions.push(partition);
        }
        let extents = match encoding.states_per_byte() {
            Some(_) => BlockExtents::Fixed,
            None => BlockExtents::Listed(Vec::new()),
        };
        Layout { prefix, encoding, symmetry, partitions, extents }
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

    /// Returns the symmetry of the states if the table is mirrored.
    #[inline]
    pub fn symmetry(&self) -> Option<&Symmetry> {
        self.symmetry.as_deref()
    }

    /// Returns the shared symmetry of the states if the table is mirrored.
    pub(crate) fn shared_symmetry(&self) -> Option<Arc<Symmetry>> {
        self.symmetry.clone()
    }

    /// Returns the number of stored states: all states of the prefix, or the
    /// canonical ones in a mirrored table.
    pub fn stored_states(&self) -> u64 {
        self.last().indices.end
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
            indices: partition.indices.clone(),
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

    /// Returns an estimate of the size of the file before it is written: with the most layers, and a provenance of
    /// ordinary length.
    ///
    /// For encodings with compressed blocks the size is an estimate: as many bits per stored state as known tables
    /// take with small blocks, 1.25 for [`Encoding::Zstd`] and 0.875 for [`Encoding::Ans`].
    pub fn estimated_file_bytes(&self) -> u64 {
        let data = match self.encoding {
            Encoding::Zstd(_) => self.stored_states().div_ceil(32) * 5,
            Encoding::Ans(_) => self.stored_states().div_ceil(64) * 7,
            Encoding::Byte | Encoding::Mod3 => self.data_bytes(),
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
        let first = partition.indices.start + within * self.encoding.block_states();
        let indices = first..partition.indices.end.min(first + self.encoding.block_states());
        Block { indices, bytes: self.block_bytes(partition, number) }
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

    /// Returns the number of the block that holds the state of this index, which
    /// is a rank, or a reduced rank in a mirrored table.
    ///
    /// # Panics
    /// If no state has this index.
    pub fn block_of_index(&self, index: u64) -> u64 {
        let partition = &self.partitions[self.partitions.partition_point(|p| p.indices.end <= index)];
        partition.first_block + (index - partition.indices.start) / self.encoding.block_states()
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
    /// byte: its byte in the data, and its place within the byte.
    #[inline]
    pub(crate) fn place(&self, index: u64, back: usize, per_byte: u64) -> (u64, u32) {
        let partition = self.partition(back);
        let state = index - partition.indices.start;
        (partition.bytes.start + state / per_byte, (state % per_byte) as u32)
    }

    /// Returns the number of the block that holds the state of this index and
    /// back piece.
    #[inline]
    pub(crate) fn block_of(&self, index: u64, back: usize) -> u64 {
        let partition = self.partition(back);
        partition.first_block + (index - partition.indices.start) / self.encoding.block_states()
    }
}
