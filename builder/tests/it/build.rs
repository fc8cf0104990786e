//! Built tables agree with a reference breadth-first search in every state.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sternhalma_builder::{
    BuildMode, BuildPhase, BuilderError, LayerForm, MachineSpec, Mirroring, ModeChoice, ModeReason, Observer,
    SampleSpec, TableBuilder, UnfinishedProof, Verifier,
};
use sternhalma_data::table::{Layout, Zstd};
use sternhalma_data::{Board, Encoding, Prefix, Probe, Rank, Side, States, Table, TableError, TableInfo, TableSpec};
use sternhalma_testutil::{Reference, layers_of, write_forged_table};
use tempfile::TempDir;

/// The header fields with the offset and the length of the data.
const DATA_AT: usize = 56;
const DATA_BYTES_AT: usize = 64;

fn prefix(side: u64, pieces: u64, within: u64) -> Prefix {
    Prefix::new(Board::new(side, pieces).unwrap(), within).unwrap()
}

fn built(dir: &TempDir, prefix: Prefix, encoding: Encoding, threads: usize) -> Table {
    let path = dir.path().join(format!("{encoding}-{threads}.sht"));
    TableBuilder::new(prefix).encoding(encoding).threads(threads).overwrite(true).build(&path, &()).unwrap();
    Table::options().verify_blocks(true).open(&path).unwrap()
}

fn assert_matches_reference(prefix: Prefix) {
    let dir = tempfile::tempdir().unwrap();
    let Reference { distances: expected, boundary_layer, .. } = Reference::search(prefix);
    let proven_depth = boundary_layer.map(|layer| layer + 2);
    for encoding in [Encoding::Byte, Encoding::Mod3, Encoding::Zstd(Zstd::new(256, 3).unwrap())] {
        let table = built(&dir, prefix, encoding, 2);
        assert_eq!(table.spec().mirrored, TableSpec::new(prefix, encoding).mirrored);
        assert_eq!(table.distances().unwrap(), expected, "{prefix} in {encoding}");
        assert_eq!(table.proven_depth(), proven_depth, "{prefix}");
        Verifier::new(&table).threads(2).prove(&()).unwrap();
        let few = (expected.len() / 200).max(1);
        for (rank, state) in States::all(prefix).step_by(few) {
            let distance = expected[rank.0 as usize];
            let answer = table.probe(state).unwrap();
            assert_eq!(answer.distance().map(|d| d.0), Some(distance));
            assert_eq!(answer.is_exact(), Some(proven_depth.is_none_or(|limit| u32::from(distance) <= limit)));
        }
    }
}

#[test]
fn whole_boards_up_to_side_five() {
    for side in 3..=5 {
        for pieces in 1..=6 {
            assert_matches_reference(Prefix::whole(Board::new(side, pieces).unwrap()));
        }
    }
    for pieces in 7..=8 {
        assert_matches_reference(Prefix::whole(Board::new(3, pieces).unwrap()));
    }
    assert_matches_reference(Prefix::whole(Board::new(4, 13).unwrap()));
}

#[test]
fn prefixes_of_any_length() {
    for (side, pieces) in [(3, 2), (4, 3), (4, 5), (5, 1), (5, 4)] {
        for within in pieces..side * side {
            assert_matches_reference(prefix(side, pieces, within));
        }
    }
    // Rows of the 9x9 board end at 36, 45 and 53. These prefixes end at a row, before it and after it.
    for within in [34, 36, 37, 41, 45, 50] {
        assert_matches_reference(prefix(9, 3, within));
    }
    assert_matches_reference(prefix(11, 6, 17));
    assert_matches_reference(prefix(9, 10, 15));
}

#[test]
fn bit_slices_wider_than_a_word_and_matrices_wider_than_64() {
    assert_matches_reference(Prefix::whole(Board::new(11, 2).unwrap()));
    assert_matches_reference(Prefix::whole(Board::new(9, 3).unwrap()));
    assert_matches_reference(Prefix::whole(Board::new(11, 3).unwrap()));
}

#[test]
fn searches_with_and_without_mirroring_write_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    // The goal ends in the lower half, in the middle and in the upper half, or is the prefix.
    let symmetric: [(u64, &[(u64, u64)]); 7] = [
        (3, &[(3, 9), (6, 9), (8, 9), (3, 3)]),
        (4, &[(3, 13), (6, 16), (10, 16), (13, 16), (15, 16)]),
        (5, &[(6, 25), (10, 22), (15, 25)]),
        (6, &[(3, 36), (6, 33)]),
        (7, &[(3, 49)]),
        (9, &[(6, 36), (10, 21)]),
        (11, &[(3, 121)]),
    ];
    let tables =
        symmetric.iter().flat_map(|&(side, tables)| tables.iter().map(move |&(pieces, within)| (side, pieces, within)));
    for (side, pieces, within) in tables {
        for encoding in [Encoding::Byte, Encoding::Mod3, Encoding::Zstd(Zstd::new(256, 3).unwrap())] {
            let [mirrored, whole] = [Mirroring::Search, Mirroring::Off].map(|mirroring| {
                let path = dir.path().join("table.sht");
                let builder = TableBuilder::new(prefix(side, pieces, within)).encoding(encoding).threads(2);
                builder.mirroring(mirroring).overwrite(true).build(&path, &()).unwrap();
                let table = Table::options().verify_blocks(true).open(&path).unwrap();
                (table.info().clone(), table.checksum(), table.provenance().successors)
            });
            assert_eq!((&mirrored.0, mirrored.1), (&whole.0, whole.1), "{side}x{side}, {pieces} within {within}");
            // Half of the contexts, except those that are nearly symmetric.
            assert!(mirrored.2 < whole.2 || whole.2 < 100, "{side}x{side}, {pieces} within {within}: {mirrored:?}");
        }
    }
}

#[test]
fn a_whole_table_and_a_prefix_agree_on_rank_and_layout() {
    let whole = Prefix::whole(Board::new(5, 4).unwrap());
    let part = prefix(5, 4, 18);
    for encoding in [Encoding::Byte, Encoding::Mod3] {
        let (whole, part) = (Layout::new(whole, encoding), Layout::new(part, encoding));
        for number in 0..part.blocks() {
            assert_eq!(part.block(number), whole.block(number));
        }
    }
    // Up to the proven depth the distances agree. Beyond this depth the prefix
    // has upper bounds.
    let (whole, part) = (Reference::search(whole), Reference::search(part));
    let limit = part.boundary_layer.unwrap() as u8 + 2;
    for (bound, exact) in part.distances.iter().zip(&whole.distances) {
        assert!(bound == exact || (bound > exact && *bound > limit));
    }
}

#[test]
fn bytes_are_the_same_at_any_thread_count() {
    let dir = tempfile::tempdir().unwrap();
    for prefix in [Prefix::whole(Board::new(6, 5).unwrap()), prefix(9, 5, 30)] {
        for encoding in [Encoding::Byte, Encoding::Mod3, Encoding::Zstd(Zstd::default())] {
            let identities: Vec<u64> =
                [1, 2, 5].map(|threads| built(&dir, prefix, encoding, threads).checksum()).to_vec();
            assert_eq!(identities, [identities[0]; 3]);
            let data = |threads: usize| {
                let path = dir.path().join(format!("{encoding}-{threads}.sht"));
                let bytes = std::fs::read(&path).unwrap();
                // The record of the build, which differs in length and text, is last.
                let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
                bytes[..word(DATA_AT) + word(DATA_BYTES_AT)].to_vec()
            };
            assert!(data(1) == data(2) && data(2) == data(5));
        }
    }
}

#[test]
fn a_proof_finds_every_wrong_distance() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("forged.sht");
    for prefix in [Prefix::whole(Board::new(4, 3).unwrap()), prefix(4, 3, 11)] {
        let Reference { distances: right, boundary_layer, .. } = Reference::search(prefix);
        let contents = |distances: &[u8], encoding| TableInfo {
            spec: TableSpec { prefix, encoding, mirrored: false },
            layers: layers_of(distances),
            boundary_layer,
        };
        Verifier::new(&write_forged_table(&path, contents(&right, Encoding::Byte), &right))
            .threads(1)
            .prove(&())
            .unwrap();
        for state in 0..right.len() {
            for change in [1, 2, 3, 252, 254, 255u8] {
                let mut distances = right.clone();
                distances[state] = distances[state].wrapping_add(change);
                if distances[state] < 100 {
                    let table = write_forged_table(&path, contents(&distances, Encoding::Byte), &distances);
                    assert!(Verifier::new(&table).threads(1).prove(&()).is_err(), "state {state} changed by {change}");
                }
                let mut codes: Vec<u8> = right.iter().map(|d| d % 3).collect();
                codes[state] = (codes[state] + change % 4) % 4;
                if codes[state] != right[state] % 3 {
                    let table = write_forged_table(&path, contents(&right, Encoding::Mod3), &codes);
                    assert!(
                        Verifier::new(&table).threads(1).prove(&()).is_err(),
                        "state {state} changed by {change} modulo"
                    );
                }
            }
        }
    }
}

#[test]
fn a_proof_finds_distances_that_are_right_only_modulo_three() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("forged.sht");
    let prefix = Prefix::whole(Board::new(4, 3).unwrap());
    let right = Reference::search(prefix).distances;
    let refuse = |encoding, layers: Vec<u64>, values: &[u8]| {
        let table = write_forged_table(
            &path,
            TableInfo { spec: TableSpec { prefix, encoding, mirrored: false }, layers, boundary_layer: None },
            values,
        );
        let error = Verifier::new(&table).threads(1).prove(&()).expect_err("the table is wrong");
        assert!(matches!(error, BuilderError::WrongTable { .. } | BuilderError::Table(_)), "{error}");
    };
    // Distances from another state are consistent everywhere except near the goal.
    let other = States::all(prefix).nth(200).unwrap().1;
    let elsewhere = Reference::search_from(prefix, other).distances;
    refuse(Encoding::Byte, layers_of(&elsewhere), &elsewhere);
    refuse(Encoding::Mod3, layers_of(&elsewhere), &elsewhere.iter().map(|d| d % 3).collect::<Vec<_>>());
    // All distances are too large by three.
    let further: Vec<u8> = right.iter().map(|d| d + 3).collect();
    refuse(Encoding::Byte, layers_of(&further), &further);
    // The distances are right, but the header counts them wrongly.
    let mut layers = layers_of(&right);
    layers[1] += 1;
    layers[2] -= 1;
    refuse(Encoding::Byte, layers.clone(), &right);
    refuse(Encoding::Mod3, layers, &right.iter().map(|d| d % 3).collect::<Vec<_>>());
}

#[test]
fn a_proof_checks_the_boundary_layer() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("forged.sht");
    let prefix = prefix(4, 3, 11);
    let Reference { distances: right, boundary_layer, .. } = Reference::search(prefix);
    for wrong in [None, boundary_layer.map(|layer| layer + 1)] {
        let encoding = Encoding::Byte;
        let contents = TableInfo {
            spec: TableSpec { prefix, encoding, mirrored: false },
            layers: layers_of(&right),
            boundary_layer: wrong,
        };
        assert!(Verifier::new(&write_forged_table(&path, contents, &right)).threads(1).prove(&()).is_err());
    }
}

/// An observer that cancels immediately.
struct Canceller;

impl Observer for Canceller {
    fn cancelled(&self) -> bool {
        true
    }
}

#[test]
fn a_cancelled_build_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("never.sht");
    let builder = TableBuilder::new(Prefix::whole(Board::new(5, 5).unwrap())).threads(2);
    assert!(matches!(builder.build(&path, &Canceller), Err(BuilderError::Cancelled)));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_file_is_replaced_only_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("there.sht");
    std::fs::write(&path, "precious").unwrap();
    let builder = TableBuilder::new(Prefix::whole(Board::new(3, 2).unwrap())).threads(1);
    assert!(matches!(builder.build(&path, &()), Err(BuilderError::Table(_))));
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    builder.overwrite(true).build(&path, &()).unwrap();
    Table::open(&path).unwrap();
}

#[test]
fn probes_outside_a_prefix_are_not_errors() {
    let dir = tempfile::tempdir().unwrap();
    let table = built(&dir, prefix(5, 3, 12), Encoding::Mod3, 1);
    let outside = Rank(table.prefix().states()).state(3);
    assert_eq!(table.probe(outside).unwrap(), Probe::NotCovered);
    let goal = table.side(Side::X).probed(table.board().goal(Side::X)).unwrap();
    assert_eq!(goal.solution().unwrap(), Some(Vec::new()));
    let moves = goal.moves().unwrap();
    assert!(moves.iter().all(|(_, after)| after.distance().is_none_or(|d| d.0 == 1)));
}

#[test]
fn the_memory_of_a_build_is_known_in_advance() {
    let six = TableBuilder::new(Prefix::whole(Board::new(9, 6).unwrap())).threads(2);
    let memory = |builder: TableBuilder| builder.plan("table.sht").unwrap().memory();
    assert!((300 << 20..450 << 20).contains(&memory(six.clone().mirroring(false))));
    assert!((150 << 20..250 << 20).contains(&memory(six)));
    let ten = Prefix::whole(Board::new(9, 10).unwrap());
    let ten = TableBuilder::new(ten).encoding(Encoding::Mod3).threads(2);
    assert!(memory(ten.clone()) > 435 << 30);
    let all = memory(ten.mirroring(false));
    assert!(all > 870 << 30);
}

#[test]
fn a_requested_build_in_memory_keeps_the_memory_limit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    let builder = TableBuilder::new(prefix(5, 3, 18)).mode(BuildMode::InMemory).threads(5);
    let memory = |threads| builder.clone().threads(threads).plan(&path).unwrap().memory();
    let needed = memory(1);
    let limited = builder.clone().memory_limit(needed - 1).plan(&path).unwrap();
    for refused in [limited.run(&()).map(|_| ()), limited.check()] {
        match refused {
            Err(BuilderError::MemoryLimit { least, limit }) => assert_eq!((least, limit), (needed, needed - 1)),
            other => panic!("{other:?}"),
        }
    }
    assert!(!path.exists());
    for threads in [1, 3, 5] {
        let plan = builder.clone().overwrite(true).memory_limit(memory(threads)).plan(&path).unwrap();
        plan.run(&()).unwrap();
        assert_eq!([plan.threads(), Table::open(&path).unwrap().provenance().threads], [threads; 2]);
    }
}

#[test]
fn a_plan_is_what_is_built() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    let builder = TableBuilder::new(prefix(7, 4, 49)).overwrite(true).restart(true);
    let with = |mode, form, limit| builder.clone().mode(mode).layer_form(form).memory_limit(limit).threads(12);
    for (builder, least_threads) in [
        (with(BuildMode::InMemory, LayerForm::Whole, 1 << 30), 12),
        (with(BuildMode::InMemory, LayerForm::Whole, 40 << 20), 1),
        (with(BuildMode::OutOfCore, LayerForm::Whole, 1 << 30), 12),
        (with(BuildMode::OutOfCore, LayerForm::Delta, 40 << 20), 1),
    ] {
        let plan = builder.plan(&path).unwrap();
        plan.check().unwrap();
        assert_eq!((plan.path(), plan.spec()), (&*path, builder.spec()));
        assert!((least_threads..=12).contains(&plan.threads()), "{plan:?}");
        assert!(least_threads == 12 || plan.threads() < 12, "{plan:?}");
        plan.run(&()).unwrap();
        let table = Table::open(&path).unwrap();
        assert_eq!(table.spec(), plan.spec());
        let record = table.provenance();
        assert_eq!((&*record.mode, record.threads), (plan.mode().mode.name(), plan.threads()));
        assert_eq!(plan.layer_form().is_some(), !record.io.is_empty());
    }
    // What appears later changes nothing about a plan, and another plan takes it into account.
    let builder = builder.threads(1).restart(false).work_dir(dir.path().join("work"));
    let plan = builder.plan(&path).unwrap();
    std::fs::create_dir(plan.work_dir()).unwrap();
    std::fs::write(plan.work_dir().join("build.json"), "of another build").unwrap();
    plan.run(&()).unwrap();
    assert_eq!(Table::open(&path).unwrap().provenance().mode, plan.mode().mode.name());
    let resuming = ModeChoice { mode: BuildMode::OutOfCore, reason: ModeReason::WorkDirExists };
    assert_eq!(builder.plan(&path).unwrap().mode(), resuming);
    assert_ne!(builder.restart(true).plan(&path).unwrap().mode(), resuming);
}

#[test]
fn a_plan_finds_the_table_that_exists() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    let builder = TableBuilder::new(prefix(5, 3, 25)).encoding(Encoding::Mod3).threads(1);
    let existing = |builder: &TableBuilder| builder.plan(&path).unwrap().existing().map(Table::spec);
    assert_eq!(existing(&builder), None);
    builder.build(&path, &()).unwrap();
    let spec = Some(builder.spec());
    assert_eq!((existing(&builder), existing(&builder.clone().mirroring(Mirroring::Off))), (spec, spec));
    let refused = builder.plan(&path).unwrap();
    for refused in [refused.check(), refused.run(&()).map(drop)] {
        assert!(matches!(refused, Err(BuilderError::Table(TableError::Exists { .. }))), "{refused:?}");
    }
    for other in [builder.clone().encoding(Encoding::Byte), builder.clone().overwrite(true)] {
        assert_eq!(existing(&other), None);
    }
    std::fs::create_dir(dir.path().join("table.sht.work")).unwrap();
    assert_eq!(existing(&builder), spec);
    std::fs::write(dir.path().join("table.sht.work/build.json"), "").unwrap();
    assert_eq!(existing(&builder), None, "work is left to do");
}

#[test]
fn an_estimate_is_for_the_requested_mode() {
    let dir = tempfile::tempdir().unwrap();
    let machine = MachineSpec { cores: 2, memory: 1 << 30, disk_rate: 1e9, cache: 0 };
    let builder = TableBuilder::new(prefix(7, 4, 49)).threads(2);
    let estimate = |builder: TableBuilder, machine| builder.plan(dir.path().join("t"))?.estimate(&[machine], &());
    for mode in BuildMode::ALL {
        let estimates = estimate(builder.clone().mode(mode), machine).unwrap();
        assert_eq!(estimates[0].mode, mode);
    }
    let out_of_core = builder.clone().mode(BuildMode::OutOfCore);
    let estimates = LayerForm::ALL.map(|form| {
        let estimate = estimate(out_of_core.clone().layer_form(form), machine).unwrap().remove(0);
        assert_eq!(estimate.layer_form, Some(form));
        estimate
    });
    assert!(estimates[1].layer_bytes < estimates[0].layer_bytes, "differences are smaller");
    let in_memory = builder.mode(BuildMode::InMemory);
    let little = MachineSpec { memory: 1 << 10, ..machine };
    assert_eq!(estimate(in_memory, little).unwrap()[0].mode, BuildMode::InMemory);
    let single = TableBuilder::new(prefix(7, 1, 49)).mode(BuildMode::OutOfCore);
    assert!(matches!(estimate(single, machine), Err(BuilderError::SinglePiece)));
}

/// Counts the tables that are written.
#[derive(Default)]
struct WrittenTables(AtomicU64);

impl Observer for WrittenTables {
    fn begin(&self, phase: BuildPhase, _: u64) {
        if phase == BuildPhase::Write {
            self.0.fetch_add(1, Relaxed);
        }
    }
}

#[test]
fn machines_with_the_same_parameters_share_the_builds_of_an_estimate() {
    let dir = tempfile::tempdir().unwrap();
    let machine = MachineSpec { cores: 2, memory: 1 << 30, disk_rate: 1e9, cache: 0 };
    let machines = [machine, MachineSpec { cores: 4, disk_rate: 1e8, ..machine }];
    let plan = TableBuilder::new(prefix(7, 4, 49)).threads(2).plan(dir.path().join("t")).unwrap();
    let written = WrittenTables::default();
    let estimates = plan.estimate(&machines, &written).unwrap();
    assert_eq!(estimates.len(), 2);
    assert_eq!(estimates[0].calibrations, estimates[1].calibrations);
    assert_eq!(written.0.into_inner(), 2);
}

#[test]
fn an_open_table_is_verified_without_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    let builder = TableBuilder::new(prefix(5, 4, 25)).threads(1);
    builder.build(&path, &()).unwrap();
    let table = Table::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let verifier = Verifier::new(&table).threads(1).work_dir(dir.path());
    verifier.check(&()).unwrap();
    let mut plan = verifier.plan_sample(SampleSpec { states: 1000, seed: 1 }).unwrap();
    assert_eq!(plan.unfinished(), UnfinishedProof::Nothing);
    assert!(plan.run(&()).unwrap().states >= 1000);
    for limit in [u64::MAX, 32 << 20] {
        verifier.clone().memory_limit(limit).plan().unwrap().run(&()).unwrap();
    }
}

#[test]
fn layers_are_whole_if_the_disk_has_room() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    let builder = |prefix| TableBuilder::new(prefix).mode(BuildMode::OutOfCore);
    let form = |builder: TableBuilder| builder.plan(&path).unwrap().layer_form().unwrap();
    let forms = [prefix(5, 3, 25), prefix(9, 15, 81)].map(|prefix| form(builder(prefix)));
    // No disk has room for 15 pieces.
    assert_eq!(forms, [LayerForm::Whole, LayerForm::Delta]);
    assert_eq!(form(builder(prefix(5, 3, 25)).layer_form(LayerForm::Delta)), LayerForm::Delta);
}

#[test]
fn an_estimate_leaves_the_work_directory_alone() {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(work.join("layer"), "kept").unwrap();
    let machine = MachineSpec { cores: 2, memory: 64 << 20, disk_rate: 1e9, cache: 0 };
    for (pieces, within) in [(6, 36), (6, 45), (5, 41)] {
        let builder = TableBuilder::new(prefix(9, pieces, within)).threads(2).work_dir(&work).restart(true);
        for mode in [None, Some(BuildMode::OutOfCore)] {
            let memory = if mode.is_some() { 24 << 20 } else { 1 << 30 };
            let plan = builder.plan(dir.path().join("table.sht")).unwrap();
            let estimates = plan.estimate(&[MachineSpec { memory, ..machine }], &()).unwrap();
            assert_eq!(estimates[0].mode, mode.unwrap_or(BuildMode::InMemory));
        }
        assert_eq!(std::fs::read(work.join("layer")).unwrap(), b"kept");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no file of a calibration is left");
    }
}
