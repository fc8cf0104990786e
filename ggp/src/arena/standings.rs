//! Standings: the results of a tournament.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::{FaultKind, GameId, GameRecord, Schedule, Scoring, Termination, Totals};
use crate::statistics::{Estimate, Pairs, SampleMean, Score, SequentialTest, Verdict};

/// The results of a tournament so far. The results do not depend on the order in which
/// games were added.
#[derive(Clone, Debug)]
pub struct Standings {
    schedule: Schedule,
    games: BTreeMap<GameId, GameSummary>,
    /// By round and pairing.
    tests: BTreeMap<(usize, usize), SequentialTest>,
    /// By round and pairing: all games, including those after a decision.
    scores: BTreeMap<(usize, usize), Score>,
    /// The games to play, if they are not all of the schedule.
    only: Option<HashSet<GameId>>,
}

/// The part of a record that standings need.
#[derive(Clone, Debug)]
struct GameSummary {
    score: Option<f64>,
    /// The points of the first player by [`Scoring::Seats`].
    shared: Option<f64>,
    /// The player of the pairing with role 0.
    first: usize,
    /// By player: the mean goal of its roles, if it has any.
    goals: [Option<f64>; 2],
    plies: u32,
    end: Termination,
    fault: Option<(usize, FaultKind)>,
    spent: [Totals; 2],
}

impl GameSummary {
    fn new(record: &GameRecord, schedule: &Schedule) -> GameSummary {
        let seats = schedule.seats(record.id);
        let mean = |player: usize| {
            let own = seats.iter().zip(&record.goals).filter(|&(&seat, _)| seat == player);
            let goals: Vec<f64> = own.map(|(_, &goal)| f64::from(goal)).collect();
            (!goals.is_empty()).then(|| goals.iter().sum::<f64>() / goals.len() as f64)
        };
        GameSummary {
            score: record.score(schedule),
            shared: record.points(schedule, Scoring::Seats),
            first: seats[0],
            goals: [mean(0), mean(1)],
            plies: record.plies,
            end: record.end,
            fault: record.fault.as_ref().map(|found| (seats[found.role], found.fault.kind)),
            spent: record.spent_by(schedule),
        }
    }
}

impl Standings {
    /// Creates the standings before the first game, of a [checked](Schedule::check) schedule.
    pub fn new(schedule: Schedule) -> Standings {
        let test = schedule.test.as_ref().and_then(|test| test.sprt().ok());
        let tests = schedule.slots().filter_map(|slot| Some((slot, SequentialTest::new(test?)))).collect();
        Standings { games: BTreeMap::new(), tests, scores: BTreeMap::new(), only: None, schedule }
    }

    /// Creates the standings of games that were played before.
    pub fn with_games(schedule: Schedule, records: &[GameRecord]) -> Standings {
        let mut standings = Standings::new(schedule);
        records.iter().for_each(|record| _ = standings.add(record));
        standings
    }

    /// Returns the schedule.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Leaves all games but these out.
    pub(super) fn restrict(&mut self, games: HashSet<GameId>) {
        self.only = Some(games);
    }

    /// Returns the games that are not left out, if they are not all.
    pub(super) fn only(&self) -> Option<&HashSet<GameId>> {
        self.only.as_ref()
    }

    /// Adds a game, and returns whether the test of its pairing is decided. A game that was
    /// added before is ignored.
    pub fn add(&mut self, record: &GameRecord) -> bool {
        let id = record.id;
        if self.games.contains_key(&id) {
            return false;
        }
        let game = GameSummary::new(record, &self.schedule);
        let (score, slot) = (game.score, (id.round, id.pairing));
        self.games.insert(id, game);
        let Some(score) = score else { return false };
        self.scores.entry(slot).or_default().add(score);
        self.tests.get_mut(&slot).is_some_and(|test| test.add(id.game, score) != Verdict::Continue)
    }

    /// Returns the score of a pairing so far.
    pub fn score(&self, round: usize, pairing: usize) -> Score {
        self.scores.get(&(round, pairing)).copied().unwrap_or_default()
    }

    /// Returns the results of a pairing as percentages for a table.
    ///
    /// The result is the percentage of points of the first player or, in a game with one
    /// role, the mean goal of each player. An entry is `None` if there are no games.
    pub fn percentages(&self, round: usize, pairing: usize, scoring: Scoring) -> Vec<Option<SampleMean>> {
        let games = || self.pairing_games(round, pairing).map(|(_, game)| game);
        if self.schedule.roles == 1 {
            let goals = |player: usize| games().filter_map(|game| game.goals[player]).collect::<Vec<f64>>();
            return (0..2).map(|player| SampleMean::from_goals(&goals(player))).collect();
        }
        let points = |game: &GameSummary| match scoring {
            Scoring::Players => game.score,
            Scoring::Seats => game.shared,
        };
        vec![SampleMean::from_points(&games().filter_map(points).collect::<Vec<f64>>())]
    }

    /// Returns the number of games so far.
    pub fn len(&self) -> usize {
        self.games.len()
    }

    /// Returns whether there are no games.
    pub fn is_empty(&self) -> bool {
        self.games.is_empty()
    }

    /// Returns the games so far.
    pub fn games(&self) -> impl Iterator<Item = GameId> + '_ {
        self.games.keys().copied()
    }

    /// Returns the first game of each pairing whose test is decided.
    pub fn decided(&self) -> impl Iterator<Item = GameId> + '_ {
        let decided = self.tests.iter().filter(|(_, test)| test.verdict() != Verdict::Continue);
        decided.map(|(&(round, pairing), _)| GameId { round, pairing, game: 0 })
    }

    /// Returns the number of games that count when all are played. A pairing stopped early by
    /// its test counts only up to the deciding pair.
    pub fn expected(&self) -> u64 {
        let decided = |test: &&SequentialTest| test.verdict() != Verdict::Continue;
        let games = |round: usize, pairing: usize| match self.test(round, pairing).filter(decided) {
            Some(test) => 2 * test.pairs().total(),
            None => self.schedule.games_of(round),
        };
        self.schedule.slots().map(|(round, pairing)| games(round, pairing)).sum()
    }

    /// Returns the number of games so far that count.
    pub fn played(&self) -> u64 {
        self.games().filter(|&id| self.counts(id)).count() as u64
    }

    /// Returns the number of games so far with a search whose tree or tables could not grow within the memory limit.
    pub fn memory_limited(&self) -> u64 {
        let is_limited = |game: &&GameSummary| game.spent.iter().any(|spent| spent.memory_limited > 0);
        self.games.values().filter(is_limited).count() as u64
    }

    /// Returns whether there are games and all of them ended by a fault.
    pub fn only_faults(&self) -> bool {
        !self.is_empty() && self.games.values().all(|game| game.fault.is_some())
    }

    fn counts(&self, id: GameId) -> bool {
        let test = self.tests.get(&(id.round, id.pairing)).filter(|test| test.verdict() != Verdict::Continue);
        test.is_none_or(|test| id.pair() < test.pairs().total())
    }

    /// Returns the test of a pairing, if there is one.
    pub fn test(&self, round: usize, pairing: usize) -> Option<&SequentialTest> {
        self.tests.get(&(round, pairing))
    }

    /// Returns the results of each round.
    pub fn summary(&self) -> Vec<RoundSummary> {
        (0..self.schedule.rounds.len()).map(|round| self.round(round)).collect()
    }

    fn round(&self, round: usize) -> RoundSummary {
        let pairings: Vec<PairingSummary> =
            (0..self.schedule.pairings.len()).map(|at| self.pairing(round, at)).collect();
        let mut first = Score::default();
        pairings.iter().filter_map(|pairing| pairing.first).for_each(|score| first.join(score.score));
        let entrants = (0..self.schedule.entrants.len()).map(|place| self.entrant(place, &pairings)).collect();
        let name = self.schedule.rounds[round].name.clone();
        RoundSummary { name, first: (self.schedule.roles == 2).then(|| first.into()), entrants, pairings }
    }

    /// Returns the games of a pairing that count.
    fn pairing_games(&self, round: usize, pairing: usize) -> impl Iterator<Item = (GameId, &GameSummary)> {
        let ids = GameId { round, pairing, game: 0 }..=GameId { round, pairing, game: u64::MAX };
        self.games.range(ids).map(|(&id, game)| (id, game)).filter(|&(id, _)| self.counts(id))
    }

    fn pairing(&self, round: usize, at: usize) -> PairingSummary {
        let [a, b] = [0, 1].map(|player| self.schedule.title(at, player).to_owned());
        let mut found = PairingSummary { a, b, ..PairingSummary::default() };
        let (mut all, mut first) = (Score::default(), [Score::default(); 2]);
        let mut goals = [Mean::default(); 2];
        let mut plies = Mean::default();
        for (_, game) in self.pairing_games(round, at) {
            if let Some(score) = game.score {
                all.add(score);
                first[game.first].add(score);
            }
            plies.add(f64::from(game.plies));
            goals.iter_mut().zip(game.goals).for_each(|(mean, goal)| goal.into_iter().for_each(|goal| mean.add(goal)));
            found.spent.iter_mut().zip(game.spent).for_each(|(all, spent)| all.join(spent));
            *found.ends.count_mut(game.end) += 1;
            if let Some((player, kind)) = game.fault {
                *found.faults[player].entry(kind).or_insert(0) += 1;
            }
        }
        found.games = plies.count;
        found.goals = goals.map(Mean::value);
        found.mean_plies = plies.value();
        if self.schedule.roles > 1 {
            let mut mover = first[0];
            mover.join(first[1].reversed());
            let pairs = self.pairs(round, at);
            let (score, elo) = ScoreSummary::of_pairs(all, pairs);
            found.score = Some(score);
            found.a_first = Some(first[0].into());
            found.b_first = Some(first[1].into());
            found.first = (self.schedule.roles == 2).then(|| mover.into());
            (found.pairs, found.elo, found.nelo) = (pairs.counts(), elo, pairs.nelo());
        }
        found.sprt = self.test(round, at).map(|test| self.test_summary(test));
        found
    }

    /// Returns the pairs of games of a pairing of which both have been played.
    pub fn pairs(&self, round: usize, pairing: usize) -> Pairs {
        let (mut pairs, mut waiting) = (Pairs::default(), None);
        for (id, game) in self.pairing_games(round, pairing) {
            let Some(score) = game.score else { continue };
            match waiting {
                Some((pair, before)) if pair == id.pair() => pairs.add([before, score]),
                _ => waiting = Some((id.pair(), score)),
            }
        }
        pairs
    }

    fn test_summary(&self, test: &SequentialTest) -> TestSummary {
        let spec = self.schedule.test.expect("a pairing has a test only if the schedule has one");
        TestSummary {
            nelo: spec.nelo,
            alpha: spec.alpha,
            beta: spec.beta,
            pairs: test.pairs().total(),
            llr: test.llr(),
            bounds: test.test().bounds(),
            verdict: test.verdict(),
        }
    }

    fn entrant(&self, place: usize, pairings: &[PairingSummary]) -> EntrantSummary {
        let (mut score, mut pairs) = (Score::default(), Pairs::default());
        let (mut goals, mut spent) = (Mean::default(), Totals::default());
        let mut faults = BTreeMap::new();
        for (pairing, &players) in pairings.iter().zip(&self.schedule.pairings) {
            let itself = players[0] == players[1];
            for player in (0..2).filter(|&player| players[player] == place) {
                if let Some(of_a) = pairing.score.filter(|_| !itself) {
                    let of_pairs = Pairs::new(pairing.pairs);
                    score.join(if player == 0 { of_a.score } else { of_a.score.reversed() });
                    pairs.join(if player == 0 { of_pairs } else { of_pairs.reversed() });
                }
                // A single role is played by each player in half of the games.
                let games = if self.schedule.roles == 1 { pairing.games / 2 } else { pairing.games };
                pairing.goals[player].into_iter().for_each(|goal| goals.join(goal, games));
                spent.join(pairing.spent[player]);
                pairing.faults[player].iter().for_each(|(&kind, count)| *faults.entry(kind).or_insert(0) += count);
            }
        }
        let compared = self.schedule.roles > 1 && score.games > 0;
        let (score, elo) = ScoreSummary::of_pairs(score, pairs);
        EntrantSummary {
            name: self.schedule.entrants[place].title().to_owned(),
            elo: elo.filter(|_| compared),
            score: compared.then_some(score),
            goal: goals.value(),
            faults,
            spent,
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.join(value, 1);
    }

    fn join(&mut self, mean: f64, count: u64) {
        self.sum += mean * count as f64;
        self.count += count;
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// A score with its rate and 95% confidence interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ScoreSummary {
    /// The counts.
    #[serde(flatten)]
    pub score: Score,
    /// The share of the points, 0 to 1.
    pub rate: f64,
    /// The 95% confidence interval of the rate: over pairs of games, which have the same opening, if every game belongs to
    /// a complete pair, and otherwise over single games. It is that of Elo too. The interval of a part of the games, such
    /// as those with the first move, is that of [Wilson 1927].
    pub interval: [f64; 2],
}

impl ScoreSummary {
    /// Returns a score with its interval, and the difference in Elo with the same interval.
    pub(super) fn of_pairs(score: Score, pairs: Pairs) -> (ScoreSummary, Option<Estimate>) {
        let games = score.outcomes();
        let is_paired = 2 * pairs.total() == score.games;
        let (mean, elo) = if is_paired { (pairs.mean(), pairs.elo()) } else { (games.mean(), games.elo()) };
        let interval = mean.map_or([0.0, 1.0], |mean| mean.interval);
        (ScoreSummary { score, rate: score.rate(), interval }, elo)
    }
}

impl From<Score> for ScoreSummary {
    fn from(score: Score) -> ScoreSummary {
        ScoreSummary { score, rate: score.rate(), interval: score.interval() }
    }
}

/// The results of a round.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RoundSummary {
    /// The name of the round.
    pub name: String,
    /// In games with two roles: the score of the player that moves first, over all games.
    pub first: Option<ScoreSummary>,
    /// By entrant.
    pub entrants: Vec<EntrantSummary>,
    /// By pairing.
    pub pairings: Vec<PairingSummary>,
}

/// The results of an entrant in a round.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EntrantSummary {
    /// The name of the entrant.
    pub name: String,
    /// The score of the entrant against other entrants.
    pub score: Option<ScoreSummary>,
    /// The difference in Elo, with the interval of the score.
    pub elo: Option<Estimate>,
    /// Its mean goal.
    pub goal: Option<f64>,
    /// The number of faults of the entrant, by kind.
    pub faults: BTreeMap<FaultKind, u64>,
    /// The cost of the entrant's searches.
    pub spent: Totals,
}

/// The results of a pairing. Scores are those of the first player, `a`.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct PairingSummary {
    /// The name of the first player.
    pub a: String,
    /// The name of the second player.
    pub b: String,
    /// The number of games.
    pub games: u64,
    /// The score over all games.
    pub score: Option<ScoreSummary>,
    /// The score over the games in which `a` has role 0.
    pub a_first: Option<ScoreSummary>,
    /// The score over the games in which `b` has role 0.
    pub b_first: Option<ScoreSummary>,
    /// In games with two roles: the score of the player that moves first.
    pub first: Option<ScoreSummary>,
    /// The number of pairs of games in which `a` has 0, ½, 1, 1½ and 2 points.
    pub pairs: [u64; 5],
    /// The difference in Elo, with the interval of the score.
    pub elo: Option<Estimate>,
    /// The difference in normalised Elo.
    pub nelo: Option<Estimate>,
    /// The test, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sprt: Option<TestSummary>,
    /// The mean goals of `a` and `b`.
    pub goals: [Option<f64>; 2],
    /// The mean number of plies per game.
    pub mean_plies: Option<f64>,
    /// The number of games per termination.
    pub ends: TerminationCounts,
    /// The number of faults of `a` and `b`, by kind.
    pub faults: [BTreeMap<FaultKind, u64>; 2],
    /// The cost of the searches of `a` and `b`.
    pub spent: [Totals; 2],
}

/// The number of games per [`Termination`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct TerminationCounts {
    /// Games that reached a terminal state.
    pub rules: u64,
    /// Games drawn at the ply limit.
    pub ply_limit: u64,
    /// Games drawn by repetition.
    pub repetition: u64,
    /// Adjudicated games.
    pub adjudicated: u64,
    /// Games lost by a fault.
    pub fault: u64,
}

impl TerminationCounts {
    fn count_mut(&mut self, end: Termination) -> &mut u64 {
        match end {
            Termination::Rules => &mut self.rules,
            Termination::PlyLimit => &mut self.ply_limit,
            Termination::Repetition => &mut self.repetition,
            Termination::Adjudicated => &mut self.adjudicated,
            Termination::Fault => &mut self.fault,
        }
    }
}

/// The state of a sequential test.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TestSummary {
    /// The strengths under H0 and H1, in normalised Elo.
    pub nelo: [f64; 2],
    /// The probability of accepting H1 if H0 is true.
    pub alpha: f64,
    /// The probability of accepting H0 if H1 is true.
    pub beta: f64,
    /// The number of pairs of games.
    pub pairs: u64,
    /// The log-likelihood ratio of H1 to H0.
    pub llr: f64,
    /// The ratios at which H0 and H1 are accepted.
    pub bounds: [f64; 2],
    /// The decision.
    pub verdict: Verdict,
}
