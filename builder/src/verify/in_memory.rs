//! Proofs in memory.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;
use sternhalma_data::{Prefix, Table};

use super::proof::{Proof, atomic_bitmap, compare_with_header, count_layers};
use crate::error::BuilderError;
use crate::observer::{BuildPhase, Observer};
use crate::ranks::{BitOffsets, choose};

/// The memory of the program without its data, in bytes.
const PROGRAM: u64 = 9 << 20;

/// Returns the memory of a proof in memory, in bytes.
pub(super) fn memory_needed(prefix: Prefix) -> u64 {
    prefix.states() / 2 * 3 + PROGRAM
}

/// Proves the contents of a table in memory.
pub(super) fn prove_in_memory(table: &Table, observer: &dyn Observer) -> Result<(), BuilderError> {
    let distances = table.distances()?;
    let descends = atomic_bitmap(distances.len().div_ceil(64));
    let proof = Proof::new(table, &BitOffsets::ZERO, &distances, &descends);
    let contexts = choose(table.prefix().within(), table.prefix().board().pieces() - 1);
    observer.begin(BuildPhase::Prove, contexts);
    let boundary_layer = proof.walk_all(0..contexts, observer)?;
    // The goal, with rank 0, needs no successor.
    if let Some(rank) = first_clear_bit(&descends, 1..distances.len()) {
        return Err(proof.no_descent(rank as u64, rank));
    }
    compare_with_header(table, distances[0], &count_layers(&distances), boundary_layer)
}

/// Returns the first of these bits that is not set.
fn first_clear_bit(words: &[AtomicU64], bits: std::ops::Range<usize>) -> Option<usize> {
    bits.into_par_iter().find_first(|&bit| words[bit / 64].load(Relaxed) >> (bit % 64) & 1 == 0)
}
