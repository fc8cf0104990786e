//! The strategies and what a player makes of them.

use super::allocation::StrategyAllocation;

/// How our role chooses its moves in a simulation (paper 002, section V).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Strategy {
    /// R: any move.
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
    /// All of them, in the order of the paper.
    pub const ALL: [Strategy; 6] = [
        Strategy::Random,
        Strategy::Goal,
        Strategy::Symbols,
        Strategy::Mobility,
        Strategy::Exploration,
        Strategy::History,
    ];

    /// Whether it looks at nothing but moves.
    fn is_blind(self) -> bool {
        matches!(self, Strategy::Random | Strategy::History)
    }

    /// What the paper calls it.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Random => "R",
            Strategy::Goal => "AGE",
            Strategy::Symbols => "SSC",
            Strategy::Mobility => "M",
            Strategy::Exploration => "E",
            Strategy::History => "HH",
        }
    }
}

/// The chance with which each strategy chooses a move; else it is any (PR of
/// paper 002, Table II).
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
    /// HH, also of the other roles.
    pub history: f64,
}

impl Default for Chances {
    fn default() -> Chances {
        Chances { goal: 0.75, symbols: 1.0, mobility: 0.85, exploration: 0.8, history: 0.7 }
    }
}

impl Chances {
    /// The chance of a strategy.
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

/// A player of the family of MINI-Player (paper 002). The default is MINI itself.
#[derive(Clone, PartialEq, Debug)]
pub struct MiniConfig {
    /// How simulations are shared out.
    pub allocation: StrategyAllocation,
    /// The strategies that are used, at least one.
    pub strategies: Vec<Strategy>,
    /// How often they choose.
    pub chances: Chances,
}

impl Default for MiniConfig {
    fn default() -> MiniConfig {
        MiniConfig::mini()
    }
}

impl MiniConfig {
    /// Whether all of its strategies look at nothing but moves.
    pub fn is_blind(&self) -> bool {
        self.strategies.iter().all(|strategy| strategy.is_blind())
    }

    /// The same with those of its strategies that look at nothing but moves;
    /// any move, if there is none.
    #[must_use]
    pub fn blind(mut self) -> MiniConfig {
        self.strategies.retain(|strategy| strategy.is_blind());
        if self.strategies.is_empty() {
            self.strategies.push(Strategy::Random);
        }
        self
    }

    /// MINI and MINI-STR: the six strategies shared out by upper bounds. MINI
    /// decides by [effective quality](crate::Decision::EffectiveQuality).
    pub fn mini() -> MiniConfig {
        MiniConfig {
            allocation: StrategyAllocation::UCB,
            strategies: Strategy::ALL.to_vec(),
            chances: Chances::default(),
        }
    }

    /// MINI-C and, by effective quality, MINI-EQ: the history heuristic alone.
    pub fn classic() -> MiniConfig {
        MiniConfig { strategies: vec![Strategy::History], ..MiniConfig::mini() }
    }

    /// MINI-1-S: all strategies as often in the start clock, and then the best
    /// of them alone. Without a start clock that is the best of one simulation each.
    pub fn single_strategy() -> MiniConfig {
        MiniConfig { allocation: StrategyAllocation::UniformThenBest, ..MiniConfig::mini() }
    }
}
