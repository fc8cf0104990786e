//! UCB1 for bandits of few arms.

use super::space::{MOST_VALUES, random_bit};
use crate::game::Rng;

/// What an untried arm is worth to UCB1, in rewards 0 to 1.
pub(super) const UNTRIED: f64 = 1.0;

/// The factor C √(ln t) that the values of all arms of a bandit have in
/// common after `total` plays of it.
#[inline]
pub(super) fn exploration(c: f64, total: u32) -> f64 {
    c * f64::from(total.max(1)).ln().sqrt()
}

/// Arms are valued by fours, in vector registers.
const LANES: usize = 4;

/// Bandits side by side in flat arrays.
///
/// UCB1 values an arm at mean + C √(ln t / n), after n of the t plays of its
/// bandit (paper 001, equation 1), but at 1 while it is untried. Of equal arms
/// one is chosen at random.
#[derive(Clone, Debug)]
pub(super) struct Bandits {
    /// The places a bandit takes, a multiple of [`LANES`].
    stride: usize,
    /// A place without an arm has the mean of an untried one, and is never
    /// feasible.
    mean: Vec<f64>,
    /// 1 / √visits, and 0 without visits.
    spread: Vec<f64>,
    sum: Vec<f64>,
    visits: Vec<u32>,
}

impl Bandits {
    /// No bandit yet, of at most `arms` arms each.
    pub(super) fn new(arms: usize) -> Bandits {
        debug_assert!(arms <= MOST_VALUES);
        let stride = arms.next_multiple_of(LANES);
        Bandits { stride, mean: Vec::new(), spread: Vec::new(), sum: Vec::new(), visits: Vec::new() }
    }

    /// Adds a bandit whose arms are untried, and returns its number.
    pub(super) fn push(&mut self) -> usize {
        let bandit = self.mean.len() / self.stride;
        let len = self.mean.len() + self.stride;
        self.mean.resize(len, UNTRIED);
        self.spread.resize(len, 0.0);
        self.sum.resize(len, 0.0);
        self.visits.resize(len, 0);
        bandit
    }

    /// The arm of highest value of those in `feasible`, of which there is at
    /// least one.
    #[inline]
    pub(super) fn choose(&self, bandit: usize, feasible: u32, exploration: f64, rng: &mut Rng) -> usize {
        if feasible.is_power_of_two() {
            return feasible.trailing_zeros() as usize;
        }
        random_bit(self.best(bandit, feasible, exploration), rng)
    }

    /// The arms of highest value of those in `feasible`.
    #[inline]
    fn best(&self, bandit: usize, feasible: u32, exploration: f64) -> u32 {
        let start = bandit * self.stride;
        let mean = self.mean[start..start + self.stride].as_chunks::<LANES>().0;
        let spread = self.spread[start..start + self.stride].as_chunks::<LANES>().0;
        let value =
            |i: usize| -> [f64; LANES] { std::array::from_fn(|lane| mean[i][lane] + exploration * spread[i][lane]) };
        let mut most = [f64::NEG_INFINITY; LANES];
        for i in 0..mean.len() {
            for (lane, value) in value(i).into_iter().enumerate() {
                let value = if feasible >> (i * LANES + lane) & 1 == 1 { value } else { f64::NEG_INFINITY };
                most[lane] = if value > most[lane] { value } else { most[lane] };
            }
        }
        let most = most.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let mut best = 0;
        for i in 0..mean.len() {
            for (lane, value) in value(i).into_iter().enumerate() {
                best |= u32::from(value == most) << (i * LANES + lane);
            }
        }
        best & feasible
    }

    /// Counts a reward for an arm.
    #[inline]
    pub(super) fn update(&mut self, bandit: usize, arm: usize, reward: f64) {
        let place = bandit * self.stride + arm;
        self.visits[place] += 1;
        self.sum[place] += reward;
        let visits = f64::from(self.visits[place]);
        self.mean[place] = self.sum[place] / visits;
        self.spread[place] = 1.0 / visits.sqrt();
    }

    /// How often an arm was played.
    #[inline]
    pub(super) fn visits(&self, bandit: usize, arm: usize) -> u32 {
        self.visits[bandit * self.stride + arm]
    }
}
