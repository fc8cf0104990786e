//! Second copies of the parts of layers, at the next process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sternhalma_builder::BuilderError;
use sternhalma_data::table::fs::{AtomicFile, FileSystem, parent_directory};

use crate::error::Result;
use crate::processes::{Exchange, ParcelKind};

/// The bytes of a file that a message contains.
const PIECE: u64 = 256 << 10;

/// Files that arrive in pieces. A file appears under its name when it is complete and durable.
pub(super) struct FileReceiver {
    storage: Arc<dyn FileSystem>,
    arriving: Mutex<BTreeMap<PathBuf, ArrivingFile>>,
}

struct ArrivingFile {
    file: AtomicFile,
    /// The bytes that are missing.
    missing: u64,
}

impl FileReceiver {
    pub fn new(storage: &Arc<dyn FileSystem>) -> FileReceiver {
        FileReceiver { storage: Arc::clone(storage), arriving: Mutex::default() }
    }

    /// Adds a piece of the file at `path`, as [`send_file`] sends it.
    pub fn add(&self, path: PathBuf, piece: &[u8]) -> Result<()> {
        let Some((head, bytes)) = piece.split_first_chunk::<16>() else { return Ok(()) };
        let [at, length] = [0, 8].map(|i| u64::from_le_bytes(head[i..i + 8].try_into().expect("eight bytes")));
        let mut arriving = self.arriving.lock().unwrap_or_else(PoisonError::into_inner);
        if !arriving.contains_key(&path) {
            let dir = parent_directory(&path);
            self.storage.create_directory(dir).map_err(BuilderError::file(dir, "make the directory"))?;
            let file = AtomicFile::create(&self.storage, &path).map_err(BuilderError::file(&path, "create"))?;
            arriving.insert(path.clone(), ArrivingFile { file, missing: length });
        }
        let entry = arriving.get_mut(&path).expect("the file is there");
        entry.file.file().write_at(bytes, at).map_err(BuilderError::file(&path, "write"))?;
        entry.missing = entry.missing.saturating_sub(bytes.len() as u64);
        if entry.missing > 0 {
            return Ok(());
        }
        let ArrivingFile { file, .. } = arriving.remove(&path).expect("the file is there");
        file.persist(true).map(drop).map_err(BuilderError::file(&path, "write"))
    }
}

/// Sends a file to a process in pieces: the offset, the length of the file, and the bytes.
pub(super) fn send_file(
    storage: &dyn FileSystem,
    path: &Path,
    exchange: &Exchange,
    to: usize,
    kind: ParcelKind,
    number: u64,
) -> Result<()> {
    let file = storage.open(path).map_err(BuilderError::file(path, "open"))?;
    let length = file.len().map_err(BuilderError::file(path, "read"))?;
    for at in (0..length).step_by(PIECE as usize) {
        let mut piece = [at.to_le_bytes(), length.to_le_bytes()].concat();
        piece.resize(16 + PIECE.min(length - at) as usize, 0);
        file.read_at(&mut piece[16..], at).map_err(BuilderError::file(path, "read"))?;
        exchange.send(to, kind, number, piece)?;
    }
    Ok(())
}
