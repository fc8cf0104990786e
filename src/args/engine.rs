//! A position, and how built-in players search it.

use anyhow::Result;
use clap::Args;
use sternhalma_data::RuleSet;
use sternhalma_engine::GameHistory;

use super::limits::{LimitArgs, MemoryArgs};
use super::player::PlayerArgs;
use super::position::PositionArgs;
use super::rule_set::{DEFAULT_RULES, rule_set_parser};
use crate::values::count;

/// The position and the searches of `play` and `analyse`.
#[derive(Args)]
pub struct EngineArgs {
    /// Seed of the players
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u64>(0), help_heading = "Players")]
    pub seed: u64,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    position: PositionArgs,
    /// Rules: paper, or blocked-goal, with rules against blocked goals and repetition [default: those of a saved
    /// game, otherwise blocked-goal]
    #[arg(long, value_name = "RULES", value_parser = rule_set_parser(), hide_possible_values = true, help_heading = "Board")]
    rules: Option<RuleSet>,
    #[command(flatten)]
    pub players: PlayerArgs,
}

impl EngineArgs {
    /// Returns the game up to the position, with its rule set and ply limit.
    ///
    /// # Errors
    /// If the text is not a position, or a move is illegal.
    pub fn game(&self) -> Result<GameHistory> {
        self.position.game(self.rules, DEFAULT_RULES, self.players.ply_limit)
    }
}
