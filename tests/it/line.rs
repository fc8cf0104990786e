//! `line`.

use serde_json::{Value, json};
use sternhalma_data::{Board, CellSet, Geometry, Position, Side, Table};

use crate::common::{ENCODINGS, TestEnv, ndjson};

/// Plays a line that leads to the goal, and returns the number of its moves.
fn replay(board: Board, player: Side, state: &str, line: &str) -> usize {
    let geometry: &Geometry = board.geometry();
    let mut army = geometry.parse_cells(state).unwrap();
    for text in line.split_whitespace() {
        let mv = geometry.parse_move(text).unwrap();
        let legal = geometry.army_moves(army, CellSet::EMPTY).any(|legal| legal == mv);
        assert!(legal, "{text} of {line} from {state}");
        army = army.without(mv.from).with(mv.to);
    }
    assert_eq!(army, Position::initial(board).army(player.other()), "{line} from {state} ends in the goal");
    line.split_whitespace().count()
}

#[test]
fn lines_are_legal_shortest_solutions() {
    let env = TestEnv::new();
    for (side, pieces, last, start) in [(5, 3, 2299, 11), (4, 6, 8007, 8), (5, 10, 3_268_759, 13)] {
        let board = Board::new(side, pieces).unwrap();
        for encoding in ENCODINGS {
            let name = env.build(&format!("--side {side} --pieces {pieces} --encoding {encoding}"));
            for (text, player) in [("x", Side::X), ("o", Side::O)] {
                for rank in [0, 1, last / 3, last / 2, last - 1, last] {
                    let words = format!("{} #{rank} --player {text}", name.display());
                    let row = ndjson(&env.run(&format!("query {words} --format ndjson")).success()).remove(0);
                    let state = row["state"].as_str().unwrap();
                    let line = env.run(&format!("line {words}")).success();
                    assert_eq!(line.lines().count(), usize::from(rank > 0), "the goal has no line");
                    assert_eq!(row["distance"], replay(board, player, state, &line));
                    let found = env.json(&format!("line {words} --json"));
                    let moves: Vec<&str> = line.split_whitespace().collect();
                    let expected = json!({
                        "state": state, "rank": rank, "distance": moves.len(), "exact": true, "moves": moves,
                    });
                    assert_eq!(found, expected);
                }
                let home = board.geometry().cells_text(Position::initial(board).army(player));
                let line = env.run(&format!("line {} {home} --player {text}", name.display())).success();
                assert_eq!(replay(board, player, &home, &line), start);
            }
        }
    }
}

#[test]
fn a_line_of_an_upper_bound_is_as_long_as_the_bound() {
    let env = TestEnv::new();
    let board = Board::new(4, 3).unwrap();
    for encoding in ENCODINGS {
        let name = env.build(&format!("--side 4 --pieces 3 --within 13 --encoding {encoding}"));
        let distances = Table::open(&name).unwrap().distances().unwrap().into_owned();
        for rank in (0..distances.len()).filter(|&rank| distances[rank] >= 6) {
            let found = env.json(&format!("line {} #{rank} --json", name.display()));
            assert_eq!((&found["exact"], &found["distance"]), (&json!(false), &json!(distances[rank])));
            let line: Vec<String> = serde_json::from_value(found["moves"].clone()).unwrap();
            let moves = replay(board, Side::X, found["state"].as_str().unwrap(), &line.join(" "));
            assert_eq!(moves, usize::from(distances[rank]));
        }
        let ran = env.run(&format!("line {} a1,a2,b1", name.display()));
        assert!(ran.err.contains("a1,a2,b1") && ran.err.contains("does not cover"), "{ran:?}");
        assert_eq!(ran.exit(1), "");
        let ran = env.run(&format!("line {} a1,a2,b1 --json", name.display()));
        let found: Value = serde_json::from_str(&ran.exit(1)).unwrap();
        assert_eq!((&found["moves"], &found["distance"], &found["rank"]), (&Value::Null, &Value::Null, &json!(559)));
    }
}

#[test]
fn several_states_have_a_line_each() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3 --within 18");
    let ran = env.feed(["line", "5x5-3-within18", "#1", "bad", "#0", "--stdin"], b"#2\n\na1,a2,b1\nd5,e5,e4\n");
    assert!(ran.err.starts_with("error: `bad` is not a cell"), "{ran:?}");
    let lines: Vec<String> = ran.exit(2).lines().map(str::to_owned).collect();
    assert_eq!((lines.len(), lines[1].as_str(), lines[4].as_str()), (6, "", "not covered"));
    assert!(lines[3].starts_with("error: line 2: empty text: `` is not a cell") && lines[0].contains('-'), "{lines:?}");
    let ran = env.feed(["line", "5x5-3-within18", "#1", "bad", "--stdin", "--json"], b"#0\nworse\n");
    let rows = ndjson(&ran.exit(2));
    assert_eq!((&rows[0]["distance"], &rows[2]["moves"]), (&json!(2), &json!([])));
    assert_eq!((&rows[1]["argument"], &rows[1]["input"]), (&json!(2), &json!("bad")));
    assert_eq!((&rows[3]["line"], &rows[3]["input"]), (&json!(2), &json!("worse")));
    assert_eq!(
        env.run("line 5x5-3-within18 #0").err,
        "c5,d4,e3: all pieces are in the goal\n".replace("c5,d4,e3", "d5,e4,e5")
    );
}

#[test]
fn a_line_is_drawn_move_by_move() {
    let env = TestEnv::new();
    env.build("--side 3 --pieces 1");
    let text = env.run("line 3x3-1 a1 --board").success();
    let moves: Vec<&str> = text.lines().next().unwrap().split(' ').collect();
    assert_eq!((moves.len(), text.matches("[x]").count(), text.matches("[.]").count()), (4, 4, 3), "{text}");
    assert!(text.contains("\n1. a1-") && text.contains("\n     a1  x"), "{text}");
}
