//! The command line from end to end: what is printed, which exit code comes
//! with it, and what is left on disk.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use sternhalma_data::{
    Board, CellSet, Encoding, Geometry, Layout, NewTable, Position, Prefix, Rank, Side, States, Table, army_moves,
    checksum,
};
use tempfile::TempDir;

const ENCODINGS: [&str; 3] = ["byte", "mod3", "zstd"];

/// A tables directory, not there yet, and an empty directory to run in.
struct Place {
    root: TempDir,
}

impl Place {
    fn new() -> Place {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("work")).unwrap();
        Place { root }
    }

    fn tables(&self) -> PathBuf {
        self.root.path().join("tables")
    }

    fn table(&self, name: &str) -> PathBuf {
        self.tables().join(name)
    }

    fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// A file in the working directory.
    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn at_home(&self, mut command: Command) -> Command {
        command.env("STERNHALMA_TABLES", self.tables()).current_dir(self.work()).stdin(Stdio::null());
        command
    }

    fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sternhalma"));
        command.args(args);
        self.at_home(command)
    }

    fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// Runs words set apart by blanks.
    fn say(&self, words: &str) -> Ran {
        self.run(words.split_whitespace())
    }

    fn json(&self, words: &str) -> Value {
        serde_json::from_str(&self.say(words).answered()).unwrap()
    }

    /// Builds a table and returns its path.
    fn build(&self, words: &str) -> PathBuf {
        let printed = self.say(&format!("build {words}")).answered();
        PathBuf::from(printed.strip_suffix('\n').expect("a line"))
    }

    /// Runs a query that is fed `input`.
    fn feed<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>, input: &[u8]) -> Ran {
        let mut child =
            self.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
        let writer = thread::spawn(move || stdin.write_all(&input));
        let ran = Ran::of(child.wait_with_output().unwrap());
        writer.join().unwrap().unwrap();
        ran
    }
}

/// What came of a command, which ended by itself.
#[derive(Debug)]
struct Ran {
    code: i32,
    bytes: Vec<u8>,
    err: String,
}

impl Ran {
    fn of(output: Output) -> Ran {
        let err = String::from_utf8(output.stderr).unwrap();
        let code = output.status.code();
        let code = code.unwrap_or_else(|| panic!("{} ended the command: {err}", output.status));
        assert!(!err.contains("panicked"), "{err}");
        Ran { code, bytes: output.stdout, err }
    }

    fn out(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("text")
    }

    /// What is printed with exit code 0.
    fn answered(self) -> String {
        self.ended(0)
    }

    fn ended(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        self.out().to_owned()
    }

    /// The error of a command that failed: exit code 2, and one line on
    /// stderr but for those that tell of progress.
    fn failed(self) -> String {
        assert_eq!(self.code, 2, "{self:?}");
        let lines: Vec<&str> = self.err.lines().collect();
        let (error, progress) = lines.split_last().expect("a failure is told");
        assert!(error.starts_with("error: ") && error.len() > "error: ".len(), "{self:?}");
        let tells = [
            "building ",
            "in memory: ",
            "out of core: ",
            "work directory ",
            "work files: ",
            "layer ",
            "writing: ",
            "checksums: ",
            "proof: ",
            "comparison: ",
        ];
        assert!(progress.iter().all(|line| tells.iter().any(|tells| line.starts_with(tells))), "{self:?}");
        (*error).to_owned()
    }

    /// The error of a command that failed before it did anything.
    fn refused(self) -> String {
        assert_eq!(self.bytes, b"", "{self:?}");
        assert_eq!(self.err.lines().count(), 1, "{self:?}");
        self.failed()
    }
}

fn names(dir: &Path) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(dir) else { return BTreeSet::new() };
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn ndjson(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
}

/// A running query whose lines are read as they come.
struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Talk {
    fn new(mut command: Command) -> Talk {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        Talk { child, stdin, lines }
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn answer(&mut self) -> Value {
        let line = self.lines.recv_timeout(Duration::from_secs(10)).expect("an answer before the next line is sent");
        serde_json::from_str(&line).unwrap()
    }

    /// Ends the input and waits for the command.
    fn end(mut self) -> Ran {
        drop(self.stdin.take());
        Ran::of(self.child.wait_with_output().unwrap())
    }
}

// Tables.

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
        let place = Place::new();
        assert_eq!(place.build(words), place.table(name), "{words}");
        assert_eq!(names(&place.tables()), BTreeSet::from([name.to_owned()]));
        assert_eq!(names(&place.work()), BTreeSet::new());
    }
    let place = Place::new();
    assert_eq!(place.build("--side 3 --pieces 2 -o new/dir/any.name"), Path::new("new/dir/any.name"));
    assert_eq!(names(&place.work().join("new/dir")), BTreeSet::from(["any.name".to_owned()]));
    assert_eq!(place.build("--side 3 --pieces 2 -o here"), Path::new("here"));
    assert_eq!(place.build("--side 3 --pieces 2 --tables other"), Path::new("other/3x3-2.sht"));
    assert_eq!(names(&place.tables()), BTreeSet::new());
}

#[test]
fn tables_are_found_by_path_and_by_name() {
    let place = Place::new();
    let path = place.build("--side 3 --pieces 2");
    let elsewhere = place.root.path().join("elsewhere");
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
        let info = place.json(&format!("info --json {words}"));
        assert_eq!(info["file"], found.to_str().unwrap(), "{words}");
        assert_eq!(info["states"], 36);
    }
    // A file in the working directory goes before one in the tables directory.
    fs::copy(place.build("--side 3 --pieces 1"), place.work().join("3x3-2")).unwrap();
    assert_eq!(place.json("info --json 3x3-2")["pieces"], 1);
    let error = place.say("info 4x4-2").refused();
    assert!(error.contains("4x4-2") && error.contains(place.tables().to_str().unwrap()), "{error}");
    assert!(error.contains("sternhalma build"), "{error}");
}

#[test]
fn a_table_is_replaced_by_force_alone() {
    let place = Place::new();
    let path = place.build("--side 5 --pieces 3 --threads 2");
    let bytes = fs::read(&path).unwrap();
    let error = place.say("build --side 5 --pieces 3 --threads 1").failed();
    assert!(error.contains("--force") && error.contains(path.to_str().unwrap()), "{error}");
    assert!(fs::read(&path).unwrap() == bytes);
    let info = place.json("build --side 5 --pieces 3 --threads 1 --force --json");
    assert_eq!(info["threads"], 1);
    assert_eq!(names(&place.tables()), BTreeSet::from(["5x5-3.sht".to_owned()]));

    fs::write(&path, "precious").unwrap();
    place.say("build --side 5 --pieces 3").failed();
    assert_eq!(fs::read(&path).unwrap(), b"precious");
}

#[test]
fn a_load_budget_changes_no_answer() {
    let place = Place::new();
    place.build("--side 7 --pieces 3");
    let query = "query 7x7-3 #0 #1 #9000 #18423 --format csv";
    let told = place.say(query).answered();
    for budget in ["0", "1", "4096", "9kB", "64KiB", "1.5MiB", "4GiB", "4GB"] {
        assert_eq!(place.say(&format!("{query} --load-budget {budget}")).answered(), told);
        assert_eq!(place.say(&format!("--load-budget {budget} {query}")).answered(), told);
        place.say(&format!("verify --deep 7x7-3 --load-budget {budget}")).answered();
    }
    for budget in ["4XB", "GiB", "1e9", "4,5GB"] {
        let ran = place.say(&format!("{query} --load-budget {budget}"));
        let first = ran.err.lines().next().unwrap();
        assert_eq!((ran.code, ran.bytes.is_empty()), (2, true), "{ran:?}");
        assert!(first.starts_with("error: ") && first.contains(budget) && first.contains("`4GiB`"), "{ran:?}");
    }
}

#[test]
fn info_tells_what_a_build_told() {
    let place = Place::new();
    for words in ["", "--encoding mod3", "--within 18", "--within 18 --encoding mod3"] {
        let built = place.say(&format!("build --side 5 --pieces 3 --json {words}")).answered();
        let file = serde_json::from_str::<Value>(&built).unwrap()["file"].as_str().unwrap().to_owned();
        assert_eq!(place.say(&format!("info --json {file}")).answered(), built);
    }
}

#[test]
fn the_layers_of_three_pieces_on_side_five_are_known() {
    let place = Place::new();
    let mut identities = Vec::new();
    for (encoding, threads) in [("byte", 1), ("byte", 2), ("mod3", 1), ("mod3", 2)] {
        let words = format!("build --side 5 --pieces 3 --encoding {encoding} --threads {threads} --force --json");
        let info = place.json(&words);
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
    let place = Place::new();
    for (side, pieces, states, distance) in [(4, 6, 8008, 8), (7, 6, 13_983_816, 17), (5, 10, 3_268_760, 13)] {
        for encoding in ENCODINGS {
            let info = place.json(&format!("build --side {side} --pieces {pieces} --encoding {encoding} --json"));
            assert_eq!((&info["states"], &info["start_distance"]), (&json!(states), &json!(distance)));
            assert_eq!(info["exact_to"], Value::Null);
            let layers: Vec<u64> = serde_json::from_value(info["layers"].clone()).unwrap();
            assert_eq!(layers.iter().sum::<u64>(), states);
            assert_eq!(info["max_distance"], layers.len() - 1);
        }
    }
}

#[test]
fn a_prefix_tells_how_far_it_is_exact() {
    let place = Place::new();
    for encoding in ENCODINGS {
        let words = format!("build --side 4 --pieces 3 --within 13 --encoding {encoding} --json --force");
        let info = place.json(&words);
        let expected = json!({
            "side": 4, "pieces": 3, "within": 13, "states": 286, "encoding": encoding, "max_distance": 7,
            "layers": [1, 6, 26, 64, 96, 72, 19, 2], "start_distance": null, "escape_layer": 3, "exact_to": 5,
        });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(info.get(key), Some(value), "{key}");
        }
        let text = place.say(&format!("info {}", info["file"].as_str().unwrap())).answered();
        for words in ["4x4, 3 pieces, within 13 cells", "not covered", "up to 5", "7 moves", encoding] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}

#[test]
fn a_prefix_is_compared_with_the_whole() {
    let place = Place::new();
    place.build("--side 5 --pieces 3");
    place.build("--side 5 --pieces 3 --within 12 --encoding mod3");
    let found = place.json("compare 5x5-3-within12-mod3 5x5-3 --json");
    assert_eq!((&found["states"], &found["within"]), (&json!(220), &json!([12, 25])));
    assert_eq!((&found["proven_differ"], &found["impossible"]), (&json!(0), &json!(0)));
    let rows = found["by_distance"].as_array().unwrap();
    let sum = |key: &str| rows.iter().map(|row| row[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("states"), json!(sum("differ"))), (220, found["differ"].clone()));
    let mut turned = place.json("compare 5x5-3 5x5-3-within12-mod3 --json --threads 1");
    assert_eq!(turned["within"], json!([25, 12]));
    ["a", "b", "within"].into_iter().for_each(|key| turned[key] = found[key].clone());
    assert_eq!(turned, found);
    let text = place.say("compare 5x5-3-within12-mod3 5x5-3").answered();
    assert!(text.contains("compared  220 states") && text.contains("none of them differs"), "{text}");
    let same = place.say("compare 5x5-3 5x5-3").answered();
    assert!(same.contains("differ    no state") && same.contains("all distances"), "{same}");

    place.build("--side 5 --pieces 2");
    let error = place.say("compare 5x5-3 5x5-2").refused();
    assert!(error.contains("5x5, 3 pieces") && error.contains("5x5, 2 pieces"), "{error}");
    assert!(place.say("compare 5x5-3 5x5-4").refused().contains("sternhalma build"));
}

#[test]
fn tables_that_contradict_each_other_end_with_code_2() {
    let place = Place::new();
    let path = place.build("--side 5 --pieces 3");
    let table = Table::open(&path).unwrap();
    let mut data = table.distances().unwrap().into_owned();
    data.swap(1, 2299);
    let writer = NewTable::create(&place.work().join("forged.sht"), false).unwrap();
    let mut writer = writer.begin(table.info().clone()).unwrap();
    for number in 0..writer.layout().blocks() {
        let place = writer.layout().block(number).bytes;
        let bytes = &data[place.start as usize..place.end as usize];
        writer.write_block(bytes, checksum(bytes)).unwrap();
    }
    writer.finish(table.provenance()).unwrap();
    let ran = place.say("compare 5x5-3 forged.sht --json");
    let found: Value = serde_json::from_slice(&ran.bytes).unwrap();
    assert_eq!((&found["differ"], &found["impossible"], &found["proven_differ"]), (&json!(2), &json!(2), &json!(2)));
    let error = ran.failed();
    assert!(error.contains("2 states differ in a way that correct tables cannot"), "{error}");
    let text = place.say("compare 5x5-3 forged.sht");
    assert!(text.out().contains("2 of them differ, which is impossible"), "{text:?}");
    assert_eq!(text.code, 2);
}

#[test]
fn info_lists_the_partitions_when_asked() {
    let place = Place::new();
    for (encoding, last) in [("byte", 276), ("mod3", 69)] {
        let info = place.json(&format!("build --side 5 --pieces 3 --encoding {encoding} --force --json"));
        let file = info["file"].as_str().unwrap();
        let rows = info["partitions"].as_array().unwrap();
        assert_eq!(rows.len(), 23);
        let first = json!({ "back": "d5", "within": 3, "states": 1, "share": 1.0 / 2300.0, "bytes": 1 });
        assert_eq!(rows[0], first);
        assert_eq!(rows[22], json!({ "back": "a1", "within": 25, "states": 276, "share": 0.12, "bytes": last }));
        let short = place.say(&format!("info {file}")).answered();
        let long = place.say(&format!("info {file} --partitions")).answered();
        let list: Vec<&str> = long.strip_prefix(short.as_str()).unwrap().lines().collect();
        assert_eq!(list.len(), 24);
        let words: Vec<&str> = list[23].split_whitespace().collect();
        assert_eq!(words, ["a1", "25", "276", "12.000%", "2,300", "100.000%"]);
    }
}

#[test]
fn info_in_words_lists_the_layers() {
    let place = Place::new();
    place.build("--side 5 --pieces 3");
    let text = place.say("info 5x5-3").answered();
    assert!(text.contains("11 moves from the goal") && text.contains("all distances"), "{text}");
    let layers: Vec<&str> = text.lines().skip_while(|line| *line != "distance  states").skip(1).collect();
    let layers: Vec<Vec<&str>> = layers.iter().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(layers.len(), 12);
    assert_eq!((&layers[0], &layers[7], &layers[11]), (&vec!["0", "1"], &vec!["7", "488"], &vec!["11", "16"]));
}

// Verification.

#[test]
fn whole_and_cut_tables_are_verified() {
    let place = Place::new();
    for words in ["", "--within 18"] {
        for encoding in ENCODINGS {
            let info = place.json(&format!("build --side 5 --pieces 3 --encoding {encoding} {words} --json"));
            let file = info["file"].as_str().unwrap();
            for (option, deep, what) in [("", false, "all checksums match"), ("--deep", true, "every distance proven")]
            {
                let told = place.json(&format!("verify --json --threads 2 {option} {file}"));
                let expected = json!({
                    "file": file, "ok": true, "deep": deep, "states": info["states"], "checksum": info["checksum"],
                });
                assert_eq!(told, expected);
                let text = place.say(&format!("verify {option} {file}")).answered();
                assert!(text.contains(what) && text.contains(info["checksum"].as_str().unwrap()), "{text}");
                assert_eq!(text.lines().count(), 1);
            }
        }
    }
}

#[test]
fn a_damaged_table_is_named_and_refused() {
    let place = Place::new();
    for encoding in ENCODINGS {
        let bytes = fs::read(place.build(&format!("--side 4 --pieces 3 --encoding {encoding} --force"))).unwrap();
        let data = 4096 + Layout::new(Prefix::whole(Board::new(4, 3).unwrap()), Encoding::Byte).block(0).bytes.start;
        for (what, at) in [("header", 24), ("layers", 130), ("data", data as usize), ("record", bytes.len() - 20)] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            place.file("damaged.sht", &damaged);
            for words in ["verify damaged.sht", "verify --deep damaged.sht"] {
                let ran = place.say(words);
                assert_eq!(ran.out(), "", "{what}");
                let error = ran.failed();
                assert!(error.contains("damaged.sht: the table is damaged: "), "{what}: {error}");
            }
        }
        // A look-up reads the damaged block, and an export reads them all.
        let mut damaged = bytes.clone();
        damaged[data as usize] ^= 1;
        place.file("damaged.sht", &damaged);
        for words in ["query damaged.sht #0", "line damaged.sht #0", "export damaged.sht", "export damaged.sht -o out"]
        {
            let error = place.say(words).refused();
            assert!(error.contains("damaged.sht: the table is damaged: block 0"), "{words}: {error}");
        }
        assert_eq!(names(&place.work()), BTreeSet::from(["damaged.sht".to_owned()]));
    }
}

// Look-ups.

/// The army of x at home on side 5 is 11 moves from the goal, and has the last rank.
#[test]
fn a_state_is_asked_for_in_any_form() {
    let place = Place::new();
    for encoding in ENCODINGS {
        let name = place.build(&format!("--side 5 --pieces 3 --encoding {encoding}"));
        for (words, state) in [
            (vec!["a1,b1,a2"], "a1,a2,b1"),
            (vec![" b1, a1 ,a2"], "a1,a2,b1"),
            (vec!["#2299"], "a1,a2,b1"),
            (vec!["3oo/4o/5/x4/xx3 x 0"], "a1,a2,b1"),
            (vec!["3oo/4o/5/x4/xx3 o 17"], "a1,a2,b1"),
            (vec!["--player", "x", "a1,b1,a2"], "a1,a2,b1"),
            (vec!["--player", "o", "e5,d5,e4"], "d5,e4,e5"),
            (vec!["--player", "o", "#2299"], "d5,e4,e5"),
            (vec!["--player", "o", "3oo/4o/5/x4/xx3 x 0"], "d5,e4,e5"),
        ] {
            let args = ["query", name.to_str().unwrap()].into_iter().chain(words.iter().copied());
            let text = place.run(args).answered();
            assert_eq!(text, format!("{state}  rank 2299  distance 11  exact\n"), "{words:?}");
        }
        let text = place.say(&format!("query {} a1,a2,b1 --player o", name.display())).answered();
        assert_eq!(text, "a1,a2,b1  rank 0  distance 0  exact\n");
    }
}

#[test]
fn every_format_says_the_same() {
    let place = Place::new();
    let name = place.build("--side 4 --pieces 3 --within 13");
    let file = name.to_str().unwrap();
    // Ranks of the prefix end at 285; distances above 5 are bounds.
    let table = Table::open(&name).unwrap();
    let bound = table.distances().unwrap().iter().position(|&distance| distance == 7).unwrap();
    let asked = ["#0".to_owned(), format!("#{bound}"), "a1,a2,b1".to_owned()];
    let run = |format: &str| {
        let ran = place.run(["query", file, "--format", format].into_iter().chain(asked.iter().map(String::as_str)));
        assert_eq!(ran.err, "");
        ran.ended(1)
    };
    let bound_state = table.prefix().board().geometry().cells_text(Rank(bound as u64).state(3).turned(16));
    let rows = json!([
        { "state": "c4,d3,d4", "rank": 0, "distance": 0, "exact": true },
        { "state": bound_state, "rank": bound, "distance": 7, "exact": false },
        { "state": "a1,a2,b1", "rank": 559, "distance": null, "exact": null },
    ]);
    assert_eq!(serde_json::from_str::<Value>(&run("json")).unwrap(), rows);
    assert_eq!(Value::from(ndjson(&run("ndjson"))), rows);
    assert_eq!(
        run("text"),
        format!(
            "c4,d3,d4  rank 0  distance 0  exact\n{bound_state}  rank {bound}  distance 7  upper bound\n\
             a1,a2,b1  rank 559  not covered\n"
        )
    );
    let text = run("csv");
    assert!(text.starts_with("state,rank,distance,exact,error\n\"c4,d3,d4\",0,0,true,\n"), "{text}");
    assert_eq!(
        csv_rows(&text)[1..],
        [
            vec!["c4,d3,d4", "0", "0", "true", ""],
            vec![&bound_state, &bound.to_string(), "7", "false", ""],
            vec!["a1,a2,b1", "559", "", "", ""]
        ]
    );
}

/// The moves of a row agree with the rules and with look-ups of where they
/// lead, all as the player sees the board.
#[test]
fn moves_are_listed_best_first() {
    let place = Place::new();
    let board = Board::new(5, 3).unwrap();
    let geometry = board.geometry();
    for (words, encoding) in [("", "byte"), ("", "mod3"), ("--within 18", "byte"), ("--within 18", "mod3")] {
        let name = place.build(&format!("--side 5 --pieces 3 --encoding {encoding} {words}"));
        for player in ["x", "o"] {
            let query = |args: &[&str], input: &str| {
                let args = ["query", name.to_str().unwrap(), "--stdin", "--format", "ndjson", "--player", player]
                    .into_iter()
                    .chain(args.iter().copied());
                let ran = place.feed(args, input.as_bytes());
                assert!(ran.code < 2, "{ran:?}");
                ndjson(ran.out())
            };
            let asked: String = (0..800).step_by(111).map(|rank| format!("#{rank}\n")).collect();
            for row in query(&["--moves"], &asked) {
                let army = geometry.parse_cells(row["state"].as_str().unwrap()).unwrap();
                let moves = row["moves"].as_array().unwrap();
                let found: BTreeSet<&str> = moves.iter().map(|mv| mv["move"].as_str().unwrap()).collect();
                let legal: BTreeSet<String> =
                    army_moves(geometry, army, CellSet::EMPTY).map(|mv| geometry.move_text(mv)).collect();
                assert_eq!(found, legal.iter().map(String::as_str).collect());
                assert_eq!(moves.len(), found.len());

                let distances: Vec<u64> = moves.iter().map(|mv| mv["distance"].as_u64().unwrap_or(u64::MAX)).collect();
                assert!(distances.is_sorted(), "{distances:?}");
                let distance = row["distance"].as_u64().unwrap();
                assert_eq!(distances[0], distance.checked_sub(1).unwrap_or(1));

                let after = moves.iter().map(|mv| {
                    let mv = geometry.parse_move(mv["move"].as_str().unwrap()).unwrap();
                    geometry.cells_text(army.without(mv.from).with(mv.to)) + "\n"
                });
                for (mv, after) in moves.iter().zip(query(&[], &after.collect::<String>())) {
                    assert_eq!((&mv["distance"], &mv["exact"]), (&after["distance"], &after["exact"]));
                }
            }
        }
    }
}

#[test]
fn moves_are_listed_in_every_format() {
    let place = Place::new();
    place.build("--side 5 --pieces 3 --within 18");
    let run = |format: &str| place.say(&format!("query 5x5-3-within18 --moves --format {format} #500 #1")).answered();
    let rows: Vec<Value> = serde_json::from_str(&run("json")).unwrap();
    assert_eq!(ndjson(&run("ndjson")), rows);
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut csv = vec![
        ["state", "rank", "distance", "exact", "move", "distance_after", "exact_after", "error"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut lines = 0;
    for row in &rows {
        let own = ["state", "rank", "distance", "exact"].map(|key| text(&row[key]));
        for mv in row["moves"].as_array().unwrap() {
            let after = ["move", "distance", "exact"].map(|key| text(&mv[key]));
            csv.push(own.iter().chain(&after).cloned().chain([String::new()]).collect());
        }
        lines += 1 + row["moves"].as_array().unwrap().len();
    }
    assert!(csv.iter().any(|row| row[5].is_empty()), "a move leads out of the prefix");
    assert_eq!(csv_rows(&run("csv")), csv);
    let printed = run("text");
    assert_eq!(printed.lines().count(), lines);
    assert_eq!(printed.lines().filter(|line| line.starts_with("  ")).count(), lines - 2);
}

/// A state outside the table has a row in every format, with moves or without.
#[test]
fn an_uncovered_state_has_a_row_in_every_format() {
    let place = Place::new();
    place.build("--side 5 --pieces 3 --within 18");
    for moves in ["", "--moves"] {
        let run =
            |format: &str| place.say(&format!("query 5x5-3-within18 {moves} --format {format} a1,a2,b1")).ended(1);
        let rows: Vec<Value> = serde_json::from_str(&run("json")).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(ndjson(&run("ndjson")), rows);
        assert_eq!((&rows[0]["distance"], &rows[0]["exact"]), (&Value::Null, &Value::Null));
        assert_eq!(rows[0].get("moves"), (!moves.is_empty()).then_some(&json!([])));
        assert_eq!(run("text"), "a1,a2,b1  rank 2299  not covered\n");
        let csv = csv_rows(&run("csv"));
        assert_eq!(csv.len(), 2, "a header and a row with `{moves}`");
        assert_eq!(csv[1][..3], ["a1,a2,b1", "2299", ""]);
        assert_eq!(csv[1].len(), csv[0].len());
    }
}

#[test]
fn bad_lines_are_answered_in_their_place() {
    let place = Place::new();
    place.build("--side 5 --pieces 3");
    let input = "#0\nnonsense\n\n#2299\r\na1,b1\n#2300\n\u{fffd}\n  a1,a2,b1  \n#1";
    let mut bytes = input.as_bytes().to_vec();
    // A line that is no text.
    let at = input.find('\u{fffd}').unwrap();
    bytes.splice(at..at + '\u{fffd}'.len_utf8(), [0xff, 0xfe]);
    let run = |format: &str| {
        let ran = place.feed(["query", "5x5-3", "--stdin", "--format", format], &bytes);
        assert_eq!(ran.err, "");
        ran.ended(2)
    };
    let rows = ndjson(&run("ndjson"));
    let ranks: Vec<Option<u64>> = rows.iter().map(|row| row["rank"].as_u64()).collect();
    assert_eq!(ranks, [Some(0), None, None, Some(2299), None, None, None, Some(2299), Some(1)]);
    for (i, row) in rows.iter().enumerate().filter(|(_, row)| row["rank"].is_null()) {
        assert_eq!(row["line"], i + 1);
        assert!(!row["error"].as_str().unwrap().is_empty());
        assert!(row.get("distance").is_none());
    }
    assert_eq!((&rows[1]["input"], &rows[5]["input"]), (&json!("nonsense"), &json!("#2300")));
    assert!(rows[4]["error"].as_str().unwrap().contains("2 pieces"));
    assert!(rows[5]["error"].as_str().unwrap().contains("#0 to #2299"));

    assert_eq!(serde_json::from_str::<Value>(&run("json")).unwrap(), Value::from(rows.clone()));
    let csv = csv_rows(&run("csv"));
    assert_eq!(csv.len(), 1 + rows.len());
    for (cells, row) in csv[1..].iter().zip(&rows) {
        let error = row["error"].as_str().unwrap_or_default();
        let state = row.get("state").or(row.get("input")).unwrap().as_str().unwrap();
        assert_eq!((cells[0].as_str(), cells[4].as_str(), cells.len()), (state, error, 5));
    }
    let text = run("text");
    let bad: Vec<&str> = text.lines().filter(|line| line.starts_with("error: line ")).collect();
    assert_eq!((text.lines().count(), bad.len()), (9, 5));
    assert!(bad[0].starts_with("error: line 2: `nonsense`"), "{}", bad[0]);
}

#[test]
fn bad_lines_have_a_row_as_wide_as_the_header() {
    let place = Place::new();
    place.build("--side 3 --pieces 2");
    for (moves, width) in [(None, 5), (Some("--moves"), 8)] {
        let args = ["query", "3x3-2", "--stdin", "--format", "csv"].into_iter().chain(moves);
        let rows = csv_rows(&place.feed(args, b"bad, very\n").ended(2));
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [width; 2]);
        assert_eq!(rows[1][0], "bad, very");
        assert!(rows[1][width - 1].contains("`bad`"));
        assert_eq!(rows[0][width - 1], "error");
    }
}

#[test]
fn the_exit_code_of_many_states_is_that_of_the_worst() {
    let place = Place::new();
    place.build("--side 5 --pieces 3 --within 10");
    for (input, code) in [
        ("", 0),
        ("#0\n", 0),
        ("#0\n#2299\n", 1),
        ("#2299\n#0\n", 1),
        ("#2299\nbad\n", 2),
        ("bad\n#2299\n", 2),
        ("bad\n#0\n", 2),
    ] {
        let ran = place.feed(["query", "5x5-3-within10", "--stdin"], input.as_bytes());
        assert_eq!((ran.code, ran.out().lines().count()), (code, input.lines().count()), "{input:?}");
    }
    let ran = place.feed(["query", "5x5-3-within10", "--stdin", "--format", "json"], b"");
    assert_eq!(ran.answered(), "[]\n");
    // States of the command line come first.
    let rows = ndjson(&place.feed("query 5x5-3-within10 #3 --stdin --format ndjson".split(' '), b"#4\n").answered());
    assert_eq!(rows.iter().map(|row| row["rank"].as_u64().unwrap()).collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn a_conversation_is_answered_line_by_line() {
    let place = Place::new();
    place.build("--side 5 --pieces 3");
    let mut talk = Talk::new(place.command(["query", "5x5-3", "--stdin", "--moves", "--format", "ndjson"]));
    let mut state = "a1,a2,b1".to_owned();
    let geometry = Board::new(5, 3).unwrap().geometry();
    // Each question is made from the answer before it.
    for distance in (0..=11).rev() {
        talk.tell(&state);
        let row = talk.answer();
        assert_eq!((&row["state"], &row["distance"]), (&json!(state), &json!(distance)));
        let mv = geometry.parse_move(row["moves"][0]["move"].as_str().unwrap()).unwrap();
        let army = geometry.parse_cells(&state).unwrap();
        state = geometry.cells_text(army.without(mv.from).with(mv.to));
    }
    talk.tell("nonsense");
    assert_eq!(talk.answer()["line"], 13);
    talk.tell("#7");
    assert_eq!(talk.answer()["rank"], 7);
    let ran = talk.end();
    assert_eq!((ran.code, ran.err.as_str()), (2, ""));
}

// Lines.

/// Plays a line and returns how many moves it takes to the goal.
fn replay(board: Board, player: Side, state: &str, line: &str) -> usize {
    let geometry: &Geometry = board.geometry();
    let mut army = geometry.parse_cells(state).unwrap();
    for text in line.split_whitespace() {
        let mv = geometry.parse_move(text).unwrap();
        let legal = army_moves(geometry, army, CellSet::EMPTY).any(|legal| legal == mv);
        assert!(legal, "{text} of {line} from {state}");
        army = army.without(mv.from).with(mv.to);
    }
    assert_eq!(army, Position::initial(board).army(player.other()), "{line} from {state} ends in the goal");
    line.split_whitespace().count()
}

#[test]
fn lines_are_legal_shortest_solutions() {
    let place = Place::new();
    for (side, pieces, last, start) in [(5, 3, 2299, 11), (4, 6, 8007, 8), (5, 10, 3_268_759, 13)] {
        let board = Board::new(side, pieces).unwrap();
        for encoding in ENCODINGS {
            let name = place.build(&format!("--side {side} --pieces {pieces} --encoding {encoding}"));
            for (text, player) in [("x", Side::X), ("o", Side::O)] {
                for rank in [0, 1, last / 3, last / 2, last - 1, last] {
                    let words = format!("{} #{rank} --player {text}", name.display());
                    let row = ndjson(&place.say(&format!("query {words} --format ndjson")).answered()).remove(0);
                    let state = row["state"].as_str().unwrap();
                    let line = place.say(&format!("line {words}")).answered();
                    assert_eq!(line.lines().count(), 1);
                    assert_eq!(row["distance"], replay(board, player, state, &line));
                    let told = place.json(&format!("line {words} --json"));
                    let moves: Vec<&str> = line.split_whitespace().collect();
                    let expected = json!({
                        "state": state, "rank": rank, "distance": moves.len(), "exact": true, "moves": moves,
                    });
                    assert_eq!(told, expected);
                }
                let home = board.geometry().cells_text(Position::initial(board).army(player));
                let line = place.say(&format!("line {} {home} --player {text}", name.display())).answered();
                assert_eq!(replay(board, player, &home, &line), start);
            }
        }
    }
}

#[test]
fn a_line_of_an_upper_bound_is_as_long_as_the_bound() {
    let place = Place::new();
    let board = Board::new(4, 3).unwrap();
    for encoding in ENCODINGS {
        let name = place.build(&format!("--side 4 --pieces 3 --within 13 --encoding {encoding}"));
        let distances = Table::open(&name).unwrap().distances().unwrap().into_owned();
        for rank in (0..distances.len()).filter(|&rank| distances[rank] >= 6) {
            let told = place.json(&format!("line {} #{rank} --json", name.display()));
            assert_eq!((&told["exact"], &told["distance"]), (&json!(false), &json!(distances[rank])));
            let line: Vec<String> = serde_json::from_value(told["moves"].clone()).unwrap();
            let moves = replay(board, Side::X, told["state"].as_str().unwrap(), &line.join(" "));
            assert_eq!(moves, usize::from(distances[rank]));
        }
        let ran = place.say(&format!("line {} a1,a2,b1", name.display()));
        assert!(ran.err.contains("a1,a2,b1") && ran.err.contains("does not cover"), "{ran:?}");
        assert_eq!(ran.ended(1), "");
        let ran = place.say(&format!("line {} a1,a2,b1 --json", name.display()));
        let told: Value = serde_json::from_str(&ran.ended(1)).unwrap();
        assert_eq!((&told["moves"], &told["distance"], &told["rank"]), (&Value::Null, &Value::Null, &json!(559)));
    }
}

// Ranks.

#[test]
fn ranks_and_states_go_both_ways() {
    let place = Place::new();
    for (side, pieces, ranks) in [
        (9, 10, vec![0u64, 1, 2, 1_000_000_007, 939_196_203_660, 1_878_392_407_318, 1_878_392_407_319]),
        (9, 6, vec![0, 85_320, 324_540_215]),
        (3, 8, vec![0, 8]),
        (11, 15, vec![0, 1 << 60]),
    ] {
        let board = format!("--side {side} --pieces {pieces}");
        for player in ["x", "o"] {
            for &rank in &ranks {
                let words = format!("{board} --player {player}");
                let state = place.say(&format!("unrank {words} {rank}")).answered();
                let state = state.trim();
                assert_eq!(place.say(&format!("rank {words} {state}")).answered(), format!("{rank}\n"));
                assert_eq!(place.say(&format!("unrank {words} #{rank}")).answered().trim(), state);
                let both = json!({ "state": state, "rank": rank });
                assert_eq!(place.json(&format!("unrank {words} {rank} --json")), both);
                assert_eq!(place.json(&format!("rank {words} {state} --json")), both);
            }
        }
    }
}

#[test]
fn the_last_rank_is_home() {
    let place = Place::new();
    let board = Board::new(9, 10).unwrap();
    let initial = Position::initial(board);
    for (text, player) in [("x", Side::X), ("o", Side::O)] {
        let home = board.geometry().cells_text(initial.army(player));
        let last = "1878392407319\n";
        let words = format!("--pieces 10 --player {text}");
        assert_eq!(place.say(&format!("rank {words} {home}")).answered(), last);
        let args = ["rank"].into_iter().chain(words.split(' '));
        let position = initial.to_string();
        assert_eq!(place.run(args.chain([position.as_str()])).answered(), last);
        let goal = board.geometry().cells_text(initial.army(player.other()));
        assert_eq!(place.say(&format!("rank {words} {goal}")).answered(), "0\n");
    }
}

// Export.

fn choose(n: u64, k: u64) -> u64 {
    (0..k).fold(1, |product, i| product * (n - i) / (i + 1))
}

/// C(N,k) - 1 - Σ C(N-1-cᵢ, k-i), with cᵢ the i-th smallest cell and i from 0.
fn lex_rank(cells: u64, state: CellSet) -> u64 {
    let pieces = state.len() as u64;
    let sum: u64 = (0..).zip(state).map(|(i, cell)| choose_or_0(cells - 1 - cell.index() as u64, pieces - i)).sum();
    choose(cells, pieces) - 1 - sum
}

fn choose_or_0(n: u64, k: u64) -> u64 {
    if k > n { 0 } else { choose(n, k) }
}

#[test]
fn exports_do_not_depend_on_the_encoding() {
    let place = Place::new();
    for (side, pieces, alike) in [(3, 1, true), (3, 8, true), (5, 3, false), (4, 6, false)] {
        let prefix = Prefix::whole(Board::new(side, pieces).unwrap());
        let mut exported = Vec::new();
        for encoding in ENCODINGS {
            let name = place.build(&format!("--side {side} --pieces {pieces} --encoding {encoding}"));
            let file = name.to_str().unwrap();
            let ran = ["export", "export --order colex", "export --order lex"]
                .map(|words| place.run(words.split(' ').chain([file])));
            assert!(ran.iter().all(|ran| ran.code == 0 && ran.err.is_empty()), "{ran:?}");
            let [plain, colex, lex] = ran.map(|ran| ran.bytes);
            assert!(plain == colex);

            assert_eq!(place.say(&format!("export {file} -o flat --order lex")).answered(), "");
            assert!(fs::read(place.work().join("flat")).unwrap() == lex);
            // A file that is there is written anew.
            assert_eq!(place.say(&format!("export {file} --output flat")).answered(), "");
            assert!(fs::read(place.work().join("flat")).unwrap() == colex);
            assert_eq!(names(&place.work()), BTreeSet::from(["flat".to_owned()]));
            assert!(place.say(&format!("export {file} -o -")).bytes == colex);

            let table = Table::open(&name).unwrap();
            let mut numbers = BTreeSet::new();
            assert_eq!((colex.len() as u64, lex.len() as u64), (prefix.states(), prefix.states()));
            for (rank, state) in States::all(prefix) {
                let distance = table.probe(state).unwrap().distance().unwrap().0;
                let number = lex_rank(side * side, state);
                assert_eq!((colex[rank.0 as usize], lex[number as usize]), (distance, distance), "{state:?}");
                numbers.insert(number);
            }
            assert_eq!(numbers.len() as u64, prefix.states());
            exported.push((colex, lex));
        }
        assert!(exported[0] == exported[1]);
        assert_eq!(exported[0].0 == exported[0].1, alike);
    }
}

#[test]
fn a_prefix_is_exported_by_rank_alone() {
    let place = Place::new();
    for encoding in ENCODINGS {
        let name = place.build(&format!("--side 4 --pieces 3 --within 13 --encoding {encoding}"));
        let flat = place.run(["export".as_ref(), name.as_os_str()]);
        assert_eq!((flat.code, flat.bytes), (0, Table::open(&name).unwrap().distances().unwrap().into_owned()));
        for out in ["-", "flat"] {
            let error = place.say(&format!("export {} --order lex -o {out}", name.display())).refused();
            assert!(error.contains("--order colex"), "{error}");
        }
        assert_eq!(names(&place.work()), BTreeSet::new());
    }
}

// Bad input.

#[test]
fn bad_files_are_refused_in_a_line() {
    let place = Place::new();
    let bytes = fs::read(place.build("--side 4 --pieces 3")).unwrap();
    let mut later = bytes.clone();
    later[8] = 2;
    let mut other_rules = bytes.clone();
    other_rules[16..23].copy_from_slice(b"hexagon");
    fs::create_dir(place.work().join("dir")).unwrap();
    place.file("text", "a1,b1,c1\n");
    place.file("empty", "");
    place.file("cut", &bytes[..bytes.len() - 1]);
    place.file("cut-in-data", &bytes[..4100]);
    place.file("cut-in-header", &bytes[..100]);
    place.file("cut-in-magic", &bytes[..5]);
    place.file("longer", [&bytes[..], b"\n"].concat());
    place.file("later", later);
    place.file("other-rules", other_rules);
    for (file, why) in [
        ("missing", "there is no such file"),
        ("missing/deep.sht", "there is no such file"),
        ("text/below", "text/below"),
        ("dir", "not a Sternhalma table"),
        ("text", "not a Sternhalma table"),
        ("empty", "not a Sternhalma table"),
        ("cut", "cut short"),
        ("cut-in-data", "cut short"),
        ("cut-in-header", "cut short"),
        ("cut-in-magic", "cut short"),
        ("longer", "damaged"),
        ("later", "version 2"),
        ("other-rules", "hexagon"),
    ] {
        for words in
            ["info", "info --json", "verify", "verify --deep", "query #0", "line #0", "export", "export -o out"]
        {
            let mut args: Vec<&str> = words.split(' ').collect();
            args.insert(1, file);
            let error = place.run(&args).refused();
            assert!(error.contains(why) && error.contains(file), "{args:?}: {error}");
        }
    }
    assert!(!place.work().join("out").exists());
}

#[test]
fn bad_states_are_refused_in_a_line() {
    let place = Place::new();
    place.build("--side 5 --pieces 3");
    for (state, why) in [
        ("a1,b1", "2 pieces are given where the board has 3"),
        ("a1,b1,c1,d1", "4 pieces"),
        ("a1,b1,a1", "`a1` is given twice"),
        ("a1,b1,f1", "`f1` is no cell"),
        ("a1,b1,a6", "`a6` is no cell"),
        ("a1,b1,", "`` is no cell"),
        ("", "`` is no cell"),
        ("hello", "`hello` is no cell"),
        ("#2300", "#0 to #2299"),
        ("#-1", "is no rank"),
        ("#99999999999999999999", "is no rank"),
        ("#", "is no rank"),
        ("3oo/4o/5/x4/xx3", "three fields"),
        ("oo/4o/5/x4/xx3 x 0", "shorter"),
        ("6ooo/7oo/8o/9/9/9/x8/xx7/xxx6 x 0", "9 rows where the board has 5"),
        ("5/5/5/5/5 x 0", "0 pieces"),
    ] {
        for command in [&["query", "5x5-3"][..], &["line", "5x5-3"], &["rank", "--side", "5", "--pieces", "3"]] {
            let error = place.run(command.iter().chain([&state])).refused();
            assert!(error.contains(why), "{command:?} {state}: {error}");
        }
    }
    for rank in ["2300", "", "x", "1.0", "##1"] {
        let error = place.run(["unrank", "--side", "5", "--pieces", "3", rank]).refused();
        assert!(error.contains("#0 to #2299"), "{rank}: {error}");
    }
}

#[test]
fn bad_boards_are_refused_in_a_line() {
    let place = Place::new();
    for (words, why) in [
        ("--pieces 0", "1 to 15 pieces, not 0"),
        ("--pieces 16", "1 to 15 pieces, not 16"),
        ("--side 2 --pieces 1", "3 to 11 cells, not 2"),
        ("--side 12", "3 to 11 cells, not 12"),
        ("--side 300", "3 to 11 cells, not 300"),
        ("--side 18446744073709551615", "3 to 11 cells, not 18446744073709551615"),
        ("--pieces 18446744073709551615", "1 to 15 pieces"),
        ("--side 3 --pieces 9", "1 to 8 pieces, not 9"),
        ("--side 3 --pieces 10", "1 to 8 pieces, not 10"),
    ] {
        for command in ["build", "rank a1", "unrank 0"] {
            let error = place.say(&format!("{command} {words}")).refused();
            assert!(error.contains(why), "{command} {words}: {error}");
        }
    }
    for (words, why) in [
        ("--pieces 3 --within 2", "within 3 to 81 cells, not 2"),
        ("--pieces 3 --within 82", "within 3 to 81 cells, not 82"),
        ("--pieces 3 --within 0", "within 3 to 81 cells, not 0"),
        ("--pieces 3 --within 18446744073709551615", "within 3 to 81 cells"),
    ] {
        let error = place.say(&format!("build {words}")).refused();
        assert!(error.contains(why), "{words}: {error}");
    }
    assert!(!place.tables().exists());
}

#[test]
fn usage_errors_end_with_code_2() {
    let place = Place::new();
    for words in [
        "",
        "nonsense",
        "build --pieces",
        "build --pieces six",
        "build --pieces -1",
        "build --pieces 99999999999999999999",
        "build --within x",
        "build --encoding zip",
        "build extra",
        "info",
        "verify",
        "verify --threads x any",
        "query any",
        "query any #0 --player z",
        "query any #0 --format xml",
        "line any",
        "rank",
        "unrank",
        "export",
        "export any --order random",
    ] {
        let ran = place.say(words);
        assert_eq!((ran.code, ran.out()), (2, ""), "{words}");
        assert!(ran.err.starts_with("error: ") || words.is_empty(), "{words}: {}", ran.err);
        assert!(ran.err.contains("--help") || ran.err.contains("Usage"), "{words}: {}", ran.err);
    }
    assert!(!place.tables().exists());
}

#[test]
fn a_build_too_large_for_memory_does_not_start() {
    let place = Place::new();
    for words in
        ["--pieces 10", "--pieces 10 --encoding mod3", "--side 11 --pieces 15", "--threads 18446744073709551615"]
    {
        let ran = place.say(&format!("build --mode in-memory {words}"));
        assert_eq!(ran.out(), "");
        assert!(!ran.err.contains("layer "), "{words}: {}", ran.err);
        let error = ran.failed();
        let amounts = error.split(' ').filter(|word| word.ends_with("iB")).count();
        assert!(error.contains("of memory") && error.contains("available") && amounts == 2, "{words}: {error}");
    }
    assert!(!place.tables().exists());
}

#[test]
fn a_build_too_large_for_the_disk_does_not_start() {
    let place = Place::new();
    for words in ["--side 11 --pieces 10", "--side 11 --pieces 15 --encoding mod3"] {
        let ran = place.say(&format!("build --mode out-of-core {words}"));
        assert_eq!(ran.out(), "");
        assert!(!ran.err.contains("layer "), "{words}: {}", ran.err);
        let error = ran.failed();
        let amounts = error.split(' ').filter(|word| word.ends_with("iB")).count();
        assert!(error.contains("of disk") && error.contains("available") && amounts == 2, "{words}: {error}");
    }
    assert!(!place.tables().exists());
}

#[test]
fn a_place_that_cannot_be_had_is_refused() {
    let place = Place::new();
    place.build("--side 3 --pieces 2");
    fs::create_dir(place.work().join("dir")).unwrap();
    place.file("file", "precious");
    for words in [
        "build --side 3 --pieces 2 -o file/table.sht",
        "build --side 3 --pieces 2 -o file/below/table.sht",
        "build --side 3 --pieces 2 --tables file",
        "build --side 3 --pieces 2 -o dir --force",
        "export 3x3-2 -o file/flat",
        "export 3x3-2 -o missing/flat",
        "export 3x3-2 -o dir",
    ] {
        let ran = place.say(words);
        assert_eq!(ran.out(), "", "{words}");
        let error = ran.failed();
        let path = words.split(' ').find(|word| ["file", "dir", "missing"].iter().any(|p| word.starts_with(p)));
        let first = path.unwrap().split('/').next().unwrap();
        assert!(error.contains(first) && error.contains("cannot "), "{words}: {error}");
    }
    assert_eq!(fs::read(place.work().join("file")).unwrap(), b"precious");
    assert_eq!(names(&place.work()), BTreeSet::from(["dir".to_owned(), "file".to_owned()]));
    assert_eq!(names(&place.work().join("dir")), BTreeSet::new());
}

/// Errors stay on a line, and say no cause twice.
#[test]
fn an_error_is_told_once_in_a_line() {
    let place = Place::new();
    place.build("--side 5 --pieces 3");
    place.file("file", "precious");
    let error = place.run(["query", "5x5-3", "a1\nb1\r\nc1"]).refused();
    assert!(error.contains("a1") && error.contains("c1"), "{error}");
    for words in ["build --side 3 --pieces 2 -o file/table.sht", "info file/table.sht", "export 5x5-3 -o file/flat"] {
        let error = place.say(words).failed();
        assert_eq!(error.matches("os error").count(), 1, "{words}: {error}");
    }
}

// What happens from outside.

#[test]
#[cfg(unix)]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let place = Place::new();
    let name = place.build("--side 5 --pieces 10");
    let file = name.to_str().unwrap();
    let states: String = (0..20_000).map(|rank| format!("#{rank}\n")).collect();
    for words in [
        "export",
        "export --order lex",
        "query --stdin",
        "query --stdin --moves",
        "query --stdin --format ndjson",
        "query --stdin --format json",
        "query --stdin --format csv",
        "query --stdin --format csv --moves",
    ] {
        let mut command = place.command(words.split(' ').chain([file]));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), states.clone());
        // The command ends before it has read all.
        let writer = thread::spawn(move || stdin.write_all(input.as_bytes()).is_ok());
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0]).unwrap();
        drop(stdout);
        let ran = Ran::of(child.wait_with_output().unwrap());
        writer.join().unwrap();
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{words}");
    }
    // Nothing is read at all.
    for words in ["info", "info --json", "verify --json", "query #0", "query #0 --format json", "line #9"] {
        let mut args: Vec<&str> = words.split(' ').collect();
        args.insert(1, file);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = Ran::of(place.command(&args).stdout(writer).stderr(Stdio::piped()).output().unwrap());
        assert_eq!(ran.code, 0, "{words}");
        assert!(!ran.err.contains("error"), "{words}: {}", ran.err);
    }
}

/// Progress and errors that nobody reads change neither the work nor its exit code.
#[test]
#[cfg(unix)]
fn a_closed_stderr_changes_nothing() {
    let place = Place::new();
    let table = place.build("--side 4 --pieces 3 --within 13 -o table");
    let out_of_core = "build --side 5 --pieces 3 --mode out-of-core --memory 64MiB";
    for (words, code) in [
        ("build --side 4 --pieces 3", 0),
        ("build --side 4 --pieces 3", 2),
        (out_of_core, 0),
        ("convert table --encoding mod3 -o converted", 0),
        ("verify table --deep", 0),
        ("compare table converted", 0),
        ("line table #285", 0),
        ("line table a1,b1,d4 --player o", 1),
        ("info missing", 2),
        ("gdl check missing", 2),
        ("match heur1 random --side 4 --pieces 3 --games 2 --nodes 10 --table table", 0),
        ("play -x random -o random --side 4 --pieces 3", 0),
        ("play --side 4 --pieces 3", 1),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = Ran::of(place.command(words.split(' ')).stderr(writer).output().unwrap());
        assert_eq!(ran.code, code, "{words}: {ran:?}");
    }
    assert_eq!(place.json("verify 4x4-3 --json")["ok"], true);
    assert_eq!(table, Path::new("table"));
}

/// A limit on the size of files stands for a disk that fills up.
#[test]
#[cfg(unix)]
fn a_write_that_fails_leaves_nothing() {
    let place = Place::new();
    let name = place.build("--side 5 --pieces 10");
    let binary = env!("CARGO_BIN_EXE_sternhalma");
    let limited = |words: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("trap '' XFSZ; ulimit -f 64; exec {binary} {words}")]);
        let ran = Ran::of(place.at_home(shell).output().unwrap());
        assert_eq!(ran.out(), "");
        ran.failed()
    };
    let flat = format!("export {} -o flat", name.display());
    let lex = format!("export {} --order lex -o flat", name.display());
    for (words, path) in [
        ("build --side 5 --pieces 9", "5x5-9.sht"),
        ("build --side 5 --pieces 10 --force", "5x5-10.sht"),
        (&flat, "flat"),
        (&lex, "flat"),
    ] {
        let error = limited(words);
        assert!(error.contains(path) && error.contains("cannot write"), "{words}: {error}");
    }
    assert_eq!(names(&place.work()), BTreeSet::new());
    assert_eq!(names(&place.tables()), BTreeSet::from(["5x5-10.sht".to_owned()]));
    assert_eq!(place.json("verify --json 5x5-10")["ok"], true);
}

/// Starts a command, sends it a signal at the first line of its stderr that
/// begins so, and waits for its end.
#[cfg(unix)]
fn interrupted(mut command: Command, signal: &str, at: &str) -> Ran {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut err = String::new();
    while !err.lines().last().is_some_and(|line| line.starts_with(at)) {
        assert_ne!(stderr.read_line(&mut err).unwrap(), 0, "it ends before `{at}`: {err}");
    }
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    stderr.read_to_string(&mut err).unwrap();
    let mut output = child.wait_with_output().unwrap();
    output.stderr = err.into_bytes();
    Ran::of(output)
}

#[test]
#[cfg(unix)]
fn an_interrupted_build_leaves_nothing() {
    for (signal, encoding) in [("-INT", "byte"), ("-TERM", "mod3")] {
        let place = Place::new();
        let command = place.command(["build", "--threads", "1", "--encoding", encoding]);
        let ran = interrupted(command, signal, "layer 6:");
        assert_eq!(ran.out(), "");
        assert!(ran.failed().contains("interrupted: no table was written"));
        assert!(place.tables().exists());
        assert_eq!(names(&place.tables()), BTreeSet::new());
    }
}

#[test]
#[cfg(unix)]
fn an_interrupted_rebuild_leaves_the_table() {
    let place = Place::new();
    let path = place.table("9x9-6.sht");
    fs::create_dir(place.tables()).unwrap();
    fs::write(&path, "precious").unwrap();
    let ran = interrupted(place.command(["build", "--threads", "1", "--force"]), "-INT", "layer 6:");
    assert!(ran.failed().contains("interrupted"));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    assert_eq!(names(&place.tables()), BTreeSet::from(["9x9-6.sht".to_owned()]));
}

#[test]
#[cfg(unix)]
fn an_interrupted_proof_proves_nothing() {
    let place = Place::new();
    let name = place.build("--side 7 --pieces 6");
    let command = place.command(["verify", "--deep", "--threads", "1", name.to_str().unwrap()]);
    let ran = interrupted(command, "-INT", "proof:");
    assert_eq!(ran.out(), "");
    assert!(ran.failed().contains("interrupted"));
}

/// The table is cut short under a query that has it mapped: where it lay is
/// neither answered from nor fatal without a word.
#[test]
#[cfg(unix)]
fn a_table_cut_short_while_it_is_read_is_an_error() {
    let place = Place::new();
    for encoding in ENCODINGS {
        let name = place.build(&format!("--side 7 --pieces 6 --encoding {encoding}"));
        let bytes = fs::read(&name).unwrap();
        // The second state lies in a block that has been read, or in one that has not.
        for (first, second) in [("#13983815", "#13983814"), ("#0", "#13983815")] {
            // A compressed block that has been read is answered from memory.
            if encoding == "zstd" && first != "#0" {
                continue;
            }
            fs::write(&name, &bytes).unwrap();
            let mut talk = Talk::new(place.command([
                "query".as_ref(),
                name.as_os_str(),
                "--stdin".as_ref(),
                "--format".as_ref(),
                "ndjson".as_ref(),
            ]));
            talk.tell(first);
            assert!(talk.answer()["distance"].is_u64());
            fs::OpenOptions::new().write(true).open(&name).unwrap().set_len(100).unwrap();
            talk.tell(second);
            let ran = talk.end();
            assert_eq!(ran.code, 2, "{ran:?}");
            let error = ran.refused();
            assert!(error.contains("cut short"), "{error}");
        }
    }
}
