//! The tuners of a search, one per role.

use rand::SeedableRng;
use sternhalma_game::Rng;

use super::{Combination, MAX_VALUES, Space, Tuner, Tuning, TuningError};
use crate::params::{ParamOverrides, Parameter, ParameterId, ParameterValue};

/// The tuners of a match.
#[derive(Clone, Debug)]
pub(crate) struct Tuners {
    by_role: Vec<Tuner>,
    /// By role and parameter.
    values: Vec<Vec<Values>>,
    evolve: Option<u32>,
    progress: MatchProgress,
    /// Separate from the generator of the search.
    rng: Rng,
}

/// The parameters of one simulation.
#[derive(Debug, Default)]
pub(crate) struct Tuned {
    /// By role: the combination that was chosen.
    chosen: Vec<Combination>,
    /// By role: the parameters that the simulation uses, if it uses them.
    used: Vec<ParamOverrides>,
}

impl Tuned {
    /// Returns the parameters that the simulation uses, by role.
    #[inline]
    pub fn parameters(&self) -> impl Iterator<Item = (usize, &ParamOverrides)> {
        self.used.iter().enumerate()
    }
}

/// The values of a parameter, contiguous for fast access.
#[derive(Clone, Debug)]
struct Values {
    id: ParameterId,
    values: [ParameterValue; MAX_VALUES],
}

impl Values {
    fn all(space: &Space) -> Vec<Values> {
        let of = |Parameter { id, values }: &Parameter| {
            let value = |index: usize| values.get(index).copied().unwrap_or(ParameterValue::Unused);
            Values { id: *id, values: std::array::from_fn(value) }
        };
        space.parameters().iter().map(of).collect()
    }
}

/// The progress of a match.
#[derive(Clone, Copy, Debug, Default)]
struct MatchProgress {
    /// Joint moves of the match.
    moves: u32,
    simulations: u32,
    /// Simulations before the first joint move.
    before: u32,
    /// Moves in all simulations since the first joint move.
    lengths: u64,
    /// The number of simulations when values last evolved.
    evolved: u32,
}

impl MatchProgress {
    /// Estimates the simulations of the whole match, `steps` steps after the first joint move. Each remaining step will
    /// have as many simulations as those; the mean length of simulations is the number of remaining steps.
    fn expected(&self, steps: u32) -> u32 {
        let since = f64::from(self.simulations - self.before);
        let left = if since > 0.0 { self.lengths as f64 / since } else { 0.0 };
        (f64::from(self.simulations) + since / f64::from(steps.max(1)) * left) as u32
    }
}

impl Tuners {
    /// Creates tuners without experience.
    ///
    /// # Errors
    /// If a number of the method is invalid, or there is nothing to tune. A
    /// [`Tuning`] never causes these errors.
    pub fn new(tuning: &Tuning, roles: usize, seed: u64) -> Result<Tuners, TuningError> {
        // A stream that differs from that of the search with the same seed.
        let mut rng = Rng::seed_from_u64(!seed);
        let space = Space::of(&tuning.aspects)?.expecting();
        let by_role: Vec<Tuner> =
            (0..roles).map(|_| tuning.method.tuner(&space, &mut rng)).collect::<Result<_, TuningError>>()?;
        let values = by_role.iter().map(|tuner| Values::all(tuner.space())).collect();
        let progress = MatchProgress::default();
        Ok(Tuners { by_role, values, evolve: tuning.evolve, progress, rng })
    }

    /// Chooses the parameters of each role for a simulation.
    #[inline]
    pub fn choose(&mut self, tuned: &mut Tuned) {
        tuned.chosen.clear();
        tuned.used.clear();
        if self.evolve.is_some_and(|every| self.progress.simulations >= self.progress.evolved.saturating_add(every)) {
            self.progress.evolved = self.progress.simulations;
            for (tuner, values) in self.by_role.iter_mut().zip(&mut self.values) {
                if tuner.evolve(&mut self.rng) {
                    *values = Values::all(tuner.space());
                }
            }
        }
        for (role, tuner) in self.by_role.iter_mut().enumerate() {
            let chosen = tuner.choose(&mut self.rng);
            tuned.chosen.push(chosen);
            let mut overrides = ParamOverrides::default();
            for (parameter, Values { id, values }) in self.values[role].iter().enumerate() {
                id.apply(values[chosen.index(parameter)], &mut overrides);
            }
            tuned.used.push(overrides);
        }
    }

    /// Learns the rewards, one for each role, and the number of joint moves of
    /// a simulation with these parameters.
    #[inline]
    pub fn update(&mut self, tuned: &Tuned, rewards: &[f64], length: u32) {
        self.progress.simulations += 1;
        self.progress.lengths += u64::from(length);
        for ((tuner, &chosen), reward) in self.by_role.iter_mut().zip(&tuned.chosen).zip(rewards) {
            tuner.restore(chosen);
            tuner.update(reward.clamp(0.0, 1.0));
        }
    }

    /// Follows a joint move of the match.
    pub fn advance(&mut self) {
        let roles = self.by_role.len() as u32;
        self.progress.moves += 1;
        if self.progress.moves == 1 {
            // Simulations in the start clock are not representative of later steps.
            self.progress.before = self.progress.simulations;
            self.progress.lengths = 0;
        }
        if self.progress.moves == 1 + roles {
            let expected = self.progress.expected(roles);
            self.by_role.iter_mut().for_each(|tuner| tuner.expect(expected));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Aspect;
    use crate::tuning::Method;

    #[test]
    fn invalid_settings_are_errors() {
        let invalid = Method::He { c: f64::NAN };
        assert!(matches!(Tuning::new(invalid.clone(), vec![Aspect::Epsilon]), Err(TuningError::C { .. })));
        assert_eq!(Tuning::new(Method::he(), Vec::new()), Err(TuningError::NoParameters));
        let tuning = |method, aspects| Tuning { method, aspects, evolve: None };
        assert!(Tuners::new(&tuning(invalid, vec![Aspect::Epsilon]), 2, 1).is_err());
        assert!(Tuners::new(&tuning(Method::he(), Vec::new()), 2, 1).is_err());
    }

    #[test]
    fn the_length_of_a_match_is_estimated_from_its_first_moves() {
        let tuning = Tuning::new(Method::LsiAuto, vec![Aspect::Playout]).unwrap();
        let mut tuners = Tuners::new(&tuning, 2, 1).unwrap();
        let simulate = |tuners: &mut Tuners, count, length| {
            let mut tuned = Tuned::default();
            for _ in 0..count {
                tuners.choose(&mut tuned);
                tuners.update(&tuned, &[0.5, 0.5], length);
            }
        };
        simulate(&mut tuners, 300, 12);
        tuners.advance();
        simulate(&mut tuners, 100, 11);
        tuners.advance();
        simulate(&mut tuners, 100, 9);
        // 500 so far, and 10 more steps with 100 each.
        assert_eq!(tuners.progress.expected(2), 1_500);
        tuners.advance();
        // LSI uses 750 of them, and then recommends one combination.
        simulate(&mut tuners, 300, 9);
        let (mut chosen, mut tuned) = (Vec::new(), Tuned::default());
        for _ in 0..50 {
            tuners.choose(&mut tuned);
            chosen.extend(tuned.used[0].playout);
            tuners.update(&tuned, &[0.5, 0.5], 9);
        }
        assert!(chosen.len() == 50 && chosen.iter().all(|playout| *playout == chosen[0]), "{chosen:?}");
    }

    #[test]
    fn the_expected_value_is_chosen_most_often() {
        let method = Method::Nmc { c: 0.7, epsilon0: 1.0, prior: 4.0 };
        let tuning = Tuning::new(method, vec![Aspect::Epsilon]).unwrap();
        let mut tuners = Tuners::new(&tuning, 1, 1).unwrap();
        let (mut count, mut tuned) = (0, Tuned::default());
        for _ in 0..2_200 {
            tuners.choose(&mut tuned);
            count += u32::from(tuned.used[0].epsilon == Some(0.2));
            tuners.update(&tuned, &[0.5], 1);
        }
        // 16 of 22 parts.
        assert!((1_550..1_650).contains(&count), "{count}");
    }

    #[test]
    fn values_evolve_at_the_given_interval() {
        let tuning = Tuning::new(Method::nmc(), vec![Aspect::Epsilon]).unwrap().evolving(500);
        let mut tuners = Tuners::new(&tuning, 1, 1).unwrap();
        let epsilons = |tuners: &Tuners| tuners.by_role[0].space().parameters()[0].values.clone();
        let first = epsilons(&tuners);
        let (mut used, mut tuned) = (Vec::new(), Tuned::default());
        for count in 0..1_600 {
            assert_eq!(epsilons(&tuners) == first, count <= 500, "after {count}");
            tuners.choose(&mut tuned);
            let epsilon = tuned.used[0].epsilon.unwrap();
            assert!(epsilons(&tuners).contains(&epsilon.into()));
            used.push(epsilon);
            // Rewards fall slightly with the distance from 0.37, so that all values are tried.
            tuners.update(&tuned, &[0.5 - 0.5 * (epsilon - 0.37).abs()], 1);
        }
        // Three times the worst value was replaced by one near 0.4.
        let kept = epsilons(&tuners).iter().filter(|value| first.contains(value)).count();
        assert_eq!(kept, 4, "{:?}", epsilons(&tuners));
        assert!(used[1_501..].iter().any(|epsilon| !first.contains(&(*epsilon).into())));
    }

    #[test]
    fn without_simulations_none_are_expected() {
        assert_eq!(MatchProgress { moves: 3, simulations: 40, before: 40, lengths: 0, evolved: 0 }.expected(2), 40);
    }
}
