//! A tuner a role, for a search.

use rand::SeedableRng;

use super::{Aspect, MOST_VALUES, Method, MethodError, Parameter, Space, Tuner};
use crate::game::Rng;
use crate::parts::{Controls, PlayoutKind};

/// How the numbers of a search are tuned while it runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Tuning {
    /// How simulations are allotted.
    pub method: Method,
    /// What is tuned, at least one thing.
    pub what: Vec<Aspect>,
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
    /// By parameter.
    values: Vec<Values>,
    shadow: bool,
    /// Of its own, so that tuning in shadow changes nothing.
    rng: Rng,
}

/// The values of a parameter.
#[derive(Clone, Debug)]
struct Values {
    /// By index, side by side.
    values: [f64; MOST_VALUES],
    /// Tells one of them as what the parameter is.
    tell: fn(&mut Controls, f64),
}

impl Values {
    fn of(parameter: &Parameter) -> Values {
        // No value of ref is no node of an AMAF value.
        let value = |index: usize| parameter.values.get(index).copied().flatten().unwrap_or(f64::INFINITY);
        let tell: fn(&mut Controls, f64) = match parameter.name.as_str() {
            "C" => |controls, value| controls.c = Some(value),
            "K" => |controls, value| controls.k = Some(value),
            "ref" => |controls, value| controls.reference = Some(value),
            "epsilon" => |controls, value| controls.epsilon = Some(value),
            "playout" => |controls, value| controls.playout = PlayoutKind::ALL.get(value as usize).copied(),
            "gamma" => |controls, value| controls.gamma = Some(value),
            "omega" => |controls, value| controls.omega = Some(value),
            _ => |_, _| {},
        };
        Values { values: std::array::from_fn(value), tell }
    }
}

impl Tuners {
    /// Tuners that know nothing yet. A method that is not as it must be tunes
    /// nothing, as does one that has nothing to tune.
    pub fn new(tuning: &Tuning, roles: usize, seed: u64) -> Tuners {
        // Another stream than that of the search with the same seed.
        let mut rng = Rng::seed_from_u64(!seed);
        let space = Space::of(&tuning.what).ok();
        let tuner = |_| tuning.method.tuner(space.as_ref()?, &mut rng).ok();
        let by_role = (0..roles).map_while(tuner).collect();
        let values = space.iter().flat_map(Space::parameters).map(Values::of).collect();
        Tuners { by_role, values, shadow: tuning.shadow, rng }
    }

    /// Chooses the numbers of each role for the next simulation, and hands
    /// them over if they are to be used.
    #[inline]
    pub fn choose(&mut self, mut take: impl FnMut(usize, &Controls)) {
        for (role, tuner) in self.by_role.iter_mut().enumerate() {
            let chosen = tuner.choose(&mut self.rng);
            if self.shadow {
                continue;
            }
            let mut controls = Controls::default();
            for (parameter, of) in self.values.iter().enumerate() {
                (of.tell)(&mut controls, of.values[chosen.index(parameter)]);
            }
            take(role, &controls);
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
