//! Simulations stepped together, many at a time.

mod lock_step;
mod resumable;
mod tree_parallel;

pub(crate) use lock_step::{BoxedLaneSearch, LaneSearch, LockStepSearches};
pub(crate) use resumable::{ResumableMcts, ResumableSearch};
pub use tree_parallel::Parallelism;
#[cfg(test)]
pub(crate) use tree_parallel::Start;
pub(crate) use tree_parallel::TreeParallel;
