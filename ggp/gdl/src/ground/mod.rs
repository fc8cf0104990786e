//! Grounding: all sentences that may hold in some state, and the rule instances
//! from which they follow.
//!
//! Forward chaining finds the sentences that may hold. Forward chaining assumes
//! that negated sentences that depend on the state may or may not hold (relaxed
//! reachability). Two transformations of the clauses limit the number of
//! instances: [`split`] cuts clauses whose variables occur in few literals, and
//! [`demand`] restricts clauses to the queries of their readers.

mod chain;
mod clause;
mod demand;
mod error;
mod limits;
mod split;
mod strata;
mod tables;
mod terms;
#[cfg(test)]
mod tests;

use super::syntax::{DependencyGraph, Rules};

pub use chain::{AtomKind, ForwardChaining};
pub use clause::{GroundClauses, PredId, RelationName};
pub use error::{GroundBound, GroundError};
pub use limits::GroundLimits;
pub use strata::clause_groups;
pub use terms::GroundTerms;

/// Returns the clauses of a rulesheet, split and restricted to the demand.
pub fn ground_clauses(
    rules: &Rules,
    graph: &DependencyGraph,
    terms: &mut GroundTerms,
) -> Result<GroundClauses, GroundError> {
    let mut program = GroundClauses::new(rules, graph, terms)?;
    split::split(&mut program);
    demand::restrict(&mut program)?;
    Ok(program)
}
