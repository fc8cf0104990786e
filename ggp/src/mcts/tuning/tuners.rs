//! A tuner a role, for a search.

use rand::SeedableRng;

use super::{Aspect, Combination, MAX_VALUES, Method, MethodError, Parameter, Space, Tuner, prior};
use crate::mcts::params::{ParamOverrides, PlayoutKind};
use crate::rng::Rng;

/// How the numbers of a search are tuned while it runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Tuning {
    /// How simulations are allotted.
    pub method: Method,
    /// What is tuned, at least one thing.
    pub what: Vec<Aspect>,
    /// After how many simulations each time the worst value of each parameter
    /// is replaced by one near its best, and the method begins anew; at least 1.
    pub evolve: Option<u32>,
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
    /// By role and parameter.
    values: Vec<Vec<Values>>,
    evolve: Option<u32>,
    shadow: bool,
    progress: MatchProgress,
    /// Of its own, so that tuning in shadow changes nothing.
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

/// The values of a parameter.
#[derive(Clone, Debug)]
struct Values {
    /// By index, side by side.
    values: [f64; MAX_VALUES],
    /// Tells one of them as what the parameter is.
    tell: fn(&mut ParamOverrides, f64),
}

impl Values {
    fn all(space: &Space) -> Vec<Values> {
        space.parameters().iter().map(Values::of).collect()
    }

    fn of(parameter: &Parameter) -> Values {
        // No value of ref is no node of an AMAF value.
        let value = |index: usize| parameter.values.get(index).copied().flatten().unwrap_or(f64::INFINITY);
        let tell: fn(&mut ParamOverrides, f64) = match parameter.name.as_str() {
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

/// How a match goes on.
#[derive(Clone, Copy, Debug, Default)]
struct MatchProgress {
    /// Joint moves of the match.
    moves: u32,
    simulations: u32,
    /// Those before the first joint move.
    before: u32,
    /// The moves in all simulations since.
    lengths: u64,
    /// The simulations when values last evolved.
    evolved: u32,
}

impl MatchProgress {
    /// The simulations of the whole match, if those since the first joint move
    /// took so many steps: each of the steps left, as simulations have them on
    /// average, has as many as these.
    fn expected(&self, steps: u32) -> u32 {
        let since = f64::from(self.simulations - self.before);
        let left = if since > 0.0 { self.lengths as f64 / since } else { 0.0 };
        (f64::from(self.simulations) + since / f64::from(steps.max(1)) * left) as u32
    }
}

impl Tuners {
    /// Tuners that know nothing yet but whether what moves bring about stays
    /// (`PolicyGame::accumulates`). A method that is not as it must be tunes
    /// nothing, as does one that has nothing to tune.
    pub fn new(tuning: &Tuning, roles: usize, accumulates: bool, seed: u64) -> Tuners {
        // Another stream than that of the search with the same seed.
        let mut rng = Rng::seed_from_u64(!seed);
        let space = Space::of(&tuning.what).ok().map(|space| prior::expecting(space, accumulates));
        let tuner = |_| tuning.method.tuner(space.as_ref()?, &mut rng).ok();
        let by_role: Vec<Tuner> = (0..roles).map_while(tuner).collect();
        let values = by_role.iter().map(|tuner| Values::all(tuner.space())).collect();
        Tuners {
            by_role,
            values,
            evolve: tuning.evolve,
            shadow: tuning.shadow,
            progress: MatchProgress::default(),
            rng,
        }
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
            if self.shadow {
                continue;
            }
            let mut controls = ParamOverrides::default();
            for (parameter, of) in self.values[role].iter().enumerate() {
                (of.tell)(&mut controls, of.values[chosen.index(parameter)]);
            }
            tuned.used.push(controls);
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
            // What the start clock adds is not how it goes on.
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

    #[test]
    fn a_match_is_expected_to_go_on_as_it_has_begun() {
        let tuning = Tuning { method: Method::LsiAuto, what: vec![Aspect::Playout], evolve: None, shadow: false };
        let mut tuners = Tuners::new(&tuning, 2, false, 1);
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
        // 500, and 10 steps of 100.
        assert_eq!(tuners.progress.expected(2), 1_500);
        tuners.advance();
        // LSI has 750 of them, and then recommends one combination.
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
    fn what_is_expected_of_a_game_is_chosen_most() {
        for (accumulates, expected) in [(false, 0.2), (true, 0.4)] {
            let method = Method::Nmc { c: 0.7, epsilon0: 1.0, prior: 4.0 };
            let tuning = Tuning { method, what: vec![Aspect::Epsilon], evolve: None, shadow: false };
            let mut tuners = Tuners::new(&tuning, 1, accumulates, 1);
            let (mut count, mut tuned) = (0, Tuned::default());
            for _ in 0..2_200 {
                tuners.choose(&mut tuned);
                count += u32::from(tuned.used[0].epsilon == Some(expected));
                tuners.update(&tuned, &[0.5], 1);
            }
            // 16 of 22 parts.
            assert!((1_550..1_650).contains(&count), "{count} of {expected}");
        }
    }

    #[test]
    fn values_evolve_after_so_many_simulations() {
        let tuning = Tuning { method: Method::nmc(), what: vec![Aspect::Epsilon], evolve: Some(500), shadow: false };
        let mut tuners = Tuners::new(&tuning, 1, false, 1);
        let epsilons = |tuners: &Tuners| tuners.by_role[0].space().parameters()[0].values.clone();
        let first = epsilons(&tuners);
        let (mut used, mut tuned) = (Vec::new(), Tuned::default());
        for count in 0..1_600 {
            assert_eq!(epsilons(&tuners) == first, count <= 500, "after {count}");
            tuners.choose(&mut tuned);
            let epsilon = tuned.used[0].epsilon.unwrap();
            assert!(epsilons(&tuners).contains(&Some(epsilon)));
            used.push(epsilon);
            // The nearer to 0.37, the better, and so little that all are tried.
            tuners.update(&tuned, &[0.5 - 0.5 * (epsilon - 0.37).abs()], 1);
        }
        // Three times the worst gave way to what lies next to 0.4.
        let kept = epsilons(&tuners).iter().filter(|value| first.contains(value)).count();
        assert_eq!(kept, 4, "{:?}", epsilons(&tuners));
        assert!(used[1_501..].iter().any(|epsilon| !first.contains(&Some(*epsilon))));
    }

    #[test]
    fn a_pace_without_simulations_expects_none() {
        assert_eq!(MatchProgress { moves: 3, simulations: 40, before: 40, lengths: 0, evolved: 0 }.expected(2), 40);
    }
}
