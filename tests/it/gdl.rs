//! `gdl`.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{CmdOutput, TestEnv, rulesheet, signal};

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
    let (code, out, err) = play("--role first --policy random", "state\n9\ntake\ntake 2\n1\n1\n1\n1\n1\n1\n1\n1\n1\n");
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("first: (take 2)  second: wait\n"), "{out}");
    assert!(out.lines().last().is_some_and(|line| line.contains(" wins, goals: first ")), "{out}");
    for text in ["9", "take"] {
        let message = "is not legal for first; expected a move such as `(take 1)`, or a number from 1 to 3";
        assert!(err.contains(&format!("`{text}` {message}")), "{err}");
    }
    let (code, out, _) = play("--role second --playouts 50", "quit\n");
    assert_eq!((code, out.lines().count()), (0, 1), "{out}");
    let (code, _, err) = play("--role third", "");
    assert_eq!(code, 2);
    assert!(err.contains("there is no role `third`; the roles are first, second"), "{err}");
}

/// A game of one role that never ends. A fluent chooses between a choice and a forced move.
const ENDLESS: &str = "(role a) (init (at KIND)) (<= (next (at ?p)) (true (at ?p))) (<= terminal (true (at end)))
    (goal a 50) (legal a stay) (<= (legal a go) (true (at choice)))";

#[test]
fn every_command_treats_errors_and_warnings_of_a_rulesheet_alike() {
    let env = TestEnv::new();
    let valid = "(role a) (init on) (legal a go) (next off) (<= terminal (true off)) (goal a 100)";
    env.file("arities.kif", format!("{valid}\n(p a) (p a b)"));
    env.file("syntax.kif", "(role a)\n(init");
    env.file("warned.kif", format!("{valid}\n(<= p missing)"));
    for words in [
        "match random uct --games 2 --playouts 5 --opening-plies 0 --rules",
        "gdl play",
        "ggp-match localhost:1 --start-clock 0 --play-clock 0",
    ] {
        let run = |file: &str, options: &str| match words.split_once(' ') {
            Some(("ggp-match", rest)) => env.run(&format!("ggp-match {file} {rest} {options}")),
            _ => env.run(&format!("{words} {file} {options}")),
        };
        let error = run("arities.kif", "").refusal();
        let expected = "arities.kif:2:7: error[sentence-arity]: The relation p has 2 arguments here and 1 elsewhere. \
                        --lenient plays the rulesheet despite its errors";
        assert!(error.ends_with(expected), "{words}: {error}");
        let error = run("syntax.kif", "").refusal();
        assert!(error.contains("syntax.kif:2:1: error[syntax]: ") && !error.contains("--lenient"), "{words}: {error}");
        // No player of `ggp-match` answers.
        let code = if words.starts_with("ggp-match") { 2 } else { 0 };
        for (file, options, finding) in [
            ("arities.kif", "--lenient", "arities.kif:2:7: error[sentence-arity]: "),
            ("warned.kif", "", "warned.kif:2:7: warning[undefined]: "),
        ] {
            let ran = run(file, options);
            assert_eq!((ran.code, ran.err.matches(finding).count()), (code, 1), "{words}: {ran:?}");
        }
    }
}

#[test]
fn a_match_without_an_end_ends_by_its_steps_or_a_signal() {
    let env = TestEnv::new();
    env.file("forced.kif", ENDLESS.replace("KIND", "wall"));
    env.file("choice.kif", ENDLESS.replace("KIND", "choice"));
    let ran = env.run("gdl play forced.kif --steps 7");
    assert!(ran.err.contains("the match has no end after 7 steps; --steps N allows more"), "{}", ran.err);
    assert!(ran.err.contains("warning[not-played]"), "{}", ran.err);
    let out = ran.success();
    assert_eq!(out, "a: stay\n".repeat(7) + "the match did not end, goals: a 50\n");
    // A signal ends forced moves.
    let mut command = env.command("gdl play forced.kif --steps 1000000000".split(' '));
    let mut child = command.spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut String::new()).unwrap();
    assert!(signal("-INT", child.id()));
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    let error = CmdOutput::of(child.wait_with_output().unwrap()).failure();
    assert!(error.starts_with("error: interrupted after "), "{error}");
    // A signal ends the wait for a move.
    let mut command = env.command("gdl play choice.kif".split(' '));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut err = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("   2  ") {
        line.clear();
        assert_ne!(std::io::BufRead::read_line(&mut err, &mut line).unwrap(), 0);
    }
    assert!(signal("-TERM", child.id()));
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut err, &mut rest).unwrap();
    assert_eq!((child.wait().unwrap().code(), rest.ends_with("error: interrupted after 0 steps\n")), (Some(2), true));
}

/// Playouts of a game that never ends are cut, so that searches whose limits are counts end.
#[test]
fn endless_playouts_end() {
    let env = TestEnv::new();
    env.file("choice.kif", ENDLESS.replace("KIND", "choice"));
    for policy in ["uct", "mast", "nst", "base"] {
        let words = format!("match {policy} random --rules choice.kif --games 1 --playouts 3 --ply-limit 4");
        let ran = env.run(&words);
        assert!(ran.err.contains("choice.kif: warning[not-played]: The simulation stopped: "), "{}", ran.err);
        ran.success();
    }
}
