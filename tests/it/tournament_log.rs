//! `tournament --log`, `tournament show --game` and `--debug`: logs that are
//! extended and replayed, and the log of the engine protocol.

use serde_json::{Value, json};
use sternhalma_engine::record::AnnotatedGame;

use crate::common::rulesheet;
use crate::tournament::{SMALL, answer, json, logged, ran, refused, without_checksum, without_seconds};

/// The command line of a player of this program.
fn own(player: &str) -> String {
    format!("ugi:'{}' ugi --side 5 --pieces 3 --player {player}", env!("CARGO_BIN_EXE_sternhalma"))
}

#[test]
fn more_games_and_players_extend_a_log() {
    let dir = tempfile::tempdir().unwrap();
    let run = |players: &[&str], games: &str, log: &str| {
        let limits = ["--nodes", "100", "--opening-plies", "3", "--games", games, "--log", log];
        json(dir.path(), &[&["tournament"], players, &limits, &SMALL].concat())
    };
    let two = ["base0", "greedy"];
    run(&two, "2", "grown");
    let before = logged(dir.path(), "grown");
    let whole = run(&two, "4", "whole");
    assert_eq!(run(&two, "4", "grown"), whole);
    assert_eq!(logged(dir.path(), "grown"), logged(dir.path(), "whole"));
    assert_eq!(logged(dir.path(), "grown")[..2], before);
    // Each game has the version of the program.
    let version = String::from_utf8(ran(dir.path(), &["--version"]).stdout).unwrap();
    let version = version.lines().next().unwrap();
    assert!(before.iter().all(|game| game["origin"]["program"] == version), "{version}: {before:?}");
    let text = std::fs::read_to_string(dir.path().join("grown")).unwrap();
    let rates = text.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert!(rates.into_iter().all(|game| game["origin"]["machine_rate"].as_f64().unwrap() > 0.0), "{text}");
    // Both logs now have the same head.
    let head = |log: &str| std::fs::read_to_string(dir.path().join(log)).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(head("grown"), head("whole"));
    // A player is added, in any place.
    let three = run(&["random", "greedy", "base0"], "4", "grown");
    assert_eq!(three["played"], 12);
    let games = logged(dir.path(), "grown");
    assert_eq!((games.len(), &games[..4]), (12, &logged(dir.path(), "whole")[..]));
    assert_eq!(json(dir.path(), &["tournament", "show", "grown"]), three);
    let lines = std::fs::read_to_string(dir.path().join("grown")).unwrap();
    assert_eq!(run(&["random", "greedy", "base0"], "4", "grown"), three);
    assert_eq!(std::fs::read_to_string(dir.path().join("grown")).unwrap(), lines, "there is no game to play");
    // Everything else is another tournament.
    for (args, why) in [
        (
            &["base0", "greedy", "--games", "4", "--nodes", "100"][..],
            "the log has the player `random`, which is missing",
        ),
        (
            &["base0", "greedy", "random", "--games", "2", "--nodes", "100"],
            "the number of games per pairing is 4 in the log, and 2 here",
        ),
        (
            &["base0", "greedy", "random", "--games", "4", "--nodes", "200"],
            "the budget is 100 nodes in the log, and 200 nodes here",
        ),
        (
            &["base0", "greedy", "random", "--games", "4", "--nodes", "100", "--format", "gauntlet"],
            "the log has the pairing of `random` and `greedy`, which is not requested",
        ),
    ] {
        let rest = ["--opening-plies", "3", "--log", "grown"];
        let error = refused(dir.path(), &[&["tournament"], args, &rest, &SMALL].concat());
        assert!(error.contains(why) && !error.contains(['{', '[']), "{args:?}: {error}");
    }
    assert_eq!(std::fs::read_to_string(dir.path().join("grown")).unwrap(), lines);
}

#[test]
fn a_log_of_the_former_default_rules_resumes_with_its_rules() {
    let dir = tempfile::tempdir().unwrap();
    let run = ["match", "greedy", "random", "--nodes", "5", "--opening-plies", "3", "--log", "log", "--games"];
    let with = |games: &'static str, more: &[&'static str]| [&run[..], &[games], more, &SMALL].concat();
    let path = dir.path().join("log");
    json(dir.path(), &with("2", &["--rules", "paper"]));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("\"rules\":\"paper\""), "the default of logs is left out: {text}");
    let text: String = text.lines().map(|line| without_checksum(line) + "\n").collect();
    let named = text.replacen("\"side\":5", "\"rules\":\"paper\",\"side\":5", 1);
    assert_ne!(named, text);
    for text in [&text, &named] {
        std::fs::write(&path, text).unwrap();
        let error = refused(dir.path(), &with("4", &[]));
        let why = "the rule set is `paper` in the log, and `blocked-goal-2` here";
        assert!(error.contains(why) && error.ends_with("--rules paper continues the log\n"), "{error}");
        assert_eq!(error.matches("log belongs").count(), 1, "{error}");
        assert_eq!(&std::fs::read_to_string(&path).unwrap(), text);
        let summary = json(dir.path(), &with("4", &["--rules", "paper"]));
        assert_eq!(summary["score"]["games"], 4);
        assert_eq!(logged(dir.path(), "log").len(), 4);
    }
    // A log of the present default names its rules.
    std::fs::remove_file(&path).unwrap();
    json(dir.path(), &with("2", &[]));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.lines().next().unwrap().contains("\"rules\":\"blocked-goal-2\""), "{text}");
    assert_eq!(json(dir.path(), &with("4", &[]))["score"]["games"], 4);
}

#[test]
fn games_of_old_logs_must_agree_with_their_moves() {
    let dir = tempfile::tempdir().unwrap();
    let run = [&["match", "greedy", "random", "--games", "4", "--nodes", "5", "--log", "log"][..], &SMALL].concat();
    json(dir.path(), &run);
    let path = dir.path().join("log");
    let text = std::fs::read_to_string(&path).unwrap();
    let old: Vec<String> = text.lines().map(without_checksum).collect();
    let commands =
        [&["tournament", "show", "log"][..], &["tournament", "merge", "log"], &["tournament", "rate", "log"], &run];
    std::fs::write(&path, old.join("\n") + "\n").unwrap();
    commands.iter().for_each(|command| assert!(ran(dir.path(), command).status.success(), "{command:?}"));
    let won = if old[1].contains("[100,0]") { ["[100,0]", "[0,100]"] } else { ["[0,100]", "[100,0]"] };
    let swapped = old[1].replacen(won[0], won[1], 1);
    assert_ne!(swapped, old[1]);
    std::fs::write(&path, [&old[0], &swapped].map(|line| line.clone() + "\n").concat()).unwrap();
    for command in commands {
        let error = refused(dir.path(), command);
        assert!(error.contains("log: line 2 is not a game of this tournament: its result is"), "{command:?}: {error}");
    }
}

#[test]
fn a_game_of_a_log_is_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let mate = own("ab-avg,depth=2");
    let run = ["match", "base0", &mate, "--games", "4", "--nodes", "200", "--log", "log"];
    let text = answer(dir.path(), &[&run[..], &SMALL].concat());
    // The results show the name that the program reports.
    assert!(text.starts_with("base0 against Sternhalma "), "{text}");
    let games = logged(dir.path(), "log");
    let show = |args: &[&str]| answer(dir.path(), &[&["tournament", "show", "log", "--game"], args].concat());
    for (number, game) in (1..).zip(&games) {
        let moves: Vec<&str> = game["moves"].as_array().unwrap().iter().map(|mv| mv.as_str().unwrap()).collect();
        let searches = game["searches"].as_array().unwrap();
        assert_eq!(searches.len(), moves.len());
        let text = show(&[&number.to_string()]);
        let result = if game["goals"] == json!([100, 0]) { "1-0" } else { "0-1" };
        assert!(
            text.starts_with(&format!("game {number}: ")) && text.lines().next().unwrap().contains(result),
            "{text}"
        );
        assert!(text.trim_end().ends_with(&format!("{result}, end: rules")), "{text}");
        for ((ply, mv), search) in (3..).zip(&moves).zip(searches) {
            let line = text.lines().find(|line| line.starts_with(&format!("{ply}. "))).unwrap();
            assert!(line.contains(mv), "{line}");
            // Both engines report depth and nodes, and the program its score over the protocol.
            if search.get("score").is_some() {
                assert!(
                    line.contains(&format!("depth {}  nodes {}", search["depth"], search["nodes"])),
                    "{line} {search}"
                );
            }
        }
        let kinds: Vec<&str> = searches
            .iter()
            .filter_map(|search| search["score"].as_object())
            .map(|score| score.keys().next().unwrap().as_str())
            .collect();
        assert!(kinds.contains(&"lead") && kinds.contains(&"reward"), "{kinds:?}");
        let record = show(&[&number.to_string(), "--record"]);
        assert!(record.contains(&format!("[Game \"{number}\"]")) && record.contains("<reward="), "{record}");
        assert!(record.trim_end().ends_with(result), "{record}");
        let parsed: AnnotatedGame = record.parse().unwrap();
        assert_eq!(parsed.line.moves.len(), moves.len());
        let whole: Value = serde_json::from_str(&show(&[&number.to_string(), "--json"])).unwrap();
        assert_eq!((&whole["number"], without_seconds(whole["game"].clone())), (&json!(number), game.clone()));
    }
    let all = answer(dir.path(), &["tournament", "show", "log", "--record"]);
    let each: String =
        (1..=4).map(|number| show(&[&number.to_string(), "--record"]).trim_end().to_owned() + "\n").collect();
    assert_eq!(all.split_whitespace().collect::<Vec<_>>(), each.split_whitespace().collect::<Vec<_>>());
    // Logs of earlier versions have no searches.
    let text = std::fs::read_to_string(dir.path().join("log")).unwrap();
    let old: Vec<String> = text
        .lines()
        .map(|line| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            value.as_object_mut().unwrap().remove("searches");
            value.to_string() + "\n"
        })
        .collect();
    std::fs::write(dir.path().join("old"), old.concat()).unwrap();
    let shown = answer(dir.path(), &["tournament", "show", "old", "--game", "1"]);
    assert!(!shown.contains("nodes") && shown.lines().count() == show(&["1"]).lines().count(), "{shown}");
    for (args, why) in [
        (&["log", "--game", "5"][..], "expected a game from 1 to 4, got 5"),
        (&[".", "--record"], "--game and --record need a log"),
        (&[".", "--game", "1"], "--game and --record need a log"),
    ] {
        let error = refused(dir.path(), &[&["tournament", "show"], args].concat());
        assert!(error.contains(why), "{args:?}: {error}");
    }
    std::fs::write(
        dir.path().join("some"),
        text.lines().take(2).map(|line| line.to_owned() + "\n").collect::<String>(),
    )
    .unwrap();
    let missing = if text.lines().nth(1).unwrap().contains("\"game\":0") { "2" } else { "1" };
    let error = refused(dir.path(), &["tournament", "show", "some", "--game", missing]);
    assert!(error.contains(&format!("game {missing} of 4 is not in the log")), "{error}");
}

#[test]
fn a_game_of_a_rulesheet_is_shown_as_joint_moves() {
    let dir = tempfile::tempdir().unwrap();
    let rules = &rulesheet("matching-pennies");
    let run = ["match", "uct", "random", "--rules", rules, "--playouts", "20", "--games", "2", "--opening-plies", "0"];
    answer(dir.path(), &[&run[..], &["--log", "log"]].concat());
    let text = answer(dir.path(), &["tournament", "show", "log", "--game", "2"]);
    assert!(text.starts_with("game 2: random - uct "), "{text}");
    // Both roles act simultaneously. The random player does not search.
    let first = text.lines().find(|line| line.starts_with("1. ")).unwrap();
    let (random, uct) = first.split_once(" | ").unwrap();
    assert!(!random.contains("playouts") && uct.contains("playouts 20"), "{text}");
    let error = refused(dir.path(), &["tournament", "show", "log", "--game", "1", "--record"]);
    assert!(error.contains("only games of Chinese Checkers"), "{error}");
}

#[test]
fn the_protocol_is_logged_in_both_directions() {
    let dir = tempfile::tempdir().unwrap();
    let program = own("greedy");
    let run = ["match", &program, &program, "--games", "2", "--nodes", "50", "--log", "log", "--debug", "protocol"];
    let output = ran(dir.path(), &[&run[..], &SMALL].concat());
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{stderr}");
    let name = format!("Sternhalma {}", env!("CARGO_PKG_VERSION"));
    assert!(stdout.starts_with(&format!("{name} against {name} (2): 2 games")), "{stdout}");
    assert!(stderr.contains("game 1: ") && stderr.contains("W-D-L") && stderr.contains("2 of 2 done"), "{stderr}");
    let text = std::fs::read_to_string(dir.path().join("protocol")).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.splitn(5, '\t').collect()).collect();
    assert!(lines.iter().all(|line| line.len() == 5 && line[0].parse::<f64>().is_ok()), "{text}");
    // Before the first game the program is asked for its name. Then each player has each game.
    assert!(lines.iter().any(|line| line[1] == "0" && line[3..] == ["<", &format!("id name {name}")]), "{text}");
    for (number, game) in (1..).zip(logged(dir.path(), "log")) {
        let of = |player: &str, direction: &str, start: &str| {
            let found = lines.iter().filter(|line| line[1] == number.to_string() && line[2] == player);
            found.filter(|line| line[3] == direction && line[4].starts_with(start)).count()
        };
        let moves = game["moves"].as_array().unwrap().len();
        let both = |direction: &str, start: &str| {
            [name.clone(), format!("{name} (2)")].map(|player| of(&player, direction, start)).iter().sum::<usize>()
        };
        assert_eq!((both(">", "go nodes 50"), both("<", "bestmove ")), (moves, moves), "{text}");
        assert_eq!((both(">", "uginewgame"), both("<", "readyok")), (2, 2), "{text}");
    }
    for (args, why) in [
        (&["match", "greedy", "random", "--debug", "x"][..], "no player is one"),
        (&["match", "greedy", &program, "--debug", "/no/such/file"], "/no/such/file: cannot write the protocol log"),
    ] {
        let error = refused(dir.path(), &[args, &SMALL].concat());
        assert!(error.contains(why), "{args:?}: {error}");
    }
}
