//! What a tournament plays, and in which order.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::budget::Budget;
use super::derive_seed;
use crate::statistics::{Sprt, SprtError};

/// All that the games of a tournament depend on. It stands at the head of the
/// log, so that a run goes on with the log of the same tournament only.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The game, as its room describes it.
    pub game: Value,
    /// The number of its roles.
    pub roles: usize,
    /// Who takes part.
    pub entrants: Vec<Entrant>,
    /// Who plays whom, by their places among the entrants; an entrant may play itself.
    pub pairings: Vec<[usize; 2]>,
    /// All pairings are played once a round, by its budget.
    pub rounds: Vec<Round>,
    /// Random plies of an opening, if none are listed.
    pub opening_plies: u32,
    /// Openings, as the game reads them, taken in turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub openings: Vec<String>,
    /// The ply at which a game is a draw.
    pub ply_limit: u32,
    /// Whether games are adjudicated once the game's own test knows the end.
    #[serde(default)]
    pub adjudicate: bool,
    /// Whether contestants think in every step by the budget of a move, those
    /// that wait too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ponder: bool,
    /// The start clock, in which all think before the game: so many times the
    /// budget of a move.
    #[serde(default, skip_serializing_if = "is_none")]
    pub start: f64,
    /// Milliseconds that a move may come late.
    pub margin: u64,
    /// Milliseconds beyond its time after which a contestant hangs.
    pub patience: u64,
    /// Fixes openings and random numbers.
    pub seed: u64,
    /// The test that may end a pairing before all its games are played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Test>,
    /// The part of the pairs that is played, if not all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// Who takes part in a tournament.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entrant {
    /// The name in results.
    pub name: String,
    /// What plays, as its room describes it.
    pub player: Value,
    /// What it may spend, where that is not the round's.
    #[serde(default)]
    pub budget: Budget,
}

/// All pairings under one budget.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    /// The name in results; may be empty if there is one round.
    pub name: String,
    /// The budget of those who have none of their own.
    pub budget: Budget,
    /// The games of a pairing.
    pub games: u64,
}

/// A sequential test of two strengths, in normalised Elo.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Of H0 and of H1.
    pub nelo: [f64; 2],
    /// How often it may accept H1 where H0 is true.
    #[serde(default = "five_percent")]
    pub alpha: f64,
    /// How often it may accept H0 where H1 is true.
    #[serde(default = "five_percent")]
    pub beta: f64,
}

fn is_none(ratio: &f64) -> bool {
    *ratio == 0.0
}

fn five_percent() -> f64 {
    0.05
}

impl Test {
    /// The test.
    ///
    /// # Errors
    /// As [`Sprt::new`] says.
    pub fn sprt(&self) -> Result<Sprt, SprtError> {
        Sprt::new(self.nelo, self.alpha, self.beta)
    }
}

/// One of several parts of a tournament, numbered from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Shard {
    number: u64,
    of: u64,
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Shard, String> {
        text.parse()
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if 1 <= number && number <= of => Ok(Shard { number, of }),
            _ => Err(format!("`{text}` is no shard; the first of three is written `1/3`")),
        }
    }
}

/// The place of a game in a tournament, in the order of results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct GameId {
    /// The round, from 0.
    pub round: usize,
    /// The pairing, from 0.
    pub pairing: usize,
    /// The game of the pairing, from 0. Games 2k and 2k + 1 are a pair: the
    /// same opening, with the sides changed.
    pub game: u64,
}

impl GameId {
    /// The number of the pair.
    pub fn pair(self) -> u64 {
        self.game / 2
    }
}

/// The most games of a pairing, so that all seeds are different.
const MOST_GAMES: u64 = 1_000_000_000;

/// The most roles of a game.
const MOST_ROLES: usize = 32;

/// What is wrong with a schedule.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// Nobody plays, or somebody plays nobody.
    #[error("{0}")]
    Pairings(String),
    /// Two have the same name.
    #[error("there are two {0} named `{1}`")]
    SameName(&'static str, String),
    /// The test is none.
    #[error(transparent)]
    Test(#[from] SprtError),
    /// There is nobody to compare with.
    #[error("a sequential test compares two players of a game, and this one has one role")]
    TestOfOne,
    /// A shard cannot be tested while it is played.
    #[error("a sequential test ends a run by all of its pairs, and a shard has some: leave the test out")]
    TestOfShard,
}

impl Entrant {
    /// Who is known by name alone and plays by the round's budget.
    pub fn named(name: impl Into<String>) -> Entrant {
        Entrant { name: name.into(), player: Value::Null, budget: Budget::default() }
    }
}

impl Schedule {
    /// A round robin of one round, in a game of two roles, with two random
    /// plies and a draw at ply 1000, and players that may be 100 ms late and
    /// hang after a minute.
    pub fn new(entrants: Vec<Entrant>, budget: Budget, games: u64) -> Schedule {
        Schedule {
            game: Value::Null,
            roles: 2,
            pairings: Schedule::round_robin(entrants.len()),
            entrants,
            rounds: vec![Round { name: String::new(), budget, games }],
            opening_plies: 2,
            openings: Vec::new(),
            ply_limit: 1000,
            adjudicate: false,
            ponder: false,
            start: 0.0,
            margin: 100,
            patience: 60_000,
            seed: 1,
            test: None,
            shard: None,
        }
    }

    /// Everybody against everybody.
    pub fn round_robin(entrants: usize) -> Vec<[usize; 2]> {
        (0..entrants).flat_map(|a| (a + 1..entrants).map(move |b| [a, b])).collect()
    }

    /// The first against all others.
    pub fn gauntlet(entrants: usize) -> Vec<[usize; 2]> {
        (1..entrants).map(|b| [0, b]).collect()
    }

    /// Tests that the schedule makes sense.
    ///
    /// # Errors
    /// If names or pairings are told twice, a pairing names nobody, or the
    /// test cannot be held.
    pub fn check(&self) -> Result<(), ScheduleError> {
        let twice = |names: Vec<&String>| {
            let mut seen = BTreeSet::new();
            names.into_iter().find(|&name| !seen.insert(name)).cloned()
        };
        if let Some(name) = twice(self.entrants.iter().map(|entrant| &entrant.name).collect()) {
            return Err(ScheduleError::SameName("players", name));
        }
        if let Some(name) = twice(self.rounds.iter().map(|round| &round.name).collect()) {
            return Err(ScheduleError::SameName("rounds", name));
        }
        let wrong = |why: &str| Err(ScheduleError::Pairings(why.to_owned()));
        if self.pairings.is_empty() || self.rounds.is_empty() {
            return wrong("a tournament needs two players at least");
        }
        if self.pairings.iter().flatten().any(|&place| place >= self.entrants.len()) {
            return wrong("a pairing names a player that does not take part");
        }
        let same: BTreeSet<[usize; 2]> = self.pairings.iter().map(|&[a, b]| [a.min(b), a.max(b)]).collect();
        if same.len() < self.pairings.len() {
            return wrong("a pairing is told twice");
        }
        if !(1..=MOST_ROLES).contains(&self.roles) {
            return wrong("a tournament is of a game of 1 to 32 roles");
        }
        if self.rounds.iter().any(|round| round.games > MOST_GAMES) {
            return wrong("a pairing plays a thousand million games at most");
        }
        if let Some(test) = &self.test {
            test.sprt()?;
            if self.roles == 1 {
                return Err(ScheduleError::TestOfOne);
            }
            if self.shard.is_some() {
                return Err(ScheduleError::TestOfShard);
            }
        }
        Ok(())
    }

    /// All games, in the order in which they begin: pair by pair, each in all
    /// rounds and pairings.
    pub fn games(&self) -> impl Iterator<Item = GameId> + '_ {
        let most = self.rounds.iter().map(|round| round.games).max().unwrap_or(0);
        let mine = |pair: &u64| self.shard.is_none_or(|shard| pair % shard.of == shard.number - 1);
        (0..most.div_ceil(2)).filter(mine).flat_map(move |pair| {
            (0..self.rounds.len()).flat_map(move |round| {
                let games = 2 * pair..self.rounds[round].games.min(2 * pair + 2);
                let of = move |pairing| games.clone().map(move |game| GameId { round, pairing, game });
                (0..self.pairings.len()).flat_map(of)
            })
        })
    }

    /// How many games a pairing has in a round, in this shard.
    pub fn games_of(&self, round: usize) -> u64 {
        let games = self.rounds[round].games;
        let Some(Shard { number, of }) = self.shard else { return games };
        let pairs = games.div_ceil(2);
        let mine = (pairs + of - number) / of;
        // The last pair of an odd number of games is one game.
        let has_last = pairs > 0 && (pairs - 1) % of == number - 1;
        2 * mine - u64::from(has_last && games % 2 == 1)
    }

    /// How many games there are in all.
    pub fn total(&self) -> u64 {
        (0..self.rounds.len()).map(|round| self.games_of(round) * self.pairings.len() as u64).sum()
    }

    /// Which of the pairing plays each role, 0 or 1. In two games of a pair
    /// all roles change; over the pairs of a game of more than two roles every
    /// way to divide the roles comes in turn. A role alone is played by either.
    pub fn seats(&self, id: GameId) -> Vec<usize> {
        // Role 0 is the first player's; bit k of a way says whether role k is the second's.
        let ways = (1u64 << (self.roles - 1)) - 1;
        let way = if ways == 0 { 0 } else { (1 + id.pair() % ways) << 1 };
        (0..self.roles).map(|role| (((way >> role) ^ id.game) & 1) as usize).collect()
    }

    /// What a seat of a game may spend: `second` is its place in the pairing.
    pub fn budget(&self, id: GameId, second: usize) -> Budget {
        let entrant = self.pairings[id.pairing][second];
        self.entrants[entrant].budget.or(self.rounds[id.round].budget)
    }

    /// The seed of the opening of a pair, the same in all pairings.
    pub fn opening_seed(&self, pair: u64) -> u64 {
        derive_seed(self.seed, pair)
    }

    /// The seed of the `number`-th contestant of a game.
    pub fn contestant_seed(&self, id: GameId, number: usize) -> u64 {
        let slot = (id.round * self.pairings.len() + id.pairing) as u64;
        let game = id.game * self.roles.max(2) as u64 + number as u64;
        derive_seed(self.seed, game + (1 << 40) + (slot << 41))
    }

    /// The name of an entrant of a pairing.
    pub fn name(&self, pairing: usize, second: usize) -> &str {
        &self.entrants[self.pairings[pairing][second]].name
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn schedule(roles: usize, entrants: &[&str], rounds: &[u64]) -> Schedule {
        let budget = Budget { nodes: Some(100), ..Budget::default() };
        let round = |(number, &games): (usize, &u64)| Round { name: format!("round {number}"), budget, games };
        let entrants = entrants.iter().map(|&name| Entrant::named(name)).collect();
        let rounds = rounds.iter().enumerate().map(round).collect();
        Schedule { roles, rounds, ..Schedule::new(entrants, budget, 0) }
    }

    #[test]
    fn every_game_is_played_once_pair_by_pair() {
        let schedule = schedule(2, &["a", "b", "c"], &[4, 3]);
        let games: Vec<GameId> = schedule.games().collect();
        assert_eq!(games.len(), 3 * (4 + 3));
        assert_eq!(games.iter().collect::<BTreeSet<_>>().len(), games.len());
        assert!(games.is_sorted_by_key(|id| id.pair()));
        assert_eq!(schedule.pairings, [[0, 1], [0, 2], [1, 2]]);
        assert_eq!(Schedule::gauntlet(3), [[0, 1], [0, 2]]);
    }

    #[test]
    fn shards_are_a_partition_of_pairs() {
        let mut schedule = schedule(2, &["a", "b", "c"], &[11, 1, 0, 4]);
        let all: BTreeSet<GameId> = schedule.games().collect();
        let mut found = Vec::new();
        for text in ["1/3", "2/3", "3/3"] {
            schedule.shard = Some(text.parse().unwrap());
            assert_eq!(schedule.games().count() as u64, schedule.total());
            found.extend(schedule.games());
        }
        assert_eq!((found.len(), found.into_iter().collect::<BTreeSet<_>>()), (all.len(), all));
        for text in ["0/3", "4/3", "1", "a/b", "1/0", ""] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn seats_change_within_a_pair_and_every_division_comes() {
        let id = |game| GameId { round: 0, pairing: 0, game };
        for (roles, ways) in [(1, 1), (2, 1), (3, 3), (4, 7)] {
            let schedule = schedule(roles, &["a", "b"], &[100]);
            let seats: Vec<Vec<usize>> = (0..2 * ways).map(|game| schedule.seats(id(game))).collect();
            for pair in seats.chunks(2) {
                assert!(pair[0].iter().zip(&pair[1]).all(|(a, b)| a + b == 1), "{pair:?}");
                assert_eq!(pair[0][0], 0);
            }
            assert_eq!(seats.iter().collect::<BTreeSet<_>>().len() as u64, 2 * ways);
            let both_play = |seats: &Vec<usize>| roles == 1 || (seats.contains(&0) && seats.contains(&1));
            assert!(seats.iter().all(both_play), "{seats:?}");
            assert_eq!(schedule.seats(id(0)), schedule.seats(id(2 * ways)));
        }
    }

    #[test]
    fn seeds_are_all_different_but_for_openings_of_a_pair() {
        let schedule = schedule(2, &["a", "b", "c"], &[10, 10]);
        let seeds: BTreeSet<u64> =
            schedule.games().flat_map(|id| [0, 1].map(|number| schedule.contestant_seed(id, number))).collect();
        assert_eq!(seeds.len(), 3 * 20 * 2);
        let openings: BTreeSet<u64> = schedule.games().map(|id| schedule.opening_seed(id.pair())).collect();
        assert_eq!(openings.len(), 5);
        assert!(openings.is_disjoint(&seeds));
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let good = schedule(2, &["a", "b"], &[2]);
        assert_eq!(good.check(), Ok(()));
        let told = |change: &dyn Fn(&mut Schedule)| {
            let mut schedule = good.clone();
            change(&mut schedule);
            schedule.check().unwrap_err().to_string()
        };
        assert!(told(&|it| it.entrants[1].name = "a".to_owned()).contains("two players named `a`"));
        assert!(told(&|it| it.pairings.clear()).contains("needs two players"));
        assert!(told(&|it| it.pairings.push([0, 2])).contains("does not take part"));
        assert!(told(&|it| it.pairings.push([1, 0])).contains("told twice"));
        let test = Test { nelo: [0.0, 5.0], alpha: 0.05, beta: 0.05 };
        assert!(told(&|it| it.test = Some(Test { nelo: [5.0, 0.0], ..test })).contains("lower to a higher"));
        assert!(
            told(&|it| (it.test, it.shard) = (Some(test), Some("1/2".parse().unwrap()))).contains("a shard has some")
        );
    }
}
