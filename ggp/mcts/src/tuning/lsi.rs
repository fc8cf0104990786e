//! Linear side information [Sironi and Winands 2018, section 4.2].

use rand::RngExt;
use rustc_hash::FxHashSet;
use sternhalma_game::util::bits;

use super::bits::{all, random_bit};
use super::space::Partial;
use super::{Combination, MAX_COMBINATIONS, MAX_VALUES, RewardTotal, Rng, Setting, Space};

/// Linear side information [Sironi and Winands 2018, section 4.2, figure 5].
///
/// The first phase tests single values. The second phase compares combinations
/// of the better values by sequential halving. The best combination is then
/// used. N_g is the number of simulations of the first phase.
#[derive(Clone, Debug)]
pub(super) struct Lsi {
    /// N_e, the number of simulations that compare combinations.
    evaluate: u32,
    /// k, the number of draws of combinations.
    candidates: u32,
    /// Whether N_g, N_e and k are still unknown; values are tested until then.
    unsettled: bool,
    stage: Stage,
}

#[derive(Clone, Debug)]
enum Stage {
    Generation(SideInfo),
    Evaluation(Halving),
    Recommendation(Combination),
}

impl Lsi {
    pub(super) fn new(space: &Space, generate: u32, evaluate: u32, candidates: u32) -> Lsi {
        Lsi { evaluate, candidates, unsettled: false, stage: Stage::Generation(SideInfo::new(space, generate)) }
    }

    /// Creates a tuner that tests values until [`settle`](Lsi::settle) sets
    /// its numbers.
    pub(super) fn unsettled(space: &Space) -> Lsi {
        Lsi { unsettled: true, ..Lsi::new(space, u32::MAX, 0, 1) }
    }

    /// Sets N_g, N_e and k, if they are still unknown, for a match with a number of
    /// `simulations`. The two phases take half of them, and the best combination
    /// plays the rest. The ratio is that of 75,000, 25,000 and 2,000 [Sironi and
    /// Winands 2018, section 5.1].
    pub(super) fn settle(&mut self, simulations: u32) {
        if let Stage::Generation(side) = &mut self.stage
            && self.unsettled
        {
            // The simulations of both phases, N_g + N_e.
            let samples = simulations / 2;
            self.unsettled = false;
            self.evaluate = samples / 4;
            self.candidates = (samples / 50).clamp(1, MAX_COMBINATIONS as u32);
            side.end_after(samples - samples / 4);
        }
    }

    /// Chooses a combination. The first choice after the generation phase
    /// creates the candidates, which takes about half a microsecond per
    /// candidate.
    #[inline]
    pub(super) fn choose(&mut self, space: &Space, rng: &mut Rng) -> Combination {
        if let Stage::Generation(side) = &self.stage
            && side.is_complete()
        {
            let field = side.candidates(space, self.candidates, rng);
            self.stage = Halving::new(field, self.evaluate).stage();
        }
        match &self.stage {
            Stage::Generation(side) => side.choose(space, rng),
            Stage::Evaluation(halving) => halving.choose(),
            Stage::Recommendation(best) => *best,
        }
    }

    #[inline]
    pub(super) fn update(&mut self, reward: f64) {
        match &mut self.stage {
            Stage::Generation(side) => side.update(reward),
            Stage::Evaluation(halving) => {
                if halving.update(reward) {
                    self.stage = halving.halve().stage();
                }
            }
            Stage::Recommendation(_) => {}
        }
    }

    /// Returns the recommended combination. In the evaluation phase the result
    /// is the candidate with the highest mean. In the generation phase the
    /// result combines the values with the highest means.
    pub(super) fn best(&self, space: &Space) -> Combination {
        match &self.stage {
            Stage::Generation(side) => space.greedy(|setting| side.mean(setting)),
            Stage::Evaluation(halving) => halving.best(),
            Stage::Recommendation(best) => *best,
        }
    }
}

/// The mean reward of each value over all values of the other parameters: R̂.
///
/// `None` is sampled like a value, as in the settings that the authors
/// published.
#[derive(Clone, Debug)]
struct SideInfo {
    sampled: Vec<Setting>,
    /// m, the number of samples per value.
    rounds: u32,
    round: u32,
    /// The next value to sample in this round.
    next: usize,
    /// By slot.
    totals: Vec<RewardTotal>,
}

impl SideInfo {
    fn new(space: &Space, samples: u32) -> SideInfo {
        let sampled: Vec<Setting> = space.settings().collect();
        let slots = space.parameters().len() * MAX_VALUES;
        let totals = vec![RewardTotal::default(); slots];
        let mut side = SideInfo { sampled, rounds: 0, round: 0, next: 0, totals };
        side.end_after(samples);
        side
    }

    /// Ends sampling with the last round within `samples`, or with the current
    /// round if that is later.
    fn end_after(&mut self, samples: u32) {
        self.rounds = samples.checked_div(self.sampled.len() as u32).unwrap_or(0);
    }

    fn is_complete(&self) -> bool {
        self.next == 0 && self.round >= self.rounds
    }

    /// Returns a combination with the value to sample and random other values.
    #[inline]
    fn choose(&self, space: &Space, rng: &mut Rng) -> Combination {
        let partial = space.set(space.everything(), self.sampled[self.next]);
        space.extend(partial, rng, |_, feasible, rng| random_bit(feasible, rng))
    }

    #[inline]
    fn update(&mut self, reward: f64) {
        self.totals[self.sampled[self.next].slot()].add(reward);
        self.next += 1;
        if self.next == self.sampled.len() {
            self.next = 0;
            self.round += 1;
        }
    }

    fn mean(&self, setting: Setting) -> f64 {
        self.totals[setting.slot()].mean().unwrap_or(0.0)
    }

    /// Returns the different combinations of `count` draws, in order of their
    /// first draw.
    fn candidates(&self, space: &Space, count: u32, rng: &mut Rng) -> Vec<Combination> {
        let mut known = FxHashSet::default();
        let drawn = (0..count).map(|_| self.candidate(space, rng));
        drawn.filter(|combination| known.insert(combination.key())).collect()
    }

    /// Draws settings one after another from all that are feasible for the
    /// unset parameters.
    fn candidate(&self, space: &Space, rng: &mut Rng) -> Combination {
        let mut partial = space.everything();
        let mut unset = all(space.parameters().len());
        while unset != 0 {
            let setting = self.draw(partial, unset, rng);
            partial = space.set(partial, setting);
            unset &= !(1 << setting.parameter);
        }
        partial.combination()
    }

    /// Draws a feasible setting of an unset parameter with a probability
    /// proportional to its mean. If all means are 0, all settings are equally
    /// likely.
    fn draw(&self, partial: Partial, unset: u32, rng: &mut Rng) -> Setting {
        let feasible = || {
            bits(unset).flat_map(move |parameter| {
                bits(partial.feasible(parameter)).map(move |value| Setting { parameter, value })
            })
        };
        let total: f64 = feasible().map(|setting| self.mean(setting)).sum();
        if total <= 0.0 {
            let count = feasible().count();
            return feasible().nth(rng.random_range(0..count)).expect("an unset parameter has a feasible value");
        }
        let mut left = total * rng.random::<f64>();
        // Rounding errors go to the last setting with a positive mean.
        let mut drawn = None;
        for setting in feasible().filter(|&setting| self.mean(setting) > 0.0) {
            drawn = Some(setting);
            left -= self.mean(setting);
            if left < 0.0 {
                break;
            }
        }
        drawn.expect("means that add up to more than 0 are not all 0")
    }
}

/// A combination that takes part in the comparison.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    combination: Combination,
    /// The simulations of the combination, including those of earlier phases.
    total: RewardTotal,
}

impl Candidate {
    fn mean(&self) -> f64 {
        self.total.mean().unwrap_or(0.0)
    }
}

/// Sequential halving: in each phase all candidates are sampled equally often,
/// and the better half of them remains.
#[derive(Clone, Debug)]
struct Halving {
    /// C_i, the remaining candidates.
    field: Vec<Candidate>,
    /// N_e, the number of simulations that compare combinations.
    samples: u32,
    /// The number of phases, ⌈log₂ |C*|⌉.
    phases: u32,
    /// The number of samples per candidate in this phase: m.
    rounds: u32,
    round: u32,
    /// The next candidate to sample in this round.
    next: usize,
}

impl Halving {
    fn new(combinations: Vec<Combination>, samples: u32) -> Halving {
        let candidate = |combination| Candidate { combination, total: RewardTotal::default() };
        let field: Vec<Candidate> = combinations.into_iter().map(candidate).collect();
        let phases = field.len().next_power_of_two().ilog2();
        let rounds = rounds(samples, field.len(), phases);
        Halving { field, samples, phases, rounds, round: 0, next: 0 }
    }

    /// Returns the phase to continue with. A single candidate needs no
    /// comparison.
    fn stage(self) -> Stage {
        match self.field[..] {
            [last] => Stage::Recommendation(last.combination),
            _ => Stage::Evaluation(self),
        }
    }

    #[inline]
    fn choose(&self) -> Combination {
        self.field[self.next].combination
    }

    /// Adds a reward and returns whether the phase is over.
    #[inline]
    fn update(&mut self, reward: f64) -> bool {
        self.field[self.next].total.add(reward);
        self.next += 1;
        if self.next == self.field.len() {
            self.next = 0;
            self.round += 1;
        }
        self.round == self.rounds
    }

    /// Returns the next phase. Among candidates with equal means, those drawn
    /// first remain, which is as good as a random choice.
    fn halve(&mut self) -> Halving {
        let mut field = std::mem::take(&mut self.field);
        field.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
        field.truncate(field.len().div_ceil(2));
        let rounds = rounds(self.samples, field.len(), self.phases);
        Halving { field, rounds, round: 0, next: 0, ..*self }
    }

    fn best(&self) -> Combination {
        let best = self.field.iter().reduce(|a, b| if b.mean() > a.mean() { b } else { a });
        best.expect("sequential halving keeps a candidate").combination
    }
}

/// Returns m = ⌊N_e / (|C_i| ⌈log₂ |C*|⌉)⌋, but at least 1.
fn rounds(samples: u32, field: usize, phases: u32) -> u32 {
    let shares = field as u64 * u64::from(phases);
    u64::from(samples).checked_div(shares).unwrap_or(0).max(1) as u32
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::tuning::testing::{numbers, rows, ruled, setting};

    const HALVING: &str = include_str!("../../tests/data/tuning/halving.tsv");

    #[test]
    fn each_value_of_the_paper_is_tested_1923_times_in_turn() {
        let space = Space::grave_mast();
        let mut rng = Rng::seed_from_u64(1);
        let legal: std::collections::HashSet<Combination> = space.combinations().into_iter().collect();
        let mut side = SideInfo::new(&space, 75_000);
        // 9 + 10 + 9 + 11 = 39 values, and 39 · 1,923 = 74,997.
        assert_eq!((side.sampled.len(), side.rounds), (39, 1_923));
        for i in 0..74_997 {
            assert!(!side.is_complete());
            let chosen = side.choose(&space, &mut rng);
            assert!(legal.contains(&chosen));
            let tested = side.sampled[i % 39];
            assert_eq!(chosen.index(tested.parameter), tested.value);
            side.update(if tested.value == 3 { 0.5 } else { 0.25 });
        }
        assert!(side.is_complete());
        for tested in &side.sampled {
            assert_eq!(side.totals[tested.slot()].visits, 1_923);
            assert_eq!(side.mean(*tested), if tested.value == 3 { 0.5 } else { 0.25 });
        }
        assert_eq!(side.totals.iter().map(|total| total.visits).sum::<u32>(), 74_997);
    }

    #[test]
    fn other_values_are_random_while_one_is_tested() {
        let space = Space::grave_mast();
        let mut rng = Rng::seed_from_u64(2);
        // The first tested value is one of C.
        let side = SideInfo::new(&space, 39);
        let mut counts = [0; 11];
        for _ in 0..11_000 {
            counts[side.choose(&space, &mut rng).index(3)] += 1;
        }
        // Each count is 1,000 with a standard deviation of 30.
        assert!(counts.iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
    }

    #[test]
    fn phases_halve_as_worked_outside() {
        for row in rows(HALVING) {
            let [count, samples, _, sizes, rounds] = row[..] else { panic!("{row:?}") };
            let combinations = Space::grave_mast().combinations()[..count.parse().unwrap()].to_vec();
            let best = *combinations.last().unwrap();
            let mut stage = Halving::new(combinations, samples.parse().unwrap()).stage();
            let (mut found_sizes, mut found_rounds) = (Vec::new(), Vec::new());
            while let Stage::Evaluation(halving) = &mut stage {
                let size = halving.field.len();
                found_sizes.push(size);
                let mut plays = 0;
                loop {
                    plays += 1;
                    let reward = if halving.choose() == best { 1.0 } else { 0.5 };
                    if halving.update(reward) {
                        break;
                    }
                }
                assert_eq!(plays % size, 0);
                found_rounds.push(plays / size);
                stage = halving.halve().stage();
            }
            assert_eq!((found_sizes, found_rounds), (numbers(sizes), numbers(rounds)));
            assert!(matches!(stage, Stage::Recommendation(last) if last == best));
        }
    }

    #[test]
    fn the_better_half_stays_by_all_rewards() {
        let combinations = Space::grave_mast().combinations()[..4].to_vec();
        // 2 phases, so m = 8 / (4 · 2) = 1 and then 8 / (2 · 2) = 2.
        let mut halving = Halving::new(combinations.clone(), 8);
        for reward in [0.5, 0.0, 1.0, 0.25] {
            halving.update(reward);
        }
        let mut halving = halving.halve();
        let field: Vec<Combination> = halving.field.iter().map(|candidate| candidate.combination).collect();
        assert_eq!(field, [combinations[2], combinations[0]]);
        // The sums are 1 + 0.25 + 0.25 and 0.5 + 0.5 + 0.25. The first is
        // better over all rewards, although not over those of this phase.
        for reward in [0.25, 0.5, 0.25, 0.25] {
            halving.update(reward);
        }
        assert_eq!(halving.best(), combinations[2]);
        assert!(matches!(halving.halve().stage(), Stage::Recommendation(best) if best == combinations[2]));
    }

    /// Counts the candidates, out of 10,000, with the value 0 of A and without
    /// a value of B.
    fn without_b(means: &[(usize, usize, f64)]) -> usize {
        let space = ruled();
        let mut side = SideInfo::new(&space, 5);
        for &(parameter, value, mean) in means {
            let slot = setting(parameter, value).slot();
            side.totals[slot] = RewardTotal { visits: 1, sum: mean };
        }
        let mut rng = Rng::seed_from_u64(3);
        let candidates: Vec<Combination> = (0..10_000).map(|_| side.candidate(&space, &mut rng)).collect();
        let legal = space.combinations();
        assert!(candidates.iter().all(|candidate| legal.contains(candidate)));
        candidates.iter().filter(|candidate| candidate.index(0) == 0).count()
    }

    #[test]
    fn candidates_are_drawn_in_proportion_to_means() {
        // If 0 of A is drawn first, no value of B is left. Any other first draw
        // leaves 1 or 2 of A. The probability is 0.6 of 0.6 + 0.1 + 0.1 + 0.1 +
        // 0.1, with a standard deviation of 49.
        let count = without_b(&[(0, 0, 0.6), (0, 1, 0.1), (0, 2, 0.1), (1, 0, 0.1), (1, 1, 0.1)]);
        assert!((5_800..6_200).contains(&count), "{count}");
        // Without means all six settings are equally likely, including `None`
        // of B. Two of the six lead to 0 of A, with a standard deviation of
        // 47.
        let count = without_b(&[]);
        assert!((3_133..3_533).contains(&count), "{count}");
        // A value with mean 0 is not drawn while another has a positive mean.
        assert_eq!(without_b(&[(1, 1, 0.5)]), 0);
    }

    #[test]
    fn numbers_may_be_set_during_generation() {
        let space = ruled();
        // The 6 values are tested in turn. 8/2 = 4 samples are less than a
        // round of 6, and 81/2 = 40 leave 30 samples for 5 rounds.
        for (played, simulations, tested) in [(0, 8, 0), (7, 8, 12), (10, 81, 30), (33, 81, 36)] {
            let mut rng = Rng::seed_from_u64(5);
            let mut lsi = Lsi::unsettled(&space);
            let mut count = 0;
            while matches!(lsi.stage, Stage::Generation(_)) && count < 100 {
                if count == played {
                    lsi.settle(simulations);
                    lsi.settle(1_000_000);
                }
                lsi.choose(&space, &mut rng);
                if matches!(lsi.stage, Stage::Generation(_)) {
                    lsi.update(0.5);
                    count += 1;
                }
            }
            assert_eq!(count, tested, "{simulations} set after {played}");
            assert_eq!((lsi.evaluate, lsi.candidates), if simulations == 8 { (1, 1) } else { (10, 1) });
        }
    }

    #[test]
    fn equal_candidates_are_one() {
        let space = ruled();
        let side = SideInfo::new(&space, 0);
        let candidates = side.candidates(&space, 1_000, &mut Rng::seed_from_u64(4));
        assert_eq!(candidates.len(), space.combinations().len());
    }
}
