//! Options of the validation.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Options of [`check`](crate::check()).
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Whether errors are warnings if the prover can play the rulesheet.
    pub lenient: bool,
    /// Whether a text that defines no relation of the language is a fragment of
    /// a rulesheet instead of an error.
    pub fragment: bool,
    /// The number of random matches to play if the static checks report no
    /// error.
    pub playouts: u64,
    /// The seed of the random matches.
    pub seed: u64,
    /// The maximum number of rows that one proof of the simulation visits.
    pub rows: u64,
    /// The memory of the simulation and of grounding, in bytes.
    pub memory: u64,
    /// While the flag is set, long proofs and grounding stop.
    pub interrupt: Arc<AtomicBool>,
}

impl CheckOptions {
    /// Returns the options of a check before a rulesheet is played: a few random matches.
    pub fn before_play() -> CheckOptions {
        CheckOptions { playouts: 3, ..CheckOptions::default() }
    }
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions {
            lenient: false,
            fragment: false,
            playouts: 10,
            seed: 1,
            rows: 20_000_000,
            memory: 2 << 30,
            interrupt: Arc::default(),
        }
    }
}
