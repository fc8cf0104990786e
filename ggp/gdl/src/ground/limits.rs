//! Limits of grounding.

use crate::syntax::{MAX_DEPTH, MAX_TERM_LENGTH};

/// The limits at which grounding fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroundLimits {
    /// The memory from which the other limits follow, in bytes.
    pub memory: u64,
    /// The maximum number of rows that joins visit.
    pub visits: u64,
    /// The maximum memory for facts and instances, in words of 4 bytes.
    pub words: usize,
    /// The maximum number of gates that unrolling recursion creates.
    pub gates: usize,
    /// The maximum nesting depth of functions.
    pub depth: usize,
    /// The maximum length of the text of a term, in bytes.
    pub length: usize,
}

impl GroundLimits {
    /// The memory of a compilation without its own limit: 2 GiB.
    pub const DEFAULT_MEMORY: u64 = 2 << 30;

    /// Returns the limits of a compilation that takes about `memory` bytes.
    ///
    /// A word of facts and instances counts as 40 bytes, because the literals of an instance occur
    /// again in gates, and gates in several versions of the network.
    pub fn within(memory: u64) -> GroundLimits {
        let words = memory / 40;
        // Joins visit about four rows per word. A gate of unrolled recursion counts as
        // five words.
        GroundLimits {
            memory,
            visits: words.saturating_mul(4),
            words: usize::try_from(words).unwrap_or(usize::MAX),
            gates: usize::try_from(words / 5).unwrap_or(usize::MAX),
            depth: MAX_DEPTH,
            length: MAX_TERM_LENGTH,
        }
    }
}

impl Default for GroundLimits {
    fn default() -> GroundLimits {
        GroundLimits::within(GroundLimits::DEFAULT_MEMORY)
    }
}
