//! Batched simulations: up to 512 are stepped together by the network of a
//! rulesheet.
//!
//! [`LaneDriver`](lane_driver::LaneDriver) steps the states of a
//! [`SeatSearch`](lane_driver::SeatSearch): many simulations in one tree
//! ([`TreeParallel`]), or one simulation in each of many trees
//! ([`LockStepSearches`]).

mod lane_driver;
mod lock_step;
mod resumable;
mod tree_parallel;

pub(crate) use lock_step::{LaneSearch, LockStepSearches};
pub(crate) use resumable::{LanePlayout, LaneSelection, ResumableMcts, ResumableSearch};
pub use tree_parallel::Parallelism;
pub(crate) use tree_parallel::TreeParallel;
#[cfg(test)]
pub(crate) use tree_parallel::run_in_lanes;
