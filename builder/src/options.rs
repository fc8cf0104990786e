//! The table to build, and the place for the data.

use std::fmt;

use serde::{Deserialize, Serialize};
use sternhalma_data::{Encoding, Prefix, Table};

/// The states of a table and their encoding: together they determine every
/// byte of a table file except its provenance.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TableSpec {
    /// The states that the table covers.
    pub prefix: Prefix,
    /// The encoding of the distances, with its parameters.
    pub encoding: Encoding,
    /// Whether the table holds only one state of each mirrored pair.
    pub mirrored: bool,
}

impl TableSpec {
    /// Returns the specification that an existing table fulfills.
    pub fn of(table: &Table) -> TableSpec {
        TableSpec { prefix: table.prefix(), encoding: table.encoding(), mirrored: false }
    }
}

impl fmt::Display for TableSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let board = self.prefix.board();
        let (size, pieces, within) = (board.size(), board.pieces(), self.prefix.within());
        write!(f, "{size}x{size} with {pieces} pieces within {within} cells, {}", self.encoding)?;
        if let Encoding::Zstd(zstd) = self.encoding {
            write!(f, " (blocks of {} states, level {})", zstd.block_states(), zstd.level())?;
        }
        Ok(())
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
