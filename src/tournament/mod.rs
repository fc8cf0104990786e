//! Tournaments.

mod plan;
pub mod report;
mod room;
mod settings;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context, Result, bail};
use clap::{Args as ClapArgs, Subcommand};
use serde_json::json;
use sternhalma_ggp::Limits;
use sternhalma_ggp::arena::{GameId, Log, Record, Schedule, Shard, Standings};

use crate::files::Tables;
use crate::players::threads;
use crate::progress::stop_on_ctrl_c;
use crate::{Outcome, output};
use room::Failure;
pub use room::{Room, open};
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
    /// A tournament in TOML; flags go before what it says
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    run: RunArgs,
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
    Merge(MergeArgs),
    Show(ShowArgs),
}

/// Join the logs of the parts of a tournament, and print what they tell
#[derive(ClapArgs)]
struct MergeArgs {
    /// The logs
    #[arg(required = true)]
    logs: Vec<PathBuf>,
    /// The log to write; there may be none of that name
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Print what the log of a tournament tells, also while it is played
#[derive(ClapArgs)]
struct ShowArgs {
    /// The log
    log: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How games are played, which changes no result.
#[derive(ClapArgs)]
pub struct RunArgs {
    /// Games at a time [default: one a core]
    #[arg(long, alias = "concurrency")]
    threads: Option<NonZeroUsize>,
    /// A file that keeps every game, a JSON object a line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

impl RunArgs {
    fn threads(&self) -> NonZeroUsize {
        threads(self.threads)
    }
}

pub fn run(tables: &Tables, args: &Args) -> Result<Outcome> {
    match &args.command {
        Some(Command::Merge(args)) => return merge(args),
        Some(Command::Show(args)) => return show(&args.log, args.json),
        None => {}
    }
    let flags = Settings {
        player: args.players_named.iter().map(|text| Player::named(text)).collect(),
        ..args.settings.clone()
    };
    let settings = match &args.file {
        Some(path) => flags.over(Settings::read(path)?)?,
        None => flags,
    };
    let room = open(tables, &settings)?;
    let schedule = settings.schedule(room.game(), room.roles(), room.players(), args.shard)?;
    if args.plan {
        check_budgets(&*room, &schedule)?;
        let plan = plan::plan(&*room, &schedule, &args.run)?;
        match args.json {
            true => output::print_json(&plan)?,
            false => output::print_line(&plan.text())?,
        }
        return Ok(Outcome::Answered);
    }
    play(&*room, schedule, &args.run, |standings| print(standings, args.json))
}

/// Plays a tournament and has it told, also if it is interrupted.
pub fn play(
    room: &dyn Room,
    schedule: Schedule,
    args: &RunArgs,
    tell: impl FnOnce(&Standings) -> Result<()>,
) -> Result<Outcome> {
    check_budgets(room, &schedule)?;
    let stop = stop_on_ctrl_c()?;
    let (mut standings, mut log) = taken_up(schedule, args.log.as_deref())?;
    let mut report = |record: &Record, standings: &Standings| -> Result<(), Failure> {
        if let Some(log) = &mut log {
            log.append(record).map_err(|error| Failure(error.into()))?;
        }
        eprintln!("{}", report::live(record, standings));
        Ok(())
    };
    let played = room.play(&mut standings, args.threads(), &stop, &mut report);
    if let Some(log) = &log {
        log.sync()?;
    }
    played?;
    let (found, wanted) = (standings.played(), standings.wanted());
    if found == 0 && wanted > 0 {
        bail!("interrupted: no game was finished");
    }
    tell(&standings)?;
    if found < wanted && stop.load(Relaxed) {
        let how = if log.is_some() { "the same command goes on" } else { "with --log it could go on" };
        bail!("interrupted after {found} of {wanted} games: {how}");
    }
    Ok(Outcome::Answered)
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
fn taken_up(schedule: Schedule, log: Option<&Path>) -> Result<(Standings, Option<Log>)> {
    let (log, known) = match log {
        Some(path) => Log::open(path, &schedule).map(|(log, known)| (Some(log), known))?,
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
            "games": standings.wanted(),
            "played": standings.played(),
            "rounds": standings.summary(),
        })),
        false => output::print_line(&report::text(standings)),
    }
}

fn show(path: &Path, json: bool) -> Result<Outcome> {
    let (schedule, records) = Log::read(path)?;
    schedule.check()?;
    let mut standings = Standings::new(schedule);
    records.iter().for_each(|record| {
        standings.add(record);
    });
    print(&standings, json)?;
    Ok(Outcome::Answered)
}

/// Whether two records are of the same game, though it may have been played twice.
fn is_the_same(a: &Record, b: &Record) -> bool {
    (&a.opening, &a.moves, &a.goals) == (&b.opening, &b.moves, &b.goals)
}

fn merge(args: &MergeArgs) -> Result<Outcome> {
    let mut whole: Option<Schedule> = None;
    let mut records: Vec<Record> = Vec::new();
    for path in &args.logs {
        let (mut schedule, found) = Log::read(path)?;
        schedule.shard = None;
        schedule.check().with_context(|| path.display().to_string())?;
        if whole.as_ref().is_some_and(|whole| *whole != schedule) {
            bail!("{}: it is of another tournament than {}", path.display(), args.logs[0].display());
        }
        whole = Some(schedule);
        records.extend(found);
    }
    let schedule = whole.context("there is no log to merge")?;
    records.sort_by_key(|record| record.id);
    let two = records.windows(2).find(|two| two[0].id == two[1].id && !is_the_same(&two[0], &two[1]));
    if let Some([Record { id, .. }, _]) = two {
        bail!(
            "game {} of pairing {} in round {} was played in two ways; leave one log out",
            id.game,
            id.pairing,
            id.round
        );
    }
    records.dedup_by_key(|record: &mut Record| -> GameId { record.id });
    if let Some(output) = &args.output {
        Log::create(output, &schedule, &records)?;
    }
    let mut standings = Standings::new(schedule);
    records.iter().for_each(|record| {
        standings.add(record);
    });
    print(&standings, args.json)?;
    Ok(Outcome::Answered)
}
