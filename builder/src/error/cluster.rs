//! Errors of builds on several machines.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The reason why the processes of a cluster cannot build a table together.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The list of processes is invalid.
    #[error("{what}")]
    Hosts {
        /// The reason.
        what: String,
    },
    /// The address of this process cannot be used.
    #[error("process {process}: cannot listen at {address}")]
    Listen {
        /// This process.
        process: usize,
        /// The address.
        address: String,
        /// The cause.
        source: io::Error,
    },
    /// Not all processes are connected in time.
    #[error("process {process} at {address} did not connect within {seconds} s; start it, or check the address")]
    Absent {
        /// The process.
        process: usize,
        /// The address.
        address: String,
        /// The time, in seconds.
        seconds: u64,
    },
    /// Another process has another secret.
    #[error("process {process} has another secret; give all processes the same file")]
    Secret {
        /// The process.
        process: usize,
    },
    /// Two processes were started in different ways.
    #[error("process {process} has {what} `{theirs}`, and this process `{ours}`; start both in the same way")]
    Differs {
        /// The other process.
        process: usize,
        /// What differs.
        what: &'static str,
        /// The value of the other process.
        theirs: String,
        /// The value of this process.
        ours: String,
    },
    /// The work directory of a process belongs to another cluster.
    #[error(
        "the work directory is that of process {found}, and this is process {requested}; use another --work-dir, or --fresh"
    )]
    OtherMember {
        /// The process, or the kind of build, that made the directory.
        found: String,
        /// This process.
        requested: String,
    },
    /// The file with one process's part of a layer is damaged.
    #[error(
        "{}: the file is damaged: {what}; with --copies 2, remove the work directory of this process, and the next \
         process restores it; otherwise start again with --fresh on all processes", path.display()
    )]
    DamagedPart {
        /// The file.
        path: PathBuf,
        /// The damage.
        what: String,
    },
    /// A process lacks a committed part.
    #[error(
        "process {process} has lost its part of layer {distance}, which cannot be computed again; restore its work \
         directory, or start again with --fresh on all processes"
    )]
    MissingPart {
        /// The process.
        process: usize,
        /// The distance of the first layer that is missing.
        distance: usize,
    },
    /// The connection to another process has ended.
    #[error("lost process {process}: {what}; the same command on all machines resumes")]
    Lost {
        /// The other process.
        process: usize,
        /// The reason.
        what: String,
    },
    /// The parts of a table do not belong together.
    #[error("{what}")]
    Parts {
        /// The reason.
        what: String,
    },
}
