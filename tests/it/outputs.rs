//! Every output of every command, at paths of every kind.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::common::{CmdOutput, TestEnv, names};

/// How an output is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A table, which must be a regular file.
    Table,
    /// Once. `--force` replaces a file.
    Once,
    /// A file of one run is extended. Other files are refused.
    Extended,
    /// Lines are added to any file.
    Appended,
    /// A directory of files.
    Directory,
}

use Kind::{Appended, Directory, Extended, Once, Table};

/// The command, its output, how the output is written, the words with `OUT` for the path, and an input.
const OUTPUTS: [(&str, &str, Kind, &str, &str); 15] = [
    ("build", "--output", Table, "build --side 3 --pieces 2 -o OUT", ""),
    ("build", "--metrics", Appended, "build --side 4 --pieces 3 --cluster local:2 -o built --force --metrics OUT", ""),
    ("convert", "--output", Table, "convert table --encoding mod3 -o OUT", "table"),
    ("assemble", "--output", Table, "assemble table -o OUT", "table"),
    ("export", "--output", Once, "export table -o OUT", "table"),
    ("export-game", "--output", Once, "export-game record -o OUT", "record"),
    ("tune", "--trace", Extended, "tune base0 --only c --games 2 --playouts 1 --side 4 --pieces 2 --trace OUT", ""),
    ("datagen", "--output", Extended, "datagen --side 5 --pieces 3 --positions 20 --nodes 5 --table table -o OUT", ""),
    ("train", "--output", Once, "train games -o OUT --model linear --table table", "games"),
    ("match", "--log", Extended, "match greedy random --side 4 --pieces 2 --games 2 --log OUT", ""),
    ("match", "--debug", Appended, "match PROGRAM random --side 4 --pieces 2 --games 2 --debug OUT", ""),
    ("tournament", "--log", Extended, "tournament greedy random --side 4 --pieces 2 --games 2 --log OUT", ""),
    ("tournament", "--debug", Appended, "tournament PROGRAM random --side 4 --pieces 2 --games 2 --debug OUT", ""),
    ("tournament merge", "--output", Once, "tournament merge log -o OUT", "log"),
    ("ugi", "--debug", Appended, "ugi --side 4 --pieces 2 --compliance PROGRAM --debug OUT", ""),
];

const OPENINGS: (&str, &str, Kind, &str, &str) = (
    "tournament openings",
    "--output",
    Once,
    "tournament openings --side 5 --pieces 3 --count 1 --nodes 10 --margin 50 --plies 2 --table table -o OUT",
    "table",
);

const EXPLORER: (&str, &str, Kind, &str, &str) = ("explorer", "directory", Directory, "explorer OUT table", "table");

const MANUAL: (&str, &str, Kind, &str, &str) = ("man", "directory", Directory, "man OUT", "");

fn outputs() -> impl Iterator<Item = (&'static str, &'static str, Kind, &'static str, &'static str)> {
    OUTPUTS.into_iter().chain([OPENINGS, EXPLORER, MANUAL])
}

/// Returns an environment with the inputs.
fn with_inputs() -> TestEnv {
    let env = TestEnv::new();
    env.run("build --side 5 --pieces 3 -o table").success();
    env.run("datagen --side 5 --pieces 3 --positions 200 --nodes 5 --table table -o games").success();
    env.run("match greedy random --side 4 --pieces 2 --games 2 --log log").success();
    let record = env.run("tournament show log --game 1 --record").success();
    env.file("record", record);
    env
}

/// Runs a command with an output. A command that waits for ever is ended, which is a failure.
fn run(env: &TestEnv, words: &str, out: &str, force: bool) -> CmdOutput {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "120", env!("CARGO_BIN_EXE_sternhalma")]);
    let program = format!("ugi:'{}' ugi --side 4 --pieces 2 --player greedy", env!("CARGO_BIN_EXE_sternhalma"));
    command.args(words.split(' ').map(|word| match word {
        "OUT" => out,
        "PROGRAM" => &program,
        _ => word,
    }));
    command.args(force.then_some("--force"));
    CmdOutput::of(env.inside(command).output().unwrap())
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn has_temporary_file(env: &TestEnv) -> bool {
    names(&env.work()).iter().any(|name| name.ends_with(".writing"))
}

#[test]
fn the_list_of_outputs_is_complete() {
    let listed: BTreeSet<(String, String)> =
        outputs().map(|(command, option, ..)| (command.to_owned(), option.to_owned())).collect();
    assert_eq!(sternhalma::output_options().into_iter().collect::<BTreeSet<_>>(), listed);
}

#[test]
fn an_existing_file_is_kept() {
    let env = with_inputs();
    for (command, option, kind, words, _) in outputs() {
        let path = env.file("out", "precious");
        symlink("out", env.path("link")).unwrap();
        for out in ["out", "link"] {
            let ran = run(&env, words, out, false);
            let text = fs::read(&path).unwrap();
            if kind == Appended {
                assert!(ran.code == 0 && text.starts_with(b"precious"), "{command} {option} {out}: {ran:?}");
            } else {
                let error = ran.failure();
                assert_eq!(text, b"precious", "{command} {option} {out}: {error}");
                assert!(kind != Once || error.contains("--force replaces it"), "{command} {option}: {error}");
            }
        }
        if kind == Once {
            run(&env, words, "link", true).success();
            assert_ne!(fs::read(&path).unwrap(), b"precious", "{command}: --force replaces the file");
        }
        assert!(env.path("link").is_symlink(), "{command} {option}");
        fs::remove_file(env.path("link")).unwrap();
        assert!(!has_temporary_file(&env), "{command} {option}: {:?}", names(&env.work()));
    }
}

#[test]
fn an_input_is_never_written() {
    let env = with_inputs();
    for (command, option, kind, words, input) in outputs().filter(|(.., input)| !input.is_empty()) {
        let bytes = fs::read(env.path(input)).unwrap();
        fs::hard_link(env.path(input), env.path("hard")).unwrap();
        symlink(input, env.path("soft")).unwrap();
        for out in [input, "hard", "soft"] {
            let force = [Table, Once].contains(&kind);
            let error = run(&env, words, out, force).failure();
            assert_eq!(fs::read(env.path(input)).unwrap(), bytes, "{command} {option} {out}: {error}");
            assert!(error.contains("this is an input"), "{command} {option} {out}: {error}");
        }
        fs::remove_file(env.path("hard")).unwrap();
        fs::remove_file(env.path("soft")).unwrap();
    }
    // The name of a table in the tables directory.
    let table = env.build("--side 3 --pieces 2");
    let bytes = fs::read(&table).unwrap();
    let error = run(&env, "export 3x3-2 -o OUT", table.to_str().unwrap(), true).failure();
    assert!(error.contains("this is an input"), "{error}");
    assert_eq!(fs::read(&table).unwrap(), bytes);
}

#[test]
fn two_outputs_are_different_files() {
    let env = with_inputs();
    let words = "match PROGRAM random --side 4 --pieces 2 --games 2 --log second --debug OUT";
    let refused = |out| {
        let error = run(&env, words, out, false).failure();
        assert!(error.contains("this is another output (second)"), "{out}: {error}");
    };
    refused("second");
    assert!(!env.path("second").exists());
    env.file("second", "");
    fs::hard_link(env.path("second"), env.path("hard")).unwrap();
    refused("hard");
    symlink("/dev/null", env.path("null")).unwrap();
    run(&env, &words.replace("second", "null"), "null", false).success();
}

#[test]
fn an_output_has_a_name() {
    let env = with_inputs();
    for (command, option, _, words, _) in outputs().filter(|(command, ..)| *command != "man") {
        let ran = run(&env, words, "", false);
        assert!(ran.code == 2 && ran.err.contains("a value is required"), "{command} {option}: {ran:?}");
    }
}

#[test]
fn no_page_of_the_manual_waits_for_a_reader() {
    let env = TestEnv::new();
    fs::create_dir(env.path("pages")).unwrap();
    make_pipe(&env.path("pages/sternhalma-ugi.1"));
    let error = run(&env, "man OUT", "pages", false).failure();
    assert!(error.contains("sternhalma-ugi.1") && error.contains("no process reads this pipe"), "{error}");
}

#[test]
fn a_finished_table_behind_a_link_is_not_built_again() {
    let env = with_inputs();
    symlink("table", env.path("link")).unwrap();
    let ran = run(&env, "build --side 5 --pieces 3 -o OUT", "link", false);
    assert!(ran.code == 0 && ran.err.contains("already built"), "{ran:?}");
    let error = run(&env, "build --side 5 --pieces 3 -o OUT", "link", true).failure();
    assert!(error.contains("found a symbolic link"), "{error}");
}

#[test]
fn devices_and_pipes_are_written_through_or_refused() {
    let env = with_inputs();
    symlink("/dev/null", env.path("null")).unwrap();
    make_pipe(&env.path("pipe"));
    for (command, option, kind, words, _) in outputs() {
        let ran = run(&env, words, "null", kind == Table && command != "assemble");
        let is_stream = [Once, Extended, Appended].contains(&kind);
        assert_eq!(ran.code, if is_stream { 0 } else { 2 }, "{command} {option}: {ran:?}");
        assert!(env.path("null").is_symlink(), "{command} {option} replaces a link to a device");
        // A cluster process whose metrics cannot be written is started again several times.
        if option == "--metrics" {
            continue;
        }
        let error = run(&env, words, "pipe", false).failure();
        assert!(!is_stream || error.contains("no process reads this pipe"), "{command} {option}: {error}");
        if is_stream {
            let pipe = env.path("pipe");
            // The other end is open for reading and writing, so that the command finds a reader.
            let mut reader = Command::new("sh");
            let mut reader = reader
                .args(["-c", "exec 3<>\"$0\"; echo; exec cat <&3 >read"])
                .arg(&pipe)
                .current_dir(env.work())
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            std::io::Read::read_exact(reader.stdout.as_mut().unwrap(), &mut [0]).unwrap();
            let ran = run(&env, words, "pipe", false);
            assert_eq!(ran.code, 0, "{command} {option}: {ran:?}");
            while fs::metadata(env.path("read")).unwrap().len() == 0 {
                thread::yield_now();
            }
            reader.kill().unwrap();
            reader.wait().unwrap();
        }
        assert!(!has_temporary_file(&env), "{command} {option}");
    }
}

#[test]
#[ignore = "needs the right to make devices"]
fn a_device_is_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let env = with_inputs();
    assert!(Command::new("mknod").arg(env.path("device")).args(["c", "1", "3"]).status().unwrap().success());
    for (command, option, kind, words, _) in outputs() {
        run(&env, words, "device", [Table, Once].contains(&kind));
        let metadata = fs::symlink_metadata(env.path("device")).unwrap();
        assert!(metadata.file_type().is_char_device(), "{command} {option}");
    }
}

#[test]
fn directories_missing_folders_and_links_to_nothing() {
    let env = with_inputs();
    fs::create_dir(env.path("folder")).unwrap();
    for (command, option, kind, words, _) in
        outputs().filter(|(_, option, kind, ..)| *kind != Directory && *option != "--metrics")
    {
        run(&env, words, "folder", [Table, Once].contains(&kind)).failure();
        assert_eq!(names(&env.path("folder")).len(), 0, "{command} {option}");
        if kind != Table {
            run(&env, words, "missing/out", false).failure();
        }
        symlink("target", env.path("link")).unwrap();
        let ran = run(&env, words, "link", false);
        assert_eq!(ran.code == 0, kind != Table, "{command} {option}: {ran:?}");
        assert_eq!(env.path("target").exists(), kind != Table, "{command} {option}");
        assert!(env.path("link").is_symlink(), "{command} {option}");
        fs::remove_file(env.path("link")).unwrap();
        let _ = fs::remove_file(env.path("target"));
        assert!(!has_temporary_file(&env), "{command} {option}");
    }
}

#[test]
fn an_interrupted_estimate_leaves_nothing() {
    for signal in ["-TERM", "-HUP", "-QUIT"] {
        let env = TestEnv::new();
        fs::create_dir_all(env.table(".calibration-left/table.sht.work")).unwrap();
        let words = "build --plan --pieces 8 --memory 2GiB";
        let running = env.start(words, "measuring");
        while names(&env.tables()).iter().all(|name| !name.starts_with(".calibration-") || name.ends_with("left")) {
            thread::yield_now();
        }
        let error = CmdOutput::of(running.end(signal)).failure();
        assert!(error.contains("interrupted"), "{error}");
        // What a killed estimate had left is removed, too.
        assert_eq!(names(&env.tables()).len(), 0, "{:?}", names(&env.tables()));
    }
}
