//! Rating lists: all players of a number of logs.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use sternhalma_game::messages::suggestion;
use thiserror::Error;

use super::table::aligned;
use super::{Budget, GameRecord, Schedule};
use crate::statistics::{Bound, Estimate, Rating, Ratings, Results, rate};

/// The ratings of all players of a number of logs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RatingList {
    /// The rated players: those with lower bounds, with estimates and with upper bounds, each best first.
    pub players: Vec<RatedPlayer>,
    /// The players for whose ratings the games give neither an estimate nor a bound.
    pub unrated: Vec<RatedPlayer>,
    /// The advantage of the first move in Elo, if the games show one.
    pub first_move: Option<Estimate>,
    /// Whether the games determine the advantage of the first move.
    pub first_move_determined: bool,
    /// The names of players that have several descriptions or budgets in the logs.
    pub ambiguous: Vec<String>,
    /// The number of games that count.
    pub games: u64,
    /// The number of games that ended by a fault, which do not count.
    pub faults: u64,
}

/// A player of a rating list.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RatedPlayer {
    /// The name. In logs with several rounds, it includes the round.
    pub name: String,
    /// The rating, if there is one.
    #[serde(flatten)]
    pub rating: Option<Rating>,
    /// The number of games.
    pub games: u64,
    /// The points: 1 for a win, ½ for a draw.
    pub points: f64,
}

/// The reason why players cannot be rated.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum RatingListError {
    /// A game does not have two roles.
    #[error("only games with two roles can be rated, and these have {0}")]
    Roles(usize),
    /// No player has the name of the anchor.
    #[error("there is no player `{name}` in the logs{similar}")]
    Anchor {
        /// The name.
        name: String,
        /// The names that it may mean.
        similar: String,
    },
}

impl RatingList {
    /// Rates the players of logs by name, as [`rate`] does. `anchor` is a player with its rating.
    ///
    /// # Errors
    /// Returns an error if a game does not have two roles, or if there is no player with the name of
    /// the anchor.
    pub fn new<'a>(
        logs: impl Iterator<Item = (&'a Schedule, &'a [GameRecord])>,
        anchor: Option<(&str, f64)>,
    ) -> Result<RatingList, RatingListError> {
        let mut games: BTreeMap<[String; 2], (u64, f64)> = BTreeMap::new();
        let mut descriptions: BTreeMap<String, Vec<(&Value, Budget)>> = BTreeMap::new();
        let mut faults = 0;
        for (schedule, records) in logs {
            if schedule.roles != 2 {
                return Err(RatingListError::Roles(schedule.roles));
            }
            for record in records {
                let Some(score) = first_score(record) else {
                    faults += 1;
                    continue;
                };
                let names = names(schedule, record);
                for (name, seat) in names.iter().zip(schedule.seats(record.id)) {
                    let player = &schedule.entrant(record.id.pairing, seat).player;
                    let player = (player, schedule.budget(record.id, seat));
                    let known = descriptions.entry(name.clone()).or_default();
                    if !known.contains(&player) {
                        known.push(player);
                    }
                }
                let (count, points) = games.entry(names).or_default();
                *count += 1;
                *points += score;
            }
        }
        let mut players: Vec<RatedPlayer> = Vec::new();
        let mut results = Vec::new();
        for (names, &(games, points)) in &games {
            let [first, second] = names.each_ref().map(|name| position(&mut players, name));
            results.push(Results { first, second, games, points });
            for (at, points) in [(first, points), (second, games as f64 - points)] {
                players[at].games += games;
                players[at].points += points;
            }
        }
        let anchor = anchor.map(|(name, elo)| {
            let at = players.iter().position(|player| player.name == name);
            at.map(|at| (at, elo)).ok_or_else(|| {
                let known = players.iter().map(|player| player.name.as_str());
                RatingListError::Anchor { name: name.to_owned(), similar: suggestion(name, "players", known) }
            })
        });
        let ratings = rate(players.len(), &results, anchor.transpose()?);
        players.iter_mut().zip(&ratings.players).for_each(|(player, &rating)| player.rating = rating);
        let (mut players, unrated): (Vec<_>, Vec<_>) = players.into_iter().partition(|player| player.rating.is_some());
        players.sort_by(|a, b| a.class().cmp(&b.class()).then(b.elo().total_cmp(&a.elo())));
        let games = games.values().map(|(games, _)| games).sum();
        let ambiguous = descriptions.into_iter().filter(|(_, known)| known.len() > 1).map(|(name, _)| name).collect();
        let Ratings { first_move, first_move_determined, .. } = ratings;
        Ok(RatingList { players, unrated, first_move, first_move_determined, ambiguous, games, faults })
    }

    /// Returns the list as a table, with notes.
    pub fn text(&self) -> String {
        let head = ["#", "player", "Elo", "±", "games", "points", "score"].map(str::to_owned).to_vec();
        let rows = self.players.iter().enumerate().map(|(at, player)| player.row(&(at + 1).to_string()));
        let rows: Vec<Vec<String>> = [head].into_iter().chain(rows).collect();
        let mut parts = vec![aligned(&rows, 2)];
        if let Some(first_move) = &self.first_move {
            let half = first_move.interval[1] - first_move.value;
            parts.push(format!("The first move is worth {:.0} ± {half:.0} Elo", first_move.value));
        }
        if !self.first_move_determined && !self.players.is_empty() {
            parts.push(
                "The games do not determine the advantage of the first move, and the ratings assume 0".to_owned(),
            );
        }
        if !self.ambiguous.is_empty() {
            let names = self.ambiguous.join(", ");
            parts.push(format!(
                "Rated as one player, although its settings or budgets differ between the logs: {names}"
            ));
        }
        if self.players.iter().any(|player| player.bound() != Bound::None) {
            parts.push("> and <: a bound, because all points went to one side".to_owned());
        }
        if !self.unrated.is_empty() {
            let names: Vec<&str> = self.unrated.iter().map(|player| player.name.as_str()).collect();
            parts.push(format!("The games give no ratings for: {}", names.join(", ")));
        }
        if self.faults > 0 {
            parts.push(format!("Games that ended by a fault and do not count: {}", self.faults));
        }
        parts.join("\n\n")
    }
}

impl RatedPlayer {
    fn elo(&self) -> f64 {
        self.rating.map_or(f64::NEG_INFINITY, |rating| rating.elo.value)
    }

    fn bound(&self) -> Bound {
        self.rating.map_or(Bound::None, |rating| rating.bound)
    }

    /// Returns the place of the kind of rating in the list: players above all estimates come first.
    fn class(&self) -> u8 {
        match self.bound() {
            Bound::Lower => 0,
            Bound::None => 1,
            Bound::Upper => 2,
        }
    }

    fn row(&self, rank: &str) -> Vec<String> {
        let sign = match self.bound() {
            Bound::None => "",
            Bound::Lower => "> ",
            Bound::Upper => "< ",
        };
        let half = self.rating.map_or(f64::INFINITY, |rating| rating.elo.interval[1] - rating.elo.value);
        let half = if self.bound() == Bound::None { format!("{half:.0}") } else { "-".to_owned() };
        let score = 100.0 * self.points / self.games as f64;
        let (games, points) = (self.games.to_string(), self.points.to_string());
        vec![
            rank.to_owned(),
            self.name.clone(),
            format!("{sign}{:.0}", self.elo().round() + 0.0),
            half,
            games,
            points,
            format!("{score:.1}%"),
        ]
    }
}

/// Returns the score of the player with role 0, which moves first, or `None` after a fault.
fn first_score(record: &GameRecord) -> Option<f64> {
    let &[first, second] = &record.goals[..] else { return None };
    let score = match first.cmp(&second) {
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Less => 0.0,
    };
    record.fault.is_none().then_some(score)
}

/// Returns the names of the players of a game, by role.
fn names(schedule: &Schedule, record: &GameRecord) -> [String; 2] {
    let titles = schedule.titles(record.id);
    let round = &schedule.rounds[record.id.round].name;
    let suffix = if schedule.rounds.len() > 1 { format!(" ({round})") } else { String::new() };
    [0, 1].map(|role| titles[role].to_owned() + &suffix)
}

/// Returns the index of a player, which is added if it is new.
fn position(players: &mut Vec<RatedPlayer>, name: &str) -> usize {
    players.iter().position(|player| player.name == name).unwrap_or_else(|| {
        players.push(RatedPlayer { name: name.to_owned(), rating: None, games: 0, points: 0.0 });
        players.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record_of;
    use super::super::schedule::tests::schedule;
    use super::super::{Fault, FaultKind, GameId, RoleFault};
    use super::*;

    fn record(pairing: usize, game: u64, goals: [u8; 2]) -> GameRecord {
        record_of(GameId { round: 0, pairing, game }, &goals)
    }

    #[test]
    fn logs_are_rated_together() {
        // In even games the first player of a pairing has role 0.
        let [one, two] = [schedule(2, &["a", "b"], &[8]), schedule(2, &["c", "b"], &[8])];
        let wins = |even: [u8; 2], odd: [u8; 2]| {
            (0..8).map(|game| record(0, game, if game % 2 == 0 { even } else { odd })).collect::<Vec<_>>()
        };
        let mut first = wins([100, 0], [0, 100]);
        (first[0].goals, first[1].goals) = (vec![0, 100], vec![50, 50]);
        let mut second = wins([50, 50], [50, 50]);
        second[7].fault =
            Some(RoleFault { role: 0, fault: Fault { kind: FaultKind::Crash, detail: "ended".to_owned() } });
        let logs = [(&one, &first[..]), (&two, &second[..])];
        let list = RatingList::new(logs.into_iter(), Some(("b", 100.0))).unwrap();
        let rows: Vec<(&str, u64, f64)> =
            list.players.iter().map(|player| (player.name.as_str(), player.games, player.points)).collect();
        assert_eq!(rows[0], ("a", 8, 6.5));
        assert!(rows.contains(&("b", 15, 5.0)) && rows.contains(&("c", 7, 3.5)));
        assert_eq!((list.games, list.faults), (15, 1));
        let difference = 400.0 * f64::log10(6.5 / 1.5);
        assert!((list.players[0].elo() - 100.0 - difference).abs() < 1e-6, "{list:?}");
        assert!(list.text().contains("do not count: 1"), "{}", list.text());
        let error = RatingList::new(logs.into_iter(), Some(("bb", 0.0))).unwrap_err();
        assert_eq!(error.to_string(), "there is no player `bb` in the logs; did you mean `b`?");
        let three = schedule(3, &["a", "b"], &[6]);
        let error = RatingList::new([(&three, &[][..])].into_iter(), None).unwrap_err();
        assert_eq!(error, RatingListError::Roles(3));
        assert!(error.to_string().ends_with("these have 3"), "{error}");
    }

    #[test]
    fn a_name_with_several_settings_is_reported() {
        let one = schedule(2, &["a", "b"], &[4]);
        let mut two = one.clone();
        let drawn: Vec<GameRecord> = (0..4).map(|game| record(0, game, [50, 50])).collect();
        let list = |two: &Schedule| RatingList::new([(&one, &drawn[..]), (two, &drawn[..])].into_iter(), None).unwrap();
        assert_eq!(list(&two).ambiguous, [""; 0]);
        two.entrants[1].player = "another program".into();
        assert_eq!(list(&two).ambiguous, ["b"]);
        assert!(list(&two).text().ends_with("between the logs: b"));
    }

    #[test]
    fn bounds_and_unrated_players_are_reported() {
        let schedules =
            [schedule(2, &["a", "b"], &[4]), schedule(2, &["a", "z"], &[4]), schedule(2, &["p", "q"], &[4])];
        let drawn: Vec<GameRecord> = (0..4).map(|game| record(0, game, [50, 50])).collect();
        let won: Vec<GameRecord> =
            (0..4).map(|game| record(0, game, if game % 2 == 0 { [100, 0] } else { [0, 100] })).collect();
        let logs = [(&schedules[0], &drawn[..]), (&schedules[1], &won[..]), (&schedules[2], &drawn[..])];
        let list = RatingList::new(logs.into_iter(), None).unwrap();
        let text = list.text();
        assert!(text.lines().any(|line| line.starts_with("3  z") && line.contains("< ")), "{text}");
        assert!(text.ends_with("The games give no ratings for: p, q"), "{text}");
        assert_eq!(list.unrated.len(), 2);
    }
}
