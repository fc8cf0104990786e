//! Builds out of core as a process sees them: killed, interrupted, refused,
//! gone on with, and within their memory limit.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use tempfile::TempDir;

const SIGKILL: i32 = 9;

/// An empty directory to build in.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sternhalma"));
        command.args(words.split_whitespace()).current_dir(self.0.path());
        command.env("STERNHALMA_TABLES", self.path("tables"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// What a command that succeeds says on stderr.
    fn tells(&self, words: &str) -> String {
        let output = self.run(words);
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{words}: {err}");
        err
    }

    /// The error of a command that is refused.
    fn refused(&self, words: &str) -> String {
        let output = self.run(words);
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words}: {err}");
        let error = err.lines().last().unwrap();
        assert!(error.starts_with("error: "), "{words}: {err}");
        error.to_owned()
    }

    fn info(&self, table: &str) -> Value {
        serde_json::from_slice(&self.run(&format!("info --json {table}")).stdout).unwrap()
    }

    fn names(&self, dir: &str) -> BTreeSet<String> {
        let files = fs::read_dir(self.path(dir)).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Starts a command and waits until it says a line that begins so.
    fn started(&self, words: &str, line: &str) -> Running {
        let mut child = self.command(words).spawn().unwrap();
        let mut running = Running { stderr: BufReader::new(child.stderr.take().unwrap()), child, err: String::new() };
        while !running.err.lines().last().is_some_and(|last| last.starts_with(line)) {
            let read = running.stderr.read_line(&mut running.err).unwrap();
            assert_ne!(read, 0, "it ends before `{line}`: {}", running.err);
        }
        running
    }
}

/// A command whose stderr is read as it comes.
struct Running {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    err: String,
}

impl Running {
    /// Sends it a signal, and returns its exit code and what it has said.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        self.stderr.read_to_string(&mut self.err).unwrap();
        (self.child.wait().unwrap().code(), self.err)
    }
}

fn set<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

const KILLED: &str = "build --mode out-of-core --side 7 --pieces 5 --threads 2 --memory 40MiB -o table.sht";

/// Takes long enough for the test to act meanwhile.
const LONG: &str = "build --mode out-of-core --pieces 6 --threads 1 --memory 256MiB -o long.sht";

/// Runs a command and kills it after this time. Whether it was killed.
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
    kill_at_any_time(" --encoding zstd --block-states 4096 --level 1", 12);
}

/// Kills builds with these options until `least_kills` have been killed, and
/// compares each table that the next run completes with one built in memory.
fn kill_at_any_time(encoding: &str, least_kills: u64) {
    let place = Place::new();
    place.tells(&format!("build --mode in-memory --side 7 --pieces 5 --threads 2 -o told.sht{encoding}"));
    let told = place.info("told.sht");
    let words = format!("{KILLED}{encoding}");
    let clock = Instant::now();
    place.tells(&words);
    let whole = clock.elapsed().as_secs_f64();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    let mut kills = 0;
    while kills < least_kills {
        fs::remove_file(place.path("table.sht")).unwrap();
        fs::remove_dir_all(place.path("table.sht.work")).unwrap();
        let mut kills_here = 0;
        // Later runs have less to do, down to nothing but the table.
        while kills_here < 12
            && killed(place.command(&words), Duration::from_secs_f64(whole * rng.random_range(0.0..0.7)))
        {
            kills_here += 1;
        }
        place.tells(&words);
        let info = place.info("table.sht");
        for field in ["checksum", "layers", "escape_layer", "states", "successors"] {
            assert_eq!(info[field], told[field], "{field} after {kills_here} kills");
        }
        assert!(info["resumes"].as_u64().unwrap() <= kills_here, "{kills_here} kills: {}", info["resumes"]);
        assert_eq!(place.names("."), set(["table.sht", "table.sht.work", "told.sht"]));
        assert_eq!(place.names("table.sht.work"), set(["build.json", "lock"]));
        kills += kills_here;
    }
    let bytes = fs::read(place.path("table.sht")).unwrap();
    assert!(place.tells(&words).contains("already complete"));
    assert!(fs::read(place.path("table.sht")).unwrap() == bytes);
}

#[test]
fn a_build_killed_after_a_layer_is_resumed_there() {
    let place = Place::new();
    let running = place.started(KILLED, "layer 4:");
    assert_eq!(running.end("-KILL").0, None);
    assert!(place.names("table.sht.work").contains("layer-004"));
    let err = place.tells(KILLED);
    assert!(err.contains("work files: "), "{err}");
    assert_eq!(place.info("table.sht")["resumes"], 1);
}

#[test]
fn an_interrupted_build_out_of_core_says_how_to_go_on() {
    for signal in ["-INT", "-TERM"] {
        let place = Place::new();
        let (code, err) = place.started(LONG, "layer 6:").end(signal);
        assert_eq!(code, Some(2), "{err}");
        let error = err.lines().last().unwrap();
        assert!(error.starts_with("error: interrupted: the same command resumes"), "{err}");
        assert_eq!(place.names("."), set(["long.sht.work"]));
        let left = place.names("long.sht.work");
        assert!(left.contains("layer-006") && left.contains("build.json"), "{left:?}");
        assert!(!left.iter().any(|name| name.contains("writing") || name == "spill"), "{left:?}");
    }
}

#[test]
fn one_build_at_a_time_works_in_a_directory() {
    let place = Place::new();
    let running = place.started(LONG, "layer 3:");
    for words in
        [LONG.to_owned(), format!("{LONG} --fresh"), LONG.replace("-o long.sht", "-o b.sht --work-dir long.sht.work")]
    {
        let error = place.refused(&words);
        assert!(error.contains("long.sht.work: another process is building"), "{error}");
    }
    let (code, err) = running.end("-KILL");
    assert_eq!(code, None, "it was running to the end: {err}");
}

#[test]
fn begun_work_is_for_one_table() {
    let place = Place::new();
    place.started(KILLED, "layer 4:").end("-KILL");
    let begun = place.names("table.sht.work");
    for (from, to) in [
        ("--pieces 5", "--pieces 4"),
        ("--side 7", "--side 8"),
        ("-o table", "--within 40 -o table"),
        ("-o table", "--encoding mod3 -o table"),
    ] {
        let error = place.refused(&KILLED.replace(from, to));
        assert!(error.contains("table.sht.work: this work directory is for another table"), "{error}");
        assert!(error.contains("--work-dir") && error.contains("--fresh"), "{error}");
        assert_eq!(place.names("table.sht.work"), begun);
    }
    // Begun work decides where the same table is built.
    let err = place.tells("build --side 7 --pieces 5 -o table.sht");
    assert!(err.contains("out of core: ") && err.contains("table.sht.work has unfinished work"), "{err}");
    assert_eq!(place.info("table.sht")["resumes"], 1);
}

#[test]
fn a_finished_build_is_not_one_with_other_blocks() {
    let place = Place::new();
    let words = "build --mode out-of-core --side 6 --pieces 4 --encoding zstd -o table.sht";
    place.tells(words);
    assert!(place.tells(words).contains("finished before"));
    let smaller = format!("{words} --block-states 64");
    assert!(place.refused(&smaller).contains("--force"));
    assert!(place.tells(&format!("{smaller} --force")).contains("built in"));
    assert_eq!(place.info("table.sht")["block_states"], 64);
    assert!(place.tells(&smaller).contains("finished before"));
}

#[test]
fn fresh_starts_anew() {
    let place = Place::new();
    place.started(KILLED, "layer 4:").end("-KILL");
    let err = place.tells(&format!("{KILLED} --fresh"));
    assert!(!err.contains("work files: ") && err.contains("layer 0: "), "{err}");
    assert_eq!(place.info("table.sht")["resumes"], 0);
    // Work that cannot be read is no hindrance.
    fs::write(place.path("table.sht.work/build.json"), "{}").unwrap();
    let error = place.refused(KILLED);
    assert!(error.contains("build.json") && error.contains("--fresh"), "{error}");
    place.tells(&format!("{KILLED} --fresh --force"));
    assert_eq!(place.names("table.sht.work"), set(["build.json", "lock"]));
}

/// The least memory that the command names, in MiB.
fn least_mib(place: &Place, words: &str) -> u64 {
    let error = place.refused(&format!("{words} --memory 1MiB"));
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
fn too_little_memory_is_refused_in_words_that_name_the_least() {
    let place = Place::new();
    let words = "build --mode out-of-core --side 6 --pieces 4 --threads 1 -o table.sht";
    let least = least_mib(&place, words);
    let error = place.refused(&format!("{words} --memory {}MiB", least - 1));
    assert!(error.contains(&format!("at least {least}.00 MiB")), "{error}");
    assert_eq!(place.names("."), set([]));
    place.tells(&format!("{words} --memory {least}MiB"));
}

#[test]
fn the_mode_is_chosen_by_memory_and_said_with_the_reason() {
    let place = Place::new();
    let words = "build --side 9 --pieces 4 --threads 1";
    for (more, mode, reason) in [
        ("--memory 1GiB -o a", "in memory", "--memory allows 1.00 GiB"),
        ("--memory 21MiB -o b", "out of core", "--memory allows 21.00 MiB"),
        ("-o c", "in memory", "three quarters of the memory allows"),
        ("--mode in-memory --memory 21MiB -o d", "in memory", "given by --mode"),
        ("--mode out-of-core -o e", "out of core", "given by --mode"),
        ("--side 4 --pieces 1 --memory 1MiB -o f", "in memory", "a single piece"),
    ] {
        let words = match more.contains("--side") {
            true => "build".to_owned(),
            false => words.to_owned(),
        };
        let err = place.tells(&format!("{words} {more}"));
        let line = err.lines().find(|line| line.starts_with(mode)).unwrap_or_else(|| panic!("{more}: {err}"));
        assert!(line.contains(reason), "{more}: {line}");
        let info = place.info(more.rsplit(' ').next().unwrap());
        assert_eq!(info["mode"], mode.replace(' ', "-"), "{more}");
    }
    let error = place.refused("build --mode out-of-core --side 4 --pieces 1 -o g");
    assert!(error.contains("single piece") && error.contains("in memory"), "{error}");
    assert!(!place.path("g.work").exists());
}

/// The limit holds for the whole process, as the system counts it.
#[test]
#[cfg(target_os = "linux")]
fn a_build_stays_within_its_memory_limit() {
    let place = Place::new();
    for (encoding, threads) in [("byte", 1), ("mod3", 2), ("zstd", 1)] {
        let words = format!(
            "build --mode out-of-core --side 9 --pieces 5 --encoding {encoding} --threads {threads} -o {encoding}.sht"
        );
        let least = least_mib(&place, &words);
        place.tells(&format!("{words} --memory {least}MiB"));
        let peak = place.info(&format!("{encoding}.sht"))["peak_bytes"].as_u64().unwrap();
        assert!(peak > 0 && peak <= least << 20, "{encoding}: {peak} bytes in {least} MiB");
    }
}
