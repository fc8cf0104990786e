//! The tables directory: the listed tables, and the table that is found.

use std::fs;

use serde_json::{Value, json};

use crate::common::TestEnv;

#[test]
fn tables_are_listed_with_what_they_cover() {
    let env = TestEnv::new();
    let ran = env.run("tables");
    assert!(ran.err.contains(env.tables().to_str().unwrap()) && ran.err.contains("`sternhalma build`"), "{ran:?}");
    assert_eq!(ran.success(), "");
    assert_eq!(env.json("tables --json"), json!([]));
    env.build("--side 5 --pieces 3 --encoding mod3");
    env.build("--side 5 --pieces 1 --within 18");
    fs::write(env.table("bad.sht"), "precious").unwrap();
    fs::write(env.table("other.txt"), "no table").unwrap();
    let rows = env.json("tables --json");
    let names: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["5x5-1-within18", "5x5-3-mod3", "bad"]);
    for (row, name) in rows.as_array().unwrap().iter().zip(&names[..2]) {
        let info = env.json(&format!("info {name} --json"));
        for (key, value) in row.as_object().unwrap().iter().filter(|(key, _)| *key != "name") {
            assert_eq!(info.get(key), Some(value), "{key}");
        }
    }
    assert!(rows[2]["error"].as_str().unwrap().contains("not a Sternhalma table") && rows[2].get("states").is_none());
    let text = env.run("tables").success();
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()).collect();
    assert_eq!(lines[0], ["name", "covers", "encoding", "size", "farthest", "exact to"]);
    assert_eq!(lines[1][..3], ["5x5-1-within18", "5x5, 1 piece, within 18 cells", "byte"]);
    assert_eq!((lines[2][1], lines[2][5]), ("5x5, 3 pieces", "all"));
    assert!(lines[3][1].contains("not a Sternhalma table"), "{text}");
}

/// The winner of one game between players with a table, or the error.
fn play(env: &TestEnv, words: &str) -> Result<(), String> {
    let ran = env.run(&format!("match end0 heur0 --side 5 --pieces 3 --games 1 --nodes 50 --json {words}"));
    if ran.code == 0 { Ok(()) } else { Err(ran.failure()) }
}

#[test]
fn a_complete_table_of_any_encoding_is_found() {
    for encoding in ["byte", "mod3", "zstd"] {
        let env = TestEnv::new();
        env.build(&format!("--side 5 --pieces 3 --encoding {encoding}"));
        env.build("--side 5 --pieces 2");
        play(&env, "").unwrap();
        env.run("tune end0 --side 5 --pieces 3 --only c --games 2 --nodes 20 --quiet").success();
    }
}

#[test]
fn only_play_and_ugi_fall_back_to_a_prefix() {
    let env = TestEnv::new();
    let error = play(&env, "").unwrap_err();
    assert!(
        error.contains("`sternhalma build --side 5 --pieces 3` builds one (") && !error.contains("tables there"),
        "{error}"
    );
    env.build("--side 5 --pieces 3 --within 10");
    env.build("--side 5 --pieces 3 --within 18 --encoding mod3");
    for command in ["match end0 heur0", "tournament end0 heur0 greedy", "tune end0"] {
        let error = env.run(&format!("{command} --side 5 --pieces 3 --games 1 --nodes 50")).failure();
        assert!(error.contains("does not have a complete one"), "{error}");
        assert!(error.ends_with("the tables there are 5x5-3-within10, 5x5-3-within18-mod3"), "{error}");
    }
    play(&env, "--table 5x5-3-within18-mod3").unwrap();
    let ugi = env.feed(["ugi", "--side", "5", "--pieces", "3", "--player", "end0"], b"isready\nquit\n");
    let notice = format!("using {}, exact up to distance", env.table("5x5-3-within18-mod3.sht").display());
    assert!(ugi.err.contains(&notice), "{ugi:?}");
    assert_eq!(ugi.success(), "readyok\n");
}

#[test]
fn a_misnamed_table_is_named_and_passed_over() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3");
    fs::rename(env.table("5x5-3.sht"), env.table("5x5-2.sht")).unwrap();
    let reason = "the table is of 5x5, 3 pieces, and its name says 5x5, 2 pieces; rename it";
    let rows = env.json("tables --json");
    assert!(rows[0]["error"].as_str().unwrap().ends_with(reason) && rows[0].get("states").is_none(), "{rows}");
    for pieces in [2, 3] {
        let ran = env.run(&format!("analyse --side 5 --pieces {pieces} --nodes 10"));
        let notices = ran.err.lines().filter(|line| line.starts_with("passed over ") && line.ends_with(reason));
        assert_eq!(notices.count(), 1, "{ran:?}");
        assert!(ran.err.contains("no distance table"), "{ran:?}");
        ran.success();
    }
    for command in ["query 5x5-2 startpos", "verify 5x5-2.sht", "analyse --side 5 --pieces 2 --table 5x5-2"] {
        let error = env.run(command).failure();
        assert!(error.contains(reason), "{command}: {error}");
    }
    // The file of a path may have any name.
    let path = env.table("5x5-2.sht").display().to_string();
    env.run_args(["query", &path, "startpos"]).success();
}

#[test]
fn a_table_too_large_to_build_has_an_affordable_part() {
    let env = TestEnv::new();
    let error = env.run("match end0 heur0 --pieces 10").failure();
    assert!(error.contains("a complete table takes 1.71 TiB"), "{error}");
    assert!(
        error.contains(
            "`sternhalma build --pieces 10 --within 36` builds a part of it (242.42 MiB); use it with --table 9x9-10-within36"
        ),
        "{error}"
    );
}

#[test]
fn the_directory_does_not_appear_in_usage_lines() {
    let env = TestEnv::new();
    let ran = env.run("query");
    assert!(ran.err.contains("Usage: sternhalma query ") && !ran.err.contains("--tables"), "{ran:?}");
    let listed: Value = env.json("--tables elsewhere tables --json");
    assert_eq!(listed, json!([]));
}
