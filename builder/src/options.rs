//! The place and the form of the data of a build.

use serde::{Deserialize, Serialize};

/// The form in which an out-of-core build keeps its layers on disk. Both forms make the same table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerForm {
    /// Each layer is compressed on its own.
    Whole,
    /// Each layer is stored as the difference to the two layers before it. Layers take about half of the disk space, and
    /// builds take about 1.3 times the time.
    Delta,
}

impl LayerForm {
    /// Both forms.
    pub const ALL: [LayerForm; 2] = [LayerForm::Whole, LayerForm::Delta];

    /// Returns the name: `whole` or `delta`.
    pub const fn name(self) -> &'static str {
        match self {
            LayerForm::Whole => "whole",
            LayerForm::Delta => "delta",
        }
    }
}

/// The place where a build or a proof keeps its data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BuildMode {
    /// All data is in memory.
    InMemory,
    /// The data is on disk, and memory holds one partition at a time.
    OutOfCore,
}

impl BuildMode {
    /// Both modes.
    pub const ALL: [BuildMode; 2] = [BuildMode::InMemory, BuildMode::OutOfCore];

    /// Returns the name: `in-memory` or `out-of-core`.
    pub const fn name(self) -> &'static str {
        match self {
            BuildMode::InMemory => "in-memory",
            BuildMode::OutOfCore => "out-of-core",
        }
    }
}

/// What a build uses the left-right mirror symmetry of states for. A goal or a prefix that ends within a row has no
/// symmetry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mirroring {
    /// Nothing: the search visits all states, and the file stores them.
    Off,
    /// A search in memory skips mirror images, and the file stores all states.
    Search,
    /// The search skips mirror images, and the file stores only the canonical state of each mirrored pair.
    File,
}

impl From<bool> for Mirroring {
    /// Returns the use of a build that a caller asks for with or without mirroring.
    fn from(is_mirrored: bool) -> Mirroring {
        if is_mirrored { Mirroring::File } else { Mirroring::Off }
    }
}

/// The options that a build or proof has in each process of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessOptions {
    /// The number of threads; 0 is one per processor core.
    pub threads: usize,
    /// The memory limit, in bytes.
    pub memory_limit: u64,
    /// Whether to discard what an earlier run has left.
    pub restart: bool,
    /// Whether to drop work files from the page cache after each use.
    pub drop_page_cache: bool,
}
