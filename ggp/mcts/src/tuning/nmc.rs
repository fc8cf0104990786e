//! Naïve Monte-Carlo [Sironi and Winands 2018, section 4.2].

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rand::RngExt;
use rustc_hash::FxBuildHasher;

use super::ranked::RankedArms;
use super::ucb::{Bandits, exploration};
use super::{Combination, Rng, Setting, Space};

/// Naïve Monte-Carlo [Sironi and Winands 2018, section 4.2, figure 4].
///
/// Local bandits, one per parameter, generate combinations. A global bandit
/// compares the combinations generated so far. All bandits use UCB1.
#[derive(Clone, Debug)]
pub(super) struct Nmc {
    c: f64,
    epsilon0: f64,
    /// One bandit per parameter; each simulation is one play of every bandit.
    local: Bandits,
    /// The global bandit, which is only updated if `epsilon0` is below 1.
    global: RankedArms,
    /// The arm of each combination in the global bandit, by its key.
    known: HashMap<u64, u32, FxBuildHasher>,
    combinations: Vec<Combination>,
    total: u32,
    lot: u32,
}

impl Nmc {
    pub(super) fn new(space: &Space, c: f64, epsilon0: f64, prior: f64) -> Nmc {
        let mut local = Bandits::new(space.most_values());
        for parameter in 0..space.parameters().len() {
            let bandit = local.push();
            space.expected(parameter).into_iter().for_each(|value| local.weigh(bandit, value, prior));
        }
        let (known, combinations) = (HashMap::default(), Vec::new());
        Nmc { c, epsilon0, local, global: RankedArms::new(), known, combinations, total: 0, lot: 0 }
    }

    /// Chooses a combination. Explores with probability `epsilon0`, and while
    /// there is no combination to exploit.
    #[inline]
    pub(super) fn choose(&mut self, space: &Space, rng: &mut Rng) -> Combination {
        let exploration = exploration(self.c, self.total);
        self.lot = rng.random();
        if !rng.random_bool(self.epsilon0)
            && let Some(arm) = self.global.choose(exploration)
        {
            return self.combinations[arm as usize];
        }
        space.extend(space.everything(), rng, |parameter, feasible, rng| {
            self.local.choose(parameter, feasible, exploration, rng)
        })
    }

    #[inline]
    pub(super) fn update(&mut self, space: &Space, combination: Combination, reward: f64) {
        self.total += 1;
        for parameter in 0..space.parameters().len() {
            self.local.update(parameter, combination.index(parameter), reward);
        }
        if self.epsilon0 < 1.0 {
            let arm = self.arm(combination);
            self.global.update(arm, 1, reward, self.lot);
        }
    }

    #[inline]
    fn arm(&mut self, combination: Combination) -> u32 {
        match self.known.entry(combination.key()) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.combinations.push(combination);
                *new.insert(self.global.push(self.lot))
            }
        }
    }

    /// Returns the most played combination; without a global bandit, the
    /// combination of the most played values.
    pub(super) fn best(&self, space: &Space) -> Combination {
        match self.global.most_visited() {
            Some(arm) => self.combinations[arm as usize],
            None => space.greedy(|Setting { parameter, value }| f64::from(self.local.visits(parameter, value))),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::params::ParameterId;
    use crate::tuning::testing::{Choices, plain, space};

    const CHOICES: &str = include_str!("../../tests/data/tuning/local-nmc-choices.tsv");

    #[test]
    fn local_choices_are_those_worked_from_the_definition() {
        for name in ["plain", "ruled"] {
            let space = space(name);
            let mut choices = Choices::of(CHOICES, &[name]);
            for seed in 0..4_000 {
                let mut rng = Rng::seed_from_u64(seed);
                let mut nmc = Nmc::new(&space, 0.7, 1.0, 1.0);
                choices.follow(|reward| {
                    let chosen = nmc.choose(&space, &mut rng);
                    nmc.update(&space, chosen, reward(chosen));
                    chosen
                });
            }
            choices.assert_all_met();
        }
    }

    #[test]
    fn three_quarters_of_choices_explore() {
        let space = plain();
        let mut rng = Rng::seed_from_u64(3);
        let mut nmc = Nmc::new(&space, 0.7, 0.75, 1.0);
        let first = nmc.choose(&space, &mut rng);
        for _ in 0..100 {
            nmc.update(&space, first, 0.0);
        }
        // The values of `first` have the UCB1 value 0.7 √(ln 100 / 100) =
        // 0.150, and the other values 1. Only exploitation chooses `first`,
        // because exploitation knows no other combination.
        let count = (0..10_000).filter(|_| nmc.choose(&space, &mut rng) == first).count();
        // The count is 2,500 with a standard deviation of 43.
        assert!((2_300..2_700).contains(&count), "{count}");
    }

    #[test]
    fn an_expected_value_has_the_square_of_the_prior_while_all_are_equal() {
        let space = Space::grave_mast().expecting();
        let mut rng = Rng::seed_from_u64(6);
        let mut nmc = Nmc::new(&space, 0.7, 1.0, 4.0);
        let epsilon = space.position(ParameterId::Epsilon).unwrap();
        let mut counts = [0_u32; 11];
        for _ in 0..26_000 {
            let chosen = nmc.choose(&space, &mut rng);
            nmc.update(&space, chosen, 0.5);
            counts[chosen.index(epsilon)] += 1;
        }
        // 0.4 has 16 of 26 parts, and each of the ten other values one.
        assert!((15_800..16_200).contains(&counts[4]), "{counts:?}");
        let others = counts.iter().enumerate().filter(|&(value, _)| value != 4);
        assert!(others.clone().all(|(_, count)| (950..1_050).contains(count)), "{counts:?}");
        assert_eq!(nmc.best(&space).index(epsilon), 4);
    }

    #[test]
    fn exploitation_is_by_the_global_bandit() {
        let space = plain();
        let mut rng = Rng::seed_from_u64(4);
        let mut nmc = Nmc::new(&space, 0.7, 0.0, 1.0);
        let combinations = space.combinations();
        // The means are 0.2, 0.3 and 0.25 after 50, 40 and 10 of 100 plays.
        // The values of UCB1 are 0.412, 0.538 and 0.725.
        for (combination, plays, reward) in [(0, 50, 0.2), (1, 40, 0.3), (2, 10, 0.25)] {
            (0..plays).for_each(|_| nmc.update(&space, combinations[combination], reward));
        }
        assert!((0..100).all(|_| nmc.choose(&space, &mut rng) == combinations[2]));
        assert_eq!(nmc.best(&space), combinations[0]);
    }

    #[test]
    fn without_exploration_the_first_is_all_there_is() {
        let space = Space::grave_mast();
        let mut rng = Rng::seed_from_u64(5);
        let mut nmc = Nmc::new(&space, 0.7, 0.0, 1.0);
        let first = nmc.choose(&space, &mut rng);
        nmc.update(&space, first, 0.0);
        assert!((0..100).all(|_| nmc.choose(&space, &mut rng) == first));
    }
}
