//! The plain numbers of a search.

use super::decision::Decision;

/// Edges are numbered in 32 bits.
pub(super) const MAX_EDGES: usize = 1 << 31;

/// The parts of a search that are plain numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MctsConfig {
    /// How often a move is followed before the state after it becomes a node:
    /// 0 adds a node with every simulation.
    pub expansion_threshold: u32,
    /// What the length of a simulation does to its rewards.
    pub length_bonus: LengthBonus,
    /// Which move is played after the search.
    pub decision: Decision,
    /// A tree with this many moves grows no more. A move takes
    /// some 24 bytes, and what the selection notes of it.
    pub max_edges: usize,
    /// Whether states of the same [`key`](Game::key) are one node, whichever
    /// way leads there. Statistics are those of a move, not of the state after it.
    pub transpositions: bool,
    /// What the visits and rewards in the tree that is kept are multiplied by
    /// after each joint move of the match, 0 to 1. A move that was followed
    /// keeps a visit at least, and its average.
    pub tree_gamma: f64,
    /// Whether states in the tree are proved, as far as one role moves at a
    /// time: simulations end at a state whose outcome is known, and the search
    /// when that of the root is. Not to go with a length bonus, as lengths
    /// change from move to move.
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

/// Prefers short wins and long losses (paper 004, section 4.2): a reward r in
/// 0..1 after a simulation of `length` moves from the root becomes
/// r + weight · (1 - 2r) · min(length, horizon) / horizon.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LengthBonus {
    /// The most a reward changes; 0 for no change.
    pub weight: f64,
    /// The length from which on it changes no more.
    pub horizon: u32,
}

impl LengthBonus {
    /// Rewards as they are.
    pub const NONE: LengthBonus = LengthBonus { weight: 0.0, horizon: 1 };

    #[inline]
    pub(super) fn shape(self, rewards: &mut [f64], length: u32) {
        let share = self.weight * f64::from(length.min(self.horizon)) / f64::from(self.horizon);
        for reward in rewards {
            *reward += share * (1.0 - 2.0 * *reward);
        }
    }
}
