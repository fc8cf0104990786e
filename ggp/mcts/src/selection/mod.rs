//! Selection: the choice of moves in the tree.

mod grave;
mod puct;
mod uct;

use std::fmt::Debug;

use sternhalma_game::Game;

use super::{MoveHistory, MoveStats, ParamOverrides};

pub use grave::{Grave, GraveForm, GraveSettings};
pub use puct::{MoveEvaluator, Prior, Puct};
pub use uct::Uct;

/// A node on the path of a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeVisit {
    /// The number of the node in the tree.
    pub node: u32,
    /// The number of simulations that have continued from the node.
    pub visits: u32,
}

/// A policy that selects the move of a node that a simulation follows. `V` is what it reads of states.
///
/// # Call order
///
/// A simulation calls, in this order:
///
/// 1. [`set_params`](EdgeValues::set_params) for each role, if the search is tuned;
/// 2. at each node of its path, from the root on: [`enter`](EdgeValues::enter),
///    and for each acting role [`prepare`](EdgeValues::prepare), then
///    [`value`](EdgeValues::value) for each of its moves. The calls of `value`
///    stop at a move without visits, unless
///    [`values_untried`](EdgeValues::values_untried);
/// 3. [`edge_data`](Selection::edge_data) for each acting role, if a state
///    becomes a node;
/// 4. [`learn`](EdgeValues::learn), unless a limit interrupts the simulation.
///
/// Simulations that run in parallel interleave these steps. `set_params` is then
/// repeated after steps of another simulation, and `enter` for the whole path
/// before each node. Between simulations, [`renumber`](EdgeValues::renumber)
/// follows the moves of the match.
pub trait Selection<G: Game, V = <G as Game>::State>: EdgeValues {
    /// Returns the data of the moves of a role in a state that becomes a node.
    fn edge_data(&mut self, game: &G, state: &V, role: usize, moves: &[G::Move]) -> &[Self::EdgeData];
}

/// The values of moves by which a [`Selection`] selects.
pub trait EdgeValues {
    /// The data that the selection keeps per move in addition to the statistics.
    type EdgeData: Copy + Debug + Send;

    /// The common part of the values of all moves of a role at a node.
    type Prepared: Copy;

    /// Whether the selection learns from the moves of simulations.
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

    /// Follows a simulation to a node, beginning with the root.
    #[inline]
    fn enter(&mut self, _visit: NodeVisit) {}

    /// Prepares the evaluation of the moves of a role at the last entered
    /// node.
    fn prepare(&mut self, visit: NodeVisit, role: usize) -> Self::Prepared;

    /// Returns the value of a move of the prepared role.
    fn value(&self, prepared: Self::Prepared, stats: MoveStats, data: Self::EdgeData) -> f64;

    /// Sets the parameters of a role.
    fn set_params(&mut self, _role: usize, _params: &ParamOverrides) {}

    /// Learns from a simulation: the entered nodes, the last of which may be
    /// new, its moves, and one reward per role. Node i was left by step i of
    /// the history.
    #[inline]
    fn learn(&mut self, _entered: &[u32], _history: &MoveHistory, _rewards: &[f64]) {}

    /// Returns the memory of what it has learned, in bytes.
    #[inline]
    fn memory(&self) -> usize {
        0
    }

    /// Sets the number of bytes by which the memory of the selection may grow
    /// in the next [`learn`](EdgeValues::learn). Without room the selection
    /// learns less.
    #[inline]
    fn set_room(&mut self, _bytes: usize) {}

    /// Returns whether something could not grow, for lack of room, since the last call.
    #[inline]
    fn take_shortage(&mut self) -> bool {
        false
    }

    /// Renumbers the nodes that the tree keeps. Nodes without a new number are
    /// removed.
    fn renumber(&mut self, _numbers: &[Option<u32>]) {}
}
