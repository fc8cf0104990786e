//! Faulty programs, as scripts for a POSIX shell.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use sternhalma_data::Board;
use sternhalma_ggp::Limits;
use sternhalma_ggp::arena::GameClock;
use tempfile::TempDir;

use super::*;
use crate::rules::Filter;

const MS: Duration = Duration::from_millis(1);

/// Far longer than any answer takes.
const LONG: Duration = Duration::from_secs(60);

/// A flag that is never set.
static NEVER: AtomicBool = AtomicBool::new(false);

/// The time to wait for an answer that never comes.
const SHORT: Duration = Duration::from_millis(300);

/// Returns a script that follows the protocol, except for `go` and the lines
/// that `more` handles.
fn polite(go: &str, more: &str) -> String {
    format!(
        r#"while read -r line; do case "$line" in
        ugi) echo "id name Bad"; echo "option name Seed type spin min 0 max 9"; echo ugiok;;
        isready) echo readyok;;
        go*) {go};;
        quit) exit 0;;
        {more}
        esac; done"#
    )
}

/// A directory with a script and a list of the processes that it started.
struct Script(TempDir);

/// Returns a command without options.
fn command(text: &str) -> ProgramCommand {
    ProgramCommand::new(text, Vec::new(), None).unwrap()
}

impl Script {
    /// Creates a script. `$dir` is its directory; `own PID` records a process.
    fn new(text: &str) -> Script {
        let dir = tempfile::tempdir().unwrap();
        let own = r#"dir="$1"; own() { echo "$1" >> "$dir/pids"; }; own $$"#;
        fs::write(dir.path().join("engine"), format!("{own}\n{text}\n")).unwrap();
        Script(dir)
    }

    fn peer(&self) -> ExternalPlayer {
        let dir = shlex::try_quote(self.0.path().to_str().unwrap()).unwrap().into_owned();
        ExternalPlayer::new(command(&format!("sh {dir}/engine {dir}"))).with_starting_patience(LONG)
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.path().join(file)).unwrap()
    }

    fn pids(&self) -> Vec<i32> {
        self.read("pids").lines().map(|pid| pid.parse().unwrap()).collect()
    }

    fn expect_no_process(&self) {
        // The kernel needs time to end killed processes that are not reaped.
        let until = Instant::now() + LONG;
        for pid in self.pids() {
            while runs(pid) {
                assert!(Instant::now() < until, "process {pid} is left");
                thread::sleep(MS);
            }
        }
    }
}

fn runs(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    match stat.as_ref().map(|stat| stat.rsplit(") ").next()) {
        Ok(Some(state)) => !state.starts_with(['Z', 'X']),
        _ if Path::new("/proc/self/stat").exists() => false,
        _ => test_kill_process(Pid::from_raw(pid).unwrap()).is_ok(),
    }
}

fn game() -> ChineseCheckers {
    ChineseCheckers::new(Board::new(5, 3).unwrap(), Filter::All)
}

fn begin(peer: &mut ExternalPlayer) -> Result<(), Fault> {
    let game = game();
    peer.begin(&game, &game.initial(), 0, 123)
}

fn choose(peer: &mut ExternalPlayer, limits: Limits, patience: Duration) -> Result<(Action, SearchStats), Fault> {
    let (game, stop) = (game(), AtomicBool::new(false));
    peer.choose(&game, &game.initial(), &Request { role: 0, limits, clocks: &[None; 2], patience, stop: &stop })
}

fn action(text: &str) -> Action {
    Some(Board::new(5, 3).unwrap().geometry().parse_move(text).unwrap())
}

/// Returns the fault of a script that must begin a game.
fn begun(text: &str, patience: Duration) -> Fault {
    let script = Script::new(text);
    let fault = begin(&mut script.peer().with_starting_patience(patience)).expect_err(text);
    script.expect_no_process();
    fault
}

/// Returns the answer of a script that must move.
fn answered(text: &str, limits: Limits, patience: Duration) -> Result<(Action, SearchStats), Fault> {
    let script = Script::new(text);
    let mut peer = script.peer();
    begin(&mut peer).unwrap_or_else(|fault| panic!("{text}: {fault}"));
    let answer = choose(&mut peer, limits, patience);
    drop(peer);
    script.expect_no_process();
    answer
}

fn on_go(go: &str, patience: Duration) -> Result<(Action, SearchStats), Fault> {
    answered(&polite(go, ""), Limits::expansions(1), patience)
}

#[test]
fn a_program_is_sent_what_the_protocol_says() {
    let script = Script::new(
        r#"exec 3> $dir/heard; while read -r line; do echo "$line" >&3; case "$line" in
        ugi) echo "id name Bad"; echo "option name Seed type spin min 0 max 9"; echo ugiok;;
        isready) echo readyok;;
        go*) echo bestmove e5-e4;;
        esac; done"#,
    );
    let game = game();
    let options = vec![("Seed".to_owned(), "5".to_owned())];
    let peer = script.peer();
    let with_options = ProgramCommand { options, ..peer.command.clone() };
    let mut peers = [peer, ExternalPlayer::new(with_options).with_starting_patience(LONG)];
    let stop = AtomicBool::new(false);
    let clocks = [None, Some(GameClock { left: 1500 * MS, increment: 250 * MS })];
    let mut heard = Vec::new();
    for peer in &mut peers {
        assert_eq!(peer.greet(LONG, &NEVER), Ok("Bad".to_owned()));
        let mut state = game.initial();
        peer.begin(&game, &state, 1, 123).unwrap();
        game.play_action(&mut state, action("a1-a3"));
        peer.observe(&game, &[action("a1-a3")]);
        let limits = Limits { playouts: Some(7), expansions: Some(8), depth: Some(9), time: Some(10_900 * MS / 1000) };
        let request = Request { role: 1, limits, clocks: &clocks, patience: LONG, stop: &stop };
        assert_eq!(peer.choose(&game, &state, &request).unwrap().0, action("e5-e4"));
        peer.observe(&game, &[action("e5-e4")]);
        peer.observe(&game, &[None]);
        let request = Request { limits: Limits::depth(1), clocks: &[clocks[1], None], ..request };
        peer.choose(&game, &state, &request).unwrap();
        peer.begin(&game, &state, 1, 8).unwrap();
        peer.choose(&game, &state, &request).unwrap();
        heard.push(script.read("heard"));
    }
    let seeded = "ugi\n\
        setoption name Seed value 3\nuginewgame\nisready\n\
        position startpos moves a1-a3\n\
        go nodes 8 playouts 7 depth 9 movetime 10 p2time 1500 p2inc 250\n\
        position startpos moves a1-a3 e5-e4 pass\ngo depth 1\n\
        setoption name Seed value 8\nuginewgame\nisready\n\
        position fen 3oo/4o/x4/x4/1x3 o 1\ngo depth 1\n";
    assert_eq!(heard[0], seeded);
    // A seed among the options takes precedence.
    assert_eq!(heard[1], seeded.replace("value 3", "value 5").replace("value 8", "value 5"));
}

#[test]
fn a_good_answer_tells_what_it_took() {
    let info = "echo info depth 2 nodes 5; echo info depth 3 seldepth 9 nodes 70 playouts 4 pv a1-a3 nodes 8";
    let (found, spent) =
        on_go(&format!("{info}; echo info string depth 99; echo bestmove a1-a3 ponder e5-e4"), LONG).unwrap();
    assert_eq!(found, action("a1-a3"));
    assert_eq!((spent.expansions, spent.playouts, spent.depth), (70, 4, 3));
    assert_eq!(on_go("echo bestmove pass", LONG).unwrap().0, None);
    // The legality of the move is checked elsewhere.
    assert_eq!(on_go("echo bestmove a1-e5", LONG).unwrap().0, action("a1-e5"));
    // Only this process reads its stderr.
    assert!(on_go("yes 2>/dev/null | head -c 1000000 >&2; echo bestmove a1-a3", LONG).is_ok());
}

#[test]
fn a_program_that_does_not_get_ready_can_be_stopped() {
    for text in ["sleep 1000", "while :; do echo info; sleep 0.01; done", "read line; echo ugiok; sleep 1000"] {
        let script = Script::new(text);
        let stop = AtomicBool::new(false);
        let mut peer = script.peer();
        let fault = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(SHORT);
                stop.store(true, Relaxed);
            });
            let game = game();
            peer.begin_game(&game, &game.initial(), 1, &stop).unwrap_err()
        });
        assert_eq!(fault, FaultKind::Hang.fault("interrupted before it was ready"), "{text}");
        script.expect_no_process();
    }
}

#[test]
fn a_program_that_ends_has_crashed() {
    let missing = ExternalPlayer::new(command("/nowhere/engine --fast")).greet(LONG, &NEVER).unwrap_err();
    assert!(missing.kind == FaultKind::Crash && missing.detail.contains("cannot start `/nowhere/engine`"), "{missing}");
    for (text, why) in [
        ("exit 3", "exit status: 3"),
        ("echo no memory >&2; exit 4", "last words: no memory"),
        ("kill -9 $$", "signal: 9"),
        ("read line; echo ugiok; exit 5", "exit status: 5"),
        ("exec >&-; sleep 1000", "closed its output"),
        ("sleep 1000 & own $!; exit 6", "exit status: 6"),
    ] {
        let fault = begun(text, LONG);
        assert!(fault.kind == FaultKind::Crash && fault.detail.contains(why), "{text}: {fault}");
    }
    for (go, why) in [
        ("exit 7", "exit status: 7"),
        ("kill -11 $$", "signal: 11"),
        ("printf 'bestmove a1-'; exit 8", "it said `bestmove a1-`"),
        ("echo 1 >&2; printf 'out of\\n\\033[31m luck' >&2; exit 9", "last words: 1 out of  [31m luck"),
        ("exec >&-; sleep 1000", "closed its output"),
        // A process that holds stdout open does not hide the end.
        ("sleep 1000 & own $!; exit 6", "exit status: 6"),
    ] {
        let fault = on_go(go, LONG).expect_err(go);
        let kind = if why.contains("bestmove") { FaultKind::Garbage } else { FaultKind::Crash };
        assert!(fault.kind == kind && fault.detail.contains(why), "{go}: {fault}");
    }
}

#[test]
fn a_program_that_does_not_answer_hangs() {
    for text in [
        "exec sleep 1000",
        "trap '' TERM INT HUP; while :; do sleep 1000; done",
        "read line; echo ugiok; exec sleep 1000",
        "sleep 1000 & own $!; wait",
    ] {
        assert_eq!(begun(text, SHORT).kind, FaultKind::Hang, "{text}");
    }
    for go in [":", "sleep 1000", "trap '' TERM INT HUP; while :; do sleep 1000; done", "sleep 1000 & own $!; wait"] {
        assert_eq!(on_go(go, SHORT).expect_err(go).kind, FaultKind::Hang, "{go}");
    }
    let fault = on_go("echo stuck in a loop >&2", 3 * SHORT).unwrap_err();
    assert!(fault.kind == FaultKind::Hang && fault.detail.contains("stuck in a loop"), "{fault}");
}

#[test]
fn a_program_that_does_not_read_hangs() {
    let script = Script::new("echo ugiok; echo readyok; exec sleep 1000");
    let mut peer = script.peer();
    begin(&mut peer).unwrap();
    // The text is larger than a pipe buffer.
    (0..100_000).for_each(|_| peer.observe(&game(), &[action("a1-a3")]));
    assert_eq!(choose(&mut peer, Limits::time(MS), SHORT).unwrap_err().kind, FaultKind::Hang);
    script.expect_no_process();
    // Messages do not accumulate if the program is always ready.
    let script = Script::new("echo ugiok; while echo readyok; do :; done");
    let mut peer = script.peer();
    let fault = (0..1_000_000).find_map(|_| begin(&mut peer).err()).expect("an end of its patience");
    assert!(fault.kind == FaultKind::Hang && fault.detail.contains("does not read"), "{fault}");
    script.expect_no_process();
}

#[test]
fn a_program_that_floods_has_no_answer() {
    for flood in [
        "exec yes",
        "exec yes info depth 1 nodes 1",
        "exec cat /dev/zero",
        "exec cat /dev/urandom",
        "yes | tr -d '\\n'",
    ] {
        assert_eq!(begun(flood, LONG).kind, FaultKind::Garbage, "{flood}");
        let fault = on_go(flood, LONG).expect_err(flood);
        assert!(fault.kind == FaultKind::Garbage && fault.detail.contains("floods"), "{flood}: {fault}");
        assert!(fault.detail.len() < 1000 && !fault.detail.contains(char::is_control), "{fault}");
        let numbers: Vec<u64> = fault.detail.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [lines, bytes, ..] = numbers[..] else { panic!("{fault}") };
        assert!(lines <= 100_001 && bytes <= 17 << 20, "{fault}");
    }
}

#[test]
fn an_unparsable_move_is_garbage() {
    for line in [
        "bestmove",
        "bestmove none",
        "bestmove a1",
        "bestmove a1-a9",
        "bestmove a1-a3 e5-e4",
        "bestmove \\033[31ma1-a3\\007",
        "bestmove \\377\\376",
    ] {
        let fault = on_go(&format!("printf '{line}\\n'"), LONG).expect_err(line);
        assert!(fault.kind == FaultKind::Garbage && fault.detail.contains("bestmove"), "{line}: {fault}");
        assert!(!fault.detail.contains(char::is_control), "{fault}");
    }
    let long = on_go("printf 'bestmove a1-a3%100000s\\n' ' '", LONG).unwrap_err();
    assert!(long.kind == FaultKind::Garbage && long.detail.len() < 1000, "{long}");
    let refused = on_go("echo info string error: no table; echo bestmove none", LONG).unwrap_err();
    assert!(refused.detail.contains("after `info string error: no table`"), "{refused}");
    // Lines without a move are ignored.
    assert!(on_go("printf '\\377\\n\\nbestmoves a1-a2\\n\\0\\r\\nbestmove a1-a3\\r\\n'", LONG).is_ok());
}

#[test]
fn a_late_program_receives_stop() {
    let stops = polite(":", "stop) echo bestmove a1-a3;;");
    let (found, spent) = answered(&stops, Limits::time(MS), LONG).unwrap();
    assert_eq!(found, action("a1-a3"));
    assert!(spent.time > MS);
    // Without a time limit no answer is late.
    assert_eq!(answered(&stops, Limits::expansions(1), SHORT).unwrap_err().kind, FaultKind::Hang);
    let (_, spent) = answered(&polite("sleep 1; echo bestmove a1-a3", ""), Limits::time(MS), LONG).unwrap();
    assert!(spent.time > MS);
}

#[test]
fn an_answer_that_nobody_wants_is_not_waited_for() {
    let (game, forever) = (game(), Duration::from_secs(1 << 30));
    for (text, survives) in [(polite(":", "stop) echo bestmove a1-a3;;"), true), (polite(":", ""), false)] {
        let script = Script::new(&text);
        let mut peer = script.peer();
        begin(&mut peer).unwrap();
        let stop = AtomicBool::new(false);
        let limits = Limits::expansions(1);
        let answer = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(SHORT);
                stop.store(true, Relaxed);
            });
            let request = Request { role: 0, limits, clocks: &[None; 2], patience: forever, stop: &stop };
            peer.choose(&game, &game.initial(), &request)
        });
        // A busy machine may need longer than the wait.
        assert!(survives || answer.is_err());
        begin(&mut peer).unwrap();
        assert_eq!(script.pids().len(), if answer.is_ok() { 1 } else { 2 });
        drop(peer);
        script.expect_no_process();
    }
}

#[test]
fn a_byte_order_mark_before_the_first_line_is_skipped() {
    let script =
        Script::new(&polite("echo bestmove a1-a3", "").replacen("while", "printf '\\357\\273\\277'; while", 1));
    let mut peer = script.peer();
    assert!(!peer.greet(LONG, &NEVER).unwrap().is_empty());
}

#[test]
fn an_ended_program_is_restarted() {
    let go = "if test -e $dir/mark; then echo bestmove a1-a3; else : > $dir/mark; exit 1; fi";
    let script = Script::new(&polite(go, ""));
    let mut peer = script.peer();
    begin(&mut peer).unwrap();
    assert_eq!(choose(&mut peer, Limits::expansions(1), LONG).unwrap_err().kind, FaultKind::Crash);
    for _ in 0..3 {
        begin(&mut peer).unwrap();
        assert!(choose(&mut peer, Limits::expansions(1), LONG).is_ok());
    }
    assert_eq!(script.pids().len(), 2);
    drop(peer);
    script.expect_no_process();
}

#[test]
fn a_program_that_quits_is_not_killed() {
    let script = Script::new(&polite(":", "").replace("exit 0", ": > $dir/mark; exit 0"));
    for _ in 0..100 {
        script.peer().greet(LONG, &NEVER).unwrap();
        if script.0.path().join("mark").exists() {
            return;
        }
    }
    panic!("no program has quit");
}

#[test]
fn commands_are_split_and_run_in_the_given_directory() {
    let script = Script::new(&polite(":", ""));
    let dir = script.0.path();
    let nested = dir.join("a b");
    fs::create_dir(&nested).unwrap();
    let own = "#!/bin/sh\necho id name \"$(basename \"$PWD\"), $1, $2, $#\"; echo ugiok; read -r line; read -r line\n";
    fs::write(nested.join("engine.sh"), own).unwrap();
    let mut peer =
        ExternalPlayer::new(ProgramCommand::new(r#"sh 'engine.sh' "x  y" a\ b"#, Vec::new(), Some(nested)).unwrap());
    assert_eq!(peer.greet(LONG, &NEVER), Ok("a b, x  y, a b, 2".to_owned()));
    for (command, error) in [
        ("sh 'engine", ExternalPlayerError::Unbalanced("sh 'engine".to_owned())),
        ("", ExternalPlayerError::Empty),
        ("  # nothing", ExternalPlayerError::Empty),
        ("''", ExternalPlayerError::Empty),
    ] {
        assert_eq!(ProgramCommand::new(command, Vec::new(), None).err(), Some(error), "{command}");
    }
    let options = vec![("Player".to_owned(), "x\nquit".to_owned())];
    assert_eq!(ProgramCommand::new("sh", options, None).err(), Some(ExternalPlayerError::Control("Player".to_owned())));
}

/// Returns the names of the checks that a program fails, with the messages, and the number of all
/// checks.
fn failed_checks(text: &str) -> (Vec<(&'static str, String)>, usize) {
    let script = Script::new(text);
    let dir = shlex::try_quote(script.0.path().to_str().unwrap()).unwrap().into_owned();
    let (mut failed, mut count) = (Vec::new(), 0);
    let passed = check_compliance(&format!("sh {dir}/engine {dir}"), game(), None, |check| {
        count += 1;
        if let CheckResult::Failed(failure) = &check.result {
            failed.push((check.name, failure.clone()));
        }
    });
    assert_eq!(passed, Ok(failed.is_empty()));
    script.expect_no_process();
    (failed, count)
}

#[test]
fn compliance_checks_find_what_is_wrong() {
    // The engine does not search: it always answers immediately, with a move of
    // x from the initial position.
    let (failed, count) = failed_checks(&polite("echo bestmove a1-a3", ""));
    let names: Vec<&str> = failed.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        [
            "`position startpos moves …`: legal moves of a game",
            "`position fen …`: a legal move for o",
            "`go infinite`: no move before `stop`, a legal one after it",
            "commands after `go` or `stop` wait for the `bestmove`",
            "`isready` is answered during a search",
        ]
    );
    assert!(
        failed[0].1.starts_with("`position startpos moves a1-a3`: expected a legal move of o in "),
        "{}",
        failed[0].1
    );
    assert!(failed[0].1.ends_with("got `bestmove a1-a3`"), "{}", failed[0].1);
    assert!(failed[2].1.contains("expected no move before `stop`"), "{}", failed[2].1);
    assert_eq!(count, 23);
    // The engine ends at an unknown command, ignores `quit`, and has no name.
    let (failed, _) = failed_checks(
        r#"while read -r line; do case "$line" in
        ugi) echo "option name Seed spin"; echo ugiok;;
        isready) echo readyok;;
        uginewgame|position*|stop|setoption*|quit) ;;
        go*) echo bestmove a1-a3;;
        *) echo "no command" >&2; exit 3;;
        esac; done"#,
    );
    let of = |name: &str| failed.iter().find(|(of, _)| *of == name).map(|(_, failure)| failure.as_str());
    assert!(of("`id name` names the engine").unwrap().contains("got none"));
    assert!(of("each `option` has a name and a type").unwrap().ends_with("got `option name Seed spin`"));
    let ended = of("unknown commands are ignored").unwrap();
    assert!(ended.contains("exit status: 3; its last words: no command"), "{ended}");
    assert!(of("`quit` ends the program").unwrap().contains("got a running one"));
    assert_eq!((of("`isready` is answered by `readyok`"), of("`uginewgame` begins a game")), (None, None));
    // The engine refuses a search after `stop`, ends at a large number, and has no move at odd limits.
    let (failed, _) = failed_checks(
        r#"busy=; while read -r line; do case "$line" in
        ugi) busy=; echo id name odd; echo "option name Hash type spin default 2 min 1 max 4"; echo ugiok;;
        isready) busy=; echo readyok;;
        quit) exit 0;;
        *"Hash value 5") exit 5;;
        stop) test "$busy" = infinite && { echo bestmove a1-a3; busy=after; };;
        *infinite) busy=infinite;;
        go*-5*|go*xyzzy*|go*movestogo*) echo bestmove none;;
        go*) test -z "$busy" && echo bestmove a1-a3 || echo bestmove none;;
        esac; done"#,
    );
    let of = |name: &str| failed.iter().find(|(of, _)| of.starts_with(name)).map(|(_, failure)| failure.as_str());
    let ended = of("`setoption` ignores or refuses numbers").unwrap();
    assert!(ended.starts_with("after `setoption name Hash value 5`: ") && ended.contains("exit status: 5"), "{ended}");
    assert!(of("`go` with a clock that is negative").unwrap().starts_with("`go p1time -5 p2time 1000`: "));
    let unknown = of("`go` with limits that are unknown").unwrap();
    assert!(unknown.starts_with("`go nodes 100 xyzzy 3`: ") && unknown.ends_with("got `bestmove none`"), "{unknown}");
    assert!(of("commands after `go` or `stop`").unwrap().ends_with("got `bestmove none`"));
    assert_eq!(of("`go infinite`"), None);
    // Without a handshake there is nothing to check.
    let (failed, count) = failed_checks("exit 1");
    assert_eq!((failed.len(), count), (1, 1));
    assert!(failed[0].1.contains("expected `ugiok`"), "{}", failed[0].1);
    assert!(check_compliance("'", game(), None, |_| ()).is_err());
}

#[test]
fn the_protocol_log_has_both_directions() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let script = Script::new(&polite("echo info depth 2 score cp -35; echo bestmove a1-a2", ""));
    let log = ProtocolLog::open(&path).unwrap();
    let mut peer = script.peer().with_trace(Some(log.of("mine")));
    peer.set_game_number(7);
    begin(&mut peer).unwrap();
    choose(&mut peer, Limits::expansions(1), LONG).unwrap();
    assert_eq!(peer.value(), Some(SearchValue::Lead(-0.35)));
    drop(peer);
    log.check().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let mut lines = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.splitn(4, '\t').collect();
        assert!(fields[0].parse::<f64>().unwrap() >= 0.0 && (fields[1], fields[2]) == ("7", "mine"), "{line}");
        lines.push(fields[3].replace('\t', " "));
    }
    for line in [
        "> ugi",
        "< ugiok",
        "> isready",
        "< readyok",
        "> position startpos",
        "> go nodes 1",
        "< bestmove a1-a2",
        "> quit",
    ] {
        assert_eq!(lines.iter().filter(|other| *other == line).count(), 1, "{line}: {text}");
    }
    assert!(ProtocolLog::open(dir.path()).is_err());
}
