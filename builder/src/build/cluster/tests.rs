//! Clusters whose processes are threads of this process.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use sternhalma_data::table::{Ans, Zstd};
use sternhalma_data::{Board, Encoding, Prefix, Table};
use tempfile::TempDir;

use super::part_build::ClusterProcess;
use super::{ClusterMember, PartReport, assemble};
use crate::external::PartitionParams;
use crate::observer::Observer;
use crate::process::thread_pool;
use crate::{BuildMode, BuilderError, ClusterError, TableBuilder};

/// Returns addresses with free ports.
fn addresses(processes: usize) -> Vec<String> {
    let listeners: Vec<TcpListener> = (0..processes).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().to_string()).collect()
}

struct Cluster {
    dir: TempDir,
    processes: usize,
    builder: TableBuilder,
    copies: usize,
    /// Other parameters than those that follow from the memory limit.
    params: Option<PartitionParams>,
}

impl Cluster {
    fn new(builder: TableBuilder, processes: usize) -> Cluster {
        Cluster { dir: tempfile::tempdir().unwrap(), processes, builder: builder.threads(1), copies: 1, params: None }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("table.sht")
    }

    fn builder(&self, process: usize) -> TableBuilder {
        self.builder.clone().work_dir(self.dir.path().join(format!("work-{process}")))
    }

    /// Runs all processes, each with an observer, and returns their results.
    fn run(&self, observers: &[&(dyn Observer + Sync)]) -> Vec<Result<PartReport, BuilderError>> {
        let addresses = addresses(self.processes);
        let run = |process: usize| {
            let member = ClusterMember::new(addresses.clone(), process, "secret").unwrap();
            let member = member.patience(Duration::from_secs(60)).copies(self.copies).unwrap();
            let observer = observers.get(process).copied().unwrap_or(&());
            let builder = self.builder(process);
            match self.params {
                None => builder.build_part(self.path(), &member, observer),
                Some(params) => {
                    let pool = &thread_pool(2).unwrap();
                    let (options, member, memory_limit) = (&builder, &member, u64::MAX);
                    ClusterProcess { options, member, params, memory_limit, pool, observer }.run(&self.path())
                }
            }
        };
        thread::scope(|scope| {
            let running: Vec<_> = (0..self.processes).map(|process| scope.spawn(move || run(process))).collect();
            running.into_iter().map(|running| running.join().unwrap()).collect()
        })
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
        assert!(crate::build::tests::bytes_of(&self.path()) == crate::build::tests::bytes_of(&expected), "{what}");
        let (built, expected) = (Table::open(self.path()).unwrap(), Table::open(expected).unwrap());
        assert_eq!(built.checksum(), expected.checksum(), "{what}");
        for process in 0..self.processes {
            let work_dir = self.dir.path().join(format!("work-{process}"));
            let mut left: Vec<_> = std::fs::read_dir(work_dir).unwrap().map(|file| file.unwrap().file_name()).collect();
            left.sort();
            assert_eq!(left, ["build.json", "lock"], "{what}");
        }
    }
}

fn builder(side: u64, pieces: u64, within: u64, encoding: Encoding, mirrored: bool) -> TableBuilder {
    let prefix = Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap();
    let builder = TableBuilder::new(prefix).encoding(encoding).mirrored(mirrored);
    // An out-of-core build of an unmirrored table expands all contexts.
    if mirrored { builder } else { builder.mirror(false) }
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
                    Err(BuilderError::Cluster(ClusterError::Lost { .. })) if i != process => {}
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
    lose(&cluster.dir.path().join("work-1/layer-002"));
    for result in cluster.run(&[]) {
        let error = result.unwrap_err();
        assert!(
            matches!(error, BuilderError::Cluster(ClusterError::MissingPart { process: 1, distance: 2 })),
            "{error:?}"
        );
    }
    let damaged = cluster.dir.path().join("work-0/layer-001");
    let mut bytes = std::fs::read(&damaged).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&damaged, bytes).unwrap();
    let error = cluster.run(&[]).remove(0).unwrap_err();
    assert!(matches!(error, BuilderError::Cluster(ClusterError::DamagedPart { .. })), "{error:?}");
    std::fs::remove_dir_all(cluster.dir.path().join("work-1")).unwrap();
    for result in cluster.run(&[]) {
        let error = result.unwrap_err();
        assert!(matches!(error, BuilderError::Cluster(ClusterError::MissingPart { process: 1, .. })), "{error:?}");
    }
}

#[test]
fn a_lost_work_directory_is_restored_from_its_second_copy() {
    for (lost, pieces, mirrored) in [(0, 4, false), (1, 6, true), (2, 4, false)] {
        let builder = builder(5, pieces, 25, Encoding::Byte, mirrored);
        let cluster = Cluster { copies: 2, ..Cluster::new(builder, 3) };
        let work_dir = |process: usize| cluster.dir.path().join(format!("work-{process}"));
        let interrupt = |steps: u64| {
            let stopping = Steps(AtomicU64::new(steps));
            for (process, result) in cluster.run(&[&stopping]).into_iter().enumerate() {
                match result {
                    Err(BuilderError::Cancelled) if process == 0 => {}
                    Err(BuilderError::Cluster(ClusterError::Lost { .. })) if process > 0 => {}
                    result => panic!("{lost}, process {process}: {result:?}"),
                }
            }
        };
        interrupt(100);
        // The restored directory gets second copies too, which restore the next one.
        for process in [lost, (lost + 1) % 3] {
            std::fs::remove_dir_all(work_dir(process)).unwrap();
            interrupt(20);
        }
        // A damaged second copy is replaced.
        std::fs::write(work_dir(1).join("copy-of-0/layer-001"), "").unwrap();
        std::fs::remove_dir_all(work_dir(2)).unwrap();
        run_all(&cluster);
        assert!(Table::open(cluster.path()).unwrap().provenance().resumes >= 3);
    }
    // Neither the directory of process 1 nor its second copy is left.
    let cluster = Cluster { copies: 2, ..Cluster::new(builder(4, 4, 16, Encoding::Byte, false), 3) };
    assert!(cluster.run(&[&Steps(AtomicU64::new(60))]).iter().all(Result::is_err));
    for process in [1, 2] {
        std::fs::remove_dir_all(cluster.dir.path().join(format!("work-{process}"))).unwrap();
    }
    for result in cluster.run(&[]) {
        let error = result.unwrap_err();
        assert!(matches!(error, BuilderError::Cluster(ClusterError::MissingPart { process: 1, .. })), "{error:?}");
    }
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

#[test]
fn processes_that_differ_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let start = |process: usize, secret: &'static str, pieces: u64, addresses: &[String]| {
        let member = ClusterMember::new(addresses.to_vec(), process, secret).unwrap();
        let member = member.patience(Duration::from_secs(3));
        let path = dir.path().join(format!("{process}-{pieces}-{secret}.sht"));
        let builder = builder(4, pieces, 16, Encoding::Byte, false);
        thread::spawn(move || builder.build_part(path, &member, &()).unwrap_err().to_string())
    };
    let both = |secrets: [&'static str; 2], pieces: [u64; 2]| {
        let addresses = addresses(2);
        [0, 1].map(|process| start(process, secrets[process], pieces[process], &addresses)).map(|t| t.join().unwrap())
    };
    let [first, second] = both(["a", "b"], [3, 3]);
    assert!(first.contains("process 1") && first.contains("did not connect within 3 s"), "{first}");
    assert!(second.contains("process 0 has another secret"), "{second}");
    for error in both(["a", "a"], [3, 4]) {
        assert!(error.contains("has the table `"), "{error}");
    }
    let alone = start(0, "a", 5, &addresses(2)).join().unwrap();
    assert!(alone.contains("process 1") && alone.contains("did not connect"), "{alone}");
}
