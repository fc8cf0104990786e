//! Caches of blocks: decompressed ones for look-ups, and decoded ones for streams.

use std::sync::{Arc, Mutex, PoisonError};

/// The number of blocks of ordinary size that one lock guards.
const WAYS: usize = 8;
/// The bytes that a block takes besides its content: number, pointer and counts.
const OVERHEAD: usize = 64;

/// The most recently used blocks, in a bounded number of bytes.
///
/// Blocks are kept in sets by their number. Each set has its own lock, which
/// is held for a few comparisons, so threads rarely wait for each other. Two
/// threads may decompress the same block at the same time; a cache that
/// prevents this would hold a lock while it decompresses.
#[derive(Debug)]
pub(super) struct BlockCache {
    sets: Box<[Mutex<CacheSet>]>,
    set_bytes: usize,
}

/// Blocks with their contents, the most recently used first.
type CacheSet = Vec<(u64, Arc<[u8]>)>;

impl BlockCache {
    /// Returns a cache of `bytes` for up to `blocks` blocks of `usual` bytes each.
    pub fn new(bytes: usize, blocks: u64, usual: usize) -> BlockCache {
        let most = usize::try_from(blocks).map_or(usize::MAX, |blocks| blocks.div_ceil(WAYS));
        let sets = (bytes / (WAYS * (usual + OVERHEAD))).clamp(1, most.max(1));
        BlockCache { sets: (0..sets).map(|_| Mutex::default()).collect(), set_bytes: bytes / sets }
    }

    /// Returns the content of a block, from the cache if possible and otherwise
    /// from `read`.
    pub fn get<E>(&self, block: u64, read: impl FnOnce() -> Result<Arc<[u8]>, E>) -> Result<Arc<[u8]>, E> {
        let set = &self.sets[(block % self.sets.len() as u64) as usize];
        // A set is consistent after each statement, so a panic of another thread does no harm.
        let lock = || set.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = find(&mut lock(), block) {
            return Ok(found);
        }
        let content = read()?;
        let mut set = lock();
        set.retain(|(kept, _)| *kept != block);
        set.insert(0, (block, Arc::clone(&content)));
        let mut room = self.set_bytes;
        let fitting = set.iter().take_while(|(_, content)| {
            let left = room.checked_sub(content.len() + OVERHEAD);
            room = left.unwrap_or(0);
            left.is_some()
        });
        let fitting = fitting.count();
        set.truncate(fitting);
        Ok(content)
    }
}

fn find(set: &mut CacheSet, block: u64) -> Option<Arc<[u8]>> {
    let place = set.iter().position(|(kept, _)| *kept == block)?;
    set[..=place].rotate_right(1);
    Some(Arc::clone(&set[0].1))
}

/// The distances of the last blocks that a stream of a mirrored table has used.
///
/// Consecutive ranks of a mirrored table are in many blocks, which the stream uses again and again.
/// A clone is empty.
#[derive(Debug)]
pub(crate) struct DecodedBlocks {
    /// Blocks with their distances, the most recently used first.
    blocks: Vec<(u64, Vec<u8>)>,
    bytes: usize,
    /// The largest number of bytes, except that two blocks are always kept.
    most_bytes: usize,
}

impl DecodedBlocks {
    /// The usual number of bytes. With fewer, blocks of 65,536 states are decoded several times.
    pub const BYTES: usize = 16 << 20;
    /// The largest number of blocks, so that they are found quickly.
    const BLOCKS: usize = 512;

    /// Returns an empty cache of up to `most_bytes` bytes, except that two blocks are always kept.
    pub fn new(most_bytes: usize) -> DecodedBlocks {
        DecodedBlocks { blocks: Vec::new(), bytes: 0, most_bytes }
    }

    /// Returns the distances of a block, which `decode` writes if they are not in the cache.
    pub fn get<E>(&mut self, block: u64, decode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<&[u8], E> {
        if let Some(place) = self.blocks.iter().position(|&(number, _)| number == block) {
            self.blocks[..=place].rotate_right(1);
        } else {
            let mut distances = Vec::new();
            decode(&mut distances)?;
            self.bytes += distances.len();
            self.blocks.insert(0, (block, distances));
            while self.blocks.len() > 2 && (self.bytes > self.most_bytes || self.blocks.len() > Self::BLOCKS) {
                self.bytes -= self.blocks.pop().map_or(0, |(_, distances)| distances.len());
            }
        }
        Ok(&self.blocks[0].1)
    }
}

impl Clone for DecodedBlocks {
    fn clone(&self) -> DecodedBlocks {
        DecodedBlocks::new(self.most_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoded_blocks_are_kept_within_both_limits() {
        let mut cache = DecodedBlocks::new(DecodedBlocks::BYTES);
        let mut decoded = 0;
        let mut get = |block: u64, states: usize| {
            let before = decoded;
            let distances = cache.get(block, |out| -> Result<(), ()> {
                decoded += 1;
                out.resize(states, block as u8);
                Ok(())
            });
            assert_eq!(distances.unwrap(), vec![block as u8; states]);
            let within = cache.blocks.len() <= DecodedBlocks::BLOCKS && cache.bytes <= DecodedBlocks::BYTES;
            assert!(within || cache.blocks.len() <= 2);
            decoded > before
        };
        let most = DecodedBlocks::BLOCKS as u64;
        assert!((0..most).all(|block| get(block, 1000)) && !(0..most).any(|block| get(block, 1000)));
        assert!(get(most, 1000) && get(0, 1000) && !get(2, 1000));
        let large = DecodedBlocks::BYTES / 4 * 3;
        let other = most + 1;
        assert!(
            get(other, large) && get(other + 1, large) && !get(other, large) && !get(other + 1, large) && get(2, 1000)
        );
    }

    #[test]
    fn blocks_are_kept_as_long_as_there_is_room() {
        let cache = BlockCache::new(1 << 14, 100, 1 << 10);
        let mut reads = 0;
        let mut get = |block: u64, bytes: usize| {
            let before = reads;
            let content = cache.get(block, || -> Result<_, ()> {
                reads += 1;
                Ok(vec![block as u8; bytes].into())
            });
            assert!(content.unwrap().iter().all(|&byte| byte == block as u8));
            reads > before
        };
        assert!(get(1, 1024) && !get(1, 1024));
        assert!((2..40).all(|block| get(block, 1024)), "each is read once");
        assert!(!get(39, 1024) && get(1, 1024), "the last is kept, the first is not");
        assert!(get(50, 1 << 15) && get(50, 1 << 15), "what is too large is not kept");
        let kept: usize = cache.sets.iter().flat_map(|set| set.lock().unwrap().clone()).map(|(_, c)| c.len()).sum();
        assert!(kept <= 1 << 14);
    }
}
