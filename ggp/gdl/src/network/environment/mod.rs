//! Matches in lanes that advance by given moves: vectorised environments for reinforcement learning.

mod block;
mod game;
mod planes;
mod rows;
#[cfg(test)]
mod tests;

pub use block::EnvironmentBlock;
pub use game::{Autoreset, EnvironmentError, EnvironmentOptions, LaneEnvironment};
pub use rows::EnvironmentRows;
