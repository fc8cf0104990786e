//! Interrupted, killed and damaged proofs out of core.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sternhalma_data::table::fs::FileSystem;
use sternhalma_data::{Board, Encoding, Prefix, Table, TableInfo, TableSpec};
use sternhalma_testutil::{Reference, encodings, write_forged_table};

use super::checkpoint::{Checkpoint, OpenProof, ProofFiles, Unfinished};
use super::partitioned::prove_by_partitions;
use super::proof::count_layers;
use super::sample::{SEGMENT_WORDS, Sample, SampleSpec, prove_sample};
use crate::error::{BuilderError, Result};
use crate::faults::{Crash, Fault, Faults};
use crate::observer::Observer;
use crate::process::thread_pool;

/// Returns the file system without waits for the disk.
fn quick() -> Arc<dyn FileSystem> {
    Faults::new(Fault::Nothing)
}

/// An observer that cancels from a certain call on.
struct Canceller {
    calls_left: AtomicU64,
    /// The steps that were complete at the start, and all complete steps.
    resumed: AtomicU64,
    steps: AtomicU64,
}

impl Canceller {
    fn after(calls: u64) -> Canceller {
        Canceller { calls_left: AtomicU64::new(calls), resumed: AtomicU64::new(0), steps: AtomicU64::new(0) }
    }

    fn never() -> Canceller {
        Canceller::after(u64::MAX)
    }
}

impl Observer for Canceller {
    fn resume(&self, steps: u64) {
        self.resumed.fetch_add(steps, Relaxed);
        self.steps.fetch_add(steps, Relaxed);
    }

    fn advance(&self, steps: u64) {
        self.steps.fetch_add(steps, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.calls_left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

/// A proof of a table, whole or a sample.
struct Case {
    table: Table,
    sample: Option<Sample>,
    /// The memory for spilled states.
    spill_bytes: u64,
}

impl Case {
    fn files(&self, storage: &Arc<dyn FileSystem>) -> ProofFiles {
        let kind = if self.sample.is_some() { "sample" } else { "proof" };
        ProofFiles::new(storage, self.table.path().parent().unwrap(), &self.table, kind, "")
    }

    fn open(&self, storage: &Arc<dyn FileSystem>) -> Result<OpenProof> {
        let files = self.files(storage);
        let new = match &self.sample {
            Some(sample) => Checkpoint::new(sample.extent.fixed_pieces, SEGMENT_WORDS),
            None => Checkpoint::new(2, 2),
        };
        let mut proof = files.open(files.unfinished()?.into(), new, self.spill_bytes)?;
        proof.interval = None;
        Ok(proof)
    }

    /// Resumes the proof, with a checkpoint after every class.
    fn prove(&self, storage: &Arc<dyn FileSystem>, observer: &dyn Observer) -> Result<()> {
        let proof = self.open(storage)?;
        thread_pool(1)?.install(|| match &self.sample {
            Some(sample) => prove_sample(&self.table, sample, proof, observer),
            None => prove_by_partitions(&self.table, proof, observer),
        })
    }

    /// Returns the names of the files of the proof.
    fn left(&self) -> Vec<String> {
        let names = fs::read_dir(self.table.path().parent().unwrap()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with('.')).collect();
        names.sort();
        names
    }
}

fn small_prefix() -> Prefix {
    Prefix::new(Board::new(4, 4).unwrap(), 10).unwrap()
}

/// Returns the proofs of a table, whole and of a sample.
fn cases(dir: &Path, write: impl Fn(&Path) -> Table) -> Vec<Case> {
    let table = || write(&dir.join("table.sht"));
    let spec = SampleSpec { states: u64::MAX, seed: 1 };
    let sample = Sample::draw_classes(table().prefix(), spec, 2);
    vec![
        Case { table: table(), sample: None, spill_bytes: 0 },
        Case { table: table(), sample: None, spill_bytes: 1 << 20 },
        Case { table: table(), sample: None, spill_bytes: 2000 },
        Case { table: table(), sample: Some(sample), spill_bytes: 0 },
    ]
}

/// Returns a table with one wrong distance, which the last classes show.
fn forged(path: &Path, encoding: Encoding) -> Table {
    let Reference { prefix, mut distances, boundary_layer } = Reference::search(small_prefix());
    let last = distances.len() - 2;
    distances[last] -= 1;
    let layers = count_layers(&distances);
    let values: Vec<u8> = match encoding {
        Encoding::Mod3 => distances.iter().map(|distance| distance % 3).collect(),
        _ => distances,
    };
    write_forged_table(
        path,
        TableInfo { spec: TableSpec { prefix, encoding, mirrored: false }, layers, boundary_layer },
        &values,
    )
}

#[test]
fn a_proof_cancelled_at_any_step_resumes() {
    let dir = tempfile::tempdir().unwrap();
    for encoding in encodings() {
        let right = cases(dir.path(), |path| Reference::search(small_prefix()).write(path, encoding));
        for case in right {
            let whole = Canceller::never();
            case.prove(&quick(), &whole).unwrap();
            let mut cancelled = 0;
            for calls in (0..).step_by(4) {
                match case.prove(&quick(), &Canceller::after(calls)) {
                    Ok(()) => break,
                    Err(BuilderError::Cancelled) => cancelled += 1,
                    Err(error) => panic!("{error}"),
                }
                // Cancelled again at once, the proof keeps its state.
                let left = case.left();
                assert!(matches!(case.prove(&quick(), &Canceller::after(0)), Err(BuilderError::Cancelled)));
                assert_eq!(case.left(), left);
                let Unfinished::Usable(checkpoint) = case.files(&quick()).unfinished().unwrap() else {
                    assert_eq!(left, [""; 0]);
                    continue;
                };
                let resumed = Canceller::never();
                case.prove(&quick(), &resumed).unwrap();
                assert_eq!(resumed.resumed.into_inner(), checkpoint.steps);
                assert_eq!(resumed.steps.into_inner(), whole.steps.load(Relaxed));
                assert_eq!(case.left(), [""; 0]);
            }
            assert!(cancelled > 5, "{cancelled}");
        }
    }
}

#[test]
fn a_proof_cancelled_again_and_again_ends() {
    let dir = tempfile::tempdir().unwrap();
    for case in cases(dir.path(), |path| Reference::search(small_prefix()).write(path, Encoding::Byte)) {
        let mut runs = 1;
        while case.prove(&quick(), &Canceller::after(16)).is_err() {
            runs += 1;
            assert!(runs < 1000, "every run completes a class");
        }
        assert!(runs > 2, "{runs}");
        assert_eq!(case.left(), [""; 0]);
    }
}

#[test]
fn a_wrong_table_is_refused_after_any_interruption() {
    let dir = tempfile::tempdir().unwrap();
    for encoding in [Encoding::Byte, Encoding::Mod3] {
        for case in cases(dir.path(), |path| forged(path, encoding)) {
            for calls in (0..).step_by(4) {
                match case.prove(&quick(), &Canceller::after(calls)) {
                    Err(BuilderError::Cancelled) => {
                        let error = case.prove(&quick(), &()).expect_err("the table is wrong");
                        assert!(matches!(error, BuilderError::WrongTable { .. } | BuilderError::Table(_)), "{error}");
                    }
                    Err(_) => break,
                    Ok(()) => panic!("the table is wrong"),
                }
            }
        }
    }
}

#[test]
fn a_proof_resumes_after_a_crash_at_any_change() {
    for crash in [Crash::Killed, Crash::Torn, Crash::Lost, Crash::Zeroed] {
        for (right, index) in [(true, 0), (true, 2), (true, 3), (false, 1)] {
            let dir = tempfile::tempdir().unwrap();
            let cases = match right {
                true => cases(dir.path(), |path| Reference::search(small_prefix()).write(path, Encoding::Byte)),
                false => cases(dir.path(), |path| forged(path, Encoding::Byte)),
            };
            let case = &cases[index];
            let mut at = 0;
            let (mut resumed, mut crashes) = (0, 0);
            loop {
                let faults = Faults::new(Fault::Crash(at, crash));
                let storage: Arc<dyn FileSystem> = faults.clone();
                let result = case.prove(&storage, &());
                if !faults.crashed() {
                    assert_eq!(result.is_ok(), right);
                    break;
                }
                crashes += 1;
                let observer = Canceller::never();
                let result = case.prove(&quick(), &observer);
                assert_eq!(result.is_ok(), right, "{crash:?} at {at}: {result:?}");
                resumed += u64::from(observer.resumed.into_inner() > 0);
                assert_eq!(case.left(), [""; 0], "{crash:?} at {at}");
                at += 1 + at / 6;
            }
            assert!(crashes > 10 && resumed > crashes / 2, "{crash:?}: {resumed} of {crashes} resumed");
        }
    }
}

#[test]
fn a_failed_write_or_read_is_an_error_and_the_proof_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let cases = cases(dir.path(), |path| Reference::search(small_prefix()).write(path, Encoding::Byte));
    let case = &cases[0];
    type NewFault = fn(usize) -> Fault;
    for fault in [Fault::Full as NewFault, Fault::Unread as NewFault, Fault::Flipped as NewFault] {
        let mut failures = 0;
        for at in (0..400).step_by(9) {
            // Some reads occur only if the proof resumes.
            case.prove(&quick(), &Canceller::after(25)).unwrap_err();
            let storage: Arc<dyn FileSystem> = Faults::new(fault(at));
            if let Err(error) = case.prove(&storage, &()) {
                failures += 1;
                assert!(matches!(error, BuilderError::File { .. } | BuilderError::DamagedProof { .. }), "{error}");
                case.prove(&quick(), &()).unwrap();
            }
            assert_eq!(case.left(), [""; 0]);
        }
        assert!(failures > 4, "{failures}");
    }
}

#[test]
fn a_damaged_or_foreign_state_starts_again() {
    let dir = tempfile::tempdir().unwrap();
    let cases = cases(dir.path(), |path| Reference::search(small_prefix()).write(path, Encoding::Byte));
    let (case, state) = (&cases[0], dir.path().join(".table.sht.proof"));
    let spill = dir.path().join(".table.sht.proof.spill");
    let interrupt = || {
        case.prove(&quick(), &Canceller::after(25)).unwrap_err();
        fs::read(&state).unwrap()
    };
    let bytes = interrupt();
    let resumes = || {
        let observer = Canceller::never();
        case.prove(&quick(), &observer).unwrap();
        assert_eq!(case.left(), [""; 0]);
        observer.resumed.into_inner() > 0
    };
    assert!(resumes());
    for at in (0..bytes.len()).step_by(61).chain([bytes.len() - 1]) {
        interrupt();
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        fs::write(&state, damaged).unwrap();
        assert_eq!(case.files(&quick()).unfinished().unwrap(), Unfinished::Unusable);
        assert!(!resumes(), "byte {at}");
    }
    for length in [0, 7, 8, 100, bytes.len() - 8, bytes.len() - 1] {
        interrupt();
        fs::write(&state, &bytes[..length]).unwrap();
        assert!(!resumes(), "{length} bytes");
    }
    // The file of the state cannot be used without the spilled states.
    interrupt();
    fs::remove_file(&spill).unwrap();
    assert!(!resumes());
    interrupt();
    let shorter = fs::metadata(&spill).unwrap().len() - 1;
    fs::OpenOptions::new().write(true).open(&spill).unwrap().set_len(shorter).unwrap();
    assert!(!resumes());
    // Another table, and other options.
    interrupt();
    let other = Reference::search(small_prefix()).write(&dir.path().join("other.sht"), Encoding::Mod3);
    let files = ProofFiles::new(&quick(), dir.path(), &case.table, "proof", "others");
    assert_eq!(files.unfinished().unwrap(), Unfinished::Unusable);
    fs::rename(&state, dir.path().join(".other.sht.proof")).unwrap();
    let files = ProofFiles::new(&quick(), dir.path(), &other, "proof", "");
    assert_eq!(files.unfinished().unwrap(), Unfinished::Unusable);
}

#[test]
fn one_process_at_a_time_proves_a_table() {
    let dir = tempfile::tempdir().unwrap();
    for case in cases(dir.path(), |path| Reference::search(small_prefix()).write(path, Encoding::Byte)) {
        for calls in [0, 25] {
            let _ = case.prove(&quick(), &Canceller::after(calls));
            let first = case.open(&quick()).unwrap();
            let Err(BuilderError::File { source, .. }) = case.open(&quick()) else { panic!("the files are in use") };
            assert_eq!(source.kind(), std::io::ErrorKind::ResourceBusy);
            first.discard().unwrap();
        }
        assert_eq!(case.left(), [""; 0]);
    }
}
