//! What memory a build takes, and how it is cut to fit in a limit.

use sternhalma_data::{BLOCK_BYTES, Encoding, Prefix};

use crate::bits::words_for;
use crate::cut::{count_chunks, most_words};
use crate::error::BuildError;
use crate::expand::{Expander, choose};
use crate::external::{CHUNKS_AT_ONCE, Limits};
use crate::layer_file::{Codec, LayerFile};
use crate::search::lanes;

/// The program itself, with the stacks of its threads.
const PROGRAM: u64 = 9 << 20;
const THREAD: u64 = 256 << 10;

/// Planes of a group are to fit in a core's cache of the second level.
pub(crate) const PLANE_BYTES: u64 = 1 << 20;

/// More than any known table has.
const LAYERS: u64 = 64;

/// The least that is left for what is put aside.
const LEAST_PENDING: u64 = 1 << 20;

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

/// The least limit under which a build out of core works.
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

/// How to cut a prefix for a build within `limit` bytes.
pub(crate) fn limits(prefix: Prefix, encoding: Encoding, threads: usize, limit: u64) -> Result<Limits, BuildError> {
    cut_to_fit(prefix, encoding, threads, limit)
        .ok_or_else(|| BuildError::Limit { least: least_memory(prefix, encoding, threads), limit })
}

fn cut_to_fit(prefix: Prefix, encoding: Encoding, threads: usize, limit: u64) -> Option<Limits> {
    let pieces = prefix.board().pieces();
    let threads = threads.min(rayon::max_num_threads());
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
    let needed = search_memory(prefix, threads, limits).max(table_memory(prefix, encoding, threads, limits));
    // Small allocations leave gaps.
    let pending = limit.checked_sub(needed)? / 8 * 7;
    (pending >= LEAST_PENDING).then_some(Limits { pending, ..limits })
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
    let blocks = blocks_at_once(prefix, encoding, limits);
    let states = blocks * BLOCK_BYTES * encoding.states_per_byte();
    // A bitmap a digit, the bitmap of a layer, and the bytes, twice.
    let bitmaps = match encoding {
        Encoding::Mod3 => 3,
        _ => 8,
    };
    let task = bitmaps * states / 8 + 2 * blocks * BLOCK_BYTES;
    let worker = THREAD + Codec::memory(limits.chunk_words) + 8 * limits.chunk_words as u64;
    let files = LayerFile::memory(count_chunks(prefix, limits.fixed, limits.chunk_words)).saturating_mul(LAYERS);
    (threads as u64).saturating_mul(worker + task).saturating_add(PROGRAM).saturating_add(files)
}

/// Blocks of the table that a thread makes at a time. More of them unpack
/// fewer chunks twice.
pub(crate) fn blocks_at_once(prefix: Prefix, encoding: Encoding, limits: Limits) -> u64 {
    let states = 64 * limits.chunk_words as u64;
    (2 * states / (BLOCK_BYTES * encoding.states_per_byte()))
        .clamp(1, 8)
        .min(prefix.states() / (BLOCK_BYTES * encoding.states_per_byte()) + 1)
}

/// The most bytes that are put aside at a time, with one piece fixed: units
/// that are not complete hold what classes before them reached.
fn most_pending(prefix: Prefix, fixed: usize) -> u64 {
    let (within, pieces) = (prefix.within(), prefix.board().pieces());
    match fixed {
        0 => 0,
        _ => (0..within).map(|cell| choose(cell, pieces - 1) / 8 * (within - cell) as u64).max().unwrap_or(0),
    }
}
