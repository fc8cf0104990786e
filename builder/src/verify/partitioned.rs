//! Proofs in limited memory.
//!
//! The context classes of a [`Partitioning`] are walked one at a time, with only
//! the distances that the class involves in memory. A walk also finds states of later
//! partitions with a successor of smaller distance. These states are spilled.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;
use sternhalma_data::board::choose;
use sternhalma_data::{Prefix, Table, TableInfo};

use super::checkpoint::{Checkpoint, OpenProof};
use super::class_loader::ClassLoader;
use super::proof::{Proof, atomic_bitmap, compare_with_header, histogram, layers_of, zeroed_bytes};
use super::streams::stream_memory;
use crate::error::{BuilderError, Result};
use crate::external::{
    ContextClass, LoadedSegment, PartitionParams, Partitioning, SegmentCodec, SpillBuffer, count_segments, max_words,
};
use crate::observer::{BuildPhase, Observer};
use crate::ranks::BitOffsets;

/// The memory of the program without its data, in bytes.
pub const PROGRAM: u64 = 12 << 20;
/// The memory of a thread without its data, in bytes.
const THREAD: u64 = 256 << 10;
/// The memory that the system maps of a table in addition to the requested pages, in bytes.
pub const MAPPED: u64 = 16 << 20;
/// The smallest memory for spilled states, in bytes.
const MIN_SPILL: u64 = 1 << 20;

/// The largest size of a segment, in words.
pub const SEGMENT_WORDS: usize = 1 << 14;

/// Returns partition parameters for a proof within `limit` bytes, with `fixed_pieces` fixed pieces if
/// given.
pub(super) fn fit_to_limit(
    info: &TableInfo,
    threads: usize,
    limit: u64,
    fixed_pieces: Option<usize>,
) -> Result<PartitionParams> {
    let prefix = info.spec.prefix;
    let needed = |fixed_pieces: usize| {
        // A byte and a bit per state.
        let states = (64 * max_words(&prefix, fixed_pieces) as u64).saturating_mul(9) / 8;
        let worker = THREAD + stream_memory(info) + SegmentCodec::memory(SEGMENT_WORDS) + 16 * SEGMENT_WORDS as u64;
        let readers = ClassLoader::memory(info.spec.encoding, count_segments(prefix, fixed_pieces, SEGMENT_WORDS));
        (PROGRAM + MAPPED + threads as u64 * worker).saturating_add(states).saturating_add(readers)
    };
    let spill_bytes = |fixed_pieces: usize| limit.checked_sub(needed(fixed_pieces)).map(|left| left / 8 * 7);
    let candidates = (0..(prefix.board().pieces() - 1).max(1)).filter(|&i| fixed_pieces.is_none_or(|given| i == given));
    let fitting = candidates.clone().find_map(|fixed_pieces| {
        let spill_bytes = spill_bytes(fixed_pieces).filter(|&bytes| bytes >= MIN_SPILL)?;
        Some(PartitionParams { fixed_pieces, slice_pieces: 0, segment_words: SEGMENT_WORDS, spill_bytes })
    });
    fitting.ok_or_else(|| {
        let least = candidates.map(needed).min().unwrap_or(0) + MIN_SPILL / 7 * 8 + 8;
        BuilderError::MemoryLimit { least, limit }
    })
}

/// Proves the contents of a table one context class at a time, from the checkpoint of `proof` on.
///
/// If the observer cancels the proof, the checkpoint becomes durable. The files are removed if the
/// table is proven or wrong.
pub(super) fn prove_by_partitions(table: &Table, mut proof: OpenProof, observer: &dyn Observer) -> Result<()> {
    let result = prove_classes(table, &mut proof, observer);
    match &result {
        Err(BuilderError::Cancelled) if proof.checkpoint.classes > 0 => proof.save()?,
        Ok(()) | Err(BuilderError::WrongTable { .. } | BuilderError::Cancelled) => proof.discard()?,
        Err(BuilderError::DamagedFile { path, .. }) => {
            let path = path.clone();
            proof.discard()?;
            return Err(BuilderError::DamagedProof { path });
        }
        Err(_) => {}
    }
    result
}

fn prove_classes(table: &Table, work: &mut OpenProof, observer: &dyn Observer) -> Result<()> {
    let (fixed_pieces, segment_words) = work.checkpoint.partitioning;
    let partitioning = Partitioning::new(table.prefix(), fixed_pieces, segment_words);
    let context_pieces = table.prefix().board().pieces() - 1;
    observer.begin(BuildPhase::Prove, choose(table.prefix().within(), context_pieces));
    observer.resume(work.checkpoint.steps);
    let mut prover = ClassProver {
        table,
        partitioning: &partitioning,
        loader: ClassLoader::prepare(table, &partitioning, work.checkpoint.classes, observer)?,
        distances: zeroed_bytes(64 * partitioning.max_words()),
        descends: atomic_bitmap(partitioning.max_words()),
        observer,
    };
    for partition in work.checkpoint.classes..partitioning.partitions() {
        let class = partitioning.class(partition, context_pieces);
        prover.prove(&class, work)?;
        work.checkpoint.classes += 1;
        work.checkpoint.steps += class.groups.end - class.groups.start;
        if work.is_due() {
            work.save()?;
        }
    }
    let Checkpoint { goal, states_at, boundary_layer, .. } = &work.checkpoint;
    compare_with_header(table, *goal, &layers_of(states_at), *boundary_layer)
}

/// The memory for the proof of one class after the other.
struct ClassProver<'a> {
    table: &'a Table,
    partitioning: &'a Partitioning<Prefix>,
    loader: ClassLoader<'a>,
    distances: Vec<u8>,
    /// The states with a successor of smaller distance; empty between classes.
    descends: Vec<AtomicU64>,
    observer: &'a dyn Observer,
}

impl ClassProver<'_> {
    /// Proves the contexts of a class and the states of its partition, and adds them to the checkpoint.
    ///
    /// If the observer cancels the proof, the checkpoint and the spilled states are unchanged.
    fn prove(&mut self, class: &ContextClass<BitOffsets>, work: &mut OpenProof) -> Result<()> {
        let ClassProver { table, partitioning, ref loader, ref mut distances, ref descends, observer } = *self;
        let own = partitioning.own_segments(class);
        if own.is_empty() && class.successors.is_empty() {
            observer.advance(class.groups.end - class.groups.start);
            return Ok(());
        }
        loader.load(class, distances)?;
        let proof = Proof::new(table, &class.positions, distances, descends);
        let escapes = proof.walk_all(class.groups.clone(), observer)?;
        spill_successors(partitioning, class, descends, &work.spill)?;
        own.par_iter().try_for_each(|segment| {
            check_descent(&proof, segment, partitioning.first_index(segment.number), &work.spill)
        })?;
        let states = own.last().map_or(0, |segment| segment.bits().end);
        descends[..states.div_ceil(64)].par_iter().for_each(|word| word.store(0, Relaxed));
        let checkpoint = &mut work.checkpoint;
        checkpoint.boundary_layer = checkpoint.boundary_layer.into_iter().chain(escapes).min();
        let states_at = histogram(&distances[..states]);
        checkpoint.states_at.iter_mut().zip(states_at).for_each(|(all, states)| *all += states);
        if own.first().is_some_and(|segment| partitioning.first_index(segment.number) == 0) {
            checkpoint.goal = distances[0];
        }
        Ok(())
    }
}

/// Moves the states of later partitions that have a descent to the spill buffer.
fn spill_successors(
    partitioning: &Partitioning<Prefix>,
    class: &ContextClass<BitOffsets>,
    descends: &[AtomicU64],
    spill: &SpillBuffer,
) -> Result<()> {
    partitioning.successor_segments(class).into_par_iter().try_for_each_init(SegmentCodec::default, |codec, segment| {
        let words: Vec<u64> =
            descends[segment.at..segment.at + segment.words()].iter().map(|word| word.swap(0, Relaxed)).collect();
        spill.add(segment.number, &words, codec)
    })
}

/// Checks that all states of a segment except the goal have a successor with a smaller
/// distance. All contexts of the segment must have been walked.
fn check_descent(proof: &Proof, loaded: &LoadedSegment, first_rank: u64, spill: &SpillBuffer) -> Result<()> {
    let range = loaded.at..loaded.at + loaded.words();
    let mut words: Vec<u64> = proof.states.descends[range].iter().map(|word| word.load(Relaxed)).collect();
    let mut buffer = vec![0; words.len()];
    spill.take(loaded.number, &mut words, &mut buffer, &mut SegmentCodec::default())?;
    let segment = &loaded.segment;
    for (at, word) in segment.words().zip(words) {
        let goal = u64::from(first_rank == 0 && at == 0);
        let missing = segment.mask(at) & !word & !goal;
        if missing != 0 {
            let bit = 64 * at as u64 + u64::from(missing.trailing_zeros());
            let rank = first_rank + bit - segment.bits.start;
            return Err(proof.no_descent(rank, loaded.bits().start + (rank - first_rank) as usize));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::checkpoint::ProofFiles;
    use super::super::proof::{count_layers, prove_in_memory};
    use super::*;
    use crate::{Mirroring, TableBuilder, Verifier};
    use proptest::prelude::*;
    use sternhalma_data::board::Symmetry;
    use sternhalma_data::table::fs::OsFileSystem;
    use sternhalma_data::{Board, Prefix};
    use sternhalma_testutil::{encodings, write_forged_table};

    fn params(fixed_pieces: usize, spill_bytes: u64) -> PartitionParams {
        PartitionParams { fixed_pieces, slice_pieces: 0, segment_words: 2, spill_bytes }
    }

    fn prove(table: &Table, params: PartitionParams) -> Result<()> {
        let dir = table.path().parent().unwrap();
        let files = ProofFiles::new(&OsFileSystem::shared(), dir, table, "proof", "");
        let new = Checkpoint::new(params.fixed_pieces, params.segment_words);
        prove_by_partitions(table, files.open(None, new, params.spill_bytes)?, &())
    }

    #[test]
    fn right_tables_are_proven_partition_by_partition() {
        let dir = tempfile::tempdir().unwrap();
        for (side, pieces, within) in [(3, 1, 9), (3, 2, 9), (4, 3, 16), (4, 4, 11), (5, 4, 25), (5, 3, 17)] {
            let prefix = Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap();
            let has_mirrored_form = pieces > 1 && Symmetry::of(prefix).is_some();
            let forms = |encoding| [(encoding, false), (encoding, true)];
            for (encoding, mirrored) in
                encodings().into_iter().flat_map(forms).filter(|form| !form.1 || has_mirrored_form)
            {
                let path = dir.path().join(format!("{side}-{pieces}-{within}-{encoding}.sht"));
                let mirroring = if mirrored { Mirroring::File } else { Mirroring::Search };
                let builder = TableBuilder::new(prefix).encoding(encoding).mirroring(mirroring).threads(1);
                builder.build(&path, &()).unwrap();
                let table = Table::open(&path).unwrap();
                let all_params =
                    (0..pieces.max(2) as usize - 1).flat_map(|fixed| [params(fixed, 0), params(fixed, 1 << 20)]);
                for params in all_params {
                    prove(&table, params).unwrap();
                }
                let params = fit_to_limit(table.info(), 2, 1 << 30, None).unwrap();
                prove(&table, params).unwrap();
                std::fs::remove_file(&path).unwrap();
                assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
                let refused = Verifier::new(&table).threads(1).memory_limit(1 << 20).prove(&()).unwrap_err();
                assert!(matches!(refused, BuilderError::MemoryLimit { .. }));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn one_wrong_distance_is_found_in_both_modes(
            at in 0usize..1820, change in 1u8..5, fixed in 0usize..3, within in prop_oneof![Just(16u64), Just(11)],
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("table.sht");
            let prefix = Prefix::new(Board::new(4, 4).unwrap(), within).unwrap();
            TableBuilder::new(prefix).threads(1).build(&path, &()).unwrap();
            let table = Table::open(&path).unwrap();
            let mut distances = table.distances().unwrap().into_owned();
            let at = at % distances.len();
            distances[at] = distances[at].wrapping_add(change) % 30;
            let contents = TableInfo { layers: count_layers(&distances), ..table.info().clone() };
            // A header with an escape layer beyond its last layer is invalid.
            prop_assume!(contents.boundary_layer.is_none_or(|layer| (layer as usize) < contents.layers.len()));
            let forged = write_forged_table(&dir.path().join("forged.sht"), contents, &distances);
            prop_assert!(prove_in_memory(&forged, &()).is_err());
            prop_assert!(prove(&forged, params(fixed, 0)).is_err());
        }
    }
}
