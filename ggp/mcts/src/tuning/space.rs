//! The combinations of parameter values that a tuner chooses from.

use sternhalma_game::util::bits;

use super::bits::{all, random_order};
use super::{Aspect, MAX_PARAMETERS, MAX_VALUES, Parameter, ParameterId, ParameterValue, Rng, TuningError};
use crate::params::GRAVE_OFF;

/// A parameter and one of its values, both by index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Setting {
    /// The index of the parameter in its space.
    pub parameter: usize,
    /// The index of the value among the values of the parameter.
    pub value: usize,
}

impl Setting {
    /// Returns the index of the setting in arrays with [`MAX_VALUES`] places per parameter.
    #[inline]
    pub fn slot(self) -> usize {
        self.parameter * MAX_VALUES + self.value
    }
}

/// A value for each parameter of a [`Space`], by index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Combination([u8; MAX_PARAMETERS]);

impl Combination {
    /// Returns the index of the value of a parameter.
    ///
    /// # Panics
    /// If `parameter` is [`MAX_PARAMETERS`] or more.
    #[inline]
    pub fn index(self, parameter: usize) -> usize {
        usize::from(self.0[parameter])
    }

    /// Returns the combination with one more parameter set. A parameter that is not set has its first value.
    #[inline]
    pub(super) fn with(self, setting: Setting) -> Combination {
        Combination((self.key() | (setting.value as u64) << (setting.parameter * 8)).to_le_bytes())
    }

    /// Returns a number that differs between combinations.
    #[inline]
    pub(super) fn key(self) -> u64 {
        u64::from_le_bytes(self.0)
    }
}

/// The values that each parameter may still take, one bit per value.
///
/// A parameter is set once one value is left. The places beyond the last parameter of the space count as set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partial([u32; MAX_PARAMETERS]);

impl Partial {
    /// Returns the values that a parameter may still take.
    #[inline]
    pub fn feasible(self, parameter: usize) -> u32 {
        self.0[parameter]
    }

    /// Returns the combination of the lowest feasible value of each parameter.
    #[inline]
    pub fn combination(self) -> Combination {
        Combination(self.0.map(|values| values.trailing_zeros() as u8))
    }
}

/// The parameters that are tuned, and the legal combinations of their values: P, V and L of
/// [Sironi and Winands 2018, section 4.2].
///
/// At most one pair of settings is linked: a legal combination has both of them or neither.
#[derive(Clone, PartialEq, Debug)]
pub struct Space {
    parameters: Vec<Parameter>,
    /// By the slot of a setting, the values of each parameter that may be combined with it.
    compatible: Vec<[u32; MAX_PARAMETERS]>,
    /// The parameters without a linked value.
    free: Vec<u8>,
    /// The parameters with a linked value.
    linked: Vec<u8>,
    /// By parameter, the values that evolution must not replace.
    fixed: [u32; MAX_PARAMETERS],
    /// By parameter, the value that is probably the best.
    expected: [Option<usize>; MAX_PARAMETERS],
}

impl Space {
    /// Creates a space of parameters, in order, with at most one pair of linked settings.
    pub(super) fn new(parameters: Vec<Parameter>, link: Option<[Setting; 2]>) -> Space {
        debug_assert!((1..=MAX_PARAMETERS).contains(&parameters.len()));
        debug_assert!(parameters.iter().all(|parameter| (1..=MAX_VALUES).contains(&parameter.values.len())));
        let of = |linked: bool| {
            let is_linked = |&number: &u8| link.iter().flatten().any(|s| s.parameter == usize::from(number));
            (0..parameters.len() as u8).filter(|number| is_linked(number) == linked).collect()
        };
        let (free, linked) = (of(false), of(true));
        let compatible = unlinked(&parameters);
        let (fixed, expected) = ([0; MAX_PARAMETERS], [None; MAX_PARAMETERS]);
        let mut space = Space { parameters, compatible, free, linked, fixed, expected };
        if let Some([a, b]) = link {
            space.link(a, b);
        }
        space
    }

    /// Creates the space of [Sironi and Winands 2018, section 5.1]: the parameters of a player with GRAVE and MAST.
    ///
    /// `C` is the constant of UCT for rewards from 0 to 1. `K` and `ref` are the equivalence parameter and the minimum
    /// visits of GRAVE. `epsilon` is the fraction of random moves of MAST. With `K` = 0, GRAVE is off and `ref` has no
    /// value. The space has 7,227 legal combinations.
    pub fn grave_mast() -> Space {
        Space::of(&[Aspect::Grave]).expect("an aspect has parameters")
    }

    /// Creates the space of the tuned aspects of a search, in the order of
    /// aspects. The aspect GRAVE has its own ε, which replaces the aspect of
    /// that name.
    ///
    /// # Errors
    /// If there are no aspects.
    pub fn of(aspects: &[Aspect]) -> Result<Space, TuningError> {
        let is_own = |aspect: &Aspect| *aspect != Aspect::Epsilon || !aspects.contains(&Aspect::Grave);
        let mut sorted: Vec<Aspect> = aspects.iter().copied().filter(is_own).collect();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.is_empty() {
            return Err(TuningError::NoParameters);
        }
        let parameters: Vec<Parameter> = sorted.iter().flat_map(|aspect| aspect.parameters()).collect();
        let find = |(id, value): (ParameterId, ParameterValue)| {
            let parameter = parameters.iter().position(|parameter| parameter.id == id)?;
            let value = parameters[parameter].values.iter().position(|&known| known == value)?;
            Some(Setting { parameter, value })
        };
        let link = find(GRAVE_OFF[0]).zip(find(GRAVE_OFF[1])).map(|(a, b)| [a, b]);
        let mut space = Space::new(parameters, link);
        let is_fixed = sorted.iter().flat_map(|aspect| aspect.parameters().into_iter().map(|_| aspect.is_fixed()));
        for (mask, _) in space.fixed.iter_mut().zip(is_fixed).filter(|(_, is_fixed)| *is_fixed) {
            *mask = u32::MAX;
        }
        Ok(space)
    }

    /// Links two settings, and keeps them from evolving.
    fn link(&mut self, a: Setting, b: Setting) {
        for (one, other) in [(a, b), (b, a)] {
            self.fixed[one.parameter] |= 1 << one.value;
            for value in (0..self.parameters[other.parameter].values.len()).filter(|&value| value != other.value) {
                let excluded = Setting { parameter: other.parameter, value };
                self.compatible[one.slot()][excluded.parameter] &= !(1 << excluded.value);
                self.compatible[excluded.slot()][one.parameter] &= !(1 << one.value);
            }
        }
    }

    /// Returns the parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Returns the index of a parameter.
    pub fn position(&self, id: ParameterId) -> Option<usize> {
        self.parameters.iter().position(|parameter| parameter.id == id)
    }

    /// Returns the value that a combination of this space gives to a parameter, by index.
    ///
    /// # Panics
    /// If there is no such parameter, or the combination is of another space.
    #[inline]
    pub fn value(&self, combination: Combination, parameter: usize) -> ParameterValue {
        self.parameters[parameter].values[combination.index(parameter)]
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

    /// Returns the space with an expected best value for each parameter that has such a value.
    pub(super) fn expecting(mut self) -> Space {
        let tunes_grave = self.position(ParameterId::C).is_some();
        for (expected, parameter) in self.expected.iter_mut().zip(&self.parameters) {
            *expected = parameter.expected(tunes_grave);
        }
        self
    }

    /// Returns the index of the value of a parameter that is probably the best.
    pub(super) fn expected(&self, parameter: usize) -> Option<usize> {
        self.expected[parameter]
    }

    /// Returns whether evolution must not replace a value.
    pub(super) fn is_fixed(&self, setting: Setting) -> bool {
        self.fixed[setting.parameter] >> setting.value & 1 == 1
    }

    /// Replaces a value, which is then no longer the expected one.
    pub(super) fn replace(&mut self, setting: Setting, number: f64) {
        self.parameters[setting.parameter].values[setting.value] = number.into();
        self.expected[setting.parameter].take_if(|expected| *expected == setting.value);
    }

    /// Returns the largest number of values of a parameter.
    pub(super) fn most_values(&self) -> usize {
        self.parameters.iter().map(|parameter| parameter.values.len()).max().unwrap_or(0)
    }

    /// Returns the settings of all parameters, in order.
    pub(super) fn settings(&self) -> impl Iterator<Item = Setting> + '_ {
        let of = |(parameter, its): (usize, &Parameter)| {
            (0..its.values.len()).map(move |value| Setting { parameter, value })
        };
        self.parameters.iter().enumerate().flat_map(of)
    }

    /// Returns the partial combination without a set parameter.
    #[inline]
    pub(super) fn everything(&self) -> Partial {
        let mut values = [1; MAX_PARAMETERS];
        for (values, parameter) in values.iter_mut().zip(&self.parameters) {
            *values = all(parameter.values.len());
        }
        Partial(values)
    }

    /// Returns the partial combination with one more parameter set, to a feasible value.
    #[inline]
    pub(super) fn set(&self, mut partial: Partial, setting: Setting) -> Partial {
        let compatible = &self.compatible[setting.slot()];
        for (values, compatible) in partial.0.iter_mut().zip(compatible) {
            *values &= compatible;
        }
        partial
    }

    /// Completes a partial combination. `choose` gets each parameter, in a random order, with its feasible values; a
    /// parameter that is set has one feasible value.
    ///
    /// Parameters without a linked value come first, as their values do not restrict others.
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
        for i in random_order(self.linked.len(), rng).into_iter().take(self.linked.len()) {
            let parameter = usize::from(self.linked[usize::from(i)]);
            let setting = Setting { parameter, value: choose(parameter, partial.feasible(parameter), rng) };
            chosen = chosen.with(setting);
            partial = self.set(partial, setting);
        }
        chosen
    }

    /// Returns the combination that sets, one after another, the feasible setting with the highest score among the
    /// parameters that are not set. Ties go to the first setting.
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
}

/// Returns, by slot, the compatible values if no setting is linked: of the parameter of a setting, only the setting.
fn unlinked(parameters: &[Parameter]) -> Vec<[u32; MAX_PARAMETERS]> {
    let mut compatible = vec![[u32::MAX; MAX_PARAMETERS]; parameters.len() * MAX_VALUES];
    for (slot, compatible) in compatible.iter_mut().enumerate() {
        compatible[slot / MAX_VALUES] = 1 << (slot % MAX_VALUES);
    }
    compatible
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::bits::MAX_COMBINATIONS;
    use crate::tuning::testing::{parameter, rows};

    const COMBINATIONS: &str = include_str!("../../tests/data/tuning/combinations.tsv");

    #[test]
    fn the_space_of_the_paper_has_the_combinations_counted_by_hand() {
        let space = Space::grave_mast();
        let combinations = space.combinations();
        assert_eq!(combinations.len(), 7_227);
        assert_eq!(rows(COMBINATIONS).count(), space.settings().count());
        for row in rows(COMBINATIONS) {
            let (parameter, value) = (parameter(&space, row[0]), row[1].parse::<usize>().unwrap());
            let having = combinations.iter().filter(|combination| combination.index(parameter) == value).count();
            assert_eq!(having, row[2].parse::<usize>().unwrap(), "{row:?}");
        }
        let off = |combination| {
            let [k, reference] = [1, 2].map(|parameter| space.value(combination, parameter));
            (k == ParameterValue::Number(0.0), reference == ParameterValue::Unused)
        };
        assert!(combinations.iter().all(|&combination| off(combination).0 == off(combination).1));
    }

    #[test]
    fn spaces_have_the_parameters_of_their_aspects() {
        let names = |aspects: &[Aspect]| {
            let space = Space::of(aspects).unwrap();
            let names: Vec<&str> = space.parameters().iter().map(|parameter| parameter.id.name()).collect();
            (names.join(" "), space.combinations().len())
        };
        use Aspect::*;
        assert_eq!(names(&[Epsilon, Playout]), ("playout epsilon".to_owned(), 21));
        assert_eq!(names(&[Omega]), ("omega".to_owned(), 3));
        let all = [Omega, Gamma, Epsilon, Playout, Grave, Grave];
        assert_eq!(names(&all), ("C K ref epsilon playout gamma omega".to_owned(), 7_227 * 27));
        assert_eq!(Space::of(&[]), Err(TuningError::NoParameters));
    }

    /// Sets each parameter from `next` on to each feasible value or leaves it open, and checks that feasible values
    /// are left for the others.
    fn assert_no_dead_end(space: &Space, partial: Partial, next: usize) {
        assert!((0..space.parameters.len()).all(|parameter| partial.feasible(parameter) != 0));
        for parameter in next..space.parameters.len() {
            for value in bits(partial.feasible(parameter)) {
                assert_no_dead_end(space, space.set(partial, Setting { parameter, value }), parameter + 1);
            }
        }
    }

    #[test]
    fn every_choice_of_feasible_values_can_be_completed_and_fits() {
        let space = Space::of(&Aspect::NAMES.map(|(_, aspect)| aspect)).unwrap();
        assert_no_dead_end(&space, space.everything(), 0);
        assert!(space.parameters().len() <= MAX_PARAMETERS);
        let sizes = space.parameters().iter().map(|parameter| parameter.values.len());
        assert!(sizes.clone().max().unwrap() <= MAX_VALUES && sizes.product::<usize>() <= MAX_COMBINATIONS);
        for Parameter { id, values } in space.parameters() {
            let is_unique = |(i, value): (usize, &ParameterValue)| !values[..i].contains(value);
            assert!(values.iter().enumerate().all(is_unique), "{id:?}");
        }
    }

    #[test]
    fn expected_values_are_those_of_the_aspects() {
        let expected = |aspects: &[Aspect]| {
            let space = Space::of(aspects).unwrap().expecting();
            let value = |parameter: usize| Some(space.parameters()[parameter].values[space.expected(parameter)?]);
            (0..space.parameters().len()).map(|parameter| value(parameter).unwrap().to_string()).collect::<Vec<_>>()
        };
        use Aspect::*;
        let own = [Playout, Epsilon, Gamma, Omega];
        assert_eq!(expected(&own), ["Nst", "0.2", "1", "0.97"]);
        assert_eq!(expected(&[Grave]), ["0.2", "250", "50", "0.4"]);
    }
}
