//! Simulations stepped together, many at a time.

mod lock_step;
mod resumable;
mod tree_parallel;

pub(crate) use lock_step::{LaneStepper, Search, Searches};
pub(crate) use resumable::{InSteps, Stepper};
pub use tree_parallel::SideBySide;
#[cfg(test)]
pub(crate) use tree_parallel::Start;
pub(crate) use tree_parallel::TreeParallel;
