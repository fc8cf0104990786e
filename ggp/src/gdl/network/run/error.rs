//! Errors of playing in lanes.

use thiserror::Error;

use super::choice::MOST_MOVES;

/// An error of playing in lanes.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LanesError {
    /// The network has too many values in use at the same time, or a role has too many moves.
    #[error(
        "the network does not fit into lanes, which have 65536 values in use at the same time and {MOST_MOVES} moves \
         per role"
    )]
    TooLarge,
    /// A role has no legal move although the match is not over.
    #[error("role {role} has no legal move in a state that is not terminal")]
    NoLegalMove {
        /// The role, counted from 0.
        role: usize,
    },
    /// A match does not end.
    #[error("a match is not over after {steps} steps")]
    Endless {
        /// The number of played steps.
        steps: u32,
    },
}
