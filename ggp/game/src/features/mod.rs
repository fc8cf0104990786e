//! Features of states that a game offers to playouts beyond its rules.

mod goal_tree;
mod state_features;
mod successors;

pub use goal_tree::{Degree, DegreeBuffers, GoalTree, GoalTreeBuilder};
pub use state_features::{StateFeatures, one_by_one};
pub use successors::Successors;
