use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde::Serialize;
use sternhalma_ggp::Policy;
use sternhalma_ggp::bench::{BenchEngine, BenchError, BenchOptions, GameBench, NetworkInfo, PlayoutRates, SearchRates};
use sternhalma_ggp::gdl::network::LANES;

use super::rulesheet::{EngineArg, read_text};
use crate::outcome::CommandOutcome;
use crate::output;

/// Measure how fast a rulesheet is grounded, played at random, and searched
///
/// Rates are per second of processor time of one thread, times the threads.
#[derive(clap::Args)]
pub struct Args {
    /// Rulesheet
    file: PathBuf,
    /// Seconds per measurement
    #[arg(long, value_name = "S", default_value_t = 3.0)]
    seconds: f64,
    /// Threads, each with playouts of its own
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: u64,
    /// Policy that searches from the initial state, with one tree per thread
    #[arg(long, value_name = "P")]
    policy: Vec<Policy>,
    /// Also run N searches of each policy per thread in lock step
    #[arg(long, value_name = "N", requires = "policy", value_parser = clap::value_parser!(u64).range(1..=LANES as u64))]
    lock_step: Option<u64>,
    /// Engine that plays [default: all, unless --policy is given]
    #[arg(long, value_enum)]
    engine: Vec<EngineArg>,
    /// Seed of the playouts
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct BenchReport {
    file: String,
    ground_seconds: f64,
    #[serde(flatten)]
    network: Option<NetworkInfo>,
    /// The reason why there is no network.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    engines: BTreeMap<&'static str, EngineReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<PolicyReport>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum EngineReport {
    Rates(PlayoutRates),
    Failed { error: String },
}

#[derive(Serialize)]
struct PolicyReport {
    policy: String,
    #[serde(flatten)]
    rates: SearchRates,
    #[serde(skip_serializing_if = "Option::is_none")]
    lock_step: Option<LockStepReport>,
}

#[derive(Serialize)]
struct LockStepReport {
    /// Searches on all threads.
    searches: u64,
    #[serde(flatten)]
    rates: SearchRates,
}

impl From<EngineArg> for BenchEngine {
    fn from(engine: EngineArg) -> BenchEngine {
        match engine {
            EngineArg::Prover => BenchEngine::Prover,
            EngineArg::Sequential => BenchEngine::Sequential,
            EngineArg::Lanes => BenchEngine::Lanes,
        }
    }
}

pub fn run(args: &Args) -> Result<CommandOutcome> {
    if !(args.seconds > 0.0 && args.seconds <= 1e6) {
        bail!("--seconds: expected a number above 0 and at most a million, got {}", args.seconds);
    }
    let file = args.file.display().to_string();
    let bench = GameBench::new(&read_text(&args.file)?).with_context(|| file.clone())?;
    let options = BenchOptions { seconds: args.seconds, threads: args.threads, seed: args.seed };
    let all = args.engine.is_empty() && args.policy.is_empty();
    let engines = if all { EngineArg::value_variants() } else { &args.engine };
    let engine_report = |&engine: &EngineArg| {
        let failed = |error: BenchError| EngineReport::Failed { error: error.to_string() };
        (engine.name(), bench.play(engine.into(), &options).map_or_else(failed, EngineReport::Rates))
    };
    let policy_report = |policy: &Policy| -> Result<PolicyReport> {
        let rates = bench.search(policy, &options)?;
        let lock_step = |searches: u64| -> Result<LockStepReport> {
            let rates = bench.search_in_lock_step(policy, searches, &options)?;
            Ok(LockStepReport { searches: searches * args.threads, rates })
        };
        let lock_step = args.lock_step.map(lock_step).transpose()?;
        Ok(PolicyReport { policy: policy.to_string(), rates, lock_step })
    };
    let network = bench.network_info(args.seed);
    let report = BenchReport {
        file,
        ground_seconds: bench.ground_seconds(),
        error: network.as_ref().err().map(ToString::to_string),
        network: network.ok(),
        engines: engines.iter().map(engine_report).collect(),
        policies: args.policy.iter().map(policy_report).collect::<Result<_>>()?,
    };
    if args.json {
        output::print_json(&report)?
    } else {
        report.print()?
    }
    Ok(CommandOutcome::Answered)
}

impl BenchReport {
    fn print(&self) -> Result<()> {
        print("grounding", &format!("{:.3} s", self.ground_seconds))?;
        if let Some(network) = &self.network {
            print_network(network)?;
        }
        if let Some(error) = &self.error {
            print("no network", error)?;
        }
        for (engine, report) in &self.engines {
            let text = match report {
                EngineReport::Failed { error } => error.clone(),
                EngineReport::Rates(rates) => {
                    let goals: Vec<String> = rates.mean_goals.iter().map(|goal| format!("{goal:.2}")).collect();
                    format!(
                        "{:.0} playouts/s, {:.0} steps/s, mean length {:.2}, mean goals {}",
                        rates.playouts_per_s,
                        rates.steps_per_s,
                        rates.mean_length,
                        goals.join(" ")
                    )
                }
            };
            print(engine, &text)?;
        }
        for PolicyReport { policy, rates, lock_step } in &self.policies {
            output::print_line(&format!("{policy}: {}", rates_text(rates)))?;
            if let Some(LockStepReport { searches, rates: all }) = lock_step {
                let ratio = all.simulations_per_s / rates.simulations_per_s;
                let text = rates_text(all);
                output::print_line(&format!("  {searches} in lock step: {text}, {ratio:.2} times a single search"))?;
            }
        }
        Ok(())
    }
}

fn print_network(network: &NetworkInfo) -> Result<()> {
    let NetworkInfo { components, fluents, moves, gates, literals, .. } = network;
    let size = format!("{components}: {fluents} fluents, {moves} moves, {gates} gates of {literals} literals");
    print("components", &size)?;
    print("roles", &network.roles.join(" "))?;
    let mut kind = vec![match (network.one_player, network.turn_taking) {
        (true, _) => "one player".to_string(),
        (_, true) => "in turns".into(),
        (_, false) => "at once".into(),
    }];
    kind.extend(network.fixed_sum.map(|sum| format!("goals sum to {sum}")));
    if let [first, .., last] = &network.step_counter[..] {
        kind.push(format!("steps counted from {first} to {last}"));
    }
    if network.accumulates {
        kind.push("effects of moves persist".into());
    }
    print("kind", &kind.join(", "))
}

fn rates_text(rates: &SearchRates) -> String {
    let SearchRates { simulations_per_s, steps_per_s, depth, .. } = rates;
    format!("{simulations_per_s:.0} simulations/s, {steps_per_s:.0} steps/s, depth {depth}")
}

fn print(label: &str, text: &str) -> Result<()> {
    output::print_line(&format!("{label:<12}{text}"))
}
