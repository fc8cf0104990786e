//! Parallel encoding and checking of the blocks of tables.

use std::ops::Range;

use rayon::ThreadPool;
use rayon::prelude::*;
use sternhalma_data::table::write::{BlockEncoder, TableWriter};
use sternhalma_data::table::{Block, checksum};
use sternhalma_data::{Rank, Table};

use crate::error::{BuilderError, Result};
use crate::observer::{BuildPhase, Observer};

/// The size of a batch: blocks are encoded in batches, each while the previous
/// batch is written.
#[derive(Clone, Copy)]
pub struct BatchSize {
    /// The states that a thread encodes in one task. A task has whole blocks, at least one.
    pub states_per_task: u64,
    /// The tasks per thread in a batch.
    pub tasks_per_thread: u64,
}

impl Default for BatchSize {
    fn default() -> BatchSize {
        BatchSize { states_per_task: 1 << 20, tasks_per_thread: 4 }
    }
}

/// The checksum and the bytes of a block.
type EncodedBlock = (u64, Vec<u8>);

/// Writes all blocks of a table, encoded on the threads of `pool`.
///
/// `encode` returns the bytes of consecutive blocks. Each batch is encoded while
/// the previous one is written. `after_batch` is called after a batch is written. Blocks that
/// the writer already has are skipped. Memory: two batches of encoded blocks.
pub(crate) fn write_blocks(
    writer: &mut TableWriter,
    size: BatchSize,
    pool: &ThreadPool,
    observer: &dyn Observer,
    encode: impl Fn(&mut BlockEncoder, &[Block]) -> Result<Vec<Vec<u8>>> + Sync,
    mut after_batch: impl FnMut(&mut TableWriter) -> Result<()> + Send,
) -> Result<()> {
    let layout = writer.layout().clone();
    let encoding = layout.encoding();
    let blocks = layout.blocks();
    let per_task = (size.states_per_task / encoding.block_states()).max(1);
    let tasks = size.tasks_per_thread * pool.current_num_threads() as u64;
    let mut next_block = writer.written().len() as u64;
    observer.begin(BuildPhase::Write, blocks);
    observer.resume(next_block);
    let encode_task = |encoder: &mut BlockEncoder, task: Range<u64>| {
        if observer.cancelled() {
            return Err(BuilderError::Cancelled);
        }
        let task: Vec<Block> = task.map(|number| layout.block(number)).collect();
        let encoded = encode(encoder, &task)?.into_iter();
        Ok(encoded.map(|bytes| (checksum(&bytes), bytes)).collect())
    };
    let encode_batch = |first: u64| -> Result<Vec<Vec<EncodedBlock>>> {
        let starts = (0..tasks).map(|task| first + task * per_task).take_while(|&start| start < blocks);
        let starts: Vec<u64> = starts.collect();
        let encoder = || BlockEncoder::new(&layout);
        // Each task may run on another thread.
        let starts = starts.into_par_iter().with_max_len(1);
        starts.map_init(encoder, |encoder, start| encode_task(encoder, start..blocks.min(start + per_task))).collect()
    };
    let mut batch = pool.install(|| encode_batch(next_block))?;
    while !batch.is_empty() {
        let written = batch.iter().map(|task| task.len() as u64).sum::<u64>();
        next_block += written;
        let write = || {
            batch.iter().flatten().try_for_each(|(sum, bytes)| writer.write_block(bytes, *sum))?;
            after_batch(writer)
        };
        let (wrote, next) = pool.install(|| rayon::join(write, || encode_batch(next_block)));
        wrote?;
        observer.advance(written);
        batch = next?;
    }
    Ok(())
}

/// Compares the blocks that hold the first `states` states of each table with
/// their checksums, on the threads of the current pool.
pub(crate) fn check_blocks(tables: &[&Table], states: u64, observer: &dyn Observer) -> Result<()> {
    let blocks = |table: &&Table| {
        let layout = table.layout();
        match layout.symmetry() {
            _ if states >= table.prefix().states() => layout.blocks(),
            None => layout.block_of_index(states - 1) + 1,
            // The canonical state of a pair is not behind the other one.
            Some(symmetry) => {
                let last = Rank(states - 1).state(table.board().pieces()).cells().last();
                let stored = symmetry.states_within(last.map_or(0, |back| back.index() + 1));
                layout.block_of_index(stored - 1) + 1
            }
        }
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
