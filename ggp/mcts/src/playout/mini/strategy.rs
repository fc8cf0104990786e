//! The strategies, and the configuration of a player.

use super::allocation::StrategyAllocation;

/// A rule for the moves of our role in a simulation [Świechowski and Mańdziuk
/// 2014, section V].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Strategy {
    /// R: random moves.
    Random,
    /// AGE: approximate goal evaluation.
    Goal,
    /// SSC: statistical symbols counting.
    Symbols,
    /// M: mobility.
    Mobility,
    /// E: exploration.
    Exploration,
    /// HH: the history heuristic.
    History,
}

impl Strategy {
    /// All strategies, in the order of the paper.
    pub const ALL: [Strategy; 6] = {
        use Strategy::*;
        [Random, Goal, Symbols, Mobility, Exploration, History]
    };

    /// The strategies with their names in the paper, in the order of the variants.
    pub const NAMES: [(&str, Strategy); 6] = [
        ("R", Strategy::Random),
        ("AGE", Strategy::Goal),
        ("SSC", Strategy::Symbols),
        ("M", Strategy::Mobility),
        ("E", Strategy::Exploration),
        ("HH", Strategy::History),
    ];

    /// Returns whether the strategy depends on moves only.
    fn is_blind(self) -> bool {
        matches!(self, Strategy::Random | Strategy::History)
    }

    /// Returns the name in the paper.
    pub fn name(self) -> &'static str {
        Strategy::NAMES[self as usize].0
    }
}

/// The probability that a strategy chooses the move; otherwise the move is
/// random (PR in [Świechowski and Mańdziuk 2014, Table II]).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Chances {
    /// AGE.
    pub goal: f64,
    /// SSC.
    pub symbols: f64,
    /// M.
    pub mobility: f64,
    /// E.
    pub exploration: f64,
    /// HH, also in the model of the other roles.
    pub history: f64,
}

impl Default for Chances {
    fn default() -> Chances {
        Chances { goal: 0.75, symbols: 1.0, mobility: 0.85, exploration: 0.8, history: 0.7 }
    }
}

impl Chances {
    /// Returns the probability of a strategy.
    pub fn of(&self, strategy: Strategy) -> f64 {
        match strategy {
            Strategy::Random => 0.0,
            Strategy::Goal => self.goal,
            Strategy::Symbols => self.symbols,
            Strategy::Mobility => self.mobility,
            Strategy::Exploration => self.exploration,
            Strategy::History => self.history,
        }
    }
}

/// The moves of the other roles in simulations [Świechowski and Mańdziuk 2014,
/// section V.H].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OpponentModel {
    /// The history heuristic, with its probability.
    History,
    /// The history heuristic among untried moves of the tree, and random moves
    /// in playouts.
    #[default]
    HistoryInTree,
    /// Random moves.
    Random,
}

impl OpponentModel {
    /// Returns the strategy of the other roles.
    pub(super) fn strategy(self, in_tree: bool) -> Strategy {
        match self {
            OpponentModel::History => Strategy::History,
            OpponentModel::HistoryInTree if in_tree => Strategy::History,
            OpponentModel::HistoryInTree | OpponentModel::Random => Strategy::Random,
        }
    }
}

/// The configuration of a MINI-Player [Świechowski and Mańdziuk 2014]. The
/// default is MINI itself.
#[derive(Clone, PartialEq, Debug)]
pub struct MiniConfig {
    /// The allocation of simulations.
    pub allocation: StrategyAllocation,
    /// The strategies, at least one.
    pub strategies: Vec<Strategy>,
    /// The probabilities of the strategies.
    pub chances: Chances,
    /// The moves of the other roles.
    pub opponents: OpponentModel,
}

impl Default for MiniConfig {
    fn default() -> MiniConfig {
        MiniConfig::mini()
    }
}

impl MiniConfig {
    /// Returns whether all strategies depend on moves only.
    pub fn is_blind(&self) -> bool {
        self.strategies.iter().all(|strategy| strategy.is_blind())
    }

    /// Returns the configuration with only those strategies that depend on
    /// moves only, or with random moves if there are none.
    #[must_use]
    pub fn blind(mut self) -> MiniConfig {
        self.strategies.retain(|strategy| strategy.is_blind());
        if self.strategies.is_empty() {
            self.strategies.push(Strategy::Random);
        }
        self
    }

    /// Returns MINI and MINI-STR: the six strategies with upper confidence
    /// bounds. MINI decides by [effective
    /// quality](crate::Decision::EffectiveQuality).
    pub fn mini() -> MiniConfig {
        MiniConfig {
            allocation: StrategyAllocation::UCB,
            strategies: Strategy::ALL.to_vec(),
            chances: Chances::default(),
            opponents: OpponentModel::default(),
        }
    }
}
