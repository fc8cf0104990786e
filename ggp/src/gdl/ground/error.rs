//! What keeps a rulesheet from being grounded.

use thiserror::Error;

use crate::gdl::syntax::Place;

/// Why a rulesheet cannot be grounded.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GroundError {
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
    /// A rule has too many variables or literals, or a relation too many
    /// arguments.
    #[error("{place}: the rule has more than 128 variables or 256 literals, or a relation of more than 32 arguments")]
    TooWide {
        /// The rule.
        place: Place,
    },
    /// What holds at the start, or who plays, depends on the state.
    #[error("{place}: a role or the initial state depends on the state")]
    Start {
        /// The rule.
        place: Place,
    },
    /// A relation depends on its own negation.
    #[error("the rules are not stratified")]
    NotStratified,
    /// Nothing says who plays.
    #[error("the rulesheet has no role")]
    NoRole,
    /// The rules without variables are too many, or their terms too deep.
    #[error("the rules without variables are too many or too deep")]
    TooLarge,
    /// Whoever asked has asked to stop.
    #[error("grounding was stopped")]
    Stopped,
}
