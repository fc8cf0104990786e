//! Estimates of the time that a tournament takes.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::{
    ArenaError, Budget, GameId, GameLog, PairingSummary, RoundSummary, Schedule, Standings, Totals, Tournament,
};

/// The sample uses this fraction of a count, and its time is scaled up.
const FRACTION: u64 = 20;

/// The minimum number of sample games per pairing and round, if there is time for them.
const SAMPLE_GAMES: u64 = 2;

/// Milliseconds per move in the sample, if time is limited.
const SAMPLE_MS: u64 = 10;

/// The size and the duration of a tournament.
#[derive(Serialize)]
pub struct TournamentEstimate {
    rounds: Vec<RoundEstimate>,
    /// All games, including those that a sequential test may save.
    games: u64,
    /// Games in the log.
    played: u64,
    /// Simulations of the games left.
    simulations: f64,
    /// Simultaneous games.
    threads: NonZeroUsize,
    /// Hours for the games left.
    hours: f64,
}

#[derive(Serialize)]
struct RoundEstimate {
    name: String,
    games: u64,
    simulations: f64,
    hours: f64,
}

/// The size of a sample.
#[derive(Clone, Copy)]
struct SampleSize {
    /// Games per pairing and round.
    games: u64,
    /// Maximum number of simulations per move.
    playouts: u64,
}

/// The results of a sample.
struct Sample {
    size: SampleSize,
    rounds: Vec<RoundSummary>,
}

impl TournamentEstimate {
    /// Returns the total of tournaments that are played one after the other.
    pub fn sum<'a>(estimates: impl Iterator<Item = &'a Self>, threads: NonZeroUsize) -> TournamentEstimate {
        let none =
            TournamentEstimate { rounds: Vec::new(), games: 0, played: 0, simulations: 0.0, threads, hours: 0.0 };
        estimates.fold(none, |sum, estimate| TournamentEstimate {
            games: sum.games + estimate.games,
            played: sum.played + estimate.played,
            simulations: sum.simulations + estimate.simulations,
            hours: sum.hours + estimate.hours,
            ..sum
        })
    }

    /// Returns the cells of a table row: games, games played, simulations and hours.
    pub(super) fn row(&self) -> Vec<String> {
        let simulations = format!("{:.2} M", self.simulations / 1e6);
        vec![self.games.to_string(), self.played.to_string(), simulations, format!("{:.2}", self.hours)]
    }

    /// Returns the estimate as text.
    pub fn text(&self) -> String {
        let mut lines: Vec<String> = (self.rounds.iter().filter(|round| !round.name.is_empty()))
            .map(|round| format!("{}: {} games, {}", round.name, round.games, time(round.hours)))
            .collect();
        let played = if self.played > 0 { format!(", {} of them played", self.played) } else { String::new() };
        lines.push(format!("{} games{played}; {} to go, {} at a time", self.games, time(self.hours), self.threads));
        lines.join("\n")
    }
}

fn time(hours: f64) -> String {
    match 3600.0 * hours {
        ..1.0 => "less than a second".to_owned(),
        seconds @ ..60.0 => format!("{seconds:.0} seconds"),
        seconds @ ..3600.0 => format!("{:.1} minutes", seconds / 60.0),
        _ => format!("{hours:.1} hours"),
    }
}

impl Tournament {
    /// Counts the games and estimates their duration from a sample. Playing the sample takes
    /// about `time` at most.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read, if a sample game cannot be played, or if `stop`
    /// is set before the end of the sample.
    pub fn estimate(
        &self,
        log: Option<&Path>,
        threads: NonZeroUsize,
        stop: &AtomicBool,
        time: Duration,
    ) -> Result<TournamentEstimate, ArenaError> {
        let schedule = &self.schedule;
        let (head, known) = match log {
            Some(path) if path.is_file() => {
                GameLog::entries(path, schedule, &|logged| self.backend.renewed(schedule, logged))?
            }
            _ => (schedule.clone(), Vec::new()),
        };
        // A log has the same players, but may have another order of pairings.
        let place = |[a, b]: [usize; 2]| head.pairings.iter().position(|&other| other == [a, b] || other == [b, a]);
        let played: HashSet<GameId> = known.iter().map(|record| record.id).collect();
        let Sample { size, rounds: sample } = self.sample_within(threads, stop, time)?;
        let mut rounds = Vec::new();
        for (round, sample) in sample.iter().enumerate() {
            let games = schedule.games_of(round);
            let (mut hours, mut simulations) = (0.0, 0.0);
            for (pairing, sample) in sample.pairings.iter().enumerate() {
                let id = GameId { round, pairing, game: 0 };
                let logged = place(schedule.pairings[pairing]);
                let left = games
                    - played.iter().filter(|game| (game.round, Some(game.pairing)) == (round, logged)).count() as u64;
                for (player, spent) in sample.spent.iter().enumerate() {
                    let seconds = left as f64 * seconds_per_game(schedule, id, player, sample, size);
                    hours += seconds / 3600.0 / threads.get() as f64;
                    simulations += seconds * spent.playouts as f64 / spent.seconds.max(1e-9);
                }
            }
            let games = games * schedule.pairings.len() as u64;
            rounds.push(RoundEstimate { name: schedule.rounds[round].name.clone(), games, simulations, hours });
        }
        let hours = rounds.iter().map(|round| round.hours).sum();
        let simulations = rounds.iter().map(|round| round.simulations).sum();
        Ok(TournamentEstimate {
            rounds,
            games: schedule.total(),
            played: played.len() as u64,
            simulations,
            threads,
            hours,
        })
    }

    /// Plays the smallest sample, and then a larger one if there is time: first more games, up to
    /// the number of simultaneous ones, then longer searches.
    fn sample_within(&self, threads: NonZeroUsize, stop: &AtomicBool, time: Duration) -> Result<Sample, ArenaError> {
        let schedule = &self.schedule;
        // A single role is played by each player of a pairing in turn.
        let smallest = SampleSize { games: if schedule.roles == 1 { 2 } else { 1 }, playouts: 1 };
        let started = Instant::now();
        let sample = self.sample(smallest, threads, stop)?;
        let took = started.elapsed();
        let times = time.saturating_sub(took).as_secs_f64() / took.as_secs_f64().max(1e-6);
        let slots = schedule.slots().count();
        let per_pairing = (0..schedule.rounds.len()).map(|round| schedule.games_of(round)).max().unwrap_or(0);
        let most = per_pairing.min((self.backend.concurrency(threads).get() / slots) as u64);
        let games = most.max(SAMPLE_GAMES).min((smallest.games as f64 * times) as u64) / 2 * 2;
        if games == 0 {
            return Ok(sample);
        }
        let playouts = (times * smallest.games as f64 / games as f64) as u64;
        self.sample(SampleSize { games, playouts: playouts.max(1) }, threads, stop)
    }

    /// Plays a few games of each pairing in each round by a fraction of the budget.
    fn sample(&self, size: SampleSize, threads: NonZeroUsize, stop: &AtomicBool) -> Result<Sample, ArenaError> {
        let mut sample = Schedule { test: None, shard: None, ..self.schedule.clone() };
        for round in &mut sample.rounds {
            (round.games, round.budget) = (size.games, size.budget(round.budget));
        }
        sample.entrants.iter_mut().for_each(|entrant| entrant.budget = size.budget(entrant.budget));
        let mut standings = Standings::new(sample);
        self.backend.play(&mut standings, threads, stop, &mut |record, _| match &record.fault {
            Some(fault) => {
                Err(ArenaError::Sample { player: record.players[fault.role].clone(), fault: fault.fault.clone() })
            }
            None => Ok(()),
        })?;
        if standings.played() < standings.expected() {
            return Err(ArenaError::Interrupted);
        }
        Ok(Sample { size, rounds: standings.summary() })
    }
}

impl SampleSize {
    /// Returns the part of a budget for a sample game. Under a limit of time only the length of
    /// games matters. A search with a depth runs in full.
    fn budget(self, budget: Budget) -> Budget {
        let part = |count: u64, least| (count / FRACTION).max(least).min(count);
        let timed = budget.is_timed().then_some(SAMPLE_MS);
        match budget.depth {
            Some(_) => Budget { movetime: budget.movetime.or(timed), ..budget },
            None => Budget {
                nodes: budget.nodes.map(|count| part(count, 1000)),
                playouts: budget.playouts.map(|count| part(count, 100).min(self.playouts)),
                movetime: timed.min(budget.movetime.or(timed)),
                ..Budget::default()
            },
        }
    }
}

/// Returns the seconds that a player takes for a game.
fn seconds_per_game(schedule: &Schedule, id: GameId, player: usize, sample: &PairingSummary, size: SampleSize) -> f64 {
    let (budget, spent) = (schedule.budget(id, player), &sample.spent[player]);
    // If all players think in every step, there are more searches than moves.
    let searches = spent.moves as f64 / sample.games.max(1) as f64;
    let moves = searches.max(sample.mean_plies.unwrap_or_default() / 2.0);
    let known = [
        budget.movetime.map(|ms| moves * ms as f64 / 1e3),
        budget.time.map(|time| time.base.as_secs_f64() + moves * time.increment.as_secs_f64()),
        (budget.nodes.is_some() || budget.playouts.is_some() || budget.depth.is_some())
            .then(|| scaled_seconds(budget, size.budget(budget), spent, sample.games)),
    ];
    known.into_iter().flatten().reduce(f64::min).unwrap_or_default()
}

/// Returns the estimated seconds per game with the whole budget.
///
/// The seconds of a sample game are scaled by the ratio of the limits, if the searches of the
/// sample used at least 80% of their limit on average. Other searches end by themselves, and a larger
/// budget does not make them longer. With two limits the smaller ratio counts.
fn scaled_seconds(budget: Budget, sample: Budget, spent: &Totals, games: u64) -> f64 {
    let moves = spent.moves.max(1) as f64;
    let is_reached = |limit: u64, spent: u64| spent as f64 >= 0.8 * limit as f64 * moves;
    let ratios = [
        // Both expansions and playouts count as nodes, whichever a search reports more of.
        budget.nodes.zip(sample.nodes).map(|(whole, part)| (whole, part, spent.expansions.max(spent.playouts))),
        budget.playouts.zip(sample.playouts).map(|(whole, part)| (whole, part, spent.playouts)),
    ];
    let ratios = ratios.into_iter().flatten().filter(|&(_, part, spent)| is_reached(part, spent));
    let ratio = ratios.map(|(whole, part, _)| whole as f64 / part as f64).reduce(f64::min);
    ratio.unwrap_or(1.0) * spent.seconds / games.max(1) as f64
}
