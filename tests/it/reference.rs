//! Compares with figures of other programs, in `tests/reference/chinese_checkers.json`.

use std::path::Path;

use serde_json::Value;
use sternhalma_builder::TableBuilder;
use sternhalma_data::{Board, CellSet, Distance, Geometry, Move, Position, Prefix, Probe, Side, State, Table};

fn figures() -> Value {
    serde_json::from_str(include_str!("../reference/chinese_checkers.json")).expect("the figures are JSON")
}

/// Returns the numbers in a key such as `5x5, 3 men` or `N9_pieces6`, in order.
fn numbers(key: &str) -> Vec<u64> {
    key.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

fn entries<'a>(figures: &'a Value, key: &str) -> impl Iterator<Item = (Vec<u64>, &'a Value)> {
    figures[key].as_object().expect("an object").iter().map(|(key, value)| (numbers(key), value))
}

fn built(prefix: Prefix) -> Table {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    TableBuilder::new(prefix).build(&path, &()).unwrap();
    // The mapping stays valid after the file is deleted.
    Table::open(&path).unwrap()
}

#[test]
fn layers_and_start_distances_agree() {
    let figures = figures();
    let mut checked = 0;
    for (key, layers) in entries(&figures, "single_agent_layers") {
        let board = Board::new(key[0], key[2]).unwrap();
        let expected: Vec<u64> = layers.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        assert_eq!(built(Prefix::whole(board)).info().layers, expected, "{board}");
        checked += 1;
    }
    for (key, distance) in entries(&figures, "single_agent_start_to_goal") {
        let board = Board::new(key[0], key[2]).unwrap();
        // Larger tables take too long to build here.
        if board.states() > 20_000_000 {
            continue;
        }
        let found = built(Prefix::whole(board)).probe(State::start(board)).unwrap().distance().unwrap();
        assert_eq!(u64::from(found.0), distance.as_u64().unwrap(), "{board}");
        checked += 1;
    }
    assert!(checked >= 6);
}

#[test]
fn move_counts_agree() {
    let figures = figures();
    for (key, counts) in entries(&figures, "perft_from_the_initial_position") {
        let position = Position::initial(Board::new(key[0], key[1]).unwrap());
        for (depth, count) in counts.as_array().unwrap().iter().enumerate() {
            assert_eq!(position.perft(depth as u32 + 1), count.as_u64().unwrap(), "{position} to depth {}", depth + 1);
        }
    }
}

/// Returns the moves of the solution, from the start of side `x`.
fn solution(figures: &Value, geometry: &Geometry) -> Vec<Move> {
    let cell = |at: &Value| {
        let [x, y] = [&at[0], &at[1]].map(|n| n.as_u64().unwrap() as u8);
        geometry.at(x, y).unwrap()
    };
    let moves = figures["ten_men_in_27_moves"]["moves"].as_array().unwrap();
    moves.iter().map(|pair| Move { from: cell(&pair[0]), to: cell(&pair[1]) }).collect()
}

/// Returns the states of a line of side `x`, ordered by the moves left: the goal first.
fn backward(board: Board, start: CellSet, line: &[Move]) -> Vec<State> {
    let mut army = start;
    let mut states = vec![army];
    for mv in line {
        let legal = board.geometry().army_moves(army, CellSet::EMPTY).any(|legal| legal == *mv);
        assert!(legal, "{}", board.geometry().move_text(*mv));
        army = army.without(mv.from).with(mv.to);
        states.push(army);
    }
    states.into_iter().rev().map(|army| State::from_army(board, Side::X, army)).collect()
}

/// Asserts that no distance in the table exceeds the number of moves that a
/// line needs from the state to the goal. Reads `states` from the goal until
/// the first state that the table does not cover, and returns their number.
fn assert_bounds(table: &Table, states: &[State]) -> usize {
    assert_eq!(table.probe(states[0]).unwrap(), Probe::Exact(Distance(0)), "the line ends in the goal");
    let inside = states.iter().take_while(|state| state.cells().is_subset(table.prefix().cells()));
    let distances = inside.map(|&state| table.probe(state).unwrap().distance().unwrap());
    let mut bounded = 0;
    for distance in distances {
        assert!(usize::from(distance.0) <= bounded, "{distance} with {bounded} moves left");
        bounded += 1;
    }
    bounded
}

#[test]
fn the_solution_in_27_moves_is_legal() {
    let figures = figures();
    let board = Board::new(9, 10).unwrap();
    let line = solution(&figures, board.geometry());
    assert_eq!(line.len(), 27);
    let states = backward(board, Position::initial(board).army(Side::X), &line);
    assert_eq!(states[0], State::goal(board));
}

#[test]
fn the_solution_in_27_moves_bounds_tables_of_ten_pieces() {
    let figures = figures();
    let board = Board::new(9, 10).unwrap();
    let line = solution(&figures, board.geometry());
    let states = backward(board, Position::initial(board).army(Side::X), &line);
    // The last three moves stay within 24 cells.
    assert_eq!(assert_bounds(&built(Prefix::new(board, 24).unwrap()), &states), 4);
}

/// `STERNHALMA_TEN_PIECES` is the path of a table with ten pieces on the 9x9 board.
#[test]
#[ignore = "needs STERNHALMA_TEN_PIECES"]
fn the_solution_in_27_moves_bounds_a_large_table_of_ten_pieces() {
    let board = Board::new(9, 10).unwrap();
    let line = solution(&figures(), board.geometry());
    let states = backward(board, Position::initial(board).army(Side::X), &line);
    let path = std::env::var_os("STERNHALMA_TEN_PIECES").expect("STERNHALMA_TEN_PIECES is the path of a table");
    let table = Table::options().verify_blocks(true).open(Path::new(&path)).unwrap();
    assert_eq!(table.prefix().board(), board, "STERNHALMA_TEN_PIECES names a table of another board");
    let inside = states.iter().filter(|state| state.cells().is_subset(table.prefix().cells())).count();
    assert_eq!(assert_bounds(&table, &states), inside, "this line comes from outside and stays inside");
}

#[test]
fn a_shortest_line_bounds_the_prefixes_of_its_board() {
    let board = Board::new(5, 6).unwrap();
    let start = Position::initial(board).army(Side::X);
    let whole = built(Prefix::whole(board));
    let line = whole.side(Side::X).probed(start).unwrap().solution().unwrap().unwrap();
    let states = backward(board, start, &line);
    assert_eq!(assert_bounds(&whole, &states), 12);
    let bounded = [10, 12, 15, 18, 21, 24].map(|within| {
        let table = built(Prefix::new(board, within).unwrap());
        assert_bounds(&table, &states)
    });
    assert!(bounded.is_sorted() && bounded[0] > 1 && bounded[5] > 6, "{bounded:?}");
}
