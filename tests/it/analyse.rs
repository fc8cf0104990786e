//! The analysis of positions.

use serde_json::{Value, json};

use crate::common::TestEnv;

/// Returns the analysis of a position as JSON.
fn analysis(env: &TestEnv, position: &str, words: &str) -> Value {
    let words = words.split_whitespace().chain(["--json"]);
    let args = ["analyse"].into_iter().chain(words).chain([position]);
    serde_json::from_str(&env.run_args(args).success()).unwrap()
}

#[test]
fn an_analysis_has_lines_and_both_distances() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3");
    let start = "3oo/4o/5/x4/xx3 x 0";
    let found = analysis(&env, start, "--lines 100 --nodes 1000");
    assert_eq!((&found["position"], &found["side"], &found["result"]), (&json!(start), &json!("x"), &Value::Null));
    let distance = json!({ "distance": 11, "exact": true, "estimate": null });
    assert_eq!((&found["x"], &found["o"]), (&distance, &distance));
    assert!(found["table"].as_str().unwrap().ends_with("5x5-3.sht"));
    // All moves are listed once, and each begins its own line.
    let lines = found["lines"].as_array().unwrap();
    let mut moves: Vec<&str> = lines.iter().map(|line| line["move"].as_str().unwrap()).collect();
    let listed = env.run_args(["moves", start]).success();
    let mut legal: Vec<&str> = listed.lines().collect();
    moves.sort_unstable();
    legal.sort_unstable();
    assert_eq!(moves, legal);
    for line in lines {
        assert_eq!(line["line"][0], line["move"]);
        assert!(line["score"]["lead"].is_f64() && line["depth"].as_u64() >= Some(1), "{line}");
        assert!(line["nodes"].as_u64() <= Some(1000), "{line}");
    }
    assert_eq!(analysis(&env, start, "--depth 2")["lines"][0]["depth"], 2);

    let words = ["analyse", "--board", "--lines", "2", "--depth", "3", start];
    let text = env.run_args(words).success();
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows[..2], ["5x5, 3 pieces, x to move at ply 0", "moves to the goal: x 11 exact, o 11 exact"]);
    assert_eq!(rows.len(), 2 + 9 + 2, "{text}");
    assert!(rows[11].contains("  depth 3  nodes "), "{text}");
}

#[test]
fn positions_are_given_with_moves_or_as_the_file_of_a_game() {
    let env = TestEnv::new();
    let after = "3oo/4o/5/1x3/xx3 o 1";
    let board = "--side 5 --pieces 3";
    assert_eq!(env.run(&format!("show {board} startpos moves a2-b2")).success().lines().last(), Some(after));
    let moves = env.run_args(["moves", after]).success();
    assert_eq!(env.run(&format!("moves {board} startpos moves a2-b2")).success(), moves);
    assert_eq!(env.run("moves fen 3oo/4o/5/x4/xx3 x 0 moves a2-b2").success(), moves);
    // A word may be the name of a file.
    for (words, file) in
        [("moves absent", "absent"), ("show absent", "absent"), ("analyse games/absent.txt", "games/absent.txt")]
    {
        let error = env.run(words).refusal();
        assert!(error.contains(&format!("there is no file `{file}`")), "{error}");
    }
    assert!(!env.run("moves --side 2").refusal().contains("file"));
    let error = env.run(&format!("perft 1 {board} startpos moves a2-e5")).refusal();
    assert!(error.contains("`a2-e5` is not legal for x at ply 0"), "{error}");

    env.file("game.shg", "[Size \"5\"]\n[Pieces \"3\"]\n\n1. a2-b2 *\n");
    assert_eq!(env.run("moves game.shg").success(), moves);
    assert_eq!(env.run("show game.shg").success().lines().last(), Some(after));
    assert_eq!(analysis(&env, "game.shg", "--depth 1")["position"], after);
    env.file("other.shg", "[Size");
    assert!(env.run("moves other.shg").refusal().contains("other.shg: line 1"));
}

#[test]
fn a_won_position_shows_its_win_and_a_finished_one_its_result() {
    let env = TestEnv::new();
    let found = analysis(&env, "3xx/3x1/5/5/ooo2 x 8", "--depth 4");
    assert_eq!((&found["lines"][0]["move"], &found["lines"][0]["score"]), (&json!("d4-e4"), &json!({ "win_in": 1 })));
    let text = env.run_args(["analyse", "3xx/3x1/5/5/ooo2 x 8", "--depth", "4"]).success();
    assert!(text.contains("d4-e4  win in 1 ply  depth "), "{text}");
    let found = analysis(&env, "3xx/4x/5/o4/oo3 x 8", "");
    assert_eq!((&found["lines"], &found["result"]), (&json!([]), &json!("o has won")));
}

#[test]
fn other_players_analyse_and_distances_are_estimated_without_a_table() {
    let env = TestEnv::new();
    let start = "3oo/4o/5/x4/xx3 x 0";
    let ran = env.run_args(["analyse", "--player", "base0", "--nodes", "500", "--lines", "3", "--json", start]);
    assert!(ran.err.contains("`sternhalma build --side 5 --pieces 3`"), "{}", ran.err);
    let found: Value = serde_json::from_str(&ran.success()).unwrap();
    assert_eq!(found["lines"].as_array().unwrap().len(), 1);
    assert!(found["lines"][0]["score"]["reward"].is_f64() && found["lines"][0]["playouts"].as_u64() > Some(0));
    assert_eq!((&found["x"]["distance"], &found["table"]), (&Value::Null, &Value::Null));
    assert!(found["x"]["estimate"].as_f64() > Some(1.0));
    for (words, why) in [
        (&["analyse", "--lines", "0"][..], "expected a whole number from 1 to 4294967295"),
        (&["analyse", "--player", "heur9"], "there is no player `heur9`"),
        (&["analyse", "2xx/3x/4/oo2 x 0"], "armies of the same size"),
    ] {
        let ran = env.run_args(words);
        assert!(ran.code == 2 && ran.err.contains(why), "{words:?}: {}", ran.err);
    }
}

#[test]
fn the_rules_are_given_or_those_of_a_saved_game_or_the_default() {
    let env = TestEnv::new();
    let moves = "a3-b3 g5-f5";
    env.file("paper.shg", format!("[Size \"7\"]\n[Pieces \"6\"]\n\n1. {moves} *\n"));
    env.file("blocked.shg", format!("[Rules \"blocked-goal\"]\n[Size \"7\"]\n[Pieces \"6\"]\n\n1. {moves} *\n"));
    // The move `a1-a3` would seal the corner.
    let seals = |position: &str, words: &str| {
        let found = analysis(&env, position, &format!("--depth 1 --lines 100 --side 7 --pieces 6 {words}"));
        found["lines"].as_array().unwrap().iter().any(|line| line["move"] == "a1-a3")
    };
    let start = format!("startpos moves {moves}");
    for (position, default) in [(&start[..], false), ("paper.shg", true), ("blocked.shg", false)] {
        assert_eq!(seals(position, ""), default, "{position}");
        assert!(seals(position, "--rules paper"), "{position}");
        assert!(!seals(position, "--rules blocked-goal"), "{position}");
    }
    // So do commands that list or count moves.
    let lists = |position: &str, words: &str| {
        let moves = env.run(&format!("moves {position} --side 7 --pieces 6 {words}")).success();
        let count = env.run(&format!("perft 1 {position} --side 7 --pieces 6 {words}")).success();
        assert!(count.contains(&format!(": {} lines (rules ", moves.lines().count())), "{count}");
        moves.lines().any(|mv| mv == "a1-a3")
    };
    for (position, default) in [(&start[..], false), ("paper.shg", true), ("blocked.shg", false)] {
        assert_eq!(lists(position, ""), default, "{position}");
        assert!(lists(position, "--rules paper"), "{position}");
        assert!(!lists(position, "--rules blocked-goal"), "{position}");
    }
}

/// A game whose next move `d1-d3` makes a position occur for the third time.
const REPEATED: &str = "2x1/3x/3x/ooo1 o 10 moves a1-a2 d3-d1 a2-a1 d1-d3 a1-a2 d3-d1 a2-a1";

/// The position after that game. Without the game, `d1-d3` wins.
const REPEATED_END: &str = "2x1/4/3x/ooox x 17";

#[test]
fn an_analysis_follows_the_game() {
    let env = TestEnv::new();
    env.build("--side 4 --pieces 3");
    let found = analysis(&env, REPEATED, "");
    assert_eq!(found["lines"][0]["score"], json!({ "lead": 0.0 }), "{found}");
    assert_eq!(found["position"], REPEATED_END);
    let alone = analysis(&env, REPEATED_END, "");
    assert_eq!((&alone["lines"][0]["move"], &alone["lines"][0]["score"]), (&json!("d1-d3"), &json!({ "lead": 0.5 })));
    // The same game as a file.
    let (start, moves) = REPEATED.split_once(" moves ").unwrap();
    let record = format!("[Start \"{start}\"]\n[Rules \"blocked-goal\"]\n\n{moves} *\n");
    std::fs::write(env.path("g.shg"), record).unwrap();
    let file = env.path("g.shg");
    let of_file = analysis(&env, file.to_str().unwrap(), "");
    assert_eq!(of_file["lines"][0]["score"], found["lines"][0]["score"]);
    // After the third occurrence the game is over.
    let over = analysis(&env, &format!("{REPEATED} d1-d3"), "");
    assert_eq!((&over["result"], &over["lines"]), (&json!("the game is drawn"), &json!([])));
    let message = env.run_args(["analyse", &format!("{REPEATED} d1-d3 a1-a2")]).failure();
    assert!(message.contains("by repetition"), "{message}");
    // A search that does not see repetition proves nothing after repeats.
    let other = analysis(&env, REPEATED, "--player ab-lookup,moves=all");
    assert!(other["lines"][0]["score"].get("win_in").is_none(), "{other}");
}

#[test]
fn a_game_is_searched_position_by_position() {
    let env = TestEnv::new();
    let game = "[Size \"4\"]\n[Pieces \"1\"]\n[Start \"2x1/4/4/1o2 x 10\"]\n\n1. c4-b4 b1-a1 0-1\n";
    std::fs::write(env.work().join("game.shg"), game).unwrap();
    let ran = env.run("analyse --game game.shg --nodes 200 --quiet");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let out = ran.out();
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("ply") && lines[1].starts_with("10"), "{out}");
    assert!(
        lines[1].contains("c4-b4") && lines[1].contains("c4-d4  win in 1 ply") && lines[1].ends_with("??"),
        "{out}"
    );
    assert_eq!(lines[3], "x: 0 inaccuracies, 0 mistakes, 1 blunder in 1 move");
    assert_eq!(lines[4], "o: 0 inaccuracies, 0 mistakes, 0 blunders in 1 move, mean loss 0.00");
    let report: Value = serde_json::from_str(&env.run("analyse --game game.shg --nodes 200 --json").success()).unwrap();
    assert_eq!((&report["moves"][0]["mark"], &report["moves"][0]["best"]), (&json!("??"), &json!("c4-d4")));
    assert_eq!((&report["x"]["blunders"], &report["o"]["mean_loss"]), (&json!(1), &json!(0.0)));
    // A game of a log has its number.
    env.run("match greedy random --side 4 --pieces 3 --games 2 --log games.ndjson --quiet").success();
    let report = env.run("analyse --game games.ndjson --number 2 --nodes 50 --json").success();
    assert!(serde_json::from_str::<Value>(&report).unwrap()["moves"].as_array().unwrap().len() > 2, "{report}");
    for (words, why) in [
        ("analyse --game games.ndjson --nodes 50 --quiet", "this is the log of a tournament"),
        ("analyse --game game.shg --lines 2", "cannot be used with"),
        ("analyse startpos --number 1", "cannot be used with"),
        ("analyse --number 1", "--game <FILE>"),
        ("analyse --game game.shg --ply-limit 9", "cannot be used with"),
    ] {
        let ran = env.run(words);
        assert!(ran.code == 2 && ran.err.contains(why), "{words}: {ran:?}");
    }
}
