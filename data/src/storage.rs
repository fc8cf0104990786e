//! The file layer: every file that is written, and every work file that is
//! read, goes through a [`FileSystem`], so that traffic can be counted and tests
//! can make each operation fail.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

/// Files by path. [`OsFileSystem`] is the file system.
pub trait FileSystem: fmt::Debug + Send + Sync {
    /// Creates a file, or empties it, for this process alone: until the file
    /// is dropped, creating it again fails with
    /// [`ResourceBusy`](io::ErrorKind::ResourceBusy), here and in other processes.
    /// A file that has another name besides keeps its bytes there.
    ///
    /// # Errors
    /// Of the file system, or if the file is in use.
    fn create(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>>;

    /// Opens a file for reading.
    ///
    /// # Errors
    /// Of the file system.
    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>>;

    /// Gives a file another name in one step. Unless `replace` is set, a file
    /// of that name is an error.
    ///
    /// # Errors
    /// Of the file system, or [`AlreadyExists`](io::ErrorKind::AlreadyExists).
    fn rename(&self, from: &Path, to: &Path, replace: bool) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Of the file system.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the directory and those it lies in, where they are missing, so
    /// that they outlast a power cut.
    ///
    /// # Errors
    /// Of the file system.
    fn create_directory(&self, path: &Path) -> io::Result<()>;

    /// Makes what was created, renamed and removed in a directory outlast a power cut.
    ///
    /// # Errors
    /// Of the file system.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// Bytes read and written so far.
    fn traffic(&self) -> Traffic;
}

/// A file of a [`FileSystem`].
pub trait RandomAccessFile: fmt::Debug + Send + Sync {
    /// Fills `bytes` from the file, from byte `at` on.
    ///
    /// # Errors
    /// Of the file system, or if the file ends before.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;

    /// Writes all of `bytes` from byte `at` on.
    ///
    /// # Errors
    /// Of the file system.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// The length in bytes.
    ///
    /// # Errors
    /// Of the file system.
    fn len(&self) -> io::Result<u64>;

    /// Whether there is nothing in the file.
    ///
    /// # Errors
    /// Of the file system.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Makes what was written outlast a power cut.
    ///
    /// # Errors
    /// Of the file system.
    fn sync(&self) -> io::Result<()>;

    /// Says that these bytes are read soon. A hint.
    fn prefetch(&self, bytes: Range<u64>);

    /// Lets the system's cache of the file go. A hint.
    fn drop_page_cache(&self);
}

/// Bytes that went through a [`FileSystem`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Traffic {
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

impl Traffic {
    /// What came since an earlier count.
    pub fn since(self, before: Traffic) -> Traffic {
        Traffic { read: self.read - before.read, written: self.written - before.written }
    }
}

/// The file system.
#[derive(Debug, Default)]
pub struct OsFileSystem {
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    read: AtomicU64,
    written: AtomicU64,
}

#[derive(Debug)]
struct OsFile {
    file: File,
    counts: Arc<Counts>,
}

impl OsFileSystem {
    /// The file system, with counts of its own.
    pub fn shared() -> Arc<dyn FileSystem> {
        Arc::new(OsFileSystem::default())
    }

    fn file(&self, file: File) -> Box<dyn RandomAccessFile> {
        Box::new(OsFile { file, counts: Arc::clone(&self.counts) })
    }
}

impl FileSystem for OsFileSystem {
    fn create(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        loop {
            // Not emptied before it is locked: it may be in use.
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
            file.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => io::Error::new(io::ErrorKind::ResourceBusy, "another process is using it"),
                TryLockError::Error(error) => error,
            })?;
            // Whoever held the lock may have renamed the file in the meantime.
            if !is_at(&file, path) {
                continue;
            }
            if has_another_name(&file) {
                std::fs::remove_file(path)?;
            } else {
                file.set_len(0)?;
                return Ok(self.file(file));
            }
        }
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        Ok(self.file(File::open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path, replace: bool) -> io::Result<()> {
        if replace {
            return std::fs::rename(from, to);
        }
        match std::fs::hard_link(from, to) {
            Ok(()) => std::fs::remove_file(from),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // A file system without hard links.
            Err(_) if !to.exists() => std::fs::rename(from, to),
            Err(_) => Err(io::ErrorKind::AlreadyExists.into()),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let named = path.ancestors().filter(|dir| !dir.as_os_str().is_empty());
        let missing: Vec<&Path> = named.take_while(|dir| !dir.exists()).collect();
        std::fs::create_dir_all(path)?;
        missing.into_iter().try_for_each(|dir| self.sync_directory(parent_directory(dir)))
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
    }

    fn traffic(&self) -> Traffic {
        Traffic { read: self.counts.read.load(Relaxed), written: self.counts.written.load(Relaxed) }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = |file: std::fs::Metadata, path: std::fs::Metadata| (file.dev(), file.ino()) == (path.dev(), path.ino());
    file.metadata().is_ok_and(|file| std::fs::metadata(path).is_ok_and(|path| same(file, path)))
}

/// A process killed while it gave the file its name may have left it two:
/// what is in it is whole, and not to be written over.
#[cfg(unix)]
fn has_another_name(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|file| file.nlink() > 1)
}

#[cfg(not(unix))]
fn has_another_name(_: &File) -> bool {
    false
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    // An open file cannot be renamed there.
    true
}

impl RandomAccessFile for OsFile {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        read_all_at(&self.file, bytes, at)?;
        self.counts.read.fetch_add(bytes.len() as u64, Relaxed);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        write_all_at(&self.file, bytes, at)?;
        self.counts.written.fetch_add(bytes.len() as u64, Relaxed);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn prefetch(&self, bytes: Range<u64>) {
        advise(&self.file, bytes, Advice::Soon);
    }

    fn drop_page_cache(&self) {
        advise(&self.file, 0..0, Advice::Never);
    }
}

#[cfg(unix)]
fn read_all_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
fn read_all_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[read..];
        at += read as u64;
    }
    Ok(())
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, at)?;
        bytes = &bytes[written..];
        at += written as u64;
    }
    Ok(())
}

enum Advice {
    Soon,
    Never,
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn advise(file: &File, bytes: Range<u64>, advice: Advice) {
    use rustix::fs::Advice::{DontNeed, WillNeed};
    let advice = match advice {
        Advice::Soon => WillNeed,
        Advice::Never => DontNeed,
    };
    // A hint that is not taken changes nothing but speed.
    let _ = rustix::fs::fadvise(file, bytes.start, std::num::NonZeroU64::new(bytes.end - bytes.start), advice);
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn advise(_: &File, _: Range<u64>, _: Advice) {}

/// A file under a name of its own until it is whole. Dropped before that, it
/// is removed; left by a killed process, it is written over by the next one.
#[derive(Debug)]
pub struct AtomicFile {
    storage: Arc<dyn FileSystem>,
    path: PathBuf,
    temporary: PathBuf,
    file: Option<Box<dyn RandomAccessFile>>,
    /// Where the next bytes go.
    at: u64,
}

impl AtomicFile {
    /// A file that is to be `path`, and until then lies beside it.
    ///
    /// # Errors
    /// If the file cannot be created, or another process is making the same.
    pub fn create(storage: &Arc<dyn FileSystem>, path: &Path) -> io::Result<AtomicFile> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.writing"));
        let file = Some(storage.create(&temporary)?);
        Ok(AtomicFile { storage: Arc::clone(storage), path: path.to_owned(), temporary, file, at: 0 })
    }

    /// The path it is to have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file.
    pub fn file(&self) -> &dyn RandomAccessFile {
        self.file.as_deref().expect("the file is open until it is kept or dropped")
    }

    /// Gives the file its name once all of it is on disk. The file is still
    /// open for reading.
    ///
    /// # Errors
    /// Of the file system, or if `path` exists and `replace` is not set.
    pub fn persist(mut self, replace: bool) -> io::Result<Box<dyn RandomAccessFile>> {
        self.file().sync()?;
        self.storage.rename(&self.temporary, &self.path, replace)?;
        let file = self.file.take().expect("the file is open until it is kept or dropped");
        self.storage.sync_directory(parent_directory(&self.path))?;
        Ok(file)
    }
}

/// Writes one byte after the other; [`AtomicFile::file`] writes anywhere.
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
        if self.file.take().is_some() {
            // Nothing more can be done about a file that cannot be removed.
            let _ = self.storage.remove(&self.temporary);
        }
    }
}

/// The directory a file lies in.
pub fn parent_directory(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_file_with_another_name_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        // Killed between its new name and the end of the old one.
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
    fn a_new_file_is_seen_when_kept_and_removed_when_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let storage = OsFileSystem::shared();
        let new = AtomicFile::create(&storage, &path).unwrap();
        let busy = AtomicFile::create(&storage, &path).unwrap_err();
        assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
        new.file().write_at(b"second", 5).unwrap();
        new.file().write_at(b"first", 0).unwrap();
        assert!(!path.exists());
        drop(new);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);

        // What a killed process left is written over.
        std::fs::write(dir.path().join(".file.writing"), "left by a longer file").unwrap();
        let mut new = AtomicFile::create(&storage, &path).unwrap();
        new.write_all(b"xxxle").unwrap();
        new.rewind().unwrap();
        new.write_all(b"who").unwrap();
        new.persist(false).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        let again = AtomicFile::create(&storage, &path).unwrap();
        assert_eq!(again.persist(false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        let file = storage.open(&path).unwrap();
        let mut bytes = [0; 3];
        file.read_at(&mut bytes, 2).unwrap();
        assert_eq!((&bytes, file.len().unwrap()), (b"ole", 5));
        assert!(file.read_at(&mut bytes, 3).is_err());
        assert_eq!(storage.traffic(), Traffic { read: 3, written: 19 });
    }
}
