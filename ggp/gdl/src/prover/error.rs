//! Errors of the prover.

use bytesize::ByteSize;
use thiserror::Error;

use crate::syntax::{MAX_DEPTH, MAX_TERM_LENGTH, Place};

/// An error that keeps the prover from playing a rulesheet or a match.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ProverError {
    /// A rule has an unbound variable.
    #[error(
        "{place}: the rule is unsafe: no positive literal binds a variable of its head, a negation or a `distinct`"
    )]
    Unsafe {
        /// The place of the rule.
        place: Place,
    },
    /// Nothing defines a role.
    #[error("the rulesheet has no role")]
    NoRole,
    /// Calls of a proof are nested too deep, for example in unbounded recursion.
    #[error("a proof nests more than {limit} calls")]
    TooDeep {
        /// The limit.
        limit: u32,
    },
    /// Terms grow without bound.
    #[error("a proof creates terms nested deeper than {MAX_DEPTH} or longer than {MAX_TERM_LENGTH} bytes")]
    TermTooLarge,
    /// A proof visits too many rows.
    #[error("a proof visits more than {limit} rows")]
    TooLong {
        /// The limit.
        limit: u64,
    },
    /// The tables of a proof are too large.
    #[error("a proof needs more than {}, the prover's part of the memory limit", ByteSize(*limit))]
    Memory {
        /// The limit in bytes.
        limit: u64,
    },
    /// The caller interrupted a query.
    #[error("the query was interrupted")]
    Interrupted,
    /// A role has no legal move in a state that is not terminal.
    #[error("role {role} has no legal move in a state that is not terminal")]
    NoLegalMove {
        /// The role.
        role: String,
    },
    /// A match exceeds the maximum number of steps.
    #[error("the match is not over after {steps} steps")]
    Endless {
        /// The number of steps played.
        steps: usize,
    },
    /// A text is not a ground term.
    #[error("`{text}` is not a ground term")]
    NotGround {
        /// The text.
        text: String,
    },
}
