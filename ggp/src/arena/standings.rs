//! What the games of a tournament tell.

use std::collections::BTreeMap;

use serde::Serialize;

use super::contestant::FaultKind;
use super::record::{End, Record, Scoring, Totals};
use super::schedule::{GameId, Schedule};
use crate::statistics::{Estimate, Figure, Pairs, Score, Sequential, Verdict};

/// The games of a tournament so far. Whatever their order, the same games give
/// the same summary.
#[derive(Clone, Debug)]
pub struct Standings {
    schedule: Schedule,
    games: BTreeMap<GameId, Kept>,
    /// By round and pairing.
    tests: BTreeMap<(usize, usize), Sequential>,
    /// Likewise: all games, those after a decision included.
    scores: BTreeMap<(usize, usize), Score>,
}

/// What is kept of a record.
#[derive(Clone, Debug)]
struct Kept {
    score: Option<f64>,
    /// The points of the first player where roles share them.
    shared: Option<f64>,
    /// Which player of the pairing has role 0.
    first: usize,
    /// By player: the mean goal of its roles; none if it has none.
    goals: [Option<f64>; 2],
    plies: u32,
    end: End,
    fault: Option<(usize, FaultKind)>,
    spent: [Totals; 2],
}

impl Kept {
    fn of(record: &Record, schedule: &Schedule) -> Kept {
        let seats = schedule.seats(record.id);
        let mean = |player: usize| {
            let of = seats.iter().zip(&record.goals).filter(|&(&seat, _)| seat == player);
            let goals: Vec<f64> = of.map(|(_, &goal)| f64::from(goal)).collect();
            (!goals.is_empty()).then(|| goals.iter().sum::<f64>() / goals.len() as f64)
        };
        Kept {
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
    /// The standings before the first game. The schedule has been
    /// [checked](Schedule::check).
    pub fn new(schedule: Schedule) -> Standings {
        let slots =
            (0..schedule.rounds.len()).flat_map(|round| (0..schedule.pairings.len()).map(move |at| (round, at)));
        let test = schedule.test.as_ref().and_then(|test| test.sprt().ok());
        let tests = slots.filter_map(|slot| Some((slot, Sequential::new(test?)))).collect();
        Standings { games: BTreeMap::new(), tests, scores: BTreeMap::new(), schedule }
    }

    /// What is played.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Adds a game, and tells whether the test of its pairing has decided. A
    /// game that is there already is not added again.
    pub fn add(&mut self, record: &Record) -> bool {
        let id = record.id;
        if self.games.contains_key(&id) {
            return false;
        }
        let kept = Kept::of(record, &self.schedule);
        let (score, slot) = (kept.score, (id.round, id.pairing));
        self.games.insert(id, kept);
        let Some(score) = score else { return false };
        self.scores.entry(slot).or_default().add(score);
        self.tests.get_mut(&slot).is_some_and(|test| test.add(id.game, score) != Verdict::Continue)
    }

    /// The games of a pairing so far.
    pub fn score(&self, round: usize, pairing: usize) -> Score {
        self.scores.get(&(round, pairing)).copied().unwrap_or_default()
    }

    /// The counted games of a pairing as figures of a table: the percentage of
    /// the points that its first player has or, in a game of one role, the mean
    /// goals of both. None where there is no game.
    pub fn figures(&self, round: usize, pairing: usize, scoring: Scoring) -> Vec<Option<Figure>> {
        let games = || self.of_pairing(round, pairing).map(|(_, kept)| kept);
        if self.schedule.roles == 1 {
            let of = |player: usize| games().filter_map(|kept| kept.goals[player]).collect::<Vec<f64>>();
            return (0..2).map(|player| Figure::of_goals(&of(player))).collect();
        }
        let points = |kept: &Kept| match scoring {
            Scoring::Players => kept.score,
            Scoring::Seats => kept.shared,
        };
        vec![Figure::of_points(&games().filter_map(points).collect::<Vec<f64>>())]
    }

    /// How many games there are so far.
    pub fn len(&self) -> usize {
        self.games.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.games.is_empty()
    }

    /// The games that were played.
    pub fn games(&self) -> impl Iterator<Item = GameId> + '_ {
        self.games.keys().copied()
    }

    /// The first game of each pairing whose test has decided.
    pub fn decided(&self) -> impl Iterator<Item = GameId> + '_ {
        let decided = self.tests.iter().filter(|(_, test)| test.verdict() != Verdict::Continue);
        decided.map(|(&(round, pairing), _)| GameId { round, pairing, game: 0 })
    }

    /// The games that count when all are played: those that were decided on
    /// leave out what came after the deciding pair.
    pub fn wanted(&self) -> u64 {
        let decided = |test: &&Sequential| test.verdict() != Verdict::Continue;
        let of = |round: usize, pairing: usize| match self.test(round, pairing).filter(decided) {
            Some(test) => 2 * test.pairs().total(),
            None => self.schedule.games_of(round),
        };
        let pairings = self.schedule.pairings.len();
        (0..self.schedule.rounds.len()).flat_map(|round| (0..pairings).map(move |at| of(round, at))).sum()
    }

    /// The games that count and were played.
    pub fn played(&self) -> u64 {
        self.games().filter(|&id| self.counts(id)).count() as u64
    }

    fn counts(&self, id: GameId) -> bool {
        let test = self.tests.get(&(id.round, id.pairing)).filter(|test| test.verdict() != Verdict::Continue);
        test.is_none_or(|test| id.pair() < test.pairs().total())
    }

    /// The test of a pairing, if there is one.
    pub fn test(&self, round: usize, pairing: usize) -> Option<&Sequential> {
        self.tests.get(&(round, pairing))
    }

    /// What was found in each round.
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

    /// The counted games of a pairing.
    fn of_pairing(&self, round: usize, pairing: usize) -> impl Iterator<Item = (GameId, &Kept)> {
        let ids = GameId { round, pairing, game: 0 }..=GameId { round, pairing, game: u64::MAX };
        self.games.range(ids).map(|(&id, kept)| (id, kept)).filter(|&(id, _)| self.counts(id))
    }

    fn pairing(&self, round: usize, at: usize) -> PairingSummary {
        let mut found = PairingSummary::new(self.schedule.name(at, 0), self.schedule.name(at, 1));
        let (mut all, mut first) = (Score::default(), [Score::default(); 2]);
        let mut goals = [Mean::default(); 2];
        let mut plies = Mean::default();
        let mut waiting = None;
        let mut pairs = Pairs::default();
        for (id, kept) in self.of_pairing(round, at) {
            if let Some(score) = kept.score {
                all.add(score);
                first[kept.first].add(score);
                match waiting {
                    Some((pair, before)) if pair == id.pair() => pairs.add([before, score]),
                    _ => waiting = Some((id.pair(), score)),
                }
            }
            plies.add(f64::from(kept.plies));
            goals.iter_mut().zip(kept.goals).for_each(|(mean, goal)| goal.into_iter().for_each(|goal| mean.add(goal)));
            found.spent.iter_mut().zip(kept.spent).for_each(|(all, spent)| all.join(spent));
            *found.ends.of(kept.end) += 1;
            if let Some((player, kind)) = kept.fault {
                *found.faults[player].entry(kind).or_insert(0) += 1;
            }
        }
        found.games = plies.count;
        found.goals = goals.map(Mean::value);
        found.mean_plies = plies.value();
        if self.schedule.roles > 1 {
            let mut mover = first[0];
            mover.join(first[1].reversed());
            found.score = Some(all.into());
            found.a_first = Some(first[0].into());
            found.b_first = Some(first[1].into());
            found.first = (self.schedule.roles == 2).then(|| mover.into());
            (found.pairs, found.elo, found.nelo) = (pairs.counts(), pairs.elo(), pairs.nelo());
        }
        found.sprt = self.test(round, at).map(|test| self.tested(test));
        found
    }

    fn tested(&self, test: &Sequential) -> TestSummary {
        let told = self.schedule.test.expect("a pairing has a test if the schedule has");
        TestSummary {
            nelo: told.nelo,
            alpha: told.alpha,
            beta: told.beta,
            pairs: test.pairs().total(),
            llr: test.llr(),
            bounds: test.test().bounds(),
            verdict: test.verdict(),
        }
    }

    fn entrant(&self, place: usize, pairings: &[PairingSummary]) -> EntrantSummary {
        let (mut score, mut goals, mut spent) = (Score::default(), Mean::default(), Totals::default());
        let mut faults = BTreeMap::new();
        for (pairing, &players) in pairings.iter().zip(&self.schedule.pairings) {
            let itself = players[0] == players[1];
            for player in (0..2).filter(|&player| players[player] == place) {
                if let Some(of_a) = pairing.score.filter(|_| !itself) {
                    score.join(if player == 0 { of_a.score } else { of_a.score.reversed() });
                }
                // A role alone is played by either of a pairing.
                let games = if self.schedule.roles == 1 { pairing.games / 2 } else { pairing.games };
                pairing.goals[player].into_iter().for_each(|goal| goals.join(goal, games));
                spent.join(pairing.spent[player]);
                pairing.faults[player].iter().for_each(|(&kind, count)| *faults.entry(kind).or_insert(0) += count);
            }
        }
        let compared = self.schedule.roles > 1 && score.games > 0;
        EntrantSummary {
            name: self.schedule.entrants[place].name.clone(),
            elo: if compared { score.outcomes().elo() } else { None },
            score: compared.then(|| score.into()),
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

/// A score with its rate and 95% interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Rated {
    /// The counts.
    #[serde(flatten)]
    pub score: Score,
    /// The share of the points.
    pub rate: f64,
    /// Its 95% interval.
    pub interval: [f64; 2],
}

impl From<Score> for Rated {
    fn from(score: Score) -> Rated {
        Rated { score, rate: score.rate(), interval: score.interval() }
    }
}

/// What was found in a round.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RoundSummary {
    /// The round.
    pub name: String,
    /// The score of who moves first, over all games of two roles.
    pub first: Option<Rated>,
    /// By entrant.
    pub entrants: Vec<EntrantSummary>,
    /// By pairing.
    pub pairings: Vec<PairingSummary>,
}

/// How an entrant fared in a round.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EntrantSummary {
    /// The entrant.
    pub name: String,
    /// Its score against others.
    pub score: Option<Rated>,
    /// Elo of that score.
    pub elo: Option<Estimate>,
    /// Its mean goal.
    pub goal: Option<f64>,
    /// How often it was at fault.
    pub faults: BTreeMap<FaultKind, u64>,
    /// What it spent.
    pub spent: Totals,
}

/// How the games of two entrants went. Scores are of the first, `a`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PairingSummary {
    /// The first entrant.
    pub a: String,
    /// The second.
    pub b: String,
    /// The games.
    pub games: u64,
    /// All games.
    pub score: Option<Rated>,
    /// Those in which `a` has role 0.
    pub a_first: Option<Rated>,
    /// Those in which `b` has.
    pub b_first: Option<Rated>,
    /// Of two roles: the score of whoever moves first.
    pub first: Option<Rated>,
    /// Pairs of games, counted by the points of `a`: 0, ½, 1, 1½ and 2.
    pub pairs: [u64; 5],
    /// The difference in Elo.
    pub elo: Option<Estimate>,
    /// The difference in normalised Elo.
    pub nelo: Option<Estimate>,
    /// The test, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sprt: Option<TestSummary>,
    /// The mean goals of `a` and `b`.
    pub goals: [Option<f64>; 2],
    /// The mean plies of a game.
    pub mean_plies: Option<f64>,
    /// What ended the games.
    pub ends: Ends,
    /// How often `a` and `b` were at fault.
    pub faults: [BTreeMap<FaultKind, u64>; 2],
    /// What `a` and `b` spent.
    pub spent: [Totals; 2],
}

impl PairingSummary {
    fn new(a: &str, b: &str) -> PairingSummary {
        PairingSummary {
            a: a.to_owned(),
            b: b.to_owned(),
            games: 0,
            score: None,
            a_first: None,
            b_first: None,
            first: None,
            pairs: [0; 5],
            elo: None,
            nelo: None,
            sprt: None,
            goals: [None; 2],
            mean_plies: None,
            ends: Ends::default(),
            faults: [BTreeMap::new(), BTreeMap::new()],
            spent: [Totals::default(); 2],
        }
    }
}

/// How often games ended in which way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Ends {
    /// By the rules.
    pub rules: u64,
    /// At the ply limit.
    pub ply_limit: u64,
    /// By adjudication.
    pub adjudicated: u64,
    /// By a fault.
    pub fault: u64,
}

impl Ends {
    fn of(&mut self, end: End) -> &mut u64 {
        match end {
            End::Rules => &mut self.rules,
            End::PlyLimit => &mut self.ply_limit,
            End::Adjudicated => &mut self.adjudicated,
            End::Fault => &mut self.fault,
        }
    }
}

/// What a sequential test has found.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TestSummary {
    /// The strengths of H0 and H1.
    pub nelo: [f64; 2],
    /// How often H1 may be accepted where H0 is true.
    pub alpha: f64,
    /// How often H0 may be accepted where H1 is true.
    pub beta: f64,
    /// The pairs counted.
    pub pairs: u64,
    /// The logarithm of the likelihood ratio.
    pub llr: f64,
    /// Where it decides.
    pub bounds: [f64; 2],
    /// What it has decided.
    pub verdict: Verdict,
}
