//! One tournament: plays it and prints its results.

use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Result, bail};
use serde_json::json;
use sternhalma_ggp::MemoryBudget;
use sternhalma_ggp::arena::{Standings, Tournament, standings_text};

use super::args::{ESTIMATE_TIME, PlayArgs, RunArgs};
use super::open::{open, resolve};
use crate::args::tournament::TournamentOptions;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, counted, status};
use crate::progress::GamesProgress;
use crate::resources::report_memory;

/// Plays a tournament, or estimates its duration.
pub fn run(ctx: &CommandContext, args: &PlayArgs, options: TournamentOptions) -> Result<CommandOutcome> {
    if !args.game.is_empty() || args.all {
        bail!("--game and --all select from a series file, and this is one tournament");
    }
    let resolved = resolve(options, args.shard)?;
    let protocol = if args.plan { None } else { args.run.protocol_log(&resolved)? };
    let memory = args.run.memory.budget();
    let tournament = open(ctx, resolved, &memory, protocol.as_ref())?;
    if args.plan {
        let (log, stop) = (args.run.log.as_deref(), ctx.stop()?);
        let estimate = tournament.estimate(log, args.run.threads(), &stop, ESTIMATE_TIME)?;
        return output::answer(args.json, &estimate, || estimate.text());
    }
    let outcome = play(ctx, &tournament, &memory, &args.run, |standings| print(standings, args.json));
    args.run.protocol.check(protocol.as_ref())?;
    outcome
}

/// Plays a tournament and prints its results, also if it is interrupted.
pub fn play(
    ctx: &CommandContext,
    tournament: &Tournament,
    memory: &MemoryBudget,
    args: &RunArgs,
    print: impl FnOnce(&Standings) -> Result<CommandOutcome>,
) -> Result<CommandOutcome> {
    let stop = ctx.stop()?;
    let progress = GamesProgress::new(tournament.schedule().total());
    let played =
        tournament.run(args.log.as_deref(), args.threads(), &stop, |record, standings| progress.add(record, standings));
    let finished = progress.finish();
    let standings = played?;
    if let Some(log) = args.log.as_deref().filter(|_| finished == 0 && standings.played() == standings.expected()) {
        status!("{}: all games are in the log; if a program has changed, use another log", log.display());
    }
    let (played, expected) = (standings.played(), standings.expected());
    if played == 0 && expected > 0 {
        bail!("interrupted: no game was finished");
    }
    let outcome = print(&standings)?;
    report_memory(None, memory, &standings);
    if played < expected && stop.load(Relaxed) {
        bail!("interrupted after {played} of {expected} games: {}", args.resume_hint());
    }
    if standings.only_faults() {
        bail!("every game ended by a fault of a player: {}", counted(standings.len(), "game"));
    }
    Ok(outcome)
}

/// Prints the results of a tournament.
pub fn print(standings: &Standings, json: bool) -> Result<CommandOutcome> {
    let value = json!({
        "games": standings.expected(),
        "played": standings.played(),
        "rounds": standings.summary(),
    });
    output::answer(json, &value, || standings_text(standings))
}
