use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde::Serialize;
use sternhalma_ggp::Policy;
use sternhalma_ggp::bench::{BenchEngine, BenchError, BenchOptions, GameBench, NetworkInfo, PlayoutRates, SearchRates};
use sternhalma_ggp::gdl::network::LANES;

use super::rulesheet::EngineArg;
use crate::args::rulesheet::read_rulesheet;
use crate::output::{self, CommandOutcome};
use crate::values::{MAX_SECONDS, count, count_in, number, policy};

/// Measure how fast a rulesheet is grounded, played at random, and searched
///
/// Rates are per second of processor time of one thread, times the threads.
#[derive(clap::Args)]
pub struct Args {
    /// Rulesheet
    file: PathBuf,
    /// Seconds per measurement
    #[arg(long, value_name = "S", default_value_t = 3.0, value_parser = number(0.001..=MAX_SECONDS))]
    seconds: f64,
    /// Threads, each with its own playouts
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = count_in::<u64>(1..=1024))]
    threads: u64,
    /// Policy that searches from the initial state, with one tree per thread
    #[arg(long, value_name = "P", value_parser = policy)]
    policy: Vec<Policy>,
    /// Also run N searches of each policy per thread in lock step
    #[arg(long, value_name = "N", requires = "policy", value_parser = count_in::<u64>(1..=LANES as u64))]
    lock_step: Option<u64>,
    /// Engine that plays [default: all, unless --policy is given]
    #[arg(long, value_enum)]
    engine: Vec<EngineArg>,
    /// Seed of the playouts
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = count::<u64>(0))]
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
    let file = args.file.display().to_string();
    let bench = GameBench::new(&read_rulesheet(&args.file)?).with_context(|| file.clone())?;
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
    let engines: BTreeMap<_, _> = engines.iter().map(engine_report).collect();
    let failures = engines.values().map(|report| match report {
        EngineReport::Failed { error } => Some(error.as_str()),
        EngineReport::Rates(_) => None,
    });
    if args.policy.is_empty()
        && let Some(failures) = failures.collect::<Option<Vec<&str>>>()
    {
        bail!("{file}: no engine can play it: {}", failures[0]);
    }
    let network = bench.network_info(args.seed);
    let report = BenchReport {
        file,
        ground_seconds: bench.ground_seconds(),
        error: network.as_ref().err().map(ToString::to_string),
        network: network.ok(),
        engines,
        policies: args.policy.iter().map(policy_report).collect::<Result<_>>()?,
    };
    output::answer(args.json, &report, || report.text())
}

impl BenchReport {
    fn text(&self) -> String {
        let mut lines = vec![labelled("grounding", format!("{:.3} s", self.ground_seconds))];
        lines.extend(self.network.as_ref().map(network_text));
        lines.extend(self.error.clone().map(|error| labelled("no network", error)));
        lines.extend(self.engines.iter().map(|(engine, report)| {
            labelled(
                engine,
                match report {
                    EngineReport::Failed { error } => error.clone(),
                    EngineReport::Rates(PlayoutRates {
                        playouts_per_s, steps_per_s, mean_length, mean_goals, ..
                    }) => {
                        let goals: Vec<String> = mean_goals.iter().map(|goal| format!("{goal:.2}")).collect();
                        let speed = format!("{playouts_per_s:.0} playouts/s, {steps_per_s:.0} steps/s");
                        format!("{speed}, mean length {mean_length:.2}, mean goals {}", goals.join(" "))
                    }
                },
            )
        }));
        for PolicyReport { policy, rates, lock_step } in &self.policies {
            lines.push(format!("{policy}: {}", rates_text(rates)));
            lines.extend(lock_step.as_ref().map(|LockStepReport { searches, rates: all }| {
                let ratio = all.simulations_per_s / rates.simulations_per_s;
                format!("  {searches} in lock step: {}, {ratio:.2} times a single search", rates_text(all))
            }));
        }
        lines.join("\n")
    }
}

fn network_text(network: &NetworkInfo) -> String {
    let NetworkInfo { components, fluents, moves, gates, literals, .. } = network;
    let size = format!("{components}: {fluents} fluents, {moves} moves, {gates} gates of {literals} literals");
    let mut kind = vec![match (network.one_player, network.turn_taking) {
        (true, _) => "one player".to_string(),
        (_, true) => "in turns".into(),
        (_, false) => "at once".into(),
    }];
    kind.extend(network.fixed_sum.map(|sum| format!("goals sum to {sum}")));
    if let [first, .., last] = &network.step_counter[..] {
        kind.push(format!("steps counted from {first} to {last}"));
    }
    let rows = [("components", size), ("roles", network.roles.join(" ")), ("kind", kind.join(", "))];
    rows.map(|(label, text)| labelled(label, text)).join("\n")
}

fn rates_text(SearchRates { simulations_per_s, steps_per_s, depth, .. }: &SearchRates) -> String {
    format!("{simulations_per_s:.0} simulations/s, {steps_per_s:.0} steps/s, depth {depth}")
}

fn labelled(label: &str, text: String) -> String {
    format!("{label:<12}{text}")
}
