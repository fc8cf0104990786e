//! `tournament`: plays tournaments, and prints and merges their logs.

mod args;
mod game;
mod logs;
mod open;
mod openings;
mod rate;
mod series;
mod single;

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::{Args as ClapArgs, Subcommand};
use sternhalma_engine::ConfigError;
use sternhalma_ggp::messages::nearest;

use crate::args::tournament::{PlayerEntry, TournamentOptions};
use crate::context::CommandContext;
use crate::output::CommandOutcome;
pub use args::RunArgs;
pub use game::read_logged;
pub use open::{open, resolve};
pub use single::play;

/// Play a tournament: all players against each other, or one against all
///
/// Games come in pairs from the same opening, with sides exchanged. With --log,
/// the same command resumes an interrupted run, and more --games or players
/// extend it. Exit code 2 if every game ended by a fault.
#[derive(ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<TournamentCommand>,
    /// Players: a name, `name,key=value,…` to change parameters, or `ugi:COMMAND` for a program
    #[arg(value_name = "PLAYER")]
    players_named: Vec<String>,
    /// TOML file with a tournament, or with a series of games; flags override it
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    options: TournamentOptions,
    #[command(flatten)]
    play: args::PlayArgs,
}

#[derive(Subcommand)]
enum TournamentCommand {
    Merge(logs::MergeArgs),
    Openings(Box<openings::Args>),
    Rate(rate::Args),
    Show(logs::ShowArgs),
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    match &args.command {
        Some(TournamentCommand::Merge(args)) => return logs::merge(ctx, args),
        Some(TournamentCommand::Show(args)) => return logs::show(args),
        Some(TournamentCommand::Openings(args)) => return openings::run(ctx, args),
        Some(TournamentCommand::Rate(args)) => return rate::run(args),
        None => {}
    }
    run_tournament(ctx, args).map_err(|error| misspelt_command(args, &error).unwrap_or(error))
}

/// Returns the error for a misspelt subcommand, which is parsed as a player.
fn misspelt_command(args: &Args, error: &anyhow::Error) -> Option<anyhow::Error> {
    let word = args.players_named.first()?;
    let command = nearest(word, ["show", "merge", "openings", "rate"])?;
    let unknown = |cause: &(dyn std::error::Error + 'static)| matches!(cause.downcast_ref(), Some(ConfigError::Unknown { name, .. }) if name == word);
    let text = format!("there is no player `{word}`; did you mean the command `tournament {command}`?");
    error.chain().any(unknown).then(|| anyhow!(text))
}

fn run_tournament(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let players = args.players_named.iter().map(|text| PlayerEntry::from_argument(text)).collect();
    let flags = args.options.clone().with_players(players);
    match args.file.as_deref().map(TournamentOptions::read).transpose()? {
        Some(series) if series.is_series() => series::run(ctx, &args.play, flags, &series),
        Some(file) => single::run(ctx, &args.play, flags.or(file)?),
        None => single::run(ctx, &args.play, flags),
    }
}
