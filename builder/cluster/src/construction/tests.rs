//! Clusters whose processes are threads of this process.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use sternhalma_builder::steps::{PartitionParams, thread_pool};
use sternhalma_builder::{BuildMode, BuilderError, Observer, TableBuilder};
use sternhalma_data::table::{Ans, Zstd};
use sternhalma_data::{Board, Encoding, Prefix, Table};
use sternhalma_testutil::bytes_of;
use tempfile::TempDir;

use super::part_build::ClusterProcess;
use super::{PartReport, assemble, build_part};
use crate::ClusterError;
use crate::processes::{ClusterMember, free_addresses};

struct Cluster {
    dir: TempDir,
    processes: usize,
    builder: TableBuilder,
    copies: usize,
    /// Whether all processes have the same work directory.
    is_shared: bool,
    /// The version of each process, if it is another one.
    versions: Vec<&'static str>,
    /// Other parameters than those that follow from the memory limit.
    params: Option<PartitionParams>,
}

impl Cluster {
    fn new(builder: TableBuilder, processes: usize) -> Cluster {
        Cluster {
            dir: tempfile::tempdir().unwrap(),
            processes,
            builder: builder.threads(1),
            copies: 1,
            is_shared: false,
            versions: Vec::new(),
            params: None,
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("table.sht")
    }

    fn builder(&self, process: usize) -> TableBuilder {
        self.builder.clone().work_dir(self.work_dir(process))
    }

    fn work_dir(&self, process: usize) -> PathBuf {
        self.dir.path().join(if self.is_shared { "work".to_owned() } else { format!("work-{process}") })
    }

    /// Returns the directory with the files of a process.
    fn part_dir(&self, process: usize) -> PathBuf {
        self.work_dir(process).join(format!("part-{process}-of-{}", self.processes))
    }

    /// Returns the number of committed layers.
    fn committed(&self) -> usize {
        let committed = |distance: &usize| self.part_dir(0).join(format!("layer-{distance:03}.json")).exists();
        (0..).take_while(committed).count()
    }

    /// Continues with another number of processes. The files of processes that no longer exist are copied to process 0.
    fn continue_with(&mut self, processes: usize) {
        for process in processes..self.processes {
            let dir = self.part_dir(process);
            let to = self.work_dir(0).join(dir.file_name().unwrap());
            std::fs::rename(&dir, to).unwrap();
        }
        self.processes = processes;
    }

    /// Runs all processes until process 0 has made a number of steps.
    fn interrupt(&self, steps: u64) {
        for (process, result) in self.run(&[&Steps(AtomicU64::new(steps))]).into_iter().enumerate() {
            match result {
                Err(BuilderError::Cancelled) if process == 0 => {}
                Err(error) if process > 0 && is_lost(&error) => {}
                result => panic!("process {process} of {}: {result:?}", self.processes),
            }
        }
    }

    /// Runs all processes, each with an observer, and returns their results.
    fn run(&self, observers: &[&(dyn Observer + Sync)]) -> Vec<Result<PartReport, BuilderError>> {
        let addresses = free_addresses(self.processes);
        let run = |process: usize| {
            let member = ClusterMember::new(addresses.clone(), process, "secret").unwrap();
            let mut member = member.patience(Duration::from_secs(60)).copies(self.copies).unwrap();
            if let Some(version) = self.versions.get(process) {
                member.version = (*version).to_owned();
            }
            let observer = observers.get(process).copied().unwrap_or(&());
            let builder = self.builder(process);
            match self.params {
                None => build_part(&builder, self.path(), &member, observer),
                Some(params) => {
                    let pool = &thread_pool(2).unwrap();
                    let (builder, member, memory_limit) = (&builder, &member, u64::MAX);
                    ClusterProcess { builder, member, params, memory_limit, pool, observer }.run(&self.path())
                }
            }
        };
        thread::scope(|scope| {
            let running: Vec<_> = (0..self.processes).map(|process| scope.spawn(move || run(process))).collect();
            running.into_iter().map(|running| running.join().unwrap()).collect()
        })
    }

    /// Checks that the layers of these processes of `processes` are missing. Returns the message.
    fn check_missing(&self, processes: usize, missing: &[usize]) -> String {
        let results = self.run(&[]).into_iter().map(|result| {
            let error = result.unwrap_err();
            let Some(ClusterError::MissingParts { processes: found, parts }) = ClusterError::of(&error) else {
                panic!("{error:?}")
            };
            let missing_parts: Vec<usize> = parts.iter().map(|part| part.process).collect();
            assert_eq!((*found, &*missing_parts), (processes, missing));
            assert!(parts.iter().all(|part| !part.ranges.is_empty()));
            error.to_string()
        });
        results.last().unwrap()
    }

    /// Joins the parts and compares the table with one that is built in memory.
    fn check(&self) {
        let parts: Vec<PathBuf> = (0..self.processes)
            .map(|process| ClusterMember::part_path(&self.path(), process, self.processes))
            .collect();
        assemble(&parts, &self.path(), true).unwrap();
        let expected = self.dir.path().join("expected.sht");
        self.builder.clone().mode(BuildMode::InMemory).overwrite(true).build(&expected, &()).unwrap();
        let what = format!("{} on {} processes", self.builder.spec(), self.processes);
        assert!(bytes_of(&self.path()) == bytes_of(&expected), "{what}");
        let (built, expected) = (Table::open(self.path()).unwrap(), Table::open(expected).unwrap());
        assert_eq!(built.checksum(), expected.checksum(), "{what}");
        for process in 0..self.processes {
            assert_eq!(names(&self.part_dir(process)), ["build.json", "lock"], "{what}");
            let parts = names(&self.work_dir(process)).into_iter().filter(|name| name.starts_with("part-"));
            assert_eq!(parts.count(), if self.is_shared { self.processes } else { 1 }, "{what}");
        }
    }
}

fn is_lost(error: &BuilderError) -> bool {
    matches!(ClusterError::of(error), Some(ClusterError::Lost { .. }))
}

/// Returns the sorted names of the files in a directory.
fn names(dir: &Path) -> Vec<String> {
    let name = |file: std::io::Result<std::fs::DirEntry>| file.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = std::fs::read_dir(dir).unwrap().map(name).collect();
    names.sort();
    names
}

fn builder(side: u64, pieces: u64, within: u64, encoding: Encoding, mirrored: bool) -> TableBuilder {
    let prefix = Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap();
    // An out-of-core build of an unmirrored table expands all contexts.
    TableBuilder::new(prefix).encoding(encoding).mirroring(mirrored)
}

fn run_all(cluster: &Cluster) {
    for (process, result) in cluster.run(&[]).into_iter().enumerate() {
        assert!(result.as_ref().is_ok_and(|report| report.received < 1 << 30), "process {process}: {result:?}");
    }
    cluster.check();
}

/// Boards and prefixes, the first ones with a mirrored form.
const BOARDS: [(u64, u64, u64); 20] = [
    (3, 3, 9),
    (3, 6, 9),
    (4, 3, 13),
    (4, 3, 16),
    (4, 6, 15),
    (4, 6, 16),
    (5, 3, 25),
    (5, 6, 25),
    (5, 10, 22),
    (6, 3, 33),
    (6, 3, 36),
    (7, 3, 49),
    (3, 4, 8),
    (3, 5, 9),
    (4, 4, 16),
    (4, 5, 14),
    (5, 4, 20),
    (5, 4, 25),
    (5, 5, 18),
    (6, 4, 30),
];

/// The number of boards with a mirrored form.
const MIRRORED: usize = 12;

#[test]
fn parts_of_a_table_are_those_of_one_process() {
    let zstd = Encoding::Zstd(Zstd::new(64, 1).unwrap());
    let ans = Encoding::Ans(Ans::new(64).unwrap());
    let mut number = 0;
    for (i, (side, pieces, within)) in BOARDS.into_iter().enumerate() {
        for encoding in [Encoding::Byte, Encoding::Mod3, if i % 2 == 0 { zstd } else { ans }] {
            for mirrored in [false, true].into_iter().take(if i < MIRRORED { 2 } else { 1 }) {
                number += 1;
                run_all(&Cluster::new(builder(side, pieces, within, encoding, mirrored), 1 + number % 4));
            }
        }
    }
}

/// Segments of a few words, several fixed pieces, and little or no memory for states on their way.
#[test]
fn parts_do_not_depend_on_the_partitions() {
    let boards = [(5, 4, 25, false), (4, 5, 16, false), (5, 6, 25, true), (4, 6, 16, true)];
    for (i, (side, pieces, within, mirrored)) in boards.into_iter().enumerate() {
        for fixed_pieces in 1..4.min(pieces as usize - 2) {
            for (segment_words, spill_bytes) in [(1, 0), (3, 4000), (200, 1 << 20)] {
                let builder = builder(side, pieces, within, Encoding::Byte, mirrored);
                let slice_pieces = (pieces as usize - 1 - fixed_pieces).min(1 + i % 2);
                let params = PartitionParams { fixed_pieces, slice_pieces, segment_words, spill_bytes };
                run_all(&Cluster { params: Some(params), ..Cluster::new(builder, 3) });
            }
        }
    }
}

/// With little memory, spilled states, messages and bands go to files, or wait.
#[test]
fn processes_keep_their_memory_limit() {
    for (side, pieces, within, mirrored) in [(7, 5, 49, false), (6, 6, 36, true)] {
        let builder = builder(side, pieces, within, Encoding::Byte, mirrored).memory_limit(42 << 20);
        run_all(&Cluster::new(builder, 3));
    }
}

/// An observer that cancels after a number of steps.
struct Steps(AtomicU64);

impl Observer for Steps {
    fn cancelled(&self) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

#[test]
fn an_interrupted_build_resumes_after_the_last_layer() {
    for (process, mirrored) in [(0, false), (1, true), (2, false)] {
        let pieces = if mirrored { 6 } else { 4 };
        let cluster = Cluster::new(builder(5, pieces, 25, Encoding::Byte, mirrored), 3);
        let (mut steps, mut interruptions) = (5, 0);
        loop {
            let stopping = Steps(AtomicU64::new(steps));
            let observers: Vec<&(dyn Observer + Sync)> =
                (0..3).map(|i| if i == process { &stopping } else { &() as &(dyn Observer + Sync) }).collect();
            let results = cluster.run(&observers);
            if results.iter().all(Result::is_ok) {
                break;
            }
            for (i, result) in results.iter().enumerate() {
                match result {
                    Err(BuilderError::Cancelled) if i == process => {}
                    Err(error) if i != process && is_lost(error) => {}
                    result => panic!("process {i}: {result:?}"),
                }
            }
            steps += 41;
            interruptions += 1;
        }
        assert!(interruptions >= 4, "{interruptions} interruptions");
        cluster.check();
    }
}

#[test]
fn lost_parts_are_reported() {
    let cluster = Cluster::new(builder(4, 4, 16, Encoding::Byte, false), 2);
    let stopping = Steps(AtomicU64::new(60));
    assert!(cluster.run(&[&stopping]).iter().all(Result::is_err));
    let lose = |path: &Path| std::fs::remove_file(path).unwrap();
    let layer = cluster.part_dir(1).join("layer-002");
    let bytes = std::fs::read(&layer).unwrap();
    lose(&layer);
    cluster.check_missing(2, &[1]);
    std::fs::copy(cluster.part_dir(1).join("layer-001"), &layer).unwrap();
    cluster.check_missing(2, &[1]);
    std::fs::write(&layer, bytes).unwrap();
    let damaged = cluster.part_dir(0).join("layer-001");
    let mut bytes = std::fs::read(&damaged).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&damaged, bytes).unwrap();
    let error = cluster.run(&[]).remove(0).unwrap_err();
    assert!(matches!(ClusterError::of(&error), Some(ClusterError::DamagedPart { .. })), "{error:?}");
    std::fs::remove_dir_all(cluster.work_dir(1)).unwrap();
    cluster.check_missing(2, &[1]);
}

/// The layers of a build go to other processes, with shared work directories or others, with second copies or none, and
/// also if the transfer is interrupted.
#[test]
fn another_number_of_processes_resumes() {
    let all: &[usize] = &[4, 2, 1, 3];
    let cases = [(true, 4, false, 2, all), (false, 6, true, 2, &[4, 1]), (false, 4, false, 1, &[2, 3])];
    for (is_shared, pieces, mirrored, copies, numbers) in cases {
        let builder = builder(5, pieces, 25, Encoding::Byte, mirrored);
        let mut cluster = Cluster { is_shared, copies, ..Cluster::new(builder, 3) };
        cluster.interrupt(80);
        for &processes in numbers {
            let committed = cluster.committed();
            cluster.continue_with(processes);
            cluster.copies = copies.min(processes);
            for steps in [1, 3, 7] {
                cluster.interrupt(steps);
            }
            cluster.interrupt(60 + 10 * committed as u64);
            assert!(cluster.committed() > committed, "{processes} processes: {committed} layers");
        }
        cluster.copies = 1;
        cluster.continue_with(2);
        run_all(&cluster);
    }
}

#[test]
fn lost_layers_are_those_of_second_copies_for_another_number_of_processes() {
    let mut cluster = Cluster { copies: 2, ..Cluster::new(builder(5, 4, 25, Encoding::Mod3, false), 3) };
    cluster.interrupt(120);
    let committed = cluster.committed();
    std::fs::remove_dir_all(cluster.work_dir(0)).unwrap();
    cluster.continue_with(4);
    // Process 1 had the second copy of process 0.
    let copy = cluster.work_dir(1).join("part-1-of-3/copy-of-0");
    std::fs::rename(&copy, cluster.dir.path().join("lost")).unwrap();
    let error = cluster.check_missing(3, &[0]);
    assert!(error.contains("process 0 (") && error.contains("`part-0-of-3`"), "{error}");
    std::fs::rename(cluster.dir.path().join("lost"), copy).unwrap();
    cluster.interrupt(100);
    assert!(cluster.committed() >= committed);
    run_all(&cluster);
}

#[test]
fn copies_of_an_earlier_build_are_not_used() {
    let builder = builder(5, 4, 25, Encoding::Byte, false);
    let mut cluster = Cluster { copies: 2, ..Cluster::new(builder.clone(), 3) };
    cluster.interrupt(150);
    let committed = cluster.committed();
    cluster.builder = builder.clone().threads(1).restart(true);
    cluster.interrupt(60);
    assert!(cluster.committed() < committed);
    cluster.builder = builder.threads(1);
    std::fs::remove_dir_all(cluster.part_dir(1)).unwrap();
    run_all(&cluster);
    // All parts exist, and are built again.
    cluster.builder = cluster.builder.restart(true);
    let part = ClusterMember::part_path(&cluster.path(), 1, 3);
    let before = std::fs::metadata(&part).unwrap().modified().unwrap();
    run_all(&cluster);
    assert!(std::fs::metadata(&part).unwrap().modified().unwrap() > before);
    // All processes must discard the build.
    let addresses = free_addresses(3);
    let start = |process: usize| {
        let member = ClusterMember::new(addresses.clone(), process, "secret").unwrap().copies(2).unwrap();
        let member = member.patience(Duration::from_secs(20));
        let builder = cluster.builder(process).restart(process == 0);
        build_part(&builder, cluster.path(), &member, &()).unwrap_err().to_string()
    };
    let errors = thread::scope(|scope| {
        [0, 1, 2].map(|process| scope.spawn(move || start(process))).map(|thread| thread.join().unwrap())
    });
    // A process may end before another has connected to it, which then waits in vain.
    let reasons = ["has the request to start again `", "lost process", "did not connect within"];
    for error in &errors {
        assert!(reasons.iter().any(|reason| error.contains(reason)), "{error}");
    }
    assert!(errors.iter().any(|error| error.contains(reasons[0])), "{errors:?}");
}

#[test]
fn a_process_that_returns_with_another_version_is_refused() {
    let mut cluster = Cluster::new(builder(4, 4, 16, Encoding::Byte, false), 2);
    cluster.interrupt(60);
    cluster.versions = vec!["0.1.0", "0.2.0"];
    for result in cluster.run(&[]) {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("has the version `0.") && error.contains("start both in the same way"), "{error}");
    }
    cluster.versions.clear();
    run_all(&cluster);
}

#[test]
fn a_build_of_one_process_and_one_of_several_are_kept_apart() {
    let cluster = Cluster { is_shared: true, ..Cluster::new(builder(4, 4, 16, Encoding::Byte, false), 2) };
    cluster.interrupt(60);
    let alone = cluster.builder(0).mode(BuildMode::OutOfCore);
    let error = alone.build(cluster.path(), &()).unwrap_err();
    assert!(matches!(error, BuilderError::SeveralProcesses { .. }), "{error:?}");
    run_all(&cluster);
    let alone = alone.overwrite(true);
    assert!(matches!(alone.build(cluster.path(), &Steps(AtomicU64::new(10))), Err(BuilderError::Cancelled)));
    for result in cluster.run(&[]) {
        let error = result.unwrap_err();
        assert!(matches!(ClusterError::of(&error), Some(ClusterError::OneProcess { .. })), "{error:?}");
    }
    alone.build(cluster.path(), &()).unwrap();
}

#[test]
fn a_lost_work_directory_is_restored_from_its_second_copy() {
    for (lost, pieces, mirrored, is_shared) in [(0, 4, false, false), (1, 6, true, true), (2, 4, false, true)] {
        let builder = builder(5, pieces, 25, Encoding::Byte, mirrored);
        let cluster = Cluster { copies: 2, is_shared, ..Cluster::new(builder, 3) };
        cluster.interrupt(100);
        // The restored directory gets second copies too, which restore the next one.
        for process in [lost, (lost + 1) % 3] {
            std::fs::remove_dir_all(cluster.part_dir(process)).unwrap();
            cluster.interrupt(20);
        }
        // A damaged second copy is replaced.
        std::fs::write(cluster.part_dir(1).join("copy-of-0/layer-001"), "").unwrap();
        std::fs::remove_dir_all(cluster.part_dir(2)).unwrap();
        run_all(&cluster);
        assert!(Table::open(cluster.path()).unwrap().provenance().resumes >= 3);
    }
    // Neither the directory of process 1 nor its second copy is left.
    let cluster = Cluster { copies: 2, ..Cluster::new(builder(4, 4, 16, Encoding::Byte, false), 3) };
    assert!(cluster.run(&[&Steps(AtomicU64::new(60))]).iter().all(Result::is_err));
    for process in [1, 2] {
        std::fs::remove_dir_all(cluster.work_dir(process)).unwrap();
    }
    cluster.check_missing(3, &[1]);
}

#[test]
fn every_damaged_byte_of_a_part_is_noticed() {
    let cluster = Cluster::new(builder(3, 3, 9, Encoding::Byte, false), 2);
    run_all(&cluster);
    let [first, second] = [0, 1].map(|process| ClusterMember::part_path(&cluster.path(), process, 2));
    let bytes = std::fs::read(&second).unwrap();
    let damaged = cluster.dir.path().join("damaged");
    let joins = |bytes: &[u8]| {
        std::fs::write(&damaged, bytes).unwrap();
        assemble(&[first.clone(), damaged.clone()], &cluster.dir.path().join("joined"), true).is_ok()
    };
    assert!(joins(&bytes));
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 4;
        assert!(!joins(&changed), "byte {at}");
        assert!(!joins(&bytes[..at]), "{at} bytes");
    }
}

/// Cancels work once another thread says so.
struct Flag<'a>(&'a AtomicBool);

impl Observer for Flag<'_> {
    fn cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}

#[test]
fn a_process_that_waits_for_others_is_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    for (process, processes) in [(0, 2), (1, 2), (1, 3)] {
        let addresses = free_addresses(processes);
        // Patience ends the test, with another error, if the wait does not look at the observer.
        let member =
            ClusterMember::new(addresses.clone(), process, "secret").unwrap().patience(Duration::from_secs(60));
        let cancelled = AtomicBool::new(false);
        let work_dir = dir.path().join(format!("work-{process}-of-{processes}"));
        let builder = builder(4, 3, 16, Encoding::Byte, false).work_dir(work_dir);
        let error = thread::scope(|scope| {
            let waiting = scope.spawn(|| build_part(&builder, &path, &member, &Flag(&cancelled)).unwrap_err());
            // The process has begun to wait when it accepts connections.
            while TcpStream::connect(&addresses[process]).is_err() {
                thread::sleep(Duration::from_millis(10));
            }
            cancelled.store(true, Relaxed);
            waiting.join().unwrap()
        });
        assert!(matches!(error, BuilderError::Cancelled), "process {process} of {processes}: {error}");
    }
}

#[test]
fn processes_that_differ_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let start = |process: usize, secret: &'static str, pieces: u64, addresses: &[String]| {
        let member = ClusterMember::new(addresses.to_vec(), process, secret).unwrap();
        let member = member.patience(Duration::from_secs(3));
        let path = dir.path().join(format!("{process}-{pieces}-{secret}.sht"));
        let builder = builder(4, pieces, 16, Encoding::Byte, false);
        thread::spawn(move || build_part(&builder, path, &member, &()).unwrap_err().to_string())
    };
    let both = |secrets: [&'static str; 2], pieces: [u64; 2]| {
        let addresses = free_addresses(2);
        [0, 1].map(|process| start(process, secrets[process], pieces[process], &addresses)).map(|t| t.join().unwrap())
    };
    let [first, second] = both(["a", "b"], [3, 3]);
    assert!(first.contains("process 1") && first.contains("did not connect within 3 s"), "{first}");
    assert!(second.contains("process 0 has another secret"), "{second}");
    for error in both(["a", "a"], [3, 4]) {
        assert!(error.contains("has the table `"), "{error}");
    }
    let alone = start(0, "a", 5, &free_addresses(2)).join().unwrap();
    assert!(alone.contains("process 1") && alone.contains("did not connect"), "{alone}");
}
