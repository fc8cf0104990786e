//! Tuning of search parameters while a match is played.
//!
//! Before each simulation a [`Tuner`] chooses a [`Combination`] of parameter
//! values, and is told the reward of the simulation that used it. It knows
//! neither game nor search. Each role has a tuner of its own. The methods are
//! those of paper 001, "On-line Parameter Tuning for Monte-Carlo Tree Search in
//! General Game Playing" (Sironi & Winands 2018), section 4.
//!
//! Where the paper leaves something open:
//!
//! - An untried arm is worth 1 to UCB1, the most that a reward can be, and not
//!   infinity. So an arm that is good enough is played again before all others
//!   have been tried. Of equal arms one is chosen at random.
//! - Values are chosen parameter by parameter in a random order, and those that
//!   agree with no legal combination are left out. HE draws its order once.
//! - LSI does not test a value that is none. While a value is tested the others
//!   are random, and only its own mean is updated. Candidates that are drawn
//!   twice are one, and halving compares means over all phases.
//! - MAB counts each simulation of a batch as a play of its arm.
//!
//! ```
//! use rand::SeedableRng;
//! use sternhalma_ggp::Rng;
//! use sternhalma_ggp::mcts::tuning::{Method, Space};
//!
//! let space = Space::grave_mast();
//! let epsilon = space.parameter("epsilon").expect("the space has an epsilon");
//! let mut rng = Rng::seed_from_u64(1);
//! let mut tuner = Method::nmc().tuner(&space, &mut rng)?;
//! for _ in 0..5_000 {
//!     let combination = tuner.choose(&mut rng);
//!     // In place of a simulation: the less random, the better.
//!     let reward = 1.0 - space.value(combination, epsilon).expect("epsilon has numbers only");
//!     tuner.update(reward);
//! }
//! assert_eq!(space.value(tuner.best(), epsilon), Some(0.0));
//! # Ok::<(), sternhalma_ggp::mcts::tuning::MethodError>(())
//! ```

mod he;
mod lsi;
mod mab;
mod nmc;
mod prior;
mod ranked;
mod space;
#[cfg(test)]
mod testing;
mod tuners;
mod ucb;

pub use space::{
    Aspect, Combination, Constraint, MAX_COMBINATIONS, MAX_PARAMETERS, MAX_VALUES, Parameter, Setting, Space,
    SpaceError,
};

pub use tuners::Tuning;
pub(crate) use tuners::{Tuned, Tuners};

use thiserror::Error;

use crate::rng::Rng;
use he::He;
use lsi::Lsi;
use mab::Mab;
use nmc::Nmc;

/// How simulations are allotted to combinations, with its numbers.
///
/// `c` is the C of UCB1, in rewards 0 to 1, under which an untried arm is
/// worth 1 and equal arms are chosen among at random.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Method {
    /// Multi-armed bandit: UCB1 over all legal combinations.
    Mab {
        /// The C of UCB1.
        c: f64,
        /// The simulations for which a combination is kept, at least 1.
        batch: u32,
    },
    /// Hierarchical expansion: UCB1 in a tree with a level a parameter.
    He {
        /// The C of UCB1.
        c: f64,
    },
    /// Naïve Monte-Carlo: UCB1 for each parameter, and over the combinations
    /// that came of it.
    Nmc {
        /// The C of UCB1.
        c: f64,
        /// The probability of a combination made parameter by parameter
        /// instead of the best known. With 1 this is LocalNMC.
        epsilon0: f64,
        /// What the exploration of the value of each parameter that is expected
        /// to be the best is multiplied by where combinations are made parameter
        /// by parameter, at least 1. While all values do alike, it comes to be
        /// chosen there the square of this times as often as another.
        prior: f64,
    },
    /// Linear side information: values by themselves, then sequential halving
    /// of combinations of them. At a fraction of the simulations of the paper
    /// all three numbers are to be that fraction.
    Lsi {
        /// N_g, the simulations that test values.
        generate: u32,
        /// N_e, the simulations that compare combinations.
        evaluate: u32,
        /// k, the draws of combinations to compare, 1 to
        /// [`MAX_COMBINATIONS`].
        candidates: u32,
    },
    /// LSI with numbers from the game: half of the simulations that the match
    /// is expected to have, as the length of simulations and their number a
    /// step tell after some steps. Three quarters of them test values, and of
    /// each fifty one draws a combination, as in the paper.
    LsiAuto,
}

/// The C of UCB1 of the paper (section 5.1).
const C: f64 = 0.7;

impl Method {
    /// The P_MAB of the paper (section 5.1).
    pub fn mab() -> Method {
        Method::Mab { c: C, batch: 10 }
    }

    /// The P_HE of the paper (section 5.1).
    pub fn he() -> Method {
        Method::He { c: C }
    }

    /// The P_NMC of the paper (section 5.1).
    pub fn nmc() -> Method {
        Method::Nmc { c: C, epsilon0: 0.75, prior: 1.0 }
    }

    /// The LocalP_NMC of the paper (section 5.1).
    pub fn local_nmc() -> Method {
        Method::Nmc { c: C, epsilon0: 1.0, prior: 1.0 }
    }

    /// The P_LSI of the paper (section 5.1).
    pub fn lsi() -> Method {
        Method::Lsi { generate: 75_000, evaluate: 25_000, candidates: 2_000 }
    }

    /// A tuner of a role for a match.
    ///
    /// # Errors
    ///
    /// If a number of the method is not as it must be.
    pub fn tuner(&self, space: &Space, rng: &mut Rng) -> Result<Tuner, MethodError> {
        self.check()?;
        let state = self.state(space, rng);
        let played = vec![RewardTotal::default(); space.parameters().len() * MAX_VALUES];
        Ok(Tuner { method: self.clone(), space: space.clone(), state, chosen: None, played })
    }

    /// Whether it makes use of what is expected.
    pub(crate) fn expects(&self) -> bool {
        matches!(*self, Method::Nmc { prior, .. } if prior > 1.0)
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

    fn check(&self) -> Result<(), MethodError> {
        if let Method::Mab { c, .. } | Method::He { c } | Method::Nmc { c, .. } = *self
            && !(c.is_finite() && c >= 0.0)
        {
            return Err(MethodError::C { c });
        }
        match *self {
            Method::Mab { batch: 0, .. } => Err(MethodError::Batch),
            Method::Nmc { epsilon0, .. } if !(0.0..=1.0).contains(&epsilon0) => Err(MethodError::Epsilon0 { epsilon0 }),
            Method::Nmc { prior, .. } if !(prior.is_finite() && prior >= 1.0) => Err(MethodError::Prior { prior }),
            Method::Lsi { candidates, .. } if !(1..=MAX_COMBINATIONS as u32).contains(&candidates) => {
                Err(MethodError::Candidates { candidates })
            }
            _ => Ok(()),
        }
    }
}

/// Why a [`Method`] makes no tuner.
#[derive(Error, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum MethodError {
    /// The C of UCB1 is no number from 0 up.
    #[error("C must be a number from 0 up, not {c}")]
    C {
        /// What it is.
        c: f64,
    },
    /// The batch of MAB is empty.
    #[error("a batch must be at least 1 simulation")]
    Batch,
    /// The epsilon of NMC is no probability.
    #[error("epsilon0 must be from 0 to 1, not {epsilon0}")]
    Epsilon0 {
        /// What it is.
        epsilon0: f64,
    },
    /// The weight of what is expected is no number from 1 up.
    #[error("a prior must be a number from 1 up, not {prior}")]
    Prior {
        /// What it is.
        prior: f64,
    },
    /// The candidates of LSI are too many, or none.
    #[error("candidates must be 1 to {MAX_COMBINATIONS}, not {candidates}")]
    Candidates {
        /// How many they are.
        candidates: u32,
    },
}

/// Chooses the parameters of simulations for a role, and learns from them.
///
/// With the same seed and rewards it chooses the same. It serves up to 2³²
/// simulations. A choice and its update take 10 to 200 nanoseconds, save that
/// LSI makes all its candidates at once. Memory is taken for what has not been
/// chosen before and for numbers of visits not met before, which is rare.
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

#[derive(Clone, Copy, Debug, Default)]
struct RewardTotal {
    visits: u32,
    sum: f64,
}

/// What is known of a value of a parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValueStats {
    /// The value.
    pub value: Option<f64>,
    /// The simulations that used it, whatever the other parameters were.
    pub visits: u32,
    /// The mean of their rewards; 0 without any.
    pub mean: f64,
}

impl Tuner {
    /// A legal combination for the next simulation. One that is not followed
    /// by an update is forgotten.
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

    /// Takes a combination for the one chosen last.
    #[inline]
    pub(crate) fn restore(&mut self, chosen: Combination) {
        self.chosen = Some(chosen);
    }

    /// Learns the reward, 0 to 1, of a simulation with the combination chosen
    /// last. Does nothing if none was chosen since the last update.
    #[inline]
    pub fn update(&mut self, reward: f64) {
        debug_assert!((0.0..=1.0).contains(&reward), "a reward of {reward}");
        let Some(chosen) = self.chosen.take() else { return };
        for parameter in 0..self.space.parameters().len() {
            let played = &mut self.played[Setting { parameter, value: chosen.index(parameter) }.slot()];
            played.visits += 1;
            played.sum += reward;
        }
        match &mut self.state {
            MethodState::Mab(mab) => mab.update(reward),
            MethodState::He(he) => he.update(chosen, reward),
            MethodState::Nmc(nmc) => nmc.update(&self.space, chosen, reward),
            MethodState::Lsi(lsi) => lsi.update(reward),
        }
    }

    /// Replaces the worst value of each parameter by one near its best, by the
    /// mean rewards of those that were played, and begins anew with the values
    /// that there are then. Values that are no numbers, infinite, or named by a
    /// rule stay. Returns whether any was replaced; if not, nothing changes.
    pub fn evolve(&mut self, rng: &mut Rng) -> bool {
        let played = &self.played;
        let mean = |setting: Setting| {
            let RewardTotal { visits, sum } = played[setting.slot()];
            (visits > 0).then(|| sum / f64::from(visits))
        };
        let evolved = self.space.evolve(mean, rng);
        if evolved {
            self.state = self.method.state(&self.space, rng);
            self.chosen = None;
            self.played.fill(RewardTotal::default());
        }
        evolved
    }

    /// The space of its values, which [`evolve`](Tuner::evolve).
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Is told how many simulations are expected of the whole match, which is
    /// what [`Method::LsiAuto`] waits for, and to others is nothing.
    pub fn expect(&mut self, simulations: u32) {
        if let MethodState::Lsi(lsi) = &mut self.state {
            lsi.settle(simulations);
        }
    }

    /// The combination to recommend. MAB and NMC have most visits decide, HE
    /// follows the most visited values from the root of its tree, LocalNMC
    /// takes those of each parameter, and LSI has the highest mean decide.
    pub fn best(&self) -> Combination {
        match &self.state {
            MethodState::Mab(mab) => mab.best(),
            MethodState::He(he) => he.best(&self.space),
            MethodState::Nmc(nmc) => nmc.best(&self.space),
            MethodState::Lsi(lsi) => lsi.best(&self.space),
        }
    }

    /// What is known of each value of a parameter, in order.
    ///
    /// # Panics
    ///
    /// If there is no such parameter.
    pub fn statistics(&self, parameter: usize) -> Vec<ValueStats> {
        let values = &self.space.parameters()[parameter].values;
        let stats = |(i, &value): (usize, &Option<f64>)| {
            let RewardTotal { visits, sum } = self.played[Setting { parameter, value: i }.slot()];
            ValueStats { value, visits, mean: if visits == 0 { 0.0 } else { sum / f64::from(visits) } }
        };
        values.iter().enumerate().map(stats).collect()
    }
}
