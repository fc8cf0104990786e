//! The settings of a search.

use super::Decision;

/// The largest number of edges: their indices have 32 bits.
pub(super) const MAX_EDGES: usize = 1 << 31;

/// The settings of a search, without its components.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MctsConfig {
    /// The number of times that a move must have been followed before the state
    /// after it becomes a node. With 0, every simulation adds a node.
    pub expansion_threshold: u32,
    /// The effect of the length of a simulation on its rewards.
    pub length_bonus: LengthBonus,
    /// The choice of the move to play.
    pub decision: Decision,
    /// The number of moves at which the tree stops growing. A move takes about
    /// 24 bytes, plus the data that the selection keeps of it.
    pub max_edges: usize,
    /// Whether states with the same [`key`](sternhalma_game::Game::key) share a node.
    /// Statistics belong to a move, not to the state after it.
    pub transpositions: bool,
    /// The factor, 0 to 1, for the visits and rewards of the kept tree after
    /// each joint move of the match. A visited move keeps at least one visit,
    /// and its average.
    pub tree_gamma: f64,
    /// Whether the search proves outcomes (MCTS-Solver) where one role moves at
    /// a time. A simulation ends at a proved state, and the search ends once the
    /// root is proved. Do not combine the solver with a length bonus, which
    /// gives a state different rewards at different moves of the match.
    pub solver: bool,
}

impl Default for MctsConfig {
    fn default() -> MctsConfig {
        MctsConfig {
            expansion_threshold: 0,
            length_bonus: LengthBonus::NONE,
            decision: Decision::BestAverage,
            max_edges: MAX_EDGES,
            transpositions: false,
            tree_gamma: 1.0,
            solver: false,
        }
    }
}

/// A preference for short wins and long losses [Roschke and Sturtevant 2013,
/// section 4.2].
///
/// A reward r in 0 to 1 after a simulation of `length` moves from the root
/// becomes r + weight · (1 - 2r) · min(length, horizon) / horizon.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LengthBonus {
    /// The largest change of a reward; 0 for no change.
    pub weight: f64,
    /// The length beyond which rewards change no more.
    pub horizon: u32,
}

impl LengthBonus {
    /// Leaves rewards unchanged.
    pub const NONE: LengthBonus = LengthBonus { weight: 0.0, horizon: 1 };

    /// Changes the rewards of a simulation.
    #[inline]
    pub(super) fn apply(self, rewards: &mut [f64], length: u32) {
        let share = self.weight * f64::from(length.min(self.horizon)) / f64::from(self.horizon);
        for reward in rewards {
            *reward += share * (1.0 - 2.0 * *reward);
        }
    }
}
