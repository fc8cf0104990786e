//! Distances read in order of rank agree with those looked up one by one.

use proptest::prelude::*;
use sternhalma_data::{Board, DistanceStream, Encoding, Prefix, States, Table, TableError, TableInfo, TableSpec};
use sternhalma_testutil::{Reference, encodings, write_forged_table};

/// Returns the distances from `start` on, read in parts of these lengths.
fn read(table: &Table, start: u64, parts: &[usize]) -> Result<Vec<u8>, TableError> {
    let states = table.prefix().states();
    let mut stream = DistanceStream::new(table, start..states)?;
    let mut out = vec![0; (states - start) as usize];
    let mut rest = &mut out[..];
    for part in parts.iter().cycle() {
        let (part, after) = rest.split_at_mut(rest.len().min(*part));
        stream.read(part)?;
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    Ok(out)
}

#[test]
fn every_start_reads_what_look_ups_find() {
    let dir = tempfile::tempdir().unwrap();
    let boards = [(3, 1..=8), (4, 1..=6), (5, 1..=3)];
    for board in boards.into_iter().flat_map(|(size, pieces)| pieces.map(move |k| Board::new(size, k).unwrap())) {
        for within in [board.pieces(), board.pieces() + 2, board.cells() - 1, board.cells()] {
            let Ok(prefix) = Prefix::new(board, within as u64) else { continue };
            let reference = Reference::search(prefix);
            let expected = &reference.distances;
            for encoding in encodings() {
                for table in reference.write_forms(&dir.path().join("table.sht"), encoding) {
                    let what = format!("{prefix} in {encoding}, mirrored: {}", table.spec().mirrored);
                    for (rank, state) in States::all(prefix) {
                        let distance = table.probe(state).unwrap().distance().unwrap();
                        assert_eq!(distance.0, expected[rank.0 as usize], "{what}, rank {rank}");
                    }
                    let states = prefix.states();
                    for start in (0..=states).step_by(1 + states as usize / 300) {
                        let parts = [1 + start as usize % 200, 7, 1000];
                        let found = read(&table, start, &parts).unwrap();
                        assert_eq!(found, expected[start as usize..], "{what} from {start}");
                    }
                    assert_eq!(*table.distances().unwrap(), *expected, "{what}");
                }
            }
        }
    }
}

#[test]
fn larger_boards_read_alike_in_all_encodings() {
    let dir = tempfile::tempdir().unwrap();
    let tables = [(9, 4, 81), (9, 8, 25), (9, 10, 20), (11, 15, 20), (7, 5, 49), (6, 6, 30)];
    let symmetric = [(9, 3, 81), (9, 10, 21), (11, 15, 21), (7, 3, 46), (6, 6, 30)];
    for (size, pieces, within) in tables.into_iter().chain(symmetric) {
        let prefix = Prefix::new(Board::new(size, pieces).unwrap(), within).unwrap();
        let reference = Reference::search(prefix);
        let expected = &reference.distances;
        for encoding in encodings() {
            for table in reference.write_forms(&dir.path().join("table.sht"), encoding) {
                let what = format!("{prefix} in {encoding}, mirrored: {}", table.spec().mirrored);
                assert!(read(&table, 0, &[1 << 16]).unwrap() == *expected, "{what}");
                for start in (0..prefix.states()).step_by(prefix.states() as usize / 20) {
                    let mut part = vec![0; (prefix.states() - start).min(1000) as usize];
                    let mut stream = DistanceStream::new(&table, start..prefix.states()).unwrap();
                    stream.read(&mut part).unwrap();
                    assert!(part == expected[start as usize..][..part.len()], "{what} from {start}");
                    // A clone continues from the same state.
                    let rest = expected.len().min(start as usize + 2000) - (start as usize + part.len());
                    let mut clone = stream.clone();
                    part.resize(rest, 0);
                    clone.read(&mut part).unwrap();
                    assert!(
                        part == expected[start as usize + 1000.min(expected.len() - start as usize)..][..rest],
                        "{what}"
                    );
                }
            }
        }
    }
}

proptest! {
    /// A stream of a forged table either fails or returns distances with the
    /// stored values, wherever it begins.
    #[test]
    fn streams_of_forged_values_fail_or_agree_with_them(
        noise in prop::collection::vec((any::<prop::sample::Index>(), 0u8..4), 0..12),
        start in any::<prop::sample::Index>(),
    ) {
        let prefix = Prefix::whole(Board::new(4, 3).unwrap());
        let mut values: Vec<u8> = Reference::search(prefix).distances.iter().map(|d| d % 3).collect();
        for (at, value) in noise {
            values[at.index(560)] = value;
        }
        let dir = tempfile::tempdir().unwrap();
        let layers = [vec![1], vec![0; 252], vec![prefix.states() - 1]].concat();
        let info = TableInfo { spec: TableSpec { prefix, encoding: Encoding::Mod3, mirrored: false }, layers, boundary_layer: None };
        let table = write_forged_table(&dir.path().join("forged.sht"), info, &values);
        let start = start.index(560);
        match read(&table, start as u64, &[64]) {
            Ok(read) => prop_assert!(read.iter().zip(&values[start..]).all(|(d, value)| d % 3 == *value)),
            Err(error) => prop_assert!(error.to_string().contains("forged.sht")),
        }
        prop_assert!(values[0] == 0 || read(&table, start as u64, &[64]).is_err());
    }
}
