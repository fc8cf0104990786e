//! The check of block checksums.

use rayon::prelude::*;
use sternhalma_data::Table;

use crate::error::BuilderError;
use crate::observer::{BuildPhase, Observer};

/// Compares the blocks that hold the first `states` states of each table with
/// their checksums, on the threads of the current pool.
pub(crate) fn check_blocks(tables: &[&Table], states: u64, observer: &dyn Observer) -> Result<(), BuilderError> {
    let blocks = |table: &&Table| {
        let all = table.layout().blocks();
        if states >= table.prefix().states() { all } else { table.layout().block_of_rank(states - 1) + 1 }
    };
    observer.begin(BuildPhase::Check, tables.iter().map(blocks).sum());
    tables.iter().try_for_each(|table| {
        (0..blocks(table)).into_par_iter().try_for_each(|number| {
            if observer.cancelled() {
                return Err(BuilderError::Cancelled);
            }
            table.check_block(number)?;
            table.release_pages();
            observer.advance(1);
            Ok(())
        })
    })
}
