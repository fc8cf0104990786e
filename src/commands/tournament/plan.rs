//! What a tournament will take.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use serde::Serialize;
use sternhalma_ggp::arena::{Budget, GameId, GameLog, PairingSummary, RoundSummary, Schedule, Standings, Totals};

use super::room::{Failure, Room};

/// What is tried takes about so long at most.
pub const PLAN_TIME: Duration = Duration::from_secs(60);

/// Counts are tried at this fraction, and their time taken in proportion.
const FRACTION: u64 = 20;

/// Games of each pairing that are tried in each round if there is time.
const TRIED: u64 = 2;

/// Milliseconds a move where time is limited.
const TRIED_MS: u64 = 10;

/// A tournament before it is played.
#[derive(Serialize)]
pub struct Plan {
    rounds: Vec<RoundPlan>,
    /// Games in all; those that a test may save are counted.
    games: u64,
    /// Those that the log has.
    played: u64,
    /// Simulations of those that are left.
    simulations: f64,
    /// Games at a time.
    threads: NonZeroUsize,
    /// Hours for those that are left.
    hours: f64,
}

#[derive(Serialize)]
struct RoundPlan {
    name: String,
    games: u64,
    simulations: f64,
    hours: f64,
}

/// How a tournament is tried.
#[derive(Clone, Copy)]
struct Trial {
    /// Games of each pairing in each round.
    games: u64,
    /// Simulations a move, at most.
    playouts: u64,
}

impl Plan {
    /// Several tournaments, one after the other.
    pub fn sum<'a>(plans: impl Iterator<Item = &'a Plan>, threads: NonZeroUsize) -> Plan {
        let none = Plan { rounds: Vec::new(), games: 0, played: 0, simulations: 0.0, threads, hours: 0.0 };
        plans.fold(none, |sum, plan| Plan {
            games: sum.games + plan.games,
            played: sum.played + plan.played,
            simulations: sum.simulations + plan.simulations,
            hours: sum.hours + plan.hours,
            ..sum
        })
    }

    /// Games in all and played, simulations and hours, for a table.
    pub fn row(&self) -> Vec<String> {
        let simulations = format!("{:.2} M", self.simulations / 1e6);
        vec![self.games.to_string(), self.played.to_string(), simulations, format!("{:.2}", self.hours)]
    }

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
    if hours < 1.0 { format!("{:.1} minutes", 60.0 * hours) } else { format!("{hours:.1} hours") }
}

/// Counts the games, and tells from a few how long they take, which are played
/// within about `share` of time.
pub fn plan(
    room: &dyn Room,
    schedule: &Schedule,
    log: Option<&Path>,
    threads: NonZeroUsize,
    stop: &AtomicBool,
    share: Duration,
) -> Result<Plan> {
    let known = match log {
        Some(path) if path.exists() => GameLog::entries(path, schedule)?,
        _ => Vec::new(),
    };
    let played: HashSet<GameId> = known.iter().map(|record| record.id).collect();
    let (trial, tried) = try_for(room, schedule, threads, stop, share)?;
    let mut rounds = Vec::new();
    for (round, tried) in tried.iter().enumerate() {
        let games = schedule.games_of(round);
        let (mut hours, mut simulations) = (0.0, 0.0);
        for (pairing, tried) in tried.pairings.iter().enumerate() {
            let id = GameId { round, pairing, game: 0 };
            let left =
                games - played.iter().filter(|game| (game.round, game.pairing) == (round, pairing)).count() as u64;
            for (second, spent) in tried.spent.iter().enumerate() {
                let seconds = left as f64 * seconds(schedule, id, second, tried, trial);
                hours += seconds / 3600.0 / threads.get() as f64;
                simulations += seconds * spent.playouts as f64 / spent.seconds.max(1e-9);
            }
        }
        let games = games * schedule.pairings.len() as u64;
        rounds.push(RoundPlan { name: schedule.rounds[round].name.clone(), games, simulations, hours });
    }
    let hours = rounds.iter().map(|round| round.hours).sum();
    let simulations = rounds.iter().map(|round| round.simulations).sum();
    Ok(Plan { rounds, games: schedule.total(), played: played.len() as u64, simulations, threads, hours })
}

/// Tries the least first, and then as much as there is time for: as many games
/// as are played at a time, and then longer searches.
fn try_for(
    room: &dyn Room,
    schedule: &Schedule,
    threads: NonZeroUsize,
    stop: &AtomicBool,
    share: Duration,
) -> Result<(Trial, Vec<RoundSummary>)> {
    // A role alone is played by either of a pairing in turn.
    let least = Trial { games: if schedule.roles == 1 { 2 } else { 1 }, playouts: 1 };
    let begun = Instant::now();
    let found = try_out(room, schedule, least, threads, stop)?;
    let took = begun.elapsed();
    let times = share.saturating_sub(took).as_secs_f64() / took.as_secs_f64().max(1e-6);
    let cells = schedule.rounds.len() * schedule.pairings.len();
    let of_pairing = (0..schedule.rounds.len()).map(|round| schedule.games_of(round)).max().unwrap_or(0);
    let most = of_pairing.min((room.at_a_time(threads).get() / cells) as u64);
    let games = most.max(TRIED).min((least.games as f64 * times) as u64) / 2 * 2;
    if games == 0 {
        return Ok((least, found));
    }
    let playouts = (times * least.games as f64 / games as f64) as u64;
    let trial = Trial { games, playouts: playouts.max(1) };
    Ok((trial, try_out(room, schedule, trial, threads, stop)?))
}

/// A few games of each pairing in each round, by a fraction of the budget.
fn try_out(
    room: &dyn Room,
    schedule: &Schedule,
    trial: Trial,
    threads: NonZeroUsize,
    stop: &AtomicBool,
) -> Result<Vec<RoundSummary>> {
    let mut sample = Schedule { test: None, shard: None, ..schedule.clone() };
    for round in &mut sample.rounds {
        (round.games, round.budget) = (trial.games, trial.budget(round.budget));
    }
    sample.entrants.iter_mut().for_each(|entrant| entrant.budget = trial.budget(entrant.budget));
    let mut standings = Standings::new(sample);
    room.play(&mut standings, threads, stop, &mut |record, _| match &record.fault {
        Some(fault) => Err(Failure(anyhow!("{} cannot be tried: {}", record.players[fault.role], fault.fault))),
        None => Ok(()),
    })?;
    match standings.played() == standings.expected() {
        true => Ok(standings.summary()),
        false => bail!("interrupted"),
    }
}

impl Trial {
    /// A budget that is quickly spent. Of a limit of time only the length of
    /// games is wanted. A search that ends at a depth is tried as it is.
    fn budget(self, budget: Budget) -> Budget {
        let part = |count: u64, least| (count / FRACTION).max(least).min(count);
        let timed = budget.is_timed().then_some(TRIED_MS);
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

/// What a player takes for a game.
fn seconds(schedule: &Schedule, id: GameId, second: usize, tried: &PairingSummary, trial: Trial) -> f64 {
    let (budget, spent) = (schedule.budget(id, second), &tried.spent[second]);
    // Where all think in every step these are more than the moves.
    let searches = spent.moves as f64 / tried.games.max(1) as f64;
    let moves = searches.max(tried.mean_plies.unwrap_or_default() / 2.0);
    let known = [
        budget.movetime.map(|ms| moves * ms as f64 / 1e3),
        budget.time.map(|time| time.base.as_secs_f64() + moves * time.increment.as_secs_f64()),
        (budget.nodes.is_some() || budget.playouts.is_some() || budget.depth.is_some())
            .then(|| counted_seconds(budget, trial.budget(budget), spent, tried.games)),
    ];
    known.into_iter().flatten().reduce(f64::min).unwrap_or_default()
}

/// What counted limits take: in proportion to what was tried, if that ended
/// at the limit and not by itself.
fn counted_seconds(budget: Budget, sample: Budget, spent: &Totals, games: u64) -> f64 {
    let moves = spent.moves.max(1) as f64;
    let reached = |had: u64, spent: u64| spent as f64 >= 0.8 * had as f64 * moves;
    let ratios = [
        budget.nodes.zip(sample.nodes).map(|(wanted, had)| (wanted, had, spent.expansions.max(spent.playouts))),
        budget.playouts.zip(sample.playouts).map(|(wanted, had)| (wanted, had, spent.playouts)),
    ];
    let ratios = ratios.into_iter().flatten();
    let ratio =
        ratios.filter(|&(_, had, spent)| reached(had, spent)).map(|(wanted, had, _)| wanted as f64 / had as f64);
    ratio.reduce(f64::min).unwrap_or(1.0) * spent.seconds / games.max(1) as f64
}
