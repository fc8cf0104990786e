//! What can go wrong with a table file.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a table cannot be opened, read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// There is no such file.
    #[error("{}: there is no such file; `sternhalma build` makes tables", path.display())]
    Absent {
        /// The file asked for.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}{}", path.display(), io_advice(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done to it.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The file does not begin as a table does.
    #[error("{}: this is not a Sternhalma table", path.display())]
    NotATable {
        /// The file.
        path: PathBuf,
    },
    /// The file is a table of a kind this program does not read.
    #[error("{}: {what} is not known to this program; use the version that wrote the table, or build it again", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// Version, rule set or encoding, with the value found.
        what: String,
    },
    /// The file is damaged.
    #[error("{}: the table is damaged: {what}; copy it again or build it again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found, and where.
        what: String,
    },
}

impl TableError {
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> TableError {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::NotFound if action == "open" => TableError::Absent { path },
            _ => TableError::Io { path, action, source },
        }
    }

    pub(crate) fn corrupt(path: &Path, what: impl Into<String>) -> TableError {
        TableError::Corrupt { path: path.to_owned(), what: what.into() }
    }
}

fn io_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => "; free some space or choose another place with -o",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "; choose another place with -o",
        io::ErrorKind::OutOfMemory => "; load less of it into memory",
        _ => "",
    }
}
