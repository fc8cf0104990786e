//! Parameters, their values, and the legal combinations of values.

use rand::RngExt;
use thiserror::Error;

use crate::mcts::params::PlayoutKind;
use crate::rng::Rng;

/// The maximum number of parameters of a [`Space`].
pub const MAX_PARAMETERS: usize = 8;

/// The maximum number of values of a parameter.
pub const MAX_VALUES: usize = 32;

/// The maximum number of combinations of a [`Space`], legal or not.
pub const MAX_COMBINATIONS: usize = 1 << 20;

/// A parameter and its values.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Its name, which is unique in its space.
    pub name: String,
    /// Its values, all different. [`None`] is the value of a parameter that
    /// has no effect, such as `ref` if GRAVE is off.
    pub values: Vec<Option<f64>>,
}

impl Parameter {
    /// Creates a parameter with numeric values.
    pub fn new(name: &str, values: &[f64]) -> Parameter {
        Parameter { name: name.to_owned(), values: values.iter().copied().map(Some).collect() }
    }
}

/// A group of search parameters that can be tuned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Aspect {
    /// C, K, ref and ε of GRAVE with MAST, with the values of [Sironi and
    /// Winands 2018].
    Grave,
    /// The source of move values, as an index of [`PlayoutKind::ALL`]: random
    /// moves, MAST or NST.
    Playout,
    /// The fraction ε of random moves in playouts.
    Epsilon,
    /// The Move Decay γ of the move values.
    Gamma,
    /// The Simulation Decay ω of the move values.
    Omega,
}

impl Aspect {
    /// Returns whether the values are categorical, so that evolution must not
    /// generate new ones.
    fn is_fixed(self) -> bool {
        matches!(self, Aspect::Playout | Aspect::Gamma | Aspect::Omega)
    }

    /// The values of ε if GRAVE is not tuned.
    const EPSILONS: [f64; 7] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6];

    /// The values of γ. Playouts keep one table per value.
    pub(crate) const GAMMAS: [f64; 3] = [0.2, 0.6, 1.0];

    /// The values of ω. Playouts keep one table per value.
    pub(crate) const OMEGAS: [f64; 3] = [0.94, 0.97, 1.0];

    /// Returns the parameters and their rules. The rules number the parameters
    /// as in a space that begins with them.
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

/// Returns the parameters of [`Space::grave_mast`] and their rule.
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

/// A value of a parameter; both are indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The index of the parameter in its space.
    pub parameter: usize,
    /// The index of the value among those of the parameter.
    pub value: usize,
}

impl Setting {
    /// Returns the index of the setting in arrays with [`MAX_VALUES`] entries
    /// per parameter.
    #[inline]
    pub(super) fn slot(self) -> usize {
        self.parameter * MAX_VALUES + self.value
    }
}

/// A restriction on legal combinations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constraint {
    /// No legal combination contains both settings.
    Apart(Setting, Setting),
    /// A legal combination contains both settings or neither.
    Together(Setting, Setting),
}

impl Constraint {
    fn settings(self) -> [Setting; 2] {
        let (Constraint::Apart(a, b) | Constraint::Together(a, b)) = self;
        [a, b]
    }
}

/// One value for each parameter of a [`Space`], by index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Combination([u8; MAX_PARAMETERS]);

impl Combination {
    /// Returns the index of the value of a parameter.
    ///
    /// # Panics
    ///
    /// Panics if `parameter` is [`MAX_PARAMETERS`] or more.
    #[inline]
    pub fn index(self, parameter: usize) -> usize {
        usize::from(self.0[parameter])
    }

    /// Returns the combination with one more parameter set. Unset parameters
    /// have their first value.
    #[inline]
    pub(super) fn with(self, setting: Setting) -> Combination {
        Combination((self.key() | (setting.value as u64) << (setting.parameter * 8)).to_le_bytes())
    }

    /// Returns a number that identifies the combination.
    #[inline]
    pub(super) fn key(self) -> u64 {
        u64::from_le_bytes(self.0)
    }
}

/// A partial combination: the values that each parameter can still have, one
/// bit each.
///
/// A parameter is set once it has one value left. Entries beyond the last
/// parameter of the space are set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partial([u32; MAX_PARAMETERS]);

impl Partial {
    #[inline]
    pub(super) fn feasible(self, parameter: usize) -> u32 {
        self.0[parameter]
    }

    /// Returns the combination of the lowest remaining value of each
    /// parameter.
    #[inline]
    pub(super) fn combination(self) -> Combination {
        Combination(self.0.map(|values| values.trailing_zeros() as u8))
    }
}

/// An error in the parameters or rules of a [`Space`].
#[derive(Error, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum SpaceError {
    /// There are too many parameters, or none.
    #[error("a space has 1 to {MAX_PARAMETERS} parameters, not {found}: leave some out")]
    Parameters {
        /// The number of parameters.
        found: usize,
    },
    /// Two parameters have the same name.
    #[error("two parameters are named `{name}`: rename one")]
    Name {
        /// The name of the parameters.
        name: String,
    },
    /// A parameter has too many values, or none.
    #[error("a parameter has 1 to {MAX_VALUES} values, not {found} as `{name}` has")]
    Values {
        /// The name of the parameter.
        name: String,
        /// The number of values.
        found: usize,
    },
    /// A value is not a number, or occurs twice.
    #[error("the values of `{name}` must be numbers and each another, unlike {value}")]
    Value {
        /// The name of the parameter.
        name: String,
        /// The value.
        value: String,
    },
    /// There are too many combinations.
    #[error("a space has at most {MAX_COMBINATIONS} combinations: leave out some values")]
    Combinations,
    /// A rule contains a missing value, or two values of one parameter.
    #[error("{rule:?} must name values of two parameters")]
    Constraint {
        /// The rule.
        rule: Constraint,
    },
    /// Some values are compatible with one another, but no legal combination
    /// contains all of them.
    #[error("{chosen} leaves no value of `{name}`: leave a value out, or set apart two of those values")]
    DeadEnd {
        /// The values.
        chosen: String,
        /// The parameter.
        name: String,
    },
}

/// The tuned parameters and the legal combinations of their values [Sironi and
/// Winands 2018, section 4.2: P, V and L].
///
/// Rules restrict pairs of values. Values that are compatible pair by pair can
/// always be extended to a legal combination; other sets of rules are refused.
#[derive(Clone, PartialEq, Debug)]
pub struct Space {
    parameters: Vec<Parameter>,
    /// The compatible values for each setting, by slot. For its own parameter
    /// that is only the setting itself.
    agreeing: Vec<[u32; MAX_PARAMETERS]>,
    /// The parameters without rules, and those with rules.
    free: Vec<u8>,
    ruled: Vec<u8>,
    /// The values that evolution must not replace, by parameter.
    fixed: [u32; MAX_PARAMETERS],
    /// The value that is expected to be best, by parameter.
    expected: [Option<usize>; MAX_PARAMETERS],
}

impl Space {
    /// Creates a space from parameters and rules.
    ///
    /// Takes time proportional to the number of combinations, including
    /// partial ones.
    ///
    /// # Errors
    ///
    /// Returns a [`SpaceError`] if the parameters or rules are invalid.
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

    /// Returns the space for a player with GRAVE and MAST [Sironi and Winands
    /// 2018, section 5.1].
    ///
    /// `C` is UCT's exploration constant for rewards from 0 to 1. `K` and
    /// `ref` are GRAVE's equivalence parameter and minimum number of visits.
    /// `epsilon` is MAST's fraction of random moves. With `K` = 0, GRAVE is
    /// off and `ref` is `None`. 7,227 combinations are legal.
    pub fn grave_mast() -> Space {
        Space::of(&[Aspect::Grave]).expect("the sets of the paper make a space")
    }

    /// Returns the space of some aspects, with parameters in the order of the
    /// aspects. The space of GRAVE has its own ε, so [`Aspect::Epsilon`] adds
    /// no second one.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no aspect.
    pub fn of(aspects: &[Aspect]) -> Result<Space, SpaceError> {
        let (mut parameters, mut rules) = (Vec::new(), Vec::new());
        let told = |aspect: &Aspect| *aspect != Aspect::Epsilon || !aspects.contains(&Aspect::Grave);
        // The rules of GRAVE number its parameters from 0.
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

    /// Replaces the value with the lowest score of each parameter by a value
    /// between the best value and a neighbour of it, a quarter to three
    /// quarters of the way.
    ///
    /// Values that occur in rules, infinite values, `None`, and values without
    /// a score stay. Returns whether a value was replaced.
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

    /// Returns the parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Returns the same space with expected values. `value` returns the value
    /// that is expected to be best for a parameter name; values that the
    /// parameter does not have are ignored.
    pub(super) fn expecting(mut self, value: impl Fn(&str) -> Option<f64>) -> Space {
        for (expected, parameter) in self.expected.iter_mut().zip(&self.parameters) {
            let told = value(&parameter.name);
            *expected = parameter.values.iter().position(|&value| value.is_some() && value == told);
        }
        self
    }

    /// Returns the index of the value of a parameter that is expected to be
    /// best.
    pub(super) fn expected(&self, parameter: usize) -> Option<usize> {
        self.expected[parameter]
    }

    /// Returns the index of the parameter with a name.
    pub fn parameter(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|parameter| parameter.name == name)
    }

    /// Returns the value of a parameter in a combination of this space.
    ///
    /// # Panics
    ///
    /// Panics if the parameter does not exist or the combination is from
    /// another space.
    #[inline]
    pub fn value(&self, combination: Combination, parameter: usize) -> Option<f64> {
        self.parameters[parameter].values[combination.index(parameter)]
    }

    /// Returns whether a combination is legal in this space.
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

    /// Returns all legal combinations; the last parameter changes fastest.
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

    /// Returns the largest number of values of a parameter.
    pub(super) fn most_values(&self) -> usize {
        self.parameters.iter().map(|parameter| parameter.values.len()).max().unwrap_or(0)
    }

    /// Returns the settings of all parameters, in order.
    pub(super) fn settings(&self) -> impl Iterator<Item = Setting> + '_ {
        self.parameters
            .iter()
            .enumerate()
            .flat_map(|(parameter, its)| (0..its.values.len()).map(move |value| Setting { parameter, value }))
    }

    /// Returns the partial combination without any set parameter.
    #[inline]
    pub(super) fn everything(&self) -> Partial {
        let mut values = [1; MAX_PARAMETERS];
        for (values, parameter) in values.iter_mut().zip(&self.parameters) {
            *values = all(parameter.values.len());
        }
        Partial(values)
    }

    /// Returns the partial combination with one more parameter set to a
    /// feasible value.
    #[inline]
    pub(super) fn set(&self, mut partial: Partial, setting: Setting) -> Partial {
        let agreeing = &self.agreeing[setting.slot()];
        for (values, agreeing) in partial.0.iter_mut().zip(agreeing) {
            *values &= agreeing;
        }
        partial
    }

    /// Extends a partial combination by a value for each unset parameter, in
    /// random order. `choose` receives the parameter and its feasible values.
    ///
    /// Parameters without rules come first, because their choices do not
    /// affect others.
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

    /// Returns the combination that repeatedly takes the feasible setting with
    /// the highest score over all unset parameters (ties: the first).
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

    /// Sets `a` apart from all values of the parameter of `b` except `b`.
    fn set_apart_from_others(&mut self, a: Setting, b: Setting) {
        for value in (0..self.parameters[b.parameter].values.len()).filter(|&value| value != b.value) {
            self.set_apart(a, Setting { parameter: b.parameter, value });
        }
    }

    /// Returns the first dead end: a partial combination, made of `partial`
    /// with `chosen` and settings from parameter `next` on, that cannot be
    /// completed.
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

/// Returns the set of the first `values` values.
pub(super) fn all(values: usize) -> u32 {
    u32::MAX >> (MAX_VALUES - values)
}

/// Returns the indices of the set bits, starting with the lowest.
pub(super) fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        bit
    })
}

/// Returns the index of a random set bit; all are equally likely. Draws no
/// random number if only one bit is set. The mask must not be 0.
#[inline]
pub(super) fn random_bit(mut mask: u32, rng: &mut Rng) -> usize {
    let first = mask.trailing_zeros() as usize;
    if mask.is_power_of_two() {
        return first;
    }
    let nth = rng.random_range(0..mask.count_ones());
    let run = mask >> first;
    if run & run.wrapping_add(1) == 0 {
        // The bits are contiguous, which is the usual case.
        return first + nth as usize;
    }
    for _ in 0..nth {
        mask &= mask - 1;
    }
    mask.trailing_zeros() as usize
}

/// Returns the numbers below `count` in random order; the rest of the array is
/// arbitrary.
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

    /// Generates up to four parameters with up to four values and pairs that
    /// are set apart, whether or not they form a valid space.
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
        /// Parameters form a space if and only if values that are compatible
        /// pair by pair can always be completed. The space then has all legal
        /// combinations.
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
            // The number of values, used as an index, represents an unset
            // parameter.
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
        // The best value of C is 0.3 and the worst 0.9. For K they are 100 and
        // 10, because 0 and infinity stay. For ref they are 0 and 10,000. For
        // epsilon 0 is both.
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
        // Each count is 1,000 with a standard deviation of about 30.
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
