//! Mirrored tables against unmirrored ones of the same states.

use std::path::Path;

use sternhalma_builder::{BuildMode, BuilderError, Mirroring, TableBuilder, TableConverter, Verifier, compare};
use sternhalma_data::board::Symmetry;
use sternhalma_data::table::{Ans, NoMirroredForm, Zstd};
use sternhalma_data::{Board, Encoding, Prefix, States, Table, TableInfo, TableSpec};
use sternhalma_testutil::{Reference, canonical_values, layers_of, write_forged_table};

fn encodings() -> [Encoding; 5] {
    let zstd = |block_states| Encoding::Zstd(Zstd::new(block_states, 3).unwrap());
    [Encoding::Byte, Encoding::Mod3, zstd(64), zstd(4096), Encoding::Ans(Ans::new(256).unwrap())]
}

fn prefix(side: u64, pieces: u64, within: u64) -> Prefix {
    Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap()
}

/// Prefixes of whole rows: the goal ends in the lower half, in the middle and in the upper half.
fn prefixes() -> impl Iterator<Item = Prefix> {
    let symmetric = [
        (3, 3, 9),
        (3, 6, 8),
        (3, 8, 9),
        (4, 3, 13),
        (4, 6, 16),
        (4, 10, 16),
        (5, 6, 25),
        (6, 3, 33),
        (9, 6, 28),
        (9, 10, 21),
    ];
    symmetric.into_iter().map(|(side, pieces, within)| prefix(side, pieces, within))
}

fn open(path: &Path) -> Table {
    Table::options().verify_blocks(true).open(path).unwrap()
}

fn build(path: &Path, prefix: Prefix, encoding: Encoding, mirrored: bool) -> Table {
    let spec = TableSpec { prefix, encoding, mirrored };
    build_in_mode(path, spec, BuildMode::InMemory)
}

/// Builds a table. A build out of core has the least memory.
fn build_in_mode(path: &Path, spec: TableSpec, mode: BuildMode) -> Table {
    let TableSpec { prefix, encoding, mirrored } = spec;
    let mirroring = if mirrored { Mirroring::File } else { Mirroring::Search };
    let builder =
        TableBuilder::new(prefix).encoding(encoding).mirroring(mirroring).threads(2).overwrite(true).mode(mode);
    let limit = match mode {
        BuildMode::InMemory => u64::MAX,
        BuildMode::OutOfCore => match builder.clone().memory_limit(1).build(path, &()) {
            Err(BuilderError::MemoryLimit { least, .. }) => least,
            other => panic!("{other:?}"),
        },
    };
    builder.memory_limit(limit).build(path, &()).unwrap();
    let table = open(path);
    assert_eq!(table.spec(), spec);
    table
}

/// Returns the whole boards with up to `max_states` states whose tables have a mirrored form.
fn symmetric_boards(max_states: u64) -> Vec<Prefix> {
    let boards = (3..=11).flat_map(|side| (2..=40).filter_map(move |pieces| Board::new(side, pieces).ok()));
    let is_symmetric = |prefix: &Prefix| prefix.states() <= max_states && Symmetry::of(*prefix).is_some();
    boards.map(Prefix::whole).filter(is_symmetric).collect()
}

/// Compares mirrored tables of boards, in some encodings and both modes, with a table that is not mirrored.
fn check_symmetric_boards(boards: &[Prefix], encodings: &[Encoding]) {
    let dir = tempfile::tempdir().unwrap();
    for &prefix in boards {
        let whole = build(&dir.path().join("whole.sht"), prefix, Encoding::Byte, false);
        let whole = whole.distances().unwrap();
        for &encoding in encodings {
            for mode in BuildMode::ALL {
                let spec = TableSpec { prefix, encoding, mirrored: true };
                let mirrored = build_in_mode(&dir.path().join("mirrored.sht"), spec, mode);
                assert!(mirrored.distances().unwrap() == whole, "{spec}, {}", mode.name());
            }
        }
    }
}

#[test]
fn symmetric_boards_have_the_same_distances_in_both_forms_and_modes() {
    let boards = symmetric_boards(20_000_000);
    assert_eq!(boards.len(), 20);
    check_symmetric_boards(&boards, &[Encoding::Byte]);
    check_symmetric_boards(&symmetric_boards(1_000_000), &encodings()[1..]);
}

#[test]
#[ignore = "it takes two minutes"]
fn symmetric_boards_have_the_same_distances_in_all_encodings() {
    check_symmetric_boards(&symmetric_boards(20_000_000), &encodings()[1..]);
}

#[test]
fn both_forms_have_the_same_distances_in_all_encodings() {
    let dir = tempfile::tempdir().unwrap();
    for prefix in prefixes() {
        for encoding in encodings() {
            let whole = build(&dir.path().join("whole.sht"), prefix, encoding, false);
            let mirrored = build(&dir.path().join("mirrored.sht"), prefix, encoding, true);
            let what = format!("{prefix} in {encoding}");
            assert_eq!(mirrored.info().layers, whole.info().layers, "{what}");
            assert_eq!(mirrored.proven_depth(), whole.proven_depth(), "{what}");
            assert!(mirrored.layout().stored_states() < whole.layout().stored_states().max(2), "{what}");
            assert!(mirrored.distances().unwrap() == whole.distances().unwrap(), "{what}");
            for (rank, state) in States::all(prefix).step_by(1 + prefix.states() as usize / 3000) {
                assert_eq!(mirrored.probe(state).unwrap(), whole.probe(state).unwrap(), "{what}, rank {rank}");
            }
            Verifier::new(&mirrored).threads(2).prove(&()).unwrap();
            let compared = compare(&whole, &mirrored, 2, &()).unwrap().all();
            assert_eq!((compared.states, compared.differing()), (prefix.states(), 0), "{what}");
        }
    }
}

#[test]
fn any_conversion_gives_the_bytes_of_a_build_in_either_form() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("to.sht");
    for prefix in prefixes() {
        let forms = || encodings().into_iter().flat_map(|encoding| [(encoding, false), (encoding, true)]);
        let built: Vec<Table> = (forms().enumerate())
            .map(|(at, (encoding, mirrored))| build(&dir.path().join(format!("{at}.sht")), prefix, encoding, mirrored))
            .collect();
        for (table, (source, source_mirrored)) in built.iter().zip(forms()) {
            for (expected, (encoding, mirrored)) in built.iter().zip(forms()) {
                let converter = TableConverter::new(table, encoding).mirrored(mirrored).threads(2).overwrite(true);
                converter.convert(&to, &()).unwrap();
                let what = format!("{prefix} from {source} ({source_mirrored}) to {encoding} ({mirrored})");
                assert_eq!(open(&to).checksum(), expected.checksum(), "{what}");
            }
        }
    }
}

#[test]
fn tables_of_many_blocks_are_built_and_converted() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = prefix(7, 6, 49);
    let zstd = Encoding::Zstd(Zstd::new(4096, 1).unwrap());
    let whole = build(&dir.path().join("whole.sht"), prefix, Encoding::Byte, false);
    for encoding in [Encoding::Byte, Encoding::Mod3, zstd] {
        let mirrored = build(&dir.path().join("mirrored.sht"), prefix, encoding, true);
        assert!(mirrored.distances().unwrap() == whole.distances().unwrap(), "{encoding}");
        let converted = dir.path().join("converted.sht");
        TableConverter::new(&whole, encoding).mirrored(true).overwrite(true).convert(&converted, &()).unwrap();
        assert_eq!(open(&converted).checksum(), mirrored.checksum(), "{encoding}");
        TableConverter::new(&mirrored, Encoding::Byte).overwrite(true).convert(&converted, &()).unwrap();
        assert_eq!(open(&converted).checksum(), whole.checksum(), "{encoding}");
        Verifier::new(&mirrored).threads(2).memory_limit(48 << 20).prove(&()).unwrap();
    }
}

#[test]
fn tables_of_a_prefix_are_compared_with_mirrored_ones() {
    let dir = tempfile::tempdir().unwrap();
    let part = build(&dir.path().join("part.sht"), prefix(5, 3, 17), Encoding::Byte, false);
    let expected = build(&dir.path().join("whole.sht"), prefix(5, 3, 25), Encoding::Byte, false);
    let expected = compare(&part, &expected, 2, &()).unwrap();
    for encoding in encodings() {
        let whole = build(&dir.path().join("mirrored.sht"), prefix(5, 3, 25), encoding, true);
        assert_eq!(compare(&part, &whole, 2, &()).unwrap(), expected, "{encoding}");
    }
}

#[test]
fn one_wrong_distance_of_a_mirrored_table_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("forged.sht");
    // The forgeries that no move reveals: a state without a successor of smaller distance.
    let mut without_descent = 0;
    for prefix in [prefix(4, 3, 16), prefix(4, 3, 13)] {
        let reference = Reference::search(prefix);
        for encoding in encodings() {
            let mod3 = encoding == Encoding::Mod3;
            let spec = TableSpec { mirrored: true, ..reference.spec(encoding) };
            let info = TableInfo { spec, ..reference.info(encoding) };
            let right = canonical_values(spec, &reference.distances).unwrap();
            let step = if encoding == Encoding::Byte { 1 } else { 7 };
            for (at, more) in (0..right.len()).step_by(step).flat_map(|at| [(at, true), (at, false)]) {
                let mut values = right.to_vec();
                values[at] = if more { right[at] + 1 } else { right[at].abs_diff(1) };
                if mod3 {
                    values.iter_mut().for_each(|distance| *distance %= 3);
                }
                let layout = info.spec.layout().unwrap();
                let symmetry = layout.symmetry().unwrap();
                // The layers are those of the wrong distances, so that only the proof finds the forgery.
                let by_rank = States::all(prefix).map(|(_, state)| values[symmetry.reduced_rank(state) as usize]);
                let layers = if mod3 { info.layers.clone() } else { layers_of(&by_rank.collect::<Vec<u8>>()) };
                let table = write_forged_table(&path, TableInfo { layers, ..info.clone() }, &values);
                Verifier::new(&table).threads(1).check(&()).unwrap();
                let error = Verifier::new(&table).threads(1).prove(&()).unwrap_err();
                assert!(matches!(error, BuilderError::WrongTable { .. } | BuilderError::Table(_)), "{error}");
                without_descent += usize::from(error.to_string().contains("no successor with a smaller one"));
            }
            // The distances are right, but the header counts them wrongly.
            let mut layers = info.layers.clone();
            (layers[1], layers[2]) = (layers[1] + 1, layers[2] - 1);
            let values: Vec<u8> = right.iter().map(|distance| if mod3 { distance % 3 } else { *distance }).collect();
            let table = write_forged_table(&path, TableInfo { layers, ..info.clone() }, &values);
            assert!(Verifier::new(&table).threads(1).prove(&()).is_err());
            let converter = TableConverter::new(&table, Encoding::Byte).overwrite(true);
            assert!(converter.convert(dir.path().join("converted.sht"), &()).is_err());
        }
    }
    assert!(without_descent > 0);
}

#[test]
fn forms_follow_the_options() {
    let (symmetric, other) = (prefix(5, 3, 25), prefix(5, 3, 17));
    let spec = |builder: TableBuilder| builder.spec().mirrored;
    let builder = |prefix, encoding| TableBuilder::new(prefix).encoding(encoding);
    assert!(!spec(TableBuilder::new(symmetric)) && !spec(builder(symmetric, Encoding::Byte)));
    assert!(spec(builder(symmetric, Encoding::Mod3)) && !spec(builder(other, Encoding::Mod3)));
    assert!(!spec(builder(symmetric, Encoding::Mod3).mirroring(Mirroring::Off)));
    assert!(spec(TableBuilder::new(symmetric).mirroring(Mirroring::File).encoding(Encoding::Byte)));
    assert!(!spec(TableBuilder::new(symmetric).mirroring(Mirroring::Search).encoding(Encoding::Mod3)));
    assert_eq!(
        builder(symmetric, Encoding::Mod3).spec().to_string(),
        "5x5 with 3 pieces within 25 cells, mod3, mirrored"
    );

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("never.sht");
    for (prefix, reason) in [
        (other, NoMirroredForm::Cells(other)),
        (prefix(5, 4, 25), NoMirroredForm::Goal(prefix(5, 4, 25))),
        (prefix(5, 1, 25), NoMirroredForm::SinglePiece),
    ] {
        match TableBuilder::new(prefix).mirroring(true).build(&path, &()) {
            Err(BuilderError::NoMirroredForm(found)) => assert_eq!(found, reason),
            other => panic!("{other:?}"),
        }
        assert!(!path.exists());
    }
}
