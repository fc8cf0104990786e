//! The allocation of simulations to strategies [Świechowski and Mańdziuk 2014,
//! section VI].

/// A rule that allocates simulations to strategies.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum StrategyAllocation {
    /// The highest mean + b wᵢ √(ln n / Tᵢ), with rewards from 0 to 1;
    /// unused strategies come first (section VI.A). The weights w are 1, or
    /// `prior` for strategies that are [expected](Allocator::expect) to be
    /// good.
    Ucb {
        /// The weight of exploration, 5 in the paper.
        b: f64,
        /// The minimum fraction of the simulations, 0 to 1. A strategy below
        /// this minimum comes next, the one furthest behind first.
        floor: f64,
        /// The maximum fraction, 0 to 1, while another strategy is available.
        ceiling: f64,
        /// The exploration weight of expected strategies, at least 1. If the
        /// weight is more than 1, a strategy that the rules make random is
        /// omitted.
        prior: f64,
    },
    /// Rounds with 22, 11, 7, 4, 2 and 1 simulations by rank (section VI.B).
    Static,
    /// Rounds with simulations in proportion to the squared means (section
    /// VI.C).
    Square,
    /// All strategies equally often during the start clock, then only the best
    /// (MINI-1-S, section VII.C).
    UniformThenBest,
}

impl StrategyAllocation {
    /// UCB with the parameters of the paper.
    pub const UCB: StrategyAllocation = StrategyAllocation::Ucb { b: 5.0, floor: 0.0, ceiling: 1.0, prior: 1.0 };
}

/// The simulations that used a strategy.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct StrategyTally {
    /// The number of simulations.
    pub simulations: u32,
    /// The sum of their rewards, each from 0 to 1.
    pub sum: f64,
}

impl StrategyTally {
    /// Returns the mean reward; 0 without simulations.
    pub fn mean(self) -> f64 {
        if self.simulations == 0 { 0.0 } else { self.sum / f64::from(self.simulations) }
    }
}

/// The number of simulations per round, by rank of the strategy.
const STATIC_QUOTAS: [u32; 6] = [22, 11, 7, 4, 2, 1];

/// Allocates simulations to strategies, which are identified by number.
#[derive(Clone, Debug)]
pub struct Allocator {
    allocation: StrategyAllocation,
    tallies: Vec<StrategyTally>,
    /// Whether each strategy is expected to be good.
    expected: Vec<bool>,
    /// The total number of simulations before the first one of each strategy.
    /// Fractions are relative to the simulations since then.
    before: Vec<u32>,
    /// The remaining simulations of the round, in reverse order.
    round: Vec<usize>,
    /// The fractional remainder of each strategy's simulations in the square
    /// allocation.
    overflow: Vec<f64>,
    /// The only strategy that is used from now on, if there is one.
    only: Option<usize>,
}

impl Allocator {
    /// Creates an allocator for a number of strategies, without simulations.
    pub fn new(allocation: StrategyAllocation, strategies: usize) -> Allocator {
        Allocator {
            allocation,
            tallies: vec![StrategyTally::default(); strategies],
            expected: vec![false; strategies],
            before: vec![0; strategies],
            round: Vec::new(),
            overflow: vec![0.0; strategies],
            only: None,
        }
    }

    /// Marks a strategy as expected to be good.
    pub fn expect(&mut self, strategy: usize) {
        self.expected[strategy] = true;
    }

    /// Returns the simulations and rewards of each strategy.
    pub fn tallies(&self) -> &[StrategyTally] {
        &self.tallies
    }

    /// Returns the strategy of the next simulation among those for which
    /// `is_ready` is true; there must be at least one. An unused strategy comes
    /// first.
    pub fn next(&mut self, is_ready: impl Fn(usize) -> bool, is_start: bool) -> usize {
        let ready: Vec<usize> = (0..self.tallies.len()).filter(|&strategy| is_ready(strategy)).collect();
        if let Some(&untried) = ready.iter().find(|&&strategy| self.tallies[strategy].simulations == 0) {
            return untried;
        }
        match self.allocation {
            StrategyAllocation::Ucb { b, floor, ceiling, prior } => {
                self.highest_bound(&ready, [b, b * prior], floor, ceiling)
            }
            StrategyAllocation::UniformThenBest if is_start => {
                first_most(&ready, |strategy| -f64::from(self.tallies[strategy].simulations))
            }
            StrategyAllocation::UniformThenBest => {
                *self.only.get_or_insert_with(|| first_most(&ready, |strategy| self.tallies[strategy].mean()))
            }
            StrategyAllocation::Static => self.of_round(&ready, Allocator::static_round),
            StrategyAllocation::Square => self.of_round(&ready, Allocator::square_round),
        }
    }

    /// Adds a simulation of a strategy with its reward, 0 to 1.
    pub fn learn(&mut self, strategy: usize, reward: f64) {
        if self.tallies[strategy].simulations == 0 {
            self.before[strategy] = self.simulations();
        }
        let tally = &mut self.tallies[strategy];
        tally.simulations += 1;
        tally.sum += reward;
    }

    fn simulations(&self) -> u32 {
        self.tallies.iter().map(|tally| tally.simulations).sum()
    }

    /// Returns the strategy with the highest upper bound. `b` has the
    /// exploration weights of strategies without and with an expectation.
    fn highest_bound(&self, ready: &[usize], b: [f64; 2], floor: f64, ceiling: f64) -> usize {
        let all = self.simulations();
        // The next simulation is included.
        let since = |strategy: usize| f64::from(all - self.before[strategy] + 1);
        let behind = |strategy: usize| floor * since(strategy) - f64::from(self.tallies[strategy].simulations);
        let furthest = first_most(ready, behind);
        if behind(furthest) > 0.0 {
            return furthest;
        }
        let may = |&strategy: &usize| f64::from(self.tallies[strategy].simulations + 1) <= ceiling * since(strategy);
        let below: Vec<usize> = ready.iter().copied().filter(may).collect();
        let ready = if below.is_empty() { ready } else { &below };
        let log = f64::from(all).ln();
        let bound = |strategy: usize| {
            let tally = self.tallies[strategy];
            tally.mean() + b[usize::from(self.expected[strategy])] * (log / f64::from(tally.simulations)).sqrt()
        };
        first_most(ready, bound)
    }

    fn of_round(&mut self, ready: &[usize], shares: impl Fn(&mut Allocator, &[usize]) -> Vec<(usize, u32)>) -> usize {
        if let Some(strategy) = self.round.pop() {
            return strategy;
        }
        let shares = shares(self, ready);
        self.round = close_to_uniform(&shares);
        self.round.reverse();
        self.round.pop().unwrap_or(ready[0])
    }

    /// Returns the strategies by rank with their simulations. If fewer than
    /// six are ready, the last ranks are empty and the round is shorter.
    fn static_round(&mut self, ready: &[usize]) -> Vec<(usize, u32)> {
        let mut ranked = ready.to_vec();
        ranked.sort_by(|&a, &b| self.tallies[b].mean().total_cmp(&self.tallies[a].mean()));
        ranked.into_iter().zip(STATIC_QUOTAS).collect()
    }

    /// Returns the strategies with their simulations, in their own order.
    /// Means below 1 (of 100) count as 1.
    fn square_round(&mut self, ready: &[usize]) -> Vec<(usize, u32)> {
        let mean = |strategy: usize| (100.0 * self.tallies[strategy].mean()).max(1.0);
        let least = ready.iter().map(|&strategy| mean(strategy)).fold(f64::INFINITY, f64::min);
        let ratios: Vec<f64> = ready.iter().map(|&strategy| mean(strategy) / least).collect();
        let share = |(&strategy, ratio): (&usize, f64)| {
            let share = (ratio + self.overflow[strategy]).powi(2);
            self.overflow[strategy] = share.fract();
            (strategy, share.floor() as u32)
        };
        ready.iter().zip(ratios).map(share).collect()
    }
}

/// Returns the first strategy with the highest value.
fn first_most(strategies: &[usize], value: impl Fn(usize) -> f64) -> usize {
    let better = |best: usize, next: usize| if value(next) > value(best) { next } else { best };
    strategies.iter().copied().reduce(better).unwrap_or(0)
}

/// Returns the order of a round. Each position goes to the strategy that is
/// furthest behind its fraction of the positions so far (ties: the first).
fn close_to_uniform(shares: &[(usize, u32)]) -> Vec<usize> {
    let all: u32 = shares.iter().map(|&(_, share)| share).sum();
    let mut used = vec![0; shares.len()];
    let mut order = Vec::with_capacity(all as usize);
    for place in 1..=all {
        // The unit is 1 / all, so nothing is rounded.
        let behind = |index: usize| i64::from(shares[index].1 * place) - i64::from(all * used[index]);
        let next = (0..shares.len()).rev().max_by_key(|&index| behind(index));
        let Some(next) = next else { break };
        used[next] += 1;
        order.push(shares[next].0);
    }
    order
}
