//! The proof that a table is right.
//!
//! The proof needs no search. Let `D` be the distances of the table. Suppose that
//! only the goal has `D` = 0, that no move changes `D` by two or more, and
//! that every other state has a move that decreases `D` by one. Then `D` is the
//! distance: each move of a path lowers `D` by at most one, and the decreasing
//! moves form a path of `D` moves. A mod-3 table is consistent with
//! several `D`, so it is first unfolded from the goal, which determines `D`.
//!
//! Moves are enumerated by context, which consists of the pieces that a move
//! leaves in place. A move connects two cells if they are neighbors, or if
//! jumps over the context's pieces connect them. Jumps are reversible.
//! The [`search`](crate::search) generates moves in another way. Contexts that differ only in the
//! lowest piece are checked together ([`ContextRun`]).
//!
//! A mirrored table stores one distance for both states of a mirrored pair. The proof in memory
//! therefore walks only one context of each mirrored pair of contexts, and requires a decreasing
//! move of only one state of each pair. The other state has the mirror image of this move.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fearless_simd::{Simd, dispatch};
use fearless_simd_macros::simd;
use rayon::prelude::*;
use sternhalma_cpu::level;
use sternhalma_data::board::{Symmetry, choose};
use sternhalma_data::table::advise_huge_pages;
use sternhalma_data::{Cell, CellSet, Prefix, Rank, State, Table};

use super::context_run::{ContextRun, LANES, LargeStep, StatesByPosition};
use crate::bits::low_mask;
use crate::error::{BuilderError, Result};
use crate::observer::{BuildPhase, Observer};
use crate::ranks::BitOffsets;

/// The contexts that a thread takes at a time.
const GRAIN: u64 = 1 << 14;

/// The states that a thread takes at a time.
const STATES_GRAIN: u64 = 1 << 16;

/// Returns zeros, in huge pages if the system has them.
pub(super) fn zeroed_bytes(len: usize) -> Vec<u8> {
    let zeros = vec![0; len];
    advise_huge_pages(&zeros);
    zeros
}

/// Returns a bitmap of `words` words, in huge pages if the system has them.
pub(super) fn atomic_bitmap(words: usize) -> Vec<AtomicU64> {
    let mut bitmap = Vec::with_capacity(words);
    advise_huge_pages(bitmap.spare_capacity_mut());
    bitmap.resize_with(words, AtomicU64::default);
    bitmap
}

/// Returns the number of states in each layer.
pub(super) fn count_layers(distances: &[u8]) -> Vec<u64> {
    layers_of(&histogram(distances))
}

/// Returns the number of states at each distance.
pub(super) fn histogram(distances: &[u8]) -> [u64; 256] {
    let count = |part: &[u8]| {
        let mut counts = [0u64; 256];
        part.iter().for_each(|&distance| counts[usize::from(distance)] += 1);
        counts
    };
    let add = |a: [u64; 256], b: [u64; 256]| std::array::from_fn(|i| a[i] + b[i]);
    distances.par_chunks(1 << 20).map(count).reduce(|| [0; 256], add)
}

/// Returns the counts up to the last one that is not zero.
pub fn layers_of(counts: &[u64; 256]) -> Vec<u64> {
    let layers = counts.iter().rposition(|&states| states > 0).map_or(0, |last| last + 1);
    counts[..layers].to_vec()
}

/// Returns the error for wrong contents of a table.
pub fn wrong_table(table: &Table, what: impl Into<String>) -> BuilderError {
    BuilderError::WrongTable { path: table.path().to_owned(), what: what.into() }
}

/// Compares the header of a table with the proven distance of the goal, the
/// number of states per layer, and the first layer with a move out of the prefix.
///
/// # Errors
/// If one of them differs.
pub fn compare_with_header(table: &Table, goal: u8, layers: &[u64], boundary_layer: Option<u8>) -> Result<()> {
    let info = table.info();
    let (found, header) = (boundary_layer.map(u32::from), info.boundary_layer);
    if goal != 0 {
        return Err(wrong_table(table, format!("the goal has distance {goal}")));
    }
    if layers != info.layers {
        return Err(wrong_table(table, "the layers in the header are not those of its distances"));
    }
    if found != header {
        let [found, header] = [found, header].map(|layer| layer.map_or("none".to_owned(), |layer| layer.to_string()));
        let what = format!("the first layer with a move out of the prefix is {found}, but {header} in the header");
        return Err(wrong_table(table, what));
    }
    Ok(())
}

/// Proves the contents of a table in memory.
pub(super) fn prove_in_memory(table: &Table, observer: &dyn Observer) -> Result<()> {
    let distances = table.distances()?;
    let descends = atomic_bitmap(distances.len().div_ceil(64));
    let symmetry = table.symmetry();
    let proof = Proof { symmetry, ..Proof::new(table, &BitOffsets::ZERO, &distances, &descends) };
    let contexts = choose(table.prefix().within(), table.prefix().board().pieces() - 1);
    observer.begin(BuildPhase::Prove, contexts);
    let boundary_layer = proof.walk_all(0..contexts, observer)?;
    // The goal, with rank 0, needs no successor.
    descends[0].fetch_or(1, Relaxed);
    let without_descent = match symmetry {
        Some(symmetry) => first_pair_without_descent(&descends, symmetry),
        None => first_without_descent(&descends, distances.len() as u64),
    };
    if let Some(rank) = without_descent {
        return Err(proof.no_descent(rank, rank as usize));
    }
    compare_with_header(table, distances[0], &count_layers(&distances), boundary_layer)
}

/// Returns the rank of the first of these states whose bit is not set and that `is_missing`.
fn first_unset(words: &[AtomicU64], states: Range<u64>, is_missing: impl Fn(u64) -> bool) -> Option<u64> {
    (states.start / 64..states.end.div_ceil(64)).find_map(|word| {
        let first = 64 * word;
        let inside = low_mask(states.end - first) & !low_mask(states.start.saturating_sub(first));
        let mut unset = inside & !words[word as usize].load(Relaxed);
        while unset != 0 {
            let rank = first + u64::from(unset.trailing_zeros());
            if is_missing(rank) {
                return Some(rank);
            }
            unset &= unset - 1;
        }
        None
    })
}

/// Returns the rank of the first state whose bit is not set.
fn first_without_descent(words: &[AtomicU64], states: u64) -> Option<u64> {
    let batches = (0..states.div_ceil(STATES_GRAIN)).into_par_iter();
    batches.find_map_first(|batch| {
        let first = batch * STATES_GRAIN;
        first_unset(words, first..states.min(first + STATES_GRAIN), |_| true)
    })
}

/// Returns the rank of the first canonical state such that neither its bit nor that of its mirror image is set.
fn first_pair_without_descent(words: &[AtomicU64], symmetry: &Symmetry) -> Option<u64> {
    let pieces = symmetry.prefix().board().pieces();
    let is_missing = |rank: u64| {
        let mirrored = symmetry.mirror(Rank(rank).state(pieces).cells());
        let image = Rank::of(State::from_cells(mirrored)).0;
        words[(image / 64) as usize].load(Relaxed) >> (image % 64) & 1 == 0
    };
    let batches = (0..symmetry.states().div_ceil(STATES_GRAIN)).into_par_iter();
    batches.find_map_first(|batch| {
        let mut reduced = batch * STATES_GRAIN;
        let end = symmetry.states().min(reduced + STATES_GRAIN);
        while reduced < end {
            let stretch = symmetry.stretch(reduced);
            let first = Rank::of(stretch.first).0;
            let states = stretch.states.min(end - reduced);
            if let Some(rank) = first_unset(words, first..first + states, is_missing) {
                return Some(rank);
            }
            reduced += states;
        }
        None
    })
}

/// A proof of all states of a table, or of those that a context class involves.
pub(super) struct Proof<'a> {
    table: &'a Table,
    prefix: Prefix,
    /// The symmetry if only one context of each mirrored pair is walked.
    symmetry: Option<&'a Symmetry>,
    pub states: StatesByPosition<'a>,
}

impl<'a> Proof<'a> {
    /// Creates a proof of the states with these distances.
    pub fn new(table: &'a Table, offsets: &'a BitOffsets, distances: &'a [u8], descends: &'a [AtomicU64]) -> Proof<'a> {
        let states = StatesByPosition { offsets, distances, descends };
        Proof { table, prefix: table.prefix(), symmetry: None, states }
    }

    /// Checks all moves of these contexts on all threads. Returns the smallest
    /// distance of a state with a move out of the prefix.
    pub fn walk_all(&self, contexts: Range<u64>, observer: &dyn Observer) -> Result<Option<u8>> {
        let batches = (0..(contexts.end - contexts.start).div_ceil(GRAIN)).into_par_iter();
        let walked = batches.map(|batch| {
            if observer.cancelled() {
                return Err(BuilderError::Cancelled);
            }
            let first = contexts.start + batch * GRAIN;
            let range = first..contexts.end.min(first + GRAIN);
            let steps = range.end - range.start;
            let boundary_layer =
                dispatch!(level(), simd => self.walk(simd, range)).map_err(|LargeStep { rank, distance }| {
                    let what = format!(
                        "a move from the state of rank {rank} decreases the distance {distance} by two or more"
                    );
                    wrong_table(self.table, what)
                })?;
            observer.advance(steps);
            Ok(boundary_layer)
        });
        walked.try_reduce(|| None, |a, b| Ok(a.into_iter().chain(b).min()))
    }

    /// Returns the error for a state without a successor of smaller distance.
    pub fn no_descent(&self, rank: u64, position: usize) -> BuilderError {
        let distance = self.states.distances[position];
        let what = format!("the state of rank {rank} has distance {distance} and no successor with a smaller one");
        wrong_table(self.table, what)
    }

    /// Checks all moves of the contexts with these ranks. A run of contexts that differ only in the lowest piece
    /// belongs to the range of its first context. Returns the smallest distance of a state with a move out of
    /// the prefix.
    #[simd]
    fn walk<S: Simd>(&self, simd: S, contexts: Range<u64>) -> std::result::Result<Option<u8>, LargeStep> {
        let pieces = self.prefix.board().pieces() - 1;
        let mut run = ContextRun::new(self.prefix);
        let mut boundary_layer = None;
        let mut next = contexts.start;
        while next < contexts.end {
            let context = Rank(next).state(pieces).cells();
            let lowest = context.first();
            let upper = context - lowest.map_or(CellSet::EMPTY, CellSet::single);
            run.set_upper(upper, self.states.offsets);
            let begin = lowest.map_or(0, |cell| cell.index());
            let all = run.context_count();
            next += (all - begin) as u64;
            if begin > 0 {
                // The run began in an earlier range.
                continue;
            }
            for first in (0..all).step_by(LANES) {
                let lowest = first..all.min(first + LANES);
                let is_mirrored = |symmetry: &Symmetry| {
                    lowest.clone().all(|cell| symmetry.compare_with_mirror(upper.with(Cell::new(cell))).is_gt())
                };
                if self.symmetry.is_some_and(is_mirrored) {
                    continue;
                }
                run.load(simd, lowest, self.states.distances);
                let outward_layer = run.compare(simd);
                run.mark(simd, self.states)?;
                boundary_layer = boundary_layer.into_iter().chain(outward_layer).min();
            }
        }
        Ok(boundary_layer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sternhalma_data::{Board, Encoding, States};
    use sternhalma_testutil::Reference;

    /// What the moves of all states do to some distances.
    struct Moves {
        /// The states with a successor of smaller distance.
        descending: Vec<bool>,
        /// Whether a move decreases the distance of a state by two or more.
        has_large_step: Vec<bool>,
        /// The smallest distance of a state with a move out of the prefix.
        boundary_layer: Option<u8>,
    }

    fn moves(prefix: Prefix, distances: &[u8]) -> Moves {
        let mut found = Moves { descending: Vec::new(), has_large_step: Vec::new(), boundary_layer: None };
        for (rank, state) in States::all(prefix) {
            let distance = distances[rank.0 as usize];
            let (mut nearest, mut leaves) = (distance, false);
            for mv in prefix.board().geometry().army_moves(state.cells(), CellSet::EMPTY) {
                let successor = state.after(mv);
                match successor.cells().is_subset(prefix.cells()) {
                    true => nearest = nearest.min(distances[successor.rank().0 as usize]),
                    false => leaves = true,
                }
            }
            found.descending.push(nearest < distance);
            found.has_large_step.push(nearest + 1 < distance);
            let outward = leaves.then_some(distance);
            found.boundary_layer = found.boundary_layer.into_iter().chain(outward).min();
        }
        found
    }

    /// Walks all contexts on each level of instructions, and compares the results with those of single moves.
    fn check(table: &Table, distances: &[u8]) {
        let prefix = table.prefix();
        let expected = moves(prefix, distances);
        let contexts = choose(prefix.within(), prefix.board().pieces() - 1);
        for level in sternhalma_cpu::levels() {
            let descends = atomic_bitmap(distances.len().div_ceil(64));
            let proof = Proof::new(table, &BitOffsets::ZERO, distances, &descends);
            // Ranges need not end where a run ends.
            let part = contexts / 3 + 1;
            let walked = (0..3).map(|i| {
                let range = contexts.min(i * part)..contexts.min((i + 1) * part);
                dispatch!(level, simd => proof.walk(simd, range))
            });
            let walked: std::result::Result<Vec<Option<u8>>, LargeStep> = walked.collect();
            match walked {
                Err(LargeStep { rank, distance }) => {
                    assert!(expected.has_large_step[rank as usize]);
                    assert_eq!(distance, distances[rank as usize]);
                }
                Ok(layers) => {
                    assert_eq!(expected.has_large_step.iter().position(|&large| large), None);
                    let bit = |rank: usize| descends[rank / 64].load(Relaxed) >> (rank % 64) & 1 != 0;
                    assert!((0..distances.len()).all(|rank| bit(rank) == expected.descending[rank]), "{prefix}");
                    assert_eq!(layers.into_iter().flatten().min(), expected.boundary_layer);
                }
            }
        }
    }

    #[test]
    fn walks_find_the_moves_that_decrease_distances() {
        let dir = tempfile::tempdir().unwrap();
        let boards = [(3, 1, 9), (3, 2, 9), (4, 3, 16), (4, 4, 11), (5, 4, 25), (5, 3, 17), (6, 3, 34), (7, 2, 49)];
        for (side, pieces, within) in boards {
            let prefix = Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap();
            let reference = Reference::search(prefix);
            let table = reference.write(&dir.path().join("table.sht"), Encoding::Byte);
            // No move changes these functions of the distance by two or more. Many states have no decreasing move.
            let functions: [fn(u8) -> u8; 5] =
                [|d| d, |d| d / 2, |d| d.min(3), |d| d.max(4) + 220, |d| (d % 4).min(4 - d % 4)];
            for function in functions {
                check(&table, &reference.distances.iter().map(|&distance| function(distance)).collect::<Vec<u8>>());
            }
        }
    }

    proptest! {
        #[test]
        fn walks_find_large_steps(at in 0usize..12650, change in 1u8..5, board in 0usize..3) {
            let (side, pieces, within) = [(5, 4, 25), (4, 4, 11), (6, 3, 34)][board];
            let wrong = Reference::search(Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap());
            let at = at % wrong.distances.len();
            let wrong = wrong.with_wrong_distance(at, change);
            prop_assume!(wrong.is_some());
            let wrong = wrong.unwrap();
            let dir = tempfile::tempdir().unwrap();
            check(&wrong.write(&dir.path().join("table.sht"), Encoding::Byte), &wrong.distances);
        }
    }
}
