//! Named sets of rules of the two-player game.
//!
//! Published data have the names of [`RuleSet::stored_name`], whose meaning never changes. People write the names of
//! [`RuleSet::option_name`], or `blocked-goal` for the newest version. The two differ, so [`RuleSet`] implements
//! neither `Display` nor `FromStr`.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The rules of a two-player game. `docs/reference/rule-sets.md` defines them. As data they have their stored names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum RuleSet {
    /// The rules of [Roschke and Sturtevant 2013]. Descriptions of games without a rule set mean these.
    #[serde(rename = "paper")]
    Paper,
    /// The same rules with two additions: no move may seal an empty cell of the goal of the opponent behind a wall
    /// without a piece of the opponent, and the third occurrence of a position is a draw.
    #[serde(rename = "blocked-goal")]
    BlockedGoal1,
    /// As [`RuleSet::BlockedGoal1`], but pieces of the opponent may stand behind the wall, if they are too few to fill
    /// the goal there; and a move that wins is always legal.
    #[serde(rename = "blocked-goal-2")]
    BlockedGoal2,
    /// The rules of [Sturtevant 2019, Definitions 1 to 4], for solutions. No player plays by them.
    #[serde(rename = "sturtevant-2019", skip_deserializing)]
    Sturtevant2019,
    /// The rules of GamesmanClassic (`mccheckers.c`), for solutions: a piece stays in its goal. No player plays by them.
    #[serde(rename = "locked-goal", skip_deserializing)]
    LockedGoal,
}

/// The switches of a rule set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switches {
    /// Whether a player may block the goal of the opponent.
    pub blocked_goal: BlockedGoal,
    /// Whether a piece that has entered its goal stays in it.
    pub locks_goal: bool,
    /// What a position is in which the player to move has won.
    pub won_already: WonAlready,
    /// What a player without a legal move does.
    pub without_move: WithoutMove,
    /// The occurrence of a position that ends a game as a draw.
    pub drawn_occurrence: Option<u8>,
}

/// Whether a player may block the goal of the opponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockedGoal {
    /// Yes.
    Allowed,
    /// No move may seal the goal, in the first version of the rule.
    First,
    /// No move may seal the goal, in the second version of the rule.
    Second,
    /// No position may have a goal with an empty tip that pieces of the opponent seal off: they hold all cells from
    /// which a step or a jump leads to it.
    Tip,
}

/// What a position is in which the player to move has won: the last move of the opponent filled that goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WonAlready {
    /// The end of the game.
    Ends,
    /// Illegal, and so is a move into it.
    Illegal,
}

/// What a player without a legal move does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WithoutMove {
    /// Passes. The game is a draw if the opponent has no legal move either.
    Passes,
    /// Loses.
    Loses,
}

/// The name that people write for [`RuleSet::NEWEST`].
const NEWEST_NAME: &str = "blocked-goal";

impl RuleSet {
    /// The rule sets of games.
    pub const ALL: [RuleSet; 3] = [RuleSet::Paper, RuleSet::BlockedGoal1, RuleSet::BlockedGoal2];

    /// The rule sets of solutions: those of games, and those of published solutions.
    pub const SOLVED: [RuleSet; 5] =
        [RuleSet::Paper, RuleSet::BlockedGoal1, RuleSet::BlockedGoal2, RuleSet::Sturtevant2019, RuleSet::LockedGoal];

    /// The newest version of the rules against blocked goals, with which games are played unless they name others.
    pub const NEWEST: RuleSet = RuleSet::BlockedGoal2;

    /// The names that people may write, without those of earlier versions.
    pub const OPTION_NAMES: [&str; 2] = ["paper", NEWEST_NAME];

    /// Returns the name in logs, records, JSON, links and protocols.
    pub const fn stored_name(self) -> &'static str {
        match self {
            RuleSet::Paper => "paper",
            RuleSet::BlockedGoal1 => "blocked-goal",
            RuleSet::BlockedGoal2 => "blocked-goal-2",
            RuleSet::Sturtevant2019 => "sturtevant-2019",
            RuleSet::LockedGoal => "locked-goal",
        }
    }

    /// Returns the rule set with a [stored name](RuleSet::stored_name).
    ///
    /// # Errors
    /// If no rule set has this name.
    pub fn from_stored(text: &str) -> Result<RuleSet, ParseRuleSetError> {
        let found = RuleSet::ALL.into_iter().find(|rules| rules.stored_name() == text);
        found.ok_or_else(|| ParseRuleSetError::Stored(text.to_owned()))
    }

    /// Returns the name with its version, by which people select exactly this rule set.
    pub const fn option_name(self) -> &'static str {
        match self {
            RuleSet::Paper => "paper",
            RuleSet::BlockedGoal1 => "blocked-goal-1",
            RuleSet::BlockedGoal2 => "blocked-goal-2",
            RuleSet::Sturtevant2019 => "sturtevant-2019",
            RuleSet::LockedGoal => "locked-goal",
        }
    }

    /// Returns the rule set that a person selects by an [option name](RuleSet::option_name). `blocked-goal` is
    /// [`RuleSet::NEWEST`].
    ///
    /// # Errors
    /// If the text selects no rule set.
    pub fn from_option(text: &str) -> Result<RuleSet, ParseRuleSetError> {
        if text == NEWEST_NAME {
            return Ok(RuleSet::NEWEST);
        }
        let found = RuleSet::ALL.into_iter().find(|rules| rules.option_name() == text);
        found.ok_or_else(|| ParseRuleSetError::Option(text.to_owned()))
    }

    /// Returns what a person chooses with this rule set.
    pub const fn about(self) -> &'static str {
        match self {
            RuleSet::Paper => "Goals may be blocked",
            RuleSet::BlockedGoal1 => "No blocked goals, first version",
            RuleSet::BlockedGoal2 => "No blocked goals",
            RuleSet::Sturtevant2019 => "No sealed tips of goals",
            RuleSet::LockedGoal => "Pieces stay in their goals",
        }
    }

    /// Returns what the rule set forbids and when it ends a game, in sentences for players.
    pub const fn explanation(self) -> &'static str {
        match self {
            RuleSet::Paper => {
                "A player may lock cells of the opponent's goal for ever. Positions may repeat until the ply limit."
            }
            RuleSet::BlockedGoal1 => {
                "No move may lock a cell of the opponent's goal for ever, not even a move that wins. The third occurrence \
                 of a position is a draw."
            }
            RuleSet::BlockedGoal2 => {
                "No move may lock a cell of the opponent's goal for ever, unless it wins. The third occurrence of a \
                 position is a draw."
            }
            RuleSet::Sturtevant2019 => {
                "No move may make the opponent win, or seal off the empty tip of a goal. The second occurrence of a position \
                 is a draw."
            }
            RuleSet::LockedGoal => {
                "A piece that has entered its goal stays in it. The third occurrence of a position is a draw."
            }
        }
    }

    /// Returns the rules as switches.
    pub const fn switches(self) -> Switches {
        let paper = Switches {
            blocked_goal: BlockedGoal::Allowed,
            locks_goal: false,
            won_already: WonAlready::Ends,
            without_move: WithoutMove::Passes,
            drawn_occurrence: None,
        };
        match self {
            RuleSet::Paper => paper,
            RuleSet::BlockedGoal1 => Switches { blocked_goal: BlockedGoal::First, drawn_occurrence: Some(3), ..paper },
            RuleSet::BlockedGoal2 => Switches { blocked_goal: BlockedGoal::Second, drawn_occurrence: Some(3), ..paper },
            RuleSet::Sturtevant2019 => Switches {
                blocked_goal: BlockedGoal::Tip,
                won_already: WonAlready::Illegal,
                drawn_occurrence: Some(2),
                ..paper
            },
            RuleSet::LockedGoal => Switches { locks_goal: true, drawn_occurrence: Some(3), ..paper },
        }
    }

    /// Returns the rule set of data that name none.
    pub const fn unnamed() -> RuleSet {
        RuleSet::Paper
    }

    /// Returns whether a newer version has replaced this rule set.
    pub const fn is_replaced(self) -> bool {
        matches!(self, RuleSet::BlockedGoal1)
    }

    /// Returns whether a description of a game leaves this rule set out.
    pub const fn is_paper(&self) -> bool {
        matches!(self, RuleSet::Paper)
    }

    /// Returns whether a repeated position is a draw.
    pub const fn counts_repetitions(self) -> bool {
        self.switches().drawn_occurrence.is_some()
    }
}

/// The error for text that names no rule set.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ParseRuleSetError {
    /// The name of a person.
    #[error("expected the rules `paper`, `blocked-goal` (the newest), `blocked-goal-1` or `blocked-goal-2`, got `{0}`")]
    Option(String),
    /// The name in data.
    #[error("expected the rules `paper`, `blocked-goal` (the first version) or `blocked-goal-2`, got `{0}`")]
    Stored(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_names_are_the_same_in_text_and_json_and_never_change() {
        for rules in RuleSet::ALL {
            assert_eq!(RuleSet::from_stored(rules.stored_name()), Ok(rules));
            assert_eq!(serde_json::to_value(rules).unwrap(), rules.stored_name());
            assert_eq!(serde_json::from_value::<RuleSet>(rules.stored_name().into()).unwrap(), rules);
        }
        assert_eq!(RuleSet::ALL.map(RuleSet::stored_name), ["paper", "blocked-goal", "blocked-goal-2"]);
        let error = RuleSet::from_stored("blocked-goal-1").unwrap_err().to_string();
        assert!(error.contains("expected the rules `paper`, `blocked-goal` (the first version)"), "{error}");
    }

    #[test]
    fn a_person_means_the_newest_version_unless_the_name_has_another() {
        for rules in RuleSet::ALL {
            assert_eq!(RuleSet::from_option(rules.option_name()), Ok(rules));
        }
        assert_eq!(RuleSet::from_option("blocked-goal"), Ok(RuleSet::NEWEST));
        assert_eq!(RuleSet::from_stored("blocked-goal"), RuleSet::from_option("blocked-goal-1"));
        let error = RuleSet::from_option("Paper").unwrap_err().to_string();
        assert!(error.ends_with("`blocked-goal-1` or `blocked-goal-2`, got `Paper`"), "{error}");
    }
}
