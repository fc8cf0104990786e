//! The levels of vectorised loops (`STERNHALMA_CPU`): all give the same results.

use serde_json::Value;
use sternhalma_cpu::{level_name, levels};

use crate::common::{CmdOutput, ENCODINGS, TestEnv, ndjson, rulesheet};

/// Runs the program at a level with arguments separated by blanks.
fn run_at(env: &TestEnv, level: &str, words: &str) -> CmdOutput {
    CmdOutput::of(env.command(words.split_whitespace()).env("STERNHALMA_CPU", level).output().unwrap())
}

fn names() -> Vec<&'static str> {
    levels().into_iter().map(level_name).collect()
}

#[test]
fn tables_have_the_same_bytes_at_every_level() {
    let env = TestEnv::new();
    for board in ["--side 5 --pieces 6", "--side 6 --pieces 4", "--side 5 --pieces 3 --within 19"] {
        for encoding in ENCODINGS {
            for mode in ["in-memory", "out-of-core"] {
                let mut checksums = Vec::new();
                let mut exports = Vec::new();
                for level in names() {
                    let file = format!("{level}.sht");
                    let words = format!("build {board} --encoding {encoding} --mode {mode} --force -o {file} --json");
                    let info: Value = serde_json::from_str(&run_at(&env, level, &words).success()).unwrap();
                    checksums.push(info["checksum"].clone());
                    run_at(&env, level, &format!("export {file} -o {level}.bin --force")).success();
                    exports.push(std::fs::read(env.work().join(format!("{level}.bin"))).unwrap());
                    run_at(&env, level, &format!("verify --deep {file}")).success();
                }
                assert!(checksums.iter().all(|sum| *sum == checksums[0]), "{board} {encoding} {mode}: {checksums:?}");
                assert!(exports.iter().all(|bytes| *bytes == exports[0]), "{board} {encoding} {mode}");
            }
        }
    }
}

#[test]
fn searches_in_lanes_are_the_same_at_every_level() {
    let env = TestEnv::new();
    let rules = rulesheet("connect-four");
    let games = names().into_iter().map(|level| {
        let log = format!("{level}.ndjson");
        let words = format!(
            "tournament --rules {rules} uct,lanes=32 mast,lanes=8 --games 4 --playouts 60 --seed 3 --threads 1 --quiet --log {log}"
        );
        run_at(&env, level, &words).success();
        let log = ndjson(&std::fs::read_to_string(env.work().join(log)).unwrap());
        let moves: Vec<Value> = log.into_iter().map(|mut line| line["moves"].take()).collect();
        assert_eq!(moves.iter().filter(|moves| moves.is_array()).count(), 4);
        moves
    });
    let games: Vec<_> = games.collect();
    assert!(games.iter().all(|moves| *moves == games[0]));
}

#[test]
fn the_version_shows_the_level_and_unknown_levels_are_refused() {
    let env = TestEnv::new();
    for level in names() {
        let version = run_at(&env, level, "--version").success();
        assert!(version.contains(&format!("loops: {level} (of ")), "{version}");
    }
    assert_eq!(env.run("-V").success().lines().count(), 1);
    let error = run_at(&env, "x86-64-v9", "rank a1,b1,c1,a2,b2,a3").failure();
    assert!(error.contains("x86-64-v9") && names().iter().all(|name| error.contains(name)), "{error}");
}
