//! Properties of a game that are derived from its network.

mod features;
mod goals;
mod profile;

pub(super) use features::{EngineGame, NetworkFeatures};
pub(super) use goals::goal_trees;
pub use profile::Profile;
