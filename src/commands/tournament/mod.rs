//! `tournament`: plays tournaments, and prints and merges their logs.

mod logs;
mod open;
mod series;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args as ClapArgs, Subcommand};
use serde_json::json;
use sternhalma_ggp::arena::{GameRecord, Shard, Standings, Tournament, progress_line, standings_text};

use crate::args::threads::threads;
use crate::args::tournament::{PlayerOptions, TournamentOptions};
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, status};
pub use open::open;

/// The time for the sample games of an estimate.
const ESTIMATE_TIME: Duration = Duration::from_secs(60);

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
    run: RunArgs,
    /// Games of a series file to play, including those on demand
    #[arg(long, value_name = "NAME", num_args = 1..)]
    game: Vec<String>,
    /// Play all games and pairings of a series file, including those on demand
    #[arg(long)]
    all: bool,
    /// Print the number of games and an estimate of the time, without playing
    #[arg(long)]
    plan: bool,
    /// Play one of several parts, e.g. `1/3`; `tournament merge` merges their logs
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum TournamentCommand {
    Merge(logs::MergeArgs),
    Show(logs::ShowArgs),
}

/// Arguments that do not change the results.
#[derive(ClapArgs)]
pub struct RunArgs {
    /// Simultaneous games [default: one per core]
    #[arg(long, alias = "concurrency")]
    threads: Option<NonZeroUsize>,
    /// Log of all games, a JSON object per line; for a series file, a directory with a log per game
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

impl RunArgs {
    fn threads(&self) -> NonZeroUsize {
        threads(self.threads)
    }

    fn resume_hint(&self) -> &'static str {
        if self.log.is_some() { "the same command resumes" } else { "with --log it could resume" }
    }
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    match &args.command {
        Some(TournamentCommand::Merge(args)) => return logs::merge(args),
        Some(TournamentCommand::Show(args)) => return logs::show(args),
        None => {}
    }
    let player = args.players_named.iter().map(|text| PlayerOptions::from_argument(text)).collect();
    let flags = args.options.clone().with_players(player);
    let options = match args.file.as_deref().map(TournamentOptions::read).transpose()? {
        Some(series) if series.is_series() => return series::run(ctx, args, flags, &series),
        Some(file) => flags.or(file)?,
        None => flags,
    };
    if !args.game.is_empty() || args.all {
        bail!("--game and --all select from a series file, and this is one tournament");
    }
    let tournament = open(ctx, options.resolve(args.shard)?)?;
    if args.plan {
        let (log, stop) = (args.run.log.as_deref(), ctx.stop()?);
        let estimate = tournament.estimate(log, args.run.threads(), &stop, ESTIMATE_TIME)?;
        if args.json {
            output::print_json(&estimate)?
        } else {
            output::print_line(&estimate.text())?
        }
        return Ok(CommandOutcome::Answered);
    }
    play(ctx, &tournament, &args.run, |standings| print(standings, args.json))
}

/// Plays a tournament and prints its results, also if it is interrupted.
pub fn play(
    ctx: &CommandContext,
    tournament: &Tournament,
    args: &RunArgs,
    print: impl FnOnce(&Standings) -> Result<()>,
) -> Result<CommandOutcome> {
    let stop = ctx.stop()?;
    let standings = tournament.run(args.log.as_deref(), args.threads(), &stop, progress)?;
    let (played, expected) = (standings.played(), standings.expected());
    if played == 0 && expected > 0 {
        bail!("interrupted: no game was finished");
    }
    print(&standings)?;
    if played < expected && stop.load(Relaxed) {
        bail!("interrupted after {played} of {expected} games: {}", args.resume_hint());
    }
    Ok(CommandOutcome::Answered)
}

fn progress(record: &GameRecord, standings: &Standings) {
    status!("{}", progress_line(record, standings));
}

fn print(standings: &Standings, json: bool) -> Result<()> {
    if !json {
        return output::print_line(&standings_text(standings));
    }
    output::print_json(&json!({
        "games": standings.expected(),
        "played": standings.played(),
        "rounds": standings.summary(),
    }))
}
