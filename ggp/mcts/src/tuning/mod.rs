//! Tuning of search parameters during a match.
//!
//! Before each simulation a [`Tuner`] chooses a [`Combination`] of parameter
//! values. Afterwards the tuner learns the reward of the simulation. A tuner
//! knows neither the game nor the search, and each role has its own tuner. The
//! methods are those of [Sironi and Winands 2018, section 4].
//!
//! The paper leaves some points open. Sternhalma makes these choices:
//!
//! - UCB1 values an untried arm at 1, the highest reward, and not at infinity. A good arm is therefore played again
//!   before all others have been tried. Ties are broken at random.
//! - Values are chosen parameter by parameter in a random order. Values that
//!   fit no legal combination are omitted. HE draws its order once.
//! - LSI does not test the value "unused". While it tests a value the others are random, and only the mean of the
//!   tested value is updated. Candidates that are drawn twice count once. Halving compares means over all phases.
//! - MAB counts each simulation of a batch as a play of its arm.
//!
//! A new method is a file with the algorithm, and in this file a variant of [`Method`] and of `MethodState`, their arms
//! in the `match`es, none of which has a default, a row in the table `KINDS`, and rows of its parameters in `PARAMS`.
//!
//! ```
//! use rand::SeedableRng;
//! use sternhalma_game::Rng;
//! use sternhalma_mcts::tuning::{Method, ParameterId, Space};
//!
//! let space = Space::grave_mast();
//! let epsilon = space.position(ParameterId::Epsilon).expect("the space has an epsilon");
//! let mut rng = Rng::seed_from_u64(1);
//! let mut tuner = Method::nmc().tuner(&space, &mut rng)?;
//! for _ in 0..5_000 {
//!     let combination = tuner.choose(&mut rng);
//!     // In place of a simulation: the fewer random moves, the better.
//!     let reward = 1.0 - space.value(combination, epsilon).number().expect("epsilon is a number");
//!     tuner.update(reward);
//! }
//! assert_eq!(space.value(tuner.best(), epsilon).number(), Some(0.0));
//! # Ok::<(), sternhalma_mcts::tuning::TuningError>(())
//! ```

mod bits;
mod error;
mod evolve;
mod he;
mod lsi;
mod mab;
mod nmc;
mod ranked;
mod space;
#[cfg(test)]
mod testing;
mod tuners;
mod ucb;

pub use bits::{MAX_COMBINATIONS, MAX_PARAMETERS, MAX_VALUES};
pub use error::TuningError;
pub use space::{Combination, Space};
pub(crate) use tuners::{Tuned, Tuners};

pub use super::params::{Aspect, Parameter, ParameterId, ParameterValue};
use sternhalma_game::Rng;
use sternhalma_game::param_table::{Field, Kind, Param, count, finite, kind, range, some_of};

use he::He;
use lsi::Lsi;
use mab::Mab;
use nmc::Nmc;
use space::Setting;
use ucb::RewardTotal;

/// A method of allotting simulations to combinations.
///
/// `c` is the C of UCB1 for rewards from 0 to 1. UCB1 values an untried arm at 1 and breaks ties at random.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Method {
    /// Multi-armed bandit: UCB1 over all legal combinations.
    Mab {
        /// The C of UCB1.
        c: f64,
        /// The number of simulations for which a combination is kept, at least 1.
        batch: u32,
    },
    /// Hierarchical expansion: UCB1 in a tree with one level per parameter.
    He {
        /// The C of UCB1.
        c: f64,
    },
    /// Naïve Monte-Carlo: UCB1 for each parameter, and over the resulting combinations.
    Nmc {
        /// The C of UCB1.
        c: f64,
        /// The probability of a combination made parameter by parameter instead of the best known one. With 1 this is
        /// LocalNMC.
        epsilon0: f64,
        /// A factor, at least 1, for the exploration of the expected value of each parameter when combinations are made
        /// parameter by parameter. While all values perform alike, the expected value is chosen `prior`² times as often
        /// as another.
        prior: f64,
    },
    /// Linear side information: values are tested one by one, then combinations of them by sequential halving. With a
    /// fraction of the simulations of the paper, use the same fraction of all three numbers.
    Lsi {
        /// N_g, the simulations that test values.
        generate: u32,
        /// N_e, the simulations that compare combinations.
        evaluate: u32,
        /// k, the draws of combinations to compare, from 1 to [`MAX_COMBINATIONS`].
        candidates: u32,
    },
    /// LSI with numbers that depend on the game: half of the simulations that the match will probably have. The
    /// estimate uses the length of simulations and their number per step, after some steps. As in the paper, three
    /// quarters of the simulations test values, and one combination is drawn per fifty simulations.
    LsiAuto,
}

/// The C of UCB1 in [Sironi and Winands 2018, section 5.1].
const C: f64 = 0.7;

impl Method {
    /// Creates P_MAB of [Sironi and Winands 2018, section 5.1].
    pub fn mab() -> Method {
        Method::Mab { c: C, batch: 10 }
    }

    /// Creates P_HE of [Sironi and Winands 2018, section 5.1].
    pub fn he() -> Method {
        Method::He { c: C }
    }

    /// Creates P_NMC of [Sironi and Winands 2018, section 5.1].
    pub fn nmc() -> Method {
        Method::Nmc { c: C, epsilon0: 0.75, prior: 1.0 }
    }

    /// Creates LocalP_NMC of [Sironi and Winands 2018, section 5.1].
    pub fn local_nmc() -> Method {
        Method::Nmc { c: C, epsilon0: 1.0, prior: 1.0 }
    }

    /// Creates P_LSI of [Sironi and Winands 2018, section 5.1].
    pub fn lsi() -> Method {
        Method::Lsi { generate: 75_000, evaluate: 25_000, candidates: 2_000 }
    }

    /// Creates the tuner of one role for a match.
    ///
    /// # Errors
    /// If a number of the method is invalid.
    pub fn tuner(&self, space: &Space, rng: &mut Rng) -> Result<Tuner, TuningError> {
        self.check()?;
        let state = self.state(space, rng);
        let played = vec![RewardTotal::default(); space.parameters().len() * MAX_VALUES];
        Ok(Tuner { method: self.clone(), space: space.clone(), state, chosen: None, played })
    }

    /// Returns whether the method is LSI.
    pub fn is_lsi(&self) -> bool {
        matches!(self, Method::Lsi { .. } | Method::LsiAuto)
    }

    /// Returns whether the method uses the expected values of the space.
    fn uses_expectations(&self) -> bool {
        match *self {
            Method::Nmc { prior, .. } => prior > 1.0,
            Method::Mab { .. } | Method::He { .. } | Method::Lsi { .. } | Method::LsiAuto => false,
        }
    }

    /// Returns whether values may evolve: LSI tests each value once.
    fn evolves(&self) -> bool {
        match self {
            Method::Mab { .. } | Method::He { .. } | Method::Nmc { .. } => true,
            Method::Lsi { .. } | Method::LsiAuto => false,
        }
    }

    fn state(&self, space: &Space, rng: &mut Rng) -> MethodState {
        match *self {
            Method::Mab { c, batch } => MethodState::Mab(Mab::new(space, c, batch, rng)),
            Method::He { c } => MethodState::He(He::new(space, c, rng)),
            Method::Nmc { c, epsilon0, prior } => MethodState::Nmc(Nmc::new(space, c, epsilon0, prior)),
            Method::Lsi { generate, evaluate, candidates } => {
                MethodState::Lsi(Lsi::new(space, generate, evaluate, candidates))
            }
            Method::LsiAuto => MethodState::Lsi(Lsi::unsettled(space)),
        }
    }

    fn check(&self) -> Result<(), TuningError> {
        let check_c = |c: f64| if c.is_finite() && c >= 0.0 { Ok(()) } else { Err(TuningError::C { c }) };
        match *self {
            Method::Mab { c, batch } => check_c(c).and(if batch == 0 { Err(TuningError::Batch) } else { Ok(()) }),
            Method::He { c } => check_c(c),
            Method::Nmc { c, epsilon0, prior } => match check_c(c) {
                Ok(()) if !(0.0..=1.0).contains(&epsilon0) => Err(TuningError::Epsilon0 { epsilon0 }),
                Ok(()) if !(prior.is_finite() && prior >= 1.0) => Err(TuningError::Prior { prior }),
                checked => checked,
            },
            Method::Lsi { candidates, .. } if !(1..=MAX_COMBINATIONS as u32).contains(&candidates) => {
                Err(TuningError::Candidates { candidates })
            }
            Method::Lsi { .. } | Method::LsiAuto => Ok(()),
        }
    }
}

/// The tuners by the names that policies use. NMC and LSI are printed by one name each.
const KINDS: &[Kind<Option<Tuning>>] = &[
    Kind { name: "none", is: |tuning| tuning.is_none(), make: |_| None },
    Kind { name: "mab", is: |tuning| matches!(method(tuning), Some(Method::Mab { .. })), make: |_| by(Method::mab()) },
    Kind { name: "he", is: |tuning| matches!(method(tuning), Some(Method::He { .. })), make: |_| by(Method::he()) },
    Kind { name: "nmc", is: |tuning| matches!(method(tuning), Some(Method::Nmc { .. })), make: |_| by(Method::nmc()) },
    Kind { name: "local-nmc", is: |_| false, make: |_| by(Method::local_nmc()) },
    Kind { name: "lsi", is: |tuning| method(tuning).is_some_and(Method::is_lsi), make: |_| by(Method::lsi()) },
];

/// The parameters of tuning.
pub const PARAMS: &[Param<Option<Tuning>>] = &[
    Param {
        key: "tune",
        owner: "",
        help: "the tuner, one per role, that sets parameters before each simulation",
        is_optional: true,
        field: |tuning| kind(tuning, KINDS),
    },
    Param {
        key: "tune-c",
        owner: "tune",
        help: "C of the tuner's UCB1",
        is_optional: false,
        field: |tuning| match method_mut(tuning)? {
            Method::Mab { c, .. } | Method::He { c } | Method::Nmc { c, .. } => finite(c, 0.0),
            _ => None,
        },
    },
    Param {
        key: "tune-batch",
        owner: "tune",
        help: "simulations per combination",
        is_optional: false,
        field: |tuning| match method_mut(tuning)? {
            Method::Mab { batch, .. } => count(batch, u32::MAX),
            _ => None,
        },
    },
    Param {
        key: "tune-epsilon",
        owner: "tune",
        help: "the fraction of exploration; 1 is `local-nmc`",
        is_optional: false,
        field: |tuning| match method_mut(tuning)? {
            Method::Nmc { epsilon0, .. } => range(epsilon0, 0.0, 1.0),
            _ => None,
        },
    },
    Param {
        key: "tune-prior",
        owner: "tune",
        help: "the weight of the [expected](#prior-expectations) values",
        is_optional: true,
        field: |tuning| match method_mut(tuning)? {
            Method::Nmc { prior, .. } => finite(prior, 1.0),
            _ => None,
        },
    },
    Param {
        key: "tune-generate",
        owner: "tune",
        help: "N_g, simulations that test values; `auto` derives all three numbers from the game",
        is_optional: false,
        field: generate,
    },
    Param {
        key: "tune-evaluate",
        owner: "tune-generate",
        help: "N_e, simulations that compare combinations",
        is_optional: false,
        field: |tuning| match method_mut(tuning)? {
            Method::Lsi { evaluate, .. } => count(evaluate, u32::MAX),
            _ => None,
        },
    },
    Param {
        key: "tune-candidates",
        owner: "tune-generate",
        help: "k, combinations that are drawn. With a fraction of the paper's simulations, use the same fraction of all three numbers",
        is_optional: false,
        field: |tuning| match method_mut(tuning)? {
            Method::Lsi { candidates, .. } => count(candidates, MAX_COMBINATIONS as u32),
            _ => None,
        },
    },
    Param {
        key: "tune-what",
        owner: "tune",
        help: "the tuned parameters. With GRAVE these are C, K, ref and epsilon. Other searches that learn can tune the source of move values (random moves, MAST or NST), epsilon, gamma and omega",
        is_optional: true,
        field: |tuning| some_of(&mut tuning.as_mut()?.aspects, &Aspect::NAMES),
    },
    Param {
        key: "tune-evolve",
        owner: "tune",
        help: "the number of simulations after which the worst value of each parameter is replaced by one near its best",
        is_optional: false,
        field: |tuning| {
            let evolve = &mut tuning.as_mut().filter(|tuning| tuning.method.evolves())?.evolve;
            Some(Field::whole([1, u32::MAX], None, *evolve, evolve, |_, simulations| simulations))
        },
    },
];

fn method(tuning: &Option<Tuning>) -> Option<&Method> {
    tuning.as_ref().map(|tuning| &tuning.method)
}

fn method_mut(tuning: &mut Option<Tuning>) -> Option<&mut Method> {
    tuning.as_mut().map(|tuning| &mut tuning.method)
}

/// Tunes GRAVE by a method.
fn by(method: Method) -> Option<Tuning> {
    Tuning::new(method, vec![Aspect::Grave]).ok()
}

/// Returns the parameter `tune-generate` of LSI: `auto` changes the method.
fn generate(tuning: &mut Option<Tuning>) -> Option<Field<'_>> {
    let method = method_mut(tuning)?;
    let text = match method {
        Method::LsiAuto => "auto".to_owned(),
        Method::Lsi { generate, .. } => generate.to_string(),
        _ => return None,
    };
    Some(Field::whole([1, u32::MAX], Some("auto"), Some(text), method, |method, simulations| {
        let Some(simulations) = simulations else { return Method::LsiAuto };
        let mut method = if *method == Method::LsiAuto { Method::lsi() } else { method.clone() };
        if let Method::Lsi { generate, .. } = &mut method {
            *generate = simulations;
        }
        method
    }))
}

/// The tuning of the parameters of a search while it runs. The settings are valid.
#[derive(Clone, PartialEq, Debug)]
pub struct Tuning {
    method: Method,
    /// At least one.
    aspects: Vec<Aspect>,
    /// At least 1.
    evolve: Option<u32>,
}

impl Tuning {
    /// Tunes some aspects of a search by a method.
    ///
    /// # Errors
    /// If a number of the method is invalid, or there are no aspects.
    pub fn new(method: Method, mut aspects: Vec<Aspect>) -> Result<Tuning, TuningError> {
        method.check()?;
        if aspects.is_empty() {
            return Err(TuningError::NoParameters);
        }
        aspects.sort_unstable();
        aspects.dedup();
        Ok(Tuning { method, aspects, evolve: None })
    }

    /// Replaces the worst value of each parameter by a value near its best and restarts the method, after every
    /// `simulations` simulations; at least 1. LSI, which tests each value once,
    /// ignores this setting.
    #[must_use]
    pub fn evolving(mut self, simulations: u32) -> Tuning {
        self.evolve = Some(simulations.max(1)).filter(|_| self.method.evolves());
        self
    }

    /// Returns the method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// Returns the tuned aspects, in order.
    pub fn aspects(&self) -> &[Aspect] {
        &self.aspects
    }

    /// Returns whether an aspect is tuned.
    pub fn tunes(&self, aspect: Aspect) -> bool {
        self.aspects.contains(&aspect)
    }

    /// Returns whether the method uses the expected value of ε while GRAVE is not tuned. Beside the parameters of
    /// GRAVE, ε has another expected value.
    pub fn expects_epsilon(&self) -> bool {
        self.method.uses_expectations() && self.tunes(Aspect::Epsilon) && !self.tunes(Aspect::Grave)
    }
}

/// Chooses the parameters of simulations for one role, and learns from the rewards.
///
/// With the same seed and rewards a tuner makes the same choices. A tuner
/// serves up to 2³² simulations. A choice with its update takes 10 to 200
/// nanoseconds, except that LSI creates all its candidates in one choice.
/// Memory is allocated, rarely, for new combinations and new numbers of visits.
#[derive(Clone, Debug)]
pub struct Tuner {
    method: Method,
    space: Space,
    state: MethodState,
    chosen: Option<Combination>,
    /// By slot.
    played: Vec<RewardTotal>,
}

#[derive(Clone, Debug)]
enum MethodState {
    Mab(Mab),
    He(He),
    Nmc(Nmc),
    Lsi(Lsi),
}

impl Tuner {
    /// Chooses a legal combination for the next simulation. A choice without a later update is discarded.
    #[inline]
    pub fn choose(&mut self, rng: &mut Rng) -> Combination {
        let chosen = match &mut self.state {
            MethodState::Mab(mab) => mab.choose(rng),
            MethodState::He(he) => he.choose(&self.space, rng),
            MethodState::Nmc(nmc) => nmc.choose(&self.space, rng),
            MethodState::Lsi(lsi) => lsi.choose(&self.space, rng),
        };
        self.chosen = Some(chosen);
        chosen
    }

    /// Takes the choice of a simulation as the last choice.
    #[inline]
    pub(crate) fn restore(&mut self, chosen: Combination) {
        self.chosen = Some(chosen);
    }

    /// Learns the reward, from 0 to 1, of a simulation with the last choice. Does nothing if there was no choice since
    /// the last update.
    #[inline]
    pub fn update(&mut self, reward: f64) {
        debug_assert!((0.0..=1.0).contains(&reward), "a reward of {reward}");
        let Some(chosen) = self.chosen.take() else { return };
        for parameter in 0..self.space.parameters().len() {
            self.played[Setting { parameter, value: chosen.index(parameter) }.slot()].add(reward);
        }
        match &mut self.state {
            MethodState::Mab(mab) => mab.update(reward),
            MethodState::He(he) => he.update(chosen, reward),
            MethodState::Nmc(nmc) => nmc.update(&self.space, chosen, reward),
            MethodState::Lsi(lsi) => lsi.update(reward),
        }
    }

    /// Replaces the worst value of each parameter, by mean reward, by a value near the best one, and restarts the
    /// method with the new values. Values that are linked or are not finite numbers stay. Returns whether a value was
    /// replaced; otherwise nothing changes.
    pub fn evolve(&mut self, rng: &mut Rng) -> bool {
        let played = &self.played;
        let evolved = self.space.evolve(|setting| played[setting.slot()].mean(), rng);
        if evolved {
            self.state = self.method.state(&self.space, rng);
            self.chosen = None;
            self.played.fill(RewardTotal::default());
        }
        evolved
    }

    /// Returns the space of the values, which change with [`evolve`](Tuner::evolve).
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Sets the number of simulations that the whole match will probably have. Only [`Method::LsiAuto`] uses it.
    pub fn expect(&mut self, simulations: u32) {
        match &mut self.state {
            MethodState::Lsi(lsi) => lsi.settle(simulations),
            MethodState::Mab(_) | MethodState::He(_) | MethodState::Nmc(_) => {}
        }
    }

    /// Returns the recommended combination: with MAB and NMC the most visited one, with HE the most visited values from
    /// the root of its tree on, with LocalNMC the most visited value of each parameter, and with LSI the combination
    /// with the highest mean.
    pub fn best(&self) -> Combination {
        match &self.state {
            MethodState::Mab(mab) => mab.best(),
            MethodState::He(he) => he.best(&self.space),
            MethodState::Nmc(nmc) => nmc.best(&self.space),
            MethodState::Lsi(lsi) => lsi.best(&self.space),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn rewards_are_counted_for_each_value_of_completed_simulations() {
        let space = Space::grave_mast();
        for Kind { name, make, .. } in KINDS {
            let Some(tuning) = make(&None) else { continue };
            let mut rng = Rng::seed_from_u64(3);
            let mut tuner = tuning.method.tuner(&space, &mut rng).unwrap();
            let mut played = Vec::new();
            for i in 0..2_000 {
                let chosen = tuner.choose(&mut rng);
                // Every third simulation is discarded.
                if i % 3 > 0 {
                    let reward = f64::from(i % 5) / 4.0;
                    tuner.update(reward);
                    tuner.update(reward);
                    played.push((chosen, reward));
                }
            }
            for setting in space.settings() {
                let uses = |(chosen, _): &&(Combination, f64)| chosen.index(setting.parameter) == setting.value;
                let rewards: Vec<f64> = played.iter().filter(uses).map(|&(_, reward)| reward).collect();
                let total = tuner.played[setting.slot()];
                assert_eq!(total.visits as usize, rewards.len(), "{name}");
                assert!((total.sum - rewards.iter().sum::<f64>()).abs() < 1e-9, "{name}");
            }
        }
    }
}
