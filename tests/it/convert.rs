//! `convert`.

use serde_json::Value;

use crate::common::{TestEnv, names, set};

fn bytes(env: &TestEnv, file: &str) -> Vec<u8> {
    std::fs::read(env.path(file)).unwrap()
}

#[test]
fn a_table_converted_through_all_encodings_is_the_same() {
    let env = TestEnv::new();
    for board in ["--side 4 --pieces 1", "--side 5 --pieces 3", "--side 6 --pieces 4 --within 20"] {
        env.run(&format!("build {board} --force -o byte.sht")).success();
        for (from, to) in [("byte", "zstd"), ("zstd", "mod3"), ("mod3", "again"), ("mod3", "other")] {
            let encoding = match to {
                "again" => "byte",
                "other" => "zstd --block-states 256 --level 3 --threads 2",
                to => to,
            };
            let words = format!("convert {from}.sht --encoding {encoding} -o {to}.sht --force");
            assert_eq!(env.run(&words).success(), format!("{to}.sht\n"));
            env.run(&format!("verify --deep {to}.sht")).success();
            assert_eq!(
                env.run(&format!("query {to}.sht #3 #15")).success(),
                env.run("query byte.sht #3 #15").success()
            );
            assert_eq!(env.run(&format!("line {to}.sht #15")).success(), env.run("line byte.sht #15").success());
            let exported = |file: &str| env.run(&format!("export {file}.sht")).bytes;
            assert!(exported(to) == exported("byte"));
        }
        let checksum = |file: &str| env.json(&format!("info {file}.sht --json"))["checksum"].clone();
        assert_eq!(checksum("again"), checksum("byte"), "{board}");
        env.run(&format!("build {board} --encoding zstd --block-states 256 --level 3 --force -o built.sht")).success();
        assert_eq!(
            env.json("info --json built.sht")["checksum"],
            env.json("info --json other.sht")["checksum"],
            "{board}"
        );
    }
}

#[test]
fn both_forms_of_a_table_give_the_same_answers() {
    let env = TestEnv::new();
    for encoding in ["byte", "mod3", "zstd"] {
        for form in ["mirror", "no-mirror"] {
            let words = format!("build --side 5 --pieces 3 --encoding {encoding} --{form} -o {form}.sht --force");
            env.run(&words).success();
            assert_eq!(env.json(&format!("info --json {form}.sht"))["mirrored"], form == "mirror");
        }
        let both = |command: &str, file: &str| env.run(&command.replace("FILE", &format!("{file}.sht"))).bytes;
        for command in ["query FILE #3 #1500 #2299", "line FILE #1500", "export FILE", "export FILE --order lex"] {
            assert!(both(command, "mirror") == both(command, "no-mirror"), "{command}, {encoding}");
        }
        for command in ["verify mirror.sht", "verify --deep mirror.sht"] {
            env.run(command).success();
        }
        let compared = env.json("compare mirror.sht no-mirror.sht --json");
        assert_eq!((&compared["states"], &compared["differ"]), (&2300.into(), &0.into()));
        for (from, to) in [("mirror", "no-mirror"), ("no-mirror", "mirror")] {
            let words = format!("convert {from}.sht --encoding {encoding} --{to} -o converted.sht --force");
            env.run(&words).success();
            let checksum = |file: &str| env.json(&format!("info --json {file}.sht"))["checksum"].clone();
            assert_eq!(checksum("converted"), checksum(to), "{encoding}");
        }
    }
    let text = env.run("info mirror.sht").success();
    assert!(text.contains("mirrored: 1,180 states in the file"), "{text}");
    // The default form of byte tables stores all states, and that of the others does not.
    for (encoding, mirrored) in [("byte", false), ("mod3", true), ("zstd", true)] {
        env.run(&format!("convert mirror.sht --encoding {encoding} -o new.sht --force")).success();
        assert_eq!(env.json("info --json new.sht")["mirrored"], mirrored);
    }
}

#[test]
fn tables_without_whole_rows_are_not_mirrored() {
    let env = TestEnv::new();
    env.run("build --side 5 --pieces 3 --within 18 -o part.sht").success();
    for (words, reason) in [
        ("build --side 5 --pieces 3 --within 18 --mirror", "the covered cells are not whole rows"),
        ("build --side 5 --pieces 4 --mirror", "the goal is not whole rows"),
        ("build --side 5 --pieces 1 --mirror", "a single piece"),
        ("convert part.sht --encoding mod3 --mirror -o new.sht", "the covered cells are not whole rows"),
    ] {
        let error = env.run(words).failure();
        assert!(error.contains(reason), "{error}");
    }
    env.run("convert part.sht --encoding mod3 -o new.sht").success();
    assert_eq!(env.json("info --json new.sht")["mirrored"], false);
}

#[test]
fn info_shows_how_blocks_are_compressed() {
    let env = TestEnv::new();
    env.run("build --side 5 --pieces 4 --encoding zstd --block-states 1024 --level 5").success();
    let info = env.json("info --json 5x5-4-zstd");
    assert_eq!((&info["encoding"], &info["block_states"], &info["level"]), (&"zstd".into(), &1024.into(), &5.into()));
    let bits = 8.0 * info["bytes"].as_f64().unwrap() / info["states"].as_f64().unwrap();
    assert_eq!(info["bits_per_state"], bits);
    let text = env.run("info 5x5-4-zstd").success();
    assert!(text.contains("blocks of 1,024 states, zstd level 5"), "{text}");
    let json = env.run("convert 5x5-4-zstd --encoding byte -o byte.sht --json").success();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["encoding"], &json["block_states"]), (&"byte".into(), &Value::Null));
}

#[test]
fn invalid_conversions_are_refused() {
    let env = TestEnv::new();
    env.run("build --side 4 --pieces 3 -o t.sht").success();
    let right = bytes(&env, "t.sht");
    let mut damaged = right.clone();
    damaged[4500] ^= 1;
    env.file("damaged.sht", damaged);
    env.file("text.sht", "text");
    for (words, expected) in [
        ("convert absent.sht --encoding mod3 -o new.sht", "absent.sht: there is no such file"),
        ("convert text.sht --encoding mod3 -o new.sht", "text.sht: this is not a Sternhalma table"),
        ("convert damaged.sht --encoding mod3 -o new.sht", "damaged.sht: the table is damaged"),
        (
            "convert t.sht --encoding mod3 -o t.sht",
            "this is an input (t.sht), which would be destroyed; name another file",
        ),
        (
            "convert t.sht --encoding mod3 -o t.sht --force",
            "this is an input (t.sht), which would be destroyed; name another file",
        ),
        ("convert t.sht --encoding mod3 -o text.sht", "text.sht: the file exists; --force replaces it"),
        ("convert t.sht --encoding zstd --block-states 1000 -o new.sht", "a power of two of states"),
        ("convert t.sht --encoding zstd --level 23 -o new.sht", "a zstd level of 1 to 22, got 23"),
        ("convert t.sht --encoding ans --level 3 -o new.sht", "--level needs --encoding zstd, not `ans`"),
        ("convert t.sht --encoding ans --block-states 1000 -o new.sht", "a power of two of states"),
        ("convert t.sht --encoding mod3 --block-states 64 -o new.sht", "--block-states needs --encoding zstd or ans"),
        ("convert t.sht --encoding byte --level 3 -o new.sht", "--level needs --encoding zstd, not `byte`"),
    ] {
        let error = env.run(words).failure();
        assert!(error.contains(expected), "{words}: {error}");
    }
    let unknown = env.run("convert t.sht --encoding lzma -o new.sht");
    assert!(unknown.code == 2 && unknown.err.contains("`byte`, `mod3`, `zstd` or `ans`, got `lzma`"), "{unknown:?}");
    assert_eq!(names(&env.work()), set(["damaged.sht", "t.sht", "text.sht"]));
    assert!(bytes(&env, "t.sht") == right);
}

#[test]
fn a_table_names_its_commands_and_keeps_its_contents_checksum() {
    let env = TestEnv::new();
    env.run("build --side 5 --pieces 6 -o a.sht").success();
    env.run("convert a.sht --encoding ans -o b.sht").success();
    env.run("convert b.sht --encoding mod3 --no-mirror -o c.sht").success();
    let [a, b, c] = ["a", "b", "c"].map(|file| env.json(&format!("info {file}.sht --contents --json")));
    assert_eq!(a["command"], serde_json::json!(["sternhalma", "build", "--side", "5", "--pieces", "6", "-o", "a.sht"]));
    assert!(a["cpu_level"].is_string() && a.get("conversions").is_none());
    assert_eq!([&b["command"], &b["built"]], [&a["command"], &a["built"]]);
    let steps = c["conversions"].as_array().unwrap();
    let from = steps.iter().map(|step| (&step["encoding"], &step["mirrored"], &step["checksum"]));
    let tables = [(&a["encoding"], &a["mirrored"], &a["checksum"]), (&b["encoding"], &b["mirrored"], &b["checksum"])];
    assert!(from.eq(tables), "{steps:?}");
    assert_eq!(steps[1]["command"][2], "b.sht");
    assert!(a["checksum"] != b["checksum"]);
    assert_eq!([&b["contents_checksum"], &c["contents_checksum"]], [&a["contents_checksum"]; 2]);
    let text = env.run("info c.sht --contents").success();
    let contents = format!("contents  {}\n", a["contents_checksum"].as_str().unwrap());
    for line in [&contents, "command   sternhalma convert b.sht --encoding mod3 --no-mirror -o c.sht\n"] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_converted_table_has_its_place_and_can_be_removed() {
    let env = TestEnv::new();
    env.build("--side 4 --pieces 2");
    env.run("convert 4x4-2 --encoding byte --force").exit(2);
    let path = env.tables().join("4x4-2-ans.sht");
    assert_eq!(env.run("convert 4x4-2 --encoding ans").success(), format!("{}\n", path.display()));
    env.run("tables --remove 4x4-3").exit(2);
    env.file("other.sht", "");
    env.run("tables --remove other.sht").exit(2);
    assert!(env.path("other.sht").exists());
    assert_eq!(env.run("tables --remove 4x4-2-ans").success(), format!("{}\n", path.display()));
    assert!(!path.exists() && env.tables().join("4x4-2.sht").exists());
}
