//! The interface to files.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A file system. [`OsFileSystem`](super::OsFileSystem) is the implementation
/// of the operating system.
pub trait FileSystem: fmt::Debug + Send + Sync {
    /// Creates a file, or truncates it, and locks it.
    ///
    /// Until the file is dropped, creating it again fails with
    /// [`ResourceBusy`](io::ErrorKind::ResourceBusy), here and in other
    /// processes. If the file has another name, that name keeps its bytes.
    ///
    /// # Errors
    /// If the operating system refuses, or the file is in use.
    fn create(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>>;

    /// Opens a file for reading.
    ///
    /// # Errors
    /// If the operating system refuses.
    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>>;

    /// Opens an existing file for reading and writing, and locks it like [`create`](FileSystem::create).
    ///
    /// # Errors
    /// If the operating system refuses, or the file is in use.
    fn reopen(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>>;

    /// Renames a file atomically.
    ///
    /// # Errors
    /// If the operating system refuses. If `to` exists and `replace` is false,
    /// the error is [`AlreadyExists`](io::ErrorKind::AlreadyExists).
    fn rename(&self, from: &Path, to: &Path, replace: bool) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// If the operating system refuses.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Creates the directory and its missing parents durably: they survive a
    /// power failure.
    ///
    /// # Errors
    /// If the operating system refuses.
    fn create_directory(&self, path: &Path) -> io::Result<()>;

    /// Makes the files created, renamed and removed in a directory durable.
    ///
    /// # Errors
    /// If the operating system refuses.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// Returns the number of bytes read and written so far.
    fn traffic(&self) -> Traffic;
}

/// A file of a [`FileSystem`].
pub trait RandomAccessFile: fmt::Debug + Send + Sync {
    /// Fills `bytes` from the file, starting at byte `at`.
    ///
    /// # Errors
    /// If the operating system refuses, or the file is too short.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;

    /// Writes all of `bytes`, starting at byte `at`.
    ///
    /// # Errors
    /// If the operating system refuses.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// Returns the length in bytes.
    ///
    /// # Errors
    /// If the operating system refuses.
    fn len(&self) -> io::Result<u64>;

    /// Returns whether the file is empty.
    ///
    /// # Errors
    /// If the operating system refuses.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Makes the written bytes durable.
    ///
    /// # Errors
    /// If the operating system refuses.
    fn sync(&self) -> io::Result<()>;

    /// Cuts the file off after `length` bytes.
    ///
    /// # Errors
    /// If the operating system refuses.
    fn truncate(&self, length: u64) -> io::Result<()>;

    /// Releases the disk space of these bytes, which then read as zeros. The length of the file
    /// does not change. Systems without this operation leave the file as it is.
    ///
    /// # Errors
    /// If the operating system refuses.
    fn free(&self, bytes: Range<u64>) -> io::Result<()>;

    /// Hints that these bytes will be read soon. The range must not be empty.
    fn prefetch(&self, bytes: Range<u64>);

    /// Hints that the system's cache of the file can be dropped.
    fn drop_page_cache(&self);
}

/// The numbers of bytes read and written through a [`FileSystem`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Traffic {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

impl Traffic {
    /// Returns the difference to an earlier count.
    pub fn since(self, before: Traffic) -> Traffic {
        Traffic { read: self.read - before.read, written: self.written - before.written }
    }
}
