//! The strategies of MINI-Player (Świechowski & Mańdziuk, *Self-Adaptation of
//! Playing Strategies in General Game Playing*, 2013; paper 002).
//!
//! A simulation follows one of six strategies, and an [`Allocator`] gives
//! those that do well more simulations than others. What they look at in a
//! game is its [`Anatomy`].

mod allocate;
mod anatomy;
mod goal_tree;
mod history;
mod quality;
mod symbols;

pub use allocate::{Allocation, Allocator, Tally};
pub use anatomy::{Anatomy, Successors, one_by_one};
pub use goal_tree::{Degree, DegreeBuffers, GoalTree, GoalTreeBuilder};
pub use history::History;
pub use quality::Child;
pub use symbols::SymbolCounts;
