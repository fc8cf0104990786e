use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use sternhalma_engine::{ChineseCheckers, Config, EngineContestant, Filter, HillClimb, Score, Trial, tune};
use sternhalma_ggp::arena::{self, Contestant, Entrant, Schedule, Standings, TournamentSetup};

use crate::args::board::BoardArgs;
use crate::args::limits::{DEFAULT_BUDGET, LimitArgs};
use crate::args::player::{PlayerArgs, PlayerFactory};
use crate::args::threads::threads;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, status};

/// Tune a player's parameters by hill climbing
///
/// Prints the tuned player. With --trace an interrupted run goes on where it
/// was when the same command is given again.
#[derive(clap::Args)]
pub struct Args {
    /// The player to start from
    player: String,
    /// Parameters to tune, in the order of the tuning [default: all]
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Passes and ranges of your own, in TOML like the ones that ship
    #[arg(long, value_name = "FILE")]
    tuning: Option<PathBuf>,
    /// Games of each variant, half of them first
    #[arg(long, default_value_t = 40)]
    games: u64,
    /// A file that keeps every trial, a JSON object a line
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Random plies before the players take over
    #[arg(long, default_value_t = 2)]
    opening_plies: u32,
    /// Fixes openings and random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Games at a time [default: one a core]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    board: BoardArgs,
    #[command(flatten)]
    players: PlayerArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let start = args.players.roster()?.config(&args.player)?;
    let factory = args.players.factory(ctx, args.board.board()?, std::slice::from_ref(&start))?;
    let tuning = tuning(args)?;
    let terms = schedule(args, &factory);
    let setup = json!({ "player": start, "tuning": tuning, "terms": terms });
    let (trace, known) = match &args.trace {
        Some(path) => open_trace(path, &setup)?,
        None => (None, Vec::new()),
    };
    let stop = ctx.stop()?;
    let threads = threads(args.threads);
    let game = ChineseCheckers::new(factory.board(), Filter::All).with_ply_limit(factory.ply_limit());
    let play = |variant: &Config, present: &Config, seed: u64| -> Option<Score> {
        let make = |entrant: usize| -> Box<dyn Contestant<ChineseCheckers>> {
            Box::new(EngineContestant(
                factory.player([variant, present][entrant]).expect("variants need what the player needs"),
            ))
        };
        let mut standings = Standings::new(Schedule { seed, ..terms.clone() });
        let host = TournamentSetup { game: &game, contestants: &make, adjudicator: None };
        let played = arena::run(&host, &mut standings, threads, &stop, |_, _| Ok::<(), String>(()));
        played.expect("openings are random, and reports do not fail");
        (!stop.load(Relaxed)).then(|| standings.score(0, 0))
    };
    let (mut file, mut failed) = (trace, None);
    let report = |trial: &Trial| {
        let Score { games, wins, losses, draws } = trial.score;
        let Trial { pass, parameter, present, value, .. } = trial;
        status!("pass {pass}: {parameter} {value} against {present}: +{wins} -{losses} ={draws} of {games}");
        if let Some(Err(error)) = file.as_mut().map(|file| append(file, trial)) {
            failed = Some(error);
            stop.store(true, Relaxed);
        }
    };
    let tuned = tune(&tuning, &start, args.seed, &known, play, report).map_err(|why| anyhow!(why))?;
    if let Some(error) = failed {
        return Err(error.context("cannot write the trace"));
    }
    let Some(tuned) = tuned else {
        let how = if args.trace.is_some() { "the same command goes on" } else { "with --trace it could go on" };
        bail!("interrupted: {how}")
    };
    match args.json {
        true => output::print_json(&tuned)?,
        false => output::print_line(toml::to_string(&tuned)?.trim_end())?,
    }
    Ok(CommandOutcome::Answered)
}

/// Milliseconds: a tuning run does not judge players by the clock.
const FOREVER: u64 = 1 << 40;

/// What a variant and the present player play.
fn schedule(args: &Args, factory: &PlayerFactory) -> Schedule {
    Schedule {
        opening_plies: args.opening_plies,
        ply_limit: factory.ply_limit(),
        margin: FOREVER,
        patience: FOREVER,
        seed: args.seed,
        ..Schedule::new(
            ["variant", "present"].map(Entrant::named).to_vec(),
            args.limits.budget().or(DEFAULT_BUDGET),
            args.games,
        )
    }
}

fn tuning(args: &Args) -> Result<HillClimb> {
    let mut tuning = match &args.tuning {
        None => HillClimb::built_in(),
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))?;
            toml::from_str(&text).with_context(|| path.display().to_string())?
        }
    };
    for name in &args.only {
        if !tuning.parameters.iter().any(|parameter| parameter.name == *name) {
            bail!("there is no parameter `{name}` to tune");
        }
    }
    tuning.parameters.retain(|parameter| args.only.is_empty() || args.only.contains(&parameter.name));
    Ok(tuning)
}

/// Opens a trace to append to, with the trials it has. The first line says
/// what is tuned, so that no other run goes on with it. A last line that was
/// cut short is written anew.
fn open_trace(path: &Path, setup: &Value) -> Result<(Option<File>, Vec<Trial>)> {
    let failed = || format!("{}: cannot use the trace", path.display());
    let mut known = Vec::new();
    let mut whole = 0;
    if path.exists() {
        let mut reader = BufReader::new(File::open(path).with_context(failed)?);
        let mut line = String::new();
        while reader.read_line(&mut line).with_context(failed)? > 0 && line.ends_with('\n') {
            if whole == 0 {
                let same = serde_json::from_str::<Value>(&line).is_ok_and(|found| found == *setup);
                if !same {
                    bail!("{}: it is the trace of another tuning; name another file", path.display());
                }
            } else {
                known.push(serde_json::from_str(&line).with_context(failed)?);
            }
            whole += line.len() as u64;
            line.clear();
        }
    }
    let mut file = OpenOptions::new().create(true).append(true).open(path).with_context(failed)?;
    file.set_len(whole).with_context(failed)?;
    if whole == 0 {
        append(&mut file, setup).with_context(failed)?;
    }
    Ok((Some(file), known))
}

/// Adds a line in one write, so that it is there whole or not at all.
fn append(file: &mut File, value: &impl serde::Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)?;
    Ok(file.sync_data()?)
}
