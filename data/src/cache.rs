//! Decompressed blocks that are kept for a while.

use std::sync::{Arc, Mutex, PoisonError};

/// Blocks that one lock guards, if each takes what is usual.
const WAYS: usize = 8;
/// What a block takes beside its content: its number, pointer and counts.
const OVERHEAD: usize = 64;

/// The blocks used last, in a bounded number of bytes.
///
/// Blocks are kept in sets by their number. Each set has its own lock, which
/// is held for a few comparisons, so threads seldom wait for each other.
#[derive(Debug)]
pub(crate) struct Cache {
    sets: Box<[Mutex<Set>]>,
    set_bytes: usize,
}

/// The block used last comes first.
type Set = Vec<(u64, Arc<[u8]>)>;

impl Cache {
    /// A cache of so many bytes for so many blocks, which usually take `usual` each.
    pub fn new(bytes: usize, blocks: u64, usual: usize) -> Cache {
        let most = usize::try_from(blocks).map_or(usize::MAX, |blocks| blocks.div_ceil(WAYS));
        let sets = (bytes / (WAYS * (usual + OVERHEAD))).clamp(1, most.max(1));
        Cache { sets: (0..sets).map(|_| Mutex::default()).collect(), set_bytes: bytes / sets }
    }

    /// The content of a block, from the cache or else from `read`.
    pub fn get<E>(&self, block: u64, read: impl FnOnce() -> Result<Arc<[u8]>, E>) -> Result<Arc<[u8]>, E> {
        let set = &self.sets[(block % self.sets.len() as u64) as usize];
        // A set is whole after each statement, so a thread that ended within one has spoilt nothing.
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

fn find(set: &mut Set, block: u64) -> Option<Arc<[u8]>> {
    let place = set.iter().position(|(kept, _)| *kept == block)?;
    set[..=place].rotate_right(1);
    Some(Arc::clone(&set[0].1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_kept_as_long_as_there_is_room() {
        let cache = Cache::new(1 << 14, 100, 1 << 10);
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
