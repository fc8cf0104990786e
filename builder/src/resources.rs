//! The memory and the disk space of the machine.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use sternhalma_cpu::Memory;
use sternhalma_files::leftover_bytes;
use thiserror::Error;

/// The reason why the machine cannot do some work.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResourceError {
    /// The work needs more memory than is available.
    #[error("this needs {} of memory and {} are available", ByteSize(*needed), ByteSize(*available))]
    Memory {
        /// The memory that the work needs, in bytes.
        needed: u64,
        /// The available memory, in bytes.
        available: u64,
    },
    /// A file needs more disk space than is available.
    #[error(
        "this needs about {} of disk and {} has {} available{}",
        ByteSize(*needed),
        dir.display(),
        ByteSize(*available),
        if *reserve > 0 { format!(", of which {} stay free", ByteSize(*reserve)) } else { String::new() }
    )]
    Disk {
        /// The file.
        file: PathBuf,
        /// The nearest existing directory of the file.
        dir: PathBuf,
        /// The size of the file, in bytes.
        needed: u64,
        /// The available space, in bytes.
        available: u64,
        /// The part of it that stays free, in bytes.
        reserve: u64,
    },
    /// The system does not report its disk space.
    #[error("cannot read the free space of {}", dir.display())]
    UnknownDisk {
        /// The directory.
        dir: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// The memory that a machine is assumed to have if its system does not report any, in bytes.
const UNREPORTED_MEMORY: u64 = 4 << 30;

/// Returns the memory of the machine in bytes, or the part of it that this process may use ([`Memory`]). A system that
/// does not report its memory is assumed to have 4 GiB.
pub fn total_memory() -> u64 {
    total_of(Memory::now())
}

fn total_of(reported: Option<Memory>) -> u64 {
    reported.map_or(UNREPORTED_MEMORY, |memory| memory.total)
}

/// Returns the memory limit of builds and proofs in bytes: the given one, or three quarters of the machine's memory.
pub fn memory_limit(given: Option<u64>) -> u64 {
    given.unwrap_or_else(|| total_memory() / 4 * 3)
}

/// Tests that this much memory is available ([`Memory`]), in bytes.
///
/// # Errors
/// If less is available. A system that does not report its memory is assumed to have enough.
pub fn check_memory(needed: u64) -> Result<(), ResourceError> {
    match Memory::now() {
        Some(Memory { available, .. }) if needed > available => Err(ResourceError::Memory { needed, available }),
        _ => Ok(()),
    }
}

/// Returns the memory limit of searches in bytes: the given one, but at most the available memory, or a quarter of the
/// machine's memory. The text is a notice if the limit is less than the given one.
pub fn search_memory(given: Option<u64>) -> (u64, Option<String>) {
    let Some(memory) = given else { return (total_memory() / 4, None) };
    match check_memory(memory) {
        Err(ResourceError::Memory { available, .. }) => {
            let [memory, limit] = [memory, available].map(ByteSize);
            (available, Some(format!("{memory} of memory are not available: using {limit}")))
        }
        _ => (memory, None),
    }
}

/// Tests that the disk has `needed` bytes for a file at `path`, beside a reserve that stays free. The directory of the
/// file need not exist yet: the test uses its nearest existing ancestor. The space of a partial file that a killed
/// process left is available, because the new file uses it again.
///
/// # Errors
/// If the disk has less.
pub fn check_disk(path: &Path, needed: u64, reserve: u64) -> Result<(), ResourceError> {
    let existing = path.ancestors().skip(1).find(|dir| dir.exists() && !dir.as_os_str().is_empty());
    let dir = existing.unwrap_or(Path::new("."));
    let unknown = |source| ResourceError::UnknownDisk { dir: dir.to_owned(), source };
    let available = fs4::available_space(dir).map_err(unknown)? + leftover_bytes(path);
    if needed.saturating_add(reserve) > available {
        return Err(ResourceError::Disk { file: path.to_owned(), dir: dir.to_owned(), needed, available, reserve });
    }
    Ok(())
}

/// Returns the length of all files in a directory, without its subdirectories, in bytes. A directory that cannot be read
/// counts as empty.
pub(crate) fn directory_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).filter(Metadata::is_file).map(|file| file.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_on_a_system_that_does_not_report_its_memory_are_above_0() {
        assert_eq!(total_of(None), 4 << 30);
        assert_eq!(total_of(Some(Memory { total: 7, available: 5 })), 7);
        assert_eq!((memory_limit(Some(9)), memory_limit(None)), (9, total_memory() / 4 * 3));
        assert!(memory_limit(None) > 0);
    }

    #[test]
    fn the_machine_has_some_memory_and_disk_but_not_an_exabyte() {
        assert!(check_memory(1).is_ok() && check_disk(Path::new("file"), 1, 0).is_ok());
        assert_eq!(search_memory(Some(1)), (1, None));
        assert!(search_memory(None).0 > 0 && search_memory(None).1.is_none());
        let (limit, notice) = search_memory(Some(1 << 60));
        let notice = notice.unwrap();
        assert!(limit < 1 << 60 && notice.starts_with("1.0 EiB of memory are not available: using "), "{notice}");
        let error = check_memory(1 << 60).unwrap_err().to_string();
        assert!(error.starts_with("this needs 1.0 EiB of memory and "), "{error}");
        // What a killed process left is available again, and what another process writes is not.
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table");
        let free = || match check_disk(&path, 1 << 60, 0).unwrap_err() {
            ResourceError::Disk { available, .. } => available,
            error => panic!("{error}"),
        };
        std::fs::write(dir.path().join(".table.writing"), vec![1; 64 << 20]).unwrap();
        let with_leftover = free();
        let held = sternhalma_files::open_locked(&dir.path().join(".table.writing"), false, false).unwrap();
        // Other programs use the same disk.
        assert!(with_leftover.abs_diff(free()) > 32 << 20);
        drop(held);
        let error = check_disk(Path::new("absent/dir/file"), 1 << 60, 0).unwrap_err().to_string();
        assert!(error.starts_with("this needs about 1.0 EiB of disk and . has "), "{error}");
        let error = check_disk(Path::new("file"), 1, 1 << 60).unwrap_err().to_string();
        assert!(error.starts_with("this needs about 1 B of disk and . has "), "{error}");
        assert!(error.ends_with(" available, of which 1.0 EiB stay free"), "{error}");
    }
}
