//! Schedules: the games of a tournament and their order.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::{Budget, derive_seed};
use crate::Policy;
use crate::statistics::{Sprt, SprtError};

/// The default number of random plies before the players take over.
pub const OPENING_PLIES: u32 = 2;

/// The default number of games per pairing.
pub const PAIRING_GAMES: u64 = 20;

/// The default number of games per pairing with a sequential test.
pub const TEST_GAMES: u64 = 100_000;

/// The default probability of each error of a sequential test.
pub(super) const TEST_ERROR: f64 = 0.05;

/// Everything that determines the games of a tournament. A log starts with the schedule, so
/// that a run resumes only the log of the same tournament.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The description of the game, for logs.
    pub game: Value,
    /// The number of roles of the game.
    pub roles: usize,
    /// The entrants.
    pub entrants: Vec<Entrant>,
    /// The pairings, as indices of entrants. An entrant may play itself.
    pub pairings: Vec<[usize; 2]>,
    /// The rounds. All pairings play in each round.
    pub rounds: Vec<RoundSpec>,
    /// The number of random plies of an opening, if `openings` is empty.
    pub opening_plies: u32,
    /// Openings in text form, used in turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub openings: Vec<String>,
    /// The ply at which a game is drawn.
    pub ply_limit: u32,
    /// Whether a game ends as soon as its result is certain.
    #[serde(default)]
    pub adjudicate: bool,
    /// Whether all contestants think in every step, by the budget of a move, and not only those
    /// that act.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ponder: bool,
    /// The start clock, in which all contestants think before the first move, as a multiple of
    /// the budget of a move.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start: f64,
    /// The tolerance for late moves, in milliseconds.
    pub margin: u64,
    /// The grace period before a contestant is declared hung, in milliseconds.
    pub patience: u64,
    /// The seed of openings and of contestants.
    pub seed: u64,
    /// A sequential test, which may end a pairing before all its games are played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<SprtSpec>,
    /// The part of the pairs to play; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The number of pairings with which a tournament of several rounds began, if pairings were
    /// added later. The seeds of added games depend on this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_pairings: Option<usize>,
}

/// A participant of a tournament.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entrant {
    /// The name, which identifies the entrant in a log.
    pub name: String,
    /// The name in results, if it differs from `name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description of the player, for logs.
    pub player: Value,
    /// Its own budget. The default stands for that of the round.
    #[serde(default)]
    pub budget: Budget,
}

impl Entrant {
    /// Returns whether the entrant is a policy of another revision than in this program, so that the
    /// program does not play its games again.
    pub fn is_of_another_revision(&self) -> bool {
        let Some(policy) = self.player["policy"].as_str() else { return false };
        let revision = self.player["revision"].as_u64();
        // A policy that this program does not have has no games to compare.
        policy.parse::<Policy>().is_ok_and(|policy| policy.revision().map(u64::from) != revision)
    }
}

/// A round: all pairings under one budget.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundSpec {
    /// The name in results, which may be empty if there is only one round.
    pub name: String,
    /// The budget of entrants without their own budget.
    pub budget: Budget,
    /// The number of games per pairing.
    pub games: u64,
}

/// A sequential test of two hypotheses about strength, in normalised Elo.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SprtSpec {
    /// The strengths under H0 and H1.
    pub nelo: [f64; 2],
    /// The probability of accepting H1 if H0 is true.
    #[serde(default = "test_error")]
    pub alpha: f64,
    /// The probability of accepting H0 if H1 is true.
    #[serde(default = "test_error")]
    pub beta: f64,
}

fn is_zero(ratio: &f64) -> bool {
    *ratio == 0.0
}

fn test_error() -> f64 {
    TEST_ERROR
}

impl SprtSpec {
    /// Creates the test.
    ///
    /// # Errors
    /// Returns the errors of [`Sprt::new`].
    pub fn sprt(&self) -> Result<Sprt, SprtError> {
        Sprt::new(self.nelo, self.alpha, self.beta)
    }
}

/// One of several parts of a tournament. The text form `1/3` is the first part of three.
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

/// A text that is not a part of a tournament.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("invalid shard `{0}`: expected INDEX/COUNT, e.g. `1/3`")]
pub struct ShardError(String);

impl TryFrom<String> for Shard {
    type Error = ShardError;

    fn try_from(text: String) -> Result<Shard, ShardError> {
        text.parse()
    }
}

impl std::str::FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if 1 <= number && number <= of => Ok(Shard { number, of }),
            _ => Err(ShardError(text.to_owned())),
        }
    }
}

/// The place of a game in a tournament. The order is that of results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct GameId {
    /// The round, from 0.
    pub round: usize,
    /// The pairing, from 0.
    pub pairing: usize,
    /// The game of the pairing, from 0. Games 2k and 2k + 1 are a pair: they have the same
    /// opening and exchanged roles.
    pub game: u64,
}

impl GameId {
    /// Returns the number of the pair, from 0.
    pub fn pair(self) -> u64 {
        self.game / 2
    }
}

/// Maximum number of games per pairing. Up to this maximum, all seeds differ.
const MAX_GAMES: u64 = 1_000_000_000;

/// Maximum number of roles of a game.
const MAX_ROLES: usize = 32;

/// An invalid schedule.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The pairings, the rounds or the number of roles are invalid.
    #[error("{0}")]
    Pairings(String),
    /// Two entrants or rounds have the same name.
    #[error("there are two {0} named `{1}`")]
    SameName(&'static str, String),
    /// The parameters of the sequential test are invalid.
    #[error(transparent)]
    SprtSpec(#[from] SprtError),
    /// A sequential test needs a game with several roles.
    #[error("a sequential test needs a game with at least two roles, and this one has one")]
    TestOfOne,
    /// A sequential test cannot be combined with a shard.
    #[error("a sequential test needs all pairs of games, and a shard has only some of them")]
    TestOfShard,
}

impl Entrant {
    /// Creates an entrant without a description, which plays by the budget of the round.
    pub fn named(name: impl Into<String>) -> Entrant {
        Entrant { name: name.into(), title: None, player: Value::Null, budget: Budget::default() }
    }

    /// Returns the name in results.
    pub fn title(&self) -> &str {
        self.title.as_ref().unwrap_or(&self.name)
    }
}

impl Schedule {
    /// Creates a round robin of one round, for a game with two roles.
    ///
    /// Openings have two random plies, and games are drawn at ply 1000. Moves may be 100 ms
    /// late, and a player is declared hung after a minute.
    pub fn new(entrants: Vec<Entrant>, budget: Budget, games: u64) -> Schedule {
        Schedule {
            game: Value::Null,
            roles: 2,
            pairings: Schedule::round_robin(entrants.len()),
            entrants,
            rounds: vec![RoundSpec { name: String::new(), budget, games }],
            opening_plies: OPENING_PLIES,
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
            first_pairings: None,
        }
    }

    /// Returns the pairings of all entrants with each other.
    pub fn round_robin(entrants: usize) -> Vec<[usize; 2]> {
        (0..entrants).flat_map(|a| (a + 1..entrants).map(move |b| [a, b])).collect()
    }

    /// Returns the pairings of the first entrant with all others.
    pub fn gauntlet(entrants: usize) -> Vec<[usize; 2]> {
        (1..entrants).map(|b| [0, b]).collect()
    }

    /// Checks the schedule.
    ///
    /// # Errors
    /// Returns an error for duplicate names or pairings, for a pairing with an unknown entrant,
    /// and for an invalid test or number of roles or games.
    pub fn check(&self) -> Result<(), ScheduleError> {
        let duplicate = |names: Vec<&String>| {
            let mut seen = BTreeSet::new();
            names.into_iter().find(|&name| !seen.insert(name)).cloned()
        };
        if let Some(name) = duplicate(self.entrants.iter().map(|entrant| &entrant.name).collect()) {
            return Err(ScheduleError::SameName("players", name));
        }
        if let Some(name) = duplicate(self.rounds.iter().map(|round| &round.name).collect()) {
            return Err(ScheduleError::SameName("rounds", name));
        }
        let wrong = |why: &str| Err(ScheduleError::Pairings(why.to_owned()));
        if self.pairings.is_empty() || self.rounds.is_empty() {
            return wrong("a tournament needs at least two players");
        }
        if self.pairings.iter().flatten().any(|&place| place >= self.entrants.len()) {
            return wrong("a pairing contains an unknown player");
        }
        let same: BTreeSet<[usize; 2]> = self.pairings.iter().map(|&[a, b]| [a.min(b), a.max(b)]).collect();
        if same.len() < self.pairings.len() {
            return wrong("duplicate pairing");
        }
        if !(1..=MAX_ROLES).contains(&self.roles) {
            return wrong("the game must have 1 to 32 roles");
        }
        if self.rounds.iter().any(|round| round.games > MAX_GAMES) {
            return wrong("a pairing can play at most 1000000000 games");
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

    /// Returns all games in the order in which they start: pair by pair, each in all rounds and
    /// pairings.
    pub fn games(&self) -> impl Iterator<Item = GameId> + '_ {
        let most = self.rounds.iter().map(|round| round.games).max().unwrap_or(0);
        let in_shard = |pair: &u64| self.shard.is_none_or(|shard| pair % shard.of == shard.number - 1);
        (0..most.div_ceil(2)).filter(in_shard).flat_map(move |pair| {
            (0..self.rounds.len()).flat_map(move |round| {
                let games = 2 * pair..self.rounds[round].games.min(2 * pair + 2);
                let ids = move |pairing| games.clone().map(move |game| GameId { round, pairing, game });
                (0..self.pairings.len()).flat_map(ids)
            })
        })
    }

    /// Returns all combinations of a round and a pairing.
    pub fn slots(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (rounds, pairings) = (self.rounds.len(), self.pairings.len());
        (0..rounds).flat_map(move |round| (0..pairings).map(move |pairing| (round, pairing)))
    }

    /// Returns the number of games per pairing in a round, within the shard.
    pub fn games_of(&self, round: usize) -> u64 {
        let games = self.rounds[round].games;
        let Some(Shard { number, of }) = self.shard else { return games };
        // The games are dealt to the shards in pairs, in turn: shard `number`, counted from 1, has
        // the pairs `number - 1`, `number - 1 + of`, and so on.
        let pairs = games.div_ceil(2);
        let in_shard = (pairs + of - number) / of;
        // If the number of games is odd, the last pair has one game.
        let has_last = pairs > 0 && (pairs - 1) % of == number - 1;
        2 * in_shard - u64::from(has_last && games % 2 == 1)
    }

    /// Returns the number of all games.
    pub fn total(&self) -> u64 {
        (0..self.rounds.len()).map(|round| self.games_of(round) * self.pairings.len() as u64).sum()
    }

    /// Returns the number of a game, from 1, in the order in which the games of all shards start.
    pub fn number(&self, id: GameId) -> u64 {
        let before = 2 * id.pair();
        let in_pair = |round: &RoundSpec| round.games.saturating_sub(before).min(2);
        let earlier_pairs: u64 = self.rounds.iter().map(|round| round.games.min(before)).sum();
        let earlier_rounds: u64 = self.rounds[..id.round].iter().map(in_pair).sum();
        let pairings = self.pairings.len() as u64;
        (earlier_pairs + earlier_rounds) * pairings
            + id.pairing as u64 * in_pair(&self.rounds[id.round])
            + (id.game - before)
            + 1
    }

    /// Returns the game with a number, or `None` if there are fewer games.
    pub fn numbered(&self, number: u64) -> Option<GameId> {
        let whole = Schedule { shard: None, ..self.clone() };
        let place = usize::try_from(number.checked_sub(1)?).ok()?;
        whole.games().nth(place)
    }

    /// Returns the player of the pairing, 0 or 1, of each role.
    ///
    /// The two games of a pair exchange all roles. In games with more than two roles, the
    /// pairs go through all ways to divide the roles. A single role is played by each player
    /// in turn.
    pub fn seats(&self, id: GameId) -> Vec<usize> {
        // The first player has role 0. Bit k of `way` is set if the second player has role k.
        let ways = (1u64 << (self.roles - 1)) - 1;
        let way = if ways == 0 { 0 } else { (1 + id.pair() % ways) << 1 };
        (0..self.roles).map(|role| (((way >> role) ^ id.game) & 1) as usize).collect()
    }

    /// Returns the budget of player 0 or 1 of a game.
    pub fn budget(&self, id: GameId, player: usize) -> Budget {
        let entrant = self.pairings[id.pairing][player];
        self.entrants[entrant].budget.or(self.rounds[id.round].budget)
    }

    /// Returns the seed of the opening of a pair, which is the same in all pairings.
    pub fn opening_seed(&self, pair: u64) -> u64 {
        derive_seed(self.seed, pair)
    }

    /// Returns the seed of a contestant of a game.
    pub fn contestant_seed(&self, id: GameId, number: usize) -> u64 {
        let first = self.first_pairings.unwrap_or(self.pairings.len());
        // Pairings that were added later follow with all their rounds.
        let slot =
            if id.pairing < first { id.round * first + id.pairing } else { id.pairing * self.rounds.len() + id.round }
                as u64;
        let game = id.game * self.roles.max(2) as u64 + number as u64;
        derive_seed(self.seed, game + (1 << 40) + (slot << 41))
    }

    /// Sets the names in results of the entrants that have one here. A number distinguishes entrants
    /// that would have the name of an earlier one.
    pub fn set_titles(&mut self, titles: Vec<Option<String>>) {
        let mut used: BTreeSet<String> = BTreeSet::new();
        let given = self.entrants.iter().zip(&titles).filter(|(_, title)| title.is_none());
        used.extend(given.map(|(entrant, _)| entrant.name.clone()));
        for (entrant, title) in self.entrants.iter_mut().zip(titles) {
            entrant.title = title.map(|title| {
                let numbered = (2u64..).map(|number| format!("{title} ({number})"));
                let mut candidates = std::iter::once(title.clone()).chain(numbered);
                candidates.find(|title| used.insert(title.clone())).expect("there are endless candidates")
            });
        }
    }

    /// Returns player 0 or 1 of a pairing.
    pub fn entrant(&self, pairing: usize, player: usize) -> &Entrant {
        &self.entrants[self.pairings[pairing][player]]
    }

    /// Returns the name in results of player 0 or 1 of a pairing.
    pub fn title(&self, pairing: usize, player: usize) -> &str {
        self.entrant(pairing, player).title()
    }

    /// Returns the names in results of the players of a game, by role.
    pub fn titles(&self, id: GameId) -> Vec<&str> {
        self.seats(id).into_iter().map(|seat| self.title(id.pairing, seat)).collect()
    }

    /// Returns the name of player 0 or 1 of a pairing.
    pub fn name(&self, pairing: usize, player: usize) -> &str {
        &self.entrant(pairing, player).name
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn schedule(roles: usize, entrants: &[&str], rounds: &[u64]) -> Schedule {
        let budget = Budget { nodes: Some(100), ..Budget::default() };
        let round = |(number, &games): (usize, &u64)| RoundSpec { name: format!("round {number}"), budget, games };
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
        for (number, &id) in (1..).zip(&games) {
            assert_eq!((schedule.number(id), schedule.numbered(number)), (number, Some(id)));
        }
        assert_eq!((schedule.numbered(0), schedule.numbered(22)), (None, None));
        assert!(games.is_sorted_by_key(|id| id.pair()));
        assert_eq!(schedule.pairings, [[0, 1], [0, 2], [1, 2]]);
        assert_eq!(Schedule::gauntlet(3), [[0, 1], [0, 2]]);
    }

    #[test]
    fn titles_differ() {
        let mut schedule = schedule(2, &["a", "b", "c", "x"], &[2]);
        schedule.set_titles([Some("x"), Some("y"), Some("y"), None].map(|title| title.map(str::to_owned)).to_vec());
        let titles: Vec<&str> = schedule.entrants.iter().map(Entrant::title).collect();
        assert_eq!(titles, ["x (2)", "y", "y (2)", "x"]);
        assert_eq!((schedule.title(0, 1), schedule.name(0, 1)), ("y", "b"));
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
    fn games_of_a_pair_exchange_roles_and_all_divisions_occur() {
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
    fn only_openings_of_a_pair_share_a_seed() {
        let schedule = schedule(2, &["a", "b", "c"], &[10, 10]);
        let seeds: BTreeSet<u64> =
            schedule.games().flat_map(|id| [0, 1].map(|number| schedule.contestant_seed(id, number))).collect();
        assert_eq!(seeds.len(), 3 * 20 * 2);
        let openings: BTreeSet<u64> = schedule.games().map(|id| schedule.opening_seed(id.pair())).collect();
        assert_eq!(openings.len(), 5);
        assert!(openings.is_disjoint(&seeds));
    }

    #[test]
    fn invalid_schedules_are_refused() {
        let good = schedule(2, &["a", "b"], &[2]);
        assert_eq!(good.check(), Ok(()));
        let error = |change: &dyn Fn(&mut Schedule)| {
            let mut schedule = good.clone();
            change(&mut schedule);
            schedule.check().unwrap_err().to_string()
        };
        assert!(error(&|it| it.entrants[1].name = "a".to_owned()).contains("two players named `a`"));
        assert!(error(&|it| it.pairings.clear()).contains("needs at least two players"));
        assert!(error(&|it| it.pairings.push([0, 2])).contains("unknown player"));
        assert!(error(&|it| it.pairings.push([1, 0])).contains("duplicate pairing"));
        let test = SprtSpec { nelo: [0.0, 5.0], alpha: 0.05, beta: 0.05 };
        assert!(error(&|it| it.test = Some(SprtSpec { nelo: [5.0, 0.0], ..test })).contains("nElo"));
        assert!(
            error(&|it| (it.test, it.shard) = (Some(test), Some("1/2".parse().unwrap())))
                .contains("a shard has only some")
        );
    }
}
