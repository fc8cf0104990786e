//! Selection: the choice of moves in the tree.

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

/// A node on the path of a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeVisit {
    /// Its number in the tree.
    pub node: u32,
    /// The number of simulations that have continued from it.
    pub visits: u32,
}

/// A policy that selects the move of a node that a simulation follows.
///
/// # Call order
///
/// [`enter`](Selection::enter) is called for each node of the path, beginning
/// with the root. At a node, [`prepare`](Selection::prepare) is called once
/// per acting role, then [`value`](Selection::value) once per move. A new node
/// calls [`edge_data`](Selection::edge_data). [`learn`](Selection::learn) ends
/// the simulation.
pub trait Selection<G: Game> {
    /// The data that it keeps per move in addition to the statistics.
    type EdgeData: Copy + Debug;

    /// The common part of the values of all moves of a role at a node.
    type Prepared: Copy;

    /// Whether it learns from the moves of simulations.
    const LEARNS: bool = false;

    /// Returns whether moves without visits have values. If not, each move of
    /// a node is tried once before any is evaluated.
    fn values_untried(&self) -> bool;

    /// Returns the tolerance for ties. Moves within this distance of the best
    /// value are tied and chosen among uniformly. With 0, the first best move
    /// is chosen.
    fn tolerance(&self) -> f64 {
        0.0
    }

    /// Returns the data of the moves of a role in a state that becomes a node.
    fn edge_data(&mut self, game: &G, state: &G::State, role: usize, moves: &[G::Move]) -> &[Self::EdgeData];

    /// Follows a simulation to a node, beginning with the root.
    #[inline]
    fn enter(&mut self, _place: NodeVisit) {}

    /// Prepares the evaluation of the moves of a role at the last entered
    /// node.
    fn prepare(&mut self, place: NodeVisit, role: usize) -> Self::Prepared;

    /// Returns the value of a move of the prepared role.
    fn value(&self, prepared: Self::Prepared, stats: MoveStats, note: Self::EdgeData) -> f64;

    /// Sets the parameters of a role.
    fn set_params(&mut self, _role: usize, _params: &ParamOverrides) {}

    /// Learns from a simulation: the entered nodes, the last of which may be
    /// new, its moves, and one reward per role. Node i was left by step i of
    /// the history.
    #[inline]
    fn learn(&mut self, _entered: &[u32], _trail: &MoveHistory, _rewards: &[f64]) {}

    /// Renumbers the nodes that the tree keeps. Nodes without a new number are
    /// removed.
    fn renumber(&mut self, _numbers: &[Option<u32>]) {}
}
