//! The identity of a table.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use super::encoding::{Ans, Encoding, EncodingError, Zstd};
use super::layout::Layout;
use crate::board::{Board, Prefix, Symmetry};

/// The states of a table, their encoding and its form: together they determine
/// every byte of a table file except its provenance.
///
/// In JSON, a specification consists of the fields `side`, `pieces`, `within`, `encoding` (its name), `zstd` (the states
/// of a block and the level) or `ans` (the states of a block), and `mirrored`. Fields without a value may be absent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Deserialize)]
#[serde(try_from = "StoredSpec")]
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

    /// Returns the places of the partitions and blocks of the table.
    ///
    /// # Errors
    /// If a mirrored table is requested, and its states have no mirrored form.
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

    /// Serializes the specification with all fields, also those without a value.
    ///
    /// # Errors
    /// If the serializer fails.
    pub fn serialize_all<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize_fields(true, serializer)
    }

    fn serialize_fields<S: Serializer>(&self, all: bool, serializer: S) -> Result<S::Ok, S::Error> {
        let board = self.prefix.board();
        let (zstd, ans) = match self.encoding {
            Encoding::Zstd(zstd) => (Some((zstd.block_states(), zstd.level())), None),
            Encoding::Ans(ans) => (None, Some(ans.block_states())),
            Encoding::Byte | Encoding::Mod3 => (None, None),
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("side", &board.size())?;
        map.serialize_entry("pieces", &board.pieces())?;
        map.serialize_entry("within", &self.prefix.within())?;
        map.serialize_entry("encoding", &self.encoding.to_string())?;
        if all || zstd.is_some() {
            map.serialize_entry("zstd", &zstd)?;
        }
        if all || ans.is_some() {
            map.serialize_entry("ans", &ans)?;
        }
        if all || self.mirrored {
            map.serialize_entry("mirrored", &self.mirrored)?;
        }
        map.end()
    }
}

impl Serialize for TableSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize_fields(false, serializer)
    }
}

/// The fields of a specification in a file.
#[derive(Deserialize)]
struct StoredSpec {
    side: u64,
    pieces: u64,
    within: u64,
    encoding: String,
    zstd: Option<(u64, u8)>,
    ans: Option<u64>,
    #[serde(default)]
    mirrored: bool,
}

impl TryFrom<StoredSpec> for TableSpec {
    type Error = String;

    fn try_from(stored: StoredSpec) -> Result<TableSpec, String> {
        let StoredSpec { side, pieces, within, encoding, zstd, ans, mirrored } = stored;
        let board = Board::new(side, pieces).map_err(|error| error.to_string())?;
        let prefix = Prefix::new(board, within).map_err(|error| error.to_string())?;
        let encoding = match encoding.parse().map_err(|error: EncodingError| error.to_string())? {
            Encoding::Zstd(_) => {
                let (block_states, level) = zstd.ok_or("expected the field `zstd`")?;
                Zstd::new(block_states, level).map(Encoding::Zstd)
            }
            Encoding::Ans(_) => Ans::new(ans.ok_or("expected the field `ans`")?).map(Encoding::Ans),
            encoding => Ok(encoding),
        };
        Ok(TableSpec { prefix, encoding: encoding.map_err(|error| error.to_string())?, mirrored })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_are_stored_as_in_all_earlier_files() {
        let prefix = |pieces, within| Prefix::new(Board::new(9, pieces).unwrap(), within).unwrap();
        let spec = |pieces, within, encoding| TableSpec::new(prefix(pieces, within), encoding);
        for (spec, short, all) in [
            (
                spec(6, 81, Encoding::Byte),
                r#"{"side":9,"pieces":6,"within":81,"encoding":"byte"}"#,
                r#"{"side":9,"pieces":6,"within":81,"encoding":"byte","zstd":null,"ans":null,"mirrored":false}"#,
            ),
            (
                spec(10, 45, Encoding::Zstd(Zstd::new(4096, 3).unwrap())),
                r#"{"side":9,"pieces":10,"within":45,"encoding":"zstd","zstd":[4096,3],"mirrored":true}"#,
                r#"{"side":9,"pieces":10,"within":45,"encoding":"zstd","zstd":[4096,3],"ans":null,"mirrored":true}"#,
            ),
            (
                spec(7, 20, Encoding::Ans(Ans::default())),
                r#"{"side":9,"pieces":7,"within":20,"encoding":"ans","ans":65536}"#,
                r#"{"side":9,"pieces":7,"within":20,"encoding":"ans","zstd":null,"ans":65536,"mirrored":false}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&spec).unwrap(), short);
            let mut bytes = Vec::new();
            spec.serialize_all(&mut serde_json::Serializer::new(&mut bytes)).unwrap();
            assert_eq!(String::from_utf8(bytes).unwrap(), all);
            for json in [short, all] {
                assert_eq!(serde_json::from_str::<TableSpec>(json).unwrap(), spec);
            }
        }
        for (json, reason) in [
            (r#"{"side":9,"pieces":6,"within":5,"encoding":"byte"}"#, "5"),
            (r#"{"side":9,"pieces":6,"within":81,"encoding":"other"}"#, "`other`"),
            (r#"{"side":9,"pieces":6,"within":81,"encoding":"zstd"}"#, "expected the field `zstd`"),
            (r#"{"side":9,"pieces":6,"within":81,"encoding":"ans","ans":65}"#, "65"),
            (r#"{"side":9,"pieces":6,"within":81}"#, "encoding"),
        ] {
            let error = serde_json::from_str::<TableSpec>(json).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
