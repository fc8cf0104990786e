//! Games in the terminal: `play`, its commands, and records of games.

use std::fs;

use crate::common::{CmdOutput, Session, TestEnv};

const SMALL: &str = "play --side 5 --pieces 3 --nodes 300";

/// Plays a game with these lines as input.
fn play(env: &TestEnv, words: &str, lines: &[&str]) -> CmdOutput {
    env.feed(words.split(' '), (lines.join("\n") + "\n").as_bytes())
}

/// Returns what a game with these lines prints.
fn printed(env: &TestEnv, words: &str, lines: &[&str]) -> String {
    play(env, words, lines).success()
}

/// Returns the lines that report moves.
fn moves(printed: &str) -> Vec<String> {
    let is_move = |line: &&str| line.split_once(". ").is_some_and(|(ply, _)| ply.parse::<u32>().is_ok());
    printed.lines().filter(is_move).map(str::to_owned).collect()
}

#[test]
fn the_recorded_session_is_what_the_program_prints() {
    let env = TestEnv::new();
    let mut session: Option<Session> = None;
    let mut replayed = 0;
    for line in include_str!("../../docs/guide/play-session.txt").lines() {
        let prompt = ["x to move> ", "o to move> ", "game over> "].into_iter().find(|prompt| line.starts_with(prompt));
        match (line.strip_prefix("$ sternhalma "), prompt, &mut session) {
            (Some(words), ..) if words.starts_with("play ") => {
                assert!(session.is_none(), "the file has one session");
                session = Some(Session::new(env.command(words.split(' '))));
            }
            (Some(words), ..) => _ = env.run(words).success(),
            (None, Some(prompt), Some(session)) => session.send(&line[prompt.len()..]),
            (None, None, Some(session)) => assert_eq!(session.receive(), line, "after {replayed} lines"),
            (None, _, None) => assert!(line.starts_with('#'), "{line}"),
        }
        replayed += 1;
    }
    let rest = session.expect("the file has a session").finish();
    assert_eq!((rest.err.clone().as_str(), rest.success().as_str()), ("", ""));
    assert!(replayed > 100, "the session has a whole game");
}

#[test]
fn the_example_of_the_format_is_a_record() {
    let env = TestEnv::new();
    let docs = include_str!("../../docs/reference/game-records.md");
    let record = docs.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    env.file("example.shg", record);
    let copied = printed(&env, "play -o human --load example.shg", &["save copy.shg"]);
    assert!(copied.ends_with("saved copy.shg\n"), "{copied}");
    assert_eq!(fs::read_to_string(env.path("copy.shg")).unwrap(), record);
    // The error at the end of the page.
    env.file("wrong.shg", record.replace("1. a2-a3", "1. a2-c5"));
    let error = env.run("play --load wrong.shg").refusal();
    let documented = docs.split("```text\n").last().unwrap().split('\n').next().unwrap();
    assert!(error.ends_with(documented), "{error}: {documented}");
}

#[test]
fn the_commands_of_the_tutorial_run() {
    let env = TestEnv::new();
    let docs = include_str!("../../docs/guide/playing.md");
    let tutorial = docs.split("\n## ").nth(1).unwrap();
    let shell = tutorial.split("```sh\n").skip(1).flat_map(|block| block.split("```").next().unwrap().lines());
    let commands: Vec<&str> = shell.map(|line| line.strip_prefix("sternhalma ").unwrap()).collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for words in commands {
        play(&env, words, &["save first.shg"]).success();
    }
    trycmd::TestCases::new()
        .env("STERNHALMA_TABLES", env.tables().to_str().unwrap())
        .case("docs/guide/playing.md")
        .run();
}

#[test]
fn a_game_begins_with_an_introduction_and_quit_succeeds() {
    let env = TestEnv::new();
    for lines in [&["quit"][..], &["QUIT"], &["exit"], &["q"], &[]] {
        let ran = play(&env, SMALL, lines);
        assert!(ran.err.contains("for a stronger player: `sternhalma build --side 5 --pieces 3`"), "{}", ran.err);
        let out = ran.success();
        for words in ["5x5, 3 pieces", "You play x, sternhalma plays o", "A player wins when", "such as `a1-", "`help`"]
        {
            assert!(out.contains(words), "{words}: {out}");
        }
    }
    let out = printed(&env, &format!("{SMALL} -x greedy -o human"), &["quit"]);
    assert!(out.contains("You play o, greedy plays x"), "{out}");
    let out = printed(&env, &format!("{SMALL} --player-x human --player-o human"), &["quit"]);
    assert!(out.contains("You play both sides."), "{out}");
}

#[test]
fn the_rules_of_the_game_are_explained() {
    let env = TestEnv::new();
    let out = printed(&env, "play --level 1", &["help", "rules"]);
    assert!(out.contains("`rules` explains the game") && out.contains("  rules          explain the rules"), "{out}");
    for words in ["9x9 board, 6 pieces each", "any of the six directions", "Nothing is captured", "unless it wins"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let paper = printed(&env, &format!("{SMALL} --rules paper"), &["rules"]);
    assert!(paper.contains("5x5 board, 3 pieces each, rules paper") && !paper.contains("unless it wins"), "{paper}");
}

#[test]
fn the_game_of_the_shop_begins_on_request() {
    let env = TestEnv::new();
    let out = printed(&env, "play --level 1 -o human", &["new 10", "pos", "new 99", "new x", "new 3", "new", "pos"]);
    assert!(out.contains("`new 10` starts the game of the shop"), "{out}");
    assert!(out.contains("9x9, 10 pieces\n"), "{out}");
    assert!(out.contains("5oooo/6ooo/7oo/8o/9/x8/xx7/xxx6/xxxx5 x 0"), "{out}");
    assert!(out.contains("expected 1 to 15 pieces") && out.contains("such as `new 10`, got `x`"), "{out}");
    assert!(out.ends_with("7oo/8o/9/9/9/9/9/x8/xx7 x 0\n"), "{out}");
    let out = printed(&env, "play --level 1 -o human --pieces 10", &["quit"]);
    assert!(!out.contains("game of the shop"), "{out}");
}

#[test]
fn moves_may_be_typed_in_several_ways() {
    let env = TestEnv::new();
    for typed in ["a2-a3", "a2a3", "a2 a3", "A2-A3", "  A2 a3 "] {
        let out = printed(&env, &format!("{SMALL} -o human"), &[typed]);
        assert_eq!(moves(&out), ["1. x a2-a3"], "{typed}: {out}");
    }
    let lines =
        ["a2-b5", "nonsense", "a1-a3-a5", "a2-z9", "pass", "", "load", "undo 3", "level 11", "level fast", "moves e5"];
    let out = printed(&env, SMALL, &lines);
    for why in [
        "a2-b5 is not legal here; `moves` lists the legal moves",
        "`nonsense` is neither a move nor a command; `help` lists the commands",
        "a chain of jumps is entered by its first and last cell: `a1-a5`",
        "`a2-z9` is neither a move nor a command",
        "`z9` is not a cell of a 5x5 board",
        "`pass` is neither a move nor a command",
        "expected `load FILE`",
        "expected `undo`",
        "expected a level from 1 to 10, got `11`",
        "expected a level from 1 to 10, got `fast`",
        "no piece of x can move from there",
    ] {
        assert!(out.contains(why), "{why}: {out}");
    }
    assert_eq!(moves(&out), [""; 0]);
}

#[test]
fn commands_show_the_game() {
    let env = TestEnv::new();
    let out = printed(&env, &format!("{SMALL} -o human"), &["moves", "moves a1", "a1", "pos", "help", "level"]);
    assert!(out.contains("  a2  a2-a3 a2-b2\n"), "{out}");
    assert_eq!(out.matches("  a1  a1-a3 a1-c1\n").count(), 3, "{out}");
    assert!(out.contains("\n3oo/4o/5/x4/xx3 x 0\n"), "{out}");
    for command in ["help", "hint", "board", "flip", "pos", "undo", "redo", "level", "new", "resign", "save", "load"] {
        assert!(out.contains(&format!("\n  {command} ")), "{command}: {out}");
    }
    assert!(out.ends_with("own limits\n"), "{out}");

    let boards = |lines: &[&str]| {
        let out = printed(&env, &format!("{SMALL} -o human"), lines);
        let lines: Vec<String> = out.lines().map(str::to_owned).collect();
        lines[lines.len() - 9..].join("\n")
    };
    let (plain, named, turned) = (boards(&[]), boards(&["board names"]), boards(&["flip"]));
    assert!(plain.lines().next().unwrap().contains('o') && turned.lines().next().unwrap().contains('x'));
    assert_eq!(turned.lines().last().map(str::trim), plain.lines().next().map(str::trim));
    for letter in 'a'..='e' {
        for number in 1..=5 {
            assert_eq!(named.matches(&format!("{letter}{number}")).count(), 1, "{named}");
        }
    }
    // The last move is marked, and a chain of jumps shows its landings.
    assert_eq!(boards(&["a2-a3"]).matches('[').count(), 2);
    let out = env.feed(["play", "-o", "human", "5/2o2/5/2o2/2x1x x 0"], b"c1-c5\n").success();
    assert!(out.contains("1. x c1-c5 via c3\n") && out.contains("(.)"), "{out}");
}

#[test]
fn moves_are_taken_back_and_played_again() {
    let env = TestEnv::new();
    let lines = ["undo", "a2-a3", "undo", "pos", "redo", "pos", "redo", "a1-a2", "undo", "undo", "pos", "undo"];
    let out = printed(&env, SMALL, &lines);
    let positions: Vec<&str> = out.lines().filter(|line| line.contains('/')).collect();
    assert_eq!(positions.len(), 3, "{out}");
    assert_eq!((positions[0], positions[2]), ("3oo/4o/5/x4/xx3 x 0", "3oo/4o/5/x4/xx3 x 0"));
    assert!(positions[1].ends_with("x 2"), "{out}");
    assert_eq!(out.matches("2 moves taken back").count(), 3, "{out}");
    assert_eq!(out.matches("2 moves played again").count(), 1, "{out}");
    assert_eq!(out.matches("no move of yours to take back").count(), 2, "{out}");
    assert_eq!(out.matches("there is no move to play again").count(), 1, "{out}");
    // The first move of the computer is not taken back.
    let out = printed(&env, &format!("{SMALL} -x greedy -o human"), &["undo"]);
    assert_eq!(moves(&out).len(), 1, "{out}");
    assert!(out.contains("no move of yours to take back"), "{out}");
    // With two people, one move is taken back at a time.
    let out = printed(&env, &format!("{SMALL} -o human"), &["a2-a3", "e4-e3", "undo", "pos"]);
    assert!(out.contains("1 move taken back") && out.contains(" o 1\n"), "{out}");
}

#[test]
fn games_are_saved_and_loaded() {
    let env = TestEnv::new();
    let lines = ["save", "a2-a3", "a1-a2", "save first.shg", "resign", "save", "quit"];
    let out = printed(&env, SMALL, &lines);
    assert!(out.contains("expected `save FILE`") && out.matches("saved first.shg").count() == 2, "{out}");
    let record = fs::read_to_string(env.path("first.shg")).unwrap();
    for tag in ["PlayerX \"human\"", "PlayerO \"sternhalma\"", "Result \"0-1\"", "Size \"5\"", "RuleSet \"diamond\""] {
        assert!(record.contains(&format!("[{tag}]\n")), "{tag}: {record}");
    }
    assert!(record.contains("[Date \"2") && record.contains("<score=") && record.contains(" depth="), "{record}");
    assert!(record.trim_end().ends_with(" 0-1"), "{record}");
    assert!(out.contains("x resigns\n") && out.contains("o wins at ply 4\n"), "{out}");

    // A loaded game continues: the resignation is taken back, then the moves.
    let out = printed(&env, "play --nodes 300 --load first.shg", &["pos", "undo", "moves", "undo", "pos", "save"]);
    assert!(out.contains("game over") || out.contains("o wins at ply 4"), "{out}");
    assert!(out.contains("  a2  a2-") && out.contains("saved first.shg\n"), "{out}");
    let shorter = fs::read_to_string(env.path("first.shg")).unwrap();
    assert!(shorter.contains("[Result \"*\"]") && shorter.len() < record.len(), "{shorter}");

    // `save` does not replace the game before `new`.
    let out = printed(&env, SMALL, &["a2-a3", "save kept.shg", "new", "save", "save new.shg", "analyse"]);
    assert!(out.contains("saved kept.shg\n") && out.contains("expected `save FILE`"), "{out}");
    assert!(out.contains("sternhalma analyse --game FILE"), "{out}");
    assert!(fs::read_to_string(env.path("kept.shg")).unwrap().contains("1. a2-a3"));

    // A file of another session is not replaced, and another board can be loaded.
    let lines = ["save first.shg", "load first.shg", "pos", "load missing.shg", "load bad.shg", "pos"];
    env.file("bad.shg", "[Size \"5\"]\n[Pieces \"3\"]\n\n1. a2-a3 e5-e1 *\n");
    let out = printed(&env, "play --nodes 300", &lines);
    assert!(out.contains("first.shg: the file exists; save under another name"), "{out}");
    assert!(out.contains("first.shg: 2 moves, human against sternhalma\n"), "{out}");
    assert!(out.contains("missing.shg: cannot read"), "{out}");
    assert!(out.contains("bad.shg: line 4, column 10: `e5-e1` is not legal for o at ply 1"), "{out}");
    assert_eq!(out.lines().filter(|line| line.ends_with(" x 2")).count(), 2, "{out}");
    let error = env.run("play --load bad.shg").refusal();
    assert!(error.contains("line 4, column 10"), "{error}");
    env.file("binary.shg", b"\xff\xfe");
    assert!(env.run("play --load binary.shg").refusal().contains("binary.shg: cannot read"));
}

#[test]
fn every_board_can_be_played_without_a_table() {
    let env = TestEnv::new();
    for (board, command) in [
        ("--pieces 10", "`sternhalma build --pieces 10 --within 36`"),
        ("--pieces 15", "`sternhalma build --pieces 15 --within 28`"),
        ("--pieces 6", "`sternhalma build`"),
        ("--side 3 --pieces 1", "`sternhalma build --side 3 --pieces 1`"),
        ("--side 11 --pieces 15", "`sternhalma build --side 11 --pieces 15 --within 28`"),
    ] {
        let ran = env.run(&format!("play {board} --ply-limit 4 --level 1 -x sternhalma"));
        assert!(ran.err.contains(command) && ran.err.contains("distances are estimated"), "{}", ran.err);
        assert_eq!(ran.err.lines().count(), 1);
        assert_eq!(moves(ran.out()).len(), 4, "{board}");
        ran.success();
    }
    assert!(!env.tables().exists(), "nothing is built without a terminal");
    // Players that need no table cause no notice.
    let ran = env.run("play --pieces 10 --ply-limit 2 -x greedy -o base0 --nodes 10");
    assert_eq!(ran.err, "");
    ran.success();
}

#[test]
fn the_best_table_is_found_and_a_partial_one_is_reported() {
    let env = TestEnv::new();
    let notice = |words: &str| {
        let ran = env.run(&format!("{words} --side 5 --pieces 3 --nodes 50"));
        let err = ran.err.clone();
        ran.success();
        err
    };
    env.build("--side 5 --pieces 3 --within 12");
    env.file("../tables/broken.sht", "no table");
    let words = "play -x sternhalma --ply-limit 2";
    for words in [words, "analyse"] {
        let err = notice(words);
        assert!(err.contains("no complete table of 5x5, 3 pieces: using "), "{err}");
        assert!(err.contains("5x5-3-within12.sht, exact up to distance "), "{err}");
    }
    env.build("--side 5 --pieces 3 --within 15 --encoding zstd");
    assert!(notice(words).contains("5x5-3-within15-zstd.sht"));
    env.build("--side 5 --pieces 3 --encoding mod3");
    for words in [words, "analyse"] {
        assert_eq!(notice(words), "");
    }
    // Matches need the table that they name.
    env.run("match sternhalma greedy --side 4 --pieces 3 --games 2").failure();
}

#[test]
fn two_players_are_watched_to_the_end() {
    let env = TestEnv::new();
    let watched = env.run("play -x greedy -o greedy --side 5 --pieces 1").success();
    let last = watched.lines().last().unwrap();
    assert!(last.contains(" wins at ply "), "{watched}");
    let again = env.run("play -x greedy -o greedy --side 5 --pieces 1").success();
    assert_eq!(watched, again);
    let played = moves(&watched);
    let winner = played.last().unwrap().split(' ').nth(1).unwrap();
    assert_eq!(format!("{winner} wins at ply {}", played.len()), last);
}

#[test]
fn a_hint_is_a_move_and_does_not_change_the_game() {
    let env = TestEnv::new();
    let out = printed(&env, SMALL, &["hint", "hint", "a2-a3", "hint", "pos"]);
    let hints: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("hint: ")).collect();
    assert_eq!(hints.len(), 3, "{out}");
    assert_eq!(hints[0], hints[1]);
    assert!(hints[0].contains(", depth ") && hints[0].contains("  line: "), "{out}");
    let plain = printed(&env, SMALL, &["a2-a3", "pos"]);
    assert_eq!((moves(&out), out.lines().last()), (moves(&plain), plain.lines().last()));
}

#[test]
fn a_game_that_is_over_can_be_restarted() {
    let env = TestEnv::new();
    let start = "3xx/3x1/5/5/ooo2 x 8";
    let lines = b"d4-e4\nd3-e4\nhint\nmoves\nresign\nundo\npos\nd4-e4\nnew\npos\n";
    let out = env.feed(["play", "-o", "human", start], lines).success();
    assert_eq!(out.matches("x wins at ply 9\n").count(), 2, "{out}");
    assert_eq!(out.matches("the game is over; `new` starts another one").count(), 4, "{out}");
    assert_eq!(out.lines().filter(|&line| line == start).count(), 2, "{out}");
}

#[test]
fn invalid_games_are_refused_in_one_line() {
    let env = TestEnv::new();
    for (words, why) in [
        ("play -x heur9", "there is no player `heur9`"),
        ("play --level 0", "expected a level from 1 to 10"),
        ("play --level 3 --nodes 5", "cannot be used with"),
        ("play --load a.shg 3oo/4o/5/x4/xx3", "cannot be used with"),
        ("play --load a.shg", "a.shg: cannot read"),
        ("play --table none", "no such file"),
    ] {
        let ran = env.run(words);
        assert_eq!((ran.code, ran.out()), (2, ""), "{words}");
        assert!(ran.err.contains(why), "{words}: {}", ran.err);
    }
}
