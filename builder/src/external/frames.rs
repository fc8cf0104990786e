//! A store for packed segments from other processes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use sternhalma_data::table::checksum;
use sternhalma_data::table::fs::{FileSystem, RandomAccessFile};

use crate::error::{BuilderError, Result};

/// The bytes that a frame takes in memory besides its contents.
const OVERHEAD: u64 = 96;

/// Packed segments by number, in memory up to a budget and beyond it in a file.
pub struct FrameStore {
    storage: Arc<dyn FileSystem>,
    path: PathBuf,
    state: Mutex<StoreState>,
}

struct StoreState {
    /// The unused bytes of the budget.
    left: u64,
    frames: BTreeMap<u64, Vec<Frame>>,
    file: Option<Arc<dyn RandomAccessFile>>,
    /// The offset of the next frame in the file.
    end: u64,
}

/// A packed segment.
enum Frame {
    Memory(Vec<u8>),
    Disk { at: u64, length: usize, checksum: u64 },
}

impl FrameStore {
    /// Creates a store that keeps up to `budget` bytes in memory, and more in a file at `path`.
    pub fn new(storage: &Arc<dyn FileSystem>, path: &Path, budget: u64) -> FrameStore {
        let state = StoreState { left: budget, frames: BTreeMap::new(), file: None, end: 0 };
        FrameStore { storage: Arc::clone(storage), path: path.to_owned(), state: Mutex::new(state) }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn state(&self) -> MutexGuard<'_, StoreState> {
        self.state.lock().expect("no thread panics while it holds the lock")
    }

    /// Adds the bytes of a segment. A segment may have several.
    pub fn add(&self, segment: u64, bytes: Vec<u8>) -> Result<()> {
        let mut state = self.state();
        let frame = match state.left.checked_sub(bytes.len() as u64 + OVERHEAD) {
            Some(left) => {
                state.left = left;
                Frame::Memory(bytes)
            }
            None => {
                if state.file.is_none() {
                    let file = self.storage.create(&self.path).map_err(BuilderError::file(&self.path, "create"))?;
                    state.file = Some(file.into());
                }
                let file = Arc::clone(state.file.as_ref().expect("the file is open"));
                let (at, length) = (state.end, bytes.len());
                file.write_at(&bytes, at).map_err(BuilderError::file(&self.path, "write"))?;
                state.end += length as u64;
                Frame::Disk { at, length, checksum: checksum(&bytes) }
            }
        };
        state.frames.entry(segment).or_default().push(frame);
        Ok(())
    }

    /// Returns whether there are bytes of any of these segments.
    pub fn any(&self, segments: Range<u64>) -> bool {
        self.state().frames.range(segments).next().is_some()
    }

    /// Removes the bytes of a segment, in the order in which they were added.
    pub fn take(&self, segment: u64) -> Result<Vec<Vec<u8>>> {
        let mut state = self.state();
        let Some(frames) = state.frames.remove(&segment) else { return Ok(Vec::new()) };
        let file = state.file.clone();
        for frame in &frames {
            if let Frame::Memory(bytes) = frame {
                state.left += bytes.len() as u64 + OVERHEAD;
            }
        }
        drop(state);
        let read = |frame| match frame {
            Frame::Memory(bytes) => Ok(bytes),
            Frame::Disk { at, length, checksum: expected } => {
                let mut bytes = vec![0; length];
                let file = file.as_ref().expect("the frame is in the file");
                file.read_at(&mut bytes, at).map_err(BuilderError::file(&self.path, "read"))?;
                match checksum(&bytes) == expected {
                    true => Ok(bytes),
                    false => Err(BuilderError::damaged(&self.path, "its contents changed after they were written")),
                }
            }
        };
        frames.into_iter().map(read).collect()
    }

    /// Starts at the beginning of the file again. The store must be empty.
    pub fn reset(&self) {
        let mut state = self.state();
        assert!(state.frames.is_empty(), "every segment is taken");
        state.end = 0;
    }
}

impl Drop for FrameStore {
    fn drop(&mut self) {
        if self.state().file.take().is_some() {
            // The next run overwrites a file that cannot be removed.
            let _ = self.storage.remove(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sternhalma_data::table::fs::OsFileSystem;

    #[test]
    fn frames_are_returned_once_and_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let store = FrameStore::new(&OsFileSystem::shared(), &dir.path().join("frames"), 250);
        let frames: Vec<(u64, Vec<u8>)> = (0..20).map(|i| (i % 3, vec![i as u8; i as usize])).collect();
        for round in 0..2 {
            frames.iter().for_each(|(segment, bytes)| store.add(*segment, bytes.clone()).unwrap());
            assert_eq!(dir.path().join("frames").metadata().unwrap().len(), (2..20).sum::<u64>());
            for segment in 0..3 {
                assert!(store.any(segment..segment + 1));
                let expected: Vec<_> = frames.iter().filter(|frame| frame.0 == segment).map(|f| f.1.clone()).collect();
                assert_eq!(store.take(segment).unwrap(), expected, "round {round}");
                assert!(!store.any(segment..segment + 1) && store.take(segment).unwrap().is_empty());
            }
            store.reset();
        }
        drop(store);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
