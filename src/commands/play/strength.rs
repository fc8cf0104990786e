//! The strength of the computer in a game.

use sternhalma_engine::{Level, LevelError};
use sternhalma_ggp::Limits;
use sternhalma_ggp::arena::Budget;

/// The strength of the computer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Strength {
    /// A level.
    Level(Level),
    /// Limits per move.
    Limits(Limits),
}

impl Strength {
    /// The level at which games begin, in the terminal and on the page.
    const DEFAULT: u32 = 3;

    /// Returns the level without noise that has these limits, or these limits. Without limits it is the default level.
    pub fn of(budget: Budget) -> Strength {
        if budget == Budget::default() {
            return Strength::Level(Level::try_from(Strength::DEFAULT).expect("the level exists"));
        }
        let limits = budget.limits();
        let levels = (1..=Level::HIGHEST).map(|level| Level::try_from(level).expect("the level exists"));
        let found =
            levels.filter(|level| level.noise() == 0.0).find(|level| Limits::expansions(level.nodes()) == limits);
        found.map_or(Strength::Limits(limits), Strength::Level)
    }

    /// Parses a level.
    pub fn parse_level(text: &str) -> Result<Strength, LevelError> {
        text.parse().map(Strength::Level)
    }

    /// Returns `level N`, or `own limits`.
    pub fn text(self) -> String {
        match self {
            Strength::Level(level) => format!("level {}", u32::from(level)),
            Strength::Limits(_) => "own limits".to_owned(),
        }
    }

    /// Returns the limits of the search for a hint, which is good at low levels too.
    pub fn hint_limits(self) -> Limits {
        /// The page has the same.
        const NODES: u64 = 30_000;
        match self {
            Strength::Level(level) => Limits::expansions(level.nodes().max(NODES)),
            Strength::Limits(limits) => limits,
        }
    }
}
