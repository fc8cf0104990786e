//! A position, and how built-in players search it.

use clap::Args;

use super::limits::{LimitArgs, MemoryArgs};
use super::player::PlayerArgs;
use super::position::PositionArgs;
use super::rule_set::GameRulesArgs;
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
    pub position: PositionArgs,
    #[command(flatten)]
    pub rules: GameRulesArgs,
    #[command(flatten)]
    pub players: PlayerArgs,
}
