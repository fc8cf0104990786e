//! The file system of the operating system.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::file_system::{FileSystem, RandomAccessFile, Traffic};
use super::path::parent_directory;

/// The file system of the operating system.
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
    /// Returns the file system with new counters.
    pub fn shared() -> Arc<dyn FileSystem> {
        Arc::new(OsFileSystem::default())
    }

    fn file(&self, file: File) -> Box<dyn RandomAccessFile> {
        Box::new(OsFile { file, counts: Arc::clone(&self.counts) })
    }
}

impl FileSystem for OsFileSystem {
    fn create(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        Ok(self.file(sternhalma_files::open_locked(path, true, false)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        Ok(self.file(File::open(path)?))
    }

    fn reopen(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        Ok(self.file(sternhalma_files::open_locked(path, false, false)?))
    }

    fn rename(&self, from: &Path, to: &Path, replace: bool) -> io::Result<()> {
        sternhalma_files::place(from, to, replace)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        // A new directory survives a power failure only after its parent is synced.
        let named = path.ancestors().filter(|dir| !dir.as_os_str().is_empty());
        let missing: Vec<&Path> = named.take_while(|dir| !dir.exists()).collect();
        std::fs::create_dir_all(path)?;
        missing.into_iter().try_for_each(|dir| self.sync_directory(parent_directory(dir)))
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        sternhalma_files::sync_directory(path)
    }

    fn traffic(&self) -> Traffic {
        Traffic { read: self.counts.read.load(Relaxed), written: self.counts.written.load(Relaxed) }
    }
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

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn free(&self, bytes: Range<u64>) -> io::Result<()> {
        free(&self.file, bytes)
    }

    fn prefetch(&self, bytes: Range<u64>) {
        advise(&self.file, bytes, Advice::Prefetch);
    }

    fn drop_page_cache(&self) {
        advise(&self.file, 0..0, Advice::Drop);
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

#[cfg(any(target_os = "linux", target_os = "android"))]
fn free(file: &File, bytes: Range<u64>) -> io::Result<()> {
    use rustix::fs::FallocateFlags;
    if bytes.is_empty() {
        return Ok(());
    }
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match rustix::fs::fallocate(file, flags, bytes.start, bytes.end - bytes.start) {
        // The file system has no holes.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
        freed => Ok(freed?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn free(_: &File, _: Range<u64>) -> io::Result<()> {
    Ok(())
}

/// A hint about the page cache.
enum Advice {
    Prefetch,
    Drop,
}

/// Gives the system a hint about some bytes of a file. An empty range stands for
/// all bytes from its start on, so `0..0` is the whole file.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn advise(file: &File, bytes: Range<u64>, advice: Advice) {
    use rustix::fs::Advice::{DontNeed, WillNeed};
    let advice = match advice {
        Advice::Prefetch => WillNeed,
        Advice::Drop => DontNeed,
    };
    // A refused hint only affects speed.
    let _ = rustix::fs::fadvise(file, bytes.start, std::num::NonZeroU64::new(bytes.end - bytes.start), advice);
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn advise(_: &File, _: Range<u64>, _: Advice) {}
