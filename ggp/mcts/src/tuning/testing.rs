//! Helpers for the tests of several methods.

use std::collections::{BTreeMap, BTreeSet};

use super::space::{Combination, Setting, Space};
use crate::params::{Parameter, ParameterId, ParameterValue};

/// The two spaces in the files of choices, with rewards by combination.
pub(super) const REWARDS: [(&str, &[(&str, f64)]); 2] = [
    ("plain", &[("00", 0.25), ("01", 0.5), ("10", 0.75), ("11", 0.25)]),
    ("ruled", &[("02", 0.5), ("10", 0.25), ("11", 0.75), ("20", 1.0), ("21", 0.0)]),
];

/// Returns the space of A with 0 and 1, and B with 0 and 1, without linked values.
pub(super) fn plain() -> Space {
    Space::new(vec![Parameter::new(ParameterId::C, &[0.0, 1.0]), Parameter::new(ParameterId::K, &[0.0, 1.0])], None)
}

/// Returns the space of A with 0, 1 and 2, and B with 0, 1 and none; none is linked to the 0 of A.
pub(super) fn ruled() -> Space {
    let mut b = Parameter::new(ParameterId::K, &[0.0, 1.0]);
    b.values.push(ParameterValue::Unused);
    Space::new(vec![Parameter::new(ParameterId::C, &[0.0, 1.0, 2.0]), b], Some([setting(0, 0), setting(1, 2)]))
}

/// Returns the index of the parameter with this name.
pub(super) fn parameter(space: &Space, name: &str) -> usize {
    space.parameters().iter().position(|parameter| parameter.id.name() == name).unwrap()
}

pub(super) fn space(name: &str) -> Space {
    if name == "plain" { plain() } else { ruled() }
}

pub(super) fn setting(parameter: usize, value: usize) -> Setting {
    Setting { parameter, value }
}

/// Returns the indices of A and B.
pub(super) fn text(combination: Combination) -> String {
    format!("{}{}", combination.index(0), combination.index(1))
}

/// Returns the fields of the lines of a file, without comments.
pub(super) fn rows(file: &str) -> impl Iterator<Item = Vec<&str>> {
    file.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

pub(super) fn numbers<T: std::str::FromStr>(field: &str) -> Vec<T> {
    field.split(' ').filter(|n| *n != "-").map(|n| n.parse().ok().expect("a number")).collect()
}

/// The permitted choices after each history, from the rows that begin with
/// `which`.
pub(super) struct Choices<'a> {
    allowed: BTreeMap<&'a str, Vec<&'a str>>,
    rewards: BTreeMap<&'a str, f64>,
    met: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> Choices<'a> {
    pub(super) fn of(file: &'a str, which: &[&str]) -> Choices<'a> {
        let allowed: BTreeMap<_, _> = rows(file)
            .filter(|row| row.starts_with(which))
            .map(|row| (row[which.len()], row[which.len() + 1].split(' ').collect()))
            .collect();
        assert!(!allowed.is_empty());
        let rewards = REWARDS.iter().find(|(name, _)| *name == which[0]).unwrap().1.iter().copied().collect();
        Choices { allowed, rewards, met: BTreeSet::new() }
    }

    /// Lets a tuner choose until the file ends; `step` passes it the rewards
    /// of its choices.
    pub(super) fn follow(&mut self, mut step: impl FnMut(&dyn Fn(Combination) -> f64) -> Combination) {
        let mut history = "-".to_owned();
        while let Some((&known, allowed)) = self.allowed.get_key_value(history.as_str()) {
            let chosen = text(step(&|combination| self.rewards[text(combination).as_str()]));
            let choice = allowed.iter().find(|choice| **choice == chosen);
            let choice = choice.unwrap_or_else(|| panic!("{chosen} after {history}, not {allowed:?}"));
            self.met.insert((known, choice));
            history = if known == "-" { chosen } else { format!("{history} {chosen}") };
        }
    }

    /// Asserts that every permitted choice was made.
    pub(super) fn assert_all_met(&self) {
        let all: BTreeSet<(&str, &str)> =
            self.allowed.iter().flat_map(|(&history, choices)| choices.iter().map(move |&c| (history, c))).collect();
        assert_eq!(self.met, all);
    }
}
