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

/// The bytes that an allocation or a record takes besides its contents.
const OVERHEAD: u64 = 64;

/// Bitmaps by segment, in memory up to a budget and beyond it in a file.
pub struct SpillBuffer {
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
    /// The bytes of the file that are no longer needed.
    retired: Vec<Range<u64>>,
    /// Whether the file remains if the buffer is dropped.
    keep: bool,
}

/// Spilled states of one segment, in memory, in the file, or both.
struct SpillRecord {
    /// For every 64 words, a mask of the words that are not zero, and these words.
    memory: Option<Vec<Box<[u64]>>>,
    disk: Option<DiskRecord>,
}

/// The place of a record in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskRecord {
    pub at: u64,
    pub length: u64,
    pub checksum: u64,
    /// Whether the record is a compressed bitmap. Otherwise it has the form of a record in memory.
    pub compressed: bool,
}

impl SpillRecord {
    /// Returns the bytes of the budget that the record takes.
    fn memory(&self) -> u64 {
        let blocks = self.memory.iter().flatten();
        blocks.map(|block| 8 * block.len() as u64 + OVERHEAD).sum::<u64>() + OVERHEAD
    }
}

impl SpillBuffer {
    /// Creates a buffer that keeps up to `budget` bytes in memory, and more in a file at `path`.
    pub fn new(storage: &Arc<dyn FileSystem>, path: &Path, budget: u64) -> SpillBuffer {
        let state =
            SpillState { left: budget, records: BTreeMap::new(), file: None, end: 0, retired: Vec::new(), keep: false };
        SpillBuffer { storage: Arc::clone(storage), path: path.to_owned(), state: Mutex::new(state) }
    }

    /// Creates a buffer whose file exists and is locked.
    pub fn create(storage: &Arc<dyn FileSystem>, path: &Path, budget: u64) -> Result<SpillBuffer> {
        let buffer = SpillBuffer::new(storage, path, budget);
        buffer.reserve(0)?;
        Ok(buffer)
    }

    /// Opens and locks the file of an interrupted process. Returns `None` if there is none. The
    /// buffer is empty until [`restore`](SpillBuffer::restore), and the file remains if it is dropped.
    pub fn reopen(storage: &Arc<dyn FileSystem>, path: &Path, budget: u64) -> Result<Option<SpillBuffer>> {
        let file = match storage.reopen(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(BuilderError::file(path, "open"))?,
        };
        let buffer = SpillBuffer::new(storage, path, budget);
        let mut state = buffer.state();
        (state.file, state.keep) = (Some(file.into()), true);
        drop(state);
        Ok(Some(buffer))
    }

    /// Adds the records of an interrupted process. Returns whether the file is long enough.
    pub fn restore(&self, records: &[(u64, DiskRecord)]) -> Result<bool> {
        let mut state = self.state();
        let file = Arc::clone(state.file.as_ref().expect("the file is open"));
        let length = file.len().map_err(BuilderError::file(&self.path, "read"))?;
        let Some(end) =
            records.iter().try_fold(0, |end: u64, (_, disk)| Some(end.max(disk.at.checked_add(disk.length)?)))
        else {
            return Ok(false);
        };
        if end > length {
            return Ok(false);
        }
        // The process may have written more after it had recorded its state.
        file.truncate(end).map_err(BuilderError::file(&self.path, "truncate"))?;
        state.end = end;
        for &(segment, disk) in records {
            state.records.entry(segment).or_default().push(SpillRecord { memory: None, disk: Some(disk) });
        }
        Ok(true)
    }

    /// Makes all records durable, and returns their segments and places in the file.
    ///
    /// The caller records the places, and then calls [`keep`](SpillBuffer::keep). No other method may
    /// run meanwhile.
    pub fn save(&self) -> Result<Vec<(u64, DiskRecord)>> {
        let (file, _) = self.reserve(0)?;
        let mut state = self.state();
        let SpillState { records, end, .. } = &mut *state;
        let mut saved = Vec::new();
        for (&segment, record) in
            records.iter_mut().flat_map(|(segment, records)| records.iter_mut().map(move |r| (segment, r)))
        {
            let disk = match (record.disk, &record.memory) {
                (Some(disk), _) => disk,
                (None, None) => unreachable!("a record is in memory or in the file"),
                (None, Some(blocks)) => {
                    let bytes: Vec<u8> =
                        blocks.iter().flat_map(|block| block.iter().flat_map(|word| word.to_le_bytes())).collect();
                    file.write_at(&bytes, *end).map_err(BuilderError::file(&self.path, "write"))?;
                    let (at, length) = (*end, bytes.len() as u64);
                    *end += length;
                    DiskRecord { at, length, checksum: checksum(&bytes), compressed: false }
                }
            };
            record.disk = Some(disk);
            saved.push((segment, disk));
        }
        file.sync().map_err(BuilderError::file(&self.path, "write"))?;
        Ok(saved)
    }

    /// Sets whether the file remains if the buffer is dropped, and frees the disk space of the
    /// records that have been taken.
    pub fn keep(&self, keep: bool) -> Result<()> {
        let mut state = self.state();
        state.keep = keep;
        let retired = std::mem::take(&mut state.retired);
        let Some(file) = state.file.clone() else { return Ok(()) };
        retired.into_iter().try_for_each(|bytes| file.free(bytes)).map_err(BuilderError::file(&self.path, "free"))
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
        let disk = DiskRecord { at, length: packed.bytes.len() as u64, checksum: packed.checksum, compressed: true };
        self.state().records.entry(segment).or_default().push(SpillRecord { memory: None, disk: Some(disk) });
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
            if let Some(blocks) = &record.memory {
                add_sparse(blocks.iter().flat_map(|block| block.iter().copied()), words)
                    .expect("the record is complete");
            } else if let Some(disk) = record.disk {
                let file = file.as_ref().expect("records on disk are in the file");
                self.read(&**file, disk, words, buffer, codec)?;
            }
        }
        let freed: u64 = records.iter().filter(|record| record.memory.is_some()).map(SpillRecord::memory).sum();
        let retired = records.iter().filter_map(|record| record.disk).map(|disk| disk.at..disk.at + disk.length);
        let mut state = self.state();
        state.retired.extend(retired);
        state.left += freed;
        Ok(())
    }

    /// Adds the states of a record in the file to `words`.
    fn read(
        &self,
        file: &dyn RandomAccessFile,
        disk: DiskRecord,
        words: &mut [u64],
        buffer: &mut [u64],
        codec: &mut SegmentCodec,
    ) -> Result<()> {
        let mut bytes = vec![0; disk.length as usize];
        file.read_at(&mut bytes, disk.at).map_err(BuilderError::file(&self.path, "read"))?;
        let is_valid = checksum(&bytes) == disk.checksum && {
            if disk.compressed {
                let buffer = &mut buffer[..words.len()];
                let is_valid = codec.unpack(&bytes, buffer);
                words.iter_mut().zip(buffer).for_each(|(word, new)| *word |= *new);
                is_valid
            } else {
                let coded = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
                add_sparse(coded, words).is_some()
            }
        };
        match is_valid {
            true => Ok(()),
            false => Err(BuilderError::damaged(&self.path, "its contents changed after they were written")),
        }
    }

    /// Starts at the beginning of the file again. The buffer must be empty, as it is between layers.
    pub fn reset(&self) {
        let mut state = self.state();
        assert!(state.records.is_empty(), "every partition has taken its states");
        state.end = 0;
        state.retired.clear();
    }
}

impl Drop for SpillBuffer {
    fn drop(&mut self) {
        let mut state = self.state();
        if state.file.take().is_some() && !state.keep {
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
    Some(SpillRecord { memory: Some(blocks), disk: None })
}

/// Adds the states of a sparse record to `words`. Returns `None` if the record does not fit.
fn add_sparse(mut coded: impl Iterator<Item = u64>, words: &mut [u64]) -> Option<()> {
    for part in words.chunks_mut(64) {
        let mut mask = coded.next()?;
        while mask != 0 {
            *part.get_mut(mask.trailing_zeros() as usize)? |= coded.next()?;
            mask &= mask - 1;
        }
    }
    coded.next().is_none().then_some(())
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
            let mut codec = SegmentCodec::default();
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
