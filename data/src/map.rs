//! Files mapped into memory: the only unsafe code of the project.

use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

use crate::error::TableError;

/// A file mapped for reading.
#[derive(Debug)]
pub(crate) struct Map {
    file: File,
    mapped: Mmap,
}

impl Map {
    pub fn open(path: &Path) -> Result<Map, TableError> {
        // Opening a pipe would wait for its writer.
        let metadata = std::fs::metadata(path).map_err(TableError::io(path, "open"))?;
        if !metadata.is_file() {
            return Err(TableError::NotATable { path: path.to_owned() });
        }
        let file = File::open(path).map_err(TableError::io(path, "open"))?;
        // SAFETY: the map is read-only, and the bytes are plain data for which
        // every value is valid, so a writer elsewhere can make answers wrong
        // but not memory unsafe. Our own writers never change a file in place:
        // they rename a finished one over it, which leaves this map as it was.
        // A file cut short by others raises SIGBUS on access; `still_whole`
        // catches most such cases before, `exit_if_a_map_is_cut_short` the rest.
        let mapped = unsafe { Mmap::map(&file) }.map_err(TableError::io(path, "map"))?;
        Ok(Map { file, mapped })
    }

    /// Whether the file is still as long as the map.
    pub fn still_whole(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.len() >= self.mapped.len() as u64)
    }
}

impl Deref for Map {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.mapped
    }
}

/// For programs: ends the process with one message and exit code 2 when a
/// mapped file has been cut short and the missing part is read.
///
/// Without it the system's default ends the process by SIGBUS without a word.
/// Does nothing where there are no such signals.
pub fn exit_if_a_map_is_cut_short() {
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
