//! How far grounding goes.

use crate::gdl::syntax::MAX_DEPTH;

/// How far grounding goes before it is given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Rows that joins may visit.
    pub visits: u64,
    /// Words of facts and instances that may be kept, of 4 bytes each.
    pub words: usize,
    /// Functions in one another.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { visits: 200_000_000, words: 50_000_000, depth: MAX_DEPTH }
    }
}
