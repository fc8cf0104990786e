//! Series files: one tournament per game.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context, Result, bail};
use sternhalma_ggp::arena::{Budget, Replay, SeriesEstimate, SeriesInfo, SeriesReport, Standings};

use super::args::{ESTIMATE_TIME, PlayArgs};
use super::open::{ResolvedTournament, open, resolve};
use super::single;
use crate::args::tournament::{PlayerEntry, TournamentOptions};
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, status};
use crate::progress::GamesProgress;
use crate::resources::report_memory;

/// Plays a series, or estimates its duration.
pub fn run(
    ctx: &CommandContext,
    args: &PlayArgs,
    flags: TournamentOptions,
    series: &TournamentOptions,
) -> Result<CommandOutcome> {
    if !args.plan && args.run.protocol.debug.is_some() {
        bail!("--debug records the protocol of external programs, and the players of a series file are policies");
    }
    let mut games = Vec::new();
    // An error of a later game comes before the first game is played.
    for (name, options) in selected_games(args, flags, series)? {
        games.push((name.clone(), resolve(options, args.shard).context(name)?));
    }
    if args.plan {
        return estimate(ctx, args, games);
    }
    match (args.replay, args.run.log.as_deref()) {
        (Some(number), Some(dir)) => replay(ctx, args, number.get(), dir, games),
        _ => play(ctx, args, &series.series_info(), games),
    }
}

/// Plays games of the logs in a directory again. Games without a log are left out.
fn replay(
    ctx: &CommandContext,
    args: &PlayArgs,
    number: usize,
    dir: &Path,
    games: Vec<(String, ResolvedTournament)>,
) -> Result<CommandOutcome> {
    let stop = ctx.stop()?;
    let mut replays = Vec::new();
    for (name, resolved) in games {
        let log = log(dir, &name);
        if !log.exists() {
            continue;
        }
        let play = || -> Result<Replay> {
            let tournament = open(ctx, resolved, &args.run.memory.budget(), None)?;
            Ok(tournament.replay(&log, number, single::REPLAY_SEED, args.run.threads(), &stop)?)
        };
        let replay = play().with_context(|| name.clone())?;
        replays.push((name, replay));
        if stop.load(Relaxed) {
            break;
        }
    }
    if replays.is_empty() {
        bail!("{}: there is no log of a game of the file", dir.display());
    }
    let replays: Vec<_> = replays.iter().map(|(name, replay)| (Some(name.as_str()), replay)).collect();
    single::print_replays(&replays, args.json, &stop)
}

/// Returns the names of the selected games with the options of their tournaments. The options on
/// the command line, `flags`, override those of the file, `series`. The limits are those of the flags, or, with `--time`
/// without a value, the clocks of the file, never both; games with a clock are not played in lock step. Games without a
/// rulesheet are reported and skipped.
fn selected_games(
    args: &PlayArgs,
    mut flags: TournamentOptions,
    series: &TournamentOptions,
) -> Result<Vec<(String, TournamentOptions)>> {
    let mut conflicts: Vec<String> = flags.single_options().iter().map(|name| format!("--{name}")).collect();
    conflicts.extend(flags.player.iter().map(PlayerEntry::label));
    if !conflicts.is_empty() {
        bail!("a series file has its players, pairings and rulesheets: leave out {}", conflicts.join(", "));
    }
    let file_clocks = flags.take_file_clocks();
    let budget = flags.flag_budget()?;
    if file_clocks && budget != Budget::default() {
        bail!("--time selects the clocks of the file; leave out {budget}");
    }
    let mut games = Vec::new();
    for game in series.select_games(&args.game, args.all)? {
        let Some(mut options) = series.game_options(game, args.all)? else {
            status!("{}", series.missing_rulesheet(game));
            continue;
        };
        if file_clocks {
            options.set_movetime(series.step_clock(game)?);
        }
        if budget.is_timed() {
            options.clear_lock_step();
        }
        games.push((game.name.clone(), flags.clone().or(options)?));
    }
    if games.is_empty() {
        bail!("there is no game to play");
    }
    Ok(games)
}

fn play(
    ctx: &CommandContext,
    args: &PlayArgs,
    info: &SeriesInfo,
    games: Vec<(String, ResolvedTournament)>,
) -> Result<CommandOutcome> {
    let dir = args.run.log.as_deref();
    if let Some(dir) = dir {
        std::fs::create_dir_all(dir).with_context(|| format!("{}: cannot create the directory", dir.display()))?;
    }
    let stop = ctx.stop()?;
    let count = games.len();
    let mut results = Vec::new();
    for (name, resolved) in games {
        let play = || -> Result<Standings> {
            let memory = args.run.memory.budget();
            let tournament = open(ctx, resolved, &memory, None)?;
            status!("{name}: {} games", tournament.schedule().total());
            let log = dir.map(|dir| log(dir, &name));
            let progress = GamesProgress::new(tournament.schedule().total());
            let played = tournament
                .run(log.as_deref(), args.run.threads(), &stop, |record, standings| progress.add(record, standings));
            progress.finish();
            let standings = played?;
            report_memory(Some(&name), &memory, &standings);
            Ok(standings)
        };
        let standings = play().with_context(|| name.clone())?;
        results.push((name, standings));
        if stop.load(Relaxed) {
            break;
        }
    }
    let complete =
        results.len() == count && results.iter().all(|(_, standings)| standings.played() >= standings.expected());
    let only_faults = results.iter().all(|(_, standings)| standings.only_faults());
    let outcome = print(info, results, args.json)?;
    if !complete && stop.load(Relaxed) {
        bail!("interrupted: {}", args.run.resume_hint());
    }
    if only_faults {
        bail!("every game ended by a fault of a player");
    }
    Ok(outcome)
}

/// Returns the log of a game in a directory: the compressed one, if it exists.
fn log(dir: &Path, game: &str) -> PathBuf {
    let compressed = compressed_log(dir, game);
    if compressed.exists() { compressed } else { compressed.with_extension("") }
}

/// Returns the compressed log of a game in a directory.
pub fn compressed_log(dir: &Path, game: &str) -> PathBuf {
    dir.join(format!("{game}.ndjson.zst"))
}

/// Prints the results of games.
pub fn print(info: &SeriesInfo, results: Vec<(String, Standings)>, json: bool) -> Result<CommandOutcome> {
    let report = SeriesReport::new(info, results);
    output::answer(json, &report, || report.text())
}

fn estimate(ctx: &CommandContext, args: &PlayArgs, games: Vec<(String, ResolvedTournament)>) -> Result<CommandOutcome> {
    let (stop, threads) = (ctx.stop()?, args.run.threads());
    let time = ESTIMATE_TIME / games.len() as u32;
    let mut estimates = Vec::new();
    for (name, resolved) in games {
        let estimate = || -> Result<_> {
            let tournament = open(ctx, resolved, &args.run.memory.budget(), None)?;
            let log = args.run.log.as_deref().map(|dir| log(dir, &name));
            let estimate = tournament.estimate(log.as_deref(), threads, &stop, time)?;
            Ok((name.clone(), tournament.schedule().pairings.len(), estimate))
        };
        estimates.push(estimate().with_context(|| name.clone())?);
    }
    let estimate = SeriesEstimate::new(estimates, threads);
    output::answer(args.json, &estimate, || estimate.text())
}
