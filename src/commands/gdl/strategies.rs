use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use sternhalma_ggp::gdl::Reasoner;
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::mcts::playout::mini::{MiniConfig, MiniPlayout, Strategy, StrategyTally};
use sternhalma_ggp::mcts::{MctsConfig, SearchClock, ToTheEnd, Uct};
use sternhalma_ggp::policy::{PlayoutPolicy, SelectionPolicy};
use sternhalma_ggp::{Game, Limits, Mcts, Policy, SearchStats};

use super::rulesheet::{role_index, rules};
use crate::output::{self, CommandOutcome};
use crate::values::{count, policy};

/// Show how MINI-Player's strategies score, and how it allocates simulations to them
///
/// Searches from the initial state: first for the start clock, then for the
/// first move.
#[derive(clap::Args)]
pub struct Args {
    /// Rulesheet
    file: PathBuf,
    /// Policy: `mini` with its parameters
    #[arg(long, value_name = "P", default_value = "mini", value_parser = policy)]
    policy: Policy,
    /// Role that the strategies play for [default: the role that moves first]
    #[arg(long, value_name = "NAME")]
    role: Option<String>,
    /// Simulations during the start clock
    #[arg(long, value_name = "N", default_value_t = 450, value_parser = count::<u64>(0))]
    start: u64,
    /// Simulations for the first move
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count::<u64>(0))]
    simulations: u64,
    /// Show the allocation after every N simulations
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = count::<u64>(1))]
    every: u64,
    /// Seed of the simulations
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = count::<u64>(0))]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct StrategiesReport {
    file: String,
    policy: String,
    role: String,
    seed: u64,
    /// The allocation after the start clock.
    start: Allocated,
    /// Allocations during the first move.
    #[serde(rename = "move")]
    first_move: Vec<Allocated>,
}

/// The allocation of simulations to strategies.
#[derive(Serialize)]
struct Allocated {
    simulations: u64,
    strategies: Vec<StrategyRow>,
}

#[derive(Serialize)]
struct StrategyRow {
    strategy: &'static str,
    simulations: u64,
    /// Mean reward, 0 to 100.
    mean: f64,
}

pub fn run(args: &Args) -> Result<CommandOutcome> {
    let (c, config) = mini(&args.policy)?;
    let rules = rules(&args.file)?;
    let network = Network::new(&rules).with_context(|| args.file.display().to_string())?;
    let game = NetworkGame::new(network).with_rules(rules);
    let state = game.initial();
    if game.is_terminal(&state) {
        bail!("{}: the initial state is terminal", args.file.display());
    }
    let names = game.role_names();
    let role = match &args.role {
        None => game.turn(&state).acting(game.roles()).start,
        Some(name) => role_index(names, name)?,
    };
    let playout = MiniPlayout::new(&game, role, Some(game.features()), config);
    let mut search = Mcts::new(Uct::new(c), playout, ToTheEnd, MctsConfig::default(), args.seed);
    let stop = AtomicBool::new(false);
    let mut think = |limit: u64, spent: SearchStats, clock: SearchClock| {
        let spent = search.think(&game, &state, Limits::playouts(limit), &stop, spent, clock);
        let share = |(strategy, tally): (Strategy, StrategyTally)| StrategyRow {
            strategy: strategy.name(),
            simulations: tally.simulations.into(),
            mean: 100.0 * tally.mean(),
        };
        (spent, Allocated { simulations: spent.playouts, strategies: search.playout().tallies().map(share).collect() })
    };
    let (_, start) = think(args.start.max(1), SearchStats::default(), SearchClock::Start);
    let mut first_move = Vec::new();
    let mut spent = SearchStats::default();
    while spent.playouts < args.simulations {
        let (after, mut shared) = think((spent.playouts + args.every).min(args.simulations), spent, SearchClock::Play);
        for (share, before) in shared.strategies.iter_mut().zip(&start.strategies) {
            share.simulations -= before.simulations;
        }
        first_move.push(shared);
        spent = after;
    }
    let report = StrategiesReport {
        file: args.file.display().to_string(),
        policy: args.policy.to_string(),
        role: names[role].clone(),
        seed: args.seed,
        start,
        first_move,
    };
    output::answer(args.json, &report, || text(&report))
}

/// Returns the constant C and the configuration of a `mini` policy.
fn mini(policy: &Policy) -> Result<(f64, MiniConfig)> {
    if let Policy::Search(search) = policy
        && let (SelectionPolicy::Uct { c }, PlayoutPolicy::Mini(config)) = (search.selection, &search.playout)
    {
        return Ok((c, config.clone()));
    }
    bail!("`{policy}` has no strategies of MINI-Player in UCT; use a policy such as `mini,allocation=static`")
}

/// Returns the report as text: the strategies with their mean goals after the start clock, and
/// then their shares of the simulations of the first move.
fn text(report: &StrategiesReport) -> String {
    let mut lines = vec![
        format!("{}, for {}, by {}", report.file, report.role, report.policy),
        format!("after {} simulations of the start clock:", report.start.simulations),
    ];
    lines.extend(report.start.strategies.iter().map(|StrategyRow { strategy, simulations, mean }| {
        format!("  {strategy:<4} {simulations:>8} simulations, mean {mean:5.1}")
    }));
    lines.extend(report.first_move.iter().map(|Allocated { simulations, strategies }| {
        let share = |row: &StrategyRow| {
            format!("{} {:.1}%", row.strategy, 100.0 * row.simulations as f64 / *simulations as f64)
        };
        let shares: Vec<String> = strategies.iter().map(share).collect();
        format!("{simulations:>8} simulations: {}", shares.join(", "))
    }));
    lines.join("\n")
}
