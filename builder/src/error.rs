//! Why a table is not built, not believed, or not compared.

use std::io;
use std::path::{Path, PathBuf};

use sternhalma_data::{Board, TableError};
use thiserror::Error;

/// Why a table is not built.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The memory for the search cannot be had.
    #[error("the build needs {needed} bytes of memory, which the system does not give")]
    Memory {
        /// The bytes the build needs in all.
        needed: u64,
    },
    /// Distances do not fit in a table.
    #[error("distances of more than 254 moves do not fit in a table")]
    TooFar,
    /// The threads could not be started.
    #[error("cannot start the threads of the build: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The file cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The memory limit is too small.
    #[error("this build needs at least {least} bytes of memory, and the limit is {limit}")]
    Limit {
        /// The least limit that works.
        least: u64,
        /// The limit given.
        limit: u64,
    },
    /// A work file cannot be read or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was being done to it.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A work file is damaged.
    #[error("{}: the work file is damaged: {what}; delete it and the same command makes it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// The work directory belongs to something else.
    #[error("{}: {why}", path.display())]
    WorkDirectory {
        /// The directory.
        path: PathBuf,
        /// To what, and what to do.
        why: String,
    },
    /// The monitor ended the work.
    #[error("interrupted")]
    Cancelled,
}

impl BuildError {
    pub(crate) fn file(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> BuildError {
        let path = path.to_owned();
        move |source| BuildError::File { path, action, source }
    }

    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> BuildError {
        BuildError::Damaged { path: path.to_owned(), what: what.into() }
    }
}

/// Why a table is not converted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The table is damaged, or the new one cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A table cannot be read while it is replaced.
    #[error("{}: this is the table itself; name another file with -o", path.display())]
    SameFile {
        /// The file.
        path: PathBuf,
    },
    /// The file is whole, but what it says is not so.
    #[error("{}: the table is wrong: the header's layers are not those of its distances; build it again", path.display())]
    Layers {
        /// The file.
        path: PathBuf,
    },
    /// The threads could not be started.
    #[error("cannot start the threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The monitor ended the work.
    #[error("interrupted")]
    Cancelled,
}

/// The monitor ended the work.
pub(crate) struct Cancelled;

impl From<Cancelled> for BuildError {
    fn from(_: Cancelled) -> BuildError {
        BuildError::Cancelled
    }
}

impl From<Cancelled> for ConvertError {
    fn from(_: Cancelled) -> ConvertError {
        ConvertError::Cancelled
    }
}

/// Why a table is not believed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The file is damaged.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The file is whole, but what it says is not so.
    #[error("{path}: the table is wrong: {what}; build it again")]
    Wrong {
        /// The file.
        path: String,
        /// What is not so.
        what: String,
    },
    /// The proof cannot be made in the memory given, or what it puts aside cannot be written.
    #[error(transparent)]
    Work(#[from] BuildError),
    /// The threads could not be started.
    #[error("cannot start the threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The monitor ended the work.
    #[error("interrupted")]
    Cancelled,
}

/// Why two tables are not compared.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompareError {
    /// They are of different boards.
    #[error("a table of {a} and one of {b} have no states in common; compare tables of one board")]
    Boards {
        /// The board of the first table.
        a: Board,
        /// The board of the second.
        b: Board,
    },
    /// A file is damaged.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The threads could not be started.
    #[error("cannot start the threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The monitor ended the work.
    #[error("interrupted")]
    Cancelled,
}
