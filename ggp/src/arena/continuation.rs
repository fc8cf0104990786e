//! Tournaments that continue the log of an earlier one, with more games or players.

use serde_json::Value;

use super::rule_set;
use super::rules_backend::replace_rules_by_digest;
use super::{Difference, RoundSpec, Schedule};

impl Schedule {
    /// Returns the schedule with which this tournament continues a logged one: the games of the log
    /// keep their places and seeds, and new pairings come after those of the log.
    ///
    /// # Errors
    /// Returns the first difference, unless this tournament only adds games, players and pairings.
    pub fn continuing(&self, logged: &Schedule) -> Result<Schedule, Difference> {
        let mut logged = logged.clone();
        replace_rules_by_digest(&mut logged.game);
        rule_set::leave_out_default(&mut logged.game);
        self.check_settings(&logged)?;
        let places = self.places_of(&logged)?;
        self.check_rounds(&logged.rounds)?;
        let mut pairings: Vec<[usize; 2]> =
            logged.pairings.iter().map(|pairing| pairing.map(|at| places[at])).collect();
        let same = |a: [usize; 2], b: [usize; 2]| a == b || a == [b[1], b[0]];
        if let Some(missing) = pairings.iter().find(|&&old| !self.pairings.iter().any(|&new| same(old, new))) {
            let [a, b] = missing.map(|at| &self.entrants[at].name);
            return Err(format!("the log has the pairing of `{a}` and `{b}`, which is not requested").into());
        }
        let before = pairings.len();
        let added = self.pairings.iter().filter(|&&new| !pairings.iter().any(|&old| same(old, new))).copied();
        pairings.extend(added.collect::<Vec<_>>());
        let grows = pairings.len() > before && logged.rounds.len() > 1;
        let first_pairings = logged.first_pairings.or(grows.then_some(before));
        Ok(Schedule { pairings, first_pairings, ..self.clone() })
    }

    /// Compares everything except players, pairings and rounds.
    fn check_settings(&self, logged: &Schedule) -> Result<(), Difference> {
        let yes = |on: bool| if on { "on" } else { "off" }.to_owned();
        let optional = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
        let settings = |it: &Schedule| {
            [
                ("number of random plies of an opening", it.opening_plies.to_string()),
                ("ply limit", it.ply_limit.to_string()),
                ("adjudication", yes(it.adjudicate)),
                ("thinking of all players in every step", yes(it.ponder)),
                ("start clock", it.start.to_string()),
                ("margin in milliseconds", it.margin.to_string()),
                ("patience in milliseconds", it.patience.to_string()),
                ("seed", it.seed.to_string()),
                (
                    "sequential test",
                    optional(it.test.map(|test| {
                        let [low, high] = test.nelo;
                        format!("{low},{high} (alpha {}, beta {})", test.alpha, test.beta)
                    })),
                ),
                ("shard", optional(it.shard.map(|shard| shard.to_string()))),
            ]
        };
        if self.game != logged.game || self.roles != logged.roles {
            return Err(other_game(&logged.game, &self.game));
        }
        if self.openings != logged.openings {
            return Err("the list of openings differs".to_owned().into());
        }
        let differs = settings(logged).into_iter().zip(settings(self)).find(|(old, new)| old != new);
        differs.map_or(Ok(()), |((name, old), (_, new))| Err(changed(name, &old, &new).into()))
    }

    /// Returns the place of each logged entrant among the entrants.
    fn places_of(&self, logged: &Schedule) -> Result<Vec<usize>, String> {
        let place = |old: &super::Entrant| {
            let name = &old.name;
            let place = self.entrants.iter().position(|new| new.name == *name);
            let place = place.ok_or_else(|| format!("the log has the player `{name}`, which is missing"))?;
            let new = &self.entrants[place];
            if new.player != old.player {
                return Err(format!(
                    "the player `{name}` has other parameters, another command, other learned weights or another table"
                ));
            }
            if new.budget != old.budget {
                return Err(changed(&format!("budget of `{name}`"), &old.budget.to_string(), &new.budget.to_string()));
            }
            Ok(place)
        };
        logged.entrants.iter().map(place).collect()
    }

    fn check_rounds(&self, logged: &[RoundSpec]) -> Result<(), String> {
        let names = |rounds: &[RoundSpec]| rounds.iter().map(|round| round.name.clone()).collect::<Vec<_>>();
        if names(&self.rounds) != names(logged) {
            return Err("the names or the number of the rounds differ".to_owned());
        }
        for (new, old) in self.rounds.iter().zip(logged) {
            let of =
                |what: &str| if new.name.is_empty() { what.to_owned() } else { format!("{what} of `{}`", new.name) };
            if new.budget != old.budget {
                return Err(changed(&of("budget"), &old.budget.to_string(), &new.budget.to_string()));
            }
            if new.games < old.games {
                let name = of("number of games per pairing");
                return Err(changed(&name, &old.games.to_string(), &new.games.to_string()));
            }
        }
        Ok(())
    }
}

/// Describes the difference between two games.
fn other_game(logged: &Value, requested: &Value) -> Difference {
    match rule_set::different_names(logged, requested).map(|names| names.map(str::to_owned)) {
        Some([logged, requested]) => Difference::RuleSet { logged, requested },
        None => "the log is of another game, board, rulesheet or table".to_owned().into(),
    }
}

/// Describes a setting that differs.
fn changed(name: &str, old: &str, new: &str) -> String {
    format!("the {name} is {old} in the log, and {new} here")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;

    use super::super::schedule::tests::schedule;
    use super::super::{Budget, GameId, SprtSpec};
    use super::*;

    /// Returns the seeds of the contestants of all games, by the names of the players.
    fn seeds(schedule: &Schedule) -> HashMap<(usize, u64, [String; 2]), [u64; 2]> {
        let key = |id: GameId| (id.round, id.game, [0, 1].map(|player| schedule.name(id.pairing, player).to_owned()));
        schedule.games().map(|id| (key(id), [0, 1].map(|number| schedule.contestant_seed(id, number)))).collect()
    }

    #[test]
    fn games_of_the_log_keep_their_places_and_seeds() {
        for rounds in [&[2, 4][..], &[3]] {
            let logged = schedule(2, &["a", "b"], rounds);
            let more: Vec<u64> = rounds.iter().map(|games| games + 3).collect();
            let steps = [
                schedule(2, &["a", "b"], &more),
                schedule(2, &["c", "b", "a"], &more),
                schedule(2, &["a", "b", "c", "d"], &more),
            ];
            let mut present = logged;
            for requested in steps {
                let next = requested.continuing(&present).unwrap();
                let (old, new) = (seeds(&present), seeds(&next));
                assert!(old.iter().all(|(key, seeds)| new.get(key) == Some(seeds)), "{next:?}");
                assert_eq!(new.len() as u64, next.total());
                let mut all: Vec<u64> = new.into_values().flatten().collect();
                let count = all.len();
                all.sort();
                all.dedup();
                assert_eq!(all.len(), count, "every contestant of a game has a seed of its own");
                assert_eq!(next.check(), Ok(()));
                assert_eq!(requested.continuing(&next).unwrap(), next, "the same command resumes");
                present = next;
            }
        }
    }

    #[test]
    fn other_changes_are_described_in_words() {
        let logged = Schedule { game: json!({"side": 9}), ..schedule(2, &["a", "b"], &[4]) };
        let test = SprtSpec { nelo: [0.0, 5.0], alpha: 0.05, beta: 0.05 };
        let nodes = |nodes| Budget { nodes: Some(nodes), ..Budget::default() };
        type Change<'a> = &'a dyn Fn(&mut Schedule);
        let changes: [(Change, &str); 14] = [
            (&|it| it.seed = 2, "the seed is 1 in the log, and 2 here"),
            (&|it| it.rounds[0].games = 2, "the number of games per pairing of `round 0` is 4 in the log, and 2 here"),
            (&|it| it.rounds[0].budget = nodes(7), "the budget of `round 0` is 100 nodes in the log, and 7 nodes here"),
            (&|it| it.rounds[0].name = "x".to_owned(), "the names or the number of the rounds differ"),
            (&|it| it.entrants[1].name = "c".to_owned(), "the log has the player `b`, which is missing"),
            (&|it| it.entrants[1].player = json!({"player": 1}), "the player `b` has other parameters"),
            (&|it| it.entrants[0].budget = nodes(7), "the budget of `a` is"),
            (&|it| it.pairings = vec![[0, 0]], "the log has the pairing of `a` and `b`, which is not requested"),
            (&|it| it.openings = vec!["o".to_owned()], "the list of openings differs"),
            (&|it| it.game = json!({"side": 5}), "the log is of another game"),
            (
                &|it| it.game["rules"] = "blocked-goal".into(),
                "the rule set is `paper` in the log, and `blocked-goal` here",
            ),
            (&|it| it.adjudicate = true, "the adjudication is off in the log, and on here"),
            (
                &|it| it.test = Some(test),
                "the sequential test is none in the log, and 0,5 (alpha 0.05, beta 0.05) here",
            ),
            (&|it| it.shard = Some("1/2".parse().unwrap()), "the shard is none in the log, and 1/2 here"),
        ];
        for (change, expected) in changes {
            let mut requested = logged.clone();
            change(&mut requested);
            let error = requested.continuing(&logged).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
