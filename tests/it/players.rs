//! The commands that list moves and play games.

use serde_json::{Value, json};

use crate::common::TestEnv;

/// Parses what a command prints as JSON.
fn json(env: &TestEnv, args: &[&str]) -> Value {
    serde_json::from_str(&env.run_args(args).success()).unwrap()
}

#[test]
fn moves_and_their_counts_apply_only_the_rules_of_movement() {
    let env = TestEnv::new();
    let listed = json(&env, &["moves", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 10);
    assert!(listed.as_array().unwrap().contains(&json!({ "move": "c1-c2" })));
    // A won game continues, and a filter is not widened.
    let won = "2xx/3x/4/ooo1 o 9";
    assert!(!json(&env, &["moves", won, "--json"]).as_array().unwrap().is_empty());
    let unquoted: Vec<&str> = ["moves", "--json"].into_iter().chain(won.split(' ')).collect();
    assert_eq!(json(&env, &unquoted), json(&env, &["moves", won, "--json"]));
    let stuck = "3x/3x/1o1x/1oo1 x 0";
    assert_eq!(json(&env, &["moves", stuck, "--filter", "forward", "--json"]), json!([]));
    assert!(!json(&env, &["moves", stuck, "--json"]).as_array().unwrap().is_empty());

    // A position that is none of a game has the rules of movement, unless others are asked for.
    let alone = "3/3/x2 x 0";
    assert_eq!(json(&env, &["moves", alone, "--json"]).as_array().unwrap().len(), 2);
    assert_eq!(json(&env, &["perft", "1", alone, "--json"]), json!({ "rules": "paper", "depth": 1, "nodes": 2 }));
    let error = env.run_args(["moves", alone, "--rules", "blocked-goal"]).refusal();
    assert!(error.contains("expected armies of the same size"), "{error}");
    for (rules, name, nodes) in [("paper", "paper", 29584), ("blocked-goal", "blocked-goal-2", 26896)] {
        let counted = json(&env, &["perft", "4", "--rules", rules, "--json"]);
        assert_eq!(counted, json!({ "rules": name, "depth": 4, "nodes": nodes }));
    }
    assert_eq!(json(&env, &["perft", "4", "--json"])["nodes"], 26896);
    assert_eq!(json(&env, &["perft", "0", "--json"])["nodes"], 1);
    assert_eq!(json(&env, &["perft", "3", "--pieces", "10", "--rules", "paper", "--json"])["nodes"], 4648);
    let divided = json(&env, &["perft", "3", "--side", "7", "--pieces", "3", "--divide", "--json"]);
    let sum: u64 = divided["moves"].as_array().unwrap().iter().map(|row| row["nodes"].as_u64().unwrap()).sum();
    assert_eq!((sum, divided["nodes"].as_u64().unwrap()), (372, 372));
}

#[test]
fn a_match_is_the_same_at_any_number_of_threads() {
    let env = TestEnv::new();
    env.run_args(["build", "--side", "5", "--pieces", "3"]).success();
    let run = |threads: &str| {
        let args = ["match", "heur0", "ab-lookup", "--side", "5", "--pieces", "3", "--games", "8"];
        let more = ["--nodes", "1000", "--seed", "4", "--json", "--threads", threads];
        let mut found = json(&env, &[args.as_slice(), &more].concat());
        for player in ["a", "b"] {
            found["spent"][player]["seconds"] = Value::Null;
        }
        found
    };
    let found = run("1");
    assert_eq!(found, run("2"));
    let score = &found["score"];
    let counts = ["wins", "losses", "draws"].map(|key| score[key].as_u64().unwrap());
    assert_eq!((score["games"].as_u64(), counts.iter().sum::<u64>()), (Some(8), 8));
    let [low, high] = [0, 1].map(|i| score["interval"][i].as_f64().unwrap());
    let rate = score["rate"].as_f64().unwrap();
    assert!(0.0 <= low && low <= rate && rate <= high && high <= 1.0);
    assert_eq!(found["a_first"]["games"], 4);
}

#[test]
fn a_match_estimates_strength_from_pairs() {
    let env = TestEnv::new();
    let run = |a: &str, b: &str, games: &str| {
        json(&env, &["match", a, b, "--side", "5", "--pieces", "3", "--games", games, "--json"])
    };
    let found = run("greedy", "random", "9");
    let score = &found["score"];
    assert_eq!((&score["games"], &score["wins"]), (&9.into(), &9.into()));
    // The ninth game has no pair, so the interval is one over single games. The Elo difference of nine wins has no upper bound.
    assert_eq!(found["pairs"], json!([0, 0, 0, 0, 4]));
    assert_eq!((&found["elo"]["value"], &found["elo"]["interval"][1]), (&Value::Null, &Value::Null));
    assert!(found["elo"]["interval"][0].as_f64().unwrap() > 50.0, "{found}");
    assert_eq!((&found["nelo"], &found["sprt"]), (&Value::Null, &Value::Null));
    // A single game has the interval of a single game.
    assert_eq!(run("greedy", "random", "1")["elo"]["interval"][1], Value::Null);

    let found = run("random", "random", "40");
    let pairs: Vec<u64> = found["pairs"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
    assert_eq!(pairs.iter().sum::<u64>(), 20);
    let points: u64 = pairs.iter().zip(0..).map(|(count, half_points)| count * half_points).sum();
    assert_eq!(points as f64 / 80.0, found["score"]["rate"].as_f64().unwrap());
    for figure in ["elo", "nelo"] {
        let [value, low, high] =
            ["/value", "/interval/0", "/interval/1"].map(|at| found[figure].pointer(at).unwrap().as_f64().unwrap());
        assert!(low < value && value < high, "{found}");
    }
}

#[test]
fn a_sequential_test_ends_a_match_at_the_same_game_at_any_number_of_threads() {
    let env = TestEnv::new();
    let run = |players: [&str; 2], games: &str, threads: &str| {
        let own = ["match", players[0], players[1], "--side", "5", "--pieces", "3", "--nodes", "100", "--json"];
        let more = ["--sprt=-20,60", "--beta", "0.1", "--games", games, "--threads", threads];
        let mut found = json(&env, &[own.as_slice(), &more].concat());
        for player in ["a", "b"] {
            found["spent"][player]["seconds"] = Value::Null;
        }
        found
    };
    for (players, verdict) in [(["base0", "random"], "H1"), (["random", "greedy"], "H0")] {
        let found = run(players, "1000", "1");
        for threads in ["2", "5"] {
            assert_eq!(found, run(players, "1000", threads));
        }
        let test = &found["sprt"];
        assert_eq!((&test["verdict"], &test["nelo"]), (&verdict.into(), &json!([-20.0, 60.0])));
        let [llr, low, high] = ["/llr", "/bounds/0", "/bounds/1"].map(|at| test.pointer(at).unwrap().as_f64().unwrap());
        assert!(if verdict == "H1" { llr >= high } else { llr <= low }, "{test}");
        assert!((low - (0.1f64 / 0.95).ln()).abs() < 1e-12 && (high - (0.9f64 / 0.05).ln()).abs() < 1e-12);
        let games = found["score"]["games"].as_u64().unwrap();
        assert!(games == 2 * test["pairs"].as_u64().unwrap() && games < 1000, "{found}");
        // With one pair fewer there is no verdict.
        let before = run(players, &(games - 1).to_string(), "2");
        assert_eq!((&before["sprt"]["verdict"], &before["score"]["games"]), (&"continue".into(), &(games - 1).into()));
    }
    let args = ["match", "greedy", "random", "--side", "5", "--pieces", "3", "--sprt", "0,50"];
    let text = env.run_args(args).success();
    assert!(
        text.contains("SPRT of nElo 0 to 50, ") && text.trim_end().ends_with("(-2.94 to 2.94), H1 accepted"),
        "{text}"
    );
}

#[test]
fn a_tuning_resumes_from_its_trace() {
    let env = TestEnv::new();
    let trace = env.path("trace.jsonl");
    let path = trace.to_str().unwrap();
    let args = |trace: &[&'static str], seed: &'static str| {
        let own = ["tune", "base0", "--only", "c", "--side", "5", "--pieces", "3", "--games", "4", "--nodes", "200"];
        [own.as_slice(), &["--json", "--seed", seed], trace].concat()
    };
    let whole = env.run_args(args(&[], "1")).success();
    let path: &'static str = Box::leak(path.to_owned().into_boxed_str());
    let traced = env.run_args(args(&["--trace", path], "1")).success();
    assert_eq!(traced, whole);
    // The trace ends in the middle of a line, as after a crash.
    let lines = std::fs::read_to_string(&trace).unwrap();
    let count = lines.lines().count();
    assert!(count > 10, "a line for the run, and some variants in each of three passes");
    std::fs::write(&trace, &lines[..lines.len() / 2]).unwrap();
    assert_eq!(env.run_args(args(&["--trace", path], "1")).success(), whole);
    assert_eq!(std::fs::read_to_string(&trace).unwrap().lines().count(), count);
    let stderr = env.run_args(args(&["--trace", path], "2")).refusal();
    assert!(stderr.contains("different tuning run"), "{stderr}");
}

#[test]
fn invalid_matches_are_refused_in_one_line() {
    let env = TestEnv::new();
    for (args, why) in [
        (vec!["match", "heur9", "random"], "there is no player `heur9`"),
        (vec!["match", "heur0", "random"], "need a distance table"),
        (vec!["match", "base0,c=-1", "random"], "`c=-1`: expected a number ≥ 0, got `-1`"),
        (vec!["match", "greedy", "random", "--side", "3", "--pieces", "5"], "overlap"),
        (vec!["match", "greedy", "random", "--players", "/nowhere.toml"], "/nowhere.toml"),
        (vec!["match", "greedy", "random", "--sprt", "5,0"], "expected a lower and a higher nElo"),
        (vec!["match", "greedy", "random", "--sprt", "0,5", "--alpha", "1"], "alpha and beta"),
        (vec!["perft", "2", "1/2 x 0"], "2 rows"),
        (vec!["moves", "--side", "12"], "3 to 11"),
        (vec!["tune", "greedy"], "only UCT players"),
        (vec!["tune", "base0", "--only", "colour"], "no parameter `colour`"),
        (vec!["play", "-x", "greedy", "-o", "greedy", "2xx/3x/4/oo2 x 0"], "armies of the same size"),
    ] {
        let stderr = env.run_args(&args).refusal();
        assert!(stderr.contains(why), "{args:?}: {stderr}");
    }
}

#[test]
fn removed_parameters_are_reported_wherever_a_text_or_a_file_sets_them() {
    let env = TestEnv::new();
    env.file("own.toml", "[mine]\nlike = \"heur0\"\ntune-shadow = true\n");
    for command in [
        &["players", "heur0,tune-shadow=yes"][..],
        &["players", "mine", "--players", "own.toml"],
        &["policies", "tuned,tune-shadow=yes"],
        &["gdl", "bench", "tic-tac-toe", "--seconds", "0.01", "--policy", "tuned,tune-shadow=yes"],
    ] {
        let notices = env.run_args(command).progress();
        assert!(notices.contains("the parameter `tune-shadow` was removed and has no effect"), "{notices}");
        assert_eq!(env.run_args([command, &["--quiet"]].concat()).progress(), "");
    }
}
