//! Ranks, moves, look-ups and the build of a small board.
//!
//! The look-ups use the table of 6 pieces on 9x9 if `STERNHALMA_BENCH_TABLE`
//! names its file, and else build a smaller one.

mod support;

use std::hint::black_box;
use std::path::PathBuf;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sternhalma_builder::{TableBuilder, TableConverter};
use sternhalma_data::table::{Ans, Zstd};
use sternhalma_data::{Board, CellSet, Encoding, Prefix, Probe, Rank, State, States, Table};

const SAMPLES: usize = 1 << 16;

fn random_ranks(states: u64) -> Vec<u64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(6);
    (0..SAMPLES).map(|_| rng.random_range(0..states)).collect()
}

fn random_states(board: Board) -> Vec<State> {
    random_ranks(board.states()).into_iter().map(|rank| Rank(rank).state(board.pieces())).collect()
}

fn ranks(c: &mut Criterion) {
    for pieces in [6, 10] {
        let board = Board::new(9, pieces).unwrap();
        let states = random_states(board);
        let sum: u64 = random_ranks(board.states()).iter().fold(0, |sum, rank| sum.wrapping_add(*rank));
        let mut group = c.benchmark_group(format!("9x9-{pieces}"));
        group.throughput(Throughput::Elements(SAMPLES as u64));
        group.bench_function("rank", |b| {
            b.iter(|| {
                let ranked = black_box(&states).iter().fold(0u64, |sum, &state| sum.wrapping_add(Rank::of(state).0));
                assert_eq!(ranked, sum);
            });
        });
        group.bench_function("unrank in order", |b| {
            let start = board.states() / 2;
            let expected = (start..start + SAMPLES as u64)
                .fold(0, |all, rank| all ^ Rank(rank).state(board.pieces()).cells().bits());
            b.iter(|| {
                let states = States::of_ranks(board.pieces(), black_box(start)..start + SAMPLES as u64);
                assert_eq!(states.fold(0, |all, (_, state)| all ^ state.cells().bits()), expected);
            });
        });
        group.bench_function("unrank anywhere", |b| {
            let (ranks, expected) =
                (random_ranks(board.states()), states.iter().fold(0, |all, state| all ^ state.cells().bits()));
            b.iter(|| {
                let unranked = black_box(&ranks)
                    .iter()
                    .fold(0, |all, &rank| all ^ Rank(rank).state(board.pieces()).cells().bits());
                assert_eq!(unranked, expected);
            });
        });
        group.finish();
    }
}

fn moves(c: &mut Criterion) {
    let board = Board::new(9, 6).unwrap();
    let states = random_states(board);
    let count = |states: &[State]| -> usize {
        states.iter().map(|&state| board.geometry().army_moves(state.cells(), CellSet::EMPTY).count()).sum()
    };
    let expected = count(&states);
    let mut group = c.benchmark_group("9x9-6");
    group.throughput(Throughput::Elements(expected as u64));
    group.bench_function("moves", |b| b.iter(|| assert_eq!(count(black_box(&states)), expected)));
    group.finish();
}

fn lookups(c: &mut Criterion) {
    let mapped = support::table();
    let loaded = support::table_with(Table::options().load_budget(u64::MAX));
    assert_eq!((mapped.loaded_bytes(), loaded.loaded_bytes()), (0, loaded.layout().data_bytes()));
    let board = mapped.prefix().board();
    // More positions than caches hold, so that each look-up is a load from memory.
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    let states: Vec<State> =
        (0..1 << 20).map(|_| Rank(rng.next_u64() % board.states()).state(board.pieces())).collect();
    let bytes = mapped.as_bytes().expect("the bench is of a byte table");
    let expected: u64 = states.iter().map(|&state| u64::from(bytes[Rank::of(state).0 as usize])).sum();
    for &state in states.iter().step_by(1 << 10) {
        let Probe::Exact(distance) = mapped.probe(state).unwrap() else { panic!("a whole table is exact") };
        assert_eq!(distance.0, bytes[Rank::of(state).0 as usize]);
    }
    let mut group = c.benchmark_group(format!("{0}x{0}-{1}", board.size(), board.pieces()));
    group.throughput(Throughput::Elements(states.len() as u64));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mirrored.sht");
    TableConverter::new(&mapped, Encoding::Byte).mirrored(true).convert(&path, &()).unwrap();
    for (options, how) in
        [(Table::options(), "mapped, mirrored"), (Table::options().load_budget(u64::MAX), "in memory, mirrored")]
    {
        let table = options.open(&path).unwrap();
        group.bench_function(format!("look-up of a batch, {how}"), |b| {
            let mut out = vec![0; states.len()];
            b.iter(|| {
                assert!(table.probe_bytes(black_box(&states), &mut out));
                assert_eq!(out.iter().map(|&distance| u64::from(distance)).sum::<u64>(), expected);
            });
        });
    }
    let ranks: Vec<u64> = states.iter().map(|state| state.rank().0).collect();
    for (table, how) in [(&mapped, "mapped"), (&loaded, "in memory")] {
        let bytes = table.as_bytes().expect("the bench is of a byte table");
        // The yardstick of `distances` in Python.
        group.bench_function(format!("look-up of ranks, {how}"), |b| {
            let mut out = vec![0; ranks.len()];
            b.iter(|| {
                out.iter_mut().zip(black_box(&ranks)).for_each(|(out, &rank)| *out = bytes[rank as usize]);
                assert_eq!(out.iter().map(|&distance| u64::from(distance)).sum::<u64>(), expected);
            });
        });
        group.bench_function(format!("look-up, {how}"), |b| {
            b.iter(|| {
                let ranks = black_box(&states).iter().map(|&state| Rank::of(state).0);
                let sum: u64 = ranks.map(|rank| u64::from(bytes[rank as usize])).sum();
                assert_eq!(sum, expected);
            });
        });
        group.bench_function(format!("look-up of a batch, {how}"), |b| {
            let mut out = vec![0; states.len()];
            b.iter(|| {
                assert!(table.probe_bytes(black_box(&states), &mut out));
                assert_eq!(out.iter().map(|&distance| u64::from(distance)).sum::<u64>(), expected);
            });
        });
    }
    group.finish();
}

/// Look-ups of random states one after the other on one core, of the table in
/// each encoding. `zstd` and `ans` keep 16 MiB of blocks. The files are recomputed at a
/// fast level of zstd, unless `STERNHALMA_BENCH_DIR` names a directory with
/// `zstd-1024.sht` to `zstd-131072.sht`, the same with `ans`, and `mod3.sht`.
fn encodings(c: &mut Criterion) {
    let table = support::table();
    let board = table.prefix().board();
    let bytes = table.as_bytes().expect("the bench is of a byte table");
    let states = random_states(board);
    let expected: u64 = states.iter().map(|&state| u64::from(bytes[Rank::of(state).0 as usize])).sum();
    let made = tempfile::tempdir().unwrap();
    let mut group = c.benchmark_group(format!("{0}x{0}-{1}", board.size(), board.pieces()));
    group.sample_size(10).throughput(Throughput::Elements(SAMPLES as u64));
    let zstd = (10..=17).map(|bits| (format!("zstd-{}", 1 << bits), Encoding::Zstd(Zstd::new(1 << bits, 3).unwrap())));
    let ans = (10..=17).map(|bits| (format!("ans-{}", 1 << bits), Encoding::Ans(Ans::new(1 << bits).unwrap())));
    for (name, encoding) in [("mod3".to_owned(), Encoding::Mod3)].into_iter().chain(zstd).chain(ans) {
        let kept = std::env::var_os("STERNHALMA_BENCH_DIR").map(|dir| PathBuf::from(dir).join(format!("{name}.sht")));
        let path = kept.filter(|path| path.exists()).unwrap_or_else(|| {
            let path = made.path().join(&name);
            TableConverter::new(&table, encoding).mirrored(false).convert(&path, &()).unwrap();
            path
        });
        let other = Table::open(&path).unwrap();
        println!("{name}: {:.3} bits a state", 8.0 * other.file_bytes() as f64 / other.prefix().states() as f64);
        let distance = |state| other.probe(state).unwrap().distance().expect("a whole table covers all");
        group.bench_function(format!("look-up in {name}"), |b| {
            b.iter(|| assert_eq!(states.iter().map(|&state| u64::from(distance(state).0)).sum::<u64>(), expected));
        });
    }
    group.finish();
}

fn small_build(c: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("7x7-4.sht");
    let prefix = Prefix::whole(Board::new(7, 4).unwrap());
    let mut group = c.benchmark_group("7x7-4");
    group.sample_size(10).throughput(Throughput::Elements(prefix.states()));
    group.bench_function("build", |b| {
        b.iter(|| {
            TableBuilder::new(prefix).overwrite(true).build(&path, &()).unwrap();
            assert_eq!(Table::open(&path).unwrap().info().layers.iter().sum::<u64>(), prefix.states());
        });
    });
    group.finish();
}

criterion_group!(benches, ranks, moves, lookups, encodings, small_build);
criterion_main!(benches);
