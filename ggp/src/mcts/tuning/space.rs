//! Parameters, their values, and which combinations of them are legal.

use rand::RngExt;
use thiserror::Error;

use crate::mcts::params::PlayoutKind;
use crate::rng::Rng;

/// The most parameters of a [`Space`].
pub const MAX_PARAMETERS: usize = 8;

/// The most values of a parameter.
pub const MAX_VALUES: usize = 32;

/// The most combinations of a [`Space`], legal or not.
pub const MAX_COMBINATIONS: usize = 1 << 20;

/// A parameter and the values it may take.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Its name, of one parameter of a space only.
    pub name: String,
    /// Its values, each another. [`None`] is the value of a parameter that is
    /// not considered, as `ref` is not where GRAVE is off.
    pub values: Vec<Option<f64>>,
}

impl Parameter {
    /// A parameter with numbers for values.
    pub fn new(name: &str, values: &[f64]) -> Parameter {
        Parameter { name: name.to_owned(), values: values.iter().copied().map(Some).collect() }
    }
}

/// What of a search is tuned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Aspect {
    /// C, K, ref and ε of GRAVE with MAST, with the values of the paper.
    Grave,
    /// What playouts go by, a number of [`PlayoutKind::ALL`]: random moves,
    /// MAST or NST.
    Playout,
    /// The share ε of random moves in playouts.
    Epsilon,
    /// The Move Decay γ of what playouts go by.
    Gamma,
    /// Its Simulation Decay ω.
    Omega,
}

impl Aspect {
    /// Whether its values are names of what there is, and not numbers that
    /// others may come in the place of.
    fn is_fixed(self) -> bool {
        matches!(self, Aspect::Playout | Aspect::Gamma | Aspect::Omega)
    }

    /// The values of ε where GRAVE is not tuned.
    const EPSILONS: [f64; 7] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6];

    /// The values of γ; each is a table of its own for playouts.
    pub(crate) const GAMMAS: [f64; 3] = [0.2, 0.6, 1.0];

    /// The values of ω; each is a table of its own for playouts.
    pub(crate) const OMEGAS: [f64; 3] = [0.94, 0.97, 1.0];

    /// The parameters, and the rules about them, whose numbers are those of a
    /// space that has no other before.
    fn parameters(self) -> (Vec<Parameter>, Vec<Constraint>) {
        let kinds = [0.0, 1.0, 2.0];
        let (name, values) = match self {
            Aspect::Grave => return grave(),
            Aspect::Playout => ("playout", &kinds[..PlayoutKind::ALL.len()]),
            Aspect::Epsilon => ("epsilon", &Aspect::EPSILONS[..]),
            Aspect::Gamma => ("gamma", &Aspect::GAMMAS[..]),
            Aspect::Omega => ("omega", &Aspect::OMEGAS[..]),
        };
        (vec![Parameter::new(name, values)], Vec::new())
    }
}

/// The parameters of [`Space::grave_mast`] and their rule.
fn grave() -> (Vec<Parameter>, Vec<Constraint>) {
    let tenths = |range: std::ops::RangeInclusive<u8>| range.map(|n| Some(f64::from(n) / 10.0)).collect();
    let k = [0.0, 10.0, 50.0, 100.0, 250.0, 500.0, 750.0, 1000.0, 2000.0, f64::INFINITY];
    let mut least = Parameter::new("ref", &[0.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 10_000.0, f64::INFINITY]);
    least.values.push(None);
    let off = (Setting { parameter: 1, value: 0 }, Setting { parameter: 2, value: least.values.len() - 1 });
    let parameters = vec![
        Parameter { name: "C".to_owned(), values: tenths(1..=9) },
        Parameter::new("K", &k),
        least,
        Parameter { name: "epsilon".to_owned(), values: tenths(0..=10) },
    ];
    (parameters, vec![Constraint::Together(off.0, off.1)])
}

/// A value of a parameter, both by index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The index of the parameter in its space.
    pub parameter: usize,
    /// The index of the value among those of the parameter.
    pub value: usize,
}

impl Setting {
    /// The place of the setting in arrays of [`MAX_VALUES`] a parameter.
    #[inline]
    pub(super) fn slot(self) -> usize {
        self.parameter * MAX_VALUES + self.value
    }
}

/// What makes combinations illegal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constraint {
    /// No legal combination has both.
    Apart(Setting, Setting),
    /// A legal combination has both or neither.
    Together(Setting, Setting),
}

impl Constraint {
    fn settings(self) -> [Setting; 2] {
        let (Constraint::Apart(a, b) | Constraint::Together(a, b)) = self;
        [a, b]
    }
}

/// A value for each parameter of a [`Space`], by index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Combination([u8; MAX_PARAMETERS]);

impl Combination {
    /// The index of the value of a parameter.
    ///
    /// # Panics
    ///
    /// If `parameter` is [`MAX_PARAMETERS`] or more.
    #[inline]
    pub fn index(self, parameter: usize) -> usize {
        usize::from(self.0[parameter])
    }

    /// With one more parameter set; those not set have their first value.
    #[inline]
    pub(super) fn with(self, setting: Setting) -> Combination {
        Combination((self.key() | (setting.value as u64) << (setting.parameter * 8)).to_le_bytes())
    }

    /// A number of its own.
    #[inline]
    pub(super) fn key(self) -> u64 {
        u64::from_le_bytes(self.0)
    }
}

/// The values each parameter may still take, a bit each. A parameter is set
/// once it has one left; those beyond the last of the space are set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partial([u32; MAX_PARAMETERS]);

impl Partial {
    #[inline]
    pub(super) fn feasible(self, parameter: usize) -> u32 {
        self.0[parameter]
    }

    /// The combination of the lowest value left of each parameter.
    #[inline]
    pub(super) fn combination(self) -> Combination {
        Combination(self.0.map(|values| values.trailing_zeros() as u8))
    }
}

/// Why parameters and rules make no [`Space`].
#[derive(Error, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SpaceError {
    /// There are too many parameters, or none.
    #[error("a space has 1 to {MAX_PARAMETERS} parameters, not {found}: leave some out")]
    Parameters {
        /// How many there are.
        found: usize,
    },
    /// Two parameters have the same name.
    #[error("two parameters are named `{name}`: rename one")]
    Name {
        /// The name.
        name: String,
    },
    /// A parameter has too many values, or none.
    #[error("a parameter has 1 to {MAX_VALUES} values, not {found} as `{name}` has")]
    Values {
        /// The parameter.
        name: String,
        /// How many values it has.
        found: usize,
    },
    /// A value is not a number, or is there twice.
    #[error("the values of `{name}` must be numbers and each another, unlike {value}")]
    Value {
        /// The parameter.
        name: String,
        /// The value.
        value: String,
    },
    /// There are too many combinations.
    #[error("a space has at most {MAX_COMBINATIONS} combinations: leave out some values")]
    Combinations,
    /// A rule names a value that is not there, or two of one parameter.
    #[error("{rule:?} must name values of two parameters")]
    Constraint {
        /// The rule.
        rule: Constraint,
    },
    /// Some values agree with one another pair by pair, but no legal
    /// combination has them all.
    #[error("{chosen} leaves no value of `{name}`: leave a value out, or set apart two of those values")]
    DeadEnd {
        /// The values.
        chosen: String,
        /// The parameter.
        name: String,
    },
}

/// The parameters that are tuned, and which combinations of their values are
/// legal (paper 001, section 4.2: P, V and L).
///
/// Rules are about pairs of values. Whichever values are chosen first, if each
/// agrees with those before it then a legal combination has them all; what
/// would not be so is no space.
#[derive(Clone, PartialEq, Debug)]
pub struct Space {
    parameters: Vec<Parameter>,
    /// For each setting by slot, what agrees with it. Of its own parameter
    /// that is itself.
    agreeing: Vec<[u32; MAX_PARAMETERS]>,
    /// The parameters without a rule, and those with one.
    free: Vec<u8>,
    ruled: Vec<u8>,
    /// By parameter the values that are not replaced by others.
    fixed: [u32; MAX_PARAMETERS],
    /// By parameter the value that is expected to be the best.
    expected: [Option<usize>; MAX_PARAMETERS],
}

impl Space {
    /// A space of parameters, in order, under rules.
    ///
    /// Takes time in proportion to the combinations, those included that leave
    /// out some parameters.
    ///
    /// # Errors
    ///
    /// [`SpaceError`] says what of them makes no space.
    pub fn new(parameters: Vec<Parameter>, rules: &[Constraint]) -> Result<Space, SpaceError> {
        check_parameters(&parameters)?;
        let agreeing = agreeing_without_rules(&parameters);
        let mut space = Space {
            parameters,
            agreeing,
            free: Vec::new(),
            ruled: Vec::new(),
            fixed: [0; MAX_PARAMETERS],
            expected: [None; MAX_PARAMETERS],
        };
        for &rule in rules {
            space.apply(rule)?;
            rule.settings().iter().for_each(|setting| space.fixed[setting.parameter] |= 1 << setting.value);
        }
        let has_rule = |&parameter: &u8| {
            let named = |rule: &Constraint| rule.settings().iter().any(|s| s.parameter == usize::from(parameter));
            rules.iter().any(named)
        };
        (space.ruled, space.free) = (0..space.parameters.len() as u8).partition(has_rule);
        match space.dead_end(space.everything(), 0, &mut Vec::new()) {
            None => Ok(space),
            Some(error) => Err(error),
        }
    }

    /// The space of the paper (section 5.1): the parameters of a player with
    /// GRAVE and MAST. `C` is UCT's constant for rewards 0 to 1, `K` and `ref`
    /// are GRAVE's equivalence parameter and least visits, `epsilon` is MAST's
    /// share of random moves. With `K` = 0, GRAVE is off and `ref` is none. Of
    /// its combinations 7,227 are legal.
    pub fn grave_mast() -> Space {
        Space::of(&[Aspect::Grave]).expect("the sets of the paper make a space")
    }

    /// The space of what is tuned of a search, its parameters in the order of
    /// aspects. With GRAVE, whose space has an ε, it has no other.
    ///
    /// # Errors
    ///
    /// If nothing is tuned.
    pub fn of(aspects: &[Aspect]) -> Result<Space, SpaceError> {
        let (mut parameters, mut rules) = (Vec::new(), Vec::new());
        let told = |aspect: &Aspect| *aspect != Aspect::Epsilon || !aspects.contains(&Aspect::Grave);
        // Rules number the parameters of GRAVE from 0.
        let mut sorted: Vec<Aspect> = aspects.iter().copied().filter(told).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut fixed = [0; MAX_PARAMETERS];
        for aspect in sorted {
            let (its, about) = aspect.parameters();
            if aspect.is_fixed() {
                fixed[parameters.len()] = u32::MAX;
            }
            parameters.extend(its);
            rules.extend(about);
        }
        let mut space = Space::new(parameters, &rules)?;
        space.fixed.iter_mut().zip(fixed).for_each(|(mask, fixed)| *mask |= fixed);
        Ok(space)
    }

    /// Replaces the value of least score of each parameter by one between the
    /// best and one next to it, a quarter to three quarters of the way. Values
    /// that rules name, that are infinite or none, and those without a score
    /// stay. Returns whether any was replaced.
    pub(super) fn evolve(&mut self, score: impl Fn(Setting) -> Option<f64>, rng: &mut Rng) -> bool {
        let mut evolved = false;
        for parameter in 0..self.parameters.len() {
            let values = &self.parameters[parameter].values;
            let finite = |value: usize| values[value].filter(|number| number.is_finite());
            let scored = || {
                let score = |value| Some((score(Setting { parameter, value })?, finite(value)?, value));
                (0..values.len()).filter_map(score)
            };
            let may_go = |&(.., value): &(f64, f64, usize)| self.fixed[parameter] >> value & 1 == 0;
            let worst = scored().filter(may_go).min_by(|a, b| a.0.total_cmp(&b.0));
            let best = scored().max_by(|a, b| a.0.total_cmp(&b.0));
            let (Some((least, _, worst)), Some((most, best, _))) = (worst, best) else { continue };
            if least >= most {
                continue;
            }
            let others = (0..values.len()).filter(|&value| value != worst).filter_map(finite);
            let below = others.clone().filter(|&other| other < best).reduce(f64::max);
            let above = others.filter(|&other| other > best).reduce(f64::min);
            let next = match (below, above) {
                (Some(below), Some(above)) => {
                    if rng.random() {
                        below
                    } else {
                        above
                    }
                }
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => continue,
            };
            let new = best + (next - best) * (0.25 + 0.5 * rng.random::<f64>());
            if !self.parameters[parameter].values.contains(&Some(new)) {
                self.parameters[parameter].values[worst] = Some(new);
                self.expected[parameter].take_if(|expected| *expected == worst);
                evolved = true;
            }
        }
        evolved
    }

    /// The parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The same space, with the value of each parameter that is expected to be
    /// the best by its name, if it has that value.
    pub(super) fn expecting(mut self, value: impl Fn(&str) -> Option<f64>) -> Space {
        for (expected, parameter) in self.expected.iter_mut().zip(&self.parameters) {
            let told = value(&parameter.name);
            *expected = parameter.values.iter().position(|&value| value.is_some() && value == told);
        }
        self
    }

    /// The index of the value of a parameter that is expected to be the best.
    pub(super) fn expected(&self, parameter: usize) -> Option<usize> {
        self.expected[parameter]
    }

    /// The index of the parameter of a name.
    pub fn parameter(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|parameter| parameter.name == name)
    }

    /// The value a combination of this space gives to a parameter, by index.
    ///
    /// # Panics
    ///
    /// If there is no such parameter, or the combination is of another space.
    #[inline]
    pub fn value(&self, combination: Combination, parameter: usize) -> Option<f64> {
        self.parameters[parameter].values[combination.index(parameter)]
    }

    /// Whether a combination is a legal one of this space.
    pub fn is_legal(&self, combination: Combination) -> bool {
        let mut partial = self.everything();
        (0..MAX_PARAMETERS).all(|parameter| {
            let value = combination.index(parameter);
            if value >= MAX_VALUES || partial.feasible(parameter) >> value & 1 == 0 {
                return false;
            }
            if parameter < self.parameters.len() {
                partial = self.set(partial, Setting { parameter, value });
            }
            true
        })
    }

    /// All legal combinations, the last parameter changing fastest.
    pub fn combinations(&self) -> Vec<Combination> {
        let mut found = Vec::new();
        self.complete(self.everything(), 0, &mut found);
        found
    }

    fn complete(&self, partial: Partial, parameter: usize, found: &mut Vec<Combination>) {
        if parameter == self.parameters.len() {
            return found.push(partial.combination());
        }
        for value in bits(partial.feasible(parameter)) {
            self.complete(self.set(partial, Setting { parameter, value }), parameter + 1, found);
        }
    }

    /// The values of the parameter that has the most.
    pub(super) fn most_values(&self) -> usize {
        self.parameters.iter().map(|parameter| parameter.values.len()).max().unwrap_or(0)
    }

    /// The settings of all parameters, in order.
    pub(super) fn settings(&self) -> impl Iterator<Item = Setting> + '_ {
        self.parameters
            .iter()
            .enumerate()
            .flat_map(|(parameter, its)| (0..its.values.len()).map(move |value| Setting { parameter, value }))
    }

    /// With nothing set.
    #[inline]
    pub(super) fn everything(&self) -> Partial {
        let mut values = [1; MAX_PARAMETERS];
        for (values, parameter) in values.iter_mut().zip(&self.parameters) {
            *values = all(parameter.values.len());
        }
        Partial(values)
    }

    /// With one more set, to a feasible value.
    #[inline]
    pub(super) fn set(&self, mut partial: Partial, setting: Setting) -> Partial {
        let agreeing = &self.agreeing[setting.slot()];
        for (values, agreeing) in partial.0.iter_mut().zip(agreeing) {
            *values &= agreeing;
        }
        partial
    }

    /// Adds to a partial combination a value for each other parameter. They
    /// take turns in a random order, and `choose` is told whose turn it is and
    /// which values are feasible. A parameter that is set has but one.
    ///
    /// Those without a rule come first: their turns change nothing for others.
    #[inline]
    pub(super) fn extend(
        &self,
        mut partial: Partial,
        rng: &mut Rng,
        mut choose: impl FnMut(usize, u32, &mut Rng) -> usize,
    ) -> Combination {
        let mut chosen = Combination::default();
        for parameter in self.free.iter().map(|&parameter| usize::from(parameter)) {
            let value = choose(parameter, partial.feasible(parameter), rng);
            chosen = chosen.with(Setting { parameter, value });
        }
        for i in random_order(self.ruled.len(), rng).into_iter().take(self.ruled.len()) {
            let parameter = usize::from(self.ruled[usize::from(i)]);
            let setting = Setting { parameter, value: choose(parameter, partial.feasible(parameter), rng) };
            chosen = chosen.with(setting);
            partial = self.set(partial, setting);
        }
        chosen
    }

    /// The combination that takes, one after another, the feasible setting of
    /// highest score of all parameters not yet set, the first of equals.
    pub(super) fn greedy(&self, score: impl Fn(Setting) -> f64) -> Combination {
        let mut partial = self.everything();
        let mut unset: Vec<usize> = (0..self.parameters.len()).collect();
        while !unset.is_empty() {
            let settings = unset.iter().flat_map(|&parameter| {
                bits(partial.feasible(parameter)).map(move |value| Setting { parameter, value })
            });
            let best = settings.reduce(|a, b| if score(b) > score(a) { b } else { a });
            let best = best.expect("a partial combination leaves a value of each parameter");
            partial = self.set(partial, best);
            unset.retain(|&parameter| parameter != best.parameter);
        }
        partial.combination()
    }

    fn apply(&mut self, rule: Constraint) -> Result<(), SpaceError> {
        let there = |s: Setting| self.parameters.get(s.parameter).is_some_and(|p| s.value < p.values.len());
        let [a, b] = rule.settings();
        if !there(a) || !there(b) || a.parameter == b.parameter {
            return Err(SpaceError::Constraint { rule });
        }
        match rule {
            Constraint::Apart(a, b) => self.set_apart(a, b),
            Constraint::Together(a, b) => {
                self.set_apart_from_others(a, b);
                self.set_apart_from_others(b, a);
            }
        }
        Ok(())
    }

    fn set_apart(&mut self, a: Setting, b: Setting) {
        self.agreeing[a.slot()][b.parameter] &= !(1 << b.value);
        self.agreeing[b.slot()][a.parameter] &= !(1 << a.value);
    }

    /// Sets `a` apart from all values of the parameter of `b` but `b`.
    fn set_apart_from_others(&mut self, a: Setting, b: Setting) {
        for value in (0..self.parameters[b.parameter].values.len()).filter(|&value| value != b.value) {
            self.set_apart(a, Setting { parameter: b.parameter, value });
        }
    }

    /// A partial combination that cannot be completed: `partial` with
    /// `chosen`, or with more of the parameters from `next` on.
    fn dead_end(&self, partial: Partial, next: usize, chosen: &mut Vec<Setting>) -> Option<SpaceError> {
        if let Some(empty) = (0..self.parameters.len()).find(|&parameter| partial.feasible(parameter) == 0) {
            let chosen: Vec<String> = chosen.iter().map(|&setting| self.tell(setting)).collect();
            let name = self.parameters[empty].name.clone();
            return Some(SpaceError::DeadEnd { chosen: chosen.join(", "), name });
        }
        for parameter in next..self.parameters.len() {
            for value in bits(partial.feasible(parameter)) {
                let setting = Setting { parameter, value };
                chosen.push(setting);
                let found = self.dead_end(self.set(partial, setting), parameter + 1, chosen);
                chosen.pop();
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    fn tell(&self, setting: Setting) -> String {
        let parameter = &self.parameters[setting.parameter];
        format!("{}={}", parameter.name, tell(parameter.values[setting.value]))
    }
}

fn check_parameters(parameters: &[Parameter]) -> Result<(), SpaceError> {
    if !(1..=MAX_PARAMETERS).contains(&parameters.len()) {
        return Err(SpaceError::Parameters { found: parameters.len() });
    }
    for (i, parameter) in parameters.iter().enumerate() {
        let name = || parameter.name.clone();
        if parameters[..i].iter().any(|earlier| earlier.name == parameter.name) {
            return Err(SpaceError::Name { name: name() });
        }
        if !(1..=MAX_VALUES).contains(&parameter.values.len()) {
            return Err(SpaceError::Values { name: name(), found: parameter.values.len() });
        }
        let bad =
            |(i, value): (usize, &Option<f64>)| value.is_some_and(f64::is_nan) || parameter.values[..i].contains(value);
        if let Some(i) = parameter.values.iter().enumerate().position(bad) {
            return Err(SpaceError::Value { name: name(), value: tell(parameter.values[i]) });
        }
    }
    let combinations = parameters.iter().try_fold(1_usize, |product, its| product.checked_mul(its.values.len()));
    match combinations {
        Some(combinations) if combinations <= MAX_COMBINATIONS => Ok(()),
        _ => Err(SpaceError::Combinations),
    }
}

fn agreeing_without_rules(parameters: &[Parameter]) -> Vec<[u32; MAX_PARAMETERS]> {
    let mut agreeing = vec![[u32::MAX; MAX_PARAMETERS]; parameters.len() * MAX_VALUES];
    for (slot, agreeing) in agreeing.iter_mut().enumerate() {
        agreeing[slot / MAX_VALUES] = 1 << (slot % MAX_VALUES);
    }
    agreeing
}

fn tell(value: Option<f64>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

/// The set of all of some values.
pub(super) fn all(values: usize) -> u32 {
    u32::MAX >> (MAX_VALUES - values)
}

/// The indices of the bits set, from the lowest.
pub(super) fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        bit
    })
}

/// The index of a bit of a mask that has some, all equally likely. No random
/// number is drawn if there is but one.
#[inline]
pub(super) fn random_bit(mut mask: u32, rng: &mut Rng) -> usize {
    let first = mask.trailing_zeros() as usize;
    if mask.is_power_of_two() {
        return first;
    }
    let nth = rng.random_range(0..mask.count_ones());
    let run = mask >> first;
    if run & run.wrapping_add(1) == 0 {
        // The bits are side by side, as those of feasible values mostly are.
        return first + nth as usize;
    }
    for _ in 0..nth {
        mask &= mask - 1;
    }
    mask.trailing_zeros() as usize
}

/// The numbers below `count` in an order drawn at random, then anything.
#[inline]
pub(super) fn random_order(count: usize, rng: &mut Rng) -> [u8; MAX_PARAMETERS] {
    let mut order = std::array::from_fn(|i| i as u8);
    for i in 1..count {
        order.swap(i, rng.random_range(0..=i));
    }
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Rng;
    use crate::mcts::tuning::testing::{rows, setting};

    const COMBINATIONS: &str = include_str!("../../../tests/data/tuning/combinations.tsv");

    #[test]
    fn the_space_of_the_paper_has_the_combinations_counted_by_hand() {
        let space = Space::grave_mast();
        let combinations = space.combinations();
        assert_eq!(combinations.len(), 7_227);
        assert_eq!(rows(COMBINATIONS).count(), space.settings().count());
        for row in rows(COMBINATIONS) {
            let (parameter, value) = (space.parameter(row[0]).unwrap(), row[1].parse::<usize>().unwrap());
            let having = combinations.iter().filter(|combination| combination.index(parameter) == value).count();
            assert_eq!(having, row[2].parse::<usize>().unwrap(), "{row:?}");
        }
        let off = |combination| (space.value(combination, 1) == Some(0.0), space.value(combination, 2).is_none());
        assert!(combinations.iter().all(|&combination| off(combination).0 == off(combination).1));
    }

    /// A space of up to four parameters of up to four values, and its pairs
    /// set apart, whether or not that makes a space.
    fn any_space() -> impl Strategy<Value = (Vec<usize>, Vec<(Setting, Setting)>)> {
        let apart = (0_usize..4, 0_usize..4, 0_usize..4, 0_usize..4);
        (prop::collection::vec(1_usize..5, 1..5), prop::collection::vec(apart, 0..6)).prop_map(|(sizes, apart)| {
            let there = |&(a, v, b, w): &(usize, usize, usize, usize)| {
                a != b && a.max(b) < sizes.len() && v < sizes[a] && w < sizes[b]
            };
            let apart = apart.into_iter().filter(there).map(|(a, v, b, w)| (setting(a, v), setting(b, w))).collect();
            (sizes, apart)
        })
    }

    fn product(sizes: &[usize]) -> Vec<Vec<usize>> {
        sizes.iter().fold(vec![Vec::new()], |all, &size| {
            all.iter().flat_map(|some| (0..size).map(move |value| [&some[..], &[value]].concat())).collect()
        })
    }

    proptest! {
        /// A set of parameters is a space if and only if whatever agrees pair
        /// by pair can be completed, and then it has all that is legal.
        #[test]
        fn spaces_are_those_without_dead_ends((sizes, apart) in any_space()) {
            let parameters: Vec<Parameter> = (0..sizes.len())
                .map(|i| Parameter::new(&i.to_string(), &[0.0, 1.0, 2.0, 3.0][..sizes[i]]))
                .collect();
            let rules: Vec<Constraint> = apart.iter().map(|&(a, b)| Constraint::Apart(a, b)).collect();
            let legal = |combination: &Vec<usize>| {
                !apart.iter().any(|(a, b)| combination[a.parameter] == a.value && combination[b.parameter] == b.value)
            };
            let expected: Vec<Vec<usize>> = product(&sizes).into_iter().filter(legal).collect();
            // With the number of values in place of a value, it is left open.
            let open: Vec<usize> = sizes.iter().map(|size| size + 1).collect();
            let completes = |partial: &Vec<usize>| expected.iter().any(|full| {
                (0..sizes.len()).all(|i| partial[i] == sizes[i] || partial[i] == full[i])
            });
            let sound = product(&open).iter().filter(|partial| legal(partial)).all(completes);
            match Space::new(parameters, &rules) {
                Ok(space) => {
                    prop_assert!(sound);
                    let found: Vec<Vec<usize>> = space
                        .combinations()
                        .iter()
                        .map(|combination| (0..sizes.len()).map(|i| combination.index(i)).collect())
                        .collect();
                    prop_assert_eq!(found, expected);
                }
                Err(error) => {
                    let dead_end = matches!(error, SpaceError::DeadEnd { .. });
                    prop_assert!(dead_end, "{}", error);
                    prop_assert!(!sound);
                }
            }
        }
    }

    #[test]
    fn spaces_have_what_is_tuned() {
        let names = |aspects: &[Aspect]| {
            let space = Space::of(aspects).unwrap();
            let names: Vec<&str> = space.parameters().iter().map(|parameter| parameter.name.as_str()).collect();
            (names.join(" "), space.combinations().len())
        };
        use Aspect::*;
        assert_eq!(names(&[Epsilon, Playout]), ("playout epsilon".to_owned(), 21));
        assert_eq!(names(&[Omega]), ("omega".to_owned(), 3));
        let all = [Omega, Gamma, Epsilon, Playout, Grave, Grave];
        assert_eq!(names(&all), ("C K ref epsilon playout gamma omega".to_owned(), 7_227 * 27));
        assert!(matches!(Space::of(&[]), Err(SpaceError::Parameters { found: 0 })));
    }

    #[test]
    fn the_worst_value_gives_way_to_one_near_the_best() {
        use rand::SeedableRng;
        let mut rng = Rng::seed_from_u64(8);
        // The best of C is 0.3 and its worst 0.9, of K 100 and 10, as 0 and
        // infinity stay, of ref 0 and 10,000, and of epsilon 0 the best and worst.
        let score = |setting: Setting| match (setting.parameter, setting.value) {
            (0, value) => Some(1.0 - (value as f64 - 2.0).abs() / 10.0),
            (1, value) => Some([0.0, 0.1, 0.5, 0.9, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0][value]),
            (2, value) => Some(1.0 - value as f64 / 10.0),
            (_, 0) => Some(0.5),
            _ => None,
        };
        let mut met = [[false; 2]; 2];
        for _ in 0..200 {
            let before = Space::grave_mast();
            let mut space = before.clone();
            assert!(space.evolve(score, &mut rng));
            let changed: Vec<(usize, usize, f64)> = (before.settings())
                .map(|setting| (setting, space.parameters()[setting.parameter].values[setting.value]))
                .filter(|(setting, now)| before.parameters()[setting.parameter].values[setting.value] != *now)
                .map(|(setting, now)| (setting.parameter, setting.value, now.unwrap()))
                .collect();
            let [(0, 8, c), (1, 1, k), (2, 6, least)] = changed[..] else { panic!("{changed:?}") };
            let near =
                |value: f64, best: f64, next: f64| (0.25..0.75 + 1e-9).contains(&((value - best) / (next - best)));
            assert!(near(c, 0.3, 0.2) || near(c, 0.3, 0.4), "{c}");
            assert!(near(k, 100.0, 50.0) || near(k, 100.0, 250.0), "{k}");
            assert!(near(least, 0.0, 50.0), "{least}");
            met[0][usize::from(c > 0.3)] = true;
            met[1][usize::from(k > 100.0)] = true;
            assert_eq!(space.combinations(), before.combinations(), "what is legal stays");
        }
        assert_eq!(met, [[true; 2]; 2]);
        let mut names = Space::of(&[Aspect::Playout, Aspect::Gamma, Aspect::Omega]).unwrap();
        assert!(!names.evolve(|setting| Some(setting.value as f64), &mut rng));
        assert!(!Space::grave_mast().evolve(|_| Some(0.5), &mut rng), "none is worse than another");
    }

    #[test]
    fn what_makes_no_space_is_told() {
        let ab = || vec![Parameter::new("A", &[0.0, 1.0]), Parameter::new("B", &[0.0, 1.0])];
        let told = |parameters, rules: &[Constraint]| Space::new(parameters, rules).unwrap_err().to_string();
        assert_eq!(told(vec![], &[]), "a space has 1 to 8 parameters, not 0: leave some out");
        assert_eq!(told(vec![Parameter::new("A", &[])], &[]), "a parameter has 1 to 32 values, not 0 as `A` has");
        assert_eq!(
            told(vec![Parameter::new("A", &[1.0, 1.0])], &[]),
            "the values of `A` must be numbers and each another, unlike 1"
        );
        assert_eq!(
            told(vec![Parameter::new("A", &[f64::NAN])], &[]),
            "the values of `A` must be numbers and each another, unlike NaN"
        );
        assert_eq!(told([ab(), ab()].concat(), &[]), "two parameters are named `A`: rename one");
        let values: Vec<f64> = (0..32).map(f64::from).collect();
        let large = (0..5).map(|i| Parameter::new(&i.to_string(), &values)).collect();
        assert!(matches!(Space::new(large, &[]), Err(SpaceError::Combinations)));
        for rule in
            [Constraint::Apart(setting(0, 0), setting(0, 1)), Constraint::Together(setting(0, 0), setting(1, 2))]
        {
            assert!(matches!(Space::new(ab(), &[rule]), Err(SpaceError::Constraint { rule: told }) if told == rule));
        }
        let rules = [Constraint::Apart(setting(0, 1), setting(1, 0)), Constraint::Apart(setting(0, 1), setting(1, 1))];
        assert_eq!(
            told(ab(), &rules),
            "A=1 leaves no value of `B`: leave a value out, or set apart two of those values"
        );
    }

    #[test]
    fn orders_and_bits_are_drawn_evenly() {
        use rand::SeedableRng;
        let mut rng = Rng::seed_from_u64(6);
        // 1,000 each with a deviation of about 30.
        for mask in [0b1111, 0b1111_0000, 0b1011_0100] {
            let mut counts = [0; 8];
            (0..4_000).for_each(|_| counts[random_bit(mask, &mut rng)] += 1);
            assert!((0..8).all(|bit| match mask >> bit & 1 {
                1 => (850..1_150).contains(&counts[bit]),
                _ => counts[bit] == 0,
            }));
        }
        let mut counts = std::collections::HashMap::new();
        (0..6_000).for_each(|_| *counts.entry(random_order(3, &mut rng)).or_insert(0) += 1);
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (850..1_150).contains(count)), "{counts:?}");
    }
}
