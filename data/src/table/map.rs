//! Files mapped into memory, and advice about memory. This is the only unsafe code of the project.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use super::error::TableError;

/// A file as one slice. Its first `loaded` bytes are a copy in memory, and the
/// rest is mapped. `loaded` is a number of whole pages, or the length of the file.
#[derive(Debug)]
pub(crate) struct Map {
    file: File,
    mapped: Mmap,
    loaded: usize,
}

impl Map {
    pub fn open(path: &Path) -> Result<Map, TableError> {
        // Opening a pipe blocks until it has a writer.
        let metadata = std::fs::metadata(path).map_err(TableError::io(path, "open"))?;
        if !metadata.is_file() {
            return Err(TableError::NotATable { path: path.to_owned() });
        }
        let file = File::open(path).map_err(TableError::io(path, "open"))?;
        // SAFETY: the map is read-only, and the bytes are plain data for which
        // every value is valid, so a writer elsewhere can make answers wrong
        // but not memory unsafe. Our own writers never change a file in place:
        // they rename a finished one over it, which leaves this map as it was.
        // A file that another process truncates raises SIGBUS on access;
        // `still_whole` detects most such cases in advance, and
        // `install_sigbus_handler` handles the rest.
        let mapped = unsafe { Mmap::map(&file) }.map_err(TableError::io(path, "map"))?;
        Ok(Map { file, mapped, loaded: 0 })
    }

    /// Reads the first `bytes` of the file into memory, which replaces that part
    /// of the map. The length is rounded up to whole pages, at most to the end
    /// of the file. On systems that cannot replace a part of a map, nothing is
    /// loaded.
    ///
    /// # Errors
    /// If the memory cannot be allocated, or the file cannot be read or is now
    /// too short.
    pub fn load(self, path: &Path, bytes: usize) -> Result<Map, TableError> {
        let bytes = bytes.next_multiple_of(page_bytes()).min(self.mapped.len());
        // A part of a map can be replaced only on Unix.
        if cfg!(not(unix)) || bytes <= self.loaded {
            return Ok(self);
        }
        let mapped = replace(&self.file, self.mapped, bytes).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => TableError::corrupt(path, "it has been cut short since it was opened"),
            _ => TableError::io(path, "load it into memory")(source),
        })?;
        Ok(Map { file: self.file, mapped, loaded: bytes })
    }

    /// Returns how many of the first bytes are in memory.
    pub fn loaded(&self) -> usize {
        self.loaded
    }

    /// Releases the memory of the pages that have been read through the map. The
    /// pages are read again on demand, from the system's cache or the file.
    pub fn release_pages(&self) {
        #[cfg(target_os = "linux")]
        if let Some(length) = self.mapped.len().checked_sub(self.loaded).filter(|&length| length > 0) {
            // SAFETY: the range is the part of the map that is shared with the
            // file and read-only (the loaded part, whole pages, comes first),
            // so its pages can be read again with the same bytes at any time.
            let _ =
                unsafe { self.mapped.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, self.loaded, length) };
        }
    }

    /// Returns whether the first `end` bytes can be read: they are in memory, or
    /// the file is still as long as the map.
    pub fn still_whole(&self, end: usize) -> bool {
        end <= self.loaded || self.file.metadata().is_ok_and(|metadata| metadata.len() >= self.mapped.len() as u64)
    }
}

impl Deref for Map {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.mapped
    }
}

/// Replaces the first `bytes` of a map of `file` with private memory and reads
/// the file into it. `bytes` are whole pages or the whole map, and not 0. The
/// function consumes the map even if it fails.
#[cfg(unix)]
fn replace(file: &File, mapped: Mmap, bytes: usize) -> io::Result<Mmap> {
    use std::os::unix::fs::FileExt;

    assert!(bytes <= mapped.len(), "only what is mapped is replaced");
    let start: *mut libc::c_void = mapped.as_ptr().cast_mut().cast();
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the range begins with the pages of a map that this function
    // owns, so no slice of it exists. The map still owns the range and unmaps
    // its pages, whatever is behind them.
    let memory = unsafe { libc::mmap(start, bytes, access, kind, -1, 0) };
    if memory == libc::MAP_FAILED {
        let error = io::Error::last_os_error();
        // A call that fails may have unmapped pages, and other threads may
        // have mapped theirs there since: so this function must not unmap the
        // range.
        std::mem::forget(mapped);
        return Err(error);
    }
    // If the system ignores the advice, look-ups are only slower.
    #[cfg(target_os = "linux")]
    // SAFETY: the range has just been mapped, and the advice changes no byte.
    unsafe {
        libc::madvise(memory, bytes, libc::MADV_HUGEPAGE);
    }
    // SAFETY: the range has just been mapped, is writable and zero, and the
    // slice is the only reference to it.
    let slice = unsafe { std::slice::from_raw_parts_mut(memory.cast::<u8>(), bytes) };
    file.read_exact_at(slice, 0)?;
    // SAFETY: the range is mapped, and nothing writes to it from here on.
    match unsafe { libc::mprotect(memory, bytes, libc::PROT_READ) } {
        0 => Ok(mapped),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(not(unix))]
fn replace(_: &File, mapped: Mmap, _: usize) -> io::Result<Mmap> {
    Ok(mapped)
}

/// Asks the system to use huge pages for memory that is not used yet. This may only change the
/// speed. Parts of pages at both ends are left out.
pub fn advise_huge_pages<T>(memory: &[T]) {
    #[cfg(target_os = "linux")]
    {
        let range = memory.as_ptr_range();
        let start = (range.start as usize).next_multiple_of(page_bytes());
        let end = range.end as usize / page_bytes() * page_bytes();
        if let Some(bytes) = end.checked_sub(start).filter(|&bytes| bytes > 0) {
            let start = memory.as_ptr().cast::<u8>().wrapping_add(start - range.start as usize);
            // SAFETY: the range is in memory of the slice, and the advice changes no byte.
            unsafe {
                libc::madvise(start.cast_mut().cast(), bytes, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Starts to load the cache line of an element, if the processor can. This may only change the
/// speed. An index beyond the slice is ignored.
#[inline]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(index) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of an element, and the instruction changes nothing but caches.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// Returns the size of a page, or 1 on systems where nothing is loaded.
fn page_bytes() -> usize {
    #[cfg(unix)]
    {
        // SAFETY: the call takes a constant and touches no memory.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(bytes).unwrap_or(4096).max(1)
    }
    #[cfg(not(unix))]
    1
}

/// Installs a process-wide handler of SIGBUS, which the system sends if a mapped
/// file has been cut short and the missing part is read.
///
/// The handler prints one message and ends the process with exit code 2.
/// Without the handler, the system ends the process without a message. On
/// systems without this signal the function does nothing. Only programs should
/// call this function, not libraries.
pub fn install_sigbus_handler() {
    #[cfg(unix)]
    {
        extern "C" fn say_and_exit(_: libc::c_int) {
            const MESSAGE: &[u8] = b"error: a table file was cut short, or its disk failed, while it was being read; \
                copy it again or build it again\n";
            // SAFETY: `write` and `_exit` may be called from a signal handler,
            // and the message is a constant.
            unsafe {
                libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len());
                libc::_exit(2);
            }
        }
        let handler: extern "C" fn(libc::c_int) = say_and_exit;
        // SAFETY: the handler has the signature the system expects and calls
        // nothing that is not safe in a handler.
        unsafe {
            libc::signal(libc::SIGBUS, handler as libc::sighandler_t);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn sparse(bytes: u64) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(bytes).unwrap();
        file
    }

    #[test]
    #[ignore = "needs a system that refuses to overcommit memory"]
    fn memory_that_cannot_be_allocated_is_an_error() {
        let file = sparse(1 << 43);
        let map = Map::open(file.path()).unwrap();
        let error = map.load(file.path(), 1 << 43).unwrap_err();
        let TableError::Io { action, source, .. } = error else { panic!("{error}") };
        assert_eq!((action, source.kind()), ("load it into memory", io::ErrorKind::OutOfMemory));
    }

    #[test]
    fn a_file_cut_short_before_it_is_loaded_is_an_error() {
        let file = sparse(1 << 20);
        let map = Map::open(file.path()).unwrap();
        file.as_file().set_len(1 << 19).unwrap();
        let error = map.load(file.path(), 1 << 20).unwrap_err().to_string();
        assert!(error.contains("cut short"), "{error}");
    }

    #[test]
    fn pages_are_loaded_whole() {
        let file = sparse(0);
        let content: Vec<u8> = (0..1 << 20).map(|at: u32| (at ^ (at >> 8)) as u8).chain([1, 2, 3]).collect();
        std::fs::write(file.path(), &content).unwrap();
        for bytes in
            [0, 1, page_bytes() - 1, page_bytes(), page_bytes() + 1, content.len() - 1, content.len(), usize::MAX / 2]
        {
            let map = Map::open(file.path()).unwrap().load(file.path(), bytes).unwrap();
            assert_eq!(map.loaded(), bytes.next_multiple_of(page_bytes()).min(content.len()));
            assert!(*map == content[..]);
        }
    }
}
