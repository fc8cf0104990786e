//! The data of the experiments: rulesheets, which `experiments/fetch.py` provides, and openings.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::TestEnv;

const HEAD: &str = "name\trepository\tcommit\tpath\tmember\tsha256\n";

/// Runs the script without a network. The script copies from `source` to `work/sheets`.
fn fetch(env: &TestEnv, list: &Path, names: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/fetch.py");
    let mut command = Command::new("python3");
    command.arg(script).arg("--from").arg(env.path("source")).arg("--to").arg(env.path("sheets"));
    command.arg("--list").arg(list).args(names).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn rulesheets_are_copied_if_their_digest_is_right() {
    let env = TestEnv::new();
    fs::create_dir(env.path("source")).unwrap();
    fs::write(env.path("source").join("a.kif"), "(role a)\n").unwrap();
    fs::write(env.path("source").join("b.kif"), "(role b)\n").unwrap();
    let digest = sha256(&env.path("source").join("a.kif"));
    assert_eq!(digest.len(), 64);
    let row = |name: &str, digest: &str| format!("{name}\towner/name\tmain\t{name}.kif\t\t{digest}\n");
    let rows = [row("a", &digest), row("b", &digest), row("c", &digest)].concat();
    let list = env.file("list.tsv", HEAD.to_owned() + &rows);

    let output = fetch(&env, &list, &["a"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "a: fetched\n"));
    assert_eq!(fs::read_to_string(env.path("sheets").join("a.kif")).unwrap(), "(role a)\n");

    let output = fetch(&env, &list, &[]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), "a: is there\n"));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("b: error: expected SHA-256") && stderr.contains("c.kif"), "{stderr}");
    assert!(stderr.ends_with("2 of 3 rulesheets are not there\n"), "{stderr}");
    let sheets: Vec<_> = fs::read_dir(env.path("sheets")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(sheets, ["a.kif"]);

    fs::write(env.path("sheets").join("a.kif"), "(role changed)\n").unwrap();
    let output = fetch(&env, &list, &["a"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("a.kif is another file"), "{}", text(&output.stderr));

    let output = fetch(&env, &list, &["x"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("does not list x"), "{}", text(&output.stderr));
}

fn sha256(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).output().unwrap();
    text(&output.stdout).split(' ').next().unwrap().to_owned()
}

#[test]
fn every_game_of_the_experiments_has_a_rulesheet() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = fs::read_to_string(root.join("experiments/rulesheets.tsv")).unwrap();
    assert!(list.starts_with(HEAD));
    let listed: Vec<&str> = list.lines().skip(1).map(|row| row.split('\t').next().unwrap()).collect();
    let mut games = 0;
    let folders = fs::read_dir(root.join("experiments")).unwrap().map(|entry| entry.unwrap().path());
    let files = folders.filter(|path| path.is_dir()).flat_map(|folder| fs::read_dir(folder).unwrap());
    for path in files.map(|file| file.unwrap().path()) {
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for game in text.split("[[game]]").skip(1) {
            let name = game.trim_start().strip_prefix("name = \"").and_then(|rest| rest.split('"').next()).unwrap();
            let own = root.join(format!("ggp/games/{name}.kif")).exists();
            assert!(own || listed.contains(&name), "{}: no rulesheet of {name}", path.display());
            games += 1;
        }
    }
    assert!(games > 300, "{games}");
}

/// Returns the cells of a position on 9x9 by rows, as the player to move sees them if it is `x`: the smaller of them
/// and their mirror image.
fn canonical(position: &str) -> Vec<char> {
    let (board, rest) = position.split_once(' ').unwrap();
    let empty = |cell: char| cell.to_digit(10).map_or(vec![cell], |cells| vec!['.'; cells as usize]);
    let mut cells: Vec<char> = board.chars().filter(|&cell| cell != '/').flat_map(empty).collect();
    assert_eq!(cells.len(), 81, "{position}");
    if rest.starts_with('o') {
        let exchanged = |cell| match cell {
            'x' => 'o',
            'o' => 'x',
            other => other,
        };
        cells = cells.into_iter().rev().map(exchanged).collect();
    }
    let mirrored = (0..81).map(|at| cells[9 * (8 - at % 9) + (8 - at / 9)]).collect();
    cells.min(mirrored)
}

#[test]
fn no_opening_for_acceptance_is_used_for_development() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments/openings");
    let openings = |name: &str| -> Vec<Vec<char>> {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        text.lines().filter(|line| !line.starts_with('#')).map(canonical).collect()
    };
    for (acceptance, development) in [
        ("9x9-6-acceptance.txt", &["9x9-6-development.txt", "9x9-6-development-16-28.txt"][..]),
        ("9x9-10-acceptance.txt", &["9x9-10-development.txt"]),
    ] {
        let reserved: HashSet<Vec<char>> = openings(acceptance).into_iter().collect();
        assert_eq!(reserved.len(), 400, "{acceptance}");
        for name in development {
            let different: HashSet<Vec<char>> = openings(name).into_iter().collect();
            assert_eq!(different.len(), 1600, "{name}");
            assert!(different.is_disjoint(&reserved), "{name}");
        }
    }
}
