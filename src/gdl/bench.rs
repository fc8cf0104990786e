//! How fast a rulesheet is ground and played.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use rand::SeedableRng;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use serde_json::{Map, Value, json};
use sternhalma_ggp::gdl::network::{LANES, Lanes, Network, NetworkGame, Profile};
use sternhalma_ggp::gdl::{Prover, Rules};
use sternhalma_ggp::{Game, Rng};

use super::{Engine, read_text};
use crate::{Outcome, output};

/// A match that goes on for longer is broken off.
const MOST_STEPS: usize = 100_000;
/// Matches played to tell what kind of game it is.
const PROFILE_MATCHES: usize = 100;
/// Playouts in lanes at a time, at most; their results are kept so long.
const MOST_PLAYOUTS: f64 = 1e6;

/// Measure how fast a rulesheet is ground and played, by uniformly random playouts
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
    /// The engine that plays: all if none is told
    #[arg(long, value_enum)]
    engine: Vec<Engine>,
    /// The seed of the playouts
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What playouts came to.
#[derive(Default)]
struct Tally {
    playouts: u64,
    steps: u64,
    goals: Vec<u64>,
    /// Roles at the end of playouts without just one goal.
    faults: u64,
    /// Playouts a second, of all threads.
    rate: f64,
}

#[derive(Serialize)]
struct Rates {
    playouts: u64,
    playouts_per_s: f64,
    steps_per_s: f64,
    mean_length: f64,
    mean_goals: Vec<f64>,
    faults: u64,
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

pub fn run(args: &Args) -> Result<Outcome> {
    if !(args.seconds > 0.0 && args.seconds <= 1e6) {
        bail!("--seconds takes a number of seconds over 0, up to a million");
    }
    let started = Instant::now();
    let name = || args.file.display().to_string();
    let rules = Rules::parse(&read_text(&args.file)?).with_context(name)?;
    let ready = Ready::new(&rules);
    let ground_seconds = started.elapsed().as_secs_f64();
    let mut report = Map::new();
    report.insert("file".into(), json!(name()));
    report.insert("ground_seconds".into(), json!(ground_seconds));
    match &ready {
        Ok(ready) => report.extend(ready.describe(args.seed)),
        Err(error) => _ = report.insert("error".into(), json!(format!("{error:#}"))),
    }
    let engines: &[Engine] =
        if args.engine.is_empty() { &[Engine::Prover, Engine::Sequential, Engine::Lanes] } else { &args.engine };
    for &engine in engines {
        let tally = in_threads(args, &|seed| match (engine, &ready) {
            (Engine::Prover, _) => play_prover(&rules, args.seconds, seed),
            (Engine::Sequential, Ok(ready)) => play_sequential(&ready.game, args.seconds, seed),
            (Engine::Lanes, Ok(ready)) => play_lanes(&ready.game, args.seconds, seed),
            (_, Err(error)) => Err(anyhow!("{error:#}")),
        });
        let rates = match tally {
            Ok(tally) => json!(tally.rates()),
            Err(error) => json!({ "error": format!("{error:#}") }),
        };
        report.insert(engine.name().into(), rates);
    }
    if args.json {
        output::print_json(&report)?
    } else {
        print(&report)?
    }
    Ok(Outcome::Answered)
}

/// A rulesheet compiled for both evaluations.
struct Ready {
    game: NetworkGame,
    /// Whether it is not too large for lanes.
    fits_lanes: bool,
}

impl Ready {
    fn new(rules: &Rules) -> Result<Ready> {
        let game = NetworkGame::new(Network::new(rules)?);
        let fits_lanes = Lanes::new(&game.network().netlist).is_ok();
        Ok(Ready { game, fits_lanes })
    }

    fn describe(&self, seed: u64) -> Map<String, Value> {
        let network = self.game.network();
        let netlist = &network.netlist;
        let profile = Profile::observe(&self.game, PROFILE_MATCHES, MOST_STEPS, &mut Rng::seed_from_u64(seed));
        let fields = json!({
            "components": netlist.nodes() - 1,
            "fluents": netlist.fluents(),
            "moves": netlist.moves(),
            "gates": netlist.gates().len(),
            "literals": netlist.gates().map(<[_]>::len).sum::<usize>(),
            "fits_lanes": self.fits_lanes,
            "roles": network.roles,
            "one_player": profile.one_player,
            "turn_taking": profile.turn_taking,
            "fixed_sum": profile.fixed_sum,
            "step_counter": profile.step_counter.iter().map(|&fluent| &network.fluents[fluent]).collect::<Vec<_>>(),
        });
        match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }
}

fn in_threads(args: &Args, play: &(dyn Fn(u64) -> Result<Tally> + Sync)) -> Result<Tally> {
    let tallies: Vec<Result<Tally>> = std::thread::scope(|scope| {
        let seeds = (0..args.threads).map(|thread| args.seed.wrapping_add(thread));
        let threads: Vec<_> = seeds.map(|seed| scope.spawn(move || play(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| bail!("a thread panicked"))).collect()
    });
    let mut all = Tally::default();
    for tally in tallies {
        all.add(&tally?);
    }
    Ok(all)
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
        if steps == MOST_STEPS {
            bail!("the match is not over after {MOST_STEPS} steps");
        }
        tally.playouts += 1;
        tally.steps += steps as u64;
        for (role, sum) in tally.goals.iter_mut().enumerate() {
            let goal = game.engine().goal(&state, role);
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

fn print(report: &Map<String, Value>) -> Result<()> {
    let number =
        |value: &Value, digits: usize| value.as_f64().map_or_else(String::new, |value| format!("{value:.digits$}"));
    for (key, value) in report {
        let text = match value {
            Value::Object(rates) => match rates.get("error") {
                Some(error) => error.as_str().unwrap_or_default().to_string(),
                None => {
                    let goals = rates["mean_goals"].as_array().into_iter().flatten();
                    format!(
                        "{} playouts/s, {} steps/s, mean length {}, mean goals {}",
                        number(&rates["playouts_per_s"], 1),
                        number(&rates["steps_per_s"], 0),
                        number(&rates["mean_length"], 2),
                        goals.map(|goal| number(goal, 2)).collect::<Vec<_>>().join(" ")
                    )
                }
            },
            Value::Array(names) => {
                let names = names.iter().filter_map(Value::as_str);
                names.collect::<Vec<_>>().join(" ")
            }
            Value::String(text) => text.clone(),
            Value::Number(_) if key == "ground_seconds" => number(value, 3),
            Value::Null => "no".into(),
            value => value.to_string(),
        };
        output::print_line(&format!("{:<16}{text}", key.replace('_', " ")))?;
    }
    Ok(())
}
