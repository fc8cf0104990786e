//! `tournament`: tournaments that are killed and resumed, split and merged, and
//! programs that misbehave.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use sternhalma_ggp::arena::GameLog;

use crate::common::{rulesheet, rulesheets};

fn sternhalma(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sternhalma"));
    command.current_dir(dir).env("STERNHALMA_TABLES", dir).stdin(Stdio::null());
    command
}

pub fn ran(dir: &Path, args: &[&str]) -> Output {
    sternhalma(dir).args(args).output().unwrap()
}

pub fn answer(dir: &Path, args: &[&str]) -> String {
    let output = ran(dir, args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Removes what is measured: times, and the rate of the machine.
pub fn without_seconds(mut value: Value) -> Value {
    fn remove_seconds(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("seconds");
                // The checksum of a line depends on its times.
                fields.remove("check");
                fields.remove("machine_rate");
                fields.values_mut().for_each(remove_seconds);
            }
            Value::Array(values) => values.iter_mut().for_each(remove_seconds),
            _ => {}
        }
    }
    remove_seconds(&mut value);
    value
}

/// Runs a command and returns its JSON without seconds.
pub fn json(dir: &Path, args: &[&str]) -> Value {
    without_seconds(serde_json::from_str(&answer(dir, &[args, &["--json"]].concat())).unwrap())
}

/// Returns the games of a log without seconds, in order of pairings and games.
pub fn logged(dir: &Path, log: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(dir.join(log)).unwrap();
    let mut games: Vec<Value> =
        text.lines().skip(1).map(|line| without_seconds(serde_json::from_str(line).unwrap())).collect();
    games.sort_by_key(|game| ["round", "pairing", "game"].map(|key| game[key].as_u64().unwrap()));
    games
}

/// Returns a line of a log as earlier versions wrote it.
pub fn without_checksum(line: &str) -> String {
    line.split_once(",\"check\":").map_or(line.to_owned(), |(fields, _)| format!("{fields}}}"))
}

pub fn refused(dir: &Path, args: &[&str]) -> String {
    let output = ran(dir, args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
    assert!(output.stdout.is_empty() && !stderr.contains("panicked"), "{args:?}: {stderr}");
    stderr
}

pub const SMALL: [&str; 4] = ["--side", "5", "--pieces", "3"];

/// Kills and repeats a command until it ends by itself. Returns the number of kills.
fn killed_until_it_ends(dir: &Path, args: &[&str]) -> u32 {
    let (mut kills, mut wait) = (0, 20);
    loop {
        let mut child = sternhalma(dir).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        if child.try_wait().unwrap().is_some() {
            return kills;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        // The waits grow, so that the command ends on a slow machine too.
        wait = wait * 5 / 4 + 7;
    }
}

#[test]
fn a_tournament_killed_anywhere_and_resumed_gives_the_same() {
    let dir = tempfile::tempdir().unwrap();
    answer(dir.path(), &["build", "--side", "5", "--pieces", "3"]);
    std::fs::write(
        dir.path().join("three.toml"),
        "side = 5\npieces = 3\ngames = 40\nseed = 7\nopening-plies = 3\n\
         [[player]]\nname = 'heur0'\n[[player]]\nname = 'short'\nplayer = 'base0,threshold=3'\n[[player]]\nname = 'greedy'\n\
         [[round]]\nname = 'few'\nbudget = { nodes = 300 }\n[[round]]\nname = 'more'\nbudget = { playouts = 60 }\n",
    )
    .unwrap();
    let run = ["tournament", "-f", "three.toml"];
    let whole = json(dir.path(), &run);
    assert_eq!((&whole["games"], &whole["played"]), (&240.into(), &240.into()));
    for threads in ["1", "2", "3"] {
        let log = format!("log-{threads}");
        let args = [&run[..], &["--threads", threads, "--log", &log]].concat();
        let kills = killed_until_it_ends(dir.path(), &args);
        assert!(kills > 0);
        assert_eq!(json(dir.path(), &args), whole, "{kills} kills");
        assert_eq!(json(dir.path(), &["tournament", "show", &log]), whole);
        let games: Vec<Value> = std::fs::read_to_string(dir.path().join(&log))
            .unwrap()
            .lines()
            .skip(1)
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(games.len(), 240, "no game is played twice");
        for game in &games {
            let moves = game["moves"].as_array().unwrap();
            let moves: Vec<&str> = moves.iter().map(|mv| mv.as_str().unwrap()).collect();
            assert!(!moves.is_empty() && moves.iter().all(|mv| mv.contains('-') || *mv == "pass"));
        }
    }
}

#[test]
fn shards_merge_to_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let run = [&["tournament", "base0", "greedy", "random", "--games", "14", "--nodes", "200"], &SMALL[..]].concat();
    let whole = json(dir.path(), &[&run[..], &["--log", "whole"]].concat());
    for shard in ["1/3", "2/3", "3/3"] {
        let log = format!("part-{}", &shard[..1]);
        let part = json(dir.path(), &[&run[..], &["--shard", shard, "--log", &log]].concat());
        assert!(part["games"].as_u64().unwrap() < 42);
    }
    let merge = ["tournament", "merge", "part-3", "part-1", "part-2", "part-1"];
    assert_eq!(json(dir.path(), &merge), whole);
    assert_eq!(json(dir.path(), &[&merge[..], &["-o", "joined"]].concat()), whole);
    assert_eq!(json(dir.path(), &["tournament", "show", "joined"]), whole);
    // The merged log is that of the whole tournament, so no game is left to play.
    assert_eq!(json(dir.path(), &[&run[..], &["--log", "joined"]].concat()), whole);
    let error = refused(dir.path(), &[&merge[..], &["-o", "joined"]].concat());
    assert!(error.contains("joined"), "{error}");
    let other = [&run[..], &["--seed", "2", "--log", "other"]].concat();
    answer(dir.path(), &other);
    let error = refused(dir.path(), &["tournament", "merge", "part-1", "other"]);
    assert!(error.contains("a different tournament than part-1"), "{error}");
    let error = refused(dir.path(), &[&run[..], &["--seed", "3", "--log", "other"]].concat());
    assert!(error.contains("different tournament (the seed is 2 in the log, and 3 here)"), "{error}");
    let error = refused(dir.path(), &[&run[..], &["--shard", "1/2", "--sprt=0,10"]].concat());
    assert!(error.contains("a shard has only some"), "{error}");
}

#[test]
fn standings_are_printed_in_tables() {
    let dir = tempfile::tempdir().unwrap();
    let run = [
        &["tournament", "greedy", "random", "base0", "--format", "gauntlet", "--games", "6", "--nodes", "50"],
        &SMALL[..],
    ];
    let text = answer(dir.path(), &run.concat());
    for part in
        ["12 games", "Points and games of the row", "in which the row moves first", "The player who moves first has"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("  6/6"), "greedy beats random: {text}");
    let plan = answer(dir.path(), &[&run.concat()[..], &["--plan"]].concat());
    assert!(plan.contains("12 games; ") && plan.contains("to go"), "{plan}");
    // Each limit is tested alone.
    std::fs::write(
        dir.path().join("kinds.toml"),
        "side = 5\npieces = 3\ngames = 4\n[[player]]\nname = 'ab-avg'\n[[player]]\nname = 'random'\n\
         [[round]]\nname = 'plies'\nbudget = { depth = 2 }\n[[round]]\nname = 'time'\nbudget = { movetime = 100 }\n\
         [[round]]\nname = 'clock'\nbudget = { time = '9+1' }\n[[round]]\nname = 'nodes'\nbudget = { nodes = 9000 }\n",
    )
    .unwrap();
    let plan: Value =
        serde_json::from_str(&answer(dir.path(), &["tournament", "-f", "kinds.toml", "--plan", "--json"])).unwrap();
    let hours: Vec<f64> =
        plan["rounds"].as_array().unwrap().iter().map(|round| round["hours"].as_f64().unwrap()).collect();
    assert_eq!(plan["games"], 16);
    assert!(
        hours.iter().all(|&hours| hours > 0.0 && hours < 1.0) && hours[0] < hours[1] && hours[1] < hours[2],
        "{hours:?}"
    );
    let plan: Value =
        serde_json::from_str(&answer(dir.path(), &[&run.concat()[..], &["--plan", "--json"]].concat())).unwrap();
    assert_eq!((&plan["games"], &plan["played"]), (&12.into(), &0.into()));
    assert!(plan["hours"].as_f64().unwrap() < 1.0);
}

#[test]
fn openings_clocks_and_adjudication() {
    let dir = tempfile::tempdir().unwrap();
    answer(dir.path(), &["build", "--side", "5", "--pieces", "3"]);
    std::fs::write(dir.path().join("openings"), "# two\nstartpos moves a1-a3\n\nfen 3oo/4o/5/x4/xx3 o 3\n").unwrap();
    let run =
        ["tournament", "heur0", "base0", "--games", "4", "--openings", "openings", "--adjudicate", "--log", "log"];
    let found = json(dir.path(), &[&run[..], &["--time", "5+0.1", "--nodes", "300"], &SMALL].concat());
    assert_eq!(found["rounds"][0]["pairings"][0]["ends"]["adjudicated"], 4, "{found}");
    let text = std::fs::read_to_string(dir.path().join("log")).unwrap();
    let mut openings: Vec<String> = (text.lines().skip(1))
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["opening"].as_str().unwrap().to_owned())
        .collect();
    openings.sort();
    assert_eq!(
        openings,
        ["3oo/4o/5/x4/xx3 o 3", "3oo/4o/5/x4/xx3 o 3", "3oo/4o/x4/x4/1x3 o 1", "3oo/4o/x4/x4/1x3 o 1"]
    );
}

/// Returns the lines of a file of openings without its comments.
fn openings_in(dir: &Path, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(dir.join(file)).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn balanced_openings_do_not_depend_on_threads_and_can_be_played() {
    let dir = tempfile::tempdir().unwrap();
    let make = |args: &str| {
        let all = format!("tournament openings --side 5 --pieces 3 --plies 2-5 --nodes 200 {args}");
        answer(dir.path(), &all.split(' ').collect::<Vec<_>>())
    };
    assert_eq!(make("--margin 0.5 --advantage 0.3 --count 12 --threads 1 -o one"), "one\n");
    make("--margin 0.5 --advantage 0.3 --count 12 --threads 3 -o three");
    make("--margin 0.5 --advantage 0.3 --count 8 --skip 4 -o rest");
    let text = std::fs::read_to_string(dir.path().join("one")).unwrap();
    assert_eq!(text, std::fs::read_to_string(dir.path().join("three")).unwrap());
    for line in ["# board: 5x5, 3 pieces", "# advantage: 0.3 moves for the player to move, given", "# plies: 2 to 5"] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let all = openings_in(dir.path(), "one");
    assert_eq!((all.len(), &all[4..]), (12, &openings_in(dir.path(), "rest")[..]));
    // Each line is a position that the analysis of the same player scores within the margin.
    for opening in &all {
        let args = ["analyse", opening, "--nodes", "200"];
        let lead = &json(dir.path(), &args)["lines"][0]["score"]["lead"];
        assert!((lead.as_f64().unwrap() - 0.3).abs() <= 0.5, "{opening}: {lead}");
    }
    let play = ["match", "greedy", "random", "--games", "4", "--openings", "one", "--log", "log"];
    answer(dir.path(), &[&play[..], &SMALL].concat());
    let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
    let games: Vec<Value> = log.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let opening = |game: u64| games.iter().find(|record| record["game"] == game).unwrap()["opening"].as_str();
    assert_eq!([0, 1, 2, 3].map(opening), [0, 0, 1, 1].map(|at| Some(&*all[at])));
}

#[test]
fn the_advantage_is_fitted_from_a_log() {
    let dir = tempfile::tempdir().unwrap();
    answer(dir.path(), &["build", "--side", "5", "--pieces", "3"]);
    let play = ["match", "sternhalma", "sternhalma", "--nodes", "50", "--games", "60", "--opening-plies", "4"];
    answer(dir.path(), &[&play[..], &["--side", "5", "--pieces", "3", "--log", "log"]].concat());
    let make = |file: &str, args: &[&str]| {
        let fixed =
            ["tournament", "openings", "--side", "5", "--pieces", "3", "--nodes", "50", "--count", "3", "-o", file];
        ran(dir.path(), &[&fixed[..], args].concat())
    };
    assert!(make("fitted", &["--fit", "log"]).status.success());
    let text = std::fs::read_to_string(dir.path().join("fitted")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("# advantage: ")).unwrap();
    assert!(line.contains("fitted from ") && line.contains("95% interval"), "{line}");
    let advantage = line.split(' ').next().unwrap();
    assert!(make("given", &["--advantage", advantage]).status.success());
    assert_eq!(openings_in(dir.path(), "fitted"), openings_in(dir.path(), "given"));
    let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
    let few: String = log.lines().take(2).map(|line| line.to_owned() + "\n").collect();
    std::fs::write(dir.path().join("few"), few).unwrap();
    for (file, args, why) in [
        ("a", &["--fit", "few"][..], "few: the results of 1 game do not determine equal chances"),
        ("b", &["--player", "base0"], "base0: the player reports no lead"),
        ("c", &["--plies", "5-2"], "the smaller number first"),
        ("d", &["--margin=-1"], "expected a number from 0 to 1000, e.g. 0.5, got `-1`"),
        ("f", &["--advantage", "nan"], "expected a number from -1000 to 1000, e.g. 0.5, got `nan`"),
        ("g", &["--advantage", "999"], "none of the last 10000 openings is balanced"),
        (
            "e",
            &["--plies", "0", "--margin", "99"],
            "no further different openings can be drawn; more --plies give more: 1 of 3 found",
        ),
    ] {
        let output = make(file, args);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(why), "{args:?}: {error}");
        assert_eq!(dir.path().join(file).exists(), file == "e");
    }
}

#[test]
fn a_tournament_in_lock_step_is_the_same_killed_or_not() {
    let dir = tempfile::tempdir().unwrap();
    let rules = &rulesheet("connect-four");
    std::fs::write(
        dir.path().join("four.toml"),
        format!(
            "rules = {rules:?}\ngames = 12\nponder = true\nstart = 1.5\nbudget = {{ playouts = 40 }}\n\
             [[player]]\nname = 'base'\n[[player]]\nname = 'random'\n[[player]]\nname = 'mast'\nbudget = {{ nodes = 900 }}\n\
             [[player]]\nname = 'small'\nplayer = 'nst,memory=20KiB'\n"
        ),
    )
    .unwrap();
    let run = ["tournament", "-f", "four.toml"];
    let whole = json(dir.path(), &run);
    assert_eq!(whole["played"], 72);
    // The search with little memory reaches its limit, and plays the same games in lock step.
    let limited: Vec<bool> = whole["rounds"][0]["entrants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entrant| entrant["spent"]["memory_limited"].as_u64().is_some())
        .collect();
    assert_eq!(limited, [false, false, false, true]);
    for (threads, games) in [("1", "7"), ("2", "64")] {
        let log = format!("log-{threads}");
        let args = [&run[..], &["--threads", threads, "--lock-step", games, "--log", &log]].concat();
        assert!(killed_until_it_ends(dir.path(), &args) > 0);
        assert_eq!(json(dir.path(), &args), whole);
        assert_eq!(json(dir.path(), &["tournament", "show", &log]), whole);
        // Without lock step it is the same tournament, so no game is left to play.
        assert_eq!(json(dir.path(), &[&run[..], &["--log", &log]].concat()), whole);
    }
    for (args, why) in [
        (
            &["uct", "mast", "--lock-step", "--movetime", "5", "--rules", rules][..],
            "need a budget of playouts or nodes alone",
        ),
        (
            &["uct", "mast", "--lock-step", "--depth", "5", "--playouts", "9", "--rules", rules],
            "a budget of playouts or nodes",
        ),
        (&["uct", "mast", "--lock-step", "--engine", "prover", "--rules", rules], "leave out --engine prover"),
        (&["heur0", "random", "--lock-step"], "lock-step applies to rulesheets"),
    ] {
        let error = refused(dir.path(), &[&["tournament"], args].concat());
        assert!(error.contains(why), "{args:?}: {error}");
    }
}

/// A series file: games with two, three and one roles, a missing game, and two on demand.
fn write_series(dir: &Path) {
    let games = rulesheets();
    std::fs::create_dir(dir.join("rules")).unwrap();
    std::fs::write(
        dir.join("rules/alone.kif"),
        "(role me) (init (step 1)) (succ 1 2) (succ 2 3) (legal me left) (legal me right)
         (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n)) (<= (next won) (does me left) (true (step 1)))
         (<= (next won) (true won)) (<= terminal (true (step 3))) (<= (goal me 80) (true won)) (<= (goal me 20) (not (true won)))",
    )
    .unwrap();
    std::fs::write(
        dir.join("series.toml"),
        format!(
            "title = 'A small one'\nrulesheets = ['rules', {games:?}]\ngames = 4\nseed = 3\nopening-plies = 0\n\
             ponder = true\nstart = 1\nscoring = 'seats'\nlock-step = 0\nbudget = {{ playouts = 20 }}\nclock = 0.01\n\
             pairings = [['mast', 'random'], ['uct', 'random']]\non-demand = ['mast']\n\
             [[player]]\nname = 'random'\n[[player]]\nname = 'mast'\n[[player]]\nname = 'uct'\n\
             [[game]]\nname = 'tic-tac-toe'\npaper = [70.0, 80.5]\n\
             [[game]]\nname = 'odd-one-out'\nours = true\ngames = 6\nstart = 2\nbudget = {{ playouts = 10 }}\npaper = [1, 60.5]\n\
             [[game]]\nname = 'nowhere'\npaper = [1, 2]\n\
             [[game]]\nname = 'alone'\npairings = [['uct', 'random']]\npaper = [[75, 50]]\n\
             [[game]]\nname = 'matching-pennies'\non-demand = true\n"
        ),
    )
    .unwrap();
}

const SERIES: [&str; 3] = ["tournament", "-f", "series.toml"];

/// Returns the names of the games of a series, and the number of pairings of the first.
fn games_of(found: &Value) -> (Vec<&str>, usize) {
    let tables = found["tables"].as_array().unwrap();
    let games = tables.iter().flat_map(|table| table["games"].as_array().unwrap());
    (games.map(|game| game["game"].as_str().unwrap()).collect(), tables[0]["pairings"].as_array().unwrap().len())
}

#[test]
fn a_file_of_games_is_a_tournament_each() {
    let dir = tempfile::tempdir().unwrap();
    write_series(dir.path());
    let whole = json(dir.path(), &SERIES);
    assert_eq!(games_of(&whole), (vec!["tic-tac-toe", "odd-one-out", "alone"], 1));
    assert_eq!((&whole["games"], &whole["played"]), (&14.into(), &14.into()));
    // Each game is the tournament of a file with this game alone, and resumes its log.
    let rules = &rulesheet("tic-tac-toe");
    std::fs::write(
        dir.path().join("one.toml"),
        format!(
            "games = 4\nseed = 3\nopening-plies = 0\nponder = true\nstart = 1\nlock-step = 0\n\
             budget = {{ playouts = 20 }}\npairings = [['uct', 'random']]\nrules = {rules:?}\n\
             [[player]]\nname = 'random'\n[[player]]\nname = 'uct'\n"
        ),
    )
    .unwrap();
    std::fs::create_dir(dir.path().join("logs")).unwrap();
    answer(dir.path(), &["tournament", "-f", "one.toml", "--log", "logs/tic-tac-toe.ndjson"]);
    let one = std::fs::read(dir.path().join("logs/tic-tac-toe.ndjson")).unwrap();
    let logged = [&SERIES[..], &["--log", "logs"]].concat();
    killed_until_it_ends(dir.path(), &[&logged[..], &["--threads", "1"]].concat());
    assert_eq!(json(dir.path(), &logged), whole);
    assert_eq!(std::fs::read(dir.path().join("logs/tic-tac-toe.ndjson")).unwrap(), one);
    let output = ran(dir.path(), &logged);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("no rulesheet of nowhere in rules, ") && !stderr.contains("game 1:"), "{stderr}");
    // `show` prints the same from the logs, with or without the figures of the paper.
    let shown = answer(dir.path(), &["tournament", "show", "logs", "-f", "series.toml"]);
    assert_eq!(shown, String::from_utf8(output.stdout).unwrap());
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(&lines[..4], ["A small one", "", "| game | uct vs random |", "|---|---|"]);
    for (line, start) in lines[4..].iter().zip([
        "| tic-tac-toe | **80.5** ",
        "| odd-one-out † | **60.5** ",
        "| alone | **75.0 : 50.0** 80.0 (80.0–80.0; 2) : ",
        // There is no mean over points and goals.
        "| mean |  |",
    ]) {
        assert!(line.starts_with(start), "{line}");
    }
    let bare = answer(dir.path(), &["tournament", "show", "logs"]);
    assert!(!bare.contains("**") && bare.contains("| alone | 80.0 (80.0–80.0; 2) : "), "{bare}");
    // Games on demand are played on request.
    let all = json(dir.path(), &[&SERIES[..], &["--all"]].concat());
    assert_eq!(games_of(&all), (vec!["tic-tac-toe", "odd-one-out", "matching-pennies", "alone"], 2));
    let some =
        json(dir.path(), &[&SERIES[..], &["--game", "matching-pennies", "--games", "2", "--nodes", "30"]].concat());
    assert_eq!((games_of(&some), &some["played"]), ((vec!["matching-pennies"], 1), &2.into()));
    // The clocks of the series are used.
    answer(dir.path(), &[&SERIES[..], &["--game", "tic-tac-toe", "--time", "--log", "timed"]].concat());
    let log = std::fs::read_to_string(dir.path().join("timed/tic-tac-toe.ndjson")).unwrap();
    let head: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!((&head["rounds"][0]["budget"], &head["start"]), (&json!({ "movetime": 10 }), &json!(1.0)));
}

#[test]
fn games_of_logs_are_played_again_and_compared() {
    let dir = tempfile::tempdir().unwrap();
    write_series(dir.path());
    let all = [&SERIES[..], &["--all", "--log", "logs"]].concat();
    answer(dir.path(), &all);
    answer(dir.path(), &["tournament", "merge", "logs", "-o", "packed"]);
    let packed = |name: &str| dir.path().join(format!("packed/{name}.ndjson.zst"));
    let before = std::fs::read(packed("odd-one-out")).unwrap();
    let again = [&SERIES[..], &["--all", "--log", "packed", "--replay", "3"]].concat();
    let same = json(dir.path(), &again);
    // Three games of each pairing; the pairing of `alone` has four.
    assert_eq!((&same["games"], &same["same"]), (&json!(21), &json!(21)));
    assert_eq!(same["logs"][1]["replay"]["pairings"][0], json!({"players": ["mast", "random"], "games": 3, "same": 3}));
    assert_eq!(std::fs::read(packed("odd-one-out")).unwrap(), before);
    // A log with other results is found.
    let (schedule, mut records) = GameLog::read(&packed("odd-one-out")).unwrap();
    records.iter_mut().for_each(|record| record.goals[0] = 1);
    std::fs::remove_file(packed("odd-one-out")).unwrap();
    GameLog::create(&packed("odd-one-out"), &schedule, &records).unwrap();
    let output = ran(dir.path(), &again);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("odd-one-out: mast against random: 0 of 3 games the same"), "{text}");
    assert!(text.contains("tic-tac-toe: uct against random: 3 of 3 games the same"), "{text}");
    assert!(text.ends_with("15 of 21 games the same\n"), "{text}");
    assert_eq!(text.matches("differs after").count(), 6, "{text}");
    // One tournament, and games that cannot be repeated.
    let one = ["match", "greedy", "random", "--side", "4", "--pieces", "3", "--games", "6", "--log", "one.ndjson"];
    answer(dir.path(), &one);
    let board = ["tournament", "greedy", "random", "--side", "4", "--pieces", "3", "--games", "6"];
    let text = answer(dir.path(), &[&board[..], &["--log", "one.ndjson", "--replay", "4"]].concat());
    assert_eq!(text, "greedy against random: 4 of 4 games the same\n4 of 4 games the same\n");
    answer(dir.path(), &[&board[..], &["--movetime", "1", "--log", "timed.ndjson"]].concat());
    for (more, message) in [
        (&["--movetime", "1", "--log", "timed.ndjson"][..], "games with limits of time differ each time"),
        (&["--seed", "2", "--log", "one.ndjson"], "the seed"),
        (&["--log", "none.ndjson"], "none.ndjson"),
    ] {
        let output = ran(dir.path(), &[&board[..], &["--replay", "4"], more].concat());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && stderr.contains(message), "{more:?}: {stderr}");
    }
}

#[test]
fn logs_of_games_are_joined_and_packed() {
    let dir = tempfile::tempdir().unwrap();
    write_series(dir.path());
    let whole = json(dir.path(), &SERIES);
    for shard in ["1/2", "2/2"] {
        let part = format!("part-{}", &shard[..1]);
        json(dir.path(), &[&SERIES[..], &["--shard", shard, "--log", &part]].concat());
    }
    let series = ["-f", "series.toml"];
    let merge = ["tournament", "merge", "part-1", "part-2"];
    assert_eq!(json(dir.path(), &[&merge[..], &series, &["-o", "packed"]].concat()), whole);
    assert_eq!(json(dir.path(), &[&["tournament", "show", "packed"], &series[..]].concat()), whole);
    let mut names: Vec<String> = std::fs::read_dir(dir.path().join("packed"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["alone.ndjson.zst", "odd-one-out.ndjson.zst", "tic-tac-toe.ndjson.zst"]);
    // The logs in a directory are replaced only on request.
    let again = [&merge[..2], &["part-1"], &series[..], &["-o", "packed", "--force"]].concat();
    let half = json(dir.path(), &again);
    assert_eq!(json(dir.path(), &[&["tournament", "show", "packed"], &series[..]].concat()), half);
    assert_ne!(half, whole);
    // Several parts may be in one directory, and some may be missing.
    std::fs::rename(dir.path().join("part-2/alone.ndjson"), dir.path().join("part-1/alone.2.ndjson")).unwrap();
    let part = json(dir.path(), &[&["tournament", "show", "part-1"], &series[..]].concat());
    assert_eq!((&part["games"], &part["played"]), (&14.into(), &10.into()));
    assert_eq!(games_of(&part), (vec!["tic-tac-toe", "odd-one-out", "alone"], 1));
    for (args, why) in [
        (&["show", "packed", "-f", "one.toml"][..], "one.toml: cannot read"),
        (&["show", "rules"], "no logs found"),
        (&["show", "part-1/alone.ndjson", "-f", "series.toml"], "this is a log"),
        (&["merge", "part-1", "-o", "packed"], "packed: cannot create the directory"),
        (&["-f", "series.toml", "--log", "packed"], "a compressed log cannot be extended"),
    ] {
        let error = refused(dir.path(), &[&["tournament"], args].concat());
        assert!(error.contains(why), "{args:?}: {error}");
    }
}

#[test]
fn a_file_of_games_is_planned() {
    let dir = tempfile::tempdir().unwrap();
    write_series(dir.path());
    answer(dir.path(), &[&SERIES[..], &["--game", "alone", "--log", "logs"]].concat());
    let run = [&SERIES[..], &["--log", "logs", "--plan"]].concat();
    let plan: Value = serde_json::from_str(&answer(dir.path(), &[&run[..], &["--json"]].concat())).unwrap();
    let cells: Vec<u64> =
        plan["games"].as_array().unwrap().iter().map(|game| game["cells"].as_u64().unwrap()).collect();
    assert_eq!((cells, &plan["cells"]), (vec![1, 1, 1], &3.into()));
    assert_eq!((&plan["all"]["games"], &plan["all"]["played"]), (&14.into(), &4.into()));
    let of = |at: usize| plan["games"][at]["simulations"].as_f64().unwrap();
    // Four games of 5 to 9 steps and a start clock, 20 simulations each; those of `alone` have been played.
    assert!((480.0..=800.0).contains(&of(0)) && of(2) == 0.0, "{plan}");
    let text = answer(dir.path(), &run);
    assert!(text.contains("| game | cells |") && text.contains("| alone | 1 | 4 | 4 | 0.00 M | 0.00 |"), "{text}");
    assert!(!dir.path().join("logs/tic-tac-toe.ndjson").exists());
}

#[test]
fn invalid_keys_of_a_file_of_games_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    write_series(dir.path());
    let series = std::fs::read_to_string(dir.path().join("series.toml")).unwrap();
    let write = |name: &str, text: String| std::fs::write(dir.path().join(name), text).unwrap();
    write("rules.toml", format!("rules = 'x.kif'\n{series}"));
    write("typo.toml", format!("on-demnad = []\n{series}"));
    write("nobody.toml", series.replace("on-demand = ['mast']", "on-demand = ['nobody']"));
    write("twice.toml", series.clone() + "[[game]]\nname = 'alone'\n");
    write("many.toml", series.replace("[[75, 50]]", "[[75, 50], 3]"));
    write("none.toml", series.replace("pairings = [['mast', 'random'], ['uct', 'random']]", ""));
    write("clock.toml", series.replace("clock = 0.01", ""));
    write("title.toml", "title = 'x'\nclock = 3\n[[player]]\nname = 'uct'\n".to_owned());
    write("one.toml", "[[player]]\nname = 'random'\n[[player]]\nname = 'greedy'\n".to_owned());
    for (args, why) in [
        (&["-f", "series.toml", "uct", "--side", "5"][..], "leave out --side, uct"),
        (&["-f", "series.toml", "--rules", "x.kif"], "leave out --rules"),
        (
            &["-f", "series.toml", "--game", "chess"],
            "no game `chess`; the games are tic-tac-toe, odd-one-out, nowhere,",
        ),
        (&["-f", "series.toml", "--game", "nowhere"], "there is no game to play"),
        (&["-f", "series.toml", "--time", "--playouts", "9"], "leave out 9 playouts"),
        (&["-f", "rules.toml"], "rules.toml: a series file cannot contain rules"),
        (&["-f", "typo.toml"], "unknown key `on-demnad`; did you mean `on-demand`?"),
        (&["-f", "nobody.toml"], "`on-demand` contains the unknown player `nobody`"),
        (&["-f", "twice.toml"], "two games named `alone`"),
        (&["-f", "many.toml"], "alone has 1 pairings, but 2 published results"),
        (&["-f", "none.toml"], "tic-tac-toe has no `pairings`"),
        (&["-f", "clock.toml", "--time"], "the file has no `clock` of tic-tac-toe"),
        (&["-f", "title.toml"], "there is no [[game]]"),
        (&["-f", "one.toml", "--all"], "--game and --all select from a series file"),
        (&["-f", "one.toml", "--side", "5", "--pieces", "3", "--time"], "--time needs a clock"),
        (&["uct", "random", "--time"], "--time needs a clock"),
    ] {
        let error = refused(dir.path(), &[&["tournament"], args].concat());
        assert!(error.contains(why), "{args:?}: {error}");
    }
}

#[test]
fn a_match_plays_on_in_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let game = &rulesheet("connect-four");
    let play = |players: [&str; 2]| {
        let args = ["--rules", game, "--playouts", "2000", "--games", "2", "--threads", "1", "--json"];
        ran(dir.path(), &[&["match"], &players[..], &args, &["--memory", "1GiB", "--log", players[0]]].concat())
    };
    for (players, full) in [(["nst,memory=100KiB", "uct,memory=100KiB"], true), (["nst", "uct"], false)] {
        let output = play(players);
        let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert!(output.status.success(), "{err}");
        assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["score"]["games"], 2, "{out}");
        let notice =
            "2 of 2 games had searches that reached the memory limit; to repeat them, choose another log, and raise";
        assert_eq!(err.contains(notice), full, "{err}");
        let shown = ran(dir.path(), &["tournament", "show", players[0]]);
        assert_eq!(String::from_utf8(shown.stderr).unwrap().contains(notice), full);
        for game in logged(dir.path(), players[0]) {
            for spent in game["spent"].as_array().unwrap() {
                let [limited, searches] = ["memory_limited", "moves"].map(|key| spent[key].as_u64());
                assert!(limited <= searches && limited.is_some_and(|limited| limited > 0) == full, "{spent}");
            }
        }
    }
    // The number of facts doubles with each step.
    let steps: String = (0..14).map(|step| format!("(succ {step} {})", step + 1)).collect();
    let growing = format!(
        "(role a) (role b) (init (step 0)) (init (p z)) {steps} (legal a go) (legal b go)
         (<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
         (<= (next (p (l ?x))) (true (p ?x))) (<= (next (p (r ?x))) (true (p ?x)))
         (<= terminal (true (step 14))) (goal a 50) (goal b 50)"
    );
    std::fs::write(dir.path().join("growing.kif"), growing).unwrap();
    for (memory, full) in [("1MiB", true), ("64MiB", false)] {
        let args = ["match", "random", "random", "--rules", "growing.kif", "--engine", "prover", "--lenient"];
        let output = ran(dir.path(), &[&args[..], &["--games", "2", "--memory", memory]].concat());
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{err}");
        assert_eq!(
            err.contains("the prover, or a search of an unfinished game, reached the memory limit"),
            full,
            "{err}"
        );
    }
    let error = refused(dir.path(), &["match", "nst", "uct", "--rules", game, "--memory", "lots"]);
    assert!(error.contains("expected a number of bytes from 1048576 to 18446744073709551615, or a size such as `64MiB`, `4GiB` or `4GB`"), "{error}");
    let error = refused(dir.path(), &["match", "nst", "uct", "--rules", game, "--memory", "100"]);
    assert!(error.contains("`4GiB` or `4GB`, got `100`"), "{error}");
    let game = &rulesheet("breakthrough");
    let output = ran(
        dir.path(),
        &["match", "nst", "random", "--rules", game, "--memory", "1MiB", "--playouts", "1", "--games", "2"],
    );
    let notice = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && notice.contains("the prover plays it, which is slow: grounding needs"),
        "{notice}"
    );
    let error = refused(
        dir.path(),
        &["match", "nst", "uct", "--rules", game, "--engine", "sequential", "--memory", "1MiB", "--playouts", "5"],
    );
    assert!(
        error.contains("words of facts and instances") && error.trim_end().ends_with("; raise --memory"),
        "{error}"
    );
}

#[test]
fn logs_tell_a_rulesheet_by_its_digest() {
    let dir = tempfile::tempdir().unwrap();
    let path = &rulesheet("tic-tac-toe");
    let run = ["tournament", "uct", "random", "--rules", path, "--playouts", "10", "--games", "4", "--log", "log"];
    let whole = json(dir.path(), &run);
    let log = std::fs::read_to_string(dir.path().join("log")).unwrap();
    let head: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let digest = head["game"]["rules"].as_str().unwrap();
    assert!(digest.len() == 32 && digest.chars().all(|digit| digit.is_ascii_hexdigit()), "{digest}");
    // Older logs contain the text of the rulesheet.
    let text = serde_json::to_string(&std::fs::read_to_string(path).unwrap()).unwrap();
    let old: String = log.lines().map(|line| without_checksum(line) + "\n").collect();
    std::fs::write(dir.path().join("old"), old.replace(&format!("\"{digest}\""), &text)).unwrap();
    assert_eq!(json(dir.path(), &["tournament", "merge", "old", "log", "-o", "joined"]), whole);
    assert_eq!(json(dir.path(), &[&run[..9], &["--log", "joined"]].concat()), whole);
}

#[test]
fn rulesheets_are_played_by_policies() {
    let dir = tempfile::tempdir().unwrap();
    let rules = rulesheet("tic-tac-toe");
    let run = ["tournament", "uct", "uct,c=0", "random", "--rules", &rules, "--playouts", "50", "--games", "6"];
    let network = json(dir.path(), &[&run[..], &["--engine", "sequential", "--threads", "1"]].concat());
    assert_eq!(network["played"], 18);
    // The prover lists moves in another order. The result is the same.
    let proof = json(dir.path(), &[&run[..], &["--engine", "prover"]].concat());
    for found in [&network, &proof] {
        let of = |place: usize| found["rounds"][0]["entrants"][place]["score"]["rate"].as_f64().unwrap();
        assert!(of(2) < of(0) && of(2) < of(1), "{found}");
    }
    assert_eq!(json(dir.path(), &[&run[..], &["--engine", "sequential", "--threads", "3"]].concat()), network);
    // The time limit ends a search during an endless simulation.
    std::fs::write(
        dir.path().join("endless.kif"),
        "(role a) (role b) (init (of a)) (legal a go) (legal a stay) (legal b go) (legal b stay)
         (<= (next (of ?r)) (true (of ?r))) (<= terminal (true (of b))) (goal a 50) (goal b 50)",
    )
    .unwrap();
    let found = json(
        dir.path(),
        &["match", "uct", "random", "--rules", "endless.kif", "--movetime", "5", "--ply-limit", "5", "--games", "2"],
    );
    assert_eq!(found["ends"]["ply_limit"], 2, "{found}");
    let three = rulesheet("odd-one-out");
    let found = json(
        dir.path(),
        &["match", "uct", "random", "--rules", &three, "--playouts", "20", "--games", "12", "--opening-plies", "0"],
    );
    assert_eq!((&found["games"], &found["score"]["games"]), (&12.into(), &12.into()));
}

#[test]
fn policies_are_printed_as_text_and_as_tables() {
    let dir = tempfile::tempdir().unwrap();
    let rules = &rulesheet("connect-four");
    let policy = "grave,k=100,playout=nst,epsilon=0.3,replies=lgrf2,tune=he";
    let table = "{ name = 'grave', tune = 'he', epsilon = 0.3, k = 100, playout = 'nst', replies = 'lgrf2' }";
    let with = |player: &str| {
        let file = format!("[[player]]\nname = 'a'\nplayer = {player}\n[[player]]\nname = 'b'\nplayer = 'mini'\n");
        std::fs::write(dir.path().join("t.toml"), file).unwrap();
        let flags = ["--rules", rules, "--playouts", "20", "--games", "4", "--ponder", "--start", "2"];
        json(dir.path(), &[&["tournament", "-f", "t.toml"][..], &flags].concat())
    };
    assert_eq!(with(table), with(&format!("'{policy}'")));
    // On the board a policy is a player, or a part of one.
    let flags = ["--side", "5", "--pieces", "3", "--playouts", "30", "--games", "4"];
    let found = json(dir.path(), &[&["match", policy, "base0,playout=mini,strategies=HH+AGE"][..], &flags].concat());
    assert_eq!(found["games"], 4);
}

#[test]
fn invalid_tournaments_are_refused_before_the_first_game() {
    let dir = tempfile::tempdir().unwrap();
    let rules = &rulesheet("tic-tac-toe");
    std::fs::write(dir.path().join("bad.toml"), "gmaes = 3\n").unwrap();
    std::fs::write(
        dir.path().join("pairs.toml"),
        "pairings = [['a', 'c']]\n[[player]]\nname = 'a'\nplayer = 'greedy'\n",
    )
    .unwrap();
    std::fs::write(dir.path().join("empty"), "# none\n").unwrap();
    for (args, why) in [
        (&["tournament"][..], "needs at least two players"),
        (&["tournament", "greedy"], "needs at least two players"),
        (&["tournament", "greedy", "greedy"], "two players named `greedy`"),
        (&["tournament", "greedy", "nobody"], "there is no player `nobody`"),
        (&["tournament", "greedy", "heur0"], "need a distance table"),
        (&["tournament", "greedy", "ugi:/no/such/program"], "cannot start"),
        (&["tournament", "greedy", "ugi:'"], "not closed"),
        (&["tournament", "greedy", "ugi:true"], "crash"),
        (&["tournament", "uct", "ugi:true", "--rules", rules], "can only play Chinese Checkers"),
        (&["tournament", "uct", "greedy", "--rules", rules], "unknown policy `greedy`"),
        (&["tournament", "uct", "random", "--rules", rules, "--adjudicate"], "adjudicate applies to Chinese Checkers"),
        (
            &["tournament", "uct", "random", "--rules", rules, "--start", "1e9"],
            "expected a number from 0 to 1000000, e.g. 0.5, got `1e9`",
        ),
        (&["tournament", "uct", "random", "--rules", rules, "--start", "2", "--time", "1+1"], "a start clock is"),
        (&["tournament", "greedy", "random", "--ponder"], "ponder applies to rulesheets"),
        // A match of this game has one ply.
        (
            &["match", "uct", "random", "--rules", "matching-pennies", "--playouts", "5"],
            "0 of 10 found with 2 random plies; expected a number of plies that gives more, or 0, with which all games \
             start from the initial state; --opening-plies sets the number, e.g. `--opening-plies 0`",
        ),
        (&["match", "greedy", "random", "--ply-limit", "1"], "expected fewer plies; --opening-plies sets the number"),
        (&["tournament", "greedy", "base0,epsilon=0.1"], "`epsilon` needs `playout=mast`"),
        (&["tournament", "uct", "random", "--rules", "nothing.kif"], "nothing.kif: cannot read"),
        (
            &["match", "greedy", "random", "--rules", "blocked"],
            "blocked: there is no such rule set or rulesheet; the rule sets are paper and blocked-goal, and \
             `sternhalma games` lists the built-in rulesheets; did you mean `blocked-goal`?",
        ),
        (&["match", "uct", "random", "--rules", "brekthrough"], "did you mean `breakthrough`?"),
        (&["tournament", "-f", "bad.toml"], "unknown key `gmaes`; did you mean `games`?"),
        (&["tournament", "-f", "nothing.toml"], "nothing.toml: cannot read"),
        (&["tournament", "-f", "pairs.toml"], "contains the unknown player `c`"),
        (&["tournament", "greedy", "random", "--openings", "empty"], "the file contains no openings"),
        (&["tournament", "greedy", "random", "--shard", "3/2"], "invalid shard `3/2`"),
        (&["tournament", "greedy", "random", "--time", "0"], "invalid clock `0`"),
        (&["tournament", "greedy", "random", "--alpha", "0.1"], "--sprt"),
        (
            &["tournament", "greedy", "random", "--patience", "nan"],
            "expected a number from 0 to 1000000, e.g. 0.5, got `nan`",
        ),
        (
            &["tournament", "greedy", "base0", "--depth", "2"],
            "the budget of base0 (2 plies) does not bound its searches",
        ),
        (
            &["tournament", "uct", "random", "--rules", rules, "--depth", "2"],
            "the budget of uct (2 plies) does not bound its searches",
        ),
        (&["tournament", "uct", "random", "--rules", rules, "--side", "5"], "side applies to Chinese Checkers"),
        (&["tournament", "greedy", "random", "--games", "99999999999"], "at most 1000000000 games"),
        (&["tournament", "greedy", "random", "--log", "bad.toml"], "line 1 is not the head of a log"),
        (&["tournament", "greedy", "random", "--log", "/no/such/log"], "/no/such/log: cannot use the log"),
        (&["tournament", "show", "empty"], "line 1 is not the head of a log"),
        (&["tournament", "show", "nothing"], "nothing: cannot use the log"),
    ] {
        let error = refused(dir.path(), args);
        assert!(error.contains(why), "{args:?}: {error}");
    }
    std::fs::write(dir.path().join("list"), "3xx/4x/5/o4/oo3 o 9\n").unwrap();
    let error = refused(dir.path(), &[&["tournament", "greedy", "random", "--openings", "list"], &SMALL[..]].concat());
    assert!(error.contains("is the end of a game"), "{error}");
}

/// A program that misbehaves: a shell script.
#[cfg(unix)]
fn script(dir: &Path, name: &str, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = dir.join(name);
    let greeting = "while read -r line; do case $line in ugi) echo ugiok;; isready) echo readyok;;";
    std::fs::write(&path, format!("#!/bin/sh\n{greeting} {text} esac; done\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("ugi:{}", path.display())
}

#[cfg(unix)]
#[test]
fn a_program_that_misbehaves_loses_and_the_tournament_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let own = format!("ugi:'{}' ugi --side 5 --pieces 3 --player base0", env!("CARGO_BIN_EXE_sternhalma"));
    let programs = [
        ("crash", "go*) exit 3;;"),
        ("hang", "go*) ;;"),
        ("garbage", "go*) echo 'bestmove ?!';;"),
        ("garbage", "go*) while :; do echo information; done;;"),
        ("illegal", "go*) echo bestmove a1-e5;;"),
        ("time", "go*) sleep 0.3; echo bestmove a1-a2;;"),
    ];
    let scripts: Vec<String> =
        programs.iter().enumerate().map(|(at, (_, text))| script(dir.path(), &format!("program-{at}"), text)).collect();
    let names: Vec<&str> = std::iter::once(own.as_str()).chain(scripts.iter().map(String::as_str)).collect();
    let limits = ["--format", "gauntlet", "--games", "2", "--movetime", "20", "--margin", "150", "--patience", "3"];
    let output = ran(dir.path(), &[&["tournament"], &names[..], &limits, &SMALL, &["--json"]].concat());
    let stderr = String::from_utf8(output.stderr).unwrap();
    // No game has a result, which is an error after the results.
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.ends_with("error: every game ended by a fault of a player: 12 games\n"), "{stderr}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["played"], 12);
    for ((kind, text), pairing) in programs.iter().zip(found["rounds"][0]["pairings"].as_array().unwrap()) {
        assert_eq!(pairing["score"]["wins"], 2, "{text}: {pairing}");
        assert_eq!(pairing["faults"], json!([{}, { *kind: 2 }]), "{text}");
    }
}
