//! Runs every target on its corpus, and on mutated files of the corpus.

use std::fs;
use std::path::Path;

use crate::TARGETS;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let files = fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
}

/// A mutation of an input: deletes, copies or moves a range of bytes, or
/// inserts a byte.
type Mutation = (Index, Index, u8, u8);

fn mutated(mut input: Vec<u8>, mutations: &[Mutation]) -> Vec<u8> {
    for (from, to, kind, byte) in mutations {
        let (from, to) = (from.index(input.len() + 1), to.index(input.len() + 1));
        let run = from.min(to)..from.max(to).min(from.min(to) + 64);
        match kind {
            0 => {
                input.drain(run);
            }
            1 => {
                let copy = input[run].to_vec();
                input.splice(to..to, copy);
            }
            2 => {
                let moved: Vec<u8> = input.drain(run).collect();
                let to = to.min(input.len());
                input.splice(to..to, moved);
            }
            _ => input.splice(from..from, [*byte]).for_each(drop),
        }
    }
    input
}

#[test]
fn targets_accept_their_corpus() {
    for (name, target) in TARGETS {
        let inputs = corpus(name);
        assert!(inputs.len() >= 10, "{name}: too few files in fuzz/corpus/{name}");
        inputs.iter().for_each(|input| target(input));
    }
}

#[test]
fn targets_accept_mutated_files() {
    let config = ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
    for (name, target) in TARGETS {
        let mutations = proptest::collection::vec((any::<Index>(), any::<Index>(), 0..4u8, any::<u8>()), 1..6);
        let input = (proptest::sample::select(corpus(name)), mutations);
        let run = TestRunner::new(config.clone()).run(&input, |(input, mutations)| {
            target(&mutated(input, &mutations));
            Ok(())
        });
        if let Err(error) = run {
            panic!("{name}: {error}");
        }
    }
}
