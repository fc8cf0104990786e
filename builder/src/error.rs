//! Why a table is not built or not believed.

use std::path::PathBuf;

use sternhalma_data::TableError;
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
    /// The monitor ended the work.
    #[error("interrupted")]
    Cancelled,
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
    /// The threads could not be started.
    #[error("cannot start the threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The monitor ended the work.
    #[error("interrupted")]
    Cancelled,
}
