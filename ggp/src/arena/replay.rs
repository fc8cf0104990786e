//! Games of a log that are played again.

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use serde::Serialize;
use sternhalma_game::Rng;

use super::{ArenaError, GameId, GameLog, GameRecord, Standings, Tournament};

/// A sample of each pairing has a game with more plies than this, if there is one: short games may end before players
/// that differ play different moves.
const LONG: u32 = 30;

/// The comparison of the games of a log with the same games of this program.
#[derive(Serialize, Debug)]
pub struct Replay {
    /// The number of games that were played again.
    pub games: usize,
    /// The games that differ.
    pub differences: Vec<ReplayDifference>,
    /// By pairing of the log: the names of the players, the games that were played again, and those that are the same.
    pub pairings: Vec<ReplayedPairing>,
}

/// The games of a pairing.
#[derive(Serialize, Debug)]
pub struct ReplayedPairing {
    /// The names of the players.
    pub players: [String; 2],
    /// The games that were played again.
    pub games: usize,
    /// Those that are the same.
    pub same: usize,
}

/// A game that differs from that of the log.
#[derive(Serialize, Debug)]
pub struct ReplayDifference {
    /// The number of the game, in the order in which games start.
    pub number: u64,
    /// The names of the players.
    pub players: [String; 2],
    /// The number of moves before the first one that differs.
    pub moves: usize,
}

impl Tournament {
    /// Plays up to `games` random games of each round and pairing of a log again, and compares openings, moves and results.
    /// The log is not changed. `seed` selects the games. If a pairing has a game with more than 30 plies, one of its games
    /// has. A game that `stop` interrupts is not compared.
    ///
    /// # Errors
    /// Returns an error if the log is of another tournament, if a player has a limit of time, so that its games cannot
    /// be repeated, or if the games cannot be played.
    pub fn replay(
        &self,
        log: &Path,
        games: usize,
        seed: u64,
        threads: NonZeroUsize,
        stop: &AtomicBool,
    ) -> Result<Replay, ArenaError> {
        let renew = |logged| self.backend.renewed(&self.schedule, logged);
        let (schedule, records) = GameLog::entries(log, &self.schedule, &renew)?;
        for (round, pairing) in schedule.slots() {
            for player in [0, 1] {
                let budget = schedule.budget(GameId { round, pairing, game: 0 }, player);
                if budget.is_timed() {
                    return Err(ArenaError::TimedReplay { player: schedule.name(pairing, player).to_owned(), budget });
                }
            }
        }
        let sample = sample(&records, games, seed);
        let mut standings = Standings::new(schedule.clone());
        standings.restrict(sample.keys().copied().collect());
        let mut replay = Replay { games: 0, differences: Vec::new(), pairings: Vec::new() };
        let mut counts: BTreeMap<usize, [usize; 2]> = BTreeMap::new();
        self.backend.play(&mut standings, threads, stop, &mut |again, _| {
            let Some(record) = sample.get(&again.id) else { return Ok(()) };
            let is_same = is_same(record, again);
            let [played, same] = counts.entry(again.id.pairing).or_default();
            *played += 1;
            *same += usize::from(is_same);
            if !is_same {
                replay.differences.push(ReplayDifference {
                    number: schedule.number(again.id),
                    players: names(&schedule, again.id.pairing),
                    moves: record.moves.iter().zip(&again.moves).take_while(|(old, new)| old == new).count(),
                });
            }
            Ok(())
        })?;
        replay.games = counts.values().map(|[games, _]| games).sum();
        for (pairing, [games, same]) in counts {
            replay.pairings.push(ReplayedPairing { players: names(&schedule, pairing), games, same });
        }
        replay.differences.sort_by_key(|difference| difference.number);
        Ok(replay)
    }
}

fn names(schedule: &super::Schedule, pairing: usize) -> [String; 2] {
    [0, 1].map(|player| schedule.name(pairing, player).to_owned())
}

/// Returns whether two games have the same opening, moves and result. Times and the cost of searches may differ.
fn is_same(a: &GameRecord, b: &GameRecord) -> bool {
    (&a.opening, &a.moves, a.end, &a.goals, &a.players) == (&b.opening, &b.moves, b.end, &b.goals, &b.players)
}

/// Returns random games of each round and pairing, by their places.
fn sample(records: &[GameRecord], games: usize, seed: u64) -> BTreeMap<GameId, &GameRecord> {
    let mut slots: BTreeMap<(usize, usize), Vec<&GameRecord>> = BTreeMap::new();
    for record in records {
        slots.entry((record.id.round, record.id.pairing)).or_default().push(record);
    }
    let mut rng = Rng::seed_from_u64(seed);
    let mut chosen = HashSet::new();
    for games_of_slot in slots.values_mut() {
        games_of_slot.sort_by_key(|record| record.id);
        games_of_slot.shuffle(&mut rng);
        if let Some(long) = games_of_slot.iter().position(|record| record.plies > LONG) {
            games_of_slot.swap(0, long);
        }
        chosen.extend(games_of_slot.iter().take(games).map(|record| record.id));
    }
    records.iter().filter(|record| chosen.contains(&record.id)).map(|record| (record.id, record)).collect()
}
