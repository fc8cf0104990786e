//! Tables whose first partitions are in memory answer as mapped ones do.
#![cfg(unix)]

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use sternhalma_builder::TableBuilder;
use sternhalma_data::{Board, Encoding, Prefix, Probe, Rank, State, States, Table, TableError};
use tempfile::TempDir;

/// Four pieces on 9x9: partitions of one state up to 82,160.
fn built(encoding: Encoding) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    let prefix = Prefix::whole(Board::new(9, 4).unwrap());
    TableBuilder::new(prefix).encoding(encoding).threads(2).build(&path, &()).unwrap();
    (dir, path)
}

fn loaded(path: &Path, budget: u64) -> Table {
    Table::options().verify_blocks(true).load_budget(budget).open(path).unwrap()
}

/// The ends of a few partitions, small and large, first and last among them.
fn ends(table: &Table) -> Vec<(usize, u64)> {
    let ends: Vec<u64> = table.layout().partitions().map(|partition| partition.bytes.end).collect();
    let few = [1, 2, 10, 40, 75, ends.len() - 1, ends.len()];
    few.into_iter().map(|count| (count, ends[count - 1])).collect()
}

#[test]
fn answers_are_the_same_at_any_budget() {
    for encoding in [Encoding::Byte, Encoding::Mod3] {
        let (_dir, path) = built(encoding);
        let mapped = Table::open(&path).unwrap();
        assert_eq!((mapped.loaded_bytes(), mapped.loaded_partitions()), (0, 0));
        let told = mapped.distances().unwrap();
        let all = mapped.layout().partitions().count();
        let mut budgets = vec![(0, 0), (all, u64::MAX)];
        for (count, end) in ends(&mapped) {
            // Small partitions of two bits a state end on one byte.
            let below = mapped.layout().partitions().filter(|partition| partition.bytes.end < end).count();
            budgets.extend([(below, end - 1), (count, end), (count, end + 1)]);
        }
        for (count, budget) in budgets {
            let table = loaded(&path, budget);
            // The last page may hold small partitions more.
            let pages = table.loaded_bytes().saturating_sub(budget);
            assert!(table.loaded_partitions() >= count && pages < 1 << 16, "{encoding}, {budget} bytes");
            let larger_than_pages = count >= 70;
            assert!(!larger_than_pages || table.loaded_partitions() == count, "{encoding}, {budget} bytes");
            let end = mapped.layout().partitions().take(count).last().map_or(0, |partition| partition.bytes.end);
            assert!(table.loaded_bytes() >= end, "{encoding}, {budget} bytes");
            assert_eq!(count == 0, table.loaded_bytes() == 0, "{encoding}, {budget} bytes");
            assert!(table.distances().unwrap() == told, "{encoding}, {budget} bytes");
            for (rank, state) in States::all(table.prefix()).step_by(997) {
                let distance = table.probe(state).unwrap().distance().unwrap();
                assert_eq!(distance.0, told[rank.0 as usize], "{encoding}, {budget} bytes, rank {rank}");
            }
        }
        let whole = loaded(&path, mapped.layout().data_bytes());
        assert_eq!((whole.loaded_bytes(), whole.loaded_partitions()), (whole.layout().data_bytes(), all));
        assert_eq!((whole.provenance(), whole.checksum()), (mapped.provenance(), mapped.checksum()));
    }
}

#[test]
fn a_batch_runs_across_the_border() {
    let (_dir, path) = built(Encoding::Byte);
    let mapped = Table::open(&path).unwrap();
    let states: Vec<State> = States::all(mapped.prefix()).step_by(311).map(|(_, state)| state).collect();
    let answers = |table: &Table| {
        let mut out = vec![0; states.len()];
        assert!(table.probe_bytes(&states, &mut out));
        out
    };
    let told = answers(&mapped);
    for (_, end) in ends(&mapped) {
        assert_eq!(answers(&loaded(&path, end)), told);
    }
}

#[test]
fn what_is_loaded_needs_the_file_no_more() {
    let (_dir, path) = built(Encoding::Byte);
    let mapped = Table::open(&path).unwrap();
    let told = mapped.distances().unwrap().into_owned();
    let (_, end) = ends(&mapped)[3];
    drop(mapped);
    let (part, whole) = (loaded(&path, end), loaded(&path, u64::MAX));
    let still = Table::options().load_budget(end).open(&path).unwrap();
    OpenOptions::new().write(true).open(&path).unwrap().set_len(8192).unwrap();
    std::fs::remove_file(&path).unwrap();
    for (rank, distance) in told.iter().enumerate() {
        let state = Rank(rank as u64).state(4);
        let found = |lookup: Probe| lookup.distance().unwrap().0;
        assert_eq!(found(whole.probe(state).unwrap()), *distance);
        if (rank as u64) < end {
            assert_eq!(found(still.probe(state).unwrap()), *distance);
        }
    }
    (0..whole.layout().blocks()).for_each(|block| whole.check_block(block).unwrap());
    for rank in [0, end / 2, end - 1] {
        assert_eq!(part.probe(Rank(rank).state(4)).unwrap().distance().unwrap().0, told[rank as usize]);
    }
    let beyond = part.probe(Rank(told.len() as u64 - 1).state(4)).unwrap_err();
    assert!(matches!(beyond, TableError::Corrupt { .. }) && beyond.to_string().contains("cut short"), "{beyond}");
}

#[test]
fn damage_is_found_in_memory_too() {
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
