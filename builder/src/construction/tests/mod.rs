//! Out-of-core builds: their tables against those built in memory, and
//! crashes, failures and damage at every step.

mod crashes;
mod equivalence;

use std::error::Error;

use sternhalma_data::table::Zstd;
use sternhalma_data::{Board, Encoding, Prefix};

use crate::BuilderError;

fn zstd(block_states: u64) -> Encoding {
    Encoding::Zstd(Zstd::new(block_states, 1).unwrap())
}

fn prefix(side: u64, pieces: u64, within: u64) -> Prefix {
    Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap()
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
