//! Rules without variables: everything that may hold in some state, and the
//! ways in which it may.
//!
//! What may hold is found by forward chaining in which every sentence that
//! depends on the state and is negated may hold or not (relaxed
//! reachability). Two changes of the clauses keep it from exploding: they are
//! [`split`] where variables concern few of their literals, and they wait
//! for the [`demand`] of those that read them.

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

use super::syntax::Rules;

pub use chain::{AtomKind, Chain};
pub use clause::{Name, Pred, Program};
pub use error::GroundError;
pub use limits::Limits;
pub use strata::groups;
pub use terms::Terms;

/// The clauses of a rulesheet, cut into pieces and restricted to what the
/// game asks.
pub fn program(rules: &Rules, terms: &mut Terms) -> Result<Program, GroundError> {
    let mut program = Program::new(rules, terms)?;
    split::split(&mut program);
    demand::restrict(&mut program)?;
    Ok(program)
}
