//! Tables built out of core against those built in memory.

use proptest::prelude::*;
use sternhalma_data::Board;
use sternhalma_data::table::Zstd;
use tempfile::TempDir;

use super::faults::{Fault, Faults};
use super::*;
use crate::{build, least_memory};

/// Where the header tells of the data.
const DATA_AT: usize = 56;
const DATA_BYTES_AT: usize = 64;

pub(super) fn zstd(block_states: u64) -> Encoding {
    Encoding::Zstd(Zstd::new(block_states, 1).unwrap())
}

fn encodings() -> [Encoding; 3] {
    [Encoding::Byte, Encoding::Mod3, zstd(64)]
}

pub(super) fn prefix(side: u64, pieces: u64, within: u64) -> Prefix {
    Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap()
}

/// The bytes of a table, but for the record of the build.
pub(super) fn bytes_of(path: &Path) -> Vec<u8> {
    Table::open(path).unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    // The record of the build, which differs in length and text, comes after the data.
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let data_end = word(DATA_AT) + word(DATA_BYTES_AT);
    bytes.truncate(data_end);
    bytes
}

/// A place to build the same table in different ways.
struct Twice {
    dir: TempDir,
    options: BuildOptions,
}

impl Twice {
    fn new(prefix: Prefix, encoding: Encoding, threads: usize) -> Twice {
        let twice = Twice { dir: tempfile::tempdir().unwrap(), options: BuildOptions { prefix, encoding, threads } };
        build(&twice.in_memory(), twice.options, false, &()).unwrap();
        twice
    }

    fn in_memory(&self) -> PathBuf {
        self.dir.path().join("in-memory.sht")
    }

    fn out_of_core(&self) -> PathBuf {
        self.dir.path().join("out-of-core.sht")
    }

    fn work(&self, memory: u64) -> OutOfCore {
        OutOfCore { directory: self.dir.path().join("work"), memory, fresh: false, uncached: true }
    }

    /// Builds out of core, anew.
    fn cut(&self, limits: Limits) {
        let pool = ThreadPoolBuilder::new().num_threads(self.options.threads).build().unwrap();
        let work = OutOfCore { fresh: true, ..self.work(u64::MAX) };
        let storage: Arc<dyn FileSystem> = Faults::new(Fault::Nothing);
        let done = build_in(&storage, &self.out_of_core(), self.options, &work, limits, true, &pool, &()).unwrap();
        assert_eq!(done, Done::Built);
        self.assert_same(limits);
    }

    fn assert_same(&self, what: impl std::fmt::Debug) {
        let (told, made) = (Table::open(&self.in_memory()).unwrap(), Table::open(&self.out_of_core()).unwrap());
        let what = format!("{:?} as {what:?}", self.options);
        assert_eq!(made.info(), told.info(), "{what}");
        assert_eq!(made.checksum(), told.checksum(), "{what}");
        assert_eq!(made.provenance().successors, told.provenance().successors, "{what}");
        assert!(bytes_of(&self.out_of_core()) == bytes_of(&self.in_memory()), "{what}");
        let left = std::fs::read_dir(self.work(0).directory).unwrap().map(|file| file.unwrap().file_name());
        let mut left: Vec<_> = left.collect();
        left.sort();
        assert_eq!(left, ["build.json", "lock"], "{what}");
    }
}

/// Every way to fix pieces and to choose lanes.
fn ways(prefix: Prefix) -> impl Iterator<Item = (usize, usize)> {
    let pieces = prefix.board().pieces();
    (0..=pieces - 2).flat_map(move |fixed| (1..=pieces - 1 - fixed).map(move |lanes| (fixed, lanes)))
}

#[test]
fn bytes_are_those_of_a_build_in_memory_however_the_states_are_cut() {
    let prefixes = [(3, 2, 9), (3, 4, 8), (4, 2, 16), (4, 3, 12), (4, 5, 16), (5, 4, 25), (5, 3, 4), (6, 3, 36)];
    for (i, (side, pieces, within)) in (0..).zip(prefixes) {
        let prefix = prefix(side, pieces, within);
        for encoding in encodings() {
            let twice = Twice::new(prefix, encoding, 1 + i % 3);
            for (fixed, lanes) in ways(prefix) {
                for (chunk_words, pending) in [(1, 0), (2, 700), (64, 3000), (3, u64::MAX / 2)] {
                    twice.cut(Limits { fixed, lanes, chunk_words, pending });
                }
            }
        }
    }
}

/// Blocks of a table, chunks and units end at different ranks.
#[test]
fn tables_of_many_blocks_are_made_of_chunks_of_any_length() {
    let twice = Twice::new(prefix(7, 5, 45), Encoding::Byte, 2);
    for (fixed, lanes, chunk_words, pending) in
        [(1, 2, 7, 30_000), (2, 2, 61, 0), (0, 3, 100, 0), (1, 3, 4096, 1 << 20)]
    {
        twice.cut(Limits { fixed, lanes, chunk_words, pending });
    }
    let twice = Twice::new(prefix(7, 5, 49), Encoding::Mod3, 3);
    twice.cut(Limits { fixed: 1, lanes: 2, chunk_words: 1000, pending: 100_000 });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn bytes_are_the_same_for_any_prefix_and_cut(
        (side, pieces) in prop_oneof![Just((3, 3)), Just((4, 4)), Just((5, 4)), Just((5, 5)), Just((6, 2)), Just((6, 4)), Just((9, 3))],
        cells in 0.0..1.0,
        encoding in 0usize..3,
        threads in 1usize..4,
        way in any::<prop::sample::Index>(),
        chunk_words in prop_oneof![1usize..4, 1usize..200],
        pending in prop_oneof![Just(0), 0u64..10_000, Just(1 << 40)],
    ) {
        let within = pieces + (cells * (side * side - pieces + 1) as f64) as u64;
        let prefix = prefix(side, pieces, within);
        let ways: Vec<_> = ways(prefix).collect();
        let (fixed, lanes) = ways[way.index(ways.len())];
        let twice = Twice::new(prefix, encodings()[encoding], threads);
        twice.cut(Limits { fixed, lanes, chunk_words, pending });
    }
}

#[test]
fn the_least_memory_works_and_less_is_refused() {
    for (prefix, encoding, threads) in [
        (prefix(6, 5, 30), Encoding::Byte, 2),
        (prefix(4, 2, 16), Encoding::Mod3, 1),
        (prefix(7, 5, 49), Encoding::Mod3, 3),
        (prefix(5, 4, 25), zstd(4096), 2),
    ] {
        let twice = Twice::new(prefix, encoding, threads);
        let least = least_memory(prefix, encoding, threads);
        assert_eq!(least % (1 << 20), 0);
        let least_of_one = least_memory(prefix, encoding, 1);
        let too_little = least_of_one - (1 << 20);
        let refused = build_out_of_core(&twice.out_of_core(), twice.options, &twice.work(too_little), false, &());
        match refused {
            Err(BuildError::Limit { least: named, limit }) => assert_eq!((named, limit), (least_of_one, too_little)),
            other => panic!("{other:?}"),
        }
        assert!(!twice.work(0).directory.exists());
        build_out_of_core(&twice.out_of_core(), twice.options, &twice.work(least), false, &()).unwrap();
        twice.assert_same(least);
    }
}

#[test]
fn whatever_is_more_than_the_least_memory_works() {
    for (side, pieces) in [(5, 3), (9, 5), (9, 6), (9, 10), (11, 6), (11, 15)] {
        let prefix = Prefix::whole(Board::new(side, pieces).unwrap());
        for encoding in encodings() {
            for threads in [1, 4] {
                let least = least_memory(prefix, encoding, threads);
                for more in (0..64).map(|mib| mib << 20).chain([1 << 28, 1 << 30, 1 << 34, u64::MAX - least]) {
                    let (_, all) = limits(prefix, encoding, threads, least + more).unwrap();
                    assert_eq!(all, threads, "{prefix} in {least} + {more}");
                }
                let less = limits(prefix, encoding, threads, least - (1 << 20));
                assert!(less.is_err() || less.is_ok_and(|(_, fewer)| fewer < threads), "{prefix} in {least}");
            }
        }
    }
}

#[test]
fn any_number_of_threads_has_its_least_memory() {
    let prefix = Prefix::whole(Board::new(9, 10).unwrap());
    let few = least_memory(prefix, Encoding::Byte, 1);
    assert!(least_memory(prefix, Encoding::Byte, 1000) > few);
    let (_, threads) = limits(prefix, Encoding::Byte, usize::MAX, few).unwrap();
    assert_eq!(threads, 1);
    let (_, threads) = limits(prefix, Encoding::Byte, usize::MAX, least_memory(prefix, Encoding::Byte, 7)).unwrap();
    assert!(threads >= 7);
}
