//! The memory of out-of-core builds, and partition parameters for a memory limit.

use std::ops::RangeInclusive;

use sternhalma_data::board::choose;
use sternhalma_data::{Encoding, Prefix, TableSpec};

use crate::blocks::BatchSize;
use crate::error::{BuilderError, Result};
use crate::external::{LayerFile, Numbering, PartitionParams, SegmentHistory, count_segments};
use crate::search::{DistancePlanes, Expander, ExternalSearch, MAX_LAYERS, MAX_SLICES_BYTES};

/// The memory of the program without its data, in bytes.
const PROGRAM: u64 = 12 << 20;
/// The memory of a thread without its data, in bytes.
const THREAD: u64 = 256 << 10;

/// The smallest memory for spilled states, in bytes.
pub const MIN_SPILL: u64 = 1 << 20;

/// The memory that zstd takes at a high level, in bytes.
const COMPRESSOR: u64 = 8 << 20;

/// The memory of the models of [`Encoding::Ans`], and of a thread that uses them, in bytes.
const MODELS: u64 = 1 << 20;

/// Returns the smallest memory limit with which an out-of-core build can use
/// `threads` threads, in bytes.
pub(super) fn least_memory(spec: TableSpec, threads: usize) -> u64 {
    let suffices = |limit: u64| params_for(spec, threads, limit, 0).is_some();
    let (mut low, mut high) = (0, 1 << 20);
    while !suffices(high) {
        (low, high) = (high, 2 * high);
    }
    // The result is a whole number of MiB, because people write limits that way.
    while high - low > 1 << 20 {
        let middle = (low + (high - low) / 2).next_multiple_of(1 << 20);
        if suffices(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// Returns partition parameters for a build within `limit` bytes, and the
/// largest number of threads that the limit allows, at most `threads`.
///
/// # Errors
/// If the limit does not suffice for one thread, or the table is for one piece.
pub(super) fn fit_to_limit(spec: TableSpec, threads: usize, limit: u64) -> Result<(PartitionParams, usize)> {
    // One piece is built out of core only at the request of the caller.
    if spec.prefix.board().pieces() == 1 {
        return Err(BuilderError::SinglePiece);
    }
    fit_with_fixed(spec, threads, limit, 0)
}

/// Returns such parameters with at least `least_fixed` fixed pieces.
///
/// # Errors
/// If the limit does not suffice for one thread.
pub fn fit_with_fixed(
    spec: TableSpec,
    threads: usize,
    limit: u64,
    least_fixed: usize,
) -> Result<(PartitionParams, usize)> {
    // Estimates may ask for more threads than a pool can have.
    max_threads(threads.min(rayon::max_num_threads()), |threads| params_for(spec, threads, limit, least_fixed))
        .ok_or_else(|| BuilderError::MemoryLimit { least: least_memory(spec, 1), limit })
}

/// Returns the largest number of threads, at most `all`, that fits, with what `fit` returns for it. Fewer threads fit
/// too, because more threads take more memory.
pub(super) fn max_threads<T>(all: usize, fit: impl Fn(usize) -> Option<T>) -> Option<(T, usize)> {
    if let Some(found) = fit(all) {
        return Some((found, all));
    }
    // `best` fits, and `too_many` does not.
    let (mut best, mut too_many) = ((fit(1)?, 1), all);
    while too_many - best.1 > 1 {
        let middle = best.1 + (too_many - best.1) / 2;
        match fit(middle) {
            Some(found) => best = (found, middle),
            None => too_many = middle,
        }
    }
    Some(best)
}

/// Returns the parameters with the fewest fixed pieces for which no state needs
/// to go to disk, or else those with the most memory for spilled states.
fn params_for(spec: TableSpec, threads: usize, limit: u64, least_fixed: usize) -> Option<PartitionParams> {
    let pieces = spec.prefix.board().pieces();
    // Segments of 32 KiB to 256 KiB.
    let segment_words = 1usize << ((limit / 1024).clamp(32 << 10, 256 << 10) / 8).ilog2();
    let slice_pieces = max_slice_pieces(spec.prefix, limit);
    let candidates = (least_fixed..=pieces.saturating_sub(2)).filter_map(|fixed_pieces| {
        let slice_pieces = slice_pieces.min(pieces - 1 - fixed_pieces);
        let params = PartitionParams { fixed_pieces, slice_pieces, segment_words, spill_bytes: 0 };
        with_spill(spec, threads, params, limit)
    });
    let candidates: Vec<PartitionParams> = candidates.collect();
    let enough = candidates.iter().find(|params| params.spill_bytes >= max_spill(spec.prefix, params.fixed_pieces));
    enough.or(candidates.iter().max_by_key(|params| params.spill_bytes)).copied()
}

/// The share of the memory limit that the slices of a thread may have, as a divisor. Larger slices take less time, and
/// leave less memory for spilled states.
const SLICES_SHARE: u64 = 64;

/// Returns the number of pieces of the largest slices that a build within `limit` bytes uses.
fn max_slice_pieces(prefix: Prefix, limit: u64) -> usize {
    Expander::slice_pieces_within(prefix, MAX_SLICES_BYTES.min(limit / SLICES_SHARE))
}

/// Returns the same parameters with all remaining memory for spilled states,
/// or `None` if too little remains.
fn with_spill(spec: TableSpec, threads: usize, params: PartitionParams, limit: u64) -> Option<PartitionParams> {
    let needed = memory_without_spill(spec, threads, params);
    // Small allocations leave gaps.
    let spill_bytes = limit.checked_sub(needed)? / 8 * 7;
    (spill_bytes >= MIN_SPILL).then_some(PartitionParams { spill_bytes, ..params })
}

/// Returns the parameters of a build that is resumed, with the partitions that it began with: the number of fixed
/// pieces, and the words of a segment. The slices, which do not belong to the partitions, have as many pieces as
/// `slice_pieces` and the partitions allow.
///
/// # Errors
/// The smallest limit that suffices, if this one is too small.
pub fn resume_params(
    spec: TableSpec,
    threads: usize,
    (fixed_pieces, segment_words): (usize, usize),
    slice_pieces: RangeInclusive<usize>,
    limit: u64,
) -> std::result::Result<PartitionParams, u64> {
    let most = spec.prefix.board().pieces() - 1 - fixed_pieces;
    let [least, most] = [slice_pieces.start(), slice_pieces.end()].map(|&pieces| pieces.min(most));
    let with_slices = |slice_pieces| PartitionParams { fixed_pieces, slice_pieces, segment_words, spill_bytes: 0 };
    let candidates = || (least..=most).rev().map(with_slices);
    candidates().find_map(|params| with_spill(spec, threads, params, limit)).ok_or_else(|| {
        let needed = candidates().map(|params| memory_without_spill(spec, threads, params)).min().unwrap_or(0);
        // People write limits in whole MiB.
        (needed + MIN_SPILL.div_ceil(7) * 8).next_multiple_of(1 << 20)
    })
}

/// Returns such parameters for the largest number of threads that the limit allows, at most `threads`.
///
/// # Errors
/// The smallest limit that suffices for one thread, if this one is too small.
pub(super) fn fit_resumed(
    spec: TableSpec,
    threads: usize,
    partitions: (usize, usize),
    limit: u64,
) -> std::result::Result<(PartitionParams, usize), u64> {
    let fit = |threads| resume_params(spec, threads, partitions, 1..=max_slice_pieces(spec.prefix, limit), limit);
    let fitting = max_threads(threads.min(rayon::max_num_threads()), |threads| fit(threads).ok());
    fitting.map_or_else(|| fit(1).map(|params| (params, 1)), Ok)
}

/// Returns the memory of an out-of-core build without spilled states, in bytes.
fn memory_without_spill(spec: TableSpec, threads: usize, params: PartitionParams) -> u64 {
    let program = PROGRAM + (threads as u64).saturating_mul(THREAD);
    let search = ExternalSearch::memory(&Numbering::of(spec), threads, params);
    search.max(table_memory(spec, threads, params)).saturating_add(program)
}

/// Returns an upper bound of the memory of an out-of-core build, in bytes.
pub(super) fn memory_with_spill(spec: TableSpec, threads: usize, params: PartitionParams) -> u64 {
    let spilled = max_spill(spec.prefix, params.fixed_pieces).min(params.spill_bytes);
    memory_without_spill(spec, threads, params).saturating_add(spilled)
}

/// Returns the memory that the writing of a table from its layers takes, in bytes.
fn table_memory(spec: TableSpec, threads: usize, params: PartitionParams) -> u64 {
    let TableSpec { prefix, encoding, .. } = spec;
    let states = batch_size(spec, params).states_per_task.max(encoding.block_states());
    // The planes and a layer.
    let bitmaps = DistancePlanes::bitmaps(encoding) + 1;
    // The bytes of two batches: one is encoded while the other is written.
    let state_bytes = if encoding == Encoding::Mod3 { states / 2 } else { 2 * states };
    let compressor = match encoding {
        Encoding::Zstd(_) => COMPRESSOR,
        // The distances, the symbols and their codes.
        Encoding::Ans(ans) => 4 * ans.block_states() + MODELS,
        _ => 0,
    };
    let worker = SegmentHistory::memory(params.segment_words) + compressor;
    let task = bitmaps * states / 8 + state_bytes;
    let segments = count_segments(prefix, params.fixed_pieces, params.segment_words);
    (threads as u64)
        .saturating_mul(worker + task)
        .saturating_add(LayerFile::memory(segments).saturating_mul(MAX_LAYERS))
}

/// Returns the size of the batches in which the table is written. With larger
/// batches, fewer segments are unpacked twice.
pub fn batch_size(spec: TableSpec, params: PartitionParams) -> BatchSize {
    let states = (512 * params.segment_words as u64).clamp(1 << 20, 1 << 23).min(spec.prefix.states());
    BatchSize { states_per_task: states.max(spec.encoding.block_states()), tasks_per_thread: 1 }
}

/// Returns an upper bound of the memory for spilled states with at most one
/// fixed piece, in bytes: incomplete partitions hold the states that earlier
/// classes reached.
pub(super) fn max_spill(prefix: Prefix, fixed_pieces: usize) -> u64 {
    let (within, pieces) = (prefix.within(), prefix.board().pieces());
    match fixed_pieces {
        0 => 0,
        _ => (0..within).map(|cell| choose(cell, pieces - 1) / 8 * (within - cell) as u64).max().unwrap_or(0),
    }
}
