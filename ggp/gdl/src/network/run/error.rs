//! Errors of playing in lanes.

use thiserror::Error;

use super::choice::MAX_MOVES;

/// An error of playing in lanes.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LanesError {
    /// A role has too many moves.
    #[error("the network does not fit into lanes: a role has more than {MAX_MOVES} moves")]
    TooLarge,
    /// The programs need more memory than is left.
    #[error("the network does not fit into lanes: they need {bytes} bytes of memory, and {room} are left")]
    OutOfMemory {
        /// The bytes that are needed.
        bytes: u64,
        /// The bytes that are left.
        room: u64,
    },
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
