//! Dependencies between relations.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::{Atom, Literal, Rules};

/// The dependency graph of relations. An edge leads from a relation to each
/// relation that its rules read.
#[derive(Default)]
pub struct DependencyGraph<'a> {
    edges: BTreeMap<&'a str, BTreeSet<&'a str>>,
    reached: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> DependencyGraph<'a> {
    pub fn new(rules: &'a Rules) -> DependencyGraph<'a> {
        let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for rule in rules.iter() {
            let read = edges.entry(&rule.head.name).or_default();
            for_each_atom(&rule.body, true, &mut |atom, _| {
                read.insert(&atom.name);
            });
        }
        let reached = edges.keys().map(|&name| (name, reach(&edges, name))).collect();
        DependencyGraph { edges, reached }
    }

    /// Returns whether a relation depends on another, directly or indirectly.
    pub fn depends(&self, name: &str, on: &str) -> bool {
        self.reached.get(name).is_some_and(|reached| reached.contains(on))
    }

    /// Returns whether rules or facts define a relation.
    pub fn defines(&self, name: &str) -> bool {
        self.edges.contains_key(name)
    }
}

fn reach<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&str> = vec![from];
    while let Some(name) = left.pop() {
        for &next in edges.get(name).into_iter().flatten() {
            if reached.insert(next) {
                left.push(next);
            }
        }
    }
    reached
}

/// Visits the sentences of a body, each with `true` if it is not negated.
pub fn for_each_atom<'a>(body: &'a [Literal], positive: bool, visit: &mut dyn FnMut(&'a Atom, bool)) {
    for literal in body {
        match literal {
            Literal::Holds(atom) => visit(atom, positive),
            Literal::Not(_, inner) => for_each_atom(std::slice::from_ref(inner), !positive, visit),
            Literal::Distinct(..) => {}
            Literal::Or(_, parts) => for_each_atom(parts, positive, visit),
        }
    }
}
