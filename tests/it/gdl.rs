//! `gdl`.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{CmdOutput, TestEnv, rulesheet};

const GAMES: [&str; 3] = ["tic-tac-toe", "matching-pennies", "subtraction"];

fn own(name: &str) -> PathBuf {
    rulesheet(name).into()
}

/// Returns the exit code, stdout and stderr of a subcommand of `gdl`.
fn gdl(command: &str, files: &[&Path], options: &str) -> (i32, String, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_sternhalma"));
    process.args(["gdl", command]).args(files).args(options.split_whitespace()).stdin(Stdio::null());
    let output = CmdOutput::of(process.output().unwrap());
    (output.code, output.out().to_owned(), output.err)
}

fn file(dir: &TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn built_in_rulesheets_have_names() {
    let env = TestEnv::new();
    let shown = env.run("gdl show tic-tac-toe").success();
    assert_eq!(env.run("gdl show tic-tac-toe.kif").success(), shown);
    // A file comes first.
    env.file("tic-tac-toe.kif", "(role alone)");
    assert_eq!(env.run("gdl check tic-tac-toe.kif").code, 1);
    let error = env.run("gdl show chess").refusal();
    assert!(error.contains("chess: cannot read the rulesheet; `sternhalma games` lists the built-in ones"), "{error}");
}

#[test]
fn traces_replay_plain_and_gzipped() {
    let dir = tempfile::tempdir().unwrap();
    for name in GAMES {
        let (code, trace, err) = gdl("trace", &[&own(name)], "--seed 4 --playouts 3");
        assert_eq!((code, err.as_str()), (0, ""));
        assert_eq!(gdl("trace", &[&own(name)], "--seed 4 --playouts 3").1, trace);
        let count = trace.lines().count();
        let ends = trace.lines().filter(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["terminal"] == true, line["move"].is_null() && line["legal"].is_null());
            line["terminal"] == true
        });
        assert_eq!(ends.count(), 3);
        let plain = file(&dir, "plain.jsonl", &trace);
        let gzipped = dir.path().join("trace.jsonl.gz");
        let mut encoder = GzEncoder::new(File::create(&gzipped).unwrap(), Compression::default());
        encoder.write_all(trace.as_bytes()).unwrap();
        encoder.finish().unwrap();
        for (path, engine) in [(&plain, "prover"), (&gzipped, "sequential"), (&plain, "lanes")] {
            let (code, out, err) = gdl("replay", &[&own(name), path], &format!("--engine {engine}"));
            assert_eq!((code, out, err.as_str()), (0, format!("{count} lines agree\n"), ""));
        }
    }
}

#[test]
fn a_trace_without_lines_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for text in ["", "\n \n"] {
        let empty = file(&dir, "empty.jsonl", text);
        let (code, out, err) = gdl("replay", &[&own("subtraction"), &empty], "");
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.contains("empty.jsonl: the trace has no lines"), "{err}");
    }
}

#[test]
fn the_first_difference_ends_a_replay_with_code_1() {
    let dir = tempfile::tempdir().unwrap();
    let (_, trace, _) = gdl("trace", &[&own("subtraction")], "--seed 1");
    let changed =
        file(&dir, "changed.jsonl", trace.replacen("\"goals\":[\"0\",\"100\"]", "\"goals\":[\"undef\",\"100\"]", 1));
    for engine in ["prover", "sequential", "lanes"] {
        let (code, out, _) = gdl("replay", &[&own("subtraction"), &changed], &format!("--engine {engine}"));
        assert_eq!(code, 1);
        assert!(out.ends_with("goals: expected undef 100, got 0 100\n"), "{out}");
    }
}

#[test]
fn a_rule_beyond_the_bounds_is_refused_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let long = file(&dir, "long.kif", format!("(role a)\n(<= p {})", "(true on) ".repeat(257)));
    let (code, out, _) = gdl("check", &[&long], "");
    assert!(out.contains("long.kif:2:1: error[bound]: The rule has more than 256 literals"), "{out}");
    assert_eq!(code, 1);
    for command in ["show", "bench", "trace"] {
        let (code, out, err) = gdl(command, &[&long], "");
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.contains("2:1: error[bound]: The rule has more than 256 literals"), "{err}");
    }
}

/// With the first move, random play scores 64.9% in tic-tac-toe. A draw is half a win.
#[test]
fn engines_are_measured() {
    let (code, out, err) = gdl("bench", &[&own("tic-tac-toe")], "--seconds 0.2 --threads 2 --json");
    assert_eq!((code, err.as_str()), (0, ""));
    let report: Value = serde_json::from_str(&out).unwrap();
    assert!(report["ground_seconds"].as_f64().unwrap() > 0.0);
    assert!(report["components"].as_u64().unwrap() >= 20);
    assert_eq!((&report["turn_taking"], &report["fixed_sum"]), (&Value::from(true), &Value::from(100)));
    for engine in ["prover", "sequential", "lanes"] {
        let figure = |name: &str| report[engine][name].as_f64().unwrap();
        assert!((7.3..7.9).contains(&figure("mean_length")), "{out}");
        let first = report[engine]["mean_goals"][0].as_f64().unwrap();
        assert!((60.0..70.0).contains(&first), "{out}");
        let steps = figure("playouts_per_s") * figure("mean_length");
        assert!((figure("steps_per_s") - steps).abs() < 1e-6 * steps, "{out}");
    }
    let (_, text, _) = gdl("bench", &[&own("matching-pennies")], "--seconds 0.01 --engine lanes");
    assert!(text.contains("\nkind        at once") && text.contains("\nlanes "), "{text}");
    assert!(!text.contains("prover"), "{text}");
    let policies = "--seconds 0.05 --policy base --policy mini,strategies=E+R --json";
    let (_, out, _) = gdl("bench", &[&own("tic-tac-toe")], policies);
    let report: Value = serde_json::from_str(&out).unwrap();
    let found = report["policies"].as_array().unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0]["policy"], "grave,c=0.2,k=250,ref=50,playout=mast,epsilon=0.4");
    assert!(found.iter().all(|found| found["simulations_per_s"].as_f64().unwrap() > 0.0), "{out}");
    assert!(report.get("prover").is_none(), "{out}");
    let (code, out, err) = gdl("bench", &[&own("tic-tac-toe")], "--seconds 0");
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("expected a number from 0.001 to 1000000"), "{err}");
}

/// A game that cannot be grounded is played with the prover.
#[test]
fn a_game_without_a_network_is_measured_with_the_prover() {
    let dir = tempfile::tempdir().unwrap();
    let text = "(role a) (init (at 0)) (<= (legal a (go ?x)) (true (at ?x)))
        (<= (next (at (s ?x))) (does a (go ?x))) (<= terminal (true (at (s (s (s 0)))))) (goal a 70)";
    let endless = file(&dir, "endless.kif", text);
    let (code, out, _) = gdl("bench", &[&endless], "--seconds 0.05 --json");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &report["prover"]["mean_length"]), (0, &Value::from(3.0)));
    assert_eq!(report["error"], report["lanes"]["error"]);
    assert!(report["components"].is_null());
    assert_eq!(gdl("replay", &[&endless, &endless], "--engine sequential").0, 2);
}

#[test]
fn findings_have_a_place_and_an_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let good = own("tic-tac-toe");
    let bad = file(&dir, "bad.kif", "(role a)\n(<= (legal a ?x)\n  (not (p ?x)))");
    let arity = file(
        &dir,
        "arity.kif",
        "(role a) (init on) (legal a go) (next off) (<= terminal (true off)) (goal a 100) (p a) (p a b)",
    );
    let absent = dir.path().join("absent.kif");
    assert_eq!(gdl("check", &[&good], "").0, 0);
    let (code, out, _) = gdl("check", &[&bad], "");
    assert_eq!(code, 1);
    let first = format!("{}:2:1: error[unsafe]: No positive literal of the body binds ?x.\n", bad.display());
    assert!(out.starts_with(&first), "{out}");
    assert_eq!(gdl("check", &[&arity], "").0, 1);
    assert_eq!(gdl("check", &[&arity], "--lenient").0, 0);
    let (code, out, err) = gdl("check", &[&bad, &absent, &good], "--json");
    assert_eq!(code, 2);
    assert!(err.contains("absent.kif"), "{err}");
    let files: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&files[0]["ok"], &files[1]["ok"]), (&Value::Bool(false), &Value::Bool(true)));
    let finding = &files[0]["findings"][0];
    assert_eq!((&finding["line"], &finding["column"]), (&Value::from(2), &Value::from(1)));
    assert_eq!((&finding["severity"], &finding["code"]), (&Value::from("error"), &Value::from("unsafe")));
}

#[test]
fn invalid_input_is_an_error_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let game = own("subtraction");
    let (_, trace, _) = gdl("trace", &[&game], "");
    let bytes = file(&dir, "bytes.kif", [b'(', 0xff, 0xfe]);
    let open = file(&dir, "open.kif", "(".repeat(1_000_000));
    let idle = file(&dir, "idle.kif", "(role a) (init on) (next on) (<= terminal (true off))");
    let unending = file(&dir, "unending.kif", "(role a) (init on) (next on) (legal a go) (<= terminal (true off))");
    let text = file(&dir, "text.jsonl", "a trace\n");
    let cut = file(&dir, "cut.jsonl.gz", [0x1f, 0x8b, 8, 0]);
    let unknown = file(&dir, "unknown.jsonl", trace.replacen("\"move\":[\"", "\"move\":[\"(?x", 1));
    let absent = dir.path().join("absent");
    assert_eq!(gdl("check", &[&bytes], "").0, 2);
    assert_eq!(gdl("check", &[&open], "").0, 1);
    for rulesheet in [&bytes, &open, &idle, &unending, &absent] {
        let (code, _, err) = gdl("trace", &[rulesheet], "--steps 50");
        assert_eq!((code, err.lines().count()), (2, 1), "{err}");
    }
    for trace in [&text, &cut, &unknown, &absent] {
        let (code, out, err) = gdl("replay", &[&game, trace], "");
        assert_eq!((code, out.as_str(), err.lines().count()), (2, "", 1), "{err}");
    }
}

#[test]
fn strategies_share_simulations() {
    let run = |options: &str| {
        let (code, out, err) = gdl("strategies", &[&own("breakthrough")], options);
        assert_eq!((code, err.as_str()), (0, ""), "{options}");
        out
    };
    let options = "--start 60 --simulations 100 --every 47 --policy mini,allocation=static --json";
    let report: Value = serde_json::from_str(&run(options)).unwrap();
    let count = |shared: &Value| -> u64 {
        let strategies = shared["strategies"].as_array().unwrap();
        strategies.iter().map(|share| share["simulations"].as_u64().unwrap()).sum()
    };
    assert_eq!(count(&report["start"]), 60);
    let after: Vec<u64> = report["move"].as_array().unwrap().iter().map(count).collect();
    assert_eq!(after, [47, 94, 100]);
    let names: Vec<&str> = report["start"]["strategies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|share| share["strategy"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["R", "AGE", "SSC", "M", "E", "HH"]);
    assert_eq!(run(options), run(options));
    assert!(run("--start 10 --policy mini-c --role black").contains("for black"));
    for (options, error) in [("--policy nst", "has no strategies"), ("--role green", "the roles are white, black")] {
        let (code, _, err) = gdl("strategies", &[&own("breakthrough")], options);
        assert!(code != 0 && err.contains(error), "{options}: {err}");
    }
}

#[test]
fn show_prints_the_start_of_a_game() {
    let (code, out, err) = gdl("show", &[&own("subtraction")], "");
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("initial state:\n"), "{out}");
    assert!(out.contains("first: 3 legal moves\n  (take 1)\n"), "{out}");
    assert!(out.lines().last().is_some_and(|line| line.starts_with("network: ")), "{out}");
    let (_, json, _) = gdl("show", &[&own("subtraction")], "--json");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["roles"][1], serde_json::json!({ "name": "second", "legal": ["wait"] }));
    assert!(json["gates"].as_u64().is_some());
}

/// Plays `gdl play` with lines of input. Returns the exit code, stdout and stderr.
fn play(options: &str, input: &str) -> (i32, String, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_sternhalma"));
    process.args(["gdl", "play"]).arg(own("subtraction")).args(options.split_whitespace());
    let mut child = process
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).unwrap();
    let output = CmdOutput::of(child.wait_with_output().unwrap());
    (output.code, output.out().to_owned(), output.err)
}

#[test]
fn a_person_plays_by_numbers_and_texts() {
    let (code, out, err) = play("--role first --policy random", "state\n9\n(take 2)\n1\n1\n1\n1\n1\n1\n1\n1\n1\n");
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("first: (take 2)  second: wait\n"), "{out}");
    assert!(out.lines().last().is_some_and(|line| line.starts_with("The game is over: first ")), "{out}");
    assert!(err.contains("`9` is not a legal move; enter a number from 1 to 3"), "{err}");
    let (code, out, _) = play("--role second --playouts 50", "quit\n");
    assert_eq!((code, out.lines().count()), (0, 1), "{out}");
    let (code, _, err) = play("--role third", "");
    assert_eq!(code, 2);
    assert!(err.contains("there is no role `third`; the roles are first, second"), "{err}");
}

#[test]
fn an_invalid_rulesheet_is_played_only_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let text = "(role a) (init on) (legal a go) (next off) (<= terminal (true off)) (goal a 100) (p a) (p a b)";
    let path = file(&dir, "arities.kif", text);
    let run = |options: &str| {
        let mut process = Command::new(env!("CARGO_BIN_EXE_sternhalma"));
        process.args(["match", "random", "uct", "--games", "2", "--playouts", "5", "--opening-plies", "0", "--rules"]);
        CmdOutput::of(process.arg(&path).args(options.split_whitespace()).output().unwrap())
    };
    let refused = run("");
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("error[sentence-arity]") && refused.err.contains("--lenient"), "{}", refused.err);
    assert_eq!(run("--lenient").code, 0);
}
