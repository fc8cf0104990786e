//! Runs the examples of README.md and of the pages in `docs/`.
//!
//! A code block in the language `console` is a session. A line that begins with
//! `$ ` is a command for `sh`. Lines that begin with `> ` continue the command.
//! The lines up to the next command are the output of the command: stdout, and
//! stderr too if the command fails. A line `...` stands for any number of
//! lines.
//!
//! A comment `<!-- test: OPTION -->` before a block changes how it is used:
//!
//! | option | meaning |
//! |---|---|
//! | `skip` | the block is not run |
//! | `figures vary` | numbers of the output are not compared |
//! | `file NAME` | the block is the contents of a file |
//! | `append NAME` | the block is appended to a file |
//! | `change NAME` | the block is a difference: lines begin with a blank, `-` or `+` |
//!
//! The blocks of a document run in its order, in a new directory that contains
//! the folders of the repository. If `STERNHALMA_UPDATE_DOCS` is set, outputs
//! that differ are written into the document.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::TestEnv;
use crate::pages::repository;

/// The text that the documents show in place of the tables directory.
const TABLES_SHOWN: &str = "/home/you/.local/share/sternhalma";

/// Keeps Python from writing into the repository.
const NO_BYTECODE: &str = "PYTHONDONTWRITEBYTECODE";

#[test]
fn readme() {
    run_document("README.md");
}

#[test]
fn rules() {
    run_document("docs/guide/rules.md");
}

#[test]
fn rule_sets() {
    run_document("docs/reference/rule-sets.md");
}

#[test]
fn shares_of_forbidden_moves() {
    run_document("docs/research/rules.md");
}

#[test]
fn partial_tables() {
    run_document("docs/research/partial-tables.md");
}

#[test]
fn command_line() {
    run_document("docs/reference/command-line.md");
}

#[test]
fn findings_of_rulesheets() {
    run_document("docs/reference/gdl-findings.md");
}

#[test]
fn json_outputs() {
    run_document("docs/reference/json.md");
}

#[test]
fn tutorial_of_distances() {
    run_document("docs/guide/distances-from-python.md");
}

#[test]
fn tutorial_of_engines() {
    run_document("docs/guide/engine-in-a-tournament.md");
}

#[test]
fn tutorial_of_rulesheets() {
    run_document("docs/guide/first-rulesheet.md");
}

/// The pictures are the output of their scripts.
#[test]
fn pictures() {
    for script in ["board.py", "plots.py"] {
        let path = repository().join("docs/images").join(script);
        let output = Command::new("python3").arg(path).arg("--check").env(NO_BYTECODE, "1").output();
        let output = output.expect("python3 is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Every key of JSON output is described in `docs/reference/json.md`.
#[test]
fn json_keys_are_described() {
    let page = fs::read_to_string(repository().join("docs/reference/json.md")).unwrap();
    let described: BTreeSet<&str> = page.split('`').collect();
    let env = Session::new().env;
    env.build("--side 5 --pieces 3");
    env.build("--side 5 --pieces 3 --within 12 --encoding zstd");
    env.build("--side 5 --pieces 3 --within 12 --mode out-of-core --memory 64MiB -o disk.sht");
    env.file("wall.kif", "(wall ?x)");
    let series = "rulesheets = ['ggp/games']\ngames = 2\nbudget = { playouts = 5 }\npairings = [['nst', 'uct']]\n\
                  [[player]]\nname = 'nst'\n[[player]]\nname = 'uct'\n[[game]]\nname = 'subtraction'\npaper = [50.0]\n";
    env.file("series.toml", series);
    let commands = [
        "info 5x5-3-within12-zstd --json",
        "info disk.sht --contents --json",
        "convert disk.sht --encoding ans -o packed.sht --json",
        "build --side 5 --pieces 4 --plan --json",
        "verify 5x5-3 --json",
        "compare 5x5-3-within12-zstd 5x5-3 --json",
        "query 5x5-3 #1 --moves --format json",
        "line 5x5-3 #9 --json",
        "rank --side 5 --pieces 3 a1,b1,a2 --json",
        "unrank --side 5 --pieces 3 1 --json",
        "moves --json",
        "perft 1 --divide --json",
        "bench --depth 2 --json",
        "match greedy random --side 5 --pieces 3 --games 4 --sprt 0,40 --json",
        "tournament greedy random --side 5 --pieces 3 --games 4 --json",
        "tournament greedy random --side 5 --pieces 3 --games 4 --plan --json",
        "match base0 ab-avg --side 5 --pieces 3 --games 2 --nodes 50 --log match.ndjson --json",
        "tournament show match.ndjson --game 1 --json",
        "tournament rate match.ndjson --json",
        "tournament -f series.toml --json --log logs",
        "tournament show logs -f series.toml --json",
        "tournament -f series.toml --plan --json",
        "gdl bench ggp/games/subtraction.kif --seconds 0.01 --json",
        "gdl bench ggp/games/subtraction.kif --seconds 0.01 --policy uct --lock-step 2 --json",
        "tables --json",
        "policies --json",
        "games --json",
        "analyse --nodes 100 --json",
        "gdl show ggp/games/subtraction.kif --json",
        "gdl strategies ggp/games/subtraction.kif --start 20 --simulations 20 --every 10 --json",
    ];
    for command in commands {
        assert_described(&env.json(command), &described, command);
    }
    let invalid = serde_json::from_str(&env.run("gdl check wall.kif --json").exit(1)).unwrap();
    assert_described(&invalid, &described, "gdl check");
}

fn assert_described(value: &Value, described: &BTreeSet<&str>, command: &str) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| assert_described(value, described, command)),
        Value::Object(entries) => {
            for (key, value) in entries {
                assert!(
                    described.contains(key.as_str()),
                    "`{command}`: docs/reference/json.md does not describe `{key}`"
                );
                assert_described(value, described, command);
            }
        }
        _ => {}
    }
}

/// The README of a crate lists its examples.
#[test]
fn readmes_list_all_examples() {
    for name in ["data", "builder", "ggp", "engine", "trainer", "server"] {
        let readme = fs::read_to_string(repository().join(name).join("README.md")).unwrap();
        for example in fs::read_dir(repository().join(name).join("examples")).unwrap() {
            let example = example.unwrap().path();
            let example = example.file_stem().unwrap().to_str().unwrap();
            let forms = [format!("--example {example}`"), format!("`{example}`")];
            assert!(forms.iter().any(|form| readme.contains(form)), "{name}/README.md lacks the example `{example}`");
        }
    }
}

/// A part of a document.
enum Part<'a> {
    Text(&'a str),
    Block { option: &'a str, language: &'a str, lines: Vec<&'a str> },
}

/// Runs the examples of a document.
fn run_document(name: &str) {
    let path = repository().join(name);
    let document = fs::read_to_string(&path).unwrap();
    let session = Session::new();
    let mut written = String::new();
    let mut differences = String::new();
    for part in parts(&document) {
        match part {
            Part::Text(line) => written += &format!("{line}\n"),
            Part::Block { option, language, lines } => {
                let lines = session.run_block(option, language, &lines, &mut differences);
                written += &format!("```{language}\n{lines}```\n");
            }
        }
    }
    if std::env::var_os("STERNHALMA_UPDATE_DOCS").is_some() {
        fs::write(path, written).unwrap();
    }
    assert!(differences.is_empty(), "{name}: {differences}");
}

/// Splits a document into blocks of code and other lines.
fn parts(document: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut option = "";
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let lines = lines.by_ref().take_while(|line| *line != "```").collect();
            parts.push(Part::Block { option: std::mem::take(&mut option), language, lines });
            continue;
        }
        if let Some(text) = line.strip_prefix("<!-- test: ") {
            option = text.strip_suffix(" -->").expect("a comment ends on its line");
        }
        parts.push(Part::Text(line));
    }
    parts
}

/// A directory in which commands run.
struct Session {
    env: TestEnv,
}

impl Session {
    fn new() -> Session {
        let env = TestEnv::new();
        for folder in ["docs", "ggp", "engine", "experiments"] {
            symlink(repository().join(folder), env.path(folder)).unwrap();
        }
        Session { env }
    }

    /// Runs a block of a document and returns its lines with the actual output.
    fn run_block(&self, option: &str, language: &str, lines: &[&str], differences: &mut String) -> String {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let file = |name: &str| self.env.path(name);
        match option.split_once(' ') {
            Some(("file", name)) => fs::write(file(name), &text).unwrap(),
            Some(("append", name)) => fs::write(file(name), fs::read_to_string(file(name)).unwrap() + &text).unwrap(),
            Some(("change", name)) => change(&file(name), lines),
            _ if option == "skip" || language != "console" => {}
            _ => return self.run_session(lines, option == "figures vary", differences),
        }
        text
    }

    fn run_session(&self, lines: &[&str], figures_vary: bool, differences: &mut String) -> String {
        let mut written = String::new();
        let mut lines = lines.iter().peekable();
        while let Some(line) = lines.next() {
            written += &format!("{line}\n");
            let mut command = line.strip_prefix("$ ").expect("a session begins with a command").to_owned();
            while let Some(more) = lines.next_if(|line| line.starts_with("> ")) {
                written += &format!("{more}\n");
                command += &format!("\n{}", &more[2..]);
            }
            let mut expected = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                expected.push(line.trim_end().to_owned());
            }
            let actual = self.output(&command);
            let compared = |lines: &[String]| -> Vec<String> {
                if figures_vary { lines.iter().map(|line| without_figures(line)).collect() } else { lines.to_vec() }
            };
            let agree = matches(&compared(&expected), &compared(&actual));
            let kept = if agree { &expected } else { &actual };
            written.extend(kept.iter().map(|line| format!("{line}\n")));
            if !agree {
                *differences += &format!("`{command}` prints\n{}\n", actual.join("\n"));
            }
        }
        written
    }

    /// Runs a command and returns the lines of its output.
    fn output(&self, command: &str) -> Vec<String> {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_sternhalma"));
        let directory = program.parent().expect("the program is in a directory").to_owned();
        let old = std::env::var_os("PATH").unwrap_or_default();
        let search = std::env::join_paths(std::iter::once(directory).chain(std::env::split_paths(&old))).unwrap();
        let mut shell = Command::new("sh");
        // Columns of help and tables do not depend on the terminal.
        shell.args(["-c", command]).env("PATH", search).env("COLUMNS", "100").env(NO_BYTECODE, "1");
        let output = self.env.inside(shell).output().unwrap();
        let errors = if output.status.success() { &[][..] } else { &output.stderr };
        let text = String::from_utf8([&output.stdout[..], errors].concat()).unwrap();
        let tables = self.env.tables();
        let shown = text.replace(tables.to_str().expect("the path is text"), TABLES_SHOWN);
        shown.lines().map(|line| line.trim_end().to_owned()).collect()
    }
}

/// Applies a difference to a file.
fn change(path: &Path, lines: &[&str]) {
    let side = |sign: char| -> String {
        let kept = lines.iter().filter(|line| line.starts_with([' ', sign]));
        kept.map(|line| format!("{}\n", &line[1..])).collect()
    };
    let (old, new) = (side('-'), side('+'));
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text.matches(&old).count(), 1, "{old}");
    fs::write(path, text.replace(&old, &new)).unwrap();
}

/// Returns whether lines are as expected, where `...` stands for any number of
/// lines.
fn matches(expected: &[String], actual: &[String]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((first, rest)) if first == "..." => (0..=actual.len()).any(|skipped| matches(rest, &actual[skipped..])),
        Some((first, rest)) => actual.first() == Some(first) && matches(rest, &actual[1..]),
    }
}

/// Replaces each run of digits, blanks and signs that contains a digit by `#`.
fn without_figures(line: &str) -> String {
    let mut text = String::new();
    let mut run = String::new();
    for character in line.chars().chain(std::iter::once('\n')) {
        if character.is_ascii_digit() || " .,+-".contains(character) {
            run.push(character);
            continue;
        }
        let is_figure = run.chars().any(|character| character.is_ascii_digit());
        text += if is_figure { "#" } else { &run };
        run.clear();
        text.push(character);
    }
    text.trim_end().to_owned()
}
