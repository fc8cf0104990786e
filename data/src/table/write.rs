//! Writing table files. The crate `sternhalma-builder` makes the contents of tables.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use super::error::TableError;
use super::format::{Block, Header, Layout, Provenance, TableInfo};
use super::fs::{AtomicFile, FileSystem, OsFileSystem, parent_directory};

pub use super::codec::BlockEncoder;

/// A table file before its first block: a temporary file beside its final path.
///
/// The file appears under its path only when it is complete and durable. If the
/// value is dropped earlier, the file is removed.
#[derive(Debug)]
pub struct NewTable {
    file: AtomicFile,
    replace: bool,
}

impl NewTable {
    /// Creates the temporary file, so that an invalid path is rejected before
    /// any work is done.
    ///
    /// # Errors
    /// If the directory cannot be created or written, if `path` is a directory,
    /// or if `path` exists and `replace` is false.
    pub fn create(path: impl AsRef<Path>, replace: bool) -> Result<NewTable, TableError> {
        NewTable::create_in(&OsFileSystem::shared(), path.as_ref(), replace)
    }

    /// Creates the temporary file in a file system.
    ///
    /// # Errors
    /// If [`create`](NewTable::create) fails.
    pub fn create_in(file_system: &Arc<dyn FileSystem>, path: &Path, replace: bool) -> Result<NewTable, TableError> {
        NewTable::check(path, replace)?;
        let dir = parent_directory(path);
        file_system.create_directory(dir).map_err(TableError::io(dir, "create the directory"))?;
        let file = AtomicFile::create(file_system, path).map_err(TableError::io(path, "create"))?;
        Ok(NewTable { file, replace })
    }

    /// Checks whether a table can be written to `path`, without changing a file.
    /// Another process may create the file later, so [`TableWriter::finish`]
    /// checks again.
    ///
    /// # Errors
    /// If `path` is a directory, or if it exists and `replace` is false.
    pub fn check(path: &Path, replace: bool) -> Result<(), TableError> {
        if path.is_dir() {
            return Err(TableError::io(path, "create")(std::io::ErrorKind::IsADirectory.into()));
        }
        if path.exists() && !replace {
            return Err(TableError::Exists { path: path.to_owned() });
        }
        Ok(())
    }

    /// Starts to write a table.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn begin(mut self, info: TableInfo) -> Result<TableWriter, TableError> {
        let layout = Layout::new(info.prefix, info.encoding);
        // The length of the header depends on the numbers of blocks and layers, not on the
        // checksums. `finish` writes the header into the gap that is left here.
        let blank = Header::new(info, vec![0; layout.blocks() as usize], Vec::new());
        let seek = self.file.seek(SeekFrom::Start(blank.data_offset));
        seek.map_err(TableError::io(self.file.path(), "write"))?;
        let (block_checksums, block_lengths) = (Vec::new(), Vec::new());
        Ok(TableWriter { new: self, info: blank.info, layout, block_checksums, block_lengths })
    }
}

/// A table file to which blocks are written in order.
#[derive(Debug)]
pub struct TableWriter {
    new: NewTable,
    info: TableInfo,
    layout: Layout,
    block_checksums: Vec<u64>,
    /// The lengths of the blocks, if they depend on the data.
    block_lengths: Vec<u32>,
}

impl TableWriter {
    /// Returns the places of the blocks. The byte ranges of blocks are unknown
    /// if block lengths depend on the data.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Writes the next block, as encoded by a [`BlockEncoder`].
    ///
    /// `checksum` is the [`checksum`](super::checksum) of `bytes`. The caller
    /// may compute it on another thread.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// # Panics
    /// If the block does not have the layout's length, is longer than 4 GiB, or
    /// is one too many.
    pub fn write_block(&mut self, bytes: &[u8], checksum: u64) -> Result<(), TableError> {
        let Block { bytes: place, .. } = self.layout.block(self.block_checksums.len() as u64);
        match self.info.encoding.states_per_byte() {
            Some(_) => assert_eq!(bytes.len() as u64, place.end - place.start, "a block has its layout's length"),
            None => self.block_lengths.push(u32::try_from(bytes.len()).expect("a block is below 4 GiB")),
        }
        self.new.file.write_all(bytes).map_err(TableError::io(self.new.file.path(), "write"))?;
        self.block_checksums.push(checksum);
        Ok(())
    }

    /// Completes the file and renames it to its final path. Returns the table's
    /// checksum.
    ///
    /// # Errors
    /// If the file cannot be written, or another file has appeared at its path.
    ///
    /// # Panics
    /// If a block has not been written.
    pub fn finish(self, provenance: &Provenance) -> Result<u64, TableError> {
        assert_eq!(self.block_checksums.len() as u64, self.layout.blocks(), "every block is written");
        let NewTable { mut file, replace } = self.new;
        let path = file.path().to_owned();
        let header = Header::new(self.info, self.block_checksums, self.block_lengths);
        let write = || -> std::io::Result<()> {
            file.write_all(&provenance.encode())?;
            file.rewind()?;
            file.write_all(&header.encode())?;
            file.persist(replace)?;
            Ok(())
        };
        write().map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => TableError::Exists { path: path.clone() },
            _ => TableError::io(&path, "write")(error),
        })?;
        Ok(header.checksum)
    }
}
