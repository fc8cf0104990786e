//! The record of how a table was built.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::layout::checksum;
use crate::table::error::TableError;
use crate::table::fs::Traffic;

/// The program that wrote a table, and its command.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// The program and its version.
    pub program: String,
    /// The commit from which the program was compiled, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The arguments of the program, if it was started from a command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The instruction set of the loops over many states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_level: Option<String>,
}

impl Origin {
    /// Returns the program, its version and its commit.
    pub fn program(&self) -> String {
        let commit = self.commit.as_ref().map(|commit| format!(" ({commit})"));
        format!("{}{}", self.program, commit.unwrap_or_default())
    }
}

/// How a table was made from another one with the same distances.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Conversion {
    /// The program that converted.
    #[serde(flatten)]
    pub origin: Origin,
    /// The time when the table was finished: UTC, RFC 3339.
    pub converted: String,
    /// The encoding of the other table.
    pub encoding: String,
    /// Whether the other table was mirrored.
    pub mirrored: bool,
    /// The table checksum of the other table, as 16 hexadecimal digits.
    pub checksum: String,
}

/// How a table was built. The record is not part of the table's identity.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Provenance {
    /// The program that built the distances.
    #[serde(flatten)]
    pub origin: Origin,
    /// The time when the table was finished: UTC, RFC 3339.
    pub built: String,
    /// The mode of the build: `in-memory` or `out-of-core`.
    pub mode: String,
    /// The number of threads that searched.
    pub threads: usize,
    /// Seconds from start to finish. For an interrupted build, the seconds of
    /// its completed steps.
    pub wall_s: f64,
    /// Seconds of processor time of all threads.
    #[serde(default)]
    pub cpu_s: f64,
    /// The peak memory of the program, or 0 if the system does not report it.
    #[serde(default)]
    pub peak_bytes: u64,
    /// Successors generated over all layers. A successor outside its layer is
    /// counted once for each set of unmoved pieces that reaches it.
    #[serde(default)]
    pub successors: u64,
    /// The number of times that the build was resumed.
    #[serde(default)]
    pub resumes: u64,
    /// Bytes read and written for each layer. Empty for a build in memory.
    #[serde(default)]
    pub io: Vec<LayerTraffic>,
    /// Bytes read and written to make the table from the layers.
    #[serde(default)]
    pub table_io: Traffic,
    /// The identifier of the work directory in which the table was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
    /// The conversions since then, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversions: Vec<Conversion>,
}

/// Bytes read and written for a layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LayerTraffic {
    /// The distance of the layer's states.
    pub layer: u32,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}

impl Provenance {
    /// Returns the record without the commands, which may name folders of the user.
    pub fn without_commands(&self) -> Provenance {
        let mut record = self.clone();
        record.origin.command.clear();
        record.conversions.iter_mut().for_each(|conversion| conversion.origin.command.clear());
        record
    }

    /// Returns the last record of a file: the length of the JSON in 4 bytes, the
    /// JSON, and the [`checksum`] of both in 8 bytes. Both integers are
    /// little-endian.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).expect("a provenance has only strings and finite numbers");
        let mut out = (json.len() as u32).to_le_bytes().to_vec();
        out.extend(json);
        let sum = checksum(&out);
        out.extend(sum.to_le_bytes());
        out
    }

    /// Reads and checks the last record of the file `path`. `record` contains all
    /// bytes after the data, in the layout of [`encode`](Provenance::encode).
    ///
    /// # Errors
    /// If the length or the checksum is wrong, or the JSON is invalid.
    pub(crate) fn decode(path: &Path, record: &[u8]) -> Result<Provenance, TableError> {
        let corrupt = || TableError::corrupt(path, "the record of how it was built is cut short or changed");
        let (length, rest) = record.split_first_chunk::<4>().ok_or_else(corrupt)?;
        let length = u32::from_le_bytes(*length) as usize;
        if rest.len().checked_sub(8) != Some(length) {
            return Err(corrupt());
        }
        let (json, sum) = rest.split_at(length);
        if checksum(&record[..4 + length]).to_le_bytes() != sum {
            return Err(corrupt());
        }
        serde_json::from_slice(json).map_err(|_| corrupt())
    }
}
