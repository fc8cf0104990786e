//! The table to build, and the place for the data.

use std::fmt;

use serde::{Deserialize, Serialize};
use sternhalma_data::board::Symmetry;
use sternhalma_data::table::Layout;
use sternhalma_data::{Encoding, Prefix, Table};
use thiserror::Error;

/// The states of a table, their encoding and its form: together they determine
/// every byte of a table file except its provenance.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TableSpec {
    /// The states that the table covers.
    pub prefix: Prefix,
    /// The encoding of the distances, with its parameters.
    pub encoding: Encoding,
    /// Whether the file stores only the canonical state of each left-right
    /// mirrored pair.
    pub mirrored: bool,
}

/// The reason why a table cannot be mirrored.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoMirroredForm {
    /// The army has one piece.
    #[error("a table of a single piece cannot be mirrored")]
    SinglePiece,
    /// The goal ends within a row.
    #[error("{0} cannot be mirrored: the goal is not whole rows of the board, as with 3, 6, 10 or 15 pieces")]
    Goal(Prefix),
    /// The covered cells end within a row.
    #[error("{0} cannot be mirrored: the covered cells are not whole rows of the board")]
    Cells(Prefix),
}

impl TableSpec {
    /// Returns the specification with the default form: a table is mirrored if it
    /// can be, unless it has one byte per state.
    pub fn new(prefix: Prefix, encoding: Encoding) -> TableSpec {
        let mirrored = encoding != Encoding::Byte && Layout::mirrored(prefix, encoding).is_some();
        TableSpec { prefix, encoding, mirrored }
    }

    /// Returns the specification that an existing table fulfills.
    pub fn of(table: &Table) -> TableSpec {
        TableSpec { prefix: table.prefix(), encoding: table.encoding(), mirrored: table.info().mirrored }
    }

    /// Returns the places of the partitions and blocks of the table.
    ///
    /// # Errors
    /// If the table is to be mirrored, but its states have no mirrored form.
    pub fn layout(self) -> Result<Layout, NoMirroredForm> {
        let TableSpec { prefix, encoding, mirrored } = self;
        if !mirrored {
            return Ok(Layout::new(prefix, encoding));
        }
        Layout::mirrored(prefix, encoding).ok_or_else(|| match prefix.board().pieces() {
            1 => NoMirroredForm::SinglePiece,
            _ if Symmetry::of(Prefix::whole(prefix.board())).is_none() => NoMirroredForm::Goal(prefix),
            _ => NoMirroredForm::Cells(prefix),
        })
    }
}

impl fmt::Display for TableSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let board = self.prefix.board();
        let (size, pieces, within) = (board.size(), board.pieces(), self.prefix.within());
        write!(f, "{size}x{size} with {pieces} pieces within {within} cells, {}", self.encoding)?;
        match self.encoding {
            Encoding::Zstd(zstd) => write!(f, " (blocks of {} states, level {})", zstd.block_states(), zstd.level())?,
            Encoding::Ans(ans) => write!(f, " (blocks of {} states)", ans.block_states())?,
            _ => (),
        }
        if self.mirrored {
            f.write_str(", mirrored")?;
        }
        Ok(())
    }
}

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
