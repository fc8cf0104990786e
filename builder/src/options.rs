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
