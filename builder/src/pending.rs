//! States reached in units whose turn has not come.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use sternhalma_data::table::checksum;
use sternhalma_data::table::fs::{FileSystem, RandomAccessFile};

use crate::error::BuildError;
use crate::layer_file::Codec;

/// Words that are allocated in one piece, so that pieces of all records fit in
/// each other's place.
const PIECE: usize = 512;

/// What an allocation takes besides its content.
const OVERHEAD: u64 = 48;

/// Bitmaps by chunk, in memory as far as the budget goes, then in a file.
pub(crate) struct Pending {
    storage: Arc<dyn FileSystem>,
    path: PathBuf,
    inner: Mutex<Inner>,
}

struct Inner {
    /// Bytes of memory left.
    left: u64,
    records: BTreeMap<u64, Vec<Record>>,
    file: Option<Arc<dyn RandomAccessFile>>,
    /// Where the next record goes in the file.
    end: u64,
}

/// States of one chunk.
enum Record {
    /// For every 64 words, a word that tells which of them are not zero, and these.
    Memory(Vec<Box<[u64]>>),
    Disk {
        at: u64,
        length: usize,
        checksum: u64,
    },
}

impl Record {
    fn memory(&self) -> u64 {
        match self {
            Record::Memory(pieces) => {
                pieces.iter().map(|piece| 8 * piece.len() as u64 + OVERHEAD).sum::<u64>() + OVERHEAD
            }
            Record::Disk { .. } => OVERHEAD,
        }
    }
}

impl Pending {
    /// Keeps up to `budget` bytes in memory, and more in a file at `path`.
    pub fn new(storage: &Arc<dyn FileSystem>, path: &Path, budget: u64) -> Pending {
        let inner = Inner { left: budget, records: BTreeMap::new(), file: None, end: 0 };
        Pending { storage: Arc::clone(storage), path: path.to_owned(), inner: Mutex::new(inner) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no thread panics while it holds the lock")
    }

    /// Adds states of a chunk.
    pub fn add(&self, chunk: u64, words: &[u64], codec: &mut Codec) -> Result<(), BuildError> {
        let Some(record) = sparse(words) else { return Ok(()) };
        let size = record.memory();
        let mut inner = self.inner();
        if let Some(left) = inner.left.checked_sub(size) {
            inner.left = left;
            inner.records.entry(chunk).or_default().push(record);
            return Ok(());
        }
        drop((inner, record));
        let packed = codec.pack(words);
        let (file, at) = self.reserve(packed.bytes.len() as u64)?;
        file.write_at(&packed.bytes, at).map_err(BuildError::file(&self.path, "write"))?;
        let record = Record::Disk { at, length: packed.bytes.len(), checksum: packed.checksum };
        self.inner().records.entry(chunk).or_default().push(record);
        Ok(())
    }

    /// Room for so many bytes in the file.
    fn reserve(&self, length: u64) -> Result<(Arc<dyn RandomAccessFile>, u64), BuildError> {
        let mut inner = self.inner();
        let file = match &inner.file {
            Some(file) => Arc::clone(file),
            None => {
                let file: Arc<dyn RandomAccessFile> =
                    self.storage.create(&self.path).map_err(BuildError::file(&self.path, "create"))?.into();
                inner.file = Some(Arc::clone(&file));
                file
            }
        };
        let at = inner.end;
        inner.end += length;
        Ok((file, at))
    }

    /// Whether there is anything for these chunks.
    pub fn any(&self, chunks: Range<u64>) -> bool {
        self.inner().records.range(chunks).next().is_some()
    }

    /// Adds what there is for a chunk to `words`, and forgets it.
    pub fn take(&self, chunk: u64, words: &mut [u64], room: &mut [u64], codec: &mut Codec) -> Result<(), BuildError> {
        let mut inner = self.inner();
        let Some(records) = inner.records.remove(&chunk) else { return Ok(()) };
        let file = inner.file.clone();
        drop(inner);
        for record in &records {
            match record {
                Record::Memory(pieces) => add_sparse(pieces, words),
                Record::Disk { at, length, checksum: sum } => {
                    let mut bytes = vec![0; *length];
                    let file = file.as_ref().expect("records on disk are in the file");
                    file.read_at(&mut bytes, *at).map_err(BuildError::file(&self.path, "read"))?;
                    let room = &mut room[..words.len()];
                    if checksum(&bytes) != *sum || !codec.unpack(&bytes, room) {
                        return Err(BuildError::damaged(&self.path, "what was written is not what is read"));
                    }
                    words.iter_mut().zip(room).for_each(|(word, new)| *word |= *new);
                }
            }
        }
        let freed: u64 = records.iter().filter(|r| matches!(r, Record::Memory(_))).map(Record::memory).sum();
        drop(records);
        self.inner().left += freed;
        Ok(())
    }

    /// Between layers, when nothing is left: the file is used from its start again.
    pub fn rewind(&self) {
        let mut inner = self.inner();
        assert!(inner.records.is_empty(), "every unit has taken what was for it");
        inner.end = 0;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.inner().file.take().is_some() {
            // What cannot be removed is written over by the next run.
            let _ = self.storage.remove(&self.path);
        }
    }
}

/// `None` if all words are zero.
fn sparse(words: &[u64]) -> Option<Record> {
    let full = words.iter().filter(|&&word| word != 0).count();
    if full == 0 {
        return None;
    }
    let mut pieces = Vec::new();
    let mut left = full + words.len().div_ceil(64);
    let mut piece = Vec::with_capacity(left.min(PIECE));
    let mut push = |word: u64| {
        piece.push(word);
        if piece.len() == PIECE || piece.len() == left {
            left -= piece.len();
            pieces.push(std::mem::replace(&mut piece, Vec::with_capacity(left.min(PIECE))).into_boxed_slice());
        }
    };
    for part in words.chunks(64) {
        push(part.iter().enumerate().fold(0, |mask, (i, &word)| mask | u64::from(word != 0) << i));
        part.iter().filter(|&&word| word != 0).for_each(|&word| push(word));
    }
    Some(Record::Memory(pieces))
}

fn add_sparse(pieces: &[Box<[u64]>], words: &mut [u64]) {
    let mut coded = pieces.iter().flat_map(|piece| piece.iter().copied());
    for part in words.chunks_mut(64) {
        let mut mask = coded.next().expect("a record has a mask for every 64 words");
        while mask != 0 {
            part[mask.trailing_zeros() as usize] |= coded.next().expect("and the words it tells of");
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
        fn what_is_added_is_taken_once(
            adds in prop::collection::vec((0u64..6, prop::collection::vec(prop_oneof![3 => Just(0u64), 1 => any::<u64>()], 700)), 1..20),
            budget in prop_oneof![Just(0u64), 100u64..20_000, Just(u64::MAX)],
        ) {
            let dir = tempfile::tempdir().unwrap();
            let storage = OsFileSystem::shared();
            let pending = Pending::new(&storage, &dir.path().join("spill"), budget);
            let mut codec = Codec::new();
            let mut told = vec![vec![0u64; 700]; 6];
            for (chunk, words) in &adds {
                pending.add(*chunk, words, &mut codec).unwrap();
                told[*chunk as usize].iter_mut().zip(words).for_each(|(t, w)| *t |= w);
            }
            let mut room = vec![0; 700];
            for (chunk, told) in (0..).zip(&told) {
                prop_assert_eq!(pending.any(chunk..chunk + 1), told.iter().any(|&word| word != 0));
                let mut words = vec![0; 700];
                pending.take(chunk, &mut words, &mut room, &mut codec).unwrap();
                prop_assert_eq!(&words, told);
                prop_assert!(!pending.any(chunk..chunk + 1));
            }
            pending.rewind();
            prop_assert_eq!(pending.inner().left, budget);
            drop(pending);
            prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }
}
