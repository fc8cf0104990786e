//! Paths of rulesheets and test data, and helpers that several test files share.
//!
//! Data of other projects is read from the directory that the environment
//! variable `STERNHALMA_CONFORMANCE` names. Tests that read it are ignored by
//! default.

use std::fs;
use std::path::{Path, PathBuf};

use sternhalma_ggp::gdl::{Prover, ProverState, Rules};

/// Returns the text of a rulesheet of this project.
pub fn own(name: &str) -> String {
    fs::read_to_string(own_dir().join(format!("{name}.kif"))).unwrap()
}

/// Returns the directory of the rulesheets of this project.
pub fn own_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("games")
}

/// Returns the path of a committed test file or directory.
pub fn data(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(part)
}

/// Returns the path of a file or directory of the conformance data.
///
/// # Panics
///
/// If `STERNHALMA_CONFORMANCE` is not set or does not contain it.
pub fn conformance(part: &str) -> PathBuf {
    let dir = std::env::var_os("STERNHALMA_CONFORMANCE").expect("STERNHALMA_CONFORMANCE names the conformance data");
    let path = PathBuf::from(dir).join(part);
    assert!(path.exists(), "{} does not exist", path.display());
    path
}

/// Returns the directory of public rulesheets, which is beside the conformance data.
///
/// # Panics
///
/// As [`conformance`].
pub fn collection() -> PathBuf {
    conformance("../games")
}

/// Returns the mean length of random matches of public rulesheets, by the
/// name of the rulesheet, as measured with other reasoners.
pub fn public_lengths() -> Vec<(String, f64)> {
    let table = fs::read_to_string(data("public-reasoners.tsv")).unwrap();
    let rows = table.lines().skip(1).map(|row| row.split('\t').collect::<Vec<_>>());
    rows.map(|row| (row[0].to_string(), row[1].parse().unwrap())).collect()
}

/// Returns the files of a directory whose names end with `ending`, sorted by
/// name. Names are without the ending.
pub fn files(dir: &Path, ending: &str) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let named = entries.filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_suffix(ending)?.to_string();
        Some((name, path))
    });
    let mut all: Vec<_> = named.collect();
    all.sort();
    all
}

/// Returns a prover for a rulesheet.
pub fn prover(text: &str) -> Prover {
    Prover::new(&Rules::parse(text).unwrap()).unwrap()
}

/// Returns the names of the legal moves of a role.
pub fn legal_texts(prover: &mut Prover, state: &ProverState, role: usize) -> Vec<String> {
    let moves = prover.legal(state, role).unwrap();
    moves.into_iter().map(|mv| prover.text(mv)).collect()
}
