//! The commands that list moves and play games, end to end.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn sternhalma(tables: &Path, args: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sternhalma"))
        .args(args)
        .env("STERNHALMA_TABLES", tables)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that reads nothing may have ended by now.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    child.wait_with_output().unwrap()
}

fn answer(tables: &Path, args: &[&str]) -> String {
    let output = sternhalma(tables, args, "");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(tables: &Path, args: &[&str]) -> Value {
    serde_json::from_str(&answer(tables, args)).unwrap()
}

fn refused(tables: &Path, args: &[&str]) -> String {
    let output = sternhalma(tables, args, "");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
    assert!(output.stdout.is_empty() && !stderr.contains("panicked"), "{args:?}: {stderr}");
    stderr
}

#[test]
fn moves_and_their_counts_follow_the_rules_alone() {
    let dir = tempfile::tempdir().unwrap();
    let listed = json(dir.path(), &["moves", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 10);
    assert!(listed.as_array().unwrap().contains(&serde_json::json!({ "move": "c1-c2" })));
    // A won game goes on, a filter is not widened.
    let won = "2xx/3x/4/ooo1 o 9";
    assert!(!json(dir.path(), &["moves", won, "--json"]).as_array().unwrap().is_empty());
    let unquoted: Vec<&str> = ["moves", "--json"].into_iter().chain(won.split(' ')).collect();
    assert_eq!(json(dir.path(), &unquoted), json(dir.path(), &["moves", won, "--json"]));
    let stuck = "3x/3x/1o1x/1oo1 x 0";
    assert_eq!(json(dir.path(), &["moves", stuck, "--filter", "forward", "--json"]), serde_json::json!([]));
    assert!(!json(dir.path(), &["moves", stuck, "--json"]).as_array().unwrap().is_empty());

    assert_eq!(json(dir.path(), &["perft", "4", "--json"]), serde_json::json!({ "depth": 4, "nodes": 29584 }));
    assert_eq!(json(dir.path(), &["perft", "0", "--json"])["nodes"], 1);
    assert_eq!(json(dir.path(), &["perft", "3", "--pieces", "10", "--json"])["nodes"], 4648);
    let divided = json(dir.path(), &["perft", "3", "--side", "7", "--pieces", "3", "--divide", "--json"]);
    let sum: u64 = divided["moves"].as_array().unwrap().iter().map(|row| row["nodes"].as_u64().unwrap()).sum();
    assert_eq!((sum, divided["nodes"].as_u64().unwrap()), (372, 372));
}

#[test]
fn a_match_is_the_same_at_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    answer(dir.path(), &["build", "--side", "5", "--pieces", "3"]);
    let run = |threads: &str| {
        let args = ["match", "heur0", "ab-lookup", "--side", "5", "--pieces", "3", "--games", "8"];
        let more = ["--nodes", "1000", "--seed", "4", "--json", "--threads", threads];
        let mut found = json(dir.path(), &[args.as_slice(), &more].concat());
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
fn a_human_plays_by_moves_and_leaves_by_a_word() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["play", "-x", "human", "-o", "greedy", "--side", "5", "--pieces", "1"];
    let output = sternhalma(dir.path(), &args, "moves\na1-e5\nnonsense\na1-a2\nquit\n");
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("a1-a2 a1-b1") && stderr.contains("a1-e5 is not legal"), "{stderr}");
    assert!(stdout.contains("1. x a1-a2") && stdout.contains("2. o "), "{stdout}");
    let watched = answer(dir.path(), &["play", "-x", "greedy", "-o", "greedy", "--side", "5", "--pieces", "1"]);
    assert!(watched.trim_end().lines().last().unwrap().contains(" wins at ply "), "{watched}");
}

#[test]
fn a_tuning_goes_on_from_its_trace() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace.jsonl");
    let path = trace.to_str().unwrap();
    let args = |trace: &[&'static str], seed: &'static str| {
        let own = ["tune", "base0", "--only", "c", "--side", "5", "--pieces", "3", "--games", "4", "--nodes", "200"];
        [own.as_slice(), &["--json", "--seed", seed], trace].concat()
    };
    let whole = answer(dir.path(), &args(&[], "1"));
    let path: &'static str = Box::leak(path.to_owned().into_boxed_str());
    let traced = answer(dir.path(), &args(&["--trace", path], "1"));
    assert_eq!(traced, whole);
    // Cut in the middle of a line, as by a crash.
    let lines = std::fs::read_to_string(&trace).unwrap();
    let count = lines.lines().count();
    assert!(count > 10, "a line on the run, and some variants in each of three passes");
    std::fs::write(&trace, &lines[..lines.len() / 2]).unwrap();
    assert_eq!(answer(dir.path(), &args(&["--trace", path], "1")), whole);
    assert_eq!(std::fs::read_to_string(&trace).unwrap().lines().count(), count);
    let stderr = refused(dir.path(), &args(&["--trace", path], "2"));
    assert!(stderr.contains("trace of another tuning"), "{stderr}");
}

#[test]
fn what_cannot_be_played_is_refused_in_a_line() {
    let dir = tempfile::tempdir().unwrap();
    for (args, why) in [
        (vec!["match", "heur9", "random"], "there is no player `heur9`"),
        (vec!["match", "heur0", "random"], "need a distance table"),
        (vec!["match", "base0,c=-1", "random"], "`c` is at least 0"),
        (vec!["match", "greedy", "random", "--side", "3", "--pieces", "5"], "overlap"),
        (vec!["match", "greedy", "random", "--players", "/nowhere.toml"], "/nowhere.toml"),
        (vec!["perft", "2", "1/2 x 0"], "2 rows"),
        (vec!["moves", "--side", "12"], "3 to 11"),
        (vec!["tune", "greedy"], "only UCT players"),
        (vec!["tune", "base0", "--only", "colour"], "no parameter `colour`"),
        (vec!["play", "-x", "greedy", "-o", "greedy", "2xx/3x/4/oo2 x 0"], "same number of pieces"),
    ] {
        let stderr = refused(dir.path(), &args);
        assert!(stderr.starts_with("error: ") && stderr.trim_end().lines().count() == 1, "{args:?}: {stderr}");
        assert!(stderr.contains(why), "{args:?}: {stderr}");
    }
}
