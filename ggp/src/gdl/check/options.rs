//! Options of the validation.

/// Options of [`check`](crate::gdl::check()).
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
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions { lenient: false, fragment: false, playouts: 10, seed: 1, rows: 20_000_000 }
    }
}
