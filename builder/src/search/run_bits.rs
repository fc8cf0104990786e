//! Bitmaps by reduced rank, and their runs by rank.

use fearless_simd::Simd;
use fearless_simd_macros::simd;
use sternhalma_data::board::{MirroredRuns, RunPart, choose};
use sternhalma_data::{Cell, CellSet};

use crate::bits::{for_each_word, low_mask, or_at, or_run, words_for};

/// Adds the states of a part in `bitmap`, which is by reduced rank, to `run`, a bitmap by rank.
#[simd]
pub(crate) fn gather<S: Simd>(_: S, runs: &MirroredRuns, part: &RunPart, bitmap: &[u64], run: &mut [u64]) {
    match part.permuted {
        None => or_run(run, part.start, bitmap, part.reduced, part.len),
        Some(pieces) => {
            let permutation = runs.permutation(pieces);
            for_each_word(bitmap, part.reduced, part.len, |offset, states| {
                permute(states, &permutation[offset as usize..], part.start, run);
            });
        }
    }
}

/// Calls `add(run, start)` with an array that has the states of the part in `run`, in the order of reduced ranks from
/// bit `start` on. `buffer` is scratch space.
///
/// `new_states(reduced)` returns those of the 64 states from this reduced rank on that may be new. A permuted part may
/// lack its other states.
#[simd]
pub(crate) fn scatter<S: Simd>(
    _: S,
    runs: &MirroredRuns,
    part: &RunPart,
    run: &[u64],
    buffer: &mut Vec<u64>,
    new_states: impl Fn(u64) -> u64,
    add: impl FnOnce(&[u64], u64),
) {
    let Some(pieces) = part.permuted else { return add(run, part.start) };
    let permutation = runs.permutation(pieces);
    let new_states = |offset: u64| new_states(part.reduced + offset) & low_mask(part.len - offset);
    let offsets = (0..part.len).step_by(64);
    let mut count = 0;
    for_each_word(run, part.start, part.len, |_, states| count += states.count_ones());
    if count == 0 {
        return;
    }
    let new_count: u32 = offsets.clone().map(|offset| new_states(offset).count_ones()).sum();
    buffer.clear();
    buffer.resize(words_for(part.len), 0);
    if count <= new_count {
        for_each_word(run, part.start, part.len, |offset, states| {
            permute(states, &permutation[offset as usize..], 0, buffer);
        });
    } else {
        // The permutation is its own inverse, because it mirrors sets of cells.
        for (word, offset) in buffer.iter_mut().zip(offsets) {
            *word = select(new_states(offset), &permutation[offset as usize..], part.start, run);
        }
    }
    add(buffer, 0);
}

/// Marks the contexts of a group that must be expanded: the sets that consist of `upper` and of `lower_pieces` pieces
/// below `lowest_upper`, the lowest cell of `upper`, and whose pattern in the row of that cell is not greater than its
/// mirror image. The rows above must be symmetric.
pub(crate) fn mark_expanded(
    runs: &MirroredRuns,
    upper: CellSet,
    lowest_upper: Cell,
    lower_pieces: usize,
    marks: &mut Vec<u64>,
) {
    marks.clear();
    marks.resize(words_for(choose(lowest_upper.index(), lower_pieces)), 0);
    runs.smaller_patterns(upper, lowest_upper, lower_pieces, |contexts| {
        let len = contexts.end - contexts.start;
        (0..len).step_by(64).for_each(|offset| or_at(marks, contexts.start + offset, low_mask(len - offset)));
    });
}

/// Sets bit `first + permutation[i]` of `out` for each set bit `i` of `states`.
#[inline(always)]
fn permute(mut states: u64, permutation: &[u32], first: u64, out: &mut [u64]) {
    while states != 0 {
        let at = first + u64::from(permutation[states.trailing_zeros() as usize]);
        out[(at / 64) as usize] |= 1 << (at % 64);
        states &= states - 1;
    }
}

/// Returns the bits `i` of `wanted` for which bit `first + permutation[i]` of `run` is set.
#[inline(always)]
fn select(wanted: u64, permutation: &[u32], first: u64, run: &[u64]) -> u64 {
    let (mut rest, mut found) = (wanted, 0);
    while rest != 0 {
        let bit = rest.trailing_zeros();
        let at = first + u64::from(permutation[bit as usize]);
        found |= (run[(at / 64) as usize] >> (at % 64) & 1) << bit;
        rest &= rest - 1;
    }
    found
}
