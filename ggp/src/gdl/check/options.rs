//! Options for checking a rulesheet.

/// Options for checking a rulesheet.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Whether problems that most reasoners accept are warnings: differing
    /// arities, rules without bodies, and parentheses without arguments.
    pub lenient: bool,
    /// The number of random matches to play. They are only played if there is
    /// no other error.
    pub playouts: u64,
    /// The seed of the matches.
    pub seed: u64,
    /// The maximum number of rows that one proof of the random matches may
    /// visit.
    pub rows: u64,
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions { lenient: false, playouts: 10, seed: 1, rows: 20_000_000 }
    }
}
