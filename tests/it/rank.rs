//! `rank` and `unrank`.

use serde_json::json;
use sternhalma_data::{Board, Position, Side};

use crate::common::{TestEnv, ndjson};

#[test]
fn ranks_and_states_go_both_ways() {
    let env = TestEnv::new();
    for (side, pieces, ranks) in [
        (9, 10, vec![0u64, 1, 2, 1_000_000_007, 939_196_203_660, 1_878_392_407_318, 1_878_392_407_319]),
        (9, 6, vec![0, 85_320, 324_540_215]),
        (3, 8, vec![0, 8]),
        (11, 15, vec![0, 1 << 60]),
    ] {
        let board = format!("--side {side} --pieces {pieces}");
        for player in ["x", "o"] {
            for &rank in &ranks {
                let words = format!("{board} --player {player}");
                let state = env.run(&format!("unrank {words} {rank}")).success();
                let state = state.trim();
                assert_eq!(env.run(&format!("rank {words} {state}")).success(), format!("{rank}\n"));
                assert_eq!(env.run(&format!("unrank {words} #{rank}")).success().trim(), state);
                let both = json!({ "state": state, "rank": rank });
                assert_eq!(env.json(&format!("unrank {words} {rank} --json")), both);
                assert_eq!(env.json(&format!("rank {words} {state} --json")), both);
            }
        }
    }
}

#[test]
fn the_last_rank_is_home() {
    let env = TestEnv::new();
    let board = Board::new(9, 10).unwrap();
    let initial = Position::initial(board);
    for (text, player) in [("x", Side::X), ("o", Side::O)] {
        let home = board.geometry().cells_text(initial.army(player));
        let last = "1878392407319\n";
        let words = format!("--pieces 10 --player {text}");
        assert_eq!(env.run(&format!("rank {words} {home}")).success(), last);
        let args = ["rank"].into_iter().chain(words.split(' '));
        let position = initial.to_string();
        assert_eq!(env.run_args(args.chain([position.as_str()])).success(), last);
        let goal = board.geometry().cells_text(initial.army(player.other()));
        assert_eq!(env.run(&format!("rank {words} {goal}")).success(), "0\n");
    }
}

#[test]
fn several_ranks_and_states_are_answered_in_order() {
    let env = TestEnv::new();
    let board = ["--side", "5", "--pieces", "3"];
    let args = |words: &[&'static str]| words.iter().copied().chain(board).collect::<Vec<_>>();
    let input = "startpos\nE5 D5 E4\n-5\n3oo/4o/5/x4/xx3\n";
    let ran = env.feed(args(&["rank", "a1,b1,a2", "nonsense", "--stdin"]), input.as_bytes());
    assert!(ran.err.starts_with("error: `nonsense` is not a cell") && ran.err.lines().count() == 1, "{ran:?}");
    let text = ran.exit(2);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!([lines[0], lines[1], lines[2], lines[4]], ["2299", "2299", "0", "2299"]);
    assert!(lines[3].starts_with("error: line 3: `-5` is not a cell") && lines.len() == 5, "{text}");

    let ran = env.feed(args(&["unrank", "0", "-5", "#1", "--stdin", "--json"]), b"2299\n2300\n");
    assert_eq!(ran.err, "");
    let rows = ndjson(&ran.exit(2));
    assert_eq!(rows[0], json!({ "state": "d5,e4,e5", "rank": 0 }));
    assert_eq!((&rows[1]["argument"], &rows[1]["input"]), (&json!(2), &json!("-5")));
    assert!(rows[1]["error"].as_str().unwrap().contains("expected #0 to #2299"), "{rows:?}");
    assert_eq!((&rows[3]["rank"], &rows[4]["line"], rows.len()), (&json!(2299), &json!(2), 5));

    let drawn = env.run("unrank --side 5 --pieces 3 0 --board").success();
    assert!(drawn.starts_with("d5,e4,e5\n") && drawn.contains("e5  x\n"), "{drawn}");
}
