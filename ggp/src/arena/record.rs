//! How games went.

use serde::{Deserialize, Serialize};

use super::contestant::Fault;
use super::schedule::{GameId, Schedule};
use crate::limits::SearchStats;

/// How a game went.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Which game of the tournament it was.
    #[serde(flatten)]
    pub id: GameId,
    /// The names of the players, by role.
    pub players: Vec<String>,
    /// The opening, as the game reads it.
    pub opening: String,
    /// The moves after the opening, as the game writes them.
    pub moves: Vec<String>,
    /// The plies, those of the opening included.
    pub plies: u32,
    /// What ended the game.
    pub end: End,
    /// The goal of each role, 0 to 100.
    pub goals: Vec<u8>,
    /// What went wrong, if anything did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<RoleFault>,
    /// What each role spent.
    pub spent: Vec<Totals>,
}

/// What the players of a pairing have of a game of several roles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scoring {
    /// The player whose best role has the higher goal has the point; if both
    /// are alike, each has half of it.
    #[default]
    Players,
    /// The roles with the highest goal share the point, and a player has what
    /// its roles have.
    Seats,
}

/// What ended a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The rules.
    Rules,
    /// The ply limit.
    PlyLimit,
    /// The game's test of who will win.
    Adjudicated,
    /// A fault.
    Fault,
}

/// A fault and whose it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RoleFault {
    /// The role.
    pub role: usize,
    /// The fault.
    #[serde(flatten)]
    pub fault: Fault,
}

/// What a contestant spent on all its moves.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Searches: for moves, and in other steps if it thinks then.
    pub moves: u64,
    /// Node expansions.
    pub expansions: u64,
    /// Playouts.
    pub playouts: u64,
    /// Seconds.
    pub seconds: f64,
}

impl Totals {
    /// Adds what was spent on a search; one that cost nothing was none.
    pub fn add(&mut self, spent: SearchStats) {
        self.join(Totals {
            moves: u64::from(spent != SearchStats::default()),
            expansions: spent.expansions,
            playouts: spent.playouts,
            seconds: spent.time.as_secs_f64(),
        });
    }

    /// Adds what was spent elsewhere.
    pub fn join(&mut self, other: Totals) {
        self.moves += other.moves;
        self.expansions += other.expansions;
        self.playouts += other.playouts;
        self.seconds += other.seconds;
    }
}

impl Record {
    /// The score of the first player of the pairing: 1 if one of its roles
    /// alone has the highest goal, 0 if the other's has, else one half. Of a
    /// game for one role it is none.
    pub fn score(&self, schedule: &Schedule) -> Option<f64> {
        if self.goals.len() < 2 {
            return None;
        }
        let seats = schedule.seats(self.id);
        let best = |second: usize| {
            seats.iter().zip(&self.goals).filter(|&(&seat, _)| seat == second).map(|(_, goal)| goal).max()
        };
        Some(match best(0).cmp(&best(1)) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        })
    }

    /// The points of the first player of the pairing, 0 to 1; the second has
    /// the others. Of a game for one role there are none.
    pub fn points(&self, schedule: &Schedule, scoring: Scoring) -> Option<f64> {
        let top = self.goals.iter().max().filter(|_| self.goals.len() > 1)?;
        if scoring == Scoring::Players {
            return self.score(schedule);
        }
        let seats = schedule.seats(self.id);
        let best: Vec<usize> =
            seats.into_iter().zip(&self.goals).filter(|(_, goal)| *goal == top).map(|it| it.0).collect();
        Some(best.iter().filter(|&&seat| seat == 0).count() as f64 / best.len() as f64)
    }

    /// What each player of the pairing spent on its roles.
    pub fn spent_by(&self, schedule: &Schedule) -> [Totals; 2] {
        let mut spent = [Totals::default(); 2];
        schedule.seats(self.id).into_iter().zip(&self.spent).for_each(|(seat, &of)| spent[seat].join(of));
        spent
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::tests::schedule;
    use super::*;

    fn record(game: u64, goals: &[u8]) -> Record {
        Record {
            id: GameId { round: 0, pairing: 0, game },
            players: Vec::new(),
            opening: String::new(),
            moves: Vec::new(),
            plies: 0,
            end: End::Rules,
            goals: goals.to_vec(),
            fault: None,
            spent: vec![Totals { moves: 1, ..Totals::default() }; goals.len()],
        }
    }

    #[test]
    fn seats_share_the_point() {
        let three = schedule(3, &["a", "b"], &[6]);
        let seats = |game, goals: [u8; 3]| record(game, &goals).points(&three, Scoring::Seats).unwrap();
        let players = |game, goals: [u8; 3]| record(game, &goals).points(&three, Scoring::Players).unwrap();
        // Game 0 is a, b, a, and game 1 is b, a, b.
        assert_eq!((seats(0, [100, 0, 0]), players(0, [100, 0, 0])), (1.0, 1.0));
        assert_eq!((seats(0, [0, 100, 0]), players(0, [0, 100, 0])), (0.0, 0.0));
        assert_eq!((seats(0, [50, 50, 0]), players(0, [50, 50, 0])), (0.5, 0.5));
        assert_eq!((seats(0, [50, 0, 50]), players(0, [50, 0, 50])), (1.0, 1.0));
        assert_eq!((seats(0, [30, 30, 30]), players(0, [30, 30, 30])), (2.0 / 3.0, 0.5));
        assert_eq!((seats(1, [0, 0, 0]), players(1, [0, 0, 0])), (1.0 / 3.0, 0.5));
        // Of two roles both ways are the same.
        let two = schedule(2, &["a", "b"], &[2]);
        for goals in [[100, 0], [0, 100], [50, 50], [20, 10]] {
            let points = |scoring| record(1, &goals).points(&two, scoring);
            assert_eq!(points(Scoring::Seats), points(Scoring::Players));
        }
        let one = schedule(1, &["a", "b"], &[2]);
        assert_eq!(record(0, &[70]).points(&one, Scoring::Seats), None);
    }

    #[test]
    fn the_highest_goal_scores() {
        let schedule = schedule(3, &["a", "b"], &[6]);
        let record = |game, goals: [u8; 3]| record(game, &goals);
        assert_eq!(schedule.seats(record(0, [0; 3]).id), [0, 1, 0]);
        assert_eq!(record(0, [50, 100, 0]).score(&schedule), Some(0.0));
        assert_eq!(record(1, [50, 100, 0]).score(&schedule), Some(1.0));
        assert_eq!(record(0, [0, 50, 50]).score(&schedule), Some(0.5));
        assert_eq!(record(0, [0; 3]).spent_by(&schedule).map(|spent| spent.moves), [2, 1]);
    }
}
