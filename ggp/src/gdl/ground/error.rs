//! Errors of grounding.

use thiserror::Error;

use crate::gdl::syntax::Place;

/// An error that keeps a rulesheet from being grounded.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GroundError {
    /// A rule has an unbound variable.
    #[error(
        "{place}: the rule is unsafe: no positive literal binds a variable of its head, a negation or a `distinct`"
    )]
    Unsafe {
        /// The place of the rule.
        place: Place,
    },
    /// A rule has too many disjunctions.
    #[error("{place}: the disjunctions of the rule expand to more than {limit} conjunctions: split the rule")]
    Alternatives {
        /// The place of the rule.
        place: Place,
        /// The limit.
        limit: usize,
    },
    /// A rule has too many variables or literals, or a relation has too many
    /// arguments.
    #[error("{place}: the rule has more than 128 variables or 256 literals, or a relation of more than 32 arguments")]
    TooWide {
        /// The place of the rule.
        place: Place,
    },
    /// The initial state or a role depends on the state.
    #[error("{place}: a role or the initial state depends on the state")]
    Start {
        /// The place of the rule.
        place: Place,
    },
    /// A relation depends on its own negation.
    #[error("the rules are not stratified")]
    NotStratified,
    /// A relation that belongs to the state depends on the moves.
    #[error("`{relation}` depends on `does`: a network evaluates it before the moves are known")]
    MoveDependence {
        /// The relation.
        relation: &'static str,
    },
    /// Nothing defines a role.
    #[error("the rulesheet has no role")]
    NoRole,
    /// There are too many ground rules, or their terms are nested too deep.
    #[error("there are too many ground rules, or their terms are nested too deep")]
    TooLarge,
    /// Cancelled by the caller.
    #[error("grounding was stopped")]
    Stopped,
}
