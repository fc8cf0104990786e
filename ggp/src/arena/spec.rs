//! Tournaments as users describe them.

use std::time::Duration;

use serde::Deserialize;
use sternhalma_game::messages::suggestion;
use thiserror::Error;

use super::schedule::TEST_ERROR;
use super::{
    Budget, Entrant, OPENING_PLIES, PAIRING_GAMES, RoundSpec, Schedule, ScheduleError, Shard, SprtSpec, TEST_GAMES,
};

/// Which players meet.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Pairings {
    /// All players against each other.
    #[default]
    RoundRobin,
    /// The first player against all others.
    Gauntlet,
    /// Players by their names.
    Named(Vec<[String; 2]>),
}

/// A round of a [`TournamentSpec`].
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RoundOptions {
    /// The name in results.
    pub name: String,
    /// The budget; without limits, that of the tournament.
    #[serde(default)]
    pub budget: Budget,
    /// The games per pairing; `None` for those of the tournament.
    pub games: Option<u64>,
}

/// A tournament as a user describes it. The command line, tournament files and Python fill it, and
/// [`schedule`](TournamentSpec::schedule) gives what they leave out its default.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TournamentSpec {
    /// The players, with their own budgets.
    pub entrants: Vec<Entrant>,
    /// Which players meet.
    pub pairings: Pairings,
    /// The rounds; empty for one round without a name.
    pub rounds: Vec<RoundOptions>,
    /// The games per pairing: by default [`PAIRING_GAMES`], or [`TEST_GAMES`] with a sequential test.
    pub games: Option<u64>,
    /// The budget of the players; without limits, [`Budget::DEFAULT`].
    pub budget: Budget,
    /// The random plies of an opening.
    pub opening_plies: Option<u32>,
    /// Openings in text form, used in turn.
    pub openings: Vec<String>,
    /// The ply at which a game is drawn.
    pub ply_limit: Option<u32>,
    /// Whether a game ends as soon as its result is certain.
    pub adjudicate: bool,
    /// Whether all players think in every step.
    pub ponder: bool,
    /// The start clock, as a multiple of the budget of a move.
    pub start: f64,
    /// The tolerance for late moves, in milliseconds.
    pub margin: Option<u64>,
    /// The grace period before a player is declared hung.
    pub patience: Option<Duration>,
    /// The seed of openings and players.
    pub seed: Option<u64>,
    /// The strengths, in normalised Elo, between which a sequential test decides.
    pub sprt: Option<[f64; 2]>,
    /// The probability of accepting H1 if H0 is true.
    pub alpha: Option<f64>,
    /// The probability of accepting H0 if H1 is true.
    pub beta: Option<f64>,
    /// The part of the games to play; `None` for all.
    pub shard: Option<Shard>,
}

/// The reason why a description is not one of a tournament.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// A name has a line break or another control character.
    #[error("the name of a player has a line break or another control character: `{0}`; expected plain text")]
    PlayerName(String),
    /// A pairing contains a name that no player has.
    #[error("a pairing contains the unknown player `{name}`{similar}")]
    UnknownPlayer {
        /// The name.
        name: String,
        /// A suggestion of similar names, or nothing.
        similar: String,
    },
    /// There are probabilities of errors without a test.
    #[error("alpha and beta are error probabilities of a sequential test, and there is none")]
    NoTest,
    /// The schedule is invalid.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
}

impl TournamentSpec {
    /// Returns the schedule, without the descriptions of the game and of the players.
    ///
    /// # Errors
    /// If the name of a player is not plain text, a pairing has an unknown player, there are probabilities of errors
    /// without a test, or the schedule is [invalid](Schedule::check).
    pub fn schedule(self) -> Result<Schedule, SpecError> {
        if let Some(entrant) = self.entrants.iter().find(|entrant| entrant.name.contains(char::is_control)) {
            return Err(SpecError::PlayerName(entrant.name.clone()));
        }
        if self.sprt.is_none() && (self.alpha.is_some() || self.beta.is_some()) {
            return Err(SpecError::NoTest);
        }
        let budget = self.budget.or(Budget::DEFAULT);
        let games = self.games.unwrap_or(if self.sprt.is_some() { TEST_GAMES } else { PAIRING_GAMES });
        let round = |round: RoundOptions| RoundSpec {
            name: round.name,
            budget: round.budget.or(budget),
            games: round.games.unwrap_or(games),
        };
        let [alpha, beta] = [self.alpha, self.beta].map(|error| error.unwrap_or(TEST_ERROR));
        let pairings = pairings(self.pairings, &self.entrants)?;
        let mut schedule = Schedule::new(self.entrants, budget, games);
        if !self.rounds.is_empty() {
            schedule.rounds = self.rounds.into_iter().map(round).collect();
        }
        let schedule = Schedule {
            pairings,
            opening_plies: self.opening_plies.unwrap_or(OPENING_PLIES),
            openings: self.openings,
            ply_limit: self.ply_limit.unwrap_or(schedule.ply_limit),
            adjudicate: self.adjudicate,
            ponder: self.ponder,
            start: self.start,
            margin: self.margin.unwrap_or(schedule.margin),
            patience: self.patience.map_or(schedule.patience, |patience| patience.as_millis() as u64),
            seed: self.seed.unwrap_or(schedule.seed),
            test: self.sprt.map(|nelo| SprtSpec { nelo, alpha, beta }),
            shard: self.shard,
            ..schedule
        };
        schedule.check()?;
        Ok(schedule)
    }
}

fn pairings(pairings: Pairings, entrants: &[Entrant]) -> Result<Vec<[usize; 2]>, SpecError> {
    let place = |name: String| {
        entrants.iter().position(|entrant| entrant.name == name).ok_or_else(|| {
            let similar = suggestion(&name, "players", entrants.iter().map(|entrant| entrant.name.as_str()));
            SpecError::UnknownPlayer { name, similar }
        })
    };
    match pairings {
        Pairings::RoundRobin => Ok(Schedule::round_robin(entrants.len())),
        Pairings::Gauntlet => Ok(Schedule::gauntlet(entrants.len())),
        Pairings::Named(names) => names.into_iter().map(|[a, b]| Ok([place(a)?, place(b)?])).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> TournamentSpec {
        let entrants = ["a", "b", "c"].map(|name| Entrant::named(name.to_owned())).to_vec();
        TournamentSpec { entrants, ..TournamentSpec::default() }
    }

    #[test]
    fn what_is_left_out_has_the_defaults_of_a_schedule() {
        assert_eq!(spec().schedule(), Ok(Schedule::new(spec().entrants, Budget::DEFAULT, PAIRING_GAMES)));
        let tested = TournamentSpec { sprt: Some([0.0, 5.0]), beta: Some(0.1), ..spec() }.schedule().unwrap();
        assert_eq!(tested.rounds[0].games, TEST_GAMES);
        assert_eq!(tested.test, Some(SprtSpec { nelo: [0.0, 5.0], alpha: 0.05, beta: 0.1 }));
    }

    #[test]
    fn rounds_and_pairings_are_those_that_are_described() {
        let few = Budget { playouts: Some(3), ..Budget::default() };
        let round = |name: &str, budget, games| RoundOptions { name: name.to_owned(), budget, games };
        let named = |a: &str, b: &str| Pairings::Named(vec![[a.to_owned(), b.to_owned()]]);
        let rounds = vec![round("x", few, None), round("y", Budget::default(), Some(4))];
        let described = TournamentSpec { rounds, games: Some(2), pairings: named("c", "a"), ..spec() };
        let schedule = described.schedule().unwrap();
        assert_eq!(schedule.pairings, [[2, 0]]);
        let rounds: Vec<_> = schedule.rounds.iter().map(|round| (round.budget.playouts, round.games)).collect();
        assert_eq!(rounds, [(Some(3), 2), (None, 4)]);
        assert_eq!(schedule.rounds[1].budget, Budget::DEFAULT);
        let error = TournamentSpec { pairings: named("a", "d"), ..spec() }.schedule().unwrap_err();
        assert!(error.to_string().starts_with("a pairing contains the unknown player `d`"), "{error}");
        assert_eq!(TournamentSpec { alpha: Some(0.1), ..spec() }.schedule(), Err(SpecError::NoTest));
        let reversed = TournamentSpec { sprt: Some([5.0, 0.0]), ..spec() }.schedule();
        assert!(matches!(reversed, Err(SpecError::Schedule(ScheduleError::SprtSpec(_)))), "{reversed:?}");
    }
}
