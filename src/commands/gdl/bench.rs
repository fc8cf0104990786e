//! How fast a rulesheet is ground and played.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use rand::SeedableRng;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use sternhalma_ggp::arena::{Contestant, PolicyPlayer, Request, derive_seed};
use sternhalma_ggp::gdl::network::{LANES, LaneGame, Lanes, Network, NetworkGame, Profile};
use sternhalma_ggp::gdl::{Prover, Rules};
use sternhalma_ggp::{Game, Limits, LockStep, Policy, Rng, SearchStats};

use super::{Engine, read_text};
use crate::outcome::CommandOutcome;
use crate::output;

/// A match that goes on for longer is broken off.
const MOST_STEPS: usize = 100_000;
/// Matches played to tell what kind of game it is.
const PROFILE_MATCHES: usize = 100;
/// Playouts in lanes at a time, at most; their results are kept so long.
const MOST_PLAYOUTS: f64 = 1e6;

/// Measure how fast a rulesheet is ground, played by uniformly random playouts, and searched
///
/// Rates are a second of processor time of a thread, times the threads.
#[derive(clap::Args)]
pub struct Args {
    /// The rulesheet
    file: PathBuf,
    /// Seconds to play by each engine
    #[arg(long, value_name = "S", default_value_t = 3.0)]
    seconds: f64,
    /// Threads, each with playouts of its own
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: u64,
    /// A policy that searches from the initial state, with a tree of its own a thread
    #[arg(long, value_name = "P")]
    policy: Vec<Policy>,
    /// As many searches by each policy in lock step, up to 512 a thread, beside the one by itself
    #[arg(long, value_name = "N", requires = "policy", value_parser = clap::value_parser!(u64).range(1..=LANES as u64))]
    lock_step: Option<u64>,
    /// The engine that plays: all if neither it nor a policy is told
    #[arg(long, value_enum)]
    engine: Vec<Engine>,
    /// The seed of the playouts
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// All that is told.
#[derive(Serialize)]
struct Report {
    file: String,
    /// From the file to networks that are ready to play, one match at a time
    /// and in lanes.
    ground_seconds: f64,
    #[serde(flatten)]
    network: Option<Figures>,
    /// Why there is no network.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    engines: BTreeMap<&'static str, Played>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<Searched>,
}

/// How fast a policy searches.
#[derive(Serialize)]
struct Searched {
    policy: String,
    simulations: u64,
    simulations_per_s: f64,
    /// Moves played in simulations beyond the tree, and states added to it.
    steps_per_s: f64,
    /// The deepest node.
    depth: u32,
    /// The same of many searches in lock step.
    #[serde(skip_serializing_if = "Option::is_none")]
    lock_step: Option<InLockStep>,
}

/// How fast searches in lock step are, all together.
#[derive(Serialize)]
struct InLockStep {
    searches: u64,
    simulations: u64,
    simulations_per_s: f64,
    steps_per_s: f64,
    depth: u32,
}

/// What a network is.
#[derive(Serialize)]
struct Figures {
    components: usize,
    fluents: usize,
    moves: usize,
    gates: usize,
    literals: usize,
    roles: Vec<String>,
    one_player: bool,
    turn_taking: bool,
    fixed_sum: Option<u32>,
    step_counter: Vec<String>,
    accumulates: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Played {
    Rates(Rates),
    Failed { error: String },
}

#[derive(Serialize)]
struct Rates {
    playouts: u64,
    playouts_per_s: f64,
    steps_per_s: f64,
    mean_length: f64,
    mean_goals: Vec<f64>,
    /// Roles at the end of playouts without just one goal.
    faults: u64,
}

/// What playouts came to.
#[derive(Default)]
struct Tally {
    playouts: u64,
    steps: u64,
    goals: Vec<u64>,
    faults: u64,
    /// Playouts a second, of all threads.
    rate: f64,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.playouts += other.playouts;
        self.steps += other.steps;
        self.faults += other.faults;
        self.rate += other.rate;
        self.goals.resize(other.goals.len(), 0);
        self.goals.iter_mut().zip(&other.goals).for_each(|(all, more)| *all += more);
    }

    fn rates(&self) -> Rates {
        let mean = |sum: u64| sum as f64 / self.playouts as f64;
        let mean_length = mean(self.steps);
        Rates {
            playouts: self.playouts,
            playouts_per_s: self.rate,
            steps_per_s: self.rate * mean_length,
            mean_length,
            mean_goals: self.goals.iter().map(|&sum| mean(sum)).collect(),
            faults: self.faults,
        }
    }
}

pub fn run(args: &Args) -> Result<CommandOutcome> {
    if !(args.seconds > 0.0 && args.seconds <= 1e6) {
        bail!("--seconds takes a number of seconds over 0, up to a million");
    }
    let started = Instant::now();
    let file = args.file.display().to_string();
    let rules = Rules::parse(&read_text(&args.file)?).with_context(|| file.clone())?;
    let game = Network::new(&rules).map(|network| NetworkGame::new(network).with_rules(rules.clone()));
    // Each thread compiles lanes of its own; here it is for the time it takes.
    let _ = game.as_ref().map(|game| Lanes::new(&game.network().netlist));
    let ground_seconds = started.elapsed().as_secs_f64();
    let all = args.engine.is_empty() && args.policy.is_empty();
    let engines = if all { Engine::value_variants() } else { &args.engine };
    let play = |&engine: &Engine| {
        let tally = in_threads(args, &|seed| match (engine, &game) {
            (Engine::Prover, _) => play_prover(&rules, args.seconds, seed),
            (Engine::Sequential, Ok(game)) => play_sequential(game, args.seconds, seed),
            (Engine::Lanes, Ok(game)) => play_lanes(game, args.seconds, seed),
            (_, Err(error)) => Err(error.clone().into()),
        });
        let failed = |error: anyhow::Error| Played::Failed { error: format!("{error:#}") };
        (engine.name(), tally.map_or_else(failed, |tally| Played::Rates(tally.rates())))
    };
    let searched = |policy: &Policy| match &game {
        Ok(game) => search_in_threads(args, game, policy),
        Err(error) => Err(error.clone().into()),
    };
    let report = Report {
        file,
        ground_seconds,
        network: game.as_ref().ok().map(|game| Figures::new(game, args.seed)),
        error: game.as_ref().err().map(ToString::to_string),
        engines: engines.iter().map(play).collect(),
        policies: args.policy.iter().map(searched).collect::<Result<_>>()?,
    };
    if args.json {
        output::print_json(&report)?
    } else {
        report.print()?
    }
    Ok(CommandOutcome::Answered)
}

impl Figures {
    fn new(game: &NetworkGame, seed: u64) -> Figures {
        let network = game.network();
        let netlist = &network.netlist;
        let profile = Profile::observe(game, PROFILE_MATCHES, MOST_STEPS, &mut Rng::seed_from_u64(seed));
        Figures {
            components: netlist.nodes() - 1,
            fluents: netlist.fluents(),
            moves: netlist.moves(),
            gates: netlist.gates().len(),
            literals: netlist.gates().map(<[_]>::len).sum(),
            roles: network.roles.clone(),
            one_player: profile.one_player,
            turn_taking: profile.turn_taking,
            fixed_sum: profile.fixed_sum,
            step_counter: profile.step_counter.iter().map(|&fluent| network.fluents[fluent].clone()).collect(),
            accumulates: game.accumulates(),
        }
    }

    fn print(&self) -> Result<()> {
        let Figures { components, fluents, moves, gates, literals, .. } = self;
        let size = format!("{components}: {fluents} fluents, {moves} moves, {gates} gates of {literals} literals");
        print("components", &size)?;
        print("roles", &self.roles.join(" "))?;
        let mut kind = vec![match (self.one_player, self.turn_taking) {
            (true, _) => "one player".to_string(),
            (_, true) => "in turns".into(),
            (_, false) => "at once".into(),
        }];
        kind.extend(self.fixed_sum.map(|sum| format!("goals sum to {sum}")));
        if let [first, .., last] = &self.step_counter[..] {
            kind.push(format!("steps counted from {first} to {last}"));
        }
        if self.accumulates {
            kind.push("what is brought about stays".into());
        }
        print("kind", &kind.join(", "))
    }
}

impl Report {
    fn print(&self) -> Result<()> {
        print("grounding", &format!("{:.3} s", self.ground_seconds))?;
        if let Some(network) = &self.network {
            network.print()?;
        }
        if let Some(error) = &self.error {
            print("no network", error)?;
        }
        for (engine, played) in &self.engines {
            let text = match played {
                Played::Failed { error } => error.clone(),
                Played::Rates(rates) => {
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
        let rates = |simulations: f64, steps: f64, depth: u32| {
            format!("{simulations:.0} simulations/s, {steps:.0} steps/s, depth {depth}")
        };
        for Searched { policy, simulations_per_s, steps_per_s, depth, lock_step, .. } in &self.policies {
            output::print_line(&format!("{policy}: {}", rates(*simulations_per_s, *steps_per_s, *depth)))?;
            if let Some(all) = lock_step {
                let told = rates(all.simulations_per_s, all.steps_per_s, all.depth);
                let ratio = all.simulations_per_s / simulations_per_s;
                output::print_line(&format!("  {} in lock step: {told}, {ratio:.2} times the one", all.searches))?;
            }
        }
        Ok(())
    }
}

fn print(what: &str, text: &str) -> Result<()> {
    output::print_line(&format!("{what:<12}{text}"))
}

/// What each thread came to.
fn in_each_thread<T: Send>(args: &Args, play: &(dyn Fn(u64) -> Result<T> + Sync)) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let seeds = (0..args.threads).map(|thread| args.seed.wrapping_add(thread));
        let threads: Vec<_> = seeds.map(|seed| scope.spawn(move || play(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| bail!("a thread panicked"))).collect()
    })
}

fn in_threads(args: &Args, play: &(dyn Fn(u64) -> Result<Tally> + Sync)) -> Result<Tally> {
    let mut all = Tally::default();
    in_each_thread(args, play)?.iter().for_each(|tally| all.add(tally));
    Ok(all)
}

/// What threads spent together: simulations, simulations and steps a second, and the depth.
fn rates(spent: &[(SearchStats, f64)]) -> (u64, f64, f64, u32) {
    let rate = |count: fn(&SearchStats) -> u64| spent.iter().map(|(spent, time)| count(spent) as f64 / time).sum();
    let simulations = spent.iter().map(|(spent, _)| spent.playouts).sum();
    let depth = spent.iter().map(|(spent, _)| spent.depth).max().unwrap_or(0);
    (simulations, rate(|spent| spent.playouts), rate(|spent| spent.expansions), depth)
}

fn search_in_threads(args: &Args, game: &NetworkGame, policy: &Policy) -> Result<Searched> {
    let spent = in_each_thread(args, &|seed| search(game, policy, args.seconds, seed))?;
    let (simulations, simulations_per_s, steps_per_s, depth) = rates(&spent);
    let lock_step = args.lock_step.map(|searches| in_lock_step(args, game, policy, searches)).transpose()?;
    Ok(Searched { policy: policy.to_string(), simulations, simulations_per_s, steps_per_s, depth, lock_step })
}

fn in_lock_step(args: &Args, game: &NetworkGame, policy: &Policy, searches: u64) -> Result<InLockStep> {
    let game = LaneGame::new(NetworkGame::new(game.network().clone()))?;
    let spent = in_each_thread(args, &|seed| {
        let seeds: Vec<u64> = (0..searches).map(|search| derive_seed(seed, search)).collect();
        let searches = LockStep::new(&game, policy, seeds.into_iter());
        let mut searches =
            searches.context("a search in lock step is by a policy that searches and does not look at states")?;
        let started = now();
        while now() - started < args.seconds {
            searches.step();
        }
        Ok((searches.spent(), now() - started))
    })?;
    let (simulations, simulations_per_s, steps_per_s, depth) = rates(&spent);
    Ok(InLockStep { searches: searches * args.threads, simulations, simulations_per_s, steps_per_s, depth })
}

/// Searches from the initial state, and returns the processor time that took.
fn search(game: &NetworkGame, policy: &Policy, seconds: f64, seed: u64) -> Result<(SearchStats, f64)> {
    let state = game.initial();
    if game.is_terminal(&state) {
        bail!("the initial state is terminal");
    }
    let role = game.turn(&state).acting(game.roles()).start;
    let mut player = PolicyPlayer::new(policy.clone());
    player.begin(game, &state, role, seed)?;
    let request = Request {
        role,
        limits: Limits::time(Duration::from_secs_f64(seconds)),
        clocks: &vec![None; game.roles()],
        patience: Duration::ZERO,
        stop: &AtomicBool::new(false),
    };
    let started = now();
    let (_, spent) = player.choose(game, &state, &request)?;
    Ok((spent, now() - started))
}

/// Processor time of this thread, in seconds.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Plays until the time is over; every playout begun is ended and counted.
fn play_until(seconds: f64, mut play: impl FnMut(&mut Tally) -> Result<()>) -> Result<Tally> {
    let mut tally = Tally::default();
    let started = now();
    while tally.playouts == 0 || now() - started < seconds {
        play(&mut tally)?;
    }
    tally.rate = tally.playouts as f64 / (now() - started);
    Ok(tally)
}

fn play_prover(rules: &Rules, seconds: f64, seed: u64) -> Result<Tally> {
    let mut prover = Prover::new(rules)?;
    let first = prover.initial()?;
    let mut rng = Rng::seed_from_u64(seed);
    play_until(seconds, |tally| {
        let played = prover.playout(&first, MOST_STEPS, &mut rng)?;
        let goals: Vec<u64> = played.goals.iter().map(|goal| u64::from(goal.score())).collect();
        let faults = played.goals.iter().filter(|goal| !goal.is_value()).count() as u64;
        tally.add(&Tally { playouts: 1, steps: played.steps as u64, goals, faults, rate: 0.0 });
        Ok(())
    })
}

fn play_sequential(game: &NetworkGame, seconds: f64, seed: u64) -> Result<Tally> {
    let mut rng = Rng::seed_from_u64(seed);
    let first = game.initial();
    let mut state = game.initial();
    let roles = game.roles();
    play_until(seconds, |tally| {
        tally.goals.resize(roles, 0);
        state.clone_from(&first);
        let steps = game.playout(&mut state, MOST_STEPS, &mut rng);
        if !game.engine().is_terminal(&state) {
            bail!("a match is not over after {steps} steps, and a role may have no legal move");
        }
        tally.playouts += 1;
        tally.steps += steps as u64;
        for (sum, goal) in tally.goals.iter_mut().zip(game.engine().goals(&state)) {
            *sum += u64::from(goal.score());
            tally.faults += u64::from(!goal.is_value());
        }
        Ok(())
    })
}

fn play_lanes(game: &NetworkGame, seconds: f64, seed: u64) -> Result<Tally> {
    let mut lanes = Lanes::new(&game.network().netlist)?;
    let mut rng = Rng::seed_from_u64(seed);
    let roles = game.roles();
    let started = now();
    play_until(seconds, |tally| {
        // Batches grow, so that the last lanes of each are few among all.
        let rate = tally.playouts as f64 / (now() - started);
        let left = rate * (seconds - (now() - started));
        let count = if tally.playouts == 0 { 4 * LANES } else { left.clamp(LANES as f64, MOST_PLAYOUTS) as usize };
        let played = lanes.playouts(count, &mut rng)?;
        let mut goals = vec![0; roles];
        for scores in played.scores.chunks(roles) {
            goals.iter_mut().zip(scores).for_each(|(sum, &score)| *sum += u64::from(score));
        }
        let playouts = played.lengths.len() as u64;
        tally.add(&Tally { playouts, steps: played.steps, goals, faults: played.faults, rate: 0.0 });
        Ok(())
    })
}
