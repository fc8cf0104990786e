//! Tables whose first partitions are in memory answer like mapped ones.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use sternhalma_data::{Board, Encoding, Prefix, Probe, Rank, State, States, Table, TableError};
use sternhalma_testutil::{Reference, encodings};
use tempfile::TempDir;

/// Four pieces on the 9x9 board. Partitions have one to 82,160 states.
static REFERENCE: LazyLock<Reference> = LazyLock::new(|| Reference::search(Prefix::whole(Board::new(9, 4).unwrap())));

fn built(encoding: Encoding) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    REFERENCE.write(&path, encoding);
    (dir, path)
}

fn loaded(path: &Path, budget: u64) -> Table {
    Table::options().verify_blocks(true).load_budget(budget).open(path).unwrap()
}

/// Returns the ends of a few partitions: small and large ones, the first and the last.
fn ends(table: &Table) -> Vec<(usize, u64)> {
    let ends: Vec<u64> = table.layout().partitions().map(|partition| partition.bytes.end).collect();
    let few = [1, 2, 10, 40, 75, ends.len() - 1, ends.len()];
    few.into_iter().map(|count| (count, ends[count - 1])).collect()
}

#[test]
fn answers_are_the_same_at_any_budget() {
    for encoding in encodings() {
        let (_dir, path) = built(encoding);
        let mapped = Table::open(&path).unwrap();
        assert_eq!((mapped.loaded_bytes(), mapped.loaded_partitions()), (0, 0));
        let expected = mapped.distances().unwrap();
        let all = mapped.layout().partitions().count();
        let mut budgets = vec![(0, 0), (all, u64::MAX)];
        for (count, end) in ends(&mapped) {
            // Small partitions of two bits per state end on the same byte.
            let below = mapped.layout().partitions().filter(|partition| partition.bytes.end < end).count();
            budgets.extend([(below, end - 1), (count, end), (count, end + 1)]);
        }
        for (count, budget) in budgets {
            let table = loaded(&path, budget);
            // The last page may hold further small partitions.
            let pages = table.loaded_bytes().saturating_sub(budget);
            assert!(table.loaded_partitions() >= count && pages < 1 << 16, "{encoding}, {budget} bytes");
            let larger_than_pages = count >= 70;
            assert!(!larger_than_pages || table.loaded_partitions() == count, "{encoding}, {budget} bytes");
            let end = mapped.layout().partitions().take(count).last().map_or(0, |partition| partition.bytes.end);
            assert!(table.loaded_bytes() >= end, "{encoding}, {budget} bytes");
            assert_eq!(count == 0, table.loaded_bytes() == 0, "{encoding}, {budget} bytes");
            assert!(table.distances().unwrap() == expected, "{encoding}, {budget} bytes");
            for (rank, state) in States::all(table.prefix()).step_by(997) {
                let distance = table.probe(state).unwrap().distance().unwrap();
                assert_eq!(distance.0, expected[rank.0 as usize], "{encoding}, {budget} bytes, rank {rank}");
            }
        }
        let whole = loaded(&path, mapped.layout().data_bytes());
        assert_eq!((whole.loaded_bytes(), whole.loaded_partitions()), (whole.layout().data_bytes(), all));
        assert_eq!((whole.provenance(), whole.checksum()), (mapped.provenance(), mapped.checksum()));
    }
}

#[test]
fn partitions_of_mirrored_tables_are_loaded() {
    let reference = Reference::search(Prefix::whole(Board::new(9, 3).unwrap()));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    for encoding in encodings() {
        let mapped = reference.write_mirrored(&path, encoding).unwrap();
        let ends: Vec<u64> = mapped.layout().partitions().map(|partition| partition.bytes.end).collect();
        for end in [ends[40], ends[60], ends[78]] {
            let table = loaded(&path, end);
            let count = ends.iter().filter(|&&other| other <= end).count();
            assert!(table.loaded_partitions() >= count && table.loaded_bytes() < mapped.layout().data_bytes() + 1);
            assert!(*table.distances().unwrap() == reference.distances, "{encoding}, {end} bytes");
            for (rank, state) in States::all(table.prefix()).step_by(97) {
                let distance = table.probe(state).unwrap().distance().unwrap();
                assert_eq!(distance.0, reference.distances[rank.0 as usize], "{encoding}, {end} bytes, rank {rank}");
            }
        }
    }
}

#[test]
fn a_batch_spans_loaded_and_mapped_partitions() {
    let (_dir, path) = built(Encoding::Byte);
    let mapped = Table::open(&path).unwrap();
    let states: Vec<State> = States::all(mapped.prefix()).step_by(311).map(|(_, state)| state).collect();
    let answers = |table: &Table| {
        let mut out = vec![0; states.len()];
        assert!(table.probe_bytes(&states, &mut out));
        out
    };
    let expected = answers(&mapped);
    for (_, end) in ends(&mapped) {
        assert_eq!(answers(&loaded(&path, end)), expected);
    }
}

#[test]
fn loaded_partitions_do_not_need_the_file() {
    let (_dir, path) = built(Encoding::Byte);
    let mapped = Table::open(&path).unwrap();
    let expected = mapped.distances().unwrap().into_owned();
    let (_, end) = ends(&mapped)[3];
    drop(mapped);
    let (part, whole) = (loaded(&path, end), loaded(&path, u64::MAX));
    let still = Table::options().load_budget(end).open(&path).unwrap();
    OpenOptions::new().write(true).open(&path).unwrap().set_len(8192).unwrap();
    std::fs::remove_file(&path).unwrap();
    for (rank, distance) in expected.iter().enumerate() {
        let state = Rank(rank as u64).state(4);
        let found = |probe: Probe| probe.distance().unwrap().0;
        assert_eq!(found(whole.probe(state).unwrap()), *distance);
        if (rank as u64) < end {
            assert_eq!(found(still.probe(state).unwrap()), *distance);
        }
    }
    (0..whole.layout().blocks()).for_each(|block| whole.check_block(block).unwrap());
    for rank in [0, end / 2, end - 1] {
        assert_eq!(part.probe(Rank(rank).state(4)).unwrap().distance().unwrap().0, expected[rank as usize]);
    }
    let beyond = part.probe(Rank(expected.len() as u64 - 1).state(4)).unwrap_err();
    assert!(matches!(beyond, TableError::Corrupt { .. }) && beyond.to_string().contains("cut short"), "{beyond}");
}

#[test]
fn damage_is_found_in_loaded_partitions() {
    let (_dir, path) = built(Encoding::Byte);
    let offset = std::fs::metadata(&path).unwrap().len() - 4096;
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[offset as usize] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let table = loaded(&path, u64::MAX);
    let last = Rank(table.prefix().states() - 1).state(4);
    assert!(table.probe(last).unwrap_err().to_string().contains("checksum"));
    assert!(table.probe(Rank(0).state(4)).is_ok());
}
