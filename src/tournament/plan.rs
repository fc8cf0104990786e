//! What a tournament will take.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use serde::Serialize;
use sternhalma_ggp::arena::{Budget, GameId, PairingSummary, Schedule, Standings};

use super::room::Room;
use super::{RunArgs, taken_up};

/// Counts are tried at this fraction, and their time taken in proportion.
const FRACTION: u64 = 20;

/// Games of each pairing that are tried.
const TRIED: u64 = 2;

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
        Some(path) if path.exists() => taken_up(schedule.clone(), Some(path))?.0,
        _ => Standings::new(schedule.clone()),
    };
    let threads = args.threads();
    let tried = try_out(room, schedule, threads)?;
    let mut rounds: Vec<RoundPlan> =
        (schedule.rounds.iter()).map(|round| RoundPlan { name: round.name.clone(), games: 0, hours: 0.0 }).collect();
    let played: std::collections::HashSet<GameId> = known.games().collect();
    for id in schedule.games() {
        let round = &mut rounds[id.round];
        round.games += 1;
        if !played.contains(&id) {
            let seconds: f64 = (0..2).map(|second| seconds(schedule, id, second, &tried[id.pairing])).sum();
            round.hours += seconds / 3600.0 / threads.get() as f64;
        }
    }
    let (games, hours) = rounds.iter().fold((0, 0.0), |(games, hours), it| (games + it.games, hours + it.hours));
    Ok(Plan { rounds, games, played: played.len() as u64, threads, hours })
}

/// A few games of each pairing, by a fraction of the first round's budget.
fn try_out(room: &dyn Room, schedule: &Schedule, threads: NonZeroUsize) -> Result<Vec<PairingSummary>> {
    let mut sample = Schedule { test: None, shard: None, ..schedule.clone() };
    sample.rounds.truncate(1);
    sample.rounds[0].games = TRIED;
    sample.rounds[0].budget = fraction(sample.rounds[0].budget);
    for entrant in sample.entrants.iter_mut().filter(|entrant| entrant.budget != Budget::default()) {
        entrant.budget = fraction(entrant.budget);
    }
    let mut standings = Standings::new(sample);
    room.play(&mut standings, threads, &AtomicBool::new(false), &mut |_, _| Ok(()))?;
    let round = standings.summary().remove(0);
    Ok(round.pairings)
}

/// A budget that is quickly spent. Of a limit of time only the length of
/// games is wanted.
fn fraction(budget: Budget) -> Budget {
    let part = |count: Option<u64>, least| count.map(|count| (count / FRACTION).max(least).min(count));
    let counts = Budget { nodes: part(budget.nodes, 1000), playouts: part(budget.playouts, 100), ..budget };
    let counted = Budget { movetime: None, time: None, ..counts };
    counted.or(Budget { nodes: Some(2000), ..Budget::default() })
}

/// What a player takes for a game.
fn seconds(schedule: &Schedule, id: GameId, second: usize, tried: &PairingSummary) -> f64 {
    let budget = schedule.budget(id, second);
    let moves = tried.mean_plies.unwrap_or_default() / 2.0;
    let known = [
        budget.movetime.map(|ms| moves * ms as f64 / 1e3),
        budget.time.map(|time| time.base.as_secs_f64() + moves * time.increment.as_secs_f64()),
        counted_seconds(schedule, budget, second, tried, id.pairing),
    ];
    known.into_iter().flatten().fold(f64::INFINITY, f64::min)
}

/// What counted limits take, in proportion to what was tried.
fn counted_seconds(
    schedule: &Schedule,
    budget: Budget,
    second: usize,
    tried: &PairingSummary,
    pairing: usize,
) -> Option<f64> {
    let first = GameId { round: 0, pairing, game: 0 };
    let sample = fraction(schedule.budget(first, second));
    let spent = tried.spent[second].seconds / tried.games.max(1) as f64;
    let ratio = |wanted: Option<u64>, had: Option<u64>| Some(wanted? as f64 / had? as f64);
    let counted = [ratio(budget.nodes, sample.nodes), ratio(budget.playouts, sample.playouts)];
    let least = counted.into_iter().flatten().reduce(f64::min);
    least.or(budget.depth.map(|_| 1.0)).map(|ratio| ratio * spent)
}
