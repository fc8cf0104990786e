//! Out-of-core builds that are killed, interrupted, refused and resumed, and
//! their memory limit.
#![cfg(unix)]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::common::{CmdOutput, TestEnv, names, set};

const SIGKILL: i32 = 9;

const KILLED: &str = "build --mode out-of-core --side 7 --pieces 5 --threads 2 --memory 40MiB -o table.sht";

/// A build that takes long enough for a test to act meanwhile.
const LONG: &str = "build --mode out-of-core --pieces 6 --threads 1 --memory 256MiB -o long.sht";

/// Runs a command and kills it after this time. Returns whether the command was still running.
fn killed(mut command: Command, after: Duration) -> bool {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    thread::sleep(after);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(status.success() || status.signal() == Some(SIGKILL), "{status}");
    !status.success()
}

#[test]
fn a_build_killed_at_any_time_makes_the_same_table() {
    kill_at_any_time("", 50);
}

#[test]
fn a_compressed_build_killed_at_any_time_makes_the_same_table() {
    kill_at_any_time(" --encoding zstd --block-states 4096 --level 1 --layers delta", 12);
}

/// Kills builds with these options until `least_kills` have been killed, and
/// compares each table that the next run completes with one built in memory.
fn kill_at_any_time(encoding: &str, least_kills: u64) {
    let env = TestEnv::new();
    env.run(&format!("build --mode in-memory --side 7 --pieces 5 --threads 2 -o expected.sht{encoding}")).progress();
    let expected = env.json("info --json expected.sht");
    let words = format!("{KILLED}{encoding}");
    let clock = Instant::now();
    env.run(&words).progress();
    let whole = clock.elapsed().as_secs_f64();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    let mut kills = 0;
    while kills < least_kills {
        fs::remove_file(env.path("table.sht")).unwrap();
        fs::remove_dir_all(env.path("table.sht.work")).unwrap();
        let mut kills_here = 0;
        // Later runs have less work left, in the end only the table.
        while kills_here < 12
            && killed(env.command(words.split(' ')), Duration::from_secs_f64(whole * rng.random_range(0.0..0.7)))
        {
            kills_here += 1;
        }
        env.run(&words).progress();
        let info = env.json("info --json table.sht");
        for field in ["checksum", "layers", "escape_layer", "states", "successors"] {
            assert_eq!(info[field], expected[field], "{field} after {kills_here} kills");
        }
        assert!(info["resumes"].as_u64().unwrap() <= kills_here, "{kills_here} kills: {}", info["resumes"]);
        assert_eq!(names(&env.work()), set(["table.sht", "table.sht.work", "expected.sht"]));
        assert_eq!(names(&env.path("table.sht.work")), set(["build.json", "lock"]));
        kills += kills_here;
    }
    let bytes = fs::read(env.path("table.sht")).unwrap();
    assert!(env.run(&words).progress().contains("already complete"));
    assert!(fs::read(env.path("table.sht")).unwrap() == bytes);
}

#[test]
fn a_build_may_resume_with_layers_of_the_other_form() {
    let env = TestEnv::new();
    env.start(&format!("{KILLED} --layers delta"), "layer 4:").end("-KILL");
    assert!(names(&env.path("table.sht.work")).contains("search-004"));
    let err = env.run(&format!("{KILLED} --layers whole")).progress();
    assert!(err.contains("table.sht.work: whole layers, about "), "{err}");
    env.run("build --mode in-memory --side 7 --pieces 5 --threads 2 -o expected.sht").progress();
    let [built, expected] = ["table", "expected"].map(|name| env.json(&format!("info --json {name}.sht")));
    assert_eq!(built["checksum"], expected["checksum"]);
}

#[test]
fn a_build_killed_after_a_layer_is_resumed_there() {
    let env = TestEnv::new();
    let running = env.start(KILLED, "layer 4:");
    assert_eq!(running.end("-KILL").status.signal(), Some(SIGKILL));
    assert!(names(&env.path("table.sht.work")).contains("layer-004"));
    let err = env.run(KILLED).progress();
    assert!(err.contains("work files: "), "{err}");
    assert_eq!(env.json("info --json table.sht")["resumes"], 1);
}

#[test]
fn an_interrupted_out_of_core_build_says_how_to_resume() {
    for signal in ["-INT", "-TERM"] {
        let env = TestEnv::new();
        let error = CmdOutput::of(env.start(LONG, "layer 6:").end(signal)).failure();
        assert!(error.starts_with("error: interrupted: the same command resumes"), "{error}");
        assert_eq!(names(&env.work()), set(["long.sht.work"]));
        let left = names(&env.path("long.sht.work"));
        assert!(left.contains("layer-006") && left.contains("build.json"), "{left:?}");
        assert!(!left.iter().any(|name| name.contains("writing") || name == "spill"), "{left:?}");
    }
}

#[test]
fn one_build_at_a_time_works_in_a_directory() {
    let env = TestEnv::new();
    let running = env.start(LONG, "layer 3:");
    for words in
        [LONG.to_owned(), format!("{LONG} --fresh"), LONG.replace("-o long.sht", "-o b.sht --work-dir long.sht.work")]
    {
        let error = env.run(&words).failure();
        assert!(error.contains("long.sht.work: another process is building"), "{error}");
    }
    // The first build was running until now.
    assert_eq!(running.end("-KILL").status.signal(), Some(SIGKILL));
}

#[test]
fn a_work_directory_is_for_one_table() {
    let env = TestEnv::new();
    env.start(KILLED, "layer 4:").end("-KILL");
    let begun = names(&env.path("table.sht.work"));
    for (from, to) in [
        ("--pieces 5", "--pieces 4"),
        ("--side 7", "--side 8"),
        ("-o table", "--within 40 -o table"),
        ("-o table", "--encoding mod3 -o table"),
    ] {
        let error = env.run(&KILLED.replace(from, to)).failure();
        assert!(error.contains("table.sht.work: this work directory is for another table"), "{error}");
        assert!(error.contains("--work-dir") && error.contains("--fresh"), "{error}");
        assert_eq!(names(&env.path("table.sht.work")), begun);
    }
    // Unfinished work decides where the same table is built.
    let err = env.run("build --side 7 --pieces 5 -o table.sht").progress();
    assert!(err.contains("out of core: ") && err.contains("table.sht.work has unfinished work"), "{err}");
    assert_eq!(env.json("info --json table.sht")["resumes"], 1);
}

#[test]
fn a_finished_build_is_not_one_with_other_blocks() {
    let env = TestEnv::new();
    let words = "build --mode out-of-core --side 6 --pieces 4 --encoding zstd -o table.sht";
    env.run(words).progress();
    assert!(env.run(words).progress().contains("already complete"));
    let smaller = format!("{words} --block-states 64");
    assert!(env.run(&smaller).failure().contains("--force"));
    assert!(env.run(&format!("{smaller} --force")).progress().contains("built in"));
    assert_eq!(env.json("info --json table.sht")["block_states"], 64);
    assert!(env.run(&smaller).progress().contains("already complete"));
}

#[test]
fn fresh_discards_earlier_work() {
    let env = TestEnv::new();
    env.start(KILLED, "layer 4:").end("-KILL");
    let err = env.run(&format!("{KILLED} --fresh")).progress();
    assert!(!err.contains("work files: ") && err.contains("layer 0: "), "{err}");
    assert_eq!(env.json("info --json table.sht")["resumes"], 0);
    // Unreadable work can be discarded too.
    fs::write(env.path("table.sht.work/build.json"), "{}").unwrap();
    let error = env.run(KILLED).failure();
    assert!(error.contains("build.json") && error.contains("--fresh"), "{error}");
    env.run(&format!("{KILLED} --fresh --force")).progress();
    assert_eq!(names(&env.path("table.sht.work")), set(["build.json", "lock"]));
}

/// Returns the least memory in MiB that the error of the command names.
fn least_mib(env: &TestEnv, words: &str) -> u64 {
    let error = env.run(&format!("{words} --memory 1MiB")).failure();
    assert!(
        error.contains("at least") && error.contains("the limit is 1.00 MiB") && error.contains("--memory"),
        "{error}"
    );
    let least = error.split("at least ").nth(1).unwrap().split(' ').collect::<Vec<&str>>();
    assert_eq!(least[1], "MiB", "{error}");
    let least: f64 = least[0].parse().unwrap();
    assert_eq!(least.fract(), 0.0, "{error}");
    least as u64
}

#[test]
fn the_error_for_too_little_memory_names_the_least() {
    let env = TestEnv::new();
    let words = "build --mode out-of-core --side 6 --pieces 4 --threads 1 -o table.sht";
    let least = least_mib(&env, words);
    let error = env.run(&format!("{words} --memory {}MiB", least - 1)).failure();
    assert!(error.contains(&format!("at least {least}.00 MiB")), "{error}");
    assert_eq!(names(&env.work()), set([]));
    env.run(&format!("{words} --memory {least}MiB")).progress();
}

#[test]
fn the_mode_depends_on_memory_and_the_reason_is_printed() {
    let env = TestEnv::new();
    let words = "build --side 9 --pieces 4 --threads 1";
    for (more, mode, reason) in [
        ("--memory 1GiB -o a", "in memory", "--memory allows 1.00 GiB"),
        ("--memory 23MiB -o b", "out of core", "--memory allows 23.00 MiB"),
        ("-o c", "in memory", "three quarters of the memory allows"),
        ("--mode in-memory --memory 1GiB -o d", "in memory", "given by --mode"),
        ("--mode out-of-core -o e", "out of core", "given by --mode"),
        ("--side 4 --pieces 1 --memory 1MiB -o f", "in memory", "a single piece"),
    ] {
        let words = match more.contains("--side") {
            true => "build".to_owned(),
            false => words.to_owned(),
        };
        let err = env.run(&format!("{words} {more}")).progress();
        let line = err.lines().find(|line| line.starts_with(mode)).unwrap_or_else(|| panic!("{more}: {err}"));
        assert!(line.contains(reason), "{more}: {line}");
        let info = env.json(&format!("info --json {}", more.rsplit(' ').next().unwrap()));
        assert_eq!(info["mode"], mode.replace(' ', "-"), "{more}");
    }
    let error = env.run("build --mode out-of-core --side 4 --pieces 1 -o g").failure();
    assert!(error.contains("single piece") && error.contains("in memory"), "{error}");
    assert!(!env.path("g.work").exists());
}

/// Compares the limit with the peak memory of the process as the system counts it.
#[test]
#[cfg(target_os = "linux")]
fn a_build_stays_within_its_memory_limit() {
    let env = TestEnv::new();
    for (encoding, threads) in [("byte", 1), ("mod3", 2), ("zstd", 1)] {
        let words = format!(
            "build --mode out-of-core --side 9 --pieces 5 --encoding {encoding} --threads {threads} -o {encoding}.sht"
        );
        let least = least_mib(&env, &words);
        env.run(&format!("{words} --memory {least}MiB")).progress();
        let peak = env.json(&format!("info --json {encoding}.sht"))["peak_bytes"].as_u64().unwrap();
        assert!(peak > 0 && peak <= least << 20, "{encoding}: {peak} bytes in {least} MiB");
    }
}
