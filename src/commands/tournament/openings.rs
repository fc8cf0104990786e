//! `tournament openings`: makes openings in which both players have equal chances.

use std::collections::HashSet;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args as ClapArgs;
use sternhalma_engine::arena::{BalanceTest, DistinctOpenings, MAX_UNBALANCED, OpeningSearch, OpeningShortage};
use sternhalma_engine::record::check_logged;
use sternhalma_engine::{ChineseCheckers, Config, Distances, Filter, GameSetup, GameState};
use sternhalma_files::OutputFile;
use sternhalma_ggp::arena::{ArenaGame, GameLog, GameRecord, SearchValue};
use sternhalma_ggp::statistics::equal_chances;
use sternhalma_ggp::{Game, Limits};

use crate::args::board::BoardArgs;
use crate::args::limits::MemoryArgs;
use crate::args::output::OutputPath;
use crate::args::player::{DEFAULT_PLAYER, PlayerArgs, distances_or_estimates};
use crate::args::rule_set::GameRulesArgs;
use crate::args::threads::threads;
use crate::context::CommandContext;
use crate::output::{CommandOutcome, counted, print_line};
use crate::progress::SearchProgress;
use crate::values::{count, number, plies, positive};

/// A short search first removes openings that are far from balanced. It has this part of the nodes.
const SHORT_SEARCH: u64 = 20;

/// The margin of the short search is larger by this number of moves.
const SHORT_MARGIN: f64 = 0.75;

/// The largest lead of an option, in moves. No score is larger.
const MAX_LEAD: f64 = 1000.0;

/// Make balanced openings
///
/// Draws random openings, searches each, and writes those whose score is within
/// a margin of the score of equal chances. No two openings are the same, also
/// after a symmetry of the game. Every move is legal under all rule sets. The
/// file depends only on the options and the program, not on the number of
/// threads.
#[derive(ClapArgs)]
pub struct Args {
    /// File to write, with an opening per line
    #[arg(short, long, value_name = "FILE")]
    output: OutputPath,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Openings to write
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = count::<usize>(1))]
    count: usize,
    /// Balanced openings to leave out first, e.g. those of another file
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count::<usize>(0))]
    skip: usize,
    /// Random plies of an opening: a number, or a range such as `4-12`
    #[arg(long, value_name = "PLIES", default_value = "4-12", value_parser = plies)]
    plies: RangeInclusive<u32>,
    /// Node expansions of the search for the score
    #[arg(long, value_name = "N", default_value = "20000", value_parser = count::<u64>(1))]
    nodes: u64,
    /// Largest distance of the score from the score of equal chances, in moves
    #[arg(long, value_name = "MOVES", default_value_t = 0.5, value_parser = number(0.0..=MAX_LEAD))]
    margin: f64,
    /// Score of equal chances for the player to move, in moves [default: 0, or fitted from --fit]
    #[arg(long, value_name = "MOVES", allow_hyphen_values = true, value_parser = number(-MAX_LEAD..=MAX_LEAD))]
    advantage: Option<f64>,
    /// Log of games between equal players, from which the score of equal chances is fitted
    #[arg(long, value_name = "LOG", conflicts_with = "advantage")]
    fit: Option<PathBuf>,
    /// Seed of the openings
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u64>(0))]
    seed: u64,
    /// Player that searches
    #[arg(long, value_name = "PLAYER", default_value = DEFAULT_PLAYER, help_heading = "Players")]
    player: String,
    /// Simultaneous searches [default: one per core]
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Resources")]
    threads: Option<NonZeroUsize>,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    board: BoardArgs,
    #[command(flatten)]
    rules: GameRulesArgs,
    #[command(flatten)]
    players: PlayerArgs,
}

/// The score of equal chances, and its origin in words.
struct Advantage {
    moves: f64,
    origin: String,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let setup = GameSetup::new(args.board.board()?.for_two()?)
        .with_rules(args.rules.rules)
        .with_ply_limit(args.players.ply_limit);
    let game = ChineseCheckers::of(setup, Filter::All);
    let advantage = advantage(args, &game)?;
    let config = args.players.config(&args.player)?;
    let distances = distances_or_estimates(ctx, setup.board, args.players.table())?;
    let inputs: Vec<&Path> = distances.table().iter().map(|table| table.path()).collect();
    let file = ctx.output(&args.output, args.force, &inputs)?;
    let mut search = opening_search(args, &config, setup, &distances)?;
    let mut drawn = DistinctOpenings::new(setup, args.plies.clone(), args.seed);
    let stop = ctx.stop()?;
    let scores = search.scores(&[game.initial()], Limits::expansions(1), &stop);
    if scores.is_some_and(|scores| !matches!(scores[..], [Some(SearchValue::Lead(_))])) {
        bail!("{}: the player reports no lead; use one with alpha-beta or principal-variation search", args.player);
    }
    let total = args.skip + args.count;
    let mut progress = SearchProgress::new(total as u64);
    let (found, shortage) =
        search.balanced(&mut drawn, &tests(args, advantage.moves), total, &stop, &mut |_| progress.advance());
    progress.finish();
    let kept = &found[args.skip.min(found.len())..];
    if !kept.is_empty() {
        write(file, &text(ctx, args, &game, &distances, &advantage, kept))?;
    }
    let written = match kept.len() {
        0 => "nothing is written".to_owned(),
        kept => format!("{} written to {}", counted(kept, "opening"), args.output.display()),
    };
    let found = format!("{} of {total} found, {written}", found.len());
    match shortage {
        None => {}
        Some(OpeningShortage::Stopped) => bail!("interrupted: {found}; the same command starts again"),
        Some(OpeningShortage::NoOthers) => {
            bail!("no further different openings can be drawn; more --plies give more: {found}")
        }
        Some(OpeningShortage::Unbalanced) => {
            bail!(
                "none of the last {MAX_UNBALANCED} openings is balanced; a larger --margin or another --advantage gives \
                 more: {found}"
            )
        }
    }
    print_line(&args.output.display().to_string())?;
    Ok(CommandOutcome::Answered)
}

/// Returns the tests of an opening: a short search, and the search for the score.
fn tests(args: &Args, advantage: f64) -> [BalanceTest; 2] {
    let test = |nodes, margin| BalanceTest { limits: Limits::expansions(nodes), advantage, margin };
    [test((args.nodes / SHORT_SEARCH).max(1), args.margin + SHORT_MARGIN), test(args.nodes, args.margin)]
}

/// Returns a search with a player per thread.
fn opening_search(args: &Args, config: &Config, setup: GameSetup, distances: &Distances) -> Result<OpeningSearch> {
    let memory = args.memory.budget();
    let player = config.prepare(setup, Some(distances))?;
    let players = (0..threads(args.threads).get()).map(|_| player.start(&memory)).collect::<Result<_, _>>()?;
    Ok(OpeningSearch::new(players))
}

/// Returns the score of equal chances: the given one, or fitted from a log.
fn advantage(args: &Args, game: &ChineseCheckers) -> Result<Advantage> {
    let Some(path) = &args.fit else {
        return Ok(Advantage { moves: args.advantage.unwrap_or(0.0), origin: "given".to_owned() });
    };
    let (schedule, records) = GameLog::read_checked(path, &check_logged)?;
    schedule.check()?;
    let samples = samples(game, &records).with_context(|| path.display().to_string())?;
    let fitted = equal_chances(&samples).with_context(|| {
        format!("{}: the results of {} do not determine equal chances", path.display(), counted(samples.len(), "game"))
    })?;
    let [low, high] = fitted.interval;
    let origin = format!("fitted from {}, 95% interval {low:.2} to {high:.2}", counted(samples.len(), "game"));
    // A rounded number gives the same file with --advantage.
    Ok(Advantage { moves: (100.0 * fitted.value).round() / 100.0, origin })
}

/// Returns the scores of the first searches of games, with the results for the player to move. Games
/// with the same opening and moves count once. Games with a fault or without such a score do not count.
fn samples(game: &ChineseCheckers, records: &[GameRecord]) -> Result<Vec<(f64, f64)>> {
    let mut seen = HashSet::new();
    let mut samples = Vec::new();
    for record in records.iter().filter(|record| record.fault.is_none()) {
        let Some(SearchValue::Lead(lead)) = record.searches.first().and_then(|search| search.score) else { continue };
        if !seen.insert((&record.opening, &record.moves)) {
            continue;
        }
        let opening = game.opening(&record.opening).map_err(|reason| anyhow!(reason))?;
        samples.push((lead, f64::from(record.goals[opening.state.player() as usize]) / 100.0));
    }
    Ok(samples)
}

/// Returns the contents of the file: how the openings were made, as comments, and the openings.
fn text(
    ctx: &CommandContext,
    args: &Args,
    game: &ChineseCheckers,
    distances: &Distances,
    advantage: &Advantage,
    openings: &[GameState],
) -> String {
    let table = distances.table().map_or("none".to_owned(), |table| table.checksum_text());
    let [short, full] = tests(args, advantage.moves);
    let nodes = |test: BalanceTest| test.limits.expansions.unwrap_or_default();
    let (first, last) = (args.skip + 1, args.skip + openings.len());
    let mut text = "# Balanced openings, made by `sternhalma tournament openings`.\n".to_owned();
    for (name, value) in [
        ("board", game.board().to_string()),
        ("rules", game.rules().stored_name().to_owned()),
        ("player", args.player.clone()),
        ("table", table),
        ("nodes", format!("{}, after a search of {} with margin {}", nodes(full), nodes(short), short.margin)),
        ("margin", format!("{} moves", args.margin)),
        ("advantage", format!("{} moves for the player to move, {}", advantage.moves, advantage.origin)),
        ("plies", format!("{} to {}", args.plies.start(), args.plies.end())),
        ("seed", args.seed.to_string()),
        ("openings", format!("{first} to {last} with this seed")),
        ("program", format!("sternhalma {}", ctx.version)),
    ] {
        let _ = writeln!(text, "# {name}: {value}");
    }
    for state in openings {
        let _ = writeln!(text, "{}", game.position(state));
    }
    text
}

fn write(mut file: OutputFile, text: &str) -> Result<()> {
    let failed = format!("{}: cannot write", file.path().display());
    std::io::Write::write_all(&mut file, text.as_bytes()).context(failed)?;
    file.finish()?;
    Ok(())
}
