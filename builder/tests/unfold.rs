//! Distances read in order of rank agree with those found one by one.

use std::path::Path;

use proptest::prelude::*;
use sternhalma_builder::TableBuilder;
use sternhalma_data::table::write::NewTable;
use sternhalma_data::table::{Provenance, checksum};
use sternhalma_data::{Board, DistanceStream, Encoding, Prefix, States, Table, TableError, TableInfo};

fn built(prefix: Prefix, encoding: Encoding) -> Table {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    TableBuilder::new(prefix).encoding(encoding).threads(1).build(&path, &()).unwrap();
    Table::options().verify_blocks(true).open(&path).unwrap()
}

/// Each distance by a descent of its own.
fn one_by_one(table: &Table) -> Vec<u8> {
    let probed = States::all(table.prefix()).map(|(_, state)| table.probed_state(state).unwrap().unwrap());
    probed.map(|probed| probed.distance().0).collect()
}

fn read(table: &Table, start: u64, parts: &[usize]) -> Result<Vec<u8>, TableError> {
    let states = table.prefix().states();
    let mut reader = DistanceStream::new(table, start..states)?;
    let mut out = vec![0; (states - start) as usize];
    let mut rest = &mut out[..];
    for part in parts.iter().cycle() {
        let (part, after) = rest.split_at_mut(rest.len().min(*part));
        reader.read(part)?;
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    Ok(out)
}

#[test]
fn every_start_reads_what_descents_find() {
    let boards = [(3, 1..=8), (4, 1..=5), (5, 1..=3)];
    for board in boards.into_iter().flat_map(|(side, pieces)| pieces.map(move |k| Board::new(side, k).unwrap())) {
        for within in [board.pieces(), board.pieces() + 2, board.cells() - 1, board.cells()] {
            let Ok(prefix) = Prefix::new(board, within as u64) else { continue };
            let (bytes, mod3) = (built(prefix, Encoding::Byte), built(prefix, Encoding::Mod3));
            let told = one_by_one(&mod3);
            let states = prefix.states();
            for start in (0..=states).step_by(1 + states as usize / 300) {
                for table in [&bytes, &mod3] {
                    let part = 1 + start as usize % 200;
                    assert_eq!(
                        read(table, start, &[part, 7, 1000]).unwrap(),
                        told[start as usize..],
                        "{prefix} {start}"
                    );
                }
            }
            assert_eq!(mod3.distances().unwrap(), told);
        }
    }
}

#[test]
fn larger_boards_read_alike_in_both_encodings() {
    for (side, pieces, within) in [(9, 4, 81), (9, 8, 25), (9, 10, 20), (11, 15, 20), (7, 5, 49), (6, 6, 30)] {
        let prefix = Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap();
        let (bytes, mod3) = (built(prefix, Encoding::Byte), built(prefix, Encoding::Mod3));
        let told = bytes.as_bytes().unwrap();
        assert!(read(&mod3, 0, &[1 << 16]).unwrap() == told, "{prefix}");
        for start in (0..prefix.states()).step_by(prefix.states() as usize / 20) {
            let mut part = vec![0; (prefix.states() - start).min(1000) as usize];
            DistanceStream::new(&mod3, start..prefix.states()).unwrap().read(&mut part).unwrap();
            assert!(part == told[start as usize..][..part.len()], "{prefix} from {start}");
        }
    }
}

/// A mod-3 table of these values, whatever they mean.
fn forged(path: &Path, prefix: Prefix, values: &[u8]) -> Table {
    let layers = [vec![1], vec![0; 252], vec![prefix.states() - 1]].concat();
    let contents = TableInfo { prefix, encoding: Encoding::Mod3, layers, boundary_layer: None };
    let mut writer = NewTable::create(path, true).unwrap().begin(contents).unwrap();
    for number in 0..writer.layout().blocks() {
        let ranks = writer.layout().block(number).ranks;
        let values = &values[ranks.start as usize..ranks.end as usize];
        let bytes: Vec<u8> = values.chunks(4).map(|c| c.iter().rev().fold(0, |byte, v| byte << 2 | v)).collect();
        writer.write_block(&bytes, checksum(&bytes)).unwrap();
    }
    let (program, built, mode) = ("a forger".into(), "never".into(), "by hand".into());
    writer.finish(&Provenance { program, built, mode, ..Provenance::default() }).unwrap();
    Table::options().verify_blocks(true).open(path).unwrap()
}

proptest! {
    /// Wherever the reading of a forged table begins, it refuses or tells
    /// distances that the values bear out.
    #[test]
    fn forged_values_are_refused_or_borne_out(
        noise in prop::collection::vec((any::<prop::sample::Index>(), 0u8..4), 0..12),
        start in any::<prop::sample::Index>(),
    ) {
        let prefix = Prefix::whole(Board::new(4, 3).unwrap());
        let mut values: Vec<u8> = built(prefix, Encoding::Byte).as_bytes().unwrap().iter().map(|d| d % 3).collect();
        for (at, value) in noise {
            values[at.index(560)] = value;
        }
        let dir = tempfile::tempdir().unwrap();
        let table = forged(&dir.path().join("forged.sht"), prefix, &values);
        let start = start.index(560);
        match read(&table, start as u64, &[64]) {
            Ok(read) => prop_assert!(read.iter().zip(&values[start..]).all(|(d, value)| d % 3 == *value)),
            Err(error) => prop_assert!(error.to_string().contains("forged.sht")),
        }
        prop_assert!(values[0] == 0 || read(&table, start as u64, &[64]).is_err());
    }
}
