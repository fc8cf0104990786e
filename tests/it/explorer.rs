//! `explorer`: folders with tables for any file server.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{ENCODINGS, TestEnv, names, set};

/// Returns the index of a folder.
fn index(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("explorer.json")).unwrap()).unwrap()
}

/// Returns the files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_folder_has_the_page_and_parts_of_the_tables() {
    let env = TestEnv::new();
    for encoding in ENCODINGS {
        env.run(&format!("build --side 6 --pieces 4 --encoding {encoding} -o {encoding}.sht")).success();
    }
    let ran = env.run("explorer site byte.sht mod3.sht zstd.sht ans.sht");
    assert!(ran.err.contains("converting zstd from zstd to ans"), "{}", ran.err);
    assert!(ran.err.contains("python3 -m http.server --bind 127.0.0.1 --directory site`"), "{}", ran.err);
    assert_eq!(ran.success(), "site\n");
    let site = env.path("site");
    let tables = index(&site)["tables"].as_array().unwrap().clone();
    assert_eq!(tables.len(), 4);
    for (table, encoding) in tables.iter().zip(ENCODINGS) {
        let info = env.json(&format!("info {encoding}.sht --json"));
        for key in ["side", "pieces", "within", "states", "max_distance", "exact_to"] {
            assert_eq!(table[key], info[key], "{encoding} {key}");
        }
        let stored = if encoding == "zstd" { "ans" } else { encoding };
        assert_eq!((table["name"].as_str(), table["encoding"].as_str()), (Some(encoding), Some(stored)));
        assert!(encoding == "zstd" || table["checksum"] == info["checksum"]);
        let samples = fs::read(site.join(table["folder"].as_str().unwrap()).join("samples.json")).unwrap();
        let samples: Vec<Vec<u64>> = serde_json::from_slice(&samples).unwrap();
        for (distance, ranks) in samples.iter().enumerate() {
            let ranks: Vec<String> = ranks.iter().map(|rank| format!("#{rank}\n")).collect();
            let args = ["query", &format!("{encoding}.sht"), "--stdin", "--format", "ndjson"];
            let answers = env.feed(args, ranks.concat().as_bytes()).success();
            let is_at = |line: &str| serde_json::from_str::<Value>(line).unwrap()["distance"] == distance;
            assert!(answers.lines().all(is_at), "{encoding} {distance}: {answers}");
        }
    }
    assert!(files(&site).iter().all(|file| fs::metadata(file).unwrap().len() <= 256 << 10));
    assert!(!names(&site).iter().any(|name| name.starts_with('.')), "{:?}", names(&site));
    let page = fs::read_to_string(site.join("index.html")).unwrap();
    assert!(page.contains("js/explorer.js") && site.join("js/views/distances.js").is_file());
    // Everything but the conversion of zstd is determined by the tables and the seed.
    env.run("explorer again byte.sht mod3.sht zstd.sht ans.sht --seed 1").success();
    env.run("explorer other byte.sht --seed 2").success();
    for file in files(&site) {
        let again = env.path("again").join(file.strip_prefix(&site).unwrap());
        assert_eq!(fs::read(&file).unwrap(), fs::read(&again).unwrap(), "{}", file.display());
    }
    let samples = |site: &str| {
        let folder = index(&env.path(site))["tables"][0]["folder"].as_str().unwrap().to_owned();
        fs::read(env.path(site).join(folder).join("samples.json")).unwrap()
    };
    assert_ne!(samples("site"), samples("other"));
}

#[test]
fn only_a_folder_of_this_command_is_replaced() {
    let env = TestEnv::new();
    env.run("build --side 4 --pieces 2 -o a.sht").success();
    env.run("build --side 4 --pieces 3 -o b.sht").success();
    fs::create_dir(env.path("mine")).unwrap();
    env.file("mine/a.txt", "precious");
    env.file("mine/b.sht", fs::read(env.path("b.sht")).unwrap());
    for force in ["", " --force"] {
        let error = env.run(&format!("explorer mine a.sht{force}")).failure();
        assert!(error.contains("not empty, and was not written by this command"), "{error}");
        assert_eq!(names(&env.path("mine")), set(["a.txt", "b.sht"]));
    }
    // A file that only has the name of an index does not make a folder that of a page.
    env.file("mine/explorer.json", "{}");
    env.run("explorer mine a.sht --force").failure();

    fs::create_dir(env.path("site")).unwrap();
    env.run("explorer site a.sht").success();
    let site = env.path("site");
    let old = index(&site)["tables"][0]["folder"].as_str().unwrap().to_owned();
    let error = env.run("explorer site b.sht").failure();
    assert!(error.contains("--force replaces it"), "{error}");
    assert_eq!(index(&site)["tables"][0]["name"], "a");
    env.file("site/CNAME", "example.org");
    env.file(&format!("site/{old}/notes.txt"), "precious");
    env.run("explorer site b.sht --force").success();
    assert_eq!(index(&site)["tables"][0]["name"], "b");
    assert_eq!(fs::read(site.join("CNAME")).unwrap(), b"example.org");
    // The parts of the old table are removed, and nothing else.
    assert_eq!(files(&site.join(&old)), [site.join(&old).join("notes.txt")]);
}

#[test]
fn what_is_wrong_is_noticed_before_anything_is_written() {
    let env = TestEnv::new();
    env.run("build --side 4 --pieces 2 -o a.sht").success();
    fs::create_dir(env.path("other")).unwrap();
    fs::copy(env.path("a.sht"), env.path("other/a.sht")).unwrap();
    for (words, message) in [
        ("explorer site a.sht other/a.sht", "same name `a`"),
        ("explorer site a.sht absent", "there is no such file"),
        ("explorer a.sht a.sht", "this is an input"),
    ] {
        let error = env.run(words).failure();
        assert!(error.contains(message), "{words}: {error}");
        assert!(!env.path("site").exists(), "{words}");
    }
    // A table that is an output under another name is not replaced.
    env.run("explorer site a.sht").success();
    let shard = env.path("site").join(index(&env.path("site"))["tables"][0]["folder"].as_str().unwrap()).join("0.bin");
    fs::copy(env.path("a.sht"), &shard).unwrap();
    fs::create_dir(env.path("linked")).unwrap();
    fs::hard_link(&shard, env.path("linked/a.sht")).unwrap();
    let error = env.run("explorer site linked/a.sht --force").failure();
    assert!(error.contains("this is an input"), "{error}");
    assert_eq!(fs::read(env.path("a.sht")).unwrap(), fs::read(env.path("linked/a.sht")).unwrap());
}

#[test]
fn a_damaged_table_is_noticed_before_anything_is_written() {
    let env = TestEnv::new();
    for encoding in ENCODINGS {
        let path = env.path(&format!("{encoding}.sht"));
        env.run(&format!("build --side 5 --pieces 3 --encoding {encoding} -o {encoding}.sht")).success();
        let mut bytes = fs::read(&path).unwrap();
        bytes[4096 + 100] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let error = env.run(&format!("explorer site {encoding}.sht")).failure();
        assert!(error.contains("does not match its checksum"), "{encoding}: {error}");
        assert!(!env.path("site").exists());
    }
}
