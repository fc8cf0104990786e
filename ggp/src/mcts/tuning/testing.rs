//! What the tests of several methods have in common.

use std::collections::{BTreeMap, BTreeSet};

use super::space::{Combination, Constraint, Parameter, Setting, Space};

/// The two spaces of the files of choices, with rewards by combination.
pub(super) const REWARDS: [(&str, &[(&str, f64)]); 2] = [
    ("plain", &[("00", 0.25), ("01", 0.5), ("10", 0.75), ("11", 0.25)]),
    ("ruled", &[("02", 0.5), ("10", 0.25), ("11", 0.75), ("20", 1.0), ("21", 0.0)]),
];

/// A of 0, 1 and B of 0, 1, no rule.
pub(super) fn plain() -> Space {
    Space::new(vec![Parameter::new("A", &[0.0, 1.0]), Parameter::new("B", &[0.0, 1.0])], &[]).unwrap()
}

/// A of 0, 1, 2 and B of 0, 1, none; none goes with 0 of A only.
pub(super) fn ruled() -> Space {
    let b = Parameter { name: "B".to_owned(), values: vec![Some(0.0), Some(1.0), None] };
    let parameters = vec![Parameter::new("A", &[0.0, 1.0, 2.0]), b];
    Space::new(parameters, &[Constraint::Together(setting(0, 0), setting(1, 2))]).unwrap()
}

pub(super) fn space(name: &str) -> Space {
    if name == "plain" { plain() } else { ruled() }
}

pub(super) fn setting(parameter: usize, value: usize) -> Setting {
    Setting { parameter, value }
}

/// The indices of A and B.
pub(super) fn text(combination: Combination) -> String {
    format!("{}{}", combination.index(0), combination.index(1))
}

/// The fields of the lines of a file that are no comments.
pub(super) fn rows(file: &str) -> impl Iterator<Item = Vec<&str>> {
    file.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

pub(super) fn numbers<T: std::str::FromStr>(field: &str) -> Vec<T> {
    field.split(' ').filter(|n| *n != "-").map(|n| n.parse().ok().expect("a number")).collect()
}

/// What may be chosen after each history, of the rows that begin with `which`.
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

    /// Lets a tuner choose, told by `step` the rewards of its choices, to the
    /// end of what the file tells.
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

    /// Everything that may be chosen must have been.
    pub(super) fn assert_all_met(&self) {
        let all: BTreeSet<(&str, &str)> =
            self.allowed.iter().flat_map(|(&history, choices)| choices.iter().map(move |&c| (history, c))).collect();
        assert_eq!(self.met, all);
    }
}
