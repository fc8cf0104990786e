//! A simulation under way.

use super::MoveHistory;
use super::tree::{EdgeId, NodeId};
use super::tuning::Tuned;

/// Where a simulation is.
#[derive(Clone, Copy, Debug)]
pub(super) enum SimulationPosition {
    /// At the state of a node.
    Node(NodeId),
    /// After a joint move of a node, in a state that may not be a node. The
    /// edges of the joint move are those of the simulation from `first_edge` on.
    Below { node: NodeId, first_edge: usize },
    /// Beyond the tree.
    Playout,
}

impl Default for SimulationPosition {
    fn default() -> SimulationPosition {
        SimulationPosition::Node(0)
    }
}

/// The next action of the caller of [`Mcts::step`](super::Mcts::step).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepAction {
    /// Play the joint move, and call [`Mcts::step`](super::Mcts::step) with the state after it.
    Play,
    /// Call [`Mcts::finish`](super::Mcts::finish): the simulation has its rewards.
    Finish,
    /// Call [`Mcts::cancel`](super::Mcts::cancel): a limit interrupted the simulation.
    Cancel,
}

/// A simulation under way, from [`Mcts::begin_simulation`](super::Mcts::begin_simulation) until it is given
/// to [`Mcts::finish`](super::Mcts::finish) or [`Mcts::cancel`](super::Mcts::cancel).
#[derive(Default, Debug)]
pub struct Simulation {
    pub(super) id: u64,
    pub(super) position: SimulationPosition,
    /// The nodes that the simulation has left, and the edges that it took: one
    /// for each role that acts at the node.
    pub(super) path: Vec<NodeId>,
    pub(super) edges: Vec<EdgeId>,
    /// The moves played, if a component learns from them.
    pub(super) history: MoveHistory,
    /// The reward of each role, once the simulation has ended.
    pub(super) rewards: Vec<f64>,
    /// The node that the simulation has added to the tree.
    pub(super) added: Option<NodeId>,
    /// The node at which it has ended, whose outcome is proved.
    pub(super) proved: Option<NodeId>,
    /// The number of joint moves played in the tree, and beyond it.
    pub(super) tree_moves: u32,
    pub(super) playout_moves: u32,
    pub(super) tuned: Tuned,
    /// Whether other simulations run at the same time. The moves of the
    /// simulation then count as visited once they are chosen, without a reward
    /// (WU-UCT).
    pub(super) parallel: bool,
}

impl Simulation {
    /// Puts the simulation at the root.
    pub(super) fn restart(&mut self, id: u64, parallel: bool, history: &MoveHistory) {
        (self.id, self.parallel) = (id, parallel);
        self.position = SimulationPosition::default();
        self.path.clear();
        self.edges.clear();
        self.history.restart_from(history);
        (self.added, self.proved) = (None, None);
        (self.tree_moves, self.playout_moves) = (0, 0);
    }
}
