//! Tables built out of core against those built in memory.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use sternhalma_data::table::Ans;
use sternhalma_data::table::fs::FileSystem;
use sternhalma_data::{Board, Encoding, Prefix, Table, TableSpec};
use sternhalma_testutil::bytes_of;
use tempfile::TempDir;

use super::{prefix, zstd};
use crate::construction::memory::{fit_to_limit, least_memory};
use crate::construction::out_of_core::OutOfCoreBuild;
use crate::external::PartitionParams;
use crate::faults::{Fault, Faults};
use crate::process::thread_pool;
use crate::{BuildMode, BuildOutcome, BuilderError, LayerForm, TableBuilder};

fn encodings() -> [Encoding; 4] {
    [Encoding::Byte, Encoding::Mod3, zstd(64), Encoding::Ans(Ans::new(64).unwrap())]
}

/// A directory with a table that was built in memory, to build again out of core.
struct Comparison {
    dir: TempDir,
    spec: TableSpec,
    threads: usize,
}

impl Comparison {
    fn new(prefix: Prefix, encoding: Encoding, threads: usize) -> Comparison {
        Comparison::of(TableSpec { prefix, encoding, mirrored: false }, threads)
    }

    fn of(spec: TableSpec, threads: usize) -> Comparison {
        let comparison = Comparison { dir: tempfile::tempdir().unwrap(), spec, threads };
        comparison.builder().mode(BuildMode::InMemory).build(comparison.in_memory(), &()).unwrap();
        comparison
    }

    fn builder(&self) -> TableBuilder {
        // An out-of-core build of an unmirrored table expands all contexts.
        let builder = TableBuilder::new(self.spec.prefix).encoding(self.spec.encoding).mirroring(self.spec.mirrored);
        builder.threads(self.threads).work_dir(self.work_dir())
    }

    fn in_memory(&self) -> PathBuf {
        self.dir.path().join("in-memory.sht")
    }

    fn out_of_core(&self) -> PathBuf {
        self.dir.path().join("out-of-core.sht")
    }

    fn work_dir(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// Builds the table out of core from the start with these parameters, and compares it.
    fn check(&self, params: PartitionParams) {
        let storage: Arc<dyn FileSystem> = Faults::new(Fault::Nothing);
        let options = &self.builder().restart(true).overwrite(true).drop_page_cache(true);
        let pool = &thread_pool(self.threads).unwrap();
        for form in LayerForm::ALL {
            let storage = Arc::clone(&storage);
            let build = OutOfCoreBuild { storage, options, params, form, commit_bytes: 300, pool, observer: &() };
            assert_eq!(build.run(&self.out_of_core(), &self.work_dir()).unwrap(), BuildOutcome::Built);
            self.assert_same((params, form));
        }
    }

    fn assert_same(&self, params: impl Debug) {
        let [expected, built] = [self.in_memory(), self.out_of_core()].map(|path| Table::open(&path).unwrap());
        let what = format!("{} on {} threads with {params:?}", self.spec, self.threads);
        assert_eq!(built.info(), expected.info(), "{what}");
        assert_eq!(built.checksum(), expected.checksum(), "{what}");
        if !self.spec.mirrored {
            // The contexts whose mirror images are expanded too depend on the division.
            assert_eq!(built.provenance().successors, expected.provenance().successors, "{what}");
        }
        assert!(bytes_of(&self.out_of_core()) == bytes_of(&self.in_memory()), "{what}");
        let left = std::fs::read_dir(self.work_dir()).unwrap().map(|file| file.unwrap().file_name());
        let mut left: Vec<_> = left.collect();
        left.sort();
        assert_eq!(left, ["build.json", "lock"], "{what}");
    }
}

/// Returns all numbers of fixed_pieces pieces and slice pieces.
fn divisions(prefix: Prefix) -> impl Iterator<Item = (usize, usize)> {
    let pieces = prefix.board().pieces();
    (0..=pieces - 2).flat_map(move |fixed_pieces| {
        (1..=pieces - 1 - fixed_pieces).map(move |slice_pieces| (fixed_pieces, slice_pieces))
    })
}

/// The words of segments, and the bytes of spills.
const SEGMENTS: [(usize, u64); 4] = [(1, 0), (2, 700), (64, 3000), (3, u64::MAX / 2)];

/// Compares the builds of prefixes in all partitionings, each with all `SEGMENTS` or with one of them in turn.
fn check_partitionings(prefixes: &[(u64, u64, u64)], mirrored: bool, all_segments: bool) {
    let mut turn = 0;
    for (i, &(side, pieces, within)) in (0..).zip(prefixes) {
        for encoding in encodings() {
            let spec = TableSpec { prefix: prefix(side, pieces, within), encoding, mirrored };
            let comparison = Comparison::of(spec, 1 + i % 3);
            // A group of a mirrored table has an upper piece.
            let divisions = divisions(spec.prefix).filter(|&(_, slice)| !mirrored || slice as u64 + 1 < pieces);
            for (fixed_pieces, slice_pieces) in divisions {
                turn += 1;
                for (at, (segment_words, spill_bytes)) in (0..).zip(SEGMENTS) {
                    if all_segments || turn % SEGMENTS.len() == at {
                        comparison.check(PartitionParams { fixed_pieces, slice_pieces, segment_words, spill_bytes });
                    }
                }
            }
        }
    }
}

/// Prefixes whose builds take little time, and others.
const SMALL: [(u64, u64, u64); 5] = [(3, 2, 9), (3, 4, 8), (4, 2, 16), (4, 3, 12), (5, 3, 4)];
const LARGER: [(u64, u64, u64); 3] = [(4, 5, 16), (5, 4, 25), (6, 3, 36)];
const MIRRORED: [(u64, u64, u64); 5] = [(3, 3, 9), (3, 6, 9), (4, 3, 13), (4, 3, 16), (4, 6, 15)];

#[test]
fn bytes_equal_those_of_a_build_in_memory_for_all_partitionings() {
    check_partitionings(&SMALL, false, true);
    check_partitionings(&LARGER, false, false);
    check_partitionings(&MIRRORED, true, false);
}

#[test]
#[ignore = "takes minutes; `.ci/long` runs it"]
fn bytes_equal_those_of_a_build_in_memory_for_all_partitionings_and_segments() {
    check_partitionings(&LARGER, false, true);
    check_partitionings(&MIRRORED, true, true);
}

#[test]
fn larger_mirrored_tables_equal_those_of_a_build_in_memory() {
    for (side, pieces, within) in [(5, 6, 25), (6, 3, 33), (6, 6, 26), (5, 10, 22), (9, 3, 81)] {
        for encoding in [Encoding::Mod3, zstd(64)] {
            let spec = TableSpec { prefix: prefix(side, pieces, within), encoding, mirrored: true };
            let comparison = Comparison::of(spec, 2);
            for fixed_pieces in 0..4.min(pieces as usize - 2) {
                let slice_pieces = (pieces as usize - 1 - fixed_pieces).min(3).min(pieces as usize - 2);
                let (segment_words, spill_bytes) = (500, 100_000);
                comparison.check(PartitionParams { fixed_pieces, slice_pieces, segment_words, spill_bytes });
            }
        }
    }
}

/// Table blocks, segments and partitions end at different ranks.
#[test]
fn tables_of_many_blocks_are_assembled_from_segments_of_any_length() {
    let comparison = Comparison::new(prefix(7, 5, 45), Encoding::Byte, 2);
    for (fixed_pieces, slice_pieces, segment_words, spill_bytes) in
        [(1, 2, 7, 30_000), (2, 2, 61, 0), (0, 3, 100, 0), (1, 3, 4096, 1 << 20)]
    {
        comparison.check(PartitionParams { fixed_pieces, slice_pieces, segment_words, spill_bytes });
    }
    let comparison = Comparison::new(prefix(7, 5, 49), Encoding::Mod3, 3);
    comparison.check(PartitionParams { fixed_pieces: 1, slice_pieces: 2, segment_words: 1000, spill_bytes: 100_000 });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn bytes_are_the_same_for_any_prefix_and_partitioning(
        (side, pieces) in prop_oneof![Just((3, 3)), Just((4, 4)), Just((5, 4)), Just((5, 5)), Just((6, 2)), Just((6, 4)), Just((9, 3))],
        cells in 0.0..1.0,
        encoding in 0usize..3,
        threads in 1usize..4,
        division in any::<prop::sample::Index>(),
        segment_words in prop_oneof![1usize..4, 1usize..200],
        spill_bytes in prop_oneof![Just(0), 0u64..10_000, Just(1 << 40)],
    ) {
        let within = pieces + (cells * (side * side - pieces + 1) as f64) as u64;
        let prefix = prefix(side, pieces, within);
        let divisions: Vec<_> = divisions(prefix).collect();
        let (fixed_pieces, slice_pieces) = divisions[division.index(divisions.len())];
        let comparison = Comparison::new(prefix, encodings()[encoding], threads);
        comparison.check(PartitionParams { fixed_pieces, slice_pieces, segment_words, spill_bytes });
    }
}

#[test]
fn the_least_memory_suffices_and_less_is_refused() {
    for (prefix, encoding, mirrored, threads) in [
        (prefix(6, 5, 30), Encoding::Byte, false, 2),
        (prefix(4, 2, 16), Encoding::Mod3, false, 1),
        (prefix(7, 5, 49), Encoding::Mod3, false, 3),
        (prefix(5, 4, 25), zstd(4096), false, 2),
        (prefix(7, 6, 43), Encoding::Mod3, true, 2),
    ] {
        let comparison = Comparison::of(TableSpec { prefix, encoding, mirrored }, threads);
        let build = |memory: u64| {
            let builder = comparison.builder().mode(BuildMode::OutOfCore).memory_limit(memory);
            builder.build(comparison.out_of_core(), &())
        };
        let least = least_memory(comparison.spec, threads);
        assert_eq!(least % (1 << 20), 0);
        let least_of_one = least_memory(comparison.spec, 1);
        let too_little = least_of_one - (1 << 20);
        match build(too_little) {
            Err(BuilderError::MemoryLimit { least, limit }) => assert_eq!((least, limit), (least_of_one, too_little)),
            other => panic!("{other:?}"),
        }
        assert!(!comparison.work_dir().exists());
        build(least).unwrap();
        comparison.assert_same(least);
    }
}

#[test]
fn every_limit_above_the_least_memory_suffices() {
    for (side, pieces) in [(5, 3), (9, 5), (9, 6), (9, 10), (11, 6), (11, 15)] {
        let prefix = Prefix::whole(Board::new(side, pieces).unwrap());
        for encoding in [Encoding::Byte, Encoding::Mod3] {
            let spec = TableSpec { prefix, encoding, mirrored: false };
            for threads in [1, 4] {
                let least = least_memory(spec, threads);
                for more in (0..64).map(|mib| mib << 20).chain([1 << 28, 1 << 30, 1 << 34, u64::MAX - least]) {
                    let (_, all) = fit_to_limit(spec, threads, least + more).unwrap();
                    assert_eq!(all, threads, "{prefix} in {least} + {more}");
                }
                let less = fit_to_limit(spec, threads, least - (1 << 20));
                assert!(less.is_err() || less.is_ok_and(|(_, fewer)| fewer < threads), "{prefix} in {least}");
            }
        }
    }
}

#[test]
fn more_threads_need_more_memory() {
    let prefix = Prefix::whole(Board::new(9, 10).unwrap());
    let spec = TableSpec { prefix, encoding: Encoding::Byte, mirrored: false };
    let least_of_one = least_memory(spec, 1);
    assert!(least_memory(spec, 1000) > least_of_one);
    let (_, threads) = fit_to_limit(spec, usize::MAX, least_of_one).unwrap();
    assert_eq!(threads, 1);
    let (_, threads) = fit_to_limit(spec, usize::MAX, least_memory(spec, 7)).unwrap();
    assert!(threads >= 7);
}
