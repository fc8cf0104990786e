//! `sternhalma convert` from end to end.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn run(dir: &TempDir, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sternhalma"));
    command.args(words.split_whitespace()).current_dir(dir.path()).env("STERNHALMA_TABLES", dir.path());
    command.output().unwrap()
}

fn answered(dir: &TempDir, words: &str) -> String {
    let ran = run(dir, words);
    assert!(ran.status.success(), "{words}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

fn refused(dir: &TempDir, words: &str) -> String {
    let ran = run(dir, words);
    assert_eq!((ran.status.code(), ran.stdout.len()), (Some(2), 0), "{words}");
    String::from_utf8(ran.stderr).unwrap()
}

fn info(dir: &TempDir, file: &str) -> Value {
    serde_json::from_str(&answered(dir, &format!("info {file} --json"))).unwrap()
}

fn bytes(dir: &TempDir, file: &str) -> Vec<u8> {
    std::fs::read(dir.path().join(file)).unwrap()
}

#[test]
fn a_table_goes_through_all_encodings_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    for board in ["--side 4 --pieces 1", "--side 5 --pieces 3", "--side 6 --pieces 4 --within 20"] {
        answered(&dir, &format!("build {board} --force -o byte.sht"));
        for (from, to) in [("byte", "zstd"), ("zstd", "mod3"), ("mod3", "again"), ("mod3", "other")] {
            let encoding = match to {
                "again" => "byte",
                "other" => "zstd --block-states 256 --level 3 --threads 2",
                to => to,
            };
            let words = format!("convert {from}.sht --encoding {encoding} -o {to}.sht --force");
            assert_eq!(answered(&dir, &words), format!("{to}.sht\n"));
            answered(&dir, &format!("verify --deep {to}.sht"));
            assert_eq!(answered(&dir, &format!("query {to}.sht #3 #15")), answered(&dir, "query byte.sht #3 #15"));
            assert_eq!(answered(&dir, &format!("line {to}.sht #15")), answered(&dir, "line byte.sht #15"));
            let exported = |file: &str| run(&dir, &format!("export {file}.sht")).stdout;
            assert!(exported(to) == exported("byte"));
        }
        assert!(bytes(&dir, "again.sht") == bytes(&dir, "byte.sht"), "{board}");
        answered(&dir, &format!("build {board} --encoding zstd --block-states 256 --level 3 --force -o built.sht"));
        assert_eq!(info(&dir, "built.sht")["checksum"], info(&dir, "other.sht")["checksum"], "{board}");
    }
}

#[test]
fn info_tells_how_blocks_are_made() {
    let dir = tempfile::tempdir().unwrap();
    answered(&dir, "build --side 5 --pieces 4 --encoding zstd --block-states 1024 --level 5");
    let told = info(&dir, "5x5-4-zstd");
    assert_eq!((&told["encoding"], &told["block_states"], &told["level"]), (&"zstd".into(), &1024.into(), &5.into()));
    let bits = 8.0 * told["bytes"].as_f64().unwrap() / told["states"].as_f64().unwrap();
    assert_eq!(told["bits_per_state"], bits);
    let text = answered(&dir, "info 5x5-4-zstd");
    assert!(text.contains("blocks of 1,024 states, zstd level 5"), "{text}");
    let json = answered(&dir, "convert 5x5-4-zstd --encoding byte -o byte.sht --json");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["encoding"], &json["block_states"]), (&"byte".into(), &Value::Null));
}

#[test]
fn what_cannot_be_converted_is_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    answered(&dir, "build --side 4 --pieces 3 -o t.sht");
    let right = bytes(&dir, "t.sht");
    let mut damaged = right.clone();
    damaged[4500] ^= 1;
    std::fs::write(dir.path().join("damaged.sht"), damaged).unwrap();
    std::fs::write(dir.path().join("text.sht"), "text").unwrap();
    for (words, says) in [
        ("convert absent.sht --encoding mod3 -o new.sht", "absent.sht: there is no such file"),
        ("convert text.sht --encoding mod3 -o new.sht", "text.sht: this is not a Sternhalma table"),
        ("convert damaged.sht --encoding mod3 -o new.sht", "damaged.sht: the table is damaged"),
        ("convert t.sht --encoding mod3 -o t.sht", "t.sht: this is the table itself"),
        ("convert t.sht --encoding mod3 -o t.sht --force", "t.sht: this is the table itself"),
        ("convert t.sht --encoding mod3 -o text.sht", "text.sht: cannot create: it exists; --force replaces it"),
        ("convert t.sht --encoding lzma -o new.sht", "`byte`, `mod3` or `zstd`, not `lzma`"),
        ("convert t.sht --encoding zstd --block-states 1000 -o new.sht", "a power of two of states"),
        ("convert t.sht --encoding zstd --level 23 -o new.sht", "levels 1 to 22"),
        ("convert t.sht --encoding byte --level 3 -o new.sht", "for --encoding zstd"),
    ] {
        let error = refused(&dir, words);
        assert!(error.contains(says), "{words}: {error}");
    }
    assert!(!Path::new(&dir.path().join("new.sht")).exists());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3, "no temporary file is left");
    assert!(bytes(&dir, "t.sht") == right);
}
