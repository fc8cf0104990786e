//! Errors of evaluating a rulesheet.

use thiserror::Error;

use crate::gdl::syntax::Place;

/// An error of evaluating a rulesheet.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ProverError {
    /// A rule has an unbound variable.
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
        /// The maximum number.
        limit: usize,
    },
    /// A relation has too many arguments.
    #[error("{place}: the relation has more than {limit} arguments")]
    Arity {
        /// The rule that defines it.
        place: Place,
        /// The maximum number.
        limit: usize,
    },
    /// The rulesheet has no role.
    #[error("the rulesheet has no role")]
    NoRole,
    /// Proofs are too deep, for example because of unbounded recursion.
    #[error("a proof needs more than {limit} calls within calls")]
    TooDeep {
        /// The maximum depth.
        limit: u32,
    },
    /// Terms grow without bound.
    #[error("a proof makes terms nested deeper than {limit}")]
    TermTooDeep {
        /// The maximum depth.
        limit: usize,
    },
    /// A proof takes too long.
    #[error("a proof visits more than {limit} rows")]
    TooLong {
        /// The maximum number of rows.
        limit: u64,
    },
    /// A long query was interrupted.
    #[error("the question was interrupted")]
    Interrupted,
    /// A role has no legal move although the match is not over.
    #[error("role {role} has no legal move in a state that is not terminal")]
    NoLegalMove {
        /// The role.
        role: String,
    },
    /// A match does not end.
    #[error("the match is not over after {steps} steps")]
    Endless {
        /// The number of played steps.
        steps: usize,
    },
    /// A text is not a ground term.
    #[error("`{text}` is not a ground term")]
    NotGround {
        /// The text.
        text: String,
    },
}
