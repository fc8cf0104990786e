//! UCB1 for bandits with few arms.

use sternhalma_game::Rng;
use sternhalma_game::util::bits;

use super::bits::{MAX_VALUES, random_bit};

/// The UCB1 value of an untried arm, for rewards from 0 to 1.
pub(super) const UNTRIED: f64 = 1.0;

/// A number of simulations, and the sum of their rewards.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RewardTotal {
    pub visits: u32,
    pub sum: f64,
}

impl RewardTotal {
    /// Adds a simulation.
    #[inline]
    pub(super) fn add(&mut self, reward: f64) {
        self.visits += 1;
        self.sum += reward;
    }

    /// Returns the mean reward, if there are simulations.
    pub(super) fn mean(self) -> Option<f64> {
        (self.visits > 0).then(|| self.sum / f64::from(self.visits))
    }
}

/// Returns C √(ln t), the factor in the values of all arms of a bandit after
/// `total` plays.
#[inline]
pub(super) fn exploration(c: f64, total: u32) -> f64 {
    c * f64::from(total.max(1)).ln().sqrt()
}

/// The number of arms that are evaluated together in a vector register.
const LANES: usize = 4;

type LaneValues = [f64; LANES];

/// The offsets to the values of arms, by bit mask of the feasible arms: 0 for
/// a feasible arm, otherwise a value that moves the arm below all others.
static BARRED: [LaneValues; 1 << LANES] = {
    let mut barred = [[f64::NEG_INFINITY; LANES]; 1 << LANES];
    let mut i = 0;
    while i < LANES << LANES {
        if ((i / LANES) >> (i % LANES)) & 1 == 1 {
            barred[i / LANES][i % LANES] = 0.0;
        }
        i += 1;
    }
    barred
};

/// Several bandits in flat arrays.
///
/// The UCB1 value of an arm is mean + C w √(ln t / n), after n of the t plays
/// of its bandit [Sironi and Winands 2018, equation 1]. The value of an untried
/// arm is 1. Ties are broken at random. The weight w is 1 unless the arm has a
/// prior: arms with equal means are played in proportion to w².
#[derive(Clone, Debug)]
pub(super) struct Bandits {
    /// The number of groups of [`LANES`] entries per bandit.
    stride: usize,
    /// The means. An entry without an arm has the mean of an untried arm, and
    /// is never feasible.
    mean: Vec<LaneValues>,
    /// w / √visits; 0 without visits.
    spread: Vec<LaneValues>,
    weight: Vec<LaneValues>,
    sum: Vec<LaneValues>,
    visits: Vec<[u32; LANES]>,
}

impl Bandits {
    /// Creates an empty set of bandits with at most `arms` arms each.
    pub(super) fn new(arms: usize) -> Bandits {
        debug_assert!(arms <= MAX_VALUES);
        let stride = arms.div_ceil(LANES);
        Bandits {
            stride,
            mean: Vec::new(),
            spread: Vec::new(),
            weight: Vec::new(),
            sum: Vec::new(),
            visits: Vec::new(),
        }
    }

    /// Adds a bandit with untried arms and returns its number.
    pub(super) fn push(&mut self) -> usize {
        let bandit = self.mean.len() / self.stride;
        let len = self.mean.len() + self.stride;
        self.mean.resize(len, [UNTRIED; LANES]);
        self.spread.resize(len, [0.0; LANES]);
        self.weight.resize(len, [1.0; LANES]);
        self.sum.resize(len, [0.0; LANES]);
        self.visits.resize(len, [0; LANES]);
        bandit
    }

    /// Returns the arm with the highest value among those in `feasible`, which
    /// must not be empty.
    #[inline]
    pub(super) fn choose(&self, bandit: usize, feasible: u32, exploration: f64, rng: &mut Rng) -> usize {
        if feasible.is_power_of_two() {
            return feasible.trailing_zeros() as usize;
        }
        let start = bandit * self.stride;
        let mut best = LaneBest { value: [f64::NEG_INFINITY; LANES], group: [0; LANES], ties: [0; LANES] };
        for i in 0..self.stride {
            let barred = &BARRED[(feasible >> (i * LANES)) as usize % BARRED.len()];
            best.meet(&self.mean[start + i], &self.spread[start + i], barred, exploration, i as u64);
        }
        best.arm().unwrap_or_else(|| random_bit(self.ties(bandit, feasible, exploration), rng))
    }

    /// Returns the arms with the highest value among those in `feasible`.
    #[cold]
    fn ties(&self, bandit: usize, feasible: u32, exploration: f64) -> u32 {
        let value = |arm: usize| self.value(bandit, arm, exploration);
        let most = bits(feasible).map(value).fold(f64::NEG_INFINITY, f64::max);
        bits(feasible).filter(|&arm| value(arm) == most).fold(0, |ties, arm| ties | 1 << arm)
    }

    fn value(&self, bandit: usize, arm: usize, exploration: f64) -> f64 {
        let (group, lane) = (bandit * self.stride + arm / LANES, arm % LANES);
        self.mean[group][lane] + exploration * self.spread[group][lane]
    }

    /// Sets the exploration weight of an untried arm.
    pub(super) fn weigh(&mut self, bandit: usize, arm: usize, weight: f64) {
        self.weight[bandit * self.stride + arm / LANES][arm % LANES] = weight;
    }

    /// Adds a reward for an arm.
    #[inline]
    pub(super) fn update(&mut self, bandit: usize, arm: usize, reward: f64) {
        let (group, lane) = (bandit * self.stride + arm / LANES, arm % LANES);
        self.visits[group][lane] += 1;
        self.sum[group][lane] += reward;
        let visits = f64::from(self.visits[group][lane]);
        self.mean[group][lane] = self.sum[group][lane] / visits;
        self.spread[group][lane] = self.weight[group][lane] / visits.sqrt();
    }

    /// Returns the number of plays of an arm.
    #[inline]
    pub(super) fn visits(&self, bandit: usize, arm: usize) -> u32 {
        self.visits[bandit * self.stride + arm / LANES][arm % LANES]
    }
}

/// The best arms seen so far in each lane.
struct LaneBest {
    value: LaneValues,
    /// The group of the first arm with that value.
    group: [u64; LANES],
    /// 1 if another arm has the same value.
    ties: [u64; LANES],
}

impl LaneBest {
    #[inline]
    fn meet(&mut self, mean: &LaneValues, spread: &LaneValues, barred: &LaneValues, exploration: f64, group: u64) {
        for lane in 0..LANES {
            let value = mean[lane] + exploration * spread[lane] + barred[lane];
            let better = value > self.value[lane];
            let equal = value == self.value[lane];
            self.ties[lane] = if better { 0 } else { self.ties[lane] | u64::from(equal) };
            self.group[lane] = if better { group } else { self.group[lane] };
            self.value[lane] = if better { value } else { self.value[lane] };
        }
    }

    /// Returns the best arm over all lanes, or `None` if there is a tie.
    #[inline]
    fn arm(&self) -> Option<usize> {
        let mut best = 0;
        let mut ties = self.ties[0];
        for lane in 1..LANES {
            if self.value[lane] > self.value[best] {
                (best, ties) = (lane, self.ties[lane]);
            } else if self.value[lane] == self.value[best] {
                ties = 1;
            }
        }
        (ties == 0).then(|| self.group[best] as usize * LANES + best)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;

    use super::*;
    use crate::tuning::testing::rows;
    use sternhalma_game::Rng;

    const VALUES: &str = include_str!("../../tests/data/tuning/ucb1.tsv");

    #[test]
    fn values_are_those_worked_outside() {
        for row in rows(VALUES) {
            let [n, sum, t, value] = row[..] else { panic!("{row:?}") };
            let (n, sum, t): (u32, f64, u32) = (n.parse().unwrap(), sum.parse().unwrap(), t.parse().unwrap());
            let mut bandits = Bandits::new(6);
            bandits.push();
            let bandit = bandits.push();
            for _ in 0..n {
                bandits.update(bandit, 5, sum / f64::from(n));
            }
            let found = bandits.value(bandit, 5, exploration(0.7, t));
            assert!((found - value.parse::<f64>().unwrap()).abs() < 1e-12, "{row:?}: {found}");
        }
    }

    proptest! {
        #[test]
        fn the_choice_is_among_the_best_of_a_full_scan(
            plays in prop::collection::vec((0_usize..11, 0_u8..3), 0..80),
            feasible in 1_u32..1 << 11,
            weights in prop::collection::vec(1.0..9.0, 11),
            seed: u64,
        ) {
            let mut bandits = Bandits::new(11);
            bandits.push();
            let bandit = bandits.push();
            weights.iter().enumerate().for_each(|(arm, &weight)| bandits.weigh(bandit, arm, weight));
            let mut counts = [(0_u32, 0.0); 11];
            for &(arm, reward) in &plays {
                bandits.update(bandit, arm, f64::from(reward) / 2.0);
                counts[arm].0 += 1;
                counts[arm].1 += f64::from(reward) / 2.0;
            }
            let t = plays.len() as u32;
            let value = |arm: usize| {
                let (n, sum) = counts[arm];
                let exploration = 0.7 * (f64::from(t.max(1)).ln() / f64::from(n)).sqrt();
                if n == 0 { 1.0 } else { sum / f64::from(n) + weights[arm] * exploration }
            };
            let arms = || (0..11).filter(|arm| feasible >> arm & 1 == 1);
            let most = arms().map(value).fold(f64::MIN, f64::max);
            let best: Vec<usize> = arms().filter(|&arm| (value(arm) - most).abs() < 1e-12).collect();
            let mut rng = Rng::seed_from_u64(seed);
            let chosen: std::collections::BTreeSet<usize> =
                (0..100 * best.len()).map(|_| bandits.choose(bandit, feasible, exploration(0.7, t), &mut rng)).collect();
            prop_assert_eq!(chosen.into_iter().collect::<Vec<usize>>(), best);
        }
    }
}
