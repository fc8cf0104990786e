//! Writing table files. The crate `sternhalma-builder` makes the contents of tables.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use super::error::TableError;
use super::format::{Block, Header, Layout, Provenance, TableInfo, checksum};
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

    /// Reopens the temporary file that a writer left ([`TableWriter::sync`]).
    ///
    /// # Errors
    /// If there is no such file, another process is writing it, or `path` exists and `replace` is false.
    pub fn reopen_in(file_system: &Arc<dyn FileSystem>, path: &Path, replace: bool) -> Result<NewTable, TableError> {
        NewTable::check(path, replace)?;
        let temporary = AtomicFile::temporary_path(path);
        let file = AtomicFile::reopen(file_system, path).map_err(TableError::io(&temporary, "continue"))?;
        Ok(NewTable { file, replace })
    }

    /// Checks whether a table can be written to `path`, without changing a file.
    /// Another process may create the file later, so [`TableWriter::finish`]
    /// checks again.
    ///
    /// # Errors
    /// If `path` is a directory, a device, a pipe or a symbolic link, or if it exists and `replace` is false.
    pub fn check(path: &Path, replace: bool) -> Result<(), TableError> {
        if path.is_dir() {
            return Err(TableError::io(path, "create")(std::io::ErrorKind::IsADirectory.into()));
        }
        sternhalma_files::check_regular(path).map_err(TableError::io(path, "create"))?;
        if path.exists() && !replace {
            return Err(TableError::Exists { path: path.to_owned() });
        }
        Ok(())
    }

    /// Starts to write a table.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// # Panics
    /// If the table is mirrored and its prefix has no mirrored form.
    pub fn begin(mut self, info: TableInfo) -> Result<TableWriter, TableError> {
        let layout = info.spec.layout().expect("the prefix of a mirrored table has a mirrored form");
        // The length of the header depends on the numbers of blocks and layers, not on the
        // checksums. `finish` writes the header into the gap that is left here.
        let blank = Header::new(info, layout.clone(), vec![0; layout.blocks() as usize], Vec::new());
        let seek = self.file.seek(SeekFrom::Start(blank.data_offset));
        seek.map_err(TableError::io(self.file.path(), "write"))?;
        Ok(TableWriter { new: self, info: blank.info, layout, blocks: Vec::new() })
    }
}

/// A block in the file of a [`TableWriter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrittenBlock {
    /// The [`checksum`] of its bytes.
    pub checksum: u64,
    /// The number of its bytes.
    pub length: u32,
}

/// A table file to which blocks are written in order.
#[derive(Debug)]
pub struct TableWriter {
    new: NewTable,
    info: TableInfo,
    layout: Layout,
    blocks: Vec<WrittenBlock>,
}

impl TableWriter {
    /// Returns the places of the blocks. The byte ranges of blocks are unknown
    /// if block lengths depend on the data.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Writes the next block, as encoded by a [`BlockEncoder`].
    ///
    /// `checksum` is the [`checksum`] of `bytes`. The caller
    /// may compute it on another thread.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// # Panics
    /// If the block does not have the layout's length, is longer than 4 GiB, or
    /// is one too many.
    pub fn write_block(&mut self, bytes: &[u8], checksum: u64) -> Result<(), TableError> {
        let Block { bytes: place, .. } = self.layout.block(self.blocks.len() as u64);
        if self.info.spec.encoding.states_per_byte().is_some() {
            assert_eq!(bytes.len() as u64, place.end - place.start, "a block has its layout's length");
        }
        let length = u32::try_from(bytes.len()).expect("a block is below 4 GiB");
        self.new.file.write_all(bytes).map_err(TableError::io(self.new.file.path(), "write"))?;
        self.blocks.push(WrittenBlock { checksum, length });
        Ok(())
    }

    /// Returns the blocks that have been written.
    pub fn written(&self) -> &[WrittenBlock] {
        &self.blocks
    }

    /// Makes the written blocks durable. From now on the file is kept under its temporary name if the
    /// writer is dropped, so that [`NewTable::reopen_in`] and [`resume`](TableWriter::resume) continue it.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn sync(&mut self) -> Result<(), TableError> {
        let path = self.new.file.path().to_owned();
        self.new.file.keep().map_err(TableError::io(&path, "write"))
    }

    /// Continues a reopened file after these blocks, which an earlier writer made durable. Each of
    /// them is read and compared with its checksum. Everything after them is discarded.
    ///
    /// # Errors
    /// If a block cannot be read or does not match its checksum.
    ///
    /// # Panics
    /// If a block has been written.
    pub fn resume(&mut self, blocks: Vec<WrittenBlock>) -> Result<(), TableError> {
        assert!(self.blocks.is_empty(), "a file is resumed before a block is written");
        let path = AtomicFile::temporary_path(self.new.file.path());
        let mut at = self.new.file.stream_position().map_err(TableError::io(&path, "read"))?;
        let mut bytes = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            bytes.resize(block.length as usize, 0);
            self.new.file.file().read_at(&mut bytes, at).map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => TableError::corrupt(&path, "it is cut short"),
                _ => TableError::io(&path, "read")(error),
            })?;
            if checksum(&bytes) != block.checksum {
                return Err(TableError::corrupt(&path, format!("block {number} does not match its checksum")));
            }
            at += u64::from(block.length);
        }
        let mut cut = || {
            self.new.file.file().truncate(at)?;
            self.new.file.seek(SeekFrom::Start(at))
        };
        cut().map_err(TableError::io(&path, "write"))?;
        self.blocks = blocks;
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
        assert_eq!(self.blocks.len() as u64, self.layout.blocks(), "every block is written");
        let NewTable { mut file, replace } = self.new;
        let path = file.path().to_owned();
        let lengths = self.blocks.iter().map(|block| block.length);
        // Only lengths that depend on the data are stored.
        let lengths = lengths.filter(|_| self.info.spec.encoding.states_per_byte().is_none()).collect();
        let checksums = self.blocks.iter().map(|block| block.checksum).collect();
        let header = Header::new(self.info, self.layout, checksums, lengths);
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
