//! Errors of builds on several machines.

use std::ops::Range;
use std::path::PathBuf;
use std::{fmt, io};

use sternhalma_builder::BuilderError;
use thiserror::Error;

pub(crate) type Result<T> = std::result::Result<T, BuilderError>;

/// The states whose layers are missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingPart {
    /// The process that owned the states.
    pub process: usize,
    /// The positions of the states in the table.
    pub ranges: Vec<Range<u64>>,
}

impl fmt::Display for MissingPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states: u64 = self.ranges.iter().map(|range| range.end - range.start).sum();
        write!(f, "process {} ({states} states: ", self.process)?;
        for (i, range) in self.ranges.iter().take(SHOWN_RANGES).enumerate() {
            write!(f, "{}{} to {}", if i > 0 { ", " } else { "" }, range.start, range.end - 1)?;
        }
        match self.ranges.len().saturating_sub(SHOWN_RANGES) {
            0 => f.write_str(")"),
            more => write!(f, " and {more} further ranges)"),
        }
    }
}

/// The ranges of a process that a message contains.
const SHOWN_RANGES: usize = 3;

fn list(parts: &[MissingPart]) -> String {
    parts.iter().map(MissingPart::to_string).collect::<Vec<_>>().join(", ")
}

fn names(parts: &[MissingPart], processes: usize) -> String {
    let name = |part: &MissingPart| format!("part-{}-of-{processes}", part.process);
    parts.iter().map(name).collect::<Vec<_>>().join("`, `")
}

/// The reason why the processes of a cluster cannot build a table together.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The list of processes is invalid, or the table is too small for several processes.
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
        what: String,
        /// The value of the other process.
        theirs: String,
        /// The value of this process.
        ours: String,
    },
    /// The work directory contains an unfinished build by one process.
    #[error("{}: the unfinished build is that of one process", path.display())]
    OneProcess {
        /// The work directory.
        path: PathBuf,
    },
    /// The file with one process's part of a layer is damaged.
    #[error("{}: the file is damaged: {what}", path.display())]
    DamagedPart {
        /// The file.
        path: PathBuf,
        /// The damage.
        what: String,
    },
    /// Committed layers cannot be read by any process.
    #[error(
        "no process finds all layers of {}; copy the directories `{}` of the former processes into a work directory, or \
         start again on all processes", list(parts), names(parts, *processes)
    )]
    MissingParts {
        /// The number of processes of the build that is resumed.
        processes: usize,
        /// The processes whose layers are missing.
        parts: Vec<MissingPart>,
    },
    /// A part differs from the committed one.
    #[error(
        "process {process} has another part of layer {distance} than the one that was committed; restore its work \
         directory, or start again on all processes"
    )]
    OtherPart {
        /// The process.
        process: usize,
        /// The distance of the layer.
        distance: usize,
    },
    /// The connection to another process has ended.
    #[error("lost process {process}: {what}")]
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

impl ClusterError {
    /// Returns the error of the cluster because of which a step of a build or proof has failed.
    pub fn of(error: &BuilderError) -> Option<&ClusterError> {
        match error {
            BuilderError::Step(error) => error.downcast_ref(),
            _ => None,
        }
    }
}

impl From<ClusterError> for BuilderError {
    fn from(error: ClusterError) -> BuilderError {
        BuilderError::Step(error.into())
    }
}
