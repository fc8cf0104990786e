//! A buffer for states that are reached in later partitions.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use sternhalma_data::table::checksum;
use sternhalma_data::table::fs::{FileSystem, RandomAccessFile};

use super::segment::SegmentCodec;
use crate::error::{BuilderError, Result};

/// The words of an allocated block. All records consist of such blocks, so
/// that freed memory fits later records.
const BLOCK_WORDS: usize = 512;

/// The bytes that an allocation takes besides its contents.
const OVERHEAD: u64 = 48;

/// Bitmaps by segment, in memory up to a budget and beyond it in a file.
pub(crate) struct SpillBuffer {
    storage: Arc<dyn FileSystem>,
    path: PathBuf,
    state: Mutex<SpillState>,
}

struct SpillState {
    /// The unused bytes of the budget.
    left: u64,
    records: BTreeMap<u64, Vec<SpillRecord>>,
    file: Option<Arc<dyn RandomAccessFile>>,
    /// The offset of the next record in the file.
    end: u64,
}

/// Spilled states of one segment.
enum SpillRecord {
    /// For every 64 words, a mask of the words that are not zero, and these words.
    Memory(Vec<Box<[u64]>>),
    Disk {
        at: u64,
        length: usize,
        checksum: u64,
    },
}

impl SpillRecord {
    fn memory(&self) -> u64 {
        match self {
            SpillRecord::Memory(blocks) => {
                blocks.iter().map(|block| 8 * block.len() as u64 + OVERHEAD).sum::<u64>() + OVERHEAD
            }
            SpillRecord::Disk { .. } => OVERHEAD,
        }
    }
}

impl SpillBuffer {
    /// Creates a buffer that keeps up to `budget` bytes in memory, and more in a file at `path`.
    pub fn new(storage: &Arc<dyn FileSystem>, path: &Path, budget: u64) -> SpillBuffer {
        let state = SpillState { left: budget, records: BTreeMap::new(), file: None, end: 0 };
        SpillBuffer { storage: Arc::clone(storage), path: path.to_owned(), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, SpillState> {
        self.state.lock().expect("no thread panics while it holds the lock")
    }

    /// Adds states of a segment. `words` is the bitmap of the segment.
    ///
    /// The states stay in memory while the budget allows, and go to the file
    /// afterwards. Packing and writing take place without the lock.
    pub fn add(&self, segment: u64, words: &[u64], codec: &mut SegmentCodec) -> Result<()> {
        let Some(record) = sparse(words) else { return Ok(()) };
        let size = record.memory();
        let mut state = self.state();
        if let Some(left) = state.left.checked_sub(size) {
            state.left = left;
            state.records.entry(segment).or_default().push(record);
            return Ok(());
        }
        drop((state, record));
        let packed = codec.pack(words);
        let (file, at) = self.reserve(packed.bytes.len() as u64)?;
        file.write_at(&packed.bytes, at).map_err(BuilderError::file(&self.path, "write"))?;
        let record = SpillRecord::Disk { at, length: packed.bytes.len(), checksum: packed.checksum };
        self.state().records.entry(segment).or_default().push(record);
        Ok(())
    }

    /// Reserves `length` bytes of the file, which is created if necessary.
    fn reserve(&self, length: u64) -> Result<(Arc<dyn RandomAccessFile>, u64)> {
        let mut state = self.state();
        let file = match &state.file {
            Some(file) => Arc::clone(file),
            None => {
                let file: Arc<dyn RandomAccessFile> =
                    self.storage.create(&self.path).map_err(BuilderError::file(&self.path, "create"))?.into();
                state.file = Some(Arc::clone(&file));
                file
            }
        };
        let at = state.end;
        state.end += length;
        Ok((file, at))
    }

    /// Returns whether there are states for any of these segments.
    pub fn any(&self, segments: Range<u64>) -> bool {
        self.state().records.range(segments).next().is_some()
    }

    /// Moves the states of a segment from this buffer to `words`. `buffer` is scratch space.
    pub fn take(&self, segment: u64, words: &mut [u64], buffer: &mut [u64], codec: &mut SegmentCodec) -> Result<()> {
        let mut state = self.state();
        let Some(records) = state.records.remove(&segment) else { return Ok(()) };
        let file = state.file.clone();
        drop(state);
        for record in &records {
            match record {
                SpillRecord::Memory(blocks) => add_sparse(blocks, words),
                SpillRecord::Disk { at, length, checksum: sum } => {
                    let mut bytes = vec![0; *length];
                    let file = file.as_ref().expect("records on disk are in the file");
                    file.read_at(&mut bytes, *at).map_err(BuilderError::file(&self.path, "read"))?;
                    let buffer = &mut buffer[..words.len()];
                    if checksum(&bytes) != *sum || !codec.unpack(&bytes, buffer) {
                        return Err(BuilderError::damaged(&self.path, "its contents changed after they were written"));
                    }
                    words.iter_mut().zip(buffer).for_each(|(word, new)| *word |= *new);
                }
            }
        }
        let freed: u64 = records.iter().filter(|r| matches!(r, SpillRecord::Memory(_))).map(SpillRecord::memory).sum();
        drop(records);
        self.state().left += freed;
        Ok(())
    }

    /// Starts at the beginning of the file again. The buffer must be empty, as it is between layers.
    pub fn reset(&self) {
        let mut state = self.state();
        assert!(state.records.is_empty(), "every partition has taken its states");
        state.end = 0;
    }
}

impl Drop for SpillBuffer {
    fn drop(&mut self) {
        if self.state().file.take().is_some() {
            // The next run overwrites a file that cannot be removed.
            let _ = self.storage.remove(&self.path);
        }
    }
}

/// Returns a record of the words that are not zero, or `None` if there are none.
fn sparse(words: &[u64]) -> Option<SpillRecord> {
    let full = words.iter().filter(|&&word| word != 0).count();
    if full == 0 {
        return None;
    }
    let mut blocks = Vec::new();
    let mut left = full + words.len().div_ceil(64);
    let mut block = Vec::with_capacity(left.min(BLOCK_WORDS));
    let mut push = |word: u64| {
        block.push(word);
        if block.len() == BLOCK_WORDS || block.len() == left {
            left -= block.len();
            blocks.push(std::mem::replace(&mut block, Vec::with_capacity(left.min(BLOCK_WORDS))).into_boxed_slice());
        }
    };
    for part in words.chunks(64) {
        push(part.iter().enumerate().fold(0, |mask, (i, &word)| mask | u64::from(word != 0) << i));
        part.iter().filter(|&&word| word != 0).for_each(|&word| push(word));
    }
    Some(SpillRecord::Memory(blocks))
}

fn add_sparse(blocks: &[Box<[u64]>], words: &mut [u64]) {
    let mut coded = blocks.iter().flat_map(|block| block.iter().copied());
    for part in words.chunks_mut(64) {
        let mut mask = coded.next().expect("a record has a mask for every 64 words");
        while mask != 0 {
            part[mask.trailing_zeros() as usize] |= coded.next().expect("and the words of the mask");
            mask &= mask - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sternhalma_data::table::fs::OsFileSystem;

    proptest! {
        #[test]
        fn added_states_are_taken_once(
            adds in prop::collection::vec((0u64..6, prop::collection::vec(prop_oneof![3 => Just(0u64), 1 => any::<u64>()], 700)), 1..20),
            budget in prop_oneof![Just(0u64), 100u64..20_000, Just(u64::MAX)],
        ) {
            let dir = tempfile::tempdir().unwrap();
            let storage = OsFileSystem::shared();
            let spill = SpillBuffer::new(&storage, &dir.path().join("spill"), budget);
            let mut codec = SegmentCodec::new();
            let mut expected = vec![vec![0u64; 700]; 6];
            for (segment, words) in &adds {
                spill.add(*segment, words, &mut codec).unwrap();
                expected[*segment as usize].iter_mut().zip(words).for_each(|(t, w)| *t |= w);
            }
            let mut buffer = vec![0; 700];
            for (segment, expected) in (0..).zip(&expected) {
                prop_assert_eq!(spill.any(segment..segment + 1), expected.iter().any(|&word| word != 0));
                let mut words = vec![0; 700];
                spill.take(segment, &mut words, &mut buffer, &mut codec).unwrap();
                prop_assert_eq!(&words, expected);
                prop_assert!(!spill.any(segment..segment + 1));
            }
            spill.reset();
            prop_assert_eq!(spill.state().left, budget);
            drop(spill);
            prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }
}
