//! Reading distances from the bytes of blocks.

use std::ops::Range;
use std::sync::Arc;

use super::ans;
use super::cache::BlockCache;
use super::context::LowerCells;
use super::intervals::Intervals;
use super::predict::NeighborCells;
use super::zstd;
use crate::board::{Prefix, Symmetry};
use crate::table::format::{Block, Encoding, Layout};

/// The codec with which a table reads distances.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a table has one codec")]
pub(crate) enum Codec {
    Byte,
    Mod3,
    Compressed(BlockReader),
}

impl Codec {
    /// Returns the codec of a table. [`Encoding::Zstd`] and [`Encoding::Ans`] cache up to
    /// `cache_bytes` bytes of decompressed blocks.
    pub fn new(layout: &Layout, cache_bytes: usize) -> Codec {
        let geometry = layout.prefix().board().geometry();
        let compressed = |kind| Codec::Compressed(BlockReader::new(layout, kind, cache_bytes));
        match layout.encoding() {
            Encoding::Byte => Codec::Byte,
            Encoding::Mod3 => Codec::Mod3,
            Encoding::Zstd(_) => compressed(ReaderKind::Zstd(NeighborCells::of(geometry))),
            Encoding::Ans(_) => compressed(ReaderKind::Ans(LowerCells::of(geometry))),
        }
    }
}

/// Returns the distance modulo 3 that a byte of a mod-3 table stores at `index`.
#[inline]
pub(crate) const fn residue(byte: u8, index: u32) -> u8 {
    byte >> (2 * index) & 3
}

/// Returns the distance of a neighbor of a state at `distance`, given the
/// neighbor's distance modulo 3. Distances of neighbors differ by at most 1.
pub(crate) const fn neighbor_distance(distance: u8, residue: u8) -> Option<u8> {
    match (residue + 3 - distance % 3) % 3 {
        0 => Some(distance),
        1 => distance.checked_add(1),
        _ => distance.checked_sub(1),
    }
}

/// A reader of compressed blocks.
#[derive(Debug)]
pub(crate) struct BlockReader {
    prefix: Prefix,
    symmetry: Option<Arc<Symmetry>>,
    kind: ReaderKind,
    cache: BlockCache,
}

#[derive(Debug)]
enum ReaderKind {
    /// The cache contains decompressed symbols.
    Zstd(NeighborCells),
    /// The cache contains distances.
    Ans(LowerCells),
}

impl BlockReader {
    /// Returns a reader of the blocks of a table, which caches up to `cache_bytes` bytes.
    fn new(layout: &Layout, kind: ReaderKind, cache_bytes: usize) -> BlockReader {
        let states = layout.encoding().block_states().min(layout.stored_states()) as usize;
        let usual = match kind {
            ReaderKind::Zstd(_) => states / 4,
            ReaderKind::Ans(_) => states,
        };
        BlockReader {
            prefix: layout.prefix(),
            symmetry: layout.shared_symmetry(),
            kind,
            cache: BlockCache::new(cache_bytes, layout.blocks(), usual),
        }
    }

    /// Writes the distances of the states from this index on, which are in block
    /// `number`, to `out`. States without a valid distance have 255. Fails if the
    /// bytes do not decompress to the block's states.
    pub fn read(&self, number: u64, block: &Block, bytes: &[u8], index: u64, out: &mut [u8]) -> Result<(), BlockFault> {
        let content = self.cache.get(number, || self.decompress(block, bytes))?;
        let first = (index - block.indices.start) as usize;
        let wanted = first..first + out.len();
        match &self.kind {
            ReaderKind::Zstd(neighbors) => self.decode(neighbors, block, &content, wanted, out),
            ReaderKind::Ans(_) => out.copy_from_slice(&content[wanted]),
        }
        Ok(())
    }

    /// Writes the distances of a block to `out`. States without a valid
    /// distance have 255. Fails if the bytes do not decompress to the block's
    /// states.
    pub fn read_block(&self, block: &Block, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), BlockFault> {
        let states = states_of(block);
        match &self.kind {
            ReaderKind::Zstd(neighbors) => {
                let content = zstd::decompress(bytes, states).ok_or(BlockFault { states })?;
                out.clear();
                out.resize(states, 0);
                self.decode(neighbors, block, &content, 0..states, out);
                Ok(())
            }
            ReaderKind::Ans(lower) => {
                let decoded = ans::decode(lower, bytes, self.intervals(block, states), out);
                decoded.then_some(()).ok_or(BlockFault { states })
            }
        }
    }

    /// Returns the content of a block that the cache keeps.
    fn decompress(&self, block: &Block, bytes: &[u8]) -> Result<Arc<[u8]>, BlockFault> {
        if let ReaderKind::Zstd(_) = self.kind {
            let states = states_of(block);
            return zstd::decompress(bytes, states).ok_or(BlockFault { states });
        }
        let mut distances = Vec::new();
        self.read_block(block, bytes, &mut distances)?;
        Ok(distances.into())
    }

    /// Decodes the wanted states from decompressed symbols.
    fn decode(&self, neighbors: &NeighborCells, block: &Block, content: &[u8], wanted: Range<usize>, out: &mut [u8]) {
        zstd::read(neighbors, content, states_of(block), self.intervals(block, wanted.end), wanted, out);
    }

    /// Returns the first `states` states of a block.
    fn intervals(&self, block: &Block, states: usize) -> Intervals<'_> {
        let visited = block.indices.start..block.indices.start + states as u64;
        Intervals::of(visited, self.prefix, self.symmetry.as_deref())
    }
}

/// A block does not decompress to its states.
#[derive(Debug)]
pub(crate) struct BlockFault {
    pub states: usize,
}

fn states_of(block: &Block) -> usize {
    (block.indices.end - block.indices.start) as usize
}
