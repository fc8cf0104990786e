//! `info`, and how tables are found.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::common::{ENCODINGS, TestEnv};

#[test]
fn tables_are_found_by_path_and_by_name() {
    let env = TestEnv::new();
    let path = env.build("--side 3 --pieces 2");
    let elsewhere = env.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::copy(&path, elsewhere.join("kept.sht")).unwrap();
    let whole = path.to_str().unwrap().to_owned();
    let kept = elsewhere.to_str().unwrap();
    for (words, found) in [
        ("3x3-2".to_owned(), path.clone()),
        ("3x3-2.sht".to_owned(), path.clone()),
        (whole, path.clone()),
        ("../tables/3x3-2.sht".to_owned(), PathBuf::from("../tables/3x3-2.sht")),
        (format!("--tables {kept} kept"), elsewhere.join("kept.sht")),
    ] {
        let info = env.json(&format!("info --json {words}"));
        assert_eq!(info["file"], found.to_str().unwrap(), "{words}");
        assert_eq!(info["states"], 36);
    }
    // A file in the working directory overrides one in the tables directory.
    fs::copy(env.build("--side 3 --pieces 1"), env.path("3x3-2")).unwrap();
    assert_eq!(env.json("info --json 3x3-2")["pieces"], 1);
    let error = env.run("info 4x4-2").refusal();
    assert!(error.contains("4x4-2") && error.contains(env.tables().to_str().unwrap()), "{error}");
    assert!(error.contains("`sternhalma build --side 4 --pieces 2` builds it"), "{error}");
    assert!(error.ends_with("the tables there are 3x3-1, 3x3-2"), "{error}");
    for (name, hint) in [
        ("3x3-2-mod3", "`sternhalma build --side 3 --pieces 2 --encoding mod3` builds it"),
        ("9x9-7", "`sternhalma build --pieces 7` builds it"),
        ("9x9-10-within22.sht", "`sternhalma build --pieces 10 --within 22` builds it"),
        ("3x3_2", "did you mean `3x3-2`?"),
        ("3x3-3.sht", "`sternhalma build --side 3 --pieces 3` builds it"),
        ("table", "`sternhalma build` builds tables"),
    ] {
        let error = env.run(&format!("query {name} #0")).refusal();
        assert!(error.contains(hint), "{name}: {error}");
    }
    let error = env.run("info 4x4-2 --tables elsewhere").refusal();
    assert!(
        error.ends_with("in elsewhere; `sternhalma build --side 4 --pieces 2 --tables elsewhere` builds it"),
        "{error}"
    );
}

#[test]
fn a_load_budget_changes_no_answer() {
    let env = TestEnv::new();
    env.build("--side 7 --pieces 3");
    let query = "query 7x7-3 #0 #1 #9000 #18423 --format csv";
    let expected = env.run(query).success();
    for budget in ["0", "1", "4096", "9kB", "64KiB", "1.5MiB", "4GiB", "4GB"] {
        assert_eq!(env.run(&format!("{query} --load-budget {budget}")).success(), expected);
        assert_eq!(env.run(&format!("--load-budget {budget} {query}")).success(), expected);
        env.run(&format!("verify --deep 7x7-3 --load-budget {budget}")).success();
    }
    for budget in ["4XB", "GiB", "1e9", "4,5GB"] {
        let ran = env.run(&format!("{query} --load-budget {budget}"));
        let first = ran.err.lines().next().unwrap();
        assert_eq!((ran.code, ran.bytes.is_empty()), (2, true), "{ran:?}");
        assert!(first.starts_with("error: ") && first.contains(budget) && first.contains("`4GiB`"), "{ran:?}");
    }
}

#[test]
fn info_prints_the_json_of_the_build() {
    let env = TestEnv::new();
    for words in ["", "--encoding mod3", "--within 18", "--within 18 --encoding mod3"] {
        let built = env.run(&format!("build --side 5 --pieces 3 --json {words}")).success();
        let file = serde_json::from_str::<Value>(&built).unwrap()["file"].as_str().unwrap().to_owned();
        assert_eq!(env.run(&format!("info --json {file}")).success(), built);
    }
}

#[test]
fn the_data_of_a_byte_table_begins_at_its_offset() {
    let env = TestEnv::new();
    let path = env.build("--side 5 --pieces 3");
    let offset = env.json("info 5x5-3 --json")["data_offset"].as_u64().unwrap() as usize;
    let distances = env.run("export 5x5-3").bytes;
    assert!(distances.len() == 2300 && fs::read(path).unwrap()[offset..][..2300] == distances);
}

#[test]
fn a_partial_table_reports_how_far_it_is_exact() {
    let env = TestEnv::new();
    for encoding in ENCODINGS {
        let words = format!("build --side 4 --pieces 3 --within 13 --encoding {encoding} --json --force");
        let info = env.json(&words);
        let expected = json!({
            "side": 4, "pieces": 3, "within": 13, "states": 286, "encoding": encoding, "max_distance": 7,
            "layers": [1, 6, 26, 64, 96, 72, 19, 2], "start_distance": null, "escape_layer": 3, "exact_to": 5,
        });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(info.get(key), Some(value), "{key}");
        }
        let text = env.run(&format!("info {}", info["file"].as_str().unwrap())).success();
        for words in ["4x4, 3 pieces, within 13 cells", "not covered", "up to 5", "7 moves", encoding] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}

#[test]
fn info_lists_partitions() {
    let env = TestEnv::new();
    for (encoding, last) in [("byte", 276), ("mod3 --no-mirror", 69), ("mod3 --mirror", 37)] {
        let built = env.json(&format!("build --side 5 --pieces 3 --encoding {encoding} --force --json"));
        let file = built["file"].as_str().unwrap();
        assert_eq!(built.get("partitions"), None);
        let info = env.json(&format!("info {file} --partitions --json"));
        let rows = info["partitions"].as_array().unwrap();
        assert_eq!(rows.len(), 23);
        let first = json!({ "back": "d5", "within": 3, "states": 1, "share": 1.0 / 2300.0, "bytes": 1 });
        assert_eq!(rows[0], first);
        assert_eq!(rows[22], json!({ "back": "a1", "within": 25, "states": 276, "share": 0.12, "bytes": last }));
        let short = env.run(&format!("info {file}")).success();
        let long = env.run(&format!("info {file} --partitions")).success();
        let list: Vec<&str> = long.strip_prefix(short.as_str()).unwrap().lines().collect();
        assert_eq!(list.len(), 24);
        let words: Vec<&str> = list[23].split_whitespace().collect();
        assert_eq!(words, ["a1", "25", "276", "12.000%", "2,300", "100.000%"]);
    }
}

#[test]
fn the_text_of_info_lists_the_layers() {
    let env = TestEnv::new();
    env.build("--side 5 --pieces 3");
    let text = env.run("info 5x5-3").success();
    assert!(text.contains("11 moves from the goal") && text.contains("all distances"), "{text}");
    let layers: Vec<&str> = text.lines().skip_while(|line| *line != "distance  states").skip(1).collect();
    let layers: Vec<Vec<&str>> = layers.iter().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(layers.len(), 12);
    assert_eq!((&layers[0], &layers[7], &layers[11]), (&vec!["0", "1"], &vec!["7", "488"], &vec!["11", "16"]));
}
