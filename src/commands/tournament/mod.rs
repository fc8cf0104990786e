//! Tournaments.

mod logs;
mod plan;
pub mod report;
mod room;
mod series;
mod settings;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Result, bail};
use clap::{Args as ClapArgs, Subcommand};
use serde_json::json;
use sternhalma_ggp::Limits;
use sternhalma_ggp::arena::{GameId, GameLog, GameRecord, Schedule, Shard, Standings};

use crate::args::threads::threads;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, status};
use room::Failure;
pub use room::{Room, open};
use series::File;
pub use settings::{Player, Settings};

/// Let players play each other, everybody against everybody or one against all
///
/// Games come in pairs from the same opening, with sides changed. With --log an
/// interrupted run goes on where it was when the same command is given again.
#[derive(ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Players: a name, `name,key=value,…` to change it, or `ugi:COMMAND` for a program
    players_named: Vec<String>,
    /// A tournament in TOML, or a file of games: one tournament each; flags go before what it says
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    run: RunArgs,
    /// Of a file of games: only these, those on demand too
    #[arg(long, value_name = "NAME", num_args = 1..)]
    game: Vec<String>,
    /// Of a file of games: the games and pairings on demand too
    #[arg(long)]
    all: bool,
    /// Say how many games there are and how long they take, and play none
    #[arg(long)]
    plan: bool,
    /// Play one part of several, like `1/3`; `tournament merge` joins their logs
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    Merge(logs::MergeArgs),
    Show(logs::ShowArgs),
}

/// How games are played, which changes no result.
#[derive(ClapArgs)]
pub struct RunArgs {
    /// Games at a time [default: one a core]
    #[arg(long, alias = "concurrency")]
    threads: Option<NonZeroUsize>,
    /// A file that keeps every game, a JSON object a line; for a file of games a directory, with such a file a game
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

impl RunArgs {
    fn threads(&self) -> NonZeroUsize {
        threads(self.threads)
    }
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    match &args.command {
        Some(Command::Merge(args)) => return logs::merge(args),
        Some(Command::Show(args)) => return logs::show(args),
        None => {}
    }
    let flags = Settings {
        player: args.players_named.iter().map(|text| Player::named(text)).collect(),
        ..args.settings.clone()
    };
    let settings = match args.file.as_deref().map(File::read).transpose()? {
        Some(File::Games(series)) => return series::run(ctx, args, flags, &series),
        Some(File::One(file)) => flags.over(file)?,
        None => flags,
    };
    if !args.game.is_empty() || args.all {
        bail!("--game and --all choose from a file of games, and this is one tournament");
    }
    let room = open(ctx, &settings)?;
    let schedule = settings.schedule(room.game(), room.roles(), room.players(), args.shard)?;
    if args.plan {
        check_budgets(&*room, &schedule)?;
        let (log, threads) = (args.run.log.as_deref(), args.run.threads());
        let plan = plan::plan(&*room, &schedule, log, threads, &*ctx.stop()?, plan::PLAN_TIME)?;
        match args.json {
            true => output::print_json(&plan)?,
            false => output::print_line(&plan.text())?,
        }
        return Ok(CommandOutcome::Answered);
    }
    play(ctx, &*room, schedule, &args.run, |standings| print(standings, args.json))
}

/// Plays a tournament and has it told, also if it is interrupted.
pub fn play(
    ctx: &CommandContext,
    room: &dyn Room,
    schedule: Schedule,
    args: &RunArgs,
    tell: impl FnOnce(&Standings) -> Result<()>,
) -> Result<CommandOutcome> {
    let stop = ctx.stop()?;
    let standings = held(room, schedule, args.log.as_deref(), args.threads(), &stop)?;
    let (found, wanted) = (standings.played(), standings.expected());
    if found == 0 && wanted > 0 {
        bail!("interrupted: no game was finished");
    }
    tell(&standings)?;
    if found < wanted && stop.load(Relaxed) {
        let how = if args.log.is_some() { "the same command goes on" } else { "with --log it could go on" };
        bail!("interrupted after {found} of {wanted} games: {how}");
    }
    Ok(CommandOutcome::Answered)
}

/// Plays the games that a log lacks, until all are played or `stop` is set.
fn held(
    room: &dyn Room,
    schedule: Schedule,
    log: Option<&Path>,
    threads: NonZeroUsize,
    stop: &AtomicBool,
) -> Result<Standings> {
    check_budgets(room, &schedule)?;
    let (mut standings, mut log) = taken_up(schedule, log)?;
    let mut report = |record: &GameRecord, standings: &Standings| -> Result<(), Failure> {
        if let Some(log) = &mut log {
            log.append(record).map_err(|error| Failure(error.into()))?;
        }
        status!("{}", report::live(record, standings));
        Ok(())
    };
    let played = room.play(&mut standings, threads, stop, &mut report);
    if let Some(log) = &log {
        log.sync()?;
    }
    played.map(|()| standings)
}

/// Tests that every search ends.
fn check_budgets(room: &dyn Room, schedule: &Schedule) -> Result<()> {
    let slots = (0..schedule.rounds.len()).flat_map(|round| (0..schedule.pairings.len()).map(move |at| (round, at)));
    for ((round, pairing), second) in slots.flat_map(|slot| [(slot, 0), (slot, 1)]) {
        let budget = schedule.budget(GameId { round, pairing, game: 0 }, second);
        let time = budget.time.map(|time| time.base);
        let limits = budget.limits().and(Limits { time, ..Limits::default() });
        if !room.ends_by(schedule.pairings[pairing][second], &limits) {
            bail!(
                "{} does not know the limit of {budget}; give it nodes or a time too",
                schedule.name(pairing, second)
            );
        }
    }
    Ok(())
}

/// The standings with the games of a log, if there is one.
fn taken_up(schedule: Schedule, log: Option<&Path>) -> Result<(Standings, Option<GameLog>)> {
    let (log, known) = match log {
        Some(path) => GameLog::open(path, &schedule).map(|(log, known)| (Some(log), known))?,
        None => (None, Vec::new()),
    };
    let mut standings = Standings::new(schedule);
    for record in &known {
        standings.add(record);
    }
    Ok((standings, log))
}

fn print(standings: &Standings, json: bool) -> Result<()> {
    match json {
        true => output::print_json(&json!({
            "games": standings.expected(),
            "played": standings.played(),
            "rounds": standings.summary(),
        })),
        false => output::print_line(&report::text(standings)),
    }
}
