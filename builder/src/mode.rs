//! Where an operation keeps its data.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

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

impl fmt::Display for BuildMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for BuildMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<BuildMode, UnknownMode> {
        let found = BuildMode::ALL.into_iter().find(|mode| mode.name() == text);
        found.ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

/// A text that names no [`BuildMode`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected `in-memory` or `out-of-core`, got `{0}`")]
pub struct UnknownMode(String);
