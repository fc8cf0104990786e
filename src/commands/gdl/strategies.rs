//! What MINI-Player's strategies come to in a game.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use sternhalma_ggp::gdl::Reasoner;
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::mcts::playout::mini::{MiniConfig, MiniPlayout, Strategy, StrategyTally};
use sternhalma_ggp::{
    Game, Limits, Mcts, MctsConfig, PlayoutPolicy, Policy, SearchClock, SearchStats, SelectionPolicy, ToTheEnd, Uct,
};

use super::rules;
use crate::outcome::CommandOutcome;
use crate::output;

/// Tell what strategies of MINI-Player come to before the first move, and how simulations are shared out among them
#[derive(clap::Args)]
pub struct Args {
    /// The rulesheet
    file: PathBuf,
    /// The policy, a `mini` with its parameters
    #[arg(long, value_name = "P", default_value = "mini")]
    policy: Policy,
    /// The role that strategies play for: the one that moves first unless told
    #[arg(long, value_name = "NAME")]
    role: Option<String>,
    /// Simulations of the start clock
    #[arg(long, value_name = "N", default_value_t = 450)]
    start: u64,
    /// Simulations of the first move, after those
    #[arg(long, value_name = "N", default_value_t = 0)]
    simulations: u64,
    /// Tell how they are shared out after so many each
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// The seed of the simulations
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    file: String,
    policy: String,
    role: String,
    /// After the start clock.
    start: Shared,
    /// After so many simulations of the first move each.
    #[serde(rename = "move")]
    first_move: Vec<Shared>,
}

/// How simulations are shared out.
#[derive(Serialize)]
struct Shared {
    simulations: u64,
    strategies: Vec<Share>,
}

#[derive(Serialize)]
struct Share {
    strategy: &'static str,
    simulations: u64,
    /// Their mean reward, 0 to 100.
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
        Some(name) => match names.iter().position(|known| known == name) {
            Some(role) => role,
            None => bail!("no role {name}: the roles are {}", names.join(", ")),
        },
    };
    let anatomy = game.features();
    let playout = MiniPlayout::new(&game, role, anatomy, config);
    let mut search = Mcts::new(Uct::new(c), playout, ToTheEnd, MctsConfig::default(), args.seed);
    let stop = AtomicBool::new(false);
    let mut think = |limit: u64, spent: SearchStats, clock: SearchClock| {
        let spent = search.think(&game, &state, Limits::playouts(limit), &stop, spent, clock);
        let share = |(strategy, tally): (Strategy, StrategyTally)| Share {
            strategy: strategy.name(),
            simulations: tally.simulations.into(),
            mean: 100.0 * tally.mean(),
        };
        (spent, Shared { simulations: spent.playouts, strategies: search.playout().tallies().map(share).collect() })
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
    let report = Report {
        file: args.file.display().to_string(),
        policy: args.policy.to_string(),
        role: names[role].clone(),
        start,
        first_move,
    };
    match args.json {
        true => output::print_json(&report)?,
        false => print(&report)?,
    }
    Ok(CommandOutcome::Answered)
}

/// C and the strategies of a policy that has some.
fn mini(policy: &Policy) -> Result<(f64, MiniConfig)> {
    if let Policy::Search(search) = policy
        && let (SelectionPolicy::Uct { c }, PlayoutPolicy::Mini(config)) = (search.selection, &search.playout)
    {
        return Ok((c, config.clone()));
    }
    bail!("`{policy}` has no strategies of MINI-Player in UCT: tell one like `mini,allocation=static`")
}

fn print(report: &Report) -> Result<()> {
    output::print_line(&format!("{}, for {}, by {}", report.file, report.role, report.policy))?;
    output::print_line(&format!("after {} simulations of the start clock:", report.start.simulations))?;
    for Share { strategy, simulations, mean } in &report.start.strategies {
        output::print_line(&format!("  {strategy:<4} {simulations:>8} simulations, mean {mean:5.1}"))?;
    }
    for Shared { simulations, strategies } in &report.first_move {
        let share = |share: &Share| {
            let percent = 100.0 * share.simulations as f64 / *simulations as f64;
            format!("{} {percent:.1}%", share.strategy)
        };
        let shares: Vec<String> = strategies.iter().map(share).collect();
        output::print_line(&format!("{simulations:>8} simulations: {}", shares.join(", ")))?;
    }
    Ok(())
}
