//! How moves are chosen in the tree.

mod grave;
mod puct;
mod uct;

use std::fmt::Debug;

use super::move_history::MoveHistory;
use super::params::ParamOverrides;
use super::stats::MoveStats;
use crate::game::Game;
pub use grave::{Grave, GraveForm, GraveSettings};
pub use puct::{MoveEvaluator, Prior, Puct};
pub use uct::Uct;

/// A node on the way of a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeVisit {
    /// Its number in the tree.
    pub node: u32,
    /// Simulations that have moved on from it.
    pub visits: u32,
}

/// Which move of a node a simulation follows.
pub trait Selection<G: Game> {
    /// What it keeps of a move beside its statistics.
    type EdgeData: Copy + Debug;

    /// What the values of the moves of a role at a node have in common.
    type Prepared: Copy;

    /// Whether it learns from the moves of simulations.
    const LEARNS: bool = false;

    /// Whether moves without visits are valued like the others. If not, each
    /// move of a node is tried once before any is valued.
    fn values_untried(&self) -> bool;

    /// Of the moves whose value is so near to the best, any is followed, all
    /// equally likely. If it is 0, the first of the best is.
    fn tolerance(&self) -> f64 {
        0.0
    }

    /// The notes of the moves of a role in a state that becomes a node.
    fn edge_data(&mut self, game: &G, state: &G::State, role: usize, moves: &[G::Move]) -> &[Self::EdgeData];

    /// Follows a simulation to a node: first the root, then on its way.
    #[inline]
    fn enter(&mut self, _place: NodeVisit) {}

    /// Prepares to value the moves of a role at the node that was entered last.
    fn prepare(&mut self, place: NodeVisit, role: usize) -> Self::Prepared;

    /// The value of a move of the role it prepared for.
    fn value(&self, prepared: Self::Prepared, stats: MoveStats, note: Self::EdgeData) -> f64;

    /// Takes other numbers for a role.
    fn set(&mut self, _role: usize, _controls: &ParamOverrides) {}

    /// Learns from a simulation that came to nodes, the last of which it may
    /// have added, and to rewards, one a role. It moved on from each node by
    /// the same step of the trail.
    #[inline]
    fn learn(&mut self, _entered: &[u32], _trail: &MoveHistory, _rewards: &[f64]) {}

    /// The tree keeps some of its nodes, under new numbers: none of those
    /// that it forgets.
    fn renumber(&mut self, _numbers: &[Option<u32>]) {}
}
