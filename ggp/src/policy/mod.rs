//! Policies: methods by which a player of any game finds its moves, as text and
//! as parts of a search.
//!
//! [`Policy`] is the parsed text, [`SearchPolicy`] a Monte-Carlo tree search as a value with one table of parameters,
//! and [`PolicyAgent`] a player of one match. [`PolicyGame`] has the properties
//! of a game beyond its rules that policies can use.

mod agent;
mod build;
mod game;
mod lock_step;
mod playout;
mod search;
mod selection;
#[cfg(test)]
mod tests;
mod text;
mod visitor;

pub use crate::batch::Parallelism;
pub use agent::PolicyAgent;
pub(crate) use agent::RandomAgent;
pub use game::PolicyGame;
pub use lock_step::LockStep;
pub use playout::{MoveValuePolicy, PlayoutPolicy};
pub use search::{
    SearchPolicy, WrongParameter, parameter_table, parameters, parts_first, removal_notice, set_in_order,
};
pub use selection::SelectionPolicy;
pub use sternhalma_game::SearchTask;
pub use sternhalma_game::param_table::ParamHelp;
pub use text::{NAMED_POLICIES, NamedPolicy, Policy, PolicyError, PolicyText};
pub use visitor::{PartsVisitor, SelectionVisitor};
