//! Errors of grounding.

use std::fmt;

use bytesize::ByteSize;
use thiserror::Error;

use super::limits::GroundLimits;
use crate::syntax::{Place, RuleBound};

/// A bound of grounding that follows from the memory limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroundBound {
    /// The words of facts and instances.
    Words,
    /// The rows that joins visit.
    Visits,
    /// The gates that unrolling recursion creates.
    Gates,
}

impl fmt::Display for GroundBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GroundBound::Words => "words of facts and instances",
            GroundBound::Visits => "visited rows",
            GroundBound::Gates => "gates",
        })
    }
}

impl GroundLimits {
    /// Returns the error that a bound is reached.
    pub fn error(&self, bound: GroundBound) -> GroundError {
        let limit = match bound {
            GroundBound::Words => self.words as u64,
            GroundBound::Visits => self.visits,
            GroundBound::Gates => self.gates as u64,
        };
        GroundError::TooLarge { bound, limit, memory: self.memory }
    }
}

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
    /// A rule exceeds a bound if its disjunctions of negations that depend on
    /// the state are expanded.
    #[error("{place}: {bound}")]
    Bound {
        /// The place of the rule.
        place: Place,
        /// The bound.
        bound: RuleBound,
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
    /// The ground rules are too large for the memory limit.
    #[error("grounding needs more than {limit} {bound}, which is the bound for a memory limit of {}", ByteSize(*memory))]
    TooLarge {
        /// The bound that was reached.
        bound: GroundBound,
        /// Its value.
        limit: u64,
        /// The memory in bytes from which the bound follows.
        memory: u64,
    },
    /// Terms grow without bound.
    #[error("grounding creates terms nested deeper than {depth} or longer than {length} bytes")]
    TermTooLarge {
        /// The limit of the nesting depth.
        depth: usize,
        /// The limit of the length.
        length: usize,
    },
    /// Relations are used with too many combinations of bound arguments.
    #[error("relations are used with more than {limit} combinations of bound arguments")]
    Bindings {
        /// The limit.
        limit: usize,
    },
    /// Cancelled by the caller.
    #[error("grounding was stopped")]
    Stopped,
}
