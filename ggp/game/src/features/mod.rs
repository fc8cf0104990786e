//! Features of states that a game offers to playouts beyond its rules.

mod found_successors;
mod goal_tree;
mod state_features;
mod successors;

pub use found_successors::{FoundSuccessors, SuccessorPart};
pub use goal_tree::{Degree, DegreeBuffers, GoalTree, GoalTreeBuilder};
pub use state_features::{StateFeatures, one_by_one};
pub use successors::{FactRows, Successors};
