//! Proofs of a sample of the context classes.
//!
//! The proof of a table has two conditions for each context class:
//! 1. no move within a context of the class changes the distance by two or more;
//! 2. every state of the class's partition, except the goal, has a successor with a distance
//!    smaller by one.
//!
//! A table is right if all classes meet both conditions, and the goal has distance 0. A sample
//! checks both conditions for some classes. It does not prove the distances of their states,
//! because a path to the goal crosses other classes.
//!

use std::collections::BTreeSet;

use sternhalma_data::board::choose;
use sternhalma_data::table::checksum;
use sternhalma_data::{Prefix, Rank, Table, TableInfo};

use super::checkpoint::OpenProof;
use super::class_loader::ClassLoader;
use super::single_class::SingleClassProver;
use crate::error::{BuilderError, Result};
use crate::external::{Partitioning, max_words};
use crate::observer::{BuildPhase, Observer};

/// The words of a segment, which a thread checks in one task.
pub(super) const SEGMENT_WORDS: usize = 1 << 12;
/// The largest number of states that a class may involve, unless there is no smaller class.
const MAX_STATES: u64 = 1 << 28;
/// The largest number of classes to draw from.
const MAX_CLASSES: u64 = 1 << 22;

/// The context classes to prove: classes from every partition, with at least this many states.
///
/// The classes are drawn without replacement. The order depends only on the seed and on the table's
/// board and covered cells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SampleSpec {
    /// The smallest number of states.
    pub states: u64,
    /// The seed of the order in which classes are drawn.
    pub seed: u64,
}

/// The extent of a proven sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleExtent {
    /// The number of upper pieces that the states of a class share.
    pub fixed_pieces: usize,
    /// The number of drawn classes.
    pub classes: u64,
    /// The number of all classes.
    pub all_classes: u64,
    /// The number of states of the drawn classes.
    pub states: u64,
    /// The number of contexts of the drawn classes. A context consists of all pieces but one.
    pub contexts: u64,
    /// The number of contexts of all classes.
    pub all_contexts: u64,
}

/// The drawn context classes.
pub struct Sample {
    pub(super) extent: SampleExtent,
    /// The partitions of the drawn classes, in the order of ranks.
    partitions: Vec<u64>,
}

/// A context class that can be drawn.
struct Candidate {
    key: u64,
    partition: u64,
    /// The highest piece, which determines the partition of the table.
    back: Option<usize>,
    states: u64,
    contexts: u64,
}

impl Sample {
    /// Draws classes with a suitable number of fixed pieces.
    pub(super) fn draw(prefix: Prefix, spec: SampleSpec) -> Sample {
        Sample::draw_classes(prefix, spec, suitable_fixed_pieces(prefix, spec.states))
    }

    /// Draws a class from every partition of the table that has states, and then further classes
    /// until they have enough states.
    pub(super) fn draw_classes(prefix: Prefix, spec: SampleSpec, fixed_pieces: usize) -> Sample {
        let mut candidates = candidates(prefix, spec.seed, fixed_pieces);
        candidates.sort_unstable_by_key(|candidate| (candidate.key, candidate.partition));
        let sum = |values: &mut dyn Iterator<Item = u64>| values.sum::<u64>();
        let all_contexts = sum(&mut candidates.iter().map(|candidate| candidate.contexts));
        let all_classes = candidates.len() as u64;
        if spec.states < prefix.states() {
            let mut backs = BTreeSet::new();
            let is_first = |candidate: &Candidate| candidate.states > 0 && backs.insert(candidate.back);
            let (mut drawn, others): (Vec<Candidate>, Vec<Candidate>) = candidates.into_iter().partition(is_first);
            let mut states = sum(&mut drawn.iter().map(|candidate| candidate.states));
            drawn.extend(others.into_iter().take_while(|candidate| {
                let draws = states < spec.states;
                states += candidate.states;
                draws
            }));
            candidates = drawn;
        }
        candidates.sort_unstable_by_key(|candidate| candidate.partition);
        let extent = SampleExtent {
            fixed_pieces,
            classes: candidates.len() as u64,
            all_classes,
            states: sum(&mut candidates.iter().map(|candidate| candidate.states)),
            contexts: sum(&mut candidates.iter().map(|candidate| candidate.contexts)),
            all_contexts,
        };
        Sample { extent, partitions: candidates.iter().map(|candidate| candidate.partition).collect() }
    }

    /// Returns the memory that the proof needs, in bytes.
    pub fn memory(&self, info: &TableInfo, threads: usize) -> u64 {
        let (prefix, fixed_pieces) = (info.spec.prefix, self.extent.fixed_pieces);
        let classes = choose(prefix.within(), fixed_pieces) * size_of::<Candidate>() as u64 * 2;
        classes + SingleClassProver::memory(info, fixed_pieces, threads)
    }
}

/// Returns the classes with contexts.
fn candidates(prefix: Prefix, seed: u64, fixed_pieces: usize) -> Vec<Candidate> {
    let pieces = prefix.board().pieces();
    let free_pieces = pieces - fixed_pieces;
    let candidate = |partition: u64| {
        let fixed = Rank(partition).state(fixed_pieces).cells();
        let below = fixed.first().map_or(prefix.within(), |cell| cell.index());
        let bytes: Vec<u8> = [seed, partition].into_iter().flat_map(u64::to_le_bytes).collect();
        Candidate {
            key: checksum(&bytes),
            partition,
            back: fixed.last().map(|cell| cell.index()),
            states: choose(below, free_pieces),
            contexts: choose(below, free_pieces - 1),
        }
    };
    let candidates = (0..choose(prefix.within(), fixed_pieces)).map(candidate);
    candidates.filter(|candidate| candidate.contexts > 0).collect()
}

/// Returns the number of fixed pieces for a sample of this many states: the smallest one with
/// classes that are small in comparison.
fn suitable_fixed_pieces(prefix: Prefix, states: u64) -> usize {
    let most_states = (states / 4).clamp(1 << 16, MAX_STATES);
    let involved = |fixed_pieces: usize| 64 * max_words(&prefix, fixed_pieces) as u64;
    let candidates = 0..(prefix.board().pieces() - 1).max(1);
    let mut few_classes = candidates.take_while(|&fixed_pieces| choose(prefix.within(), fixed_pieces) <= MAX_CLASSES);
    let last = few_classes.clone().last().unwrap_or(0);
    few_classes.find(|&fixed_pieces| involved(fixed_pieces) <= most_states).unwrap_or(last)
}

/// Proves both conditions of the drawn classes, from the checkpoint of `proof` on.
///
/// If the observer cancels the proof, the checkpoint becomes durable. The files are removed if the
/// sample is proven or the table is wrong.
pub(super) fn prove_sample(
    table: &Table,
    sample: &Sample,
    mut proof: OpenProof,
    observer: &dyn Observer,
) -> Result<()> {
    let result = prove_classes(table, sample, &mut proof, observer);
    match &result {
        Err(BuilderError::Cancelled) if proof.checkpoint.classes > 0 => proof.save()?,
        Ok(()) | Err(BuilderError::WrongTable { .. } | BuilderError::Cancelled) => proof.discard()?,
        Err(_) => {}
    }
    result
}

fn prove_classes(table: &Table, sample: &Sample, work: &mut OpenProof, observer: &dyn Observer) -> Result<()> {
    let SampleExtent { fixed_pieces, contexts, .. } = sample.extent;
    let partitioning = Partitioning::new(table.prefix(), fixed_pieces, SEGMENT_WORDS);
    let mut prover = SingleClassProver::new(table, &partitioning, ClassLoader::new(table, &partitioning), observer);
    observer.begin(BuildPhase::Prove, contexts);
    observer.resume(work.checkpoint.steps);
    let proven = usize::try_from(work.checkpoint.classes).unwrap_or(usize::MAX);
    for &partition in sample.partitions.iter().skip(proven) {
        prover.prove(partition)?.count_in(&mut work.checkpoint);
        if work.is_due() {
            work.save()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::checkpoint::{Checkpoint, ProofFiles};
    use super::*;
    use crate::Verifier;
    use crate::process::thread_pool;
    use proptest::prelude::*;
    use sternhalma_data::table::fs::OsFileSystem;
    use sternhalma_data::{Board, CellSet, Encoding, State, States};
    use sternhalma_testutil::{Reference, encodings};

    fn prefix(side: u64, pieces: u64, within: u64) -> Prefix {
        Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap()
    }

    fn prove(table: &Table, sample: &Sample) -> Result<()> {
        let dir = table.path().parent().unwrap();
        let files = ProofFiles::new(&OsFileSystem::shared(), dir, table, "sample", "");
        let proof = files.open(None, Checkpoint::new(sample.extent.fixed_pieces, SEGMENT_WORDS), 0)?;
        thread_pool(2)?.install(|| prove_sample(table, sample, proof, &()))
    }

    /// Returns the class of a state or of a context: the `fixed_pieces` upper pieces.
    fn class_of(pieces: CellSet, fixed_pieces: usize) -> u64 {
        let lower: CellSet = pieces.iter().take(pieces.len() - fixed_pieces).collect();
        State::from_cells(pieces - lower).rank().0
    }

    #[test]
    fn samples_have_enough_states_from_every_partition() {
        for (side, pieces, within) in [(4, 3, 16), (4, 4, 11), (5, 4, 25), (5, 3, 17), (4, 1, 9), (4, 2, 16)] {
            let prefix = prefix(side, pieces, within);
            for fixed_pieces in 0..(pieces as usize - 1).max(1) {
                for states in [1, prefix.states() / 3, prefix.states() - 1, prefix.states(), u64::MAX] {
                    let draw = |seed| Sample::draw_classes(prefix, SampleSpec { states, seed }, fixed_pieces);
                    let sample = draw(7);
                    assert_eq!(sample.partitions, draw(7).partitions, "the same seed gives the same sample");
                    let drawn: BTreeSet<u64> = sample.partitions.iter().copied().collect();
                    assert_eq!(drawn.len() as u64, sample.extent.classes, "no class is drawn twice");
                    let is_drawn = |pieces: CellSet| drawn.contains(&class_of(pieces, fixed_pieces));
                    let all: Vec<State> = States::all(prefix).map(|(_, state)| state).collect();
                    let own: Vec<CellSet> = all.iter().map(|s| s.cells()).filter(|&cells| is_drawn(cells)).collect();
                    assert_eq!(own.len() as u64, sample.extent.states);
                    assert!(sample.extent.states >= states.min(prefix.states()));
                    let context_pieces = pieces as usize - 1;
                    let contexts = States::of_ranks(context_pieces, 0..choose(prefix.within(), context_pieces));
                    let contexts: Vec<CellSet> = contexts.map(|(_, context)| context.cells()).collect();
                    let drawn_contexts = contexts.iter().filter(|&&context| is_drawn(context)).count();
                    assert_eq!(drawn_contexts as u64, sample.extent.contexts);
                    assert_eq!(contexts.len() as u64, sample.extent.all_contexts);
                    let backs = |states: &mut dyn Iterator<Item = CellSet>| states.map(|s| s.last()).collect();
                    let (found, every): (BTreeSet<_>, BTreeSet<_>) =
                        (backs(&mut own.iter().copied()), backs(&mut all.iter().map(|s| s.cells())));
                    assert_eq!(found, every, "every partition of the table has states in the sample");
                    if states >= prefix.states() {
                        assert_eq!(sample.extent.classes, sample.extent.all_classes);
                        assert_eq!(sample.extent.contexts, sample.extent.all_contexts);
                    }
                }
            }
        }
        let partitions = |seed| Sample::draw_classes(prefix(5, 4, 25), SampleSpec { states: 4000, seed }, 2).partitions;
        assert_ne!(partitions(1), partitions(2));
    }

    #[test]
    fn samples_of_right_tables_are_proven() {
        let dir = tempfile::tempdir().unwrap();
        for (side, pieces, within) in [(3, 1, 9), (3, 2, 9), (4, 3, 16), (4, 4, 11), (5, 4, 25), (5, 3, 15)] {
            let reference = Reference::search(prefix(side, pieces, within));
            for encoding in encodings() {
                for table in reference.write_forms(&dir.path().join("table.sht"), encoding) {
                    for fixed_pieces in 0..(pieces as usize - 1).max(1) {
                        for states in [1, reference.prefix.states() / 2, u64::MAX] {
                            let spec = SampleSpec { states, seed: 3 };
                            prove(&table, &Sample::draw_classes(reference.prefix, spec, fixed_pieces)).unwrap();
                        }
                    }
                    let spec = SampleSpec { states: 100, seed: 5 };
                    let verifier = Verifier::new(&table).threads(1);
                    let extent = verifier.prove_sample(spec, &()).unwrap();
                    assert!(extent.states >= 100.min(reference.prefix.states()));
                    let refused = verifier.memory_limit(1 << 20).prove_sample(spec, &()).unwrap_err();
                    assert!(matches!(refused, BuilderError::MemoryLimit { .. }));
                }
            }
        }
    }

    #[test]
    fn only_blocks_of_the_sample_are_compared_with_their_checksums() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table.sht");
        let table = Reference::search(prefix(5, 4, 25)).write(&path, Encoding::Mod3);
        let last = table.data_offset() + table.layout().block(table.layout().blocks() - 1).bytes.end - 1;
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[last as usize] ^= 1;
        drop(table);
        std::fs::write(&path, bytes).unwrap();
        let table = Table::open(&path).unwrap();
        let error = Verifier::new(&table).prove_sample(SampleSpec { states: 1, seed: 1 }, &()).unwrap_err();
        assert!(matches!(error, BuilderError::Table(_)), "the last block is in every sample: {error}");
    }

    /// The violations of a forged table that a slow check finds.
    struct Violations {
        /// Whether a drawn class violates a condition.
        in_sample: bool,
        /// Whether a move from a state of a drawn class changes the distance by two or more.
        around_sample: bool,
    }

    fn violations(prefix: Prefix, distances: &[u8], sample: &Sample) -> Violations {
        let is_drawn = |pieces: CellSet| sample.partitions.contains(&class_of(pieces, sample.extent.fixed_pieces));
        let mut found = Violations { in_sample: false, around_sample: false };
        for (rank, state) in States::all(prefix) {
            let distance = distances[rank.0 as usize];
            let moves = prefix.board().geometry().army_moves(state.cells(), CellSet::EMPTY);
            let successors = moves.into_iter().map(|mv| state.after(mv).cells());
            let successors: Vec<CellSet> = successors.filter(|cells| cells.is_subset(prefix.cells())).collect();
            let distance_of = |cells: &CellSet| distances[State::from_cells(*cells).rank().0 as usize];
            for successor in successors.iter().filter(|successor| distance_of(successor).abs_diff(distance) > 1) {
                found.in_sample |= is_drawn(state.cells() & *successor);
                found.around_sample |= is_drawn(state.cells());
            }
            let is_proven = match rank.0 {
                0 => distance == 0,
                _ => successors.iter().any(|successor| distance_of(successor) + 1 == distance),
            };
            found.in_sample |= !is_proven && is_drawn(state.cells());
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(192))]
        #[test]
        fn a_sample_finds_the_violations_that_a_slow_check_finds(
            at in 0usize..1820, change in 1u8..5, fixed_pieces in 0usize..3, share in 1u64..5, seed in any::<u64>(),
            within in prop_oneof![Just(16u64), Just(11)],
        ) {
            let dir = tempfile::tempdir().unwrap();
            let wrong = Reference::search(prefix(4, 4, within)).with_wrong_distance(at, change);
            prop_assume!(wrong.is_some());
            let wrong = wrong.unwrap();
            let forged = wrong.write(&dir.path().join("forged.sht"), Encoding::Byte);
            let Reference { prefix, distances, .. } = wrong;
            let all = Sample::draw_classes(prefix, SampleSpec { states: u64::MAX, seed }, fixed_pieces);
            prop_assert!(prove(&forged, &all).is_err());
            let spec = SampleSpec { states: prefix.states() * share / 8, seed };
            let sample = Sample::draw_classes(prefix, spec, fixed_pieces);
            let found = violations(prefix, &distances, &sample);
            match prove(&forged, &sample) {
                Ok(()) => prop_assert!(!found.in_sample, "a violation remains undetected"),
                Err(_) => prop_assert!(found.in_sample || found.around_sample, "there is no violation"),
            }
        }
    }
}
