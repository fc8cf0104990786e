//! A file for targets whose code under test opens paths.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

/// A directory that exists as long as the thread.
pub struct Scratch(TempDir);

impl Scratch {
    /// Creates the directory, in memory if the system has a file system there.
    pub fn new() -> Scratch {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Scratch(dir.expect("a directory for temporary files"))
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).expect("the file can be written");
        path
    }
}
