//! Rule sets of the two-player game.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use sternhalma_data::RuleSet;

/// Returns a parser of the names of rule sets.
pub fn rule_set() -> impl TypedValueParser<Value = RuleSet> {
    PossibleValuesParser::new(RuleSet::ALL.map(RuleSet::name)).try_map(|name| name.parse::<RuleSet>())
}

/// The rules of a command that counts or lists moves.
#[derive(Args, Clone, Copy)]
pub struct MoveRulesArgs {
    /// Rules of the game; `blocked-goal` forbids moves that seal the goal of the opponent
    #[arg(long, value_parser = rule_set(), default_value_t = RuleSet::Paper, help_heading = "Board")]
    pub rules: RuleSet,
}
