//! A tuner a role, for a search.

use rand::SeedableRng;

use super::{MOST_VALUES, Method, MethodError, Space, Tuner};
use crate::game::Rng;
use crate::parts::Controls;

/// How the numbers of a search are tuned while it runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Tuning {
    /// How simulations are allotted.
    pub method: Method,
    /// Whether what is chosen is not used: the search is the one without
    /// tuning, and takes so much longer as tuning takes.
    pub shadow: bool,
}

impl Tuning {
    /// Whether the numbers of the method are as they must be.
    ///
    /// # Errors
    /// What is not.
    pub fn check(&self) -> Result<(), MethodError> {
        self.method.check()
    }
}

/// The tuners of a match.
#[derive(Clone, Debug)]
pub(crate) struct Tuners {
    by_role: Vec<Tuner>,
    /// By parameter and index: the values, side by side.
    values: Vec<[f64; MOST_VALUES]>,
    shadow: bool,
    /// Of its own, so that tuning in shadow changes nothing.
    rng: Rng,
}

impl Tuners {
    /// Tuners that know nothing yet. A method that is not as it must be tunes
    /// nothing.
    pub fn new(tuning: &Tuning, roles: usize, seed: u64) -> Tuners {
        // Another stream than that of the search with the same seed.
        let mut rng = Rng::seed_from_u64(!seed);
        let space = Space::grave_mast();
        let by_role = (0..roles).map_while(|_| tuning.method.tuner(&space, &mut rng).ok()).collect();
        let values = space.parameters().iter().map(|parameter| {
            // No value of ref is no node of an AMAF value.
            let value = |index: usize| parameter.values.get(index).copied().flatten().unwrap_or(f64::INFINITY);
            std::array::from_fn(value)
        });
        Tuners { by_role, values: values.collect(), shadow: tuning.shadow, rng }
    }

    /// Chooses the numbers of each role for the next simulation, and hands
    /// them over if they are to be used.
    #[inline]
    pub fn choose(&mut self, mut take: impl FnMut(usize, &Controls)) {
        for (role, tuner) in self.by_role.iter_mut().enumerate() {
            let chosen = tuner.choose(&mut self.rng);
            // In the order of `Space::grave_mast`.
            let value = |parameter: usize| self.values[parameter][chosen.index(parameter)];
            if !self.shadow {
                take(role, &Controls { c: value(0), k: value(1), reference: value(2), epsilon: value(3) });
            }
        }
    }

    /// Learns the rewards of the simulation, one a role.
    #[inline]
    pub fn update(&mut self, rewards: &[f64]) {
        for (tuner, reward) in self.by_role.iter_mut().zip(rewards) {
            tuner.update(reward.clamp(0.0, 1.0));
        }
    }

    /// The tuner of each role.
    pub fn by_role(&self) -> &[Tuner] {
        &self.by_role
    }
}
