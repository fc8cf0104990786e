//! Naïve Monte-Carlo.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rand::RngExt;
use rustc_hash::FxBuildHasher;

use super::ranked::Ranked;
use super::space::{Combination, Setting, Space};
use super::ucb::{Bandits, exploration};
use crate::game::Rng;

/// Local bandits, one a parameter, make combinations, and a global bandit
/// compares those made so far (paper 001, section 4.2, "Naïve Monte-Carlo",
/// figure 4). All are UCB1.
#[derive(Clone, Debug)]
pub(super) struct Nmc {
    c: f64,
    epsilon0: f64,
    /// A bandit a parameter, played once a simulation each.
    local: Bandits,
    /// Kept only if it is ever asked, that is unless `epsilon0` is 1.
    global: Ranked,
    /// The arm of each combination in the global bandit, by its key.
    known: HashMap<u64, u32, FxBuildHasher>,
    combinations: Vec<Combination>,
    total: u32,
    lot: u32,
}

impl Nmc {
    pub(super) fn new(space: &Space, c: f64, epsilon0: f64) -> Nmc {
        let mut local = Bandits::new(space.most_values());
        for _ in space.parameters() {
            local.push();
        }
        let (known, combinations) = (HashMap::default(), Vec::new());
        Nmc { c, epsilon0, local, global: Ranked::new(), known, combinations, total: 0, lot: 0 }
    }

    /// Explores with probability `epsilon0`, and while there is nothing to
    /// exploit.
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

    /// The combination most played; without a global bandit, that of the
    /// values most played.
    pub(super) fn best(&self, space: &Space) -> Combination {
        match self.global.most_visited() {
            Some(arm) => self.combinations[arm as usize],
            None => space.greedy(|Setting { parameter, value }| f64::from(self.local.visits(parameter, value))),
        }
    }
}
