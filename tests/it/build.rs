//! `build` in memory: names, contents and limits.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{ENCODINGS, TestEnv, names, set};

#[test]
fn tables_are_named_after_what_they_hold() {
    for (words, name) in [
        ("--side 5 --pieces 3", "5x5-3.sht"),
        ("--side 5 --pieces 3 --encoding byte --threads 1", "5x5-3.sht"),
        ("--side 5 --pieces 3 --encoding mod3", "5x5-3-mod3.sht"),
        ("--side 5 --pieces 3 --within 18", "5x5-3-within18.sht"),
        ("--side 5 --pieces 3 --within 18 --encoding mod3 --threads 3", "5x5-3-within18-mod3.sht"),
        ("--side 5 --pieces 3 --within 25", "5x5-3.sht"),
        ("--side 9 --pieces 1", "9x9-1.sht"),
    ] {
        let env = TestEnv::new();
        assert_eq!(env.build(words), env.table(name), "{words}");
        assert_eq!(names(&env.tables()), BTreeSet::from([name.to_owned()]));
        assert_eq!(names(&env.work()), BTreeSet::new());
    }
    let env = TestEnv::new();
    assert_eq!(env.build("--side 3 --pieces 2 -o new/dir/any.name"), Path::new("new/dir/any.name"));
    assert_eq!(names(&env.path("new/dir")), set(["any.name"]));
    assert_eq!(env.build("--side 3 --pieces 2 -o here"), Path::new("here"));
    assert_eq!(env.build("--side 3 --pieces 2 --tables other"), Path::new("other/3x3-2.sht"));
    assert_eq!(names(&env.tables()), BTreeSet::new());
}

#[test]
fn a_table_is_replaced_only_with_force() {
    let env = TestEnv::new();
    let path = env.build("--side 5 --pieces 3 --threads 2");
    let bytes = fs::read(&path).unwrap();
    let error = env.run(&format!("build --side 4 --pieces 3 -o {}", path.display())).failure();
    assert!(error.contains("--force") && error.contains(path.to_str().unwrap()), "{error}");
    let error = env.run(&format!("build --side 5 --pieces 3 --encoding mod3 -o {}", path.display())).failure();
    assert!(error.contains("--force") && error.contains(path.to_str().unwrap()), "{error}");
    assert!(fs::read(&path).unwrap() == bytes);
    let info = env.json("build --side 5 --pieces 3 --threads 1 --force --json");
    assert_eq!(info["threads"], 1);
    assert_eq!(names(&env.tables()), set(["5x5-3.sht"]));

    fs::write(&path, "precious").unwrap();
    env.run("build --side 5 --pieces 3").failure();
    assert_eq!(fs::read(&path).unwrap(), b"precious");
}

#[test]
fn a_build_of_an_existing_table_prints_its_path() {
    let env = TestEnv::new();
    for words in
        ["", "--within 18", "--encoding mod3", "--encoding zstd", "--mode out-of-core --memory 64MiB -o far.sht"]
    {
        let words = format!("build --side 5 --pieces 3 {words}");
        let first = env.run(&words);
        let path = first.out().trim().to_owned();
        let bytes = fs::read(env.path(&path)).unwrap();
        let again = env.run(&words);
        assert!(again.err.contains("already ") && !again.err.contains("layer "), "{words}: {}", again.err);
        assert_eq!(again.success(), first.success(), "{words}");
        assert_eq!(env.json(&format!("{words} --json"))["file"], path);
        assert!(fs::read(env.path(&path)).unwrap() == bytes);
    }
    // A truncated table is not the same table.
    let path = env.table("5x5-3.sht");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(env.run("build --side 5 --pieces 3").failure().contains("--force"));
}

#[test]
fn progress_without_a_terminal_is_a_line_per_layer() {
    let env = TestEnv::new();
    let ran = env.run("build --side 5 --pieces 3");
    let err = ran.progress();
    assert_eq!(err.matches("layer ").count(), 12, "{err}");
    assert!(err.contains("\nlayer 0: 1 state, 1 of 2,300 seen\n") && !err.contains("not known"), "{err}");
    assert!(!err.contains(" steps") && !err.contains('%'), "{err}");
    let few = env.run("build --side 5 --pieces 3 --force --no-progress").progress();
    assert!(!few.contains("layer ") && few.contains("built in "), "{few}");
    assert_eq!(env.run("build --side 5 --pieces 3 --force --quiet").progress(), "");
    assert_eq!(env.run("-q build --side 5 --pieces 3 --force").progress(), "");
    // Errors are still printed.
    assert!(
        env.run("build --side 5 --pieces 3 --encoding mod3 -o ../tables/5x5-3.sht -q").refusal().contains("--force")
    );
}

#[test]
fn a_table_in_the_other_form_is_the_table_to_build() {
    let env = TestEnv::new();
    let path = env.build("--side 5 --pieces 3 --encoding mod3");
    let bytes = fs::read(&path).unwrap();
    for (words, says) in [
        ("", "already built"),
        ("--mirror", "already built"),
        ("--no-mirror", "without mirror images (`convert --no-mirror` adds them)"),
    ] {
        let ran = env.run(&format!("build --side 5 --pieces 3 --encoding mod3 {words}"));
        assert!(ran.err.contains(says), "{}", ran.err);
        assert!(fs::read(&path).unwrap() == bytes);
    }
    env.run("build --side 5 --pieces 3 --encoding mod3 --no-mirror --force").success();
    let ran = env.run("build --side 5 --pieces 3 --encoding mod3");
    assert!(ran.err.contains("with mirror images (`convert --mirror` removes them)"), "{}", ran.err);
}

#[test]
fn mirrored_tables_are_the_same_in_both_modes() {
    let env = TestEnv::new();
    for encoding in ["mod3", "zstd", "byte"] {
        let checksum = |mode: &str| {
            let words = format!("build --side 5 --pieces 6 --encoding {encoding} --mirror --mode {mode} -o {mode}.sht");
            env.run(&words).success();
            let info = env.json(&format!("info {mode}.sht --json"));
            assert_eq!(info["mirrored"], true);
            fs::remove_file(env.path(&format!("{mode}.sht"))).unwrap();
            info["checksum"].clone()
        };
        assert_eq!(checksum("in-memory"), checksum("out-of-core"), "{encoding}");
    }
}

#[test]
fn the_layers_of_three_pieces_on_side_five_are_known() {
    let env = TestEnv::new();
    let mut identities = Vec::new();
    for (encoding, threads) in [("byte", 1), ("byte", 2), ("mod3", 1), ("mod3", 2)] {
        let words = format!("build --side 5 --pieces 3 --encoding {encoding} --threads {threads} --force --json");
        let info = env.json(&words);
        let file = info["file"].as_str().unwrap();
        let expected = json!({
            "side": 5, "pieces": 3, "within": 25, "states": 2300, "encoding": encoding, "max_distance": 11,
            "layers": [1, 6, 26, 72, 166, 294, 417, 488, 429, 269, 116, 16], "start_distance": 11,
            "escape_layer": null, "exact_to": null, "threads": threads, "mode": "in-memory",
            "program": concat!("sternhalma ", env!("CARGO_PKG_VERSION")), "bytes": fs::metadata(file).unwrap().len(),
        });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(info.get(key), Some(value), "{key}");
        }
        let built = info["built"].as_str().unwrap();
        let shape: String = built.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(shape, "0000-00-00T00:00:00Z");
        assert!(info["wall_s"].as_f64().unwrap() > 0.0);
        identities.push(info["checksum"].as_str().unwrap().to_owned());
    }
    assert!(identities.iter().all(|sum| sum.len() == 16 && sum.chars().all(|c| c.is_ascii_hexdigit())));
    assert_eq!(identities[0], identities[1]);
    assert_eq!(identities[2], identities[3]);
    assert_ne!(identities[0], identities[2]);
}

#[test]
fn start_distances_are_known() {
    let env = TestEnv::new();
    for (side, pieces, states, distance) in [(4, 6, 8008, 8), (7, 6, 13_983_816, 17), (5, 10, 3_268_760, 13)] {
        for encoding in ENCODINGS {
            let info = env.json(&format!("build --side {side} --pieces {pieces} --encoding {encoding} --json"));
            assert_eq!((&info["states"], &info["start_distance"]), (&json!(states), &json!(distance)));
            assert_eq!(info["exact_to"], Value::Null);
            let layers: Vec<u64> = serde_json::from_value(info["layers"].clone()).unwrap();
            assert_eq!(layers.iter().sum::<u64>(), states);
            assert_eq!(info["max_distance"], layers.len() - 1);
        }
    }
}

#[test]
fn a_build_too_large_for_memory_does_not_start() {
    let env = TestEnv::new();
    for words in ["--pieces 10", "--pieces 10 --encoding mod3", "--side 11 --pieces 15"] {
        let ran = env.run(&format!("build --mode in-memory {words}"));
        assert_eq!(ran.out(), "");
        assert!(!ran.err.contains("layer "), "{words}: {}", ran.err);
        let error = ran.failure();
        let amounts = error.split(' ').filter(|word| word.ends_with("iB")).count();
        assert!(error.contains("of memory") && error.contains("available") && amounts == 2, "{words}: {error}");
    }
    let ran = env.run("build --mode in-memory --memory 1MiB");
    assert_eq!(ran.out(), "");
    let error = ran.failure();
    assert!(
        error.contains("in memory the search needs ") && error.contains(" and --memory allows 1.00 MiB"),
        "{error}"
    );
    assert!(error.contains("; raise --memory, or leave out --mode"), "{error}");
    assert!(!env.tables().exists());
}

#[test]
fn a_build_has_no_more_threads_than_the_machine_can_use() {
    let env = TestEnv::new();
    let ran = env.run("build --side 3 --pieces 2 --threads 18446744073709551615");
    assert!(ran.err.contains("threads are more than this machine can use: using "), "{}", ran.err);
    ran.success();
}

#[test]
fn the_printed_number_of_threads_is_that_of_the_build() {
    let env = TestEnv::new();
    for memory in ["28MiB", "1GiB"] {
        let words = format!("build --side 6 --pieces 5 --mode in-memory --memory {memory} --threads 5 --force -o t");
        let err = env.run(&words).progress();
        let threads = env.json("info --json t")["threads"].as_u64().unwrap();
        assert_eq!(threads < 5, memory == "28MiB", "{err}");
        let threads = format!(", {threads} thread{}", if threads == 1 { "" } else { "s" });
        assert!(err.lines().any(|line| line.starts_with("building ") && line.ends_with(&threads)), "{err}");
    }
}

#[test]
fn a_build_too_large_for_the_disk_does_not_start() {
    let env = TestEnv::new();
    for words in ["--side 11 --pieces 10", "--side 11 --pieces 15 --encoding mod3"] {
        let ran = env.run(&format!("build --mode out-of-core {words}"));
        assert_eq!(ran.out(), "");
        assert!(!ran.err.contains("layer "), "{words}: {}", ran.err);
        let error = ran.failure();
        let amounts = error.split(' ').filter(|word| word.ends_with("iB")).count();
        assert!(error.contains("of disk") && error.contains("available") && amounts == 2, "{words}: {error}");
    }
    let error = env.run("build --mode out-of-core --layers whole --side 11 --pieces 10").failure();
    assert!(error.contains("--layers delta"), "{error}");
    assert!(!env.tables().exists());
}
