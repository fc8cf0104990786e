//! Errors of playing in lanes.

use thiserror::Error;

/// An error of playing in lanes.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LanesError {
    /// The network has too many values in use at the same time.
    #[error("the network is too large to be evaluated in lanes")]
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
