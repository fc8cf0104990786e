//! Reading distances from the bytes of blocks.

use std::ops::Range;
use std::sync::Arc;

use super::cache::BlockCache;
use super::predict::NeighborCells;
use super::walk::Intervals;
use super::zstd;
use crate::board::Symmetry;
use crate::table::format::{Block, Encoding, Layout};

/// The codec with which a table reads distances.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a table has one codec")]
pub(crate) enum Codec {
    Byte,
    Mod3,
    Zstd(ZstdReader),
}

impl Codec {
    /// Returns the codec of a table. [`Encoding::Zstd`] caches up to
    /// `cache_bytes` bytes of decompressed blocks.
    pub fn new(layout: &Layout, cache_bytes: usize) -> Codec {
        match layout.encoding() {
            Encoding::Byte => Codec::Byte,
            Encoding::Mod3 => Codec::Mod3,
            Encoding::Zstd(_) => Codec::Zstd(ZstdReader::new(layout, cache_bytes)),
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
pub(crate) struct ZstdReader {
    pieces: usize,
    symmetry: Option<Arc<Symmetry>>,
    neighbors: NeighborCells,
    cache: BlockCache,
}

impl ZstdReader {
    fn new(layout: &Layout, cache_bytes: usize) -> ZstdReader {
        let prefix = layout.prefix();
        let usual = layout.encoding().block_states().min(layout.stored_states()) as usize / 4;
        ZstdReader {
            pieces: prefix.board().pieces(),
            symmetry: layout.shared_symmetry(),
            neighbors: NeighborCells::of(prefix.board().geometry()),
            cache: BlockCache::new(cache_bytes, layout.blocks(), usual),
        }
    }

    /// Writes the distances of the states from this index on, which are in block
    /// `number`, to `out`. States without a valid distance have 255. Fails if the
    /// bytes do not decompress to the block's states.
    pub fn read(&self, number: u64, block: &Block, bytes: &[u8], index: u64, out: &mut [u8]) -> Result<(), BlockFault> {
        let content = self.cache.get(number, || decompress(bytes, states_of(block)))?;
        let first = (index - block.indices.start) as usize;
        self.decode(block, &content, first..first + out.len(), out);
        Ok(())
    }

    /// Writes the distances of a block to `out`. States without a valid
    /// distance have 255. Fails if the bytes do not decompress to the block's
    /// states.
    pub fn read_block(&self, block: &Block, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), BlockFault> {
        let states = states_of(block);
        let content = decompress(bytes, states)?;
        out.clear();
        out.resize(states, 0);
        self.decode(block, &content, 0..states, out);
        Ok(())
    }

    fn decode(&self, block: &Block, content: &[u8], wanted: Range<usize>, out: &mut [u8]) {
        let visited = block.indices.start..block.indices.start + wanted.end as u64;
        let visited = Intervals::of(visited, self.pieces, self.symmetry.as_deref());
        zstd::read(&self.neighbors, content, states_of(block), visited, wanted, out);
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

fn decompress(bytes: &[u8], states: usize) -> Result<Arc<[u8]>, BlockFault> {
    zstd::decompress(bytes, states).ok_or(BlockFault { states })
}
