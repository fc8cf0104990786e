//! Writing the blocks of a table from all threads.

use std::ops::Range;

use rayon::ThreadPool;
use rayon::prelude::*;
use sternhalma_data::TableError;
use sternhalma_data::table::write::{BlockEncoder, TableWriter};
use sternhalma_data::table::{Block, checksum};

use crate::error::Cancelled;
use crate::monitor::{Monitor, Stage};

/// What is encoded while what was encoded before is written.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// States that a thread encodes at a time, in whole blocks, and at least one.
    pub states: u64,
    /// How often a thread does so before the blocks are written.
    pub turns: u64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { states: 1 << 20, turns: 4 }
    }
}

/// The checksum and the bytes of a block.
type Encoded = (u64, Vec<u8>);

/// Encodes some blocks on all threads while those before them are written.
///
/// `encode` gives the bytes of consecutive blocks. Memory: those of twice the
/// pace a thread.
pub(crate) fn write_blocks<E: From<TableError> + From<Cancelled> + Send>(
    writer: &mut TableWriter,
    pace: Pace,
    pool: &ThreadPool,
    monitor: &dyn Monitor,
    encode: impl Fn(&mut BlockEncoder, &[Block]) -> Result<Vec<Vec<u8>>, E> + Sync,
) -> Result<(), E> {
    let layout = writer.layout().clone();
    let (prefix, encoding) = (layout.prefix(), layout.encoding());
    let blocks = layout.blocks();
    let at_once = (pace.states / encoding.block_states()).max(1);
    let turns = pace.turns * pool.current_num_threads() as u64;
    monitor.begin(Stage::Write, blocks);
    let encode_part = |encoder: &mut BlockEncoder, part: Range<u64>| {
        if monitor.cancelled() {
            return Err(Cancelled.into());
        }
        let part: Vec<Block> = part.map(|number| layout.block(number)).collect();
        let encoded = encode(encoder, &part)?.into_iter();
        Ok(encoded.map(|bytes| (checksum(&bytes), bytes)).collect())
    };
    let encode_batch = |first: u64| -> Result<Vec<Vec<Encoded>>, E> {
        let starts = (0..turns).map(|turn| first + turn * at_once).take_while(|&start| start < blocks);
        let starts: Vec<u64> = starts.collect();
        let encoder = || BlockEncoder::new(prefix, encoding);
        let parts = starts.into_par_iter().with_max_len(1);
        parts.map_init(encoder, |encoder, start| encode_part(encoder, start..blocks.min(start + at_once))).collect()
    };
    let mut batch = pool.install(|| encode_batch(0))?;
    let mut done = 0;
    while !batch.is_empty() {
        let written = batch.iter().map(|part| part.len() as u64).sum::<u64>();
        done += written;
        let write = || -> Result<(), TableError> {
            batch.iter().flatten().try_for_each(|(sum, bytes)| writer.write_block(bytes, *sum))
        };
        let (wrote, next) = pool.install(|| rayon::join(write, || encode_batch(done)));
        wrote?;
        monitor.advance(written);
        batch = next?;
    }
    Ok(())
}
