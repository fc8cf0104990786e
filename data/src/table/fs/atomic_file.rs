//! Files that are written completely or not at all.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_system::{FileSystem, RandomAccessFile};
use super::path::parent_directory;

/// A file that appears under its name only when it is complete.
///
/// Until [`persist`](AtomicFile::persist) it has a temporary name in the same
/// directory. If the value is dropped earlier, the file is removed unless
/// [`keep`](AtomicFile::keep) was called. A file left by a killed process is
/// overwritten by the next one, or continued with [`reopen`](AtomicFile::reopen).
///
/// The `tempfile` crate is not used here: the operations go through a
/// [`FileSystem`], so tests can make each of them fail, and the temporary name is
/// fixed, so that a lock on it excludes other processes.
#[derive(Debug)]
pub struct AtomicFile {
    file_system: Arc<dyn FileSystem>,
    path: PathBuf,
    temporary: PathBuf,
    file: Option<Box<dyn RandomAccessFile>>,
    /// The offset of the next bytes.
    at: u64,
    /// Whether the file remains under its temporary name if the value is dropped.
    is_kept: bool,
}

impl AtomicFile {
    /// Creates a file that will become `path`.
    ///
    /// # Errors
    /// If the file cannot be created; if another process is creating it; or if `path` is that of a device, a pipe
    /// or a symbolic link.
    pub fn create(file_system: &Arc<dyn FileSystem>, path: &Path) -> io::Result<AtomicFile> {
        sternhalma_files::check_regular(path)?;
        let file = file_system.create(&AtomicFile::temporary_path(path))?;
        Ok(AtomicFile::new(file_system, path, file, false))
    }

    /// Continues a file that an earlier [`keep`](AtomicFile::keep) has made durable. The file is kept if the value is
    /// dropped.
    ///
    /// # Errors
    /// If there is no such file, or another process is writing it.
    pub fn reopen(file_system: &Arc<dyn FileSystem>, path: &Path) -> io::Result<AtomicFile> {
        let file = file_system.reopen(&AtomicFile::temporary_path(path))?;
        Ok(AtomicFile::new(file_system, path, file, true))
    }

    fn new(
        file_system: &Arc<dyn FileSystem>,
        path: &Path,
        file: Box<dyn RandomAccessFile>,
        is_kept: bool,
    ) -> AtomicFile {
        let temporary = AtomicFile::temporary_path(path);
        AtomicFile {
            file_system: Arc::clone(file_system),
            path: path.to_owned(),
            temporary,
            file: Some(file),
            at: 0,
            is_kept,
        }
    }

    /// Makes the file durable under its temporary name, and keeps it if the value is dropped.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn keep(&mut self) -> io::Result<()> {
        self.file().sync()?;
        if !self.is_kept {
            self.file_system.sync_directory(parent_directory(&self.path))?;
            self.is_kept = true;
        }
        Ok(())
    }

    /// Returns the temporary name of a file that will become `path`.
    pub fn temporary_path(path: &Path) -> PathBuf {
        sternhalma_files::temporary_path(path)
    }

    /// Returns the final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file.
    pub fn file(&self) -> &dyn RandomAccessFile {
        self.file.as_deref().expect("the file is open until it is persisted or dropped")
    }

    /// Makes the file durable and renames it to its final path. Returns the
    /// file, which is still open for reading.
    ///
    /// # Errors
    /// If the operating system refuses, or if the path exists and `replace` is
    /// false.
    pub fn persist(mut self, replace: bool) -> io::Result<Box<dyn RandomAccessFile>> {
        self.file().sync()?;
        self.file_system.rename(&self.temporary, &self.path, replace)?;
        let file = self.file.take().expect("the file is open until it is persisted or dropped");
        self.file_system.sync_directory(parent_directory(&self.path))?;
        Ok(file)
    }
}

/// Writes sequentially. [`AtomicFile::file`] writes at any offset.
impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write_at(bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.file().len()?.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.file.take().is_some() && !self.is_kept {
            // Nothing can be done about a file that cannot be removed.
            let _ = self.file_system.remove(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::fs::{OsFileSystem, Traffic};

    #[test]
    #[cfg(unix)]
    fn a_file_with_another_name_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        // As left by a process killed between the link and the removal of the old name.
        std::fs::write(&path, "whole").unwrap();
        std::fs::hard_link(&path, dir.path().join(".file.writing")).unwrap();
        let mut new = AtomicFile::create(&OsFileSystem::shared(), &path).unwrap();
        new.write_all(b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        new.persist(true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_appears_when_persisted_and_is_removed_otherwise() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file_system = OsFileSystem::shared();
        let new = AtomicFile::create(&file_system, &path).unwrap();
        let busy = AtomicFile::create(&file_system, &path).unwrap_err();
        assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
        new.file().write_at(b"second", 5).unwrap();
        new.file().write_at(b"first", 0).unwrap();
        assert!(!path.exists());
        drop(new);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);

        // A file that is kept can be continued.
        assert_eq!(AtomicFile::reopen(&file_system, &path).unwrap_err().kind(), io::ErrorKind::NotFound);
        let mut kept = AtomicFile::create(&file_system, &path).unwrap();
        kept.write_all(b"who").unwrap();
        kept.keep().unwrap();
        drop(kept);
        let mut continued = AtomicFile::reopen(&file_system, &path).unwrap();
        let busy = AtomicFile::reopen(&file_system, &path).unwrap_err();
        assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
        continued.seek(SeekFrom::End(0)).unwrap();
        continued.write_all(b"le").unwrap();
        continued.persist(true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        std::fs::remove_file(&path).unwrap();

        // A file left by a killed process is overwritten.
        std::fs::write(dir.path().join(".file.writing"), "left by a longer file").unwrap();
        let mut new = AtomicFile::create(&file_system, &path).unwrap();
        new.write_all(b"xxxle").unwrap();
        new.rewind().unwrap();
        new.write_all(b"who").unwrap();
        new.persist(false).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        let again = AtomicFile::create(&file_system, &path).unwrap();
        assert_eq!(again.persist(false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        let file = file_system.open(&path).unwrap();
        let mut bytes = [0; 3];
        file.read_at(&mut bytes, 2).unwrap();
        assert_eq!((&bytes, file.len().unwrap()), (b"ole", 5));
        assert!(file.read_at(&mut bytes, 3).is_err());
        assert_eq!(file_system.traffic(), Traffic { read: 3, written: 24 });
    }
}
