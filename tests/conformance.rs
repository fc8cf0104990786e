//! Figures computed elsewhere. They are looked for in the directory that
//! `STERNHALMA_CONFORMANCE` names, or in `../shared/conformance`; without
//! them the test says so and checks nothing.

use std::path::PathBuf;

use serde_json::Value;
use sternhalma_builder::{BuildOptions, build};
use sternhalma_data::{Board, CellSet, Encoding, Geometry, Move, Player, Position, Prefix, Table, army_moves};

fn figures() -> Option<Value> {
    let dir = std::env::var_os("STERNHALMA_CONFORMANCE").map(PathBuf::from);
    let dir = dir.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/conformance"));
    let path = dir.join("chinese_checkers.json");
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).expect("the figures are JSON")),
        Err(error) => {
            eprintln!("skipped: {}: {error}", path.display());
            None
        }
    }
}

/// `5x5, 3 men` or `N9_pieces6`: the numbers in a key, in order.
fn numbers(key: &str) -> Vec<u64> {
    key.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

fn entries<'a>(figures: &'a Value, key: &str) -> impl Iterator<Item = (Vec<u64>, &'a Value)> {
    figures[key].as_object().expect("an object").iter().map(|(key, value)| (numbers(key), value))
}

fn built(board: Board) -> Table {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sht");
    let options = BuildOptions { prefix: Prefix::whole(board), encoding: Encoding::Byte, threads: 0 };
    build(&path, options, false, &()).unwrap();
    // The map outlives the file's name.
    Table::open(&path).unwrap()
}

#[test]
fn layers_and_start_distances_agree() {
    let Some(figures) = figures() else { return };
    let mut checked = 0;
    for (key, layers) in entries(&figures, "single_agent_layers") {
        let board = Board::new(key[0], key[2]).unwrap();
        let told: Vec<u64> = layers.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        assert_eq!(built(board).contents().layers, told, "{board}");
        checked += 1;
    }
    for (key, distance) in entries(&figures, "single_agent_start_to_goal") {
        let board = Board::new(key[0], key[2]).unwrap();
        // The largest are for tables of a longer build.
        if board.states() > 20_000_000 {
            continue;
        }
        let start = board.home().turned(board.cells());
        let found = built(board).distance(start).unwrap().distance().unwrap();
        assert_eq!(u64::from(found.0), distance.as_u64().unwrap(), "{board}");
        checked += 1;
    }
    assert!(checked >= 6);
}

#[test]
fn move_counts_agree() {
    let Some(figures) = figures() else { return };
    for (key, counts) in entries(&figures, "perft_from_the_initial_position") {
        let position = Position::initial(Board::new(key[0], key[1]).unwrap());
        for (depth, count) in counts.as_array().unwrap().iter().enumerate() {
            assert_eq!(position.perft(depth as u32 + 1), count.as_u64().unwrap(), "{position} to depth {}", depth + 1);
        }
    }
}

#[test]
fn the_solution_in_27_moves_is_legal() {
    let Some(figures) = figures() else { return };
    let board = Board::new(9, 10).unwrap();
    let geometry: &Geometry = board.geometry();
    let cell = |at: &Value| {
        let [x, y] = [&at[0], &at[1]].map(|n| n.as_u64().unwrap() as u8);
        geometry.at(x, y).unwrap()
    };
    let mut army = Position::initial(board).army(Player::X);
    let moves = figures["ten_men_in_27_moves"]["moves"].as_array().unwrap();
    assert_eq!(moves.len(), 27);
    for pair in moves {
        let mv = Move { from: cell(&pair[0]), to: cell(&pair[1]) };
        assert!(army_moves(geometry, army, CellSet::EMPTY).any(|legal| legal == mv), "{}", geometry.move_text(mv));
        army = army.without(mv.from).with(mv.to);
    }
    assert_eq!(Player::X.goal_view(board.cells(), army), board.home());
}
