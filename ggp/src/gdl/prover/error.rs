//! What keeps a rulesheet from being played.

use thiserror::Error;

use crate::gdl::syntax::Place;

/// Why a rulesheet cannot be played, or not on.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ProverError {
    /// A rule has a variable that nothing binds.
    #[error("{place}: the rule is unsafe: a variable of its head, a negation or a `distinct` is bound by nothing")]
    Unsafe {
        /// The rule.
        place: Place,
    },
    /// A rule has too many disjunctions.
    #[error("{place}: the disjunctions of the rule spread into more than {limit} conjunctions: split the rule")]
    Alternatives {
        /// The rule.
        place: Place,
        /// The most there may be.
        limit: usize,
    },
    /// A relation has too many arguments.
    #[error("{place}: the relation has more than {limit} arguments")]
    Arity {
        /// The rule that defines it.
        place: Place,
        /// The most there may be.
        limit: usize,
    },
    /// Nothing says who plays.
    #[error("the rulesheet has no role")]
    NoRole,
    /// Proofs go too deep, as those of unbounded recursion do.
    #[error("a proof needs more than {limit} calls within calls")]
    TooDeep {
        /// The most there may be.
        limit: u32,
    },
    /// Terms grow without bound.
    #[error("a proof makes terms nested deeper than {limit}")]
    TermTooDeep {
        /// The most there may be.
        limit: usize,
    },
    /// A proof takes too long.
    #[error("a proof visits more than {limit} rows")]
    TooLong {
        /// The most there may be.
        limit: u64,
    },
    /// A long question was interrupted.
    #[error("the question was interrupted")]
    Interrupted,
    /// A role cannot move though the match is not over.
    #[error("role {role} has no legal move in a state that is not terminal")]
    NoLegalMove {
        /// The role.
        role: String,
    },
    /// A match does not end.
    #[error("the match is not over after {steps} steps")]
    Endless {
        /// The steps that were played.
        steps: usize,
    },
    /// A text is not a ground term.
    #[error("`{text}` is not a ground term")]
    NotGround {
        /// The text.
        text: String,
    },
}
