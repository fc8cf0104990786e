//! Measures how fast a rulesheet is grounded, played and searched.
//!
//! All rates are per second of processor time of one thread, times the number
//! of threads.
//!
//! ```
//! use sternhalma_ggp::bench::{BenchEngine, BenchOptions, GameBench};
//!
//! let rules = "(role a) (init (at 1)) (legal a go) (<= (next (at 2)) (does a go)) \
//!              (<= terminal (true (at 2))) (goal a 70)";
//! let bench = GameBench::new(rules)?;
//! let options = BenchOptions { seconds: 0.01, threads: 1, seed: 1 };
//! let rates = bench.play(BenchEngine::Lanes, &options)?;
//! assert_eq!((rates.mean_length, rates.mean_goals), (1.0, vec![70.0]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use sternhalma_game::{Game, Limits, Rng, SearchStats, derive_seed};
use sternhalma_gdl::network::{LANES, Lanes, LanesError, Network, NetworkGame, Profile};
use sternhalma_gdl::{GroundError, Prover, ProverError, Rules, RulesError};
use thiserror::Error;

use crate::Policy;
use crate::arena::{Contestant, Fault, PolicyPlayer, Request};
use crate::policy::LockStep;

/// The most steps per match.
const MAX_STEPS: usize = 100_000;
/// The number of matches played to determine the kind of a game.
const PROFILE_MATCHES: usize = 100;
/// The most playouts in lanes at once. The results of these playouts are in
/// memory at the same time.
const MAX_LANE_PLAYOUTS: f64 = 1e6;

/// What plays the game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BenchEngine {
    /// The prover, one state at a time.
    Prover,
    /// The network, one match at a time.
    Sequential,
    /// The network, [`LANES`] matches at once.
    Lanes,
}

/// The duration and the threads of measurements.
#[derive(Clone, Copy, Debug)]
pub struct BenchOptions {
    /// Seconds of processor time per measurement and thread.
    pub seconds: f64,
    /// Threads. Each thread plays with its own seed.
    pub threads: u64,
    /// The seed of the first thread.
    pub seed: u64,
}

/// The reason why nothing can be measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The game has no network.
    #[error(transparent)]
    Ground(#[from] GroundError),
    /// The prover cannot play the game.
    #[error(transparent)]
    Prover(#[from] ProverError),
    /// The network cannot be evaluated in lanes.
    #[error(transparent)]
    Lanes(#[from] LanesError),
    /// The player failed.
    #[error(transparent)]
    Player(#[from] Fault),
    /// A match is too long, or a role has no legal move in a state that is not terminal.
    #[error("a match is not over after {steps} steps, and a role may have no legal move")]
    Unfinished {
        /// Steps of the match.
        steps: usize,
    },
    /// There is nothing to search.
    #[error("the initial state is terminal")]
    Terminal,
    /// The policy does not search, or runs several simulations of a search at the same time.
    #[error("`{policy}` cannot search in lock step; use a policy that searches, without `lanes`")]
    NotLockStep {
        /// The policy.
        policy: String,
    },
}

/// The speed of uniformly random playouts, and their results.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct PlayoutRates {
    /// Playouts in all.
    pub playouts: u64,
    /// Playouts per second.
    pub playouts_per_s: f64,
    /// Steps per second.
    pub steps_per_s: f64,
    /// Mean steps per playout.
    pub mean_length: f64,
    /// Mean goal per role, 0 to 100.
    pub mean_goals: Vec<f64>,
    /// The number of times a role did not have exactly one goal at the end of a playout.
    pub faults: u64,
}

/// The speed of a search.
#[derive(Serialize, Clone, Copy, PartialEq, Debug)]
pub struct SearchRates {
    /// Simulations in all.
    pub simulations: u64,
    /// Simulations per second.
    pub simulations_per_s: f64,
    /// Moves of simulations beyond the tree and states added to the tree, per second.
    pub steps_per_s: f64,
    /// Depth of the deepest node.
    pub depth: u32,
}

/// The size of a network, and the kind of its game.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct NetworkInfo {
    /// Nodes of the network.
    pub components: usize,
    /// Fluents.
    pub fluents: usize,
    /// Moves of all roles.
    pub moves: usize,
    /// Gates.
    pub gates: usize,
    /// Inputs of all gates.
    pub literals: usize,
    /// Names of the roles.
    pub roles: Vec<String>,
    /// Whether there is only one role.
    pub one_player: bool,
    /// Whether at most one role has a choice in each observed state.
    pub turn_taking: bool,
    /// The sum of all goals, if it was the same in all observed matches.
    pub fixed_sum: Option<u32>,
    /// The fluents that count the steps, in order.
    pub step_counter: Vec<String>,
}

/// A rulesheet that is ready to be measured.
pub struct GameBench {
    rules: Rules,
    game: Result<NetworkGame, GroundError>,
    ground_seconds: f64,
}

impl GameBench {
    /// Parses and grounds a rulesheet. A game without a network can be
    /// measured with the prover only.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a valid rulesheet.
    pub fn new(text: &str) -> Result<GameBench, RulesError> {
        let started = Instant::now();
        let rules = Rules::parse(text)?;
        let game = Network::new(&rules).map(|network| NetworkGame::new(network).with_rules(rules.clone()));
        // Each thread compiles its own lanes later. The compilation here is only timed.
        let _ = game.as_ref().map(|game| Lanes::new(&game.network().netlist));
        Ok(GameBench { rules, game, ground_seconds: started.elapsed().as_secs_f64() })
    }

    /// Returns the seconds from the text to networks that are ready to play,
    /// one match at a time and in lanes.
    pub fn ground_seconds(&self) -> f64 {
        self.ground_seconds
    }

    /// Describes the network, after playing some matches.
    ///
    /// # Errors
    ///
    /// Fails if the game has no network.
    pub fn network_info(&self, seed: u64) -> Result<NetworkInfo, GroundError> {
        let game = self.game()?;
        let network = game.network();
        let netlist = &network.netlist;
        let profile = Profile::observe(
            &game.network().netlist,
            game.engine(),
            PROFILE_MATCHES,
            MAX_STEPS,
            &mut Rng::seed_from_u64(seed),
        );
        Ok(NetworkInfo {
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
        })
    }

    /// Plays uniformly random playouts from the initial state.
    ///
    /// # Errors
    ///
    /// Fails if the engine cannot play the game to its end.
    pub fn play(&self, engine: BenchEngine, options: &BenchOptions) -> Result<PlayoutRates, BenchError> {
        let seconds = options.seconds;
        let sums = in_threads(options, &|seed| match engine {
            BenchEngine::Prover => play_with_prover(&self.rules, seconds, seed),
            BenchEngine::Sequential => play_sequentially(self.game()?, seconds, seed),
            BenchEngine::Lanes => play_in_lanes(self.game()?, seconds, seed),
        })?;
        let mut all = PlayoutSums::default();
        sums.iter().for_each(|sums| all.add(sums));
        Ok(all.rates())
    }

    /// Searches from the initial state with a policy. Each thread has its own tree.
    ///
    /// # Errors
    ///
    /// Fails if the game has no network, or nothing to search.
    pub fn search(&self, policy: &Policy, options: &BenchOptions) -> Result<SearchRates, BenchError> {
        let game = self.game()?;
        Ok(search_rates(&in_threads(options, &|seed| search(game, policy, options.seconds, seed))?))
    }

    /// Runs `searches` searches per thread in lock step. The rates are those of
    /// all searches together.
    ///
    /// # Errors
    ///
    /// Fails if the game has no network that fits in lanes, or the policy cannot
    /// search in lock step.
    pub fn search_in_lock_step(
        &self,
        policy: &Policy,
        searches: u64,
        options: &BenchOptions,
    ) -> Result<SearchRates, BenchError> {
        let game = self.game()?;
        let lanes = game.lanes().map_err(Clone::clone)?;
        let spent = in_threads(options, &|seed| {
            let seeds: Vec<u64> = (0..searches).map(|search| derive_seed(seed, search)).collect();
            let searches = LockStep::new(game, lanes, policy, seeds.into_iter());
            let mut searches = searches.ok_or_else(|| BenchError::NotLockStep { policy: policy.to_string() })?;
            let started = thread_time();
            while thread_time() - started < options.seconds {
                searches.step();
            }
            Ok((searches.spent(), thread_time() - started))
        })?;
        Ok(search_rates(&spent))
    }

    fn game(&self) -> Result<&NetworkGame, GroundError> {
        self.game.as_ref().map_err(Clone::clone)
    }
}

/// Sums over playouts.
#[derive(Default)]
struct PlayoutSums {
    playouts: u64,
    steps: u64,
    goals: Vec<u64>,
    faults: u64,
    /// Playouts per second of all threads.
    rate: f64,
}

impl PlayoutSums {
    fn add(&mut self, other: &PlayoutSums) {
        self.playouts += other.playouts;
        self.steps += other.steps;
        self.faults += other.faults;
        self.rate += other.rate;
        self.goals.resize(other.goals.len(), 0);
        self.goals.iter_mut().zip(&other.goals).for_each(|(all, more)| *all += more);
    }

    fn rates(&self) -> PlayoutRates {
        let mean = |sum: u64| sum as f64 / self.playouts as f64;
        let mean_length = mean(self.steps);
        PlayoutRates {
            playouts: self.playouts,
            playouts_per_s: self.rate,
            steps_per_s: self.rate * mean_length,
            mean_length,
            mean_goals: self.goals.iter().map(|&sum| mean(sum)).collect(),
            faults: self.faults,
        }
    }
}

/// Calls `measure` with a seed on each thread, and returns all results.
fn in_threads<T: Send>(
    options: &BenchOptions,
    measure: &(dyn Fn(u64) -> Result<T, BenchError> + Sync),
) -> Result<Vec<T>, BenchError> {
    std::thread::scope(|scope| {
        let seeds = (0..options.threads).map(|thread| options.seed.wrapping_add(thread));
        let threads: Vec<_> = seeds.map(|seed| scope.spawn(move || measure(seed))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}

/// Adds up what threads searched in their seconds.
fn search_rates(spent: &[(SearchStats, f64)]) -> SearchRates {
    let rate = |count: fn(&SearchStats) -> u64| spent.iter().map(|(spent, time)| count(spent) as f64 / time).sum();
    SearchRates {
        simulations: spent.iter().map(|(spent, _)| spent.playouts).sum(),
        simulations_per_s: rate(|spent| spent.playouts),
        steps_per_s: rate(|spent| spent.expansions),
        depth: spent.iter().map(|(spent, _)| spent.depth).max().unwrap_or(0),
    }
}

/// Searches from the initial state, and returns the processor time of the search.
fn search(game: &NetworkGame, policy: &Policy, seconds: f64, seed: u64) -> Result<(SearchStats, f64), BenchError> {
    let state = game.initial();
    if game.is_terminal(&state) {
        return Err(BenchError::Terminal);
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
    let started = thread_time();
    let (_, spent) = player.choose(game, &state, &request)?;
    Ok((spent, thread_time() - started))
}

/// Returns the processor time of this thread in seconds.
fn thread_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Plays until the time is over. A playout that has begun is completed and counted.
fn play_until(
    seconds: f64,
    mut play: impl FnMut(&mut PlayoutSums) -> Result<(), BenchError>,
) -> Result<PlayoutSums, BenchError> {
    let mut sums = PlayoutSums::default();
    let started = thread_time();
    while sums.playouts == 0 || thread_time() - started < seconds {
        play(&mut sums)?;
    }
    sums.rate = sums.playouts as f64 / (thread_time() - started);
    Ok(sums)
}

fn play_with_prover(rules: &Rules, seconds: f64, seed: u64) -> Result<PlayoutSums, BenchError> {
    let mut prover = Prover::new(rules)?;
    let first = prover.initial()?;
    let mut rng = Rng::seed_from_u64(seed);
    play_until(seconds, |sums| {
        let played = prover.playout(&first, MAX_STEPS, &mut rng)?;
        let goals: Vec<u64> = played.goals.iter().map(|goal| u64::from(goal.score())).collect();
        let faults = played.goals.iter().filter(|goal| !goal.is_value()).count() as u64;
        sums.add(&PlayoutSums { playouts: 1, steps: played.steps as u64, goals, faults, rate: 0.0 });
        Ok(())
    })
}

fn play_sequentially(game: &NetworkGame, seconds: f64, seed: u64) -> Result<PlayoutSums, BenchError> {
    let mut rng = Rng::seed_from_u64(seed);
    let first = game.initial();
    let mut state = game.initial();
    let roles = game.roles();
    play_until(seconds, |sums| {
        sums.goals.resize(roles, 0);
        state.clone_from(&first);
        let steps = game.playout(&mut state, MAX_STEPS, &mut rng);
        if !game.engine().is_terminal(&state) {
            return Err(BenchError::Unfinished { steps });
        }
        sums.playouts += 1;
        sums.steps += steps as u64;
        for (sum, goal) in sums.goals.iter_mut().zip(game.engine().goals(&state)) {
            *sum += u64::from(goal.score());
            sums.faults += u64::from(!goal.is_value());
        }
        Ok(())
    })
}

fn play_in_lanes(game: &NetworkGame, seconds: f64, seed: u64) -> Result<PlayoutSums, BenchError> {
    let mut lanes = Lanes::new(&game.network().netlist)?;
    let mut rng = Rng::seed_from_u64(seed);
    let roles = game.roles();
    let started = thread_time();
    play_until(seconds, |sums| {
        // Batches grow, so that the idle lanes at the end of each batch are few among all.
        let rate = sums.playouts as f64 / (thread_time() - started);
        let left = rate * (seconds - (thread_time() - started));
        let count = if sums.playouts == 0 { 4 * LANES } else { left.clamp(LANES as f64, MAX_LANE_PLAYOUTS) as usize };
        let played = lanes.playouts(count, &mut rng)?;
        let mut goals = vec![0; roles];
        for scores in played.scores.chunks(roles) {
            goals.iter_mut().zip(scores).for_each(|(sum, &score)| *sum += u64::from(score));
        }
        let playouts = played.lengths.len() as u64;
        sums.add(&PlayoutSums { playouts, steps: played.steps, goals, faults: played.faults, rate: 0.0 });
        Ok(())
    })
}
