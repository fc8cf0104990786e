//! `verify`.

use std::fs;

use serde_json::json;
use sternhalma_data::table::Layout;
use sternhalma_data::{Board, Encoding, Prefix};

use crate::common::{ENCODINGS, TestEnv, names, set};

#[test]
fn complete_and_partial_tables_are_verified() {
    let env = TestEnv::new();
    for words in ["", "--within 18"] {
        for encoding in ENCODINGS {
            let info = env.json(&format!("build --side 5 --pieces 3 --encoding {encoding} {words} --json"));
            let file = info["file"].as_str().unwrap();
            for (option, deep, what) in [("", false, "all checksums match"), ("--deep", true, "every distance proven")]
            {
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
