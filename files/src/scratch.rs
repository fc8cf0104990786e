//! Directories of temporary files.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::locked::is_at;

/// A new directory that is removed when the value is dropped. If the process is killed, the next directory with the same
/// prefix in the same place removes it.
#[derive(Debug)]
pub struct ScratchDirectory {
    path: PathBuf,
    /// The open directory, whose lock shows other processes that it is in use.
    _lock: Option<File>,
}

impl ScratchDirectory {
    /// Creates a directory in `parent` whose name begins with `prefix`, and removes those that killed processes left.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub fn create_in(parent: &Path, prefix: &str) -> io::Result<ScratchDirectory> {
        remove_abandoned(parent, prefix);
        for number in 0.. {
            let path = parent.join(format!("{prefix}{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                created => created?,
            }
            let Ok(directory) = File::open(&path) else { return Ok(ScratchDirectory { path, _lock: None }) };
            // Another process may remove the directory before it is locked.
            if directory.try_lock().is_ok() && is_at(&directory, &path) {
                return Ok(ScratchDirectory { path, _lock: Some(directory) });
            }
        }
        unreachable!("some number is free")
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        // Nothing can be done about a directory that cannot be removed.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes directories that no process has locked. Systems on which a directory cannot be opened keep them.
fn remove_abandoned(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_scratch = entry.file_name().to_string_lossy().starts_with(prefix);
        if is_scratch && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let path = entry.path();
            if File::open(&path).is_ok_and(|directory| directory.try_lock().is_ok()) {
                let _ = fs::remove_dir_all(path);
            }
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn abandoned_directories_are_removed_and_used_ones_kept() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".scratch-left/inner")).unwrap();
        fs::create_dir(dir.path().join("other")).unwrap();
        let first = ScratchDirectory::create_in(dir.path(), ".scratch-").unwrap();
        let second = ScratchDirectory::create_in(dir.path(), ".scratch-").unwrap();
        fs::write(second.path().join("file"), "temporary").unwrap();
        assert!(first.path().is_dir() && second.path() != first.path());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
        drop((first, second));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
