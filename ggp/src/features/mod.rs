//! Features of states.

mod goal_tree;
mod state_features;
mod successors;

pub use goal_tree::{Degree, DegreeBuffers, GoalTree, GoalTreeBuilder};
pub use state_features::{NoFeatures, StateFeatures, one_by_one};
pub use successors::Successors;
