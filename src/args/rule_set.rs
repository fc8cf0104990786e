//! Rule sets of the two-player game.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::TypedValueParser;
use serde::Deserialize;
use sternhalma_data::RuleSet;
use sternhalma_ggp::gdl::GAMES;
use sternhalma_ggp::messages::nearest;

use super::rulesheet::read_rulesheet;
use crate::values::completed;

/// The rules of games that are played, if neither an option nor a saved game selects others.
pub const DEFAULT_RULES: RuleSet = RuleSet::NEWEST;

/// The name of [`DEFAULT_RULES`].
pub const DEFAULT_NAME: &str = RuleSet::OPTION_NAMES[1];

/// Parses the name of a rule set.
fn rule_set(text: &str) -> Result<RuleSet, String> {
    RuleSet::from_option(text).map_err(|error| match text.contains(['.', '/']) {
        true => format!("{error}; `sternhalma gdl play {text}` plays a rulesheet"),
        false => error.to_string(),
    })
}

/// Returns a parser of rule sets, whose names shells complete.
pub fn rule_set_parser() -> impl TypedValueParser<Value = RuleSet> {
    completed(&RuleSet::OPTION_NAMES, rule_set)
}

/// The rules of a command that plays games without a saved one.
#[derive(Args, Clone, Copy)]
pub struct GameRulesArgs {
    /// Rules: paper, or blocked-goal, with rules against blocked goals and repetition
    #[arg(long, value_name = "RULES", value_parser = rule_set_parser(), hide_possible_values = true, default_value = DEFAULT_NAME, help_heading = "Board")]
    pub rules: RuleSet,
}

/// The rules of a tournament: a rule set of Chinese Checkers, or a rulesheet.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(from = "String")]
pub enum RulesOption {
    /// A rule set.
    Set(RuleSet),
    /// The file of a rulesheet.
    Sheet(PathBuf),
}

impl From<String> for RulesOption {
    fn from(text: String) -> RulesOption {
        RuleSet::from_option(&text).map_or_else(|_| RulesOption::Sheet(text.into()), RulesOption::Set)
    }
}

impl FromStr for RulesOption {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<RulesOption, Self::Err> {
        Ok(text.to_owned().into())
    }
}

/// Returns the text of the rulesheet that the option `--rules` selects.
///
/// # Errors
/// If it cannot be read. The name of a missing file without an extension may be a misspelt rule set.
pub fn read_rules(path: &Path) -> Result<String> {
    let text = read_rulesheet(path);
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return text };
    if text.is_ok() || path.exists() || name.contains('.') {
        return text;
    }
    let sets = RuleSet::OPTION_NAMES;
    let similar = nearest(name, sets.into_iter().chain(GAMES.iter().map(|game| game.name)));
    let similar = similar.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
    bail!(
        "{}: there is no such rule set or rulesheet; the rule sets are {}, and `sternhalma games` lists the built-in rulesheets{similar}",
        path.display(),
        sets.join(" and ")
    )
}

impl RulesOption {
    /// Makes the path of a rulesheet relative to a directory.
    pub fn in_dir(self, dir: &Path) -> RulesOption {
        match self {
            RulesOption::Sheet(path) => RulesOption::Sheet(dir.join(path)),
            set => set,
        }
    }
}
