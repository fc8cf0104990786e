//! Limits of grounding.

use crate::gdl::syntax::MAX_DEPTH;

/// The limits at which grounding fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroundLimits {
    /// The maximum number of rows that joins visit.
    pub visits: u64,
    /// The maximum memory for facts and instances, in words of 4 bytes.
    pub words: usize,
    /// The maximum nesting depth of functions.
    pub depth: usize,
}

impl Default for GroundLimits {
    fn default() -> GroundLimits {
        GroundLimits { visits: 200_000_000, words: 50_000_000, depth: MAX_DEPTH }
    }
}
