//! Reading distances from the bytes of blocks.

use std::sync::Arc;

use super::cache::BlockCache;
use super::predict::NeighborCells;
use super::zstd;
use crate::board::Rank;
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
    neighbors: NeighborCells,
    cache: BlockCache,
}

impl ZstdReader {
    fn new(layout: &Layout, cache_bytes: usize) -> ZstdReader {
        let prefix = layout.prefix();
        let usual = layout.encoding().block_states().min(prefix.states()) as usize / 4;
        ZstdReader {
            pieces: prefix.board().pieces(),
            neighbors: NeighborCells::of(prefix.board().geometry()),
            cache: BlockCache::new(cache_bytes, layout.blocks(), usual),
        }
    }

    /// Returns the distance of the state with this rank, which is in block
    /// `number`. Fails if the bytes do not decompress to the block's states.
    pub fn distance(&self, number: u64, block: &Block, bytes: &[u8], rank: u64) -> Result<u8, BlockFault> {
        let states = states_of(block);
        let content = self.cache.get(number, || decompress(bytes, states))?;
        let wanted = (rank - block.ranks.start) as usize;
        let first = Rank(block.ranks.start).state(self.pieces);
        let mut distance = [0];
        zstd::read(&self.neighbors, &content, states, first, wanted..wanted + 1, &mut distance);
        Ok(distance[0])
    }

    /// Writes the distances of a block to `out`. States without a valid
    /// distance have 255. Fails if the bytes do not decompress to the block's
    /// states.
    pub fn read_block(&self, block: &Block, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), BlockFault> {
        let states = states_of(block);
        let content = decompress(bytes, states)?;
        out.clear();
        out.resize(states, 0);
        let first = Rank(block.ranks.start).state(self.pieces);
        zstd::read(&self.neighbors, &content, states, first, 0..states, out);
        Ok(())
    }
}

/// A block does not decompress to its states.
#[derive(Debug)]
pub(crate) struct BlockFault {
    pub states: usize,
}

fn states_of(block: &Block) -> usize {
    (block.ranks.end - block.ranks.start) as usize
}

fn decompress(bytes: &[u8], states: usize) -> Result<Arc<[u8]>, BlockFault> {
    zstd::decompress(bytes, states).ok_or(BlockFault { states })
}
