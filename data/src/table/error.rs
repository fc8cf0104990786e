//! Errors of table files.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::board::Prefix;

/// The reason why a table cannot be opened, read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file does not exist.
    #[error("{}: the file does not exist", path.display())]
    Absent {
        /// The requested file.
        path: PathBuf,
    },
    /// The file exists and must not be replaced.
    #[error("{}: the file exists", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused an operation. The reason is the source.
    #[error("{}: cannot {action}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operation, as a verb: `open`, `write`.
        action: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// The file does not begin like a table.
    #[error("{}: this is not a Sternhalma table", path.display())]
    NotATable {
        /// The file.
        path: PathBuf,
    },
    /// The file is a table of a kind that this version does not read.
    #[error(
        "{}: {what} is not supported by this version; use the version that wrote the table, or build it again",
        path.display()
    )]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The version, rule set or encoding, with the value found.
        what: String,
    },
    /// The file is damaged.
    #[error("{}: the table is damaged: {what}; copy it again or build it again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The invalid value, and its place.
        what: String,
    },
    /// The name of the file is that of a table of other states.
    #[error("{}: the table is of {found}, and its name says {named}; rename it", path.display())]
    Misnamed {
        /// The file.
        path: PathBuf,
        /// The states of the name.
        named: Prefix,
        /// The states of the table.
        found: Prefix,
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
