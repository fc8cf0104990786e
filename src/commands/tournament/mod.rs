//! `tournament`: plays tournaments, and prints and merges their logs.

mod args;
mod logs;
mod open;
mod series;
mod single;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args as ClapArgs, Subcommand};

use crate::args::tournament::{PlayerEntry, TournamentOptions};
use crate::context::CommandContext;
use crate::output::CommandOutcome;
pub use args::RunArgs;
pub use open::open;
pub use single::play;

/// Play a tournament: all players against each other, or one against all
///
/// Games come in pairs from the same opening, with sides exchanged. With --log,
/// the same command resumes an interrupted run.
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
    Show(logs::ShowArgs),
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    match &args.command {
        Some(TournamentCommand::Merge(args)) => return logs::merge(args),
        Some(TournamentCommand::Show(args)) => return logs::show(args),
        None => {}
    }
    let players = args.players_named.iter().map(|text| PlayerEntry::from_argument(text)).collect();
    let flags = args.options.clone().with_players(players);
    match args.file.as_deref().map(TournamentOptions::read).transpose()? {
        Some(series) if series.is_series() => series::run(ctx, &args.play, flags, &series),
        Some(file) => single::run(ctx, &args.play, flags.or(file)?),
        None => single::run(ctx, &args.play, flags),
    }
}
