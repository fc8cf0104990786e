//! Files that other programs may replace or extend.

use std::path::Path;
use std::time::SystemTime;

/// Values that change when a file is replaced or written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileIdentity {
    bytes: u64,
    modified: Option<SystemTime>,
    number: u64,
}

impl FileIdentity {
    /// Returns the identity of a file, or `None` if it cannot be read.
    pub fn of(path: &Path) -> Option<FileIdentity> {
        let metadata = path.metadata().ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let number = 0;
        Some(FileIdentity { bytes: metadata.len(), modified: metadata.modified().ok(), number })
    }

    /// Returns the length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
