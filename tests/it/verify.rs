//! `verify`.

use std::fs;

use serde_json::json;
use sternhalma_data::table::Layout;
use sternhalma_data::{Board, Encoding, Prefix};

use crate::common::{ENCODINGS, TestEnv, names, set};

#[test]
fn complete_and_partial_tables_are_verified() {
    let env = TestEnv::new();
    for (words, proven) in [("", "every distance proven"), ("--within 18", "every distance within 18 cells proven")] {
        for encoding in ENCODINGS {
            let info = env.json(&format!("build --side 5 --pieces 3 --encoding {encoding} {words} --json"));
            let file = info["file"].as_str().unwrap();
            for (option, deep, what) in [("", false, "all checksums match"), ("--deep", true, proven)] {
                let found = env.json(&format!("verify --json --threads 2 {option} {file}"));
                let expected = json!({
                    "file": file, "ok": true, "deep": deep, "states": info["states"], "checksum": info["checksum"],
                });
                assert_eq!(found, expected);
                let text = env.run(&format!("verify {option} {file}")).success();
                assert!(text.contains(what) && text.contains(info["checksum"].as_str().unwrap()), "{text}");
                assert_eq!(text.lines().count(), 1);
            }
        }
    }
}

#[test]
fn a_sample_is_reported_as_a_sample() {
    let env = TestEnv::new();
    let file = env.build("--side 6 --pieces 4 --encoding zstd --block-states 64");
    let file = file.to_str().unwrap();
    let found = env.json(&format!("verify --json --deep --sample 5_000 --seed 7 {file}"));
    assert_eq!((&found["ok"], &found["deep"], &found["states"]), (&json!(true), &json!(false), &json!(58905)));
    let sample = &found["sample"];
    assert_eq!((&sample["seed"], &sample["requested"]), (&json!(7), &json!(5000)));
    let number = |key: &str| sample[key].as_u64().unwrap();
    assert!((5_000..=58_905).contains(&number("states")));
    assert!(number("classes") <= number("all_classes") && number("contexts") <= number("all_contexts"));
    assert_eq!(sample["share"].as_f64().unwrap(), number("states") as f64 / 58_905.0);
    assert_eq!(found, env.json(&format!("verify --json --deep --sample 5k --seed 7 --threads 1 {file}")));
    let ran = env.run(&format!("verify --deep --sample 5000 {file}"));
    assert!(ran.err.contains("a sample is not a proof of the table"), "{}", ran.err);
    let text = ran.success();
    assert!(text.contains("sample of") && text.contains("(seed 1)") && text.contains("of 58,905 states"), "{text}");
    for words in ["verify --sample 10", "verify --deep --seed 3", "verify --deep --sample 0", "verify --fresh"] {
        assert_eq!(env.run(&format!("{words} {file}")).code, 2, "{words}");
    }
}

#[test]
fn a_damaged_table_is_refused_by_name() {
    let env = TestEnv::new();
    for encoding in ENCODINGS {
        let bytes = fs::read(env.build(&format!("--side 4 --pieces 3 --encoding {encoding} --force"))).unwrap();
        let data = 4096 + Layout::new(Prefix::whole(Board::new(4, 3).unwrap()), Encoding::Byte).block(0).bytes.start;
        for (what, at) in [("header", 24), ("layers", 130), ("data", data as usize), ("record", bytes.len() - 20)] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            env.file("damaged.sht", &damaged);
            for words in ["verify damaged.sht", "verify --deep damaged.sht"] {
                let ran = env.run(words);
                assert_eq!(ran.out(), "", "{what}");
                let error = ran.failure();
                assert!(error.contains("damaged.sht: the table is damaged: "), "{what}: {error}");
            }
        }
        // A look-up reads the damaged block, and an export reads them all.
        let mut damaged = bytes.clone();
        damaged[data as usize] ^= 1;
        env.file("damaged.sht", &damaged);
        for words in ["query damaged.sht #0", "line damaged.sht #0", "export damaged.sht", "export damaged.sht -o out"]
        {
            let error = env.run(words).refusal();
            assert!(error.contains("damaged.sht: the table is damaged: block 0"), "{words}: {error}");
        }
        assert_eq!(names(&env.work()), set(["damaged.sht"]));
    }
}
