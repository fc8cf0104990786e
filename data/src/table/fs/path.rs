//! Paths of files.

use std::path::Path;

/// Returns the directory that contains a file.
pub fn parent_directory(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
