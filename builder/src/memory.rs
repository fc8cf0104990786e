//! What memory a build takes, and how it is cut to fit in a limit.

use sternhalma_data::{Encoding, Prefix};

use crate::bits::words_for;
use crate::blocks::Pace;
use crate::cut::{count_chunks, most_words};
use crate::error::BuildError;
use crate::expand::{Expander, choose};
use crate::external::CHUNKS_AT_ONCE;
use crate::layer_file::{Codec, LayerFile};
use crate::search::lanes;

/// The program itself, with the stacks of its threads.
const PROGRAM: u64 = 9 << 20;
const THREAD: u64 = 256 << 10;

/// Planes of a group are to fit in a core's cache of the second level.
pub(crate) const PLANE_BYTES: u64 = 5 << 18;

/// More than any known table has.
const LAYERS: u64 = 64;

/// The least that is left for what is put aside.
const LEAST_PENDING: u64 = 1 << 20;

/// How a prefix is cut to be worked on in a limited memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Limits {
    /// Pieces that are the same within a class.
    pub fixed: usize,
    /// Pieces of a context that differ within a group.
    pub lanes: usize,
    pub chunk_words: usize,
    /// Bytes of memory for what is put aside.
    pub pending: u64,
}

/// An upper bound of the bytes of memory that a build in memory takes.
pub fn memory_needed(prefix: Prefix, encoding: Encoding, threads: usize) -> u64 {
    let bitmap = 8 * words_for(prefix.states()) as u64;
    // The layer and the next one, and the labels: distances are below 64.
    let bitmaps = match encoding {
        Encoding::Mod3 => 2 + 2,
        _ => 2 + 1 + 6,
    };
    const IN_MEMORY_PROGRAM: u64 = 16 << 20;
    const IN_MEMORY_THREAD: u64 = 8 << 20;
    (bitmaps * bitmap + IN_MEMORY_PROGRAM).saturating_add(IN_MEMORY_THREAD.saturating_mul(threads as u64))
}

/// The least limit under which a build out of core has this many threads.
pub fn least_memory(prefix: Prefix, encoding: Encoding, threads: usize) -> u64 {
    let works = |limit: u64| cut_to_fit(prefix, encoding, threads, limit).is_some();
    let (mut low, mut high) = (0, 1 << 20);
    while !works(high) {
        (low, high) = (high, 2 * high);
    }
    // In whole MiB, which is how people write limits.
    while high - low > 1 << 20 {
        let middle = (low + (high - low) / 2).next_multiple_of(1 << 20);
        if works(middle) {
            high = middle
        } else {
            low = middle
        }
        if high - low == 1 << 20 {
            break;
        }
    }
    high
}

/// How to cut a prefix for a build within `limit` bytes, and how many threads
/// that allows: as many as `threads` if they fit.
pub(crate) fn limits(
    prefix: Prefix,
    encoding: Encoding,
    threads: usize,
    limit: u64,
) -> Result<(Limits, usize), BuildError> {
    let threads = threads.min(rayon::max_num_threads());
    let cut = |threads| cut_to_fit(prefix, encoding, threads, limit).map(|cut| (cut, threads));
    if let Some(all) = cut(threads) {
        return Ok(all);
    }
    let mut most = cut(1).ok_or_else(|| BuildError::Limit { least: least_memory(prefix, encoding, 1), limit })?;
    // More threads take more memory, so the most that fit are found by halving.
    let mut too_many = threads;
    while too_many - most.1 > 1 {
        let middle = most.1 + (too_many - most.1) / 2;
        match cut(middle) {
            Some(more) => most = more,
            None => too_many = middle,
        }
    }
    Ok(most)
}

fn cut_to_fit(prefix: Prefix, encoding: Encoding, threads: usize, limit: u64) -> Option<Limits> {
    let pieces = prefix.board().pieces();
    // Chunks of 32 KiB to 1 MiB.
    let chunk_words = 1usize << ((limit / 256).clamp(32 << 10, 1 << 20) / 8).ilog2();
    let plane_bytes = PLANE_BYTES.min(limit / 64);
    let cuts = (0..=pieces.saturating_sub(2)).filter_map(|fixed| {
        let limits =
            Limits { fixed, lanes: lanes(prefix, plane_bytes).min(pieces - 1 - fixed), chunk_words, pending: 0 };
        fit(prefix, encoding, threads, limits, limit)
    });
    let cuts: Vec<Limits> = cuts.collect();
    let enough = cuts.iter().find(|cut| cut.pending >= most_pending(prefix, cut.fixed));
    enough.or(cuts.iter().max_by_key(|cut| cut.pending)).copied()
}

/// The same cut with all memory that is left for what is put aside; `None` if
/// there is too little.
pub(crate) fn fit(prefix: Prefix, encoding: Encoding, threads: usize, limits: Limits, limit: u64) -> Option<Limits> {
    let needed = needed_without_pending(prefix, encoding, threads, limits);
    // Small allocations leave gaps.
    let pending = limit.checked_sub(needed)? / 8 * 7;
    (pending >= LEAST_PENDING).then_some(Limits { pending, ..limits })
}

/// The memory of a build out of core besides what is put aside.
pub(crate) fn needed_without_pending(prefix: Prefix, encoding: Encoding, threads: usize, limits: Limits) -> u64 {
    search_memory(prefix, threads, limits).max(table_memory(prefix, encoding, threads, limits))
}

/// What the search takes besides what is put aside.
fn search_memory(prefix: Prefix, threads: usize, limits: Limits) -> u64 {
    let chunk_bytes = 8 * limits.chunk_words as u64;
    let worker =
        THREAD + Expander::scratch_memory(prefix, limits.lanes) + Codec::memory(limits.chunk_words) + 2 * chunk_bytes;
    // Packed chunks: being made, waiting, being written.
    let packed = 3 * CHUNKS_AT_ONCE as u64 * chunk_bytes;
    let bitmaps = (most_words(prefix, limits.fixed) as u64).saturating_mul(16).saturating_add(PROGRAM);
    let files = LayerFile::memory(count_chunks(prefix, limits.fixed, limits.chunk_words)).saturating_mul(3);
    bitmaps
        .saturating_add(Expander::memory(prefix, limits.lanes))
        .saturating_add(files)
        .saturating_add(choose(prefix.within(), limits.fixed).saturating_mul(8))
        .saturating_add((threads as u64).saturating_mul(worker.saturating_add(packed)))
}

/// What making the table of the layers takes.
fn table_memory(prefix: Prefix, encoding: Encoding, threads: usize, limits: Limits) -> u64 {
    let states = pace(prefix, encoding, limits).states.max(encoding.block_states());
    // A bitmap a digit, the bitmap of a layer, and the bytes, twice.
    let (bitmaps, state_bytes) = match encoding {
        Encoding::Mod3 => (3, states / 2),
        _ => (8, 2 * states),
    };
    let compressor = if matches!(encoding, Encoding::Zstd(_)) { COMPRESSOR } else { 0 };
    let worker = THREAD + Codec::memory(limits.chunk_words) + 8 * limits.chunk_words as u64 + compressor;
    let task = bitmaps * states / 8 + state_bytes;
    let files = LayerFile::memory(count_chunks(prefix, limits.fixed, limits.chunk_words)).saturating_mul(LAYERS);
    (threads as u64).saturating_mul(worker + task).saturating_add(PROGRAM).saturating_add(files)
}

/// What compressing blocks at a high level takes.
const COMPRESSOR: u64 = 8 << 20;

/// What of the table a thread makes at a time. The more, the fewer chunks are
/// unpacked twice.
pub(crate) fn pace(prefix: Prefix, encoding: Encoding, limits: Limits) -> Pace {
    let states = (128 * limits.chunk_words as u64).clamp(1 << 20, 1 << 23).min(prefix.states());
    Pace { states: states.max(encoding.block_states()), turns: 1 }
}

/// The most bytes that are put aside at a time, with one piece fixed: units
/// that are not complete hold what classes before them reached.
pub(crate) fn most_pending(prefix: Prefix, fixed: usize) -> u64 {
    let (within, pieces) = (prefix.within(), prefix.board().pieces());
    match fixed {
        0 => 0,
        _ => (0..within).map(|cell| choose(cell, pieces - 1) / 8 * (within - cell) as u64).max().unwrap_or(0),
    }
}

/// The bytes of memory that proving a table at once takes: a byte and a bit a
/// state, and what is mapped of the file they are unfolded from.
pub fn proof_memory_needed(prefix: Prefix) -> u64 {
    prefix.states() / 2 * 3 + PROGRAM
}

/// A reader of distances.
const READER: u64 = 3 << 10;

/// What the system maps of a table beyond what is asked of it.
const MAPPED: u64 = 16 << 20;

/// How to cut a prefix for a proof within `limit` bytes.
pub(crate) fn limits_of_proof(prefix: Prefix, threads: usize, limit: u64) -> Result<Limits, BuildError> {
    let chunk_words = 1 << 14;
    let needed = |fixed: usize| {
        // A byte and a bit a state.
        let states = (64 * most_words(prefix, fixed) as u64).saturating_mul(9) / 8;
        let worker = THREAD + Codec::memory(chunk_words) + 16 * chunk_words as u64;
        let readers = READER.saturating_mul(count_chunks(prefix, fixed, chunk_words));
        (PROGRAM + MAPPED + threads as u64 * worker).saturating_add(states).saturating_add(readers)
    };
    let fixed = 0..(prefix.board().pieces() - 1).max(1);
    let fits = |&fixed: &usize| limit.checked_sub(needed(fixed)).is_some_and(|left| left / 8 * 7 >= LEAST_PENDING);
    match fixed.clone().find(fits) {
        Some(fixed) => Ok(Limits { fixed, lanes: 0, chunk_words, pending: (limit - needed(fixed)) / 8 * 7 }),
        None => {
            let least = fixed.map(needed).min().unwrap_or(0) + LEAST_PENDING / 7 * 8 + 8;
            Err(BuildError::Limit { least, limit })
        }
    }
}
