//! Multi-armed bandit allocation [Sironi and Winands 2018, section 4.2].

use rand::RngExt;

use super::ranked::RankedArms;
use super::ucb::exploration;
use super::{Combination, Rng, Space};

/// UCB1 with one arm per legal combination [Sironi and Winands 2018, section
/// 4.2].
///
/// A combination is kept for a batch of simulations (section 5.1), each of
/// which counts as a play of its arm.
#[derive(Clone, Debug)]
pub(super) struct Mab {
    c: f64,
    batch: u32,
    combinations: Vec<Combination>,
    arms: RankedArms,
    total: u32,
    /// The arm of the batch. The same arm is chosen again until a simulation of
    /// the batch was played.
    arm: u32,
    lot: u32,
    played: u32,
    sum: f64,
}

impl Mab {
    pub(super) fn new(space: &Space, c: f64, batch: u32, rng: &mut Rng) -> Mab {
        let combinations = space.combinations();
        let mut arms = RankedArms::new();
        for _ in &combinations {
            arms.push(rng.random());
        }
        Mab { c, batch, combinations, arms, total: 0, arm: 0, lot: 0, played: 0, sum: 0.0 }
    }

    #[inline]
    pub(super) fn choose(&mut self, rng: &mut Rng) -> Combination {
        if self.played == 0 {
            let arm = self.arms.choose(exploration(self.c, self.total));
            self.arm = arm.expect("a space has a legal combination");
            self.lot = rng.random();
        }
        self.combinations[self.arm as usize]
    }

    #[inline]
    pub(super) fn update(&mut self, reward: f64) {
        self.sum += reward;
        self.played += 1;
        if self.played == self.batch {
            self.arms.update(self.arm, self.batch, self.sum, self.lot);
            self.total += self.batch;
            (self.played, self.sum) = (0, 0.0);
        }
    }

    pub(super) fn best(&self) -> Combination {
        let arm = self.arms.most_visited().expect("a space has a legal combination");
        self.combinations[arm as usize]
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::tuning::testing::{Choices, space};

    const CHOICES: &str = include_str!("../../tests/data/tuning/mab-choices.tsv");

    #[test]
    fn batches_of_ten_are_those_worked_from_the_definition() {
        for name in ["plain", "ruled"] {
            let space = space(name);
            let mut choices = Choices::of(CHOICES, &[name]);
            for seed in 0..4_000 {
                let mut rng = Rng::seed_from_u64(seed);
                let mut mab = Mab::new(&space, 0.7, 10, &mut rng);
                choices.follow(|reward| {
                    let first = mab.choose(&mut rng);
                    for _ in 0..10 {
                        assert_eq!(mab.choose(&mut rng), first);
                        mab.update(reward(first));
                    }
                    first
                });
            }
            choices.assert_all_met();
        }
    }

    #[test]
    fn all_plays_of_a_batch_count() {
        let space = space("plain");
        let mut rng = Rng::seed_from_u64(1);
        let mut mab = Mab::new(&space, 0.7, 10, &mut rng);
        let first = mab.choose(&mut rng);
        // The mean is 0.6, and 0.6 + 0.7 √(ln 10 / 10) = 0.936 is below the
        // value 1 of an untried arm. The last reward alone would give a larger
        // value.
        for reward in [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0] {
            mab.update(reward);
        }
        assert_ne!(mab.choose(&mut rng), first);
        assert_eq!(mab.best(), first);
    }
}
