//! Writing table files.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use crate::error::TableError;
use crate::format::{self, Block, Layout, Metadata, Provenance, TableInfo};
use crate::storage::{AtomicFile, FileSystem, OsFileSystem, parent_directory};

/// A table file in the making: a temporary file beside its place, which takes
/// the place only when whole and on disk. Dropped before that, it is removed.
#[derive(Debug)]
pub struct NewTable {
    file: AtomicFile,
    replace: bool,
}

impl NewTable {
    /// Makes sure that a table can be written to `path`, before any work is done.
    ///
    /// # Errors
    /// If the directory cannot be made or written, or if `path` is a
    /// directory, or exists and `replace` is not set.
    pub fn create(path: &Path, replace: bool) -> Result<NewTable, TableError> {
        NewTable::create_in(&OsFileSystem::shared(), path, replace)
    }

    /// As [`create`](NewTable::create), in a storage.
    ///
    /// # Errors
    /// As [`create`](NewTable::create).
    pub fn create_in(storage: &Arc<dyn FileSystem>, path: &Path, replace: bool) -> Result<NewTable, TableError> {
        NewTable::check(path, replace)?;
        let dir = parent_directory(path);
        storage.create_directory(dir).map_err(TableError::io(dir, "make the directory"))?;
        let file = AtomicFile::create(storage, path).map_err(TableError::io(path, "create"))?;
        Ok(NewTable { file, replace })
    }

    /// Whether `path` may become a table, as far as can be told without a change.
    ///
    /// # Errors
    /// If it is a directory, or exists and `replace` is not set.
    pub fn check(path: &Path, replace: bool) -> Result<(), TableError> {
        let refuse = |kind, why| Err(TableError::io(path, "create")(std::io::Error::new(kind, why)));
        if path.is_dir() {
            return refuse(std::io::ErrorKind::IsADirectory, "it is a directory");
        }
        if path.exists() && !replace {
            return refuse(std::io::ErrorKind::AlreadyExists, "it exists; --force replaces it");
        }
        Ok(())
    }

    /// Begins to write a table of these contents.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn begin(mut self, contents: TableInfo) -> Result<TableWriter, TableError> {
        let layout = Layout::new(contents.prefix, contents.encoding);
        let blank = Metadata::new(contents, vec![0; layout.blocks() as usize], Vec::new());
        let seek = self.file.seek(SeekFrom::Start(blank.data_offset));
        seek.map_err(TableError::io(self.file.path(), "write"))?;
        let (block_checksums, block_lengths) = (Vec::new(), Vec::new());
        Ok(TableWriter { new: self, contents: blank.contents, layout, block_checksums, block_lengths })
    }
}

/// Writes the blocks of a table in order.
#[derive(Debug)]
pub struct TableWriter {
    new: NewTable,
    contents: TableInfo,
    layout: Layout,
    block_checksums: Vec<u64>,
    /// Of an encoding in which they are of any length.
    block_lengths: Vec<u32>,
}

impl TableWriter {
    /// Which states the blocks hold and, unless they are of any length, where
    /// they lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Writes the next block, as a [`BlockEncoder`](crate::BlockEncoder) makes
    /// it. `checksum` is [`format::checksum`] of `bytes`,
    /// which the caller may have computed on another thread.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// # Panics
    /// If the block is not of the layout's length, is longer than 4 GiB, or
    /// there is none left.
    pub fn write_block(&mut self, bytes: &[u8], checksum: u64) -> Result<(), TableError> {
        let Block { bytes: place, .. } = self.layout.block(self.block_checksums.len() as u64);
        match self.contents.encoding.states_per_byte() {
            Some(_) => assert_eq!(bytes.len() as u64, place.end - place.start, "a block is as long as its layout says"),
            None => self.block_lengths.push(u32::try_from(bytes.len()).expect("a block is below 4 GiB")),
        }
        self.new.file.write_all(bytes).map_err(TableError::io(self.new.file.path(), "write"))?;
        self.block_checksums.push(checksum);
        Ok(())
    }

    /// Completes the file and moves it to its place. Returns the table's checksum.
    ///
    /// # Errors
    /// If the file cannot be written, or another has taken its place meanwhile.
    ///
    /// # Panics
    /// If a block has not been written.
    pub fn finish(self, provenance: &Provenance) -> Result<u64, TableError> {
        assert_eq!(self.block_checksums.len() as u64, self.layout.blocks(), "every block is written");
        let NewTable { mut file, replace } = self.new;
        let path = file.path().to_owned();
        let metadata = Metadata::new(self.contents, self.block_checksums, self.block_lengths);
        let write = || -> std::io::Result<()> {
            file.write_all(&format::encode_provenance(provenance))?;
            file.rewind()?;
            file.write_all(&metadata.encode())?;
            file.persist(replace)?;
            Ok(())
        };
        write().map_err(TableError::io(&path, "write"))?;
        Ok(metadata.checksum)
    }
}
