//! One tournament: plays it and prints its results.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Result, bail};
use serde_json::json;
use sternhalma_ggp::MemoryBudget;
use sternhalma_ggp::arena::{Replay, ReplayDifference, ReplayedPairing, Standings, Tournament, standings_text};

use super::args::{ESTIMATE_TIME, PlayArgs, RunArgs};
use super::open::{open, resolve};
use crate::args::tournament::TournamentOptions;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, counted, status};
use crate::progress::GamesProgress;
use crate::resources::report_memory;

/// The seed of the sample of games that are played again.
pub const REPLAY_SEED: u64 = 1;

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
    if let (Some(games), Some(log)) = (args.replay, args.run.log.as_deref()) {
        let stop = ctx.stop()?;
        let replay = tournament.replay(log, games.get(), REPLAY_SEED, args.run.threads(), &stop)?;
        return print_replays(&[(None, &replay)], args.json, &stop);
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

/// Prints the comparisons of logs with games that were played again, by the name of the game in a series.
///
/// # Errors
/// If `stop` has interrupted them: the games that were not played again are not compared.
pub fn print_replays(replays: &[(Option<&str>, &Replay)], json: bool, stop: &AtomicBool) -> Result<CommandOutcome> {
    let count = |of: fn(&Replay) -> usize| replays.iter().map(|(_, replay)| of(replay)).sum::<usize>();
    let (games, differing) = (count(|replay| replay.games), count(|replay| replay.differences.len()));
    let text = || {
        let mut lines = Vec::new();
        for (name, replay) in replays {
            let name = name.map_or(String::new(), |name| format!("{name}: "));
            for ReplayedPairing { players: [a, b], games, same } in &replay.pairings {
                lines.push(format!("{name}{a} against {b}: {same} of {} the same", counted(*games, "game")));
            }
            for ReplayDifference { number, players: [a, b], moves } in &replay.differences {
                lines.push(format!("{name}game {number}, {a} against {b}: differs after {}", counted(*moves, "move")));
            }
        }
        lines.push(format!("{} of {} the same", games - differing, counted(games, "game")));
        lines.join("\n")
    };
    let logs: Vec<_> = replays.iter().map(|(name, replay)| json!({ "game": name, "replay": replay })).collect();
    let value = json!({ "games": games, "same": games - differing, "logs": logs });
    let outcome = output::answer(json, &value, text)?;
    if stop.load(Relaxed) {
        bail!("interrupted after {}: the others were not compared", counted(games, "game"));
    }
    Ok(if differing == 0 { outcome } else { CommandOutcome::NotFound })
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
