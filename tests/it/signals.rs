//! Closed pipes, full disks, signals and files that change.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{CmdOutput, ENCODINGS, PATIENCE, Running, Session, TestEnv, names, set};

#[test]
fn a_closed_stdout_is_not_a_failure() {
    let env = TestEnv::new();
    let name = env.build("--side 5 --pieces 10");
    let file = name.to_str().unwrap();
    let states: String = (0..20_000).map(|rank| format!("#{rank}\n")).collect();
    for words in [
        "export",
        "export --order lex",
        "query --stdin",
        "query --stdin --moves",
        "query --stdin --format ndjson",
        "query --stdin --format json",
        "query --stdin --format csv",
        "query --stdin --format csv --moves",
    ] {
        let mut command = env.command(words.split(' ').chain([file]));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), states.clone());
        // The command ends before it has read its whole input.
        let writer = thread::spawn(move || stdin.write_all(input.as_bytes()).is_ok());
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0]).unwrap();
        drop(stdout);
        let ran = CmdOutput::of(child.wait_with_output().unwrap());
        writer.join().unwrap();
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{words}");
    }
    // stdout is closed before the command starts.
    for words in ["info", "info --json", "verify --json", "query #0", "query #0 --format json", "line #9"] {
        let mut args: Vec<&str> = words.split(' ').collect();
        args.insert(1, file);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = CmdOutput::of(env.command(&args).stdout(writer).stderr(Stdio::piped()).output().unwrap());
        assert_eq!(ran.code, 0, "{words}");
        assert!(!ran.err.contains("error"), "{words}: {}", ran.err);
    }
}

/// A closed stderr changes neither the work nor the exit code.
#[test]
fn a_closed_stderr_changes_nothing() {
    let env = TestEnv::new();
    let table = env.build("--side 4 --pieces 3 --within 13 -o table");
    let out_of_core = "build --side 5 --pieces 3 --mode out-of-core --memory 64MiB";
    for (words, code) in [
        ("build --side 4 --pieces 3", 0),
        ("build --side 4 --pieces 3", 0),
        ("build --side 4 --pieces 2 -o table", 2),
        (out_of_core, 0),
        ("convert table --encoding mod3 -o converted", 0),
        ("verify table --deep", 0),
        ("compare table converted", 0),
        ("line table #285", 0),
        ("line table a1,b1,d4 --player o", 1),
        ("info missing", 2),
        ("gdl check missing", 2),
        ("match heur1 random --side 4 --pieces 3 --games 2 --nodes 10 --table table", 0),
        ("play -x random -o random --side 4 --pieces 3", 0),
        ("play --side 4 --pieces 3", 0),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = CmdOutput::of(env.command(words.split(' ')).stderr(writer).output().unwrap());
        assert_eq!(ran.code, code, "{words}: {ran:?}");
    }
    assert_eq!(env.json("verify 4x4-3 --json")["ok"], true);
    assert_eq!(table, Path::new("table"));
}

/// A limit on the size of files simulates a full disk.
#[test]
fn a_write_that_fails_leaves_nothing() {
    let env = TestEnv::new();
    let name = env.build("--side 5 --pieces 10");
    let binary = env!("CARGO_BIN_EXE_sternhalma");
    let limited = |words: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("trap '' XFSZ; ulimit -f 64; exec {binary} {words}")]);
        let ran = CmdOutput::of(env.inside(shell).output().unwrap());
        assert_eq!(ran.out(), "");
        ran.failure()
    };
    let flat = format!("export {} -o flat", name.display());
    let lex = format!("export {} --order lex -o flat", name.display());
    for (words, path) in [
        ("build --side 5 --pieces 9", "5x5-9.sht"),
        ("build --side 5 --pieces 10 --force", "5x5-10.sht"),
        (&flat, "flat"),
        (&lex, "flat"),
    ] {
        let error = limited(words);
        assert!(error.contains(path) && error.contains("cannot write"), "{words}: {error}");
    }
    assert_eq!(names(&env.work()), set([]));
    assert_eq!(names(&env.tables()), set(["5x5-10.sht"]));
    assert_eq!(env.json("verify --json 5x5-10")["ok"], true);
}

#[test]
fn an_interrupted_build_leaves_nothing() {
    for (signal, encoding) in [("-INT", "byte"), ("-TERM", "mod3")] {
        let env = TestEnv::new();
        let running = env.start(&format!("build --threads 1 --encoding {encoding}"), "layer 6:");
        let ran = CmdOutput::of(running.end(signal));
        assert_eq!(ran.out(), "");
        assert!(ran.failure().contains("interrupted: no table was written"));
        assert!(env.tables().exists());
        assert_eq!(names(&env.tables()), set([]));
    }
}

#[test]
fn interrupted_openings_are_written_as_far_as_they_are_found() {
    let env = TestEnv::new();
    // The margin accepts nearly every opening, so that the first ones are found at once.
    let words = "tournament openings --side 7 --pieces 3 --nodes 20 --margin 50 --threads 2 -o found --count";
    let running = env.start(&format!("{words} 10_000_000"), "no distance table");
    thread::sleep(Duration::from_secs(2));
    let ran = CmdOutput::of(running.end("-INT"));
    assert_eq!(ran.out(), "");
    let error = ran.failure();
    let text = fs::read_to_string(env.path("found")).unwrap();
    let found = text.lines().filter(|line| !line.starts_with('#')).count();
    assert!(error.contains(&format!("interrupted: {found} of 10000000 found")), "{error}");
    // They are the first ones of an uninterrupted run.
    env.run(&format!("{words} {found} --force")).success();
    assert_eq!(fs::read_to_string(env.path("found")).unwrap(), text);
}

#[test]
fn an_interrupted_rebuild_leaves_the_table() {
    let env = TestEnv::new();
    let path = env.table("9x9-6.sht");
    fs::create_dir(env.tables()).unwrap();
    fs::write(&path, "precious").unwrap();
    let ran = CmdOutput::of(env.start("build --threads 1 --force", "layer 6:").end("-INT"));
    assert!(ran.failure().contains("interrupted"));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    assert_eq!(names(&env.tables()), set(["9x9-6.sht"]));
}

#[test]
fn an_interrupted_proof_proves_nothing() {
    let env = TestEnv::new();
    let name = env.build("--side 7 --pieces 6");
    let running = env.start(&format!("verify --deep --threads 1 {}", name.display()), "proof:");
    let ran = CmdOutput::of(running.end("-INT"));
    assert_eq!(ran.out(), "");
    assert!(ran.failure().contains("interrupted"));
}

/// Interrupts or kills a proof out of core or of a sample, and resumes it.
#[test]
#[cfg(unix)]
fn an_interrupted_proof_out_of_core_resumes() {
    let env = TestEnv::new();
    let name = env.build("--side 9 --pieces 5 -o table.sht");
    for (words, kind) in [("--memory 40MiB", "proof"), ("--sample 25_000_000", "sample")] {
        let words = format!("verify --deep --threads 1 {words} {}", name.display());
        let state = env.path(&format!(".table.sht.{kind}"));
        for signal in ["-INT", "-KILL"] {
            let ended = end_within_proof(&env, &words, &state, signal);
            if signal == "-INT" {
                let error = CmdOutput::of(ended).failure();
                assert!(error.contains("interrupted: the same command resumes the proof"), "{error}");
            }
            let ran = env.run(&words);
            assert!(ran.err.contains("resuming an interrupted proof at "), "{}", ran.err);
            ran.success();
            assert_eq!(names(&env.work()), set(["table.sht"]));
        }
        env.start(&words, "proof:").end("-KILL");
        fs::write(&state, "damaged").unwrap();
        let ran = env.run(&words);
        assert!(ran.err.contains("starting again: "), "{}", ran.err);
        ran.success();
        fs::write(&state, "damaged").unwrap();
        assert!(!env.run(&format!("{words} --fresh")).progress().contains("starting again"));
        assert_eq!(names(&env.work()), set(["table.sht"]));
    }
}

/// Sends a signal to a proof, and returns the output of the proof. The signal is sent again, later, to a new
/// process if the proof leaves no state: it has ended, or has not completed any classes.
#[cfg(unix)]
fn end_within_proof(env: &TestEnv, words: &str, state: &Path, signal: &str) -> std::process::Output {
    for attempt in 0..12 {
        let mut running = env.start(words, "proof:");
        if signal == "-INT" {
            // An interrupted proof writes its state.
            thread::sleep(Duration::from_millis(25 << attempt));
        } else if !has_checkpoint(&mut running, state) {
            continue;
        }
        let ended = running.end(signal);
        if state.exists() {
            return ended;
        }
    }
    panic!("`{words}` leaves no state after {signal}");
}

/// Waits until a proof has written its state. Returns false if the proof ends before.
#[cfg(unix)]
fn has_checkpoint(running: &mut Running, state: &Path) -> bool {
    // A proof writes its state once per second. The clock runs on while the process is stopped.
    running.signal("-STOP");
    thread::sleep(Duration::from_millis(1100));
    running.signal("-CONT");
    let clock = Instant::now();
    while !state.exists() {
        if running.has_ended() {
            return false;
        }
        assert!(clock.elapsed() < PATIENCE, "the proof writes its state");
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// A table is truncated while a query has it mapped. The query fails with an error.
#[test]
fn a_table_cut_short_while_it_is_read_is_an_error() {
    let env = TestEnv::new();
    for encoding in ENCODINGS {
        let name = env.build(&format!("--side 7 --pieces 6 --encoding {encoding}"));
        let bytes = fs::read(&name).unwrap();
        // The block of the second state has been read or not.
        for (first, second) in [("#13983815", "#13983814"), ("#0", "#13983815")] {
            // A compressed block that has been read is in memory.
            if ["zstd", "ans"].contains(&encoding) && first != "#0" {
                continue;
            }
            fs::write(&name, &bytes).unwrap();
            let mut session = Session::new(env.command([
                "query".as_ref(),
                name.as_os_str(),
                "--stdin".as_ref(),
                "--format".as_ref(),
                "ndjson".as_ref(),
            ]));
            session.send(first);
            assert!(session.receive_json()["distance"].is_u64());
            fs::OpenOptions::new().write(true).open(&name).unwrap().set_len(100).unwrap();
            session.send(second);
            let ran = session.end();
            assert_eq!(ran.code, 2, "{ran:?}");
            let error = ran.refusal();
            assert!(error.contains("cut short"), "{error}");
        }
    }
}
