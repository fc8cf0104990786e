//! How to check a rulesheet.

/// How to check a rulesheet.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Tell arities that differ, rules without bodies and parentheses
    /// without arguments as warnings.
    pub lenient: bool,
    /// The random matches to play; they are played only if nothing else is
    /// an error.
    pub playouts: u64,
    /// The seed of the matches.
    pub seed: u64,
    /// The rows that one proof of the simulation may visit.
    pub rows: u64,
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions { lenient: false, playouts: 10, seed: 1, rows: 20_000_000 }
    }
}
