//! `query` in every format.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sternhalma_data::{Board, CellSet, Rank, Side, Table};

use crate::common::{ENCODINGS, Session, TestEnv, ndjson};

fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
}

/// On the 5x5 board the start of x is 11 moves from the goal, and has the last rank.
#[test]
fn a_state_can_be_written_in_any_form() {
    let env = TestEnv::new();
    for encoding in ENCODINGS {
        let name = env.build(&format!("--side 5 --pieces 3 --encoding {encoding}"));
        for (words, state) in [
            (vec!["a1,b1,a2"], "a1,a2,b1"),
            (vec![" b1, a1 ,a2"], "a1,a2,b1"),
            (vec!["#2299"], "a1,a2,b1"),
            (vec!["3oo/4o/5/x4/xx3 x 0"], "a1,a2,b1"),
            (vec!["3oo/4o/5/x4/xx3 o 17"], "a1,a2,b1"),
            (vec!["--player", "x", "a1,b1,a2"], "a1,a2,b1"),
            (vec!["--player", "o", "e5,d5,e4"], "d5,e4,e5"),
            (vec!["--player", "o", "#2299"], "d5,e4,e5"),
            (vec!["--player", "o", "3oo/4o/5/x4/xx3 x 0"], "d5,e4,e5"),
        ] {
            let args = ["query", name.to_str().unwrap()].into_iter().chain(words.iter().copied());
            let text = env.run_args(args).success();
            assert_eq!(text, format!("{state}  rank 2299  distance 11  exact\n"), "{words:?}");
        }
        let text = env.run(&format!("query {} a1,a2,b1 --player o", name.display())).success();
        assert_eq!(text, "a1,a2,b1  rank 0  distance 0  exact\n");
    }
}

#[test]
fn all_formats_have_the_same_content() {
    let env = TestEnv::new();
    let name = env.build("--side 4 --pieces 3 --within 13");
    let file = name.to_str().unwrap();
    // The last rank of the table is 285. Distances above 5 are upper bounds.
    let table = Table::open(&name).unwrap();
    let bound = table.distances().unwrap().iter().position(|&distance| distance == 7).unwrap();
    let asked = ["#0".to_owned(), format!("#{bound}"), "a1,a2,b1".to_owned()];
    let run = |format: &str| {
        let ran = env.run_args(["query", file, "--format", format].into_iter().chain(asked.iter().map(String::as_str)));
        assert_eq!(ran.err, "");
        ran.exit(1)
    };
    let bound_state = table.board().state_text(Rank(bound as u64).state(3), Side::X);
    let rows = json!([
        { "state": "c4,d3,d4", "rank": 0, "distance": 0, "exact": true },
        { "state": bound_state, "rank": bound, "distance": 7, "exact": false },
        { "state": "a1,a2,b1", "rank": 559, "distance": null, "exact": null },
    ]);
    assert_eq!(serde_json::from_str::<Value>(&run("json")).unwrap(), rows);
    assert_eq!(Value::from(ndjson(&run("ndjson"))), rows);
    assert_eq!(
        run("text"),
        format!(
            "c4,d3,d4  rank 0  distance 0  exact\n{bound_state}  rank {bound}  distance 7  upper bound\n\
             a1,a2,b1  rank 559  not covered\n"
        )
    );
    let text = run("csv");
    assert!(text.starts_with("state,rank,distance,exact,error\n\"c4,d3,d4\",0,0,true,\n"), "{text}");
    assert_eq!(
        csv_rows(&text)[1..],
        [
            vec!["c4,d3,d4", "0", "0", "true", ""],
            vec![&bound_state, &bound.to_string(), "7", "false", ""],
            vec!["a1,a2,b1", "559", "", "", ""]
        ]
    );
}

/// The moves of a row agree with the rules and with look-ups of the states
/// after them, for both sides.
#[test]
fn moves_are_listed_best_first() {
    let env = TestEnv::new();
    let board = Board::new(5, 3).unwrap();
    let geometry = board.geometry();
    for (words, encoding) in [("", "byte"), ("", "mod3"), ("--within 18", "byte"), ("--within 18", "mod3")] {
        let name = env.build(&format!("--side 5 --pieces 3 --encoding {encoding} {words}"));
        for player in ["x", "o"] {
            let query = |args: &[&str], input: &str| {
                let args = ["query", name.to_str().unwrap(), "--stdin", "--format", "ndjson", "--player", player]
                    .into_iter()
                    .chain(args.iter().copied());
                let ran = env.feed(args, input.as_bytes());
                assert!(ran.code < 2, "{ran:?}");
                ndjson(ran.out())
            };
            let asked: String = (0..800).step_by(111).map(|rank| format!("#{rank}\n")).collect();
            for row in query(&["--moves"], &asked) {
                let army = geometry.parse_cells(row["state"].as_str().unwrap()).unwrap();
                let moves = row["moves"].as_array().unwrap();
                let found: BTreeSet<&str> = moves.iter().map(|mv| mv["move"].as_str().unwrap()).collect();
                let legal: BTreeSet<String> =
                    geometry.army_moves(army, CellSet::EMPTY).map(|mv| geometry.move_text(mv)).collect();
                assert_eq!(found, legal.iter().map(String::as_str).collect());
                assert_eq!(moves.len(), found.len());

                let distances: Vec<u64> = moves.iter().map(|mv| mv["distance"].as_u64().unwrap_or(u64::MAX)).collect();
                assert!(distances.is_sorted(), "{distances:?}");
                let distance = row["distance"].as_u64().unwrap();
                assert_eq!(distances[0], distance.checked_sub(1).unwrap_or(1));

                let after = moves.iter().map(|mv| {
                    let mv = geometry.parse_move(mv["move"].as_str().unwrap()).unwrap();
                    geometry.cells_text(army.without(mv.from).with(mv.to)) + "\n"
                });
                for (mv, after) in moves.iter().zip(query(&[], &after.collect::<String>())) {
                    assert_eq!((&mv["distance"], &mv["exact"]), (&after["distance"], &after["exact"]));
                }
            }
        }
    }
}

#[test]
fn moves_are_listed_in_every_format() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3 --within 18");
    let run = |format: &str| env.run(&format!("query 5x5-3-within18 --moves --format {format} #500 #1")).success();
    let rows: Vec<Value> = serde_json::from_str(&run("json")).unwrap();
    assert_eq!(ndjson(&run("ndjson")), rows);
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut csv = vec![
        ["state", "rank", "distance", "exact", "move", "distance_after", "exact_after", "error"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut lines = 0;
    for row in &rows {
        let own = ["state", "rank", "distance", "exact"].map(|key| text(&row[key]));
        for mv in row["moves"].as_array().unwrap() {
            let after = ["move", "distance", "exact"].map(|key| text(&mv[key]));
            csv.push(own.iter().chain(&after).cloned().chain([String::new()]).collect());
        }
        lines += 1 + row["moves"].as_array().unwrap().len();
    }
    assert!(csv.iter().any(|row| row[5].is_empty()), "a move leads out of the prefix");
    assert_eq!(csv_rows(&run("csv")), csv);
    let printed = run("text");
    assert_eq!(printed.lines().count(), lines);
    assert_eq!(printed.lines().filter(|line| line.starts_with("  ")).count(), lines - 2);
}

/// A state outside the table has a row in every format, with moves or without.
#[test]
fn an_uncovered_state_has_a_row_in_every_format() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3 --within 18");
    for moves in ["", "--moves"] {
        let run = |format: &str| env.run(&format!("query 5x5-3-within18 {moves} --format {format} a1,a2,b1")).exit(1);
        let rows: Vec<Value> = serde_json::from_str(&run("json")).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(ndjson(&run("ndjson")), rows);
        assert_eq!((&rows[0]["distance"], &rows[0]["exact"]), (&Value::Null, &Value::Null));
        assert_eq!(rows[0].get("moves"), (!moves.is_empty()).then_some(&json!([])));
        assert_eq!(run("text"), "a1,a2,b1  rank 2299  not covered\n");
        let csv = csv_rows(&run("csv"));
        assert_eq!(csv.len(), 2, "a header and a row with `{moves}`");
        assert_eq!(csv[1][..3], ["a1,a2,b1", "2299", ""]);
        assert_eq!(csv[1].len(), csv[0].len());
    }
}

#[test]
fn invalid_lines_are_answered_in_their_place() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3");
    let input = "#0\nnonsense\n\n#2299\r\na1,b1\n#2300\n\u{fffd}\n  a1,a2,b1  \n#1";
    let mut bytes = input.as_bytes().to_vec();
    // One line is not valid UTF-8.
    let at = input.find('\u{fffd}').unwrap();
    bytes.splice(at..at + '\u{fffd}'.len_utf8(), [0xff, 0xfe]);
    let run = |format: &str| {
        let ran = env.feed(["query", "5x5-3", "--stdin", "--format", format], &bytes);
        assert_eq!(ran.err, "");
        ran.exit(2)
    };
    let rows = ndjson(&run("ndjson"));
    let ranks: Vec<Option<u64>> = rows.iter().map(|row| row["rank"].as_u64()).collect();
    assert_eq!(ranks, [Some(0), None, None, Some(2299), None, None, None, Some(2299), Some(1)]);
    for (i, row) in rows.iter().enumerate().filter(|(_, row)| row["rank"].is_null()) {
        assert_eq!(row["line"], i + 1);
        assert!(!row["error"].as_str().unwrap().is_empty());
        assert!(row.get("distance").is_none());
    }
    assert_eq!((&rows[1]["input"], &rows[5]["input"]), (&json!("nonsense"), &json!("#2300")));
    assert!(rows[4]["error"].as_str().unwrap().contains("expected 3 pieces, got 2"));
    assert!(rows[5]["error"].as_str().unwrap().contains("#0 to #2299"));

    assert_eq!(serde_json::from_str::<Value>(&run("json")).unwrap(), Value::from(rows.clone()));
    let csv = csv_rows(&run("csv"));
    assert_eq!(csv.len(), 1 + rows.len());
    for (cells, row) in csv[1..].iter().zip(&rows) {
        let error = row["error"].as_str().unwrap_or_default();
        let state = row.get("state").or(row.get("input")).unwrap().as_str().unwrap();
        assert_eq!((cells[0].as_str(), cells[4].as_str(), cells.len()), (state, error, 5));
    }
    let text = run("text");
    let bad: Vec<&str> = text.lines().filter(|line| line.starts_with("error: line ")).collect();
    assert_eq!((text.lines().count(), bad.len()), (9, 5));
    assert!(bad[0].starts_with("error: line 2: `nonsense`"), "{}", bad[0]);
}

#[test]
fn the_row_of_an_invalid_line_is_as_wide_as_the_header() {
    let env = TestEnv::new();
    env.build("--side 3 --pieces 2");
    for (moves, width) in [(None, 5), (Some("--moves"), 8)] {
        let args = ["query", "3x3-2", "--stdin", "--format", "csv"].into_iter().chain(moves);
        let rows = csv_rows(&env.feed(args, b"bad, very\n").exit(2));
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [width; 2]);
        assert_eq!(rows[1][0], "bad, very");
        assert!(rows[1][width - 1].contains("`bad`"));
        assert_eq!(rows[0][width - 1], "error");
    }
}

#[test]
fn the_exit_code_of_many_states_is_that_of_the_worst() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3 --within 10");
    for (input, code) in [
        ("", 0),
        ("#0\n", 0),
        ("#0\n#2299\n", 1),
        ("#2299\n#0\n", 1),
        ("#2299\nbad\n", 2),
        ("bad\n#2299\n", 2),
        ("bad\n#0\n", 2),
    ] {
        let ran = env.feed(["query", "5x5-3-within10", "--stdin"], input.as_bytes());
        assert_eq!((ran.code, ran.out().lines().count()), (code, input.lines().count()), "{input:?}");
    }
    let ran = env.feed(["query", "5x5-3-within10", "--stdin", "--format", "json"], b"");
    assert_eq!(ran.success(), "[]\n");
    // States of the command line precede those of stdin.
    let rows = ndjson(&env.feed("query 5x5-3-within10 #3 --stdin --format ndjson".split(' '), b"#4\n").success());
    assert_eq!(rows.iter().map(|row| row["rank"].as_u64().unwrap()).collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn a_conversation_is_answered_line_by_line() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3");
    let mut session = Session::new(env.command(["query", "5x5-3", "--stdin", "--moves", "--format", "ndjson"]));
    let mut state = "a1,a2,b1".to_owned();
    let geometry = Board::new(5, 3).unwrap().geometry();
    // Each question depends on the previous answer.
    for distance in (0..=11).rev() {
        session.send(&state);
        let row = session.receive_json();
        assert_eq!((&row["state"], &row["distance"]), (&json!(state), &json!(distance)));
        let mv = geometry.parse_move(row["moves"][0]["move"].as_str().unwrap()).unwrap();
        let army = geometry.parse_cells(&state).unwrap();
        state = geometry.cells_text(army.without(mv.from).with(mv.to));
    }
    session.send("nonsense");
    assert_eq!(session.receive_json()["line"], 13);
    session.send("#7");
    assert_eq!(session.receive_json()["rank"], 7);
    let ran = session.end();
    assert_eq!((ran.code, ran.err.as_str()), (2, ""));
}

#[test]
fn invalid_arguments_are_reported_in_their_place() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3");
    let query = |words: &str| env.run(&format!("query 5x5-3 #1 bad #2 {words}"));
    let ran = query("");
    assert!(ran.err.starts_with("error: `bad` is not a cell") && ran.err.lines().count() == 1, "{ran:?}");
    assert_eq!(ran.exit(2).lines().count(), 2);
    let rows: Vec<Value> = serde_json::from_str(&query("--json").exit(2)).unwrap();
    assert_eq!(rows, serde_json::from_str::<Vec<Value>>(&query("--format json").exit(2)).unwrap());
    assert_eq!(rows, ndjson(&query("--format ndjson").exit(2)));
    assert_eq!([&rows[0]["rank"], &rows[1]["argument"], &rows[2]["rank"]], [1, 2, 2].map(Value::from).each_ref());
    assert_eq!(rows[1]["input"], "bad");
    let csv = csv_rows(&query("--format csv").exit(2));
    assert_eq!((csv.len(), csv[2][0].as_str()), (4, "bad"));
    assert!(csv[2][4].contains("is not a cell") && csv[1][4].is_empty(), "{csv:?}");
    let hint = env.run("query 5x5-3 2299").refusal();
    assert!(hint.contains("write `#2299`"), "{hint}");
    let hint = env.run("query 5x5-3 a1 b1 a2").exit(2);
    assert_eq!(hint, "");
}

#[test]
fn states_at_a_distance_are_answered_by_query_and_line() {
    let env = TestEnv::new();
    let name = env.build("--side 5 --pieces 3");
    let distances = Table::open(&name).unwrap().distances().unwrap().into_owned();
    let rows = ndjson(&env.run(&format!("query {} --distance 10 --format ndjson", name.display())).success());
    let ranks: Vec<usize> = rows.iter().map(|row| row["rank"].as_u64().unwrap() as usize).collect();
    let expected: Vec<usize> = (0..distances.len()).filter(|&rank| distances[rank] == 10).collect();
    assert_eq!(ranks, expected);
    assert!(rows.iter().all(|row| row["distance"] == 10));
    // The answers of `query` are questions of `line`, and of `query` again.
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let feed = |words: &str| env.feed(words.split(' '), lines.as_bytes()).success();
    let solved = feed("line 5x5-3 --stdin");
    assert_eq!(solved, env.run(&format!("line {} --distance 10", name.display())).success());
    assert!(solved.lines().count() == rows.len() && solved.lines().all(|line| line.split(' ').count() == 10));
    assert_eq!(ndjson(&feed("query 5x5-3 --stdin --format ndjson")), rows);
    // Random states: the same ones with the same seed.
    let sample = |seed: u64| env.run(&format!("query {} --random 40 --seed {seed}", name.display())).success();
    let states: BTreeSet<String> = sample(1).lines().map(str::to_owned).collect();
    assert_eq!(states.len(), 40);
    assert!(sample(1) == sample(1) && sample(1) != sample(2));
    let some = env.run(&format!("query {} --distance 9 --random 7", name.display())).success();
    assert!(some.lines().count() == 7 && some.lines().all(|line| line.contains("distance 9 ")));
}

#[test]
fn no_state_at_a_distance_has_a_message_and_the_header_of_its_format() {
    let env = TestEnv::new();
    let name = env.build("--side 5 --pieces 3");
    for (format, expected) in
        [("text", ""), ("csv", "state,rank,distance,exact,error\n"), ("json", "[]\n"), ("ndjson", "")]
    {
        let ran = env.run(&format!("query {} --distance 12 --format {format}", name.display()));
        let message = "no state of the table has distance 12; the largest distance is 11";
        assert!(ran.err.contains(message), "{}", ran.err);
        assert_eq!(ran.exit(1), expected, "{format}");
    }
}

#[test]
fn both_armies_of_a_position_are_answered_at_once() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3");
    let position = "3oo/4o/5/xxx2/5 o 7";
    let one = |player: &str| {
        let text = env.run_args(["query", "5x5-3", position, "--json", "--player", player]).success();
        serde_json::from_str::<Vec<Value>>(&text).unwrap().remove(0)
    };
    let both = env.run_args(["query", "5x5-3", position, "--player", "both", "--json"]).success();
    let mut both: Vec<Value> = serde_json::from_str(&both).unwrap();
    for (row, player) in both.iter_mut().zip(["x", "o"]) {
        assert_eq!(row.as_object_mut().unwrap().remove("player"), Some(Value::from(player)));
        assert_eq!(*row, one(player));
    }
    assert_eq!(both.len(), 2);
    let text = env.run("query 5x5-3 startpos --player both").success();
    let expected = "x: a1,a2,b1  rank 2299  distance 11  exact\no: d5,e4,e5  rank 2299  distance 11  exact\n";
    assert_eq!(text, expected);
    let csv = csv_rows(&env.run("query 5x5-3 startpos bad --player both --format csv").exit(2));
    assert!(csv[0][0] == "player" && csv.iter().all(|row| row.len() == csv[0].len()), "{csv:?}");
    let error = env.run("query 5x5-3 #0 --player both").refusal();
    assert!(error.contains("expects a position string"), "{error}");
    let drawn = env.run("query 5x5-3 startpos --player both --board").success();
    assert!(drawn.starts_with(expected) && drawn.matches(" o ").count() + drawn.matches(" x ").count() >= 4, "{drawn}");
    let drawn = env.run("query 5x5-3 #0 --board").success();
    assert!(drawn.contains("\n         e5  x\n"), "{drawn}");
}
