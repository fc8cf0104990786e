//! Comparisons of tables against probes of every state.

use std::collections::BTreeMap;
use std::path::Path;

use sternhalma_builder::{BuilderError, DifferenceStats, TableBuilder, compare};
use sternhalma_data::{Board, Encoding, Prefix, States, Table, TableInfo, TableSpec};
use sternhalma_testutil::{encodings, layers_of, write_forged_table};
use tempfile::TempDir;

fn built(dir: &TempDir, prefix: Prefix, encoding: Encoding) -> Table {
    let path = dir.path().join(format!("{}-{encoding}.sht", prefix.within()));
    TableBuilder::new(prefix).encoding(encoding).threads(2).overwrite(true).build(&path, &()).unwrap();
    Table::open(&path).unwrap()
}

/// Writes a table of bytes with these distances.
fn forged(path: &Path, like: &Table, distances: &[u8]) -> Table {
    let info = TableInfo {
        spec: TableSpec { encoding: Encoding::Byte, ..like.spec() },
        layers: layers_of(distances),
        ..like.info().clone()
    };
    write_forged_table(path, info, distances)
}

/// Returns the statistics of each distance from probes of both tables for every state.
fn expected_stats(smaller: &Table, larger: &Table) -> BTreeMap<u8, DifferenceStats> {
    let mut expected = BTreeMap::<u8, DifferenceStats>::new();
    for (_, state) in States::all(smaller.prefix()) {
        let [bound, better] = [smaller, larger].map(|table| table.probe(state).unwrap());
        let [bound_at, better_at] = [bound, better].map(|probe| probe.distance().unwrap().0);
        let proven = bound.is_exact().unwrap();
        let stats = expected.entry(bound_at).or_default();
        stats.states += 1;
        stats.proven += u64::from(proven);
        if bound_at != better_at {
            *stats.differences.entry(i16::from(bound_at) - i16::from(better_at)).or_default() += 1;
            stats.proven_differing += u64::from(proven);
            let same = smaller.prefix() == larger.prefix();
            stats.contradictions += u64::from(proven || same || better_at > bound_at);
        }
    }
    expected
}

fn assert_as_expected(smaller: &Table, larger: &Table) -> DifferenceStats {
    let expected = expected_stats(smaller, larger);
    let found = compare(smaller, larger, 2, &()).unwrap();
    if smaller.prefix() != larger.prefix() {
        assert_eq!(found, compare(larger, smaller, 1, &()).unwrap(), "the order of the tables does not matter");
    }
    assert_eq!((found.prefix(), found.proven_depth()), (smaller.prefix(), smaller.proven_depth()));
    assert_eq!(found.by_distance(), expected.clone().into_iter().collect::<Vec<_>>());
    let all = found.all();
    assert_eq!(all.states, smaller.prefix().states());
    let sum = |of: fn(&DifferenceStats) -> u64| expected.values().map(of).sum::<u64>();
    assert_eq!([all.proven, all.proven_differing], [sum(|stats| stats.proven), sum(|stats| stats.proven_differing)]);
    assert_eq!(
        [all.contradictions, all.differing()],
        [sum(|stats| stats.contradictions), sum(DifferenceStats::differing)]
    );
    let largest = expected.values().flat_map(|stats| stats.differences.keys()).map(|by| by.unsigned_abs()).max();
    assert_eq!(all.largest(), largest);
    all
}

#[test]
fn prefixes_are_compared_with_longer_ones() {
    let dir = tempfile::tempdir().unwrap();
    let mut differ = 0;
    for (side, pieces, within) in [(3, 2, 6), (4, 3, 10), (5, 3, 12), (5, 6, 12), (6, 5, 12), (7, 4, 17)] {
        let board = Board::new(side, pieces).unwrap();
        let prefixes = [within, within + 2, side * side].map(|within| Prefix::new(board, within).unwrap());
        for (i, &shorter) in prefixes.iter().enumerate() {
            for (j, &longer) in prefixes.iter().enumerate().skip(i) {
                let encoding = encodings()[(i + j) % 3];
                let tables = [built(&dir, shorter, Encoding::Byte), built(&dir, longer, encoding)];
                let all = assert_as_expected(&tables[0], &tables[1]);
                assert_eq!((all.contradictions, all.proven_differing), (0, 0), "{shorter} and {longer}");
                assert!(i != j || all.differing() == 0);
                differ += all.differing();
            }
        }
    }
    assert!(differ > 40, "some bounds are not distances");
}

#[test]
fn contradictions_between_tables_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let board = Board::new(5, 3).unwrap();
    let [short, whole] = [Prefix::new(board, 12).unwrap(), Prefix::whole(board)];
    let [short, whole] = [short, whole].map(|prefix| built(&dir, prefix, Encoding::Byte));
    let forge = |name: &str, table: &Table, change: &dyn Fn(&mut [u8])| {
        let mut data = table.distances().unwrap().into_owned();
        change(&mut data);
        forged(&dir.path().join(name), table, &data)
    };
    // A proven distance that is too large by one.
    let one = forge("proven", &short, &|data| data[3] += 1);
    let all = assert_as_expected(&one, &whole);
    assert_eq!((all.proven_differing, all.contradictions), (1, 1));
    // A longer prefix with a larger distance for a state whose distance is an upper bound.
    let far = short.distances().unwrap().iter().position(|&distance| distance == short.max_distance().0).unwrap();
    assert!(u32::from(short.max_distance().0) > short.proven_depth().unwrap());
    let up = forge("up", &whole, &|data| data[far] += 2);
    let all = assert_as_expected(&short, &up);
    assert_eq!((all.proven_differing, all.contradictions, all.differences.get(&-2)), (0, 1, Some(&1)));
    // Two tables of the same states.
    let down = forge("down", &short, &|data| data[far] -= 1);
    assert_eq!(assert_as_expected(&short, &down).contradictions, 1);
}

#[test]
fn boards_and_damage_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = |side, pieces| Prefix::whole(Board::new(side, pieces).unwrap());
    let table = built(&dir, prefix(4, 3), Encoding::Byte);
    for other in [prefix(5, 3), prefix(4, 2)] {
        let dir = tempfile::tempdir().unwrap();
        let other = built(&dir, other, Encoding::Byte);
        assert!(matches!(compare(&table, &other, 0, &()), Err(BuilderError::DifferentBoards { .. })));
    }
    let path = dir.path().join("damaged.sht");
    let mut bytes = std::fs::read(table.path()).unwrap();
    bytes[4096 + 9] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    let damaged = Table::open(&path).unwrap();
    for error in [compare(&table, &damaged, 0, &()), compare(&damaged, &table, 0, &())] {
        assert!(matches!(error, Err(BuilderError::Table(_))));
    }
}
