//! `ugi`: a process that speaks the Universal Game Interface.

use std::process::Command;

use crate::common::{CmdOutput, Session, TestEnv};

/// An engine process.
struct Engine(Session);

impl Engine {
    /// Starts an engine without tables, unless `args` name some.
    fn start(args: &str) -> Engine {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sternhalma"));
        command.arg("ugi").args(args.split_whitespace()).env("STERNHALMA_TABLES", "/nowhere");
        Engine(Session::new(command))
    }

    fn say(&mut self, line: &str) {
        self.0.send(line);
    }

    fn hear(&self) -> String {
        self.0.receive()
    }

    fn until(&self, begin: &str) -> Vec<String> {
        self.0.receive_until(begin)
    }

    fn ask(&mut self, line: &str) -> String {
        self.0.ask(line)
    }

    /// Searches, and returns the lines without times.
    fn search(&mut self, go: &str) -> Vec<String> {
        self.say(go);
        self.until("bestmove").iter().map(|line| timeless(line)).collect()
    }

    fn best(&mut self, go: &str) -> String {
        let heard = self.search(go);
        let best = heard.last().and_then(|line| line.strip_prefix("bestmove "));
        best.expect("a move").to_owned()
    }

    /// Closes stdin, and returns the rest of the output.
    fn leave(self) -> CmdOutput {
        self.0.end()
    }
}

/// Replaces the time and the rate of an `info` line, and the memory of the machine.
fn timeless(line: &str) -> String {
    let mut words = line.split(' ');
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        kept.push(word);
        let is_memory = line.starts_with("option name Hash") && word == "default";
        if is_memory || line.starts_with("info depth") && ["time", "nps"].contains(&word) {
            words.next();
            kept.push("…");
        }
    }
    kept.join(" ")
}

const SMALL: &str = "--side 5 --pieces 3";

#[test]
fn the_engine_prints_the_session_of_the_documentation() {
    let text = include_str!("../../docs/reference/ugi.md");
    let session = text.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a session");
    let mut engine = Engine::start("--side 5 --pieces 3 --player ab-avg --tables /tables");
    let mut said = 0;
    for line in session.lines() {
        match line.split_once(' ').expect("a direction and a line") {
            (">", line) => engine.say(line),
            (_, line) => {
                assert_eq!(timeless(&engine.hear()), timeless(line));
                said += 1;
            }
        }
    }
    assert!(said > 10);
    assert_eq!(engine.leave().success(), "");
}

#[test]
fn it_answers_during_a_search_and_moves_when_it_is_stopped() {
    // The first player searches until it is stopped. The others end their search earlier.
    for player in ["base0", "ab-avg,depth=2", "greedy"] {
        let mut engine = Engine::start(SMALL);
        engine.say(&format!("setoption name player value {player}"));
        engine.say("go infinite");
        for _ in 0..50 {
            engine.say("isready");
            let heard = engine.until("readyok");
            assert!(heard.iter().all(|line| !line.starts_with("bestmove")), "{player}: {heard:?}");
        }
        engine.say("query p1turn");
        assert_eq!(engine.until("response"), ["response true"], "{player}");
        for line in ["position startpos", "go nodes 5", "go nonsense", "uginewgame", "setoption name Seed value 2"] {
            engine.say(line);
            let heard = engine.until("info string");
            assert!(heard.iter().all(|line| !line.starts_with("bestmove")), "{player}: {heard:?}");
        }
        engine.say("stop");
        // The next command may follow the answer immediately.
        assert_ne!(engine.until("bestmove").last().unwrap(), "bestmove none");
        assert_eq!(
            engine.ask("position startpos moves a1-a4 e5-e3"),
            "info string error: `a1-a4` is not legal for x at ply 0"
        );
        assert_eq!(engine.ask("isready"), "readyok");
        // There is no search to stop.
        engine.say("stop");
        assert_eq!(engine.ask("isready"), "readyok");
    }
}

#[test]
fn several_lines_are_different_moves_best_first() {
    let env = TestEnv::new();
    env.build(SMALL);
    let mut engine = Engine::start(&format!("{SMALL} --tables {}", env.tables().display()));
    engine.say("setoption name MultiPV value 4");
    engine.say("position startpos moves a1-a3");
    let after = |line: &str, word: &str| -> String {
        line.split(' ').skip_while(|found| *found != word).nth(1).unwrap_or_else(|| panic!("{line}")).to_owned()
    };
    let lines_of = |heard: &[String]| -> Vec<[String; 3]> {
        let lines = heard.iter().filter(|line| line.starts_with("info depth"));
        lines.map(|line| ["multipv", "pv", "cp"].map(|word| after(line, word))).collect()
    };
    let heard = engine.search("go nodes 400");
    let lines = lines_of(&heard);
    assert_eq!(lines.iter().map(|[number, ..]| number.as_str()).collect::<Vec<_>>(), ["1", "2", "3", "4"]);
    let moves: std::collections::BTreeSet<&String> = lines.iter().map(|[_, mv, _]| mv).collect();
    assert_eq!(moves.len(), 4, "{heard:?}");
    let scores: Vec<i32> = lines.iter().map(|[.., score]| score.parse().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{heard:?}");
    assert_eq!(*heard.last().unwrap(), format!("bestmove {}", lines[0][1]));
    // A search without an end prints the lines of each depth.
    engine.say("go infinite");
    for (number, depth) in ["1", "2", "3", "4", "1", "2", "3", "4"].iter().zip([1, 1, 1, 1, 2, 2, 2, 2]) {
        let line = engine.hear();
        assert_eq!((after(&line, "multipv").as_str(), after(&line, "depth")), (*number, depth.to_string()));
    }
    engine.say("stop");
    engine.until("bestmove");
    // A player that cannot exclude moves prints one line.
    engine.say("setoption name Player value greedy");
    let heard = engine.search("go nodes 10");
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert_eq!(
        engine.ask("setoption name MultiPV value 0"),
        "info string error: `0` is not a number of lines; expected 1 to 100"
    );
}

#[test]
fn the_same_seed_gives_the_same_search() {
    let run = |seed: u64| {
        let mut engine = Engine::start(&format!("{SMALL} --player base0 --seed {seed}"));
        // The search is long enough to print some lines.
        let first = engine.search("go nodes 600000");
        engine.say("uginewgame");
        assert_eq!(engine.search("go nodes 600000"), first);
        first
    };
    let first = run(1);
    assert_eq!(first, run(1));
    assert_ne!(first, run(2));
    assert_eq!(first.len(), 5, "a line whenever the nodes have doubled, one at the end, and the move: {first:?}");
    let [last, best] = &first[3..] else { panic!() };
    assert_eq!(last.split(" pv ").nth(1).and_then(|line| line.split(' ').next()), best.strip_prefix("bestmove "));
}

#[test]
fn every_kind_of_limit_ends_a_search() {
    for player in ["base0", "ab-avg", "greedy", "random"] {
        let mut engine = Engine::start(&format!("{SMALL} --player {player}"));
        for go in [
            "movetime 5",
            "nodes 1",
            "nodes 0",
            "playouts 3 movetime 100",
            "depth 2",
            "depth 0",
            "p1time 1000 p2time 1",
            "p1time 20 p2time 20 p1inc 5 p2inc 5",
            "p1time 0",
            "p1time -5",
            "p2time 20",
            "movestogo 3 p1time 20",
        ] {
            assert_ne!(engine.best(&format!("go {go}")), "none", "{player}: {go}");
        }
    }
}

#[test]
fn invalid_input_is_answered_with_one_line_and_changes_nothing() {
    let mut engine = Engine::start(&format!("{SMALL} --player ab-avg"));
    engine.say("position startpos moves a2-a3");
    for (line, why) in [
        ("\u{1b}[31mred", "is not a command"),
        ("position startpos moves a2-a3 d1-c1", "`d1-c1` is not legal for o at ply 1"),
        ("position startpos moves pass", "`pass` is not legal"),
        ("position startpos moves c1", "`c1` is not a move"),
        ("position fen 9/9 x 0", "2 rows"),
        ("position fen 3oo/4o/5/x4/xx3 z 0", "expected the player `x` or `o`"),
        ("position fen 3oo/5/5/x4/xx3 x 0", "same number of pieces"),
        ("position fen 5/5/5/5/5 x 0", "pieces"),
        ("position fen xxx/xx1/o2 x 0", "overlap"),
        ("position fen 3xx/4x/5/o4/oo3 o 9 moves a1-a3", "after the end of the game"),
        ("setoption name Player value heur9", "there is no player `heur9`"),
        ("setoption name Player", "there is no player ``"),
        ("setoption name Seed value red", "`red` is not a seed"),
        ("setoption name Hash value 0", "`0` is not a size; expected a number of MiB from 1 to 65536"),
        ("setoption name Tables", "needs a directory"),
        ("setoption name Colour value red", "there is no option `Colour`"),
        ("query colour", "there are gameover, p1turn and result"),
    ] {
        let heard = engine.ask(line);
        assert!(heard.starts_with("info string error: ") && heard.contains(why), "{line}: {heard}");
        assert!(!heard.contains(char::is_control), "{heard:?}");
        assert_eq!(engine.ask("query p1turn"), "response false", "{line}");
    }
    engine.0.send_bytes(b"\xff\xfe\n\n  \r\n");
    assert!(engine.hear().contains("is not a command"));
    assert_ne!(engine.best("go depth 2"), "none");
    // A player without its table reports that, and plays no move.
    engine.say("setoption name Player value heur0");
    assert!(engine.ask("isready").contains("need a distance table"));
    assert_eq!(engine.hear(), "readyok");
    assert!(engine.ask("go depth 2").contains("need a distance table"));
    assert_eq!(engine.hear(), "bestmove none");
}

#[test]
fn a_position_sets_the_board_and_the_end_of_the_game() {
    let mut engine = Engine::start("--player base0");
    assert!(engine.best("go nodes 1000").contains('-'));
    engine.say("position fen 3oo/4o/5/x4/xx3 o 7");
    assert_eq!(engine.ask("query p1turn"), "response false");
    let best = engine.best("go nodes 1000");
    assert!(["d5-", "e5-", "e4-"].iter().any(|piece| best.starts_with(piece)), "{best}");
    for (position, result) in
        [("3xx/4x/5/o4/oo3 o 9", "p1win"), ("3xx/4x/5/o4/oo3 x 9", "p2win"), ("3oo/4o/5/x4/xx3 x 1000", "draw")]
    {
        engine.say(&format!("position fen {position}"));
        assert_eq!(engine.ask("query gameover"), "response true");
        assert_eq!(engine.ask("query result"), format!("response {result}"));
        assert_eq!(engine.ask("go nodes 10"), "info string error: the game is over");
        assert_eq!(engine.hear(), "bestmove none");
    }
}

#[test]
fn it_ends_at_quit_and_at_the_end_of_stdin() {
    let mut quitting = Engine::start(SMALL);
    quitting.say("quit");
    assert_eq!(quitting.0.finish().success(), "");
    let mut left = Engine::start(&format!("{SMALL} --player base0"));
    left.say("go infinite");
    let output = left.leave().success();
    assert!(output.lines().last().is_some_and(|line| line.starts_with("bestmove ")), "{output}");
}

#[test]
fn two_engines_play_a_game_to_its_end() {
    let env = TestEnv::new();
    env.build(SMALL);
    let args = |player: &str| format!("{SMALL} --player {player} --tables {}", env.tables().display());
    let mut engines = [Engine::start(&args("ab-lookup")), Engine::start(&args("heur0"))];
    let mut moves = String::from("position startpos");
    for ply in 0.. {
        for engine in &mut engines {
            engine.say(&moves);
        }
        let over: Vec<String> = engines.iter_mut().map(|engine| engine.ask("query gameover")).collect();
        assert_eq!(over[0], over[1]);
        if over[0] == "response true" {
            break;
        }
        assert!(ply < 1000, "a game ends at ply 1000");
        let turn = engines[0].ask("query p1turn");
        assert_eq!(turn == "response true", ply % 2 == 0);
        let mv = engines[ply % 2].best("go nodes 2000");
        moves += if ply == 0 { " moves " } else { " " };
        moves += &mv;
    }
    let results: Vec<String> = engines.iter_mut().map(|engine| engine.ask("query result")).collect();
    assert_eq!(results[0], results[1]);
    assert!(["response p1win", "response p2win", "response draw"].contains(&results[0].as_str()), "{results:?}");
}

/// Checks an engine, and returns the exit code and the lines.
fn compliance(command: &str) -> (Option<i32>, Vec<String>) {
    let mut check = Command::new(env!("CARGO_BIN_EXE_sternhalma"));
    let output = check.args(["ugi", "--side", "5", "--pieces", "3", "--compliance", command]).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    (output.status.code(), lines)
}

#[test]
fn a_program_that_seals_goals_is_found() {
    let program = "python3 -c 'import sys; sys.path.insert(0, \"docs/guide\"); import engine; \
                   engine.Position.value = lambda self, move, behind: 0; engine.Engine(9, 6, 0).run()'";
    let mut check = Command::new(env!("CARGO_BIN_EXE_sternhalma"));
    let output = check.args(["ugi", "--compliance", program]).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.contains("where another one seals a goal")).unwrap();
    assert!(line.starts_with("FAILED") && line.contains("it seals the goal of"), "{text}");
    assert_eq!(output.status.code(), Some(1));
}

#[cfg(unix)]
#[test]
fn players_without_the_rule_against_seals_are_found() {
    // The engines do not offer the option, so they play by the rules of their command line.
    let dir = tempfile::tempdir().unwrap();
    for (board, player) in [("--pieces 6", "greedy"), ("--pieces 6", "random"), ("--pieces 10", "ab-avg")] {
        let log = dir.path().join(format!("{player}{board}"));
        let program = format!(
            "'{}' ugi {board} --rules paper --player {player} | grep -v --line-buffered 'name Rules'",
            env!("CARGO_BIN_EXE_sternhalma")
        );
        let command = shlex::try_join(["sh", "-c", &program]).unwrap();
        let mut check = Command::new(env!("CARGO_BIN_EXE_sternhalma"));
        check.args(["ugi", "--compliance", &command, "--debug"]).arg(&log).args(board.split(' '));
        let output = check.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find(|line| line.contains("where another one seals a goal")).unwrap();
        assert!(line.starts_with("FAILED") && line.contains("it seals the goal of"), "{text}");
        assert!(std::fs::read_to_string(log).unwrap().contains("\tengine\t>\tposition fen "));
    }
}

#[test]
fn the_engine_follows_its_protocol() {
    for player in ["base0", "ab-avg", "greedy"] {
        let engine = format!("'{}' ugi --side 5 --pieces 3 --player {player}", env!("CARGO_BIN_EXE_sternhalma"));
        let (code, lines) = compliance(&engine);
        // Three pieces cannot seal a goal.
        let [skipped, passed] =
            ["skipped ", "ok "].map(|start| lines.iter().filter(|line| line.starts_with(start)).count());
        assert_eq!((passed, skipped), (22, 1), "{player}: {lines:#?}");
        assert_eq!(code, Some(0));
    }
}

#[cfg(unix)]
#[test]
fn an_engine_that_does_not_follow_the_protocol_fails() {
    let (code, lines) = compliance("/no/such/engine");
    assert_eq!((code, lines.len()), (Some(1), 1));
    assert!(lines[0].starts_with("FAILED  `ugi` is answered by `ugiok`: cannot start `/no/such/engine`"), "{lines:?}");
    // The engine supports no board except 9x9.
    let engine = format!("'{}' ugi --player greedy", env!("CARGO_BIN_EXE_sternhalma"));
    let (code, lines) = compliance(&engine);
    assert_eq!(code, Some(1));
    let failed: Vec<&String> = lines.iter().filter(|line| line.starts_with("FAILED  ")).collect();
    assert!(!failed.is_empty() && failed.len() < 12, "{lines:#?}");
    assert!(failed[0].contains("expected a legal move of x in "), "{lines:#?}");
}
