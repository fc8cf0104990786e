//! Proofs by several processes, each of which can read the whole table.
//!
//! The context classes are divided among the processes. Every class is proven independently of the others, so nothing
//! but the result is exchanged: the number of states at each distance, the distance of the goal and the first layer
//! with a move out of the prefix.
//!
//! The distances must be the same in all classes. A table of distances modulo 3 has them implicitly: each distance
//! follows from that of a fixed lower neighbor, and at last from the goal, whatever rank a stream begins at.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use rayon::ThreadPool;
use serde::{Deserialize, Serialize};
use sternhalma_builder::steps::{
    Checkpoint, ClassLoader, MAPPED, OpenProof, PROGRAM, Partitioning, ProofFiles, SEGMENT_WORDS, SingleClassProver,
    Unfinished, compare_with_header, count_segments, layers_of, thread_pool, wrong_table,
};
use sternhalma_builder::{BuildPhase, BuilderError, Observer, ProcessOptions, Verifier};
use sternhalma_data::board::choose;
use sternhalma_data::{Prefix, Rank, Table};

use crate::error::Result;
use crate::processes::{
    ClusterMember, Common, Exchange, Link, Parcel, ParcelKind, Peers, Voting, connect, connection_memory,
    with_connections,
};

/// The largest share of the contexts of a process that a class has.
const MOST_OF_PROCESS: u64 = 8;

/// The memory for messages, in bytes.
const MESSAGES: u64 = 1 << 20;

/// What a process has proven.
#[derive(Serialize, Deserialize)]
struct ProvenPart {
    /// The distance of the goal, if it is a state of a proven class.
    goal: Option<u8>,
    boundary_layer: Option<u8>,
    /// The number of states at each distance.
    states_at: Vec<u64>,
}

/// Proves the table together with other processes. Each of them can read the whole table: on a shared file system,
/// or in a copy of its own. Every process proves a part of the context classes, and all of them compare the result
/// with the header. An interrupted proof resumes as in [`Verifier::prove`], with the same number of processes.
///
/// Each block is compared with its checksum before its first use, and every block is read by a process.
///
/// # Errors
/// As for [`Verifier::prove`], and if the processes cannot be connected, differ in their tables, or one of
/// them is lost or finds an error in the table.
pub fn prove_part(verifier: &Verifier, member: &ClusterMember, observer: &dyn Observer) -> Result<()> {
    let ProcessOptions { threads, memory_limit, .. } = verifier.process_options();
    let pool = thread_pool(threads)?;
    let table = verifier.table();
    table.verify_blocks();
    let limit = memory_limit.saturating_sub(connection_memory(member.processes()) + MESSAGES);
    let fixed_pieces = fixed_pieces(table, member.processes(), pool.current_num_threads(), limit)
        .map_err(|error| with_connections(error, memory_limit, member.processes()))?;
    let part = Part { table, member, fixed_pieces, observer };
    let files = part_files(verifier, member.process(), member.processes());
    let unfinished = match verifier.unless_restarted(files.unfinished()?) {
        Unfinished::Usable(checkpoint) if checkpoint.partitioning != (fixed_pieces, SEGMENT_WORDS) => {
            Unfinished::Unusable
        }
        unfinished => unfinished,
    };
    let mut proof = files.open(unfinished.into(), Checkpoint::new(fixed_pieces, SEGMENT_WORDS), 0)?;
    let before = proof.checkpoint.classes;
    let result = part.prove(&mut proof, &pool);
    // The error of the proof is more important than one about its state.
    match &result {
        Ok(()) => proof.discard()?,
        Err(BuilderError::WrongTable { .. }) => drop(proof.discard()),
        Err(_) if proof.checkpoint.classes > before => drop(proof.save()),
        Err(_) if before > 0 => drop(proof.spill.keep(true)),
        Err(_) => drop(proof.discard()),
    }
    result
}

fn part_files(verifier: &Verifier, process: usize, processes: usize) -> ProofFiles {
    verifier.files(&format!("proof-{process}-of-{processes}"), "")
}

/// Returns the path of the state of a process of an unfinished proof, which changes as the proof advances.
pub fn part_state_path(verifier: &Verifier, process: usize, processes: usize) -> PathBuf {
    part_files(verifier, process, processes).state_path().to_owned()
}

/// Removes what a process of an unfinished proof has left.
///
/// # Errors
/// If a file cannot be removed.
pub fn discard_part(verifier: &Verifier, process: usize, processes: usize) -> Result<()> {
    part_files(verifier, process, processes).discard()
}

/// Returns the smallest number of fixed pieces whose classes are small enough to divide them among the processes, and
/// fit into the memory limit.
fn fixed_pieces(table: &Table, processes: usize, threads: usize, limit: u64) -> Result<usize> {
    let prefix = table.prefix();
    let needed = |fixed_pieces| {
        let readers = ClassLoader::memory(table.encoding(), count_segments(prefix, fixed_pieces, SEGMENT_WORDS));
        PROGRAM + MAPPED + SingleClassProver::memory(table.info(), fixed_pieces, threads).saturating_add(readers)
    };
    let candidates = 0..(prefix.board().pieces() - 1).max(1);
    let mut fitting = candidates.clone().filter(|&fixed_pieces| needed(fixed_pieces) <= limit);
    let most = choose(prefix.within(), prefix.board().pieces() - 1) / (MOST_OF_PROCESS * processes as u64);
    let largest = |fixed_pieces: usize| {
        let free = prefix.board().pieces() - fixed_pieces;
        choose(prefix.within() - fixed_pieces, free - 1)
    };
    let small = fitting.clone().find(|&fixed_pieces| processes == 1 || largest(fixed_pieces) <= most);
    let least = || candidates.map(needed).min().unwrap_or(0);
    small.or(fitting.next_back()).ok_or_else(|| BuilderError::MemoryLimit { least: least(), limit })
}

/// The part of a proof that a process has.
struct Part<'a> {
    table: &'a Table,
    member: &'a ClusterMember,
    fixed_pieces: usize,
    observer: &'a dyn Observer,
}

impl Part<'_> {
    /// Proves the classes of this process from the checkpoint of `proof` on, and compares what all processes have found
    /// with the header.
    fn prove(&self, proof: &mut OpenProof, pool: &ThreadPool) -> Result<()> {
        let link = Arc::new(Link::default());
        link.cancelled_by(self.observer, || self.prove_with(&link, proof, pool))
    }

    /// Proves the classes together with the processes that connect.
    fn prove_with(&self, link: &Arc<Link>, proof: &mut OpenProof, pool: &ThreadPool) -> Result<()> {
        let properties = [
            ("the table", self.table.checksum_text()),
            ("the context classes of the memory limit and the threads", self.fixed_pieces.to_string()),
        ];
        let common = Common::new("verify", self.member, &properties);
        let Peers { streams, .. } = connect(self.member, common, (), link)?;
        let voting = Arc::new(Voting::default());
        let receiver = Arc::clone(&voting);
        let deliver = move |Parcel { kind, number, from, bytes, .. }: Parcel| {
            if kind == ParcelKind::Vote {
                receiver.deliver(number, from, bytes);
            }
            Ok(())
        };
        let exchange = Exchange::start(link, streams, self.member.process(), MESSAGES, deliver);
        let observer = LinkedObserver { observer: self.observer, link };
        let proven = pool.install(|| self.prove_classes(proof, &observer));
        // The loss of a process cancels the proof.
        let own = if matches!(proven, Err(BuilderError::Cancelled)) { link.check().and(proven) } else { proven }?;
        let parts = voting.ask(&exchange, &own)?;
        exchange.finish();
        let mut all = [0; 256];
        parts.iter().for_each(|part| all.iter_mut().zip(&part.states_at).for_each(|(all, states)| *all += states));
        let boundary_layer = parts.iter().filter_map(|part| part.boundary_layer).min();
        let goal = parts.iter().find_map(|part| part.goal);
        let goal = goal.ok_or_else(|| wrong_table(self.table, "no process has proven the goal"))?;
        compare_with_header(self.table, goal, &layers_of(&all), boundary_layer)
    }

    /// Proves the classes of this process. Returns what all of them have.
    fn prove_classes(&self, proof: &mut OpenProof, observer: &dyn Observer) -> Result<ProvenPart> {
        let prefix = self.table.prefix();
        let partitioning = Partitioning::new(prefix, self.fixed_pieces, SEGMENT_WORDS);
        let classes = divide(prefix, self.fixed_pieces, self.member.processes()).swap_remove(self.member.process());
        let first = classes.start + proof.checkpoint.classes;
        let contexts = |partition| contexts_of(prefix, self.fixed_pieces, partition);
        observer.begin(BuildPhase::Prove, classes.clone().map(contexts).sum());
        observer.resume(proof.checkpoint.steps);
        let loader = ClassLoader::prepare(self.table, &partitioning, first, observer)?;
        let mut prover = SingleClassProver::new(self.table, &partitioning, loader, observer);
        for partition in first..classes.end {
            if contexts(partition) == 0 {
                proof.checkpoint.classes += 1;
                continue;
            }
            prover.prove(partition)?.count_in(&mut proof.checkpoint);
            if proof.is_due() {
                proof.save()?;
            }
        }
        let has_goal = classes.contains(&partitioning.partition_of(0));
        let Checkpoint { goal, boundary_layer, states_at, .. } = &proof.checkpoint;
        Ok(ProvenPart {
            goal: has_goal.then_some(*goal),
            boundary_layer: *boundary_layer,
            states_at: states_at.to_vec(),
        })
    }
}

/// An observer that also cancels if another process is lost.
struct LinkedObserver<'a> {
    observer: &'a dyn Observer,
    link: &'a Link,
}

impl Observer for LinkedObserver<'_> {
    fn begin(&self, phase: BuildPhase, total: u64) {
        self.observer.begin(phase, total);
    }

    fn advance(&self, steps: u64) {
        self.observer.advance(steps);
    }

    fn resume(&self, steps: u64) {
        self.observer.resume(steps);
    }

    fn cancelled(&self) -> bool {
        self.link.has_failed() || self.observer.cancelled()
    }
}

/// Returns the number of contexts in the class of a partition: they share the fixed pieces, and the other pieces except
/// the mover are below those.
fn contexts_of(prefix: Prefix, fixed_pieces: usize, partition: u64) -> u64 {
    let below = Rank(partition).state(fixed_pieces).cells().first().map_or(prefix.within(), |cell| cell.index());
    choose(below, prefix.board().pieces() - fixed_pieces - 1)
}

/// Divides the classes among processes, with about the same number of contexts each.
fn divide(prefix: Prefix, fixed_pieces: usize, processes: usize) -> Vec<Range<u64>> {
    let classes = choose(prefix.within(), fixed_pieces);
    let all: u64 = choose(prefix.within(), prefix.board().pieces() - 1);
    let mut ranges = Vec::new();
    let (mut start, mut done) = (0, 0u64);
    for class in 0..classes {
        done += contexts_of(prefix, fixed_pieces, class);
        let due = u128::from(all) * (ranges.len() as u128 + 1) / processes as u128;
        if u128::from(done) >= due && ranges.len() + 1 < processes {
            ranges.push(start..class + 1);
            start = class + 1;
        }
    }
    ranges.push(start..classes);
    ranges.resize(processes, classes..classes);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::thread;
    use std::time::Duration;

    use crate::error::ClusterError;
    use crate::processes::free_addresses;
    use proptest::prelude::*;
    use sternhalma_data::{Board, Encoding, TableInfo, TableSpec};
    use sternhalma_testutil::{Reference, encodings, write_forged_table};

    fn prefix(side: u64, pieces: u64, within: u64) -> Prefix {
        Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap()
    }

    /// Proves a table by several processes, which are threads, each with an observer.
    fn prove(table: &Table, processes: usize, observers: &[&(dyn Observer + Sync)]) -> Vec<Result<()>> {
        let addresses = free_addresses(processes);
        let run = |process: usize| {
            let member = ClusterMember::new(addresses.clone(), process, "secret").unwrap();
            let member = member.patience(Duration::from_secs(60));
            let observer = observers.get(process).copied().unwrap_or(&());
            prove_part(&Verifier::new(table).threads(1), &member, observer)
        };
        thread::scope(|scope| {
            let running: Vec<_> = (0..processes).map(|process| scope.spawn(move || run(process))).collect();
            running.into_iter().map(|running| running.join().unwrap()).collect()
        })
    }

    #[test]
    fn right_tables_are_proven_by_several_processes() {
        let dir = tempfile::tempdir().unwrap();
        for (i, (side, pieces, within)) in
            [(3, 2, 9), (4, 3, 16), (4, 4, 11), (5, 4, 25), (5, 6, 20)].into_iter().enumerate()
        {
            let reference = Reference::search(prefix(side, pieces, within));
            for encoding in encodings() {
                for table in reference.write_forms(&dir.path().join("table.sht"), encoding) {
                    for result in prove(&table, 1 + i % 4, &[]) {
                        result.unwrap();
                    }
                }
            }
        }
        assert!(!has_state(dir.path()));
    }

    /// Returns whether the state of a proof is in a directory.
    fn has_state(dir: &std::path::Path) -> bool {
        let mut files = std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().file_name());
        files.any(|name| name.to_string_lossy().starts_with('.'))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn one_wrong_distance_is_found_by_a_process(
            at in 0usize..1820, change in 1u8..5, within in prop_oneof![Just(16u64), Just(11)],
            encoding in prop_oneof![Just(Encoding::Byte), Just(Encoding::Mod3)],
        ) {
            let dir = tempfile::tempdir().unwrap();
            // The same distances modulo 3 are those of the right table.
            prop_assume!(encoding == Encoding::Byte || change % 3 != 0);
            let wrong = Reference::search(prefix(4, 4, within)).with_wrong_distance(at, change);
            prop_assume!(wrong.is_some());
            let forged = wrong.unwrap().write(&dir.path().join("forged.sht"), encoding);
            let results = prove(&forged, 2, &[]);
            prop_assert!(results.iter().all(|result| result.is_err()));
            prop_assert!(results.iter().any(|result| !matches!(result, Err(BuilderError::Step(_)))));
        }
    }

    #[test]
    fn wrong_headers_are_found_by_all_processes() {
        let dir = tempfile::tempdir().unwrap();
        let Reference { prefix, distances, boundary_layer } = Reference::search(prefix(5, 4, 20));
        let info = |boundary_layer, change: u64| {
            let count = |distance| distances.iter().filter(|&&found| found == distance).count() as u64;
            let mut layers: Vec<u64> = (0..=*distances.iter().max().unwrap()).map(count).collect();
            layers[3] += change;
            layers[4] -= change;
            TableInfo { spec: TableSpec { prefix, encoding: Encoding::Byte, mirrored: false }, layers, boundary_layer }
        };
        let earlier = boundary_layer.map(|layer| layer - 1);
        for (info, is_right) in
            [(info(boundary_layer, 0), true), (info(boundary_layer, 1), false), (info(earlier, 0), false)]
        {
            let table = write_forged_table(&dir.path().join("table.sht"), info, &distances);
            for result in prove(&table, 3, &[]) {
                match result {
                    Ok(()) => assert!(is_right),
                    Err(error) => assert!(!is_right && matches!(error, BuilderError::WrongTable { .. }), "{error:?}"),
                }
            }
        }
    }

    /// An observer that cancels after a number of steps.
    struct Steps(AtomicU64, AtomicU64);

    impl Observer for Steps {
        fn cancelled(&self) -> bool {
            self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
        }

        fn resume(&self, steps: u64) {
            self.1.store(steps, Relaxed);
        }
    }

    #[test]
    fn an_interrupted_proof_resumes() {
        let dir = tempfile::tempdir().unwrap();
        let table = Reference::search(prefix(6, 4, 36)).write(&dir.path().join("table.sht"), Encoding::Byte);
        let (mut steps, mut resumed) = (20, Vec::new());
        loop {
            let observer = Steps(AtomicU64::new(steps), AtomicU64::new(0));
            let results = prove(&table, 2, &[&(), &observer]);
            resumed.push(observer.1.into_inner());
            match (&results[0], &results[1]) {
                (Ok(()), Ok(())) => break,
                (Err(lost), Err(BuilderError::Cancelled))
                    if matches!(ClusterError::of(lost), Some(ClusterError::Lost { process: 1, .. })) => {}
                results => panic!("{results:?}"),
            }
            assert!(has_state(dir.path()) || resumed.len() == 1);
            steps += 100;
        }
        assert!(resumed.len() > 3 && resumed.is_sorted() && *resumed.last().unwrap() > 0, "{resumed:?}");
        assert!(!has_state(dir.path()));
    }

    #[test]
    fn processes_with_other_tables_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let reference = Reference::search(prefix(4, 3, 16));
        let tables = [Encoding::Byte, Encoding::Mod3].map(|e| reference.write(&dir.path().join(e.to_string()), e));
        let addresses = free_addresses(2);
        let prove = |process: usize| {
            let member = ClusterMember::new(addresses.clone(), process, "secret").unwrap();
            prove_part(&Verifier::new(&tables[process]).threads(1), &member, &()).unwrap_err().to_string()
        };
        thread::scope(|scope| {
            for error in [0, 1].map(|process| scope.spawn(move || prove(process))).map(|thread| thread.join().unwrap())
            {
                assert!(error.contains("has the table `"), "{error}");
            }
        });
    }

    #[test]
    fn classes_are_divided_by_their_contexts() {
        for (pieces, fixed_pieces, processes, most) in
            [(6, 1, 1, 1.0), (6, 2, 2, 1.02), (6, 2, 7, 1.1), (10, 2, 8, 1.05)]
        {
            let prefix = Prefix::whole(Board::new(9, pieces).unwrap());
            let ranges = divide(prefix, fixed_pieces, processes);
            assert_eq!(ranges.len(), processes);
            assert_eq!((ranges[0].start, ranges[processes - 1].end), (0, choose(81, fixed_pieces)));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            let contexts = ranges
                .into_iter()
                .map(|classes| classes.map(|class| contexts_of(prefix, fixed_pieces, class)).sum::<u64>());
            let contexts: Vec<u64> = contexts.collect();
            let all: u64 = contexts.iter().sum();
            assert_eq!(all, choose(81, pieces as usize - 1));
            let largest = *contexts.iter().max().unwrap() as f64 * processes as f64 / all as f64;
            assert!(largest <= most, "{largest}");
        }
        // There can be more processes than classes.
        let prefix = Prefix::whole(Board::new(3, 3).unwrap());
        let ranges = divide(prefix, 1, 20);
        assert_eq!(ranges.iter().map(|classes| classes.end - classes.start).sum::<u64>(), 9);
        assert_eq!(ranges.len(), 20);
    }
}
