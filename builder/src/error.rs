//! Errors.

use std::io;
use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use sternhalma_data::table::NoMirroredForm;
use sternhalma_data::{Board, Distance, TableError, TableSpec};
use thiserror::Error;

use crate::resources::ResourceError;

pub(crate) type Result<T> = std::result::Result<T, BuilderError>;

/// The reason why a table was not built, converted, verified or compared.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuilderError {
    /// A table file cannot be read or written, or it is damaged.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A table is intact, but its contents are wrong.
    #[error("{}: the table is wrong: {what}; build it again", path.display())]
    WrongTable {
        /// The table.
        path: PathBuf,
        /// The contradiction that was found.
        what: String,
    },
    /// Two tables that were to be compared are of different boards.
    #[error("a table of {a} and one of {b} have no states in common; compare tables of the same board")]
    DifferentBoards {
        /// The board of the first table.
        a: Board,
        /// The board of the second table.
        b: Board,
    },
    /// A table cannot replace itself while it is read.
    #[error("{}: the source and the destination are the same file", path.display())]
    SameFile {
        /// The file.
        path: PathBuf,
    },
    /// The system does not provide the memory.
    #[error("cannot allocate memory: {needed} bytes are needed")]
    OutOfMemory {
        /// The memory that the operation needs in total, in bytes.
        needed: u64,
    },
    /// The memory limit is too small.
    #[error("at least {least} bytes of memory are needed, and the limit is {limit}")]
    MemoryLimit {
        /// The smallest limit that suffices, in bytes.
        least: u64,
        /// The given limit, in bytes.
        limit: u64,
    },
    /// A table of one piece cannot be built out of core.
    #[error("a table of a single piece can only be built in memory")]
    SinglePiece,
    /// A mirrored table was requested, and its states have no mirrored form.
    #[error(transparent)]
    NoMirroredForm(#[from] NoMirroredForm),
    /// A distance exceeds what a table can store.
    #[error("a distance of more than {} moves does not fit in a table", Distance::MAX)]
    DistanceTooLarge,
    /// The threads cannot be started.
    #[error("cannot start {threads} threads")]
    Threads {
        /// The number of threads.
        threads: usize,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A work file cannot be read or written.
    #[error("{}: cannot {action}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The operation that failed, as a verb.
        action: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// A work file is damaged.
    #[error("{}: the work file is damaged: {what}; delete it and repeat the build, which recomputes it", path.display())]
    DamagedFile {
        /// The file.
        path: PathBuf,
        /// The damage.
        what: String,
    },
    /// The spilled states of a proof are damaged.
    #[error("{}: the spilled states of the proof are damaged; repeat the proof, which starts again", path.display())]
    DamagedProof {
        /// The file.
        path: PathBuf,
    },
    /// The manifest of a work directory is damaged, so that no file in it can be used.
    #[error("{}: the file is damaged, so that the work directory cannot be used", path.display())]
    DamagedManifest {
        /// The manifest.
        path: PathBuf,
    },
    /// Another process uses the work directory.
    #[error("{}: another process is building in this work directory", path.display())]
    WorkDirInUse {
        /// The directory.
        path: PathBuf,
    },
    /// Another version of this library made the work directory.
    #[error("{}: this work directory has format {found}, and this program supports format {supported}", path.display())]
    WorkDirFormat {
        /// The directory.
        path: PathBuf,
        /// The format of the directory.
        found: u32,
        /// The format that this library supports.
        supported: u32,
    },
    /// The work directory contains an unfinished build of another table.
    #[error("{}: this work directory is for another table: {found}, not {requested}", path.display())]
    WorkDirMismatch {
        /// The directory.
        path: PathBuf,
        /// The table of the unfinished build.
        found: TableSpec,
        /// The requested table.
        requested: TableSpec,
    },
    /// The memory limit is too small for the partitions of an unfinished build.
    #[error(
        "{}: the unfinished build in this work directory began with a larger memory limit; its partitions need {}, and \
         the limit is {}", path.display(), ByteSize(*least), ByteSize(*limit)
    )]
    WorkDirMemory {
        /// The directory.
        path: PathBuf,
        /// The smallest limit with which the build continues, in bytes.
        least: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// An interrupted build has freed layers and cannot be resumed.
    #[error("the build cannot be resumed, because a part of its layers has been freed: {what}")]
    NotResumable {
        /// The missing or damaged file.
        what: String,
    },
    /// The journal of the table that an interrupted build was writing is damaged, and layers are freed.
    #[error(
        "{}: the journal of the unfinished table is damaged, and the build cannot be resumed without it, because a \
         part of its layers has been freed", path.display()
    )]
    DamagedJournal {
        /// The journal.
        path: PathBuf,
    },
    /// The work directory contains an unfinished build by several processes.
    #[error("{}: the unfinished build is that of several processes", path.display())]
    SeveralProcesses {
        /// The directory of one of the processes.
        path: PathBuf,
    },
    /// A step of the caller has failed, such as the exchange of states between the processes of a cluster.
    #[error(transparent)]
    Step(Box<dyn std::error::Error + Send + Sync>),
    /// The machine has too little memory or disk space.
    #[error(transparent)]
    Resources(#[from] ResourceError),
    /// The observer cancelled the operation.
    #[error("interrupted")]
    Cancelled,
}

impl BuilderError {
    /// Returns what makes an error of a file, whose operation `action` failed, from that of the system.
    pub fn file(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> BuilderError {
        let path = path.to_owned();
        move |source| BuilderError::File { path, action, source }
    }

    /// Returns the error that a work file is damaged.
    pub fn damaged(path: &Path, what: impl Into<String>) -> BuilderError {
        BuilderError::DamagedFile { path: path.to_owned(), what: what.into() }
    }
}
