//! Builds by several processes: their bytes, and processes that are killed, stopped, refused and resumed.
#![cfg(target_os = "linux")]

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::common::{CmdOutput, PATIENCE, TestEnv, names, ndjson, set, signal};

/// A build out of core that takes about a second in a cluster.
const BUILD: &str = "build --side 8 --pieces 5 --threads 1 --memory 48MiB";

/// Returns the numbers of the running processes whose parent is `parent`.
fn children(parent: u32) -> Vec<u32> {
    let output = Command::new("pgrep").args(["-P", &parent.to_string()]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn assert_same(env: &TestEnv, file: &str, expected: &str) {
    let [found, expected] = [file, expected].map(|file| env.json(&format!("info --json {file}")));
    for field in ["checksum", "layers", "escape_layer", "states", "block_states", "mirrored"] {
        assert_eq!(found[field], expected[field], "{file}: {field}");
    }
}

#[test]
fn processes_on_this_machine_build_the_same_table() {
    let env = TestEnv::new();
    for (words, processes) in [
        ("--side 6 --pieces 4", 1),
        ("--side 7 --pieces 5 --encoding zstd --block-states 4096 --level 1", 2),
        ("--side 6 --pieces 6 --encoding mod3", 4),
        ("--side 6 --pieces 6 --encoding ans --no-mirror --within 30", 3),
    ] {
        env.run(&format!("build {words} --mode in-memory --force -o expected")).progress();
        let copies = if processes == 3 { 2 } else { 1 };
        let cluster = format!("--cluster local:{processes} --copies {copies} --threads 1");
        let built = env.run(&format!("build {words} {cluster} --force -o built"));
        assert_eq!((built.out(), built.code), ("built\n", 0), "{built:?}");
        assert_same(&env, "built", "expected");
        assert_eq!(names(&env.work()), set(["built", "expected"]));
    }
    assert!(env.run("build --side 6 --pieces 4 --cluster local:2 -o built").refusal().contains("--force"));
    fs::create_dir(env.path("other.work")).unwrap();
    env.file("other.work/build.json", "");
    env.file("other.work/layer-000", "");
    let error = env.run("build --side 6 --pieces 4 --cluster local:2 -o other").failure();
    assert!(error.contains("that of one process; finish it without --cluster, or use another --work-dir"), "{error}");
    assert!(env.run("verify built --deep").success().contains("proven"));
}

#[test]
fn the_metrics_of_all_processes_are_recorded() {
    let env = TestEnv::new();
    env.run(&format!("{BUILD} --cluster local:3 -o built --metrics metrics.ndjson")).progress();
    let metrics = ndjson(&fs::read_to_string(env.path("metrics.ndjson")).unwrap());
    let layers = env.json("info --json built")["layers"].as_array().unwrap().clone();
    for (layer, states) in layers.iter().enumerate() {
        let reports: Vec<_> = metrics.iter().filter(|report| report["layer"] == layer).collect();
        let processes: Vec<_> = reports.iter().map(|report| report["process"].as_u64().unwrap()).collect();
        assert_eq!(processes, [0, 1, 2]);
        assert_eq!(reports.iter().map(|report| report["states"].as_u64()).sum::<Option<u64>>(), states.as_u64());
    }
    // Each process keeps its memory limit.
    assert!(metrics.iter().all(|report| report["peak_bytes"].as_u64().unwrap() < 48 << 20));
}

#[test]
fn killed_processes_are_started_again() {
    kill_at_any_time("--side 8 --pieces 5", "--threads 1 --memory 48MiB", 6);
}

/// `.ci/long` runs this test.
#[test]
#[ignore = "takes minutes"]
fn a_build_of_six_pieces_survives_fifty_kills() {
    kill_at_any_time("--pieces 6", "--threads 1 --memory 96MiB", 50);
}

/// Kills processes of clusters at any time until `least_kills` have been killed, and compares each table with one that
/// is built in memory.
fn kill_at_any_time(table: &str, resources: &str, least_kills: usize) {
    let env = TestEnv::new();
    env.run(&format!("build {table} --mode in-memory -o expected")).progress();
    let clock = Instant::now();
    let words = format!("build {table} {resources} --cluster local:3 -o built");
    env.run(&words).progress();
    let whole = clock.elapsed().as_secs_f64();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut kills = 0;
    while kills < least_kills {
        fs::remove_file(env.path("built")).unwrap();
        let mut parent = env.command(words.split(' ')).spawn().unwrap();
        let mut attempts = 0;
        // After five failures without progress, the processes are no longer started.
        while attempts < 4 && parent.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_secs_f64(whole * rng.random_range(0.1..0.6)));
            let running = children(parent.id());
            if let Some(&child) = running.get(rng.random_range(0..3)) {
                // The process may have just ended.
                signal("-KILL", child);
                kills += 1;
            }
            attempts += 1;
        }
        CmdOutput::of(parent.wait_with_output().unwrap()).progress();
        assert_same(&env, "built", "expected");
        assert_eq!(names(&env.work()), set(["built", "expected"]));
    }
}

#[test]
fn processes_end_with_the_one_that_started_them() {
    let env = TestEnv::new();
    let words = format!("{BUILD} --cluster local:2 -o built");
    for (name, line) in [("-KILL", "layer 5:"), ("-INT", "layer 12:")] {
        let running = env.start(&words, line);
        let processes = children(running.id());
        assert_eq!(processes.len(), 2);
        let output = running.end(name);
        if name == "-INT" {
            let error = CmdOutput::of(output).failure();
            assert!(error.contains("interrupted: the same command resumes"), "{error}");
        }
        let ended = |process: &u32| !fs::exists(format!("/proc/{process}")).unwrap();
        wait_until("the processes end", || processes.iter().all(ended));
        assert!(names(&env.path("built.work/part-0-of-2")).contains("layer-005.json"));
    }
    let err = env.run(&words.replace("local:2", "local:3")).progress();
    assert!(err.contains("work files: ") && !err.contains("layer 12:"), "{err}");
    env.run("build --side 8 --pieces 5 --mode in-memory -o expected").progress();
    assert_same(&env, "built", "expected");
}

/// Processes of a cluster with a file of addresses.
struct Hosts {
    env: TestEnv,
    processes: usize,
}

impl Hosts {
    fn new(processes: usize) -> Hosts {
        let env = TestEnv::new();
        let listeners: Vec<_> = (0..processes).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let text: String = listeners.iter().map(|listener| format!("{}\n", listener.local_addr().unwrap())).collect();
        env.file("hosts", format!("# process 0 first\n{text}"));
        env.file("secret", "a secret\n");
        Hosts { env, processes }
    }

    fn words(&self, process: usize) -> String {
        format!(
            "{BUILD} --cluster hosts --process {process} --secret-file secret --work-dir work-{process} -o built --quiet"
        )
    }

    fn start(&self) -> Vec<Child> {
        let start = |process| self.env.command(self.words(process).split(' ')).spawn().unwrap();
        (0..self.processes).map(start).collect()
    }

    /// Returns whether all processes have committed the layer with this distance.
    fn has_layer(&self, distance: usize) -> bool {
        self.env.path(&format!("work-0/part-0-of-{}/layer-{distance:03}.json", self.processes)).exists()
    }

    fn check(&self) {
        for (process, child) in self.start().into_iter().enumerate() {
            let part = CmdOutput::of(child.wait_with_output().unwrap()).success();
            assert_eq!(part, format!("built.part-{process}-of-{}\n", self.processes));
        }
        let parts: Vec<String> =
            (0..self.processes).rev().map(|process| format!("built.part-{process}-of-{}", self.processes)).collect();
        assert_eq!(self.env.run(&format!("assemble {} -o built", parts.join(" "))).success(), "built\n");
        self.env.run("build --side 8 --pieces 5 --mode in-memory -o expected").progress();
        assert_same(&self.env, "built", "expected");
    }
}

fn finish(children: Vec<Child>) -> Vec<CmdOutput> {
    children.into_iter().map(|child| CmdOutput::of(child.wait_with_output().unwrap())).collect()
}

#[test]
fn the_cost_of_a_build_by_several_processes_is_estimated() {
    let env = TestEnv::new();
    env.file("three", "a:1\nb:1\nc:1\n");
    let words = "build --side 7 --pieces 5 --threads 1 --memory 100MiB --plan";
    let plan = env.json(&format!("{words} --cluster three --json"))["plan"].clone();
    assert_eq!((&plan["processes"], &plan["states"]), (&3.into(), &1906884.into()));
    let links = plan["links"].as_array().unwrap();
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    assert!(links.is_sorted_by_key(|link| -number(&link["wall_s"])) && number(&links[2]["compute_s"]) > 0.0, "{plan}");
    assert!(number(&plan["visitors"]) > 0.0 && number(&plan["visitors"]) < 2.0 && number(&plan["sent_bytes"]) > 0.0);
    let local = env.run(&format!("{words} --cluster local:3")).success();
    assert_eq!(local.lines().filter(|line| line.starts_with("  time ")).count(), 1, "{local}");
    // One process has nobody to send to.
    env.file("hosts", "127.0.0.1:1\n");
    let text = env.run(&format!("{words} --cluster hosts")).success();
    assert!(text.contains("on 1 process with"), "{text}");
    assert!(text.contains("  sent     0 B, 0 B per process, up to 0 B"), "{text}");
}

#[test]
fn a_table_is_proven_by_several_processes() {
    let env = TestEnv::new();
    env.run("build --side 7 --pieces 5 --encoding zstd -o table").progress();
    let proven = env.run("verify --deep table --cluster local:3 --threads 1 --memory 200MiB").success();
    assert_eq!(proven, env.run("verify --deep table").success());
    let json = env.json("verify --deep table --cluster local:2 --fresh --json");
    assert_eq!((&json["deep"], &json["states"]), (&true.into(), &env.json("info --json table")["states"]));
    assert_eq!(names(&env.work()), set(["table"]));
    let mut bytes = fs::read(env.path("table")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    env.file("table", bytes);
    let damaged = env.run("verify --deep table --cluster local:2 --quiet");
    assert!(damaged.code == 2 && damaged.err.contains("does not match its checksum"), "{damaged:?}");
    assert!(env.run("verify table --cluster local:2").refusal().contains("--cluster needs --deep"));
    // A process of a build and one of a proof do not work together.
    let hosts = Hosts::new(2);
    hosts.env.run("build --side 4 --pieces 3 -o table").progress();
    let build = hosts.env.command(hosts.words(0).split(' ')).spawn().unwrap();
    let words = "verify --deep table --cluster hosts --process 1 --secret-file secret --quiet";
    for ended in [hosts.env.run(words), CmdOutput::of(build.wait_with_output().unwrap())] {
        assert!(ended.code == 2 && ended.err.contains("has the command `"), "{ended:?}");
    }
}

#[test]
fn a_lost_process_ends_all_and_the_same_commands_resume() {
    let hosts = Hosts::new(3);
    for (layer, lost) in [(3, 1), (6, 0)] {
        let mut children = hosts.start();
        wait_until("no new layer", || hosts.has_layer(layer));
        let mut killed = children.remove(lost);
        killed.kill().unwrap();
        killed.wait().unwrap();
        for ended in finish(children) {
            assert_eq!((ended.code, ended.err.lines().count()), (3, 1), "{ended:?}");
            assert!(ended.err.starts_with("error: lost process "), "{ended:?}");
            assert!(ended.err.ends_with("; the same command on all machines resumes (without --fresh)\n"), "{ended:?}");
        }
    }
    // A process that does not run for some seconds delays the others.
    let children = hosts.start();
    wait_until("no new layer", || hosts.has_layer(7));
    assert!(signal("-STOP", children[1].id()));
    thread::sleep(Duration::from_secs(2));
    assert!(children.iter().all(|child| fs::exists(format!("/proc/{}", child.id())).unwrap()));
    assert!(signal("-CONT", children[1].id()));
    assert!(finish(children).into_iter().all(|ended| ended.code == 0));
    hosts.check();
}

#[test]
fn a_process_that_waits_for_others_ends_at_a_signal() {
    for (process, name) in [(0, "-TERM"), (1, "-INT"), (1, "-TERM")] {
        let hosts = Hosts::new(2);
        let waiting = hosts.env.command(hosts.words(process).split(' ')).spawn().unwrap();
        let address = fs::read_to_string(hosts.env.path("hosts")).unwrap().lines().nth(1 + process).unwrap().to_owned();
        wait_until("the process does not listen", || TcpStream::connect(&address).is_ok());
        assert!(signal(name, waiting.id()));
        let error = CmdOutput::of(waiting.wait_with_output().unwrap()).failure();
        assert!(error.contains("interrupted: the same command on all machines resumes"), "{error}");
    }
}

/// A limit on the size of files simulates a full disk.
#[test]
fn a_full_disk_of_one_process_is_reported() {
    let hosts = Hosts::new(2);
    let binary = env!("CARGO_BIN_EXE_sternhalma");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("trap '' XFSZ; ulimit -f 90; exec {binary} {}", hosts.words(1))]);
    let other = hosts.env.command(hosts.words(0).split(' ')).spawn().unwrap();
    let error = CmdOutput::of(hosts.env.inside(shell).output().unwrap()).failure();
    assert!(error.contains("work-1/") && error.contains("File too large"), "{error}");
    let lost = CmdOutput::of(other.wait_with_output().unwrap());
    assert_eq!(lost.code, 3);
    assert!(lost.err.contains("lost process 1"), "{lost:?}");
    hosts.check();
}

#[test]
fn wrong_commands_are_refused_in_one_line() {
    let env = TestEnv::new();
    env.file("hosts", "127.0.0.1:1\n");
    env.file("bad", "127.0.0.1\n");
    env.file("empty", " \n");
    env.file("secret", "a secret\n");
    let build = "build --side 4 --pieces 3 -o built";
    for (words, why) in [
        ("--cluster local:0", "`local:` with a number from 1 to 64"),
        ("--cluster local:x", "`local:` with a number from 1 to 64"),
        ("--copies 2", "--cluster <HOSTS>"),
        ("--cluster hosts --process 0 --secret-file secret --copies 2", "expected 1 or 2 copies"),
        ("--cluster local:2 --mode in-memory", "cannot be used with"),
        ("--cluster hosts", "needs --process"),
        ("--cluster hosts --process 0", "needs --secret-file"),
        ("--cluster hosts --process 1 --secret-file secret", "no process 1"),
        ("--cluster hosts --process 0 --secret-file missing", "missing: cannot read"),
        ("--cluster hosts --process 0 --secret-file empty", "the secret is empty"),
        ("--cluster missing --process 0 --secret-file secret", "missing: cannot read"),
        ("--cluster bad --process 0 --secret-file secret", "line 1: expected HOST:PORT"),
    ] {
        let ran = env.run(&format!("{build} {words}"));
        assert_eq!((ran.code, ran.out()), (2, ""), "{words}: {ran:?}");
        assert!(ran.err.contains(why), "{words}: {ran:?}");
    }
    // The processes do not each print the error, which names the given limit.
    let error = env.run(&format!("{build} --cluster local:2 --memory 1MiB")).failure();
    assert!(error.contains("are needed, and the limit is 1.00 MiB; raise --memory"), "{error}");
    let error = env.run("build --side 4 --pieces 2 --cluster local:2 -o built").failure();
    assert!(error.contains("fewer than 3 pieces"), "{error}");
    env.run("build --side 6 --pieces 4 -o table").progress();
    assert!(env.run("assemble table -o built").failure().contains("the part of a table is damaged"));
    assert!(env.run("assemble missing -o built").failure().contains("missing: cannot open"));
}

#[test]
fn parts_of_different_builds_are_not_joined() {
    let hosts = Hosts::new(2);
    let first = hosts.start();
    assert!(finish(first).into_iter().all(|ended| ended.code == 0));
    fs::rename(hosts.env.path("built.part-1-of-2"), hosts.env.path("old")).unwrap();
    for process in 0..2 {
        fs::remove_dir_all(hosts.env.path(&format!("work-{process}"))).unwrap();
    }
    assert!(finish(hosts.start()).into_iter().all(|ended| ended.code == 0));
    let join = |parts: &str| hosts.env.run(&format!("assemble {parts} -o joined")).failure();
    assert!(join("built.part-0-of-2 old").contains("parts of different builds"));
    assert!(join("built.part-0-of-2").contains("the part of process 1 is missing"));
    assert!(join("built.part-0-of-2 built.part-0-of-2 built.part-1-of-2").contains("expected 2 parts, got 3"));
    let mut bytes = fs::read(hosts.env.path("built.part-1-of-2")).unwrap();
    bytes[1000] ^= 1;
    hosts.env.file("damaged", bytes);
    assert!(join("built.part-0-of-2 damaged").contains("does not match its checksum"));
    assert!(!hosts.env.path("joined").exists());
}
