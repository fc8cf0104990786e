//! What a tournament will take.

use std::collections::HashSet;
use std::num::NonZeroUsize;

use anyhow::{Result, anyhow, bail};
use serde::Serialize;
use sternhalma_ggp::arena::{Budget, GameId, Log, PairingSummary, RoundSummary, Schedule, Standings, Totals};

use super::RunArgs;
use super::room::{Failure, Room};
use crate::progress::stop_on_ctrl_c;

/// Counts are tried at this fraction, and their time taken in proportion.
const FRACTION: u64 = 20;

/// Games of each pairing that are tried in each round,
const TRIED: u64 = 2;

/// by so many milliseconds a move where time is limited.
const TRIED_MS: u64 = 10;

/// A tournament before it is played.
#[derive(Serialize)]
pub struct Plan {
    rounds: Vec<RoundPlan>,
    /// Games in all; those that a test may save are counted.
    games: u64,
    /// Those that the log has.
    played: u64,
    /// Games at a time.
    threads: NonZeroUsize,
    /// Hours for those that are left.
    hours: f64,
}

#[derive(Serialize)]
struct RoundPlan {
    name: String,
    games: u64,
    hours: f64,
}

impl Plan {
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

/// Counts the games, and tells from a few how long they take.
pub fn plan(room: &dyn Room, schedule: &Schedule, args: &RunArgs) -> Result<Plan> {
    let known = match &args.log {
        Some(path) if path.exists() => Log::games(path, schedule)?,
        _ => Vec::new(),
    };
    let played: HashSet<GameId> = known.iter().map(|record| record.id).collect();
    let threads = args.threads();
    let tried = try_out(room, schedule, threads)?;
    let mut rounds = Vec::new();
    for (round, tried) in tried.iter().enumerate() {
        let games = schedule.games_of(round);
        let mut hours = 0.0;
        for (pairing, tried) in tried.pairings.iter().enumerate() {
            let id = GameId { round, pairing, game: 0 };
            let left =
                games - played.iter().filter(|game| (game.round, game.pairing) == (round, pairing)).count() as u64;
            let seconds: f64 = (0..2).map(|second| seconds(schedule.budget(id, second), second, tried)).sum();
            hours += left as f64 * seconds / 3600.0 / threads.get() as f64;
        }
        let games = games * schedule.pairings.len() as u64;
        rounds.push(RoundPlan { name: schedule.rounds[round].name.clone(), games, hours });
    }
    let hours = rounds.iter().map(|round| round.hours).sum();
    Ok(Plan { rounds, games: schedule.total(), played: played.len() as u64, threads, hours })
}

/// A few games of each pairing in each round, by a fraction of the budget.
fn try_out(room: &dyn Room, schedule: &Schedule, threads: NonZeroUsize) -> Result<Vec<RoundSummary>> {
    let mut sample = Schedule { test: None, shard: None, ..schedule.clone() };
    for round in &mut sample.rounds {
        (round.games, round.budget) = (TRIED, fraction(round.budget));
    }
    sample.entrants.iter_mut().for_each(|entrant| entrant.budget = fraction(entrant.budget));
    let mut standings = Standings::new(sample);
    room.play(&mut standings, threads, &*stop_on_ctrl_c()?, &mut |record, _| match &record.fault {
        Some(fault) => Err(Failure(anyhow!("{} cannot be tried: {}", record.players[fault.role], fault.fault))),
        None => Ok(()),
    })?;
    match standings.played() == standings.wanted() {
        true => Ok(standings.summary()),
        false => bail!("interrupted"),
    }
}

/// A budget that is quickly spent. Of a limit of time only the length of
/// games is wanted. A search that ends at a depth is tried as it is.
fn fraction(budget: Budget) -> Budget {
    let part = |count: Option<u64>, least| count.map(|count| (count / FRACTION).max(least).min(count));
    let timed = budget.is_timed().then_some(TRIED_MS);
    match budget.depth {
        Some(_) => Budget { movetime: budget.movetime.or(timed), ..budget },
        None => Budget {
            nodes: part(budget.nodes, 1000),
            playouts: part(budget.playouts, 100),
            movetime: timed.min(budget.movetime.or(timed)),
            ..Budget::default()
        },
    }
}

/// What a player takes for a game.
fn seconds(budget: Budget, second: usize, tried: &PairingSummary) -> f64 {
    let moves = tried.mean_plies.unwrap_or_default() / 2.0;
    let known = [
        budget.movetime.map(|ms| moves * ms as f64 / 1e3),
        budget.time.map(|time| time.base.as_secs_f64() + moves * time.increment.as_secs_f64()),
        (budget.nodes.is_some() || budget.playouts.is_some() || budget.depth.is_some())
            .then(|| counted_seconds(budget, &tried.spent[second], tried.games)),
    ];
    known.into_iter().flatten().reduce(f64::min).unwrap_or_default()
}

/// What counted limits take: in proportion to what was tried, if that ended
/// at the limit and not by itself.
fn counted_seconds(budget: Budget, spent: &Totals, games: u64) -> f64 {
    let sample = fraction(budget);
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
