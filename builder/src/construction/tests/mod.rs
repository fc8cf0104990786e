//! Out-of-core builds: their tables against those built in memory, and
//! crashes, failures and damage at every step.

mod crashes;
mod equivalence;

use std::error::Error;
use std::path::Path;

use sternhalma_data::table::Zstd;
use sternhalma_data::{Board, Encoding, Prefix, Table};

use crate::BuilderError;

/// The header fields with the offset and the length of the data.
const DATA_AT: usize = 56;
const DATA_BYTES_AT: usize = 64;

fn zstd(block_states: u64) -> Encoding {
    Encoding::Zstd(Zstd::new(block_states, 1).unwrap())
}

fn prefix(side: u64, pieces: u64, within: u64) -> Prefix {
    Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap()
}

/// Returns the bytes of a table without the provenance, which comes last.
pub(super) fn bytes_of(path: &Path) -> Vec<u8> {
    Table::open(path).unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let data_end = word(DATA_AT) + word(DATA_BYTES_AT);
    bytes.truncate(data_end);
    bytes
}

/// Returns an error and its causes.
fn chain(error: &BuilderError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
