use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use sternhalma_data::RuleSet;
use sternhalma_data::table::Coverage;
use sternhalma_engine::arena::{EngineContestant, HillClimb, Trial, TuningSetup, tune};
use sternhalma_engine::{ChineseCheckers, Config, Filter, GameSetup};
use sternhalma_ggp::MemoryBudget;
use sternhalma_ggp::arena::{
    self, Budget, Contestant, ContestantError, Entrant, Log, OPENING_PLIES, RunError, Schedule, Standings,
    TournamentSetup,
};
use sternhalma_ggp::messages::suggestion;
use sternhalma_ggp::statistics::Score;

use crate::args::board::BoardArgs;
use crate::args::limits::LimitArgs;
use crate::args::output::OutputPath;
use crate::args::player::{PlayerArgs, player_config};
use crate::args::threads::threads;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, status};
use crate::progress::games_time;
use crate::resources::search_memory;
use crate::values::{count, opening_plies, positive};

/// Tune the parameters of players by hill climbing
///
/// Prints the tuned players. Several players get the same values, which are
/// judged by the sum of their scores. With --trace, the same command resumes
/// an interrupted run. Games have the rule set `paper`, as in the tuning of the
/// paper.
#[derive(clap::Args)]
pub struct Args {
    /// Players to start from
    #[arg(required = true)]
    player: Vec<String>,
    /// Parameters to tune, in the order of the tuning file [default: all]
    #[arg(long, value_name = "PARAMETER,…", value_delimiter = ',')]
    only: Vec<String>,
    /// TOML file with other passes and ranges than the built-in ones
    #[arg(long, value_name = "FILE")]
    tuning: Option<PathBuf>,
    /// Games per variant, half of them as first player
    #[arg(long, value_name = "N", default_value = "40", value_parser = count::<u64>(1))]
    games: u64,
    /// Log of all trials, a JSON object per line
    #[arg(long, value_name = "FILE")]
    trace: Option<OutputPath>,
    /// Random plies before the players take over
    #[arg(long, value_name = "PLIES", default_value_t = OPENING_PLIES, value_parser = opening_plies)]
    opening_plies: u32,
    /// Seed of openings and players
    #[arg(long, value_name = "N", default_value = "1", value_parser = count::<u64>(0))]
    seed: u64,
    /// Simultaneous games [default: one per core]
    #[arg(long, value_name = "N", value_parser = positive)]
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
    let roster = args.players.roster()?;
    let mut players = args.player.iter().map(|name| player_config(&roster, name)).collect::<Result<Vec<Config>>>()?;
    let memory = MemoryBudget::new(search_memory(None));
    // Published runs have the rules of the papers.
    let game = GameSetup::new(args.board.board()?).with_rules(RuleSet::Paper).with_ply_limit(args.players.ply_limit);
    let distances = args.players.distances(ctx, game.board.for_two()?, &players, Coverage::Complete)?;
    let others = players.split_off(1);
    let setup = TuningSetup { player: players.remove(0), others, tuning: tuning(args)?, terms: schedule(args) };
    let (mut log, known) = match &args.trace {
        Some(path) => Log::<Trial>::open(path, &setup).map(|(log, known)| (Some(log), known))?,
        None => (None, Vec::new()),
    };
    let stop = ctx.stop()?;
    let threads = threads(args.threads);
    let game = ChineseCheckers::of(game, Filter::All);
    // The reason why a player cannot be created, which ends the run.
    let refused = RefCell::new(None);
    // A trial: a match of entrant 0, the variant, against entrant 1, the present player.
    let play = |variant: &Config, present: &Config, seed: u64| -> Option<Score> {
        let players = [variant, present].map(|config| config.prepare(game.setup(), distances.as_ref()));
        let contestants = |entrant: usize| -> Result<Box<dyn Contestant<ChineseCheckers>>, ContestantError> {
            let player = players[entrant].as_ref().map_err(ToString::to_string)?;
            Ok(Box::new(EngineContestant::new(player.start(&memory)?)))
        };
        let mut standings = Standings::new(Schedule { seed, ..setup.terms.clone() });
        let tournament = TournamentSetup { game: &game, contestants: &contestants, adjudicator: None, openings: None };
        let played = arena::run(&tournament, &mut standings, threads, &stop, |_, _| Ok::<(), RunError>(()));
        if let Err(reason) = played {
            refused.replace(Some(reason));
            stop.store(true, Relaxed);
        }
        // An interrupted match has no score.
        (!stop.load(Relaxed)).then(|| standings.score(0, 0))
    };
    // A trial that cannot be logged ends the run.
    let mut failed = None;
    let started = Instant::now();
    // `known` trials of an interrupted run are not played again.
    let (most, mut finished) = (setup.tuning.most_trials(), 0);
    let report = |trial: &Trial| {
        let Score { games, wins, losses, draws } = trial.score;
        let Trial { pass, parameter, present, value, .. } = trial;
        finished += 1;
        if output::shows_progress() {
            let time = games_time(started.elapsed(), finished, most.saturating_sub(known.len() as u64 + finished));
            status!(
                "pass {pass}: {parameter} {value} against {present}: W-D-L {wins}-{draws}-{losses} in {games} games ({time})"
            );
        }
        if let Some(Err(error)) = log.as_mut().map(|log| log.append(trial)) {
            failed = Some(error);
            stop.store(true, Relaxed);
        }
    };
    let tuned = tune(&setup.tuning, &setup.players(), args.seed, &known, play, report)?;
    if let Some(log) = &log {
        log.sync()?;
    }
    if let Some(error) = failed {
        return Err(error.into());
    }
    if let Some(reason) = refused.into_inner() {
        return Err(reason.into());
    }
    let Some(tuned) = tuned else {
        let how = if args.trace.is_some() { "the same command resumes" } else { "with --trace it could resume" };
        bail!("interrupted: {how}")
    };
    for tuned in &tuned {
        if args.json {
            output::print_json(tuned)?;
        } else {
            output::print_line(toml::to_string(tuned)?.trim_end())?;
        }
    }
    Ok(CommandOutcome::Answered)
}

/// A tolerance in milliseconds so large that no player loses on time.
const FOREVER: u64 = 1 << 40;

/// Returns the schedule of the games between a variant and the present player.
fn schedule(args: &Args) -> Schedule {
    Schedule {
        opening_plies: args.opening_plies,
        ply_limit: args.players.ply_limit,
        margin: FOREVER,
        patience: FOREVER,
        seed: args.seed,
        ..Schedule::new(
            ["variant", "present"].map(Entrant::named).to_vec(),
            args.limits.budget().or(Budget::DEFAULT),
            args.games,
        )
    }
}

fn tuning(args: &Args) -> Result<HillClimb> {
    let mut tuning = match &args.tuning {
        None => HillClimb::built_in(),
        Some(path) => {
            let text = sternhalma_ggp::messages::read_text(path)
                .with_context(|| format!("{}: cannot read", path.display()))?;
            toml::from_str(&text).with_context(|| path.display().to_string())?
        }
    };
    let place = |path: &PathBuf| format!("{}: ", path.display());
    tuning.check().map_err(|why| anyhow!("{}{why}", args.tuning.as_ref().map_or_else(String::new, place)))?;
    for name in &args.only {
        if !tuning.parameters.iter().any(|parameter| parameter.name == *name) {
            let known = tuning.parameters.iter().map(|parameter| parameter.name.as_str());
            bail!("there is no parameter `{name}` to tune{}", suggestion(name, "parameters", known));
        }
    }
    tuning.parameters.retain(|parameter| args.only.is_empty() || args.only.contains(&parameter.name));
    Ok(tuning)
}
