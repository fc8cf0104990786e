//! Named sets of rules of the two-player game.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The rules of a two-player game. `docs/rules.md` defines them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleSet {
    /// The rules of [Roschke and Sturtevant 2013]. Descriptions of games without a rule set mean these.
    #[default]
    Paper,
    /// The same rules with two additions: no move may seal the goal of the opponent, and the third
    /// occurrence of a position is a draw.
    BlockedGoal,
}

impl RuleSet {
    /// All rule sets.
    pub const ALL: [RuleSet; 2] = [RuleSet::Paper, RuleSet::BlockedGoal];

    /// Returns the name of the rule set.
    pub const fn name(self) -> &'static str {
        match self {
            RuleSet::Paper => "paper",
            RuleSet::BlockedGoal => "blocked-goal",
        }
    }

    /// Returns whether a description of a game leaves this rule set out.
    pub const fn is_paper(&self) -> bool {
        matches!(self, RuleSet::Paper)
    }
}

impl fmt::Display for RuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for text that names no rule set.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("expected the rules `paper` or `blocked-goal`, got `{0}`")]
pub struct ParseRuleSetError(String);

impl FromStr for RuleSet {
    type Err = ParseRuleSetError;

    fn from_str(text: &str) -> Result<RuleSet, ParseRuleSetError> {
        let found = RuleSet::ALL.into_iter().find(|rules| rules.name() == text);
        found.ok_or_else(|| ParseRuleSetError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_in_text_and_json() {
        for rules in RuleSet::ALL {
            assert_eq!(rules.to_string().parse(), Ok(rules));
            assert_eq!(serde_json::to_value(rules).unwrap(), rules.name());
        }
        let error = "Paper".parse::<RuleSet>().unwrap_err().to_string();
        assert_eq!(error, "expected the rules `paper` or `blocked-goal`, got `Paper`");
    }
}
