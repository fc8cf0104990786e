//! Look-ups, moves, solutions and exports of small tables against the reference.

use sternhalma_data::table::write_lex;
use sternhalma_data::{Board, CellSet, Encoding, Move, Position, Prefix, Probe, Rank, Side, State, States};
use sternhalma_testutil::{Reference, encodings};

#[test]
fn probes_are_exact_up_to_the_proven_depth() {
    let dir = tempfile::tempdir().unwrap();
    for within in [11, 13, 14, 16] {
        let prefix = Prefix::new(Board::new(4, 3).unwrap(), within).unwrap();
        let reference = Reference::search(prefix);
        for encoding in encodings() {
            for table in reference.write_forms(&dir.path().join("table.sht"), encoding) {
                reference.check(&table).unwrap();
                assert_eq!(table.proven_depth(), reference.boundary_layer.map(|layer| layer + 2));
                for (rank, state) in States::all(Prefix::whole(prefix.board())) {
                    let expected = reference.distances.get(rank.0 as usize).copied();
                    let probe = table.probe(state).unwrap();
                    assert_eq!(probe.distance().map(|distance| distance.0), expected);
                    let proven = |distance| table.proven_depth().is_none_or(|depth| u32::from(distance) <= depth);
                    assert_eq!(probe.is_exact(), expected.map(proven));
                }
            }
        }
    }
}

#[test]
fn bytes_of_both_forms_are_probed_alone_and_in_batches() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = Prefix::new(Board::new(5, 3).unwrap(), 19).unwrap();
    let reference = Reference::search(prefix);
    let states: Vec<State> = States::all(prefix).map(|(_, state)| state).collect();
    let outside = Rank(prefix.states()).state(3);
    for encoding in encodings() {
        let tables = reference.write_forms(&dir.path().join("table.sht"), encoding);
        assert_eq!(tables.len(), 2);
        for table in tables {
            assert_eq!(table.as_bytes().is_some(), encoding == Encoding::Byte && !table.spec().mirrored);
            let mut out = vec![0; states.len()];
            let found = table.probe_bytes(&states, &mut out);
            assert_eq!(found, encoding == Encoding::Byte);
            assert!(!found || out == reference.distances);
            assert!(!table.probe_bytes(&[states[0], outside], &mut out));
            for (state, distance) in states.iter().zip(&reference.distances) {
                assert_eq!(table.probe_byte(*state), found.then_some(*distance));
            }
            assert_eq!(table.probe_byte(outside), None);
        }
    }
}

/// Plays the moves of a position of both armies, so a move in another order than the position's is not legal.
#[test]
fn solutions_are_as_long_as_the_distance_and_moves_are_sorted() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = Prefix::new(Board::new(4, 3).unwrap(), 14).unwrap();
    let reference = Reference::search(prefix);
    for (encoding, side) in encodings().into_iter().flat_map(|encoding| Side::BOTH.map(|side| (encoding, side))) {
        let table = reference.write(&dir.path().join("table.sht"), encoding);
        let board = table.board();
        let place = |army: CellSet| {
            let armies = [Side::X, Side::O].map(|player| if player == side { army } else { CellSet::EMPTY });
            Position::new(board.geometry(), armies[0], armies[1], side, 0).unwrap()
        };
        let after = |army: CellSet, mv: Move| {
            assert!(place(army).moves().any(|legal| legal == mv), "{mv:?} of {side} is not legal");
            place(army).after(mv).army(side)
        };
        for (rank, state) in States::all(Prefix::whole(board)) {
            let army = state.to_army(board, side);
            let probed = table.side(side).probed(army).unwrap();
            let expected = reference.distances.get(rank.0 as usize).copied();
            assert_eq!(probed.probe().distance().map(|distance| distance.0), expected);
            assert_eq!((probed.side(), probed.state(), probed.army()), (side, state, army));
            let solution = probed.solution().unwrap();
            assert_eq!(solution.as_ref().map(Vec::len), expected.map(usize::from));
            if let Some(solution) = solution {
                assert_eq!(solution.into_iter().fold(army, after), board.goal(side));
            }

            let moves = probed.moves().unwrap();
            assert_eq!(moves.len(), place(army).moves().count());
            assert!(moves.iter().all(|&(mv, probe)| table.side(side).probe(after(army, mv)).unwrap() == probe));
            let distances = moves.iter().map(|(_, probe)| probe.distance().map_or(u8::MAX, |distance| distance.0));
            assert!(distances.is_sorted());
        }
    }
}

#[test]
fn states_outside_a_prefix_are_not_covered() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = Prefix::new(Board::new(5, 3).unwrap(), 12).unwrap();
    for encoding in encodings() {
        let table = Reference::search(prefix).write(&dir.path().join("table.sht"), encoding);
        assert_eq!(table.probe(Rank(prefix.states()).state(3)).unwrap(), Probe::NotCovered);
        let home = table.board().home(Side::X);
        assert_eq!(table.side(Side::X).probed(home).unwrap().solution().unwrap(), None);
    }
}

/// Sorting the lists of cells gives the same order.
#[test]
fn the_lexicographic_export_lists_every_state_once() {
    for (size, pieces) in [(3, 1), (3, 4), (4, 3)] {
        let board = Board::new(size, pieces).unwrap();
        let distances: Vec<u8> = (0..board.states()).map(|rank| rank as u8).collect();
        let mut states: Vec<(Vec<usize>, u8)> = States::all(Prefix::whole(board))
            .map(|(rank, state)| (state.cells().iter().map(|cell| cell.index()).collect(), rank.0 as u8))
            .collect();
        states.sort();
        let mut out = Vec::new();
        write_lex(board, &distances, &mut out).unwrap();
        assert_eq!(out, states.into_iter().map(|(_, distance)| distance).collect::<Vec<u8>>());
    }
}
