//! Where rulesheets are, and what the tests of several files do with them.
//!
//! Those of a collection, and what was computed of them elsewhere, are looked
//! for in the directory that `STERNHALMA_CONFORMANCE` names, or in
//! `../shared/conformance`, and the games beside it; without them the tests
//! that need them say so and check nothing.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};

use sternhalma_ggp::gdl::{Prover, Rules, State};

/// A rulesheet of our own.
pub fn own(name: &str) -> String {
    fs::read_to_string(own_dir().join(format!("{name}.kif"))).unwrap()
}

/// The directory of our own rulesheets.
pub fn own_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("games")
}

/// A file or directory of the conformance data, if it is there.
pub fn conformance(part: &str) -> Option<PathBuf> {
    let dir = std::env::var_os("STERNHALMA_CONFORMANCE").map(PathBuf::from);
    let dir = dir.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/conformance"));
    let path = dir.join(part);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not there", path.display());
    None
}

/// The files of a directory with an ending, by name.
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

/// The prover of a rulesheet.
pub fn prover(text: &str) -> Prover {
    Prover::new(&Rules::parse(text).unwrap()).unwrap()
}

/// The legal moves of a role by name.
pub fn legal_texts(prover: &mut Prover, state: &State, role: usize) -> Vec<String> {
    let moves = prover.legal(state, role).unwrap();
    moves.into_iter().map(|mv| prover.text(mv)).collect()
}
