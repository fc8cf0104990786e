//! Dependencies between relations.

use std::collections::{HashMap, HashSet};

use super::rules::{RELATIONS, Rules};
use super::terms::{Atom, for_each_atom};
use crate::scc::components;

/// A relation: its name and its number of arguments.
type Signature<'a> = (&'a str, usize);

/// The dependency graph of relations. An edge leads from a relation to each
/// relation that its rules read.
///
/// The graph takes time and memory in proportion to the rules: it stores the
/// strongly connected component of each relation and the relations of the
/// language that the component depends on, not all pairs of relations.
#[derive(Default)]
pub struct DependencyGraph<'a> {
    numbers: HashMap<Signature<'a>, usize>,
    /// The names of the relations that rules or facts define.
    defined: HashSet<&'a str>,
    /// The component of each relation.
    component_of: Vec<usize>,
    /// The relations of the language that each component depends on, one bit
    /// per entry of [`RELATIONS`].
    reached: Vec<u16>,
}

impl<'a> DependencyGraph<'a> {
    pub fn new(rules: &'a Rules) -> DependencyGraph<'a> {
        let mut graph = DependencyGraph::default();
        let mut edges: Vec<Vec<usize>> = Vec::new();
        for rule in rules.iter() {
            let head = graph.number(&rule.head, &mut edges);
            graph.defined.insert(&rule.head.name);
            for_each_atom(&rule.body, true, &mut |atom, _| {
                let read = graph.number(atom, &mut edges);
                edges[head].push(read);
            });
        }
        let mut own = vec![0; edges.len()];
        graph.numbers.iter().for_each(|(&signature, &number)| own[number] = bit(signature));
        let components = components(edges.len(), |number, visit| edges[number].iter().copied().for_each(visit));
        graph.component_of = vec![0; edges.len()];
        for (component, relations) in components.iter().enumerate() {
            relations.iter().for_each(|&number| graph.component_of[number] = component);
        }
        // A component comes after those that it leads to.
        for relations in &components {
            let read = relations.iter().flat_map(|&number| &edges[number]);
            let bits = read.map(|&read| own[read] | graph.reached.get(graph.component_of[read]).unwrap_or(&0));
            let bits = bits.fold(0, |all, bits| all | bits);
            graph.reached.push(bits);
        }
        graph
    }

    fn number(&mut self, atom: &'a Atom, edges: &mut Vec<Vec<usize>>) -> usize {
        let number = *self.numbers.entry(signature(atom)).or_insert(edges.len());
        if number == edges.len() {
            edges.push(Vec::new());
        }
        number
    }

    /// Returns whether a relation depends on a relation of the language,
    /// directly or indirectly.
    pub fn depends(&self, name: &str, arity: usize, on: &str) -> bool {
        let bits = RELATIONS.iter().filter(|(name, _)| *name == on).fold(0, |all, &relation| all | bit(relation));
        self.reached_by((name, arity)) & bits != 0
    }

    /// Returns whether a relation is, or depends on, one of some relations of
    /// the language.
    pub fn reaches(&self, (name, arity): (&str, usize), some: &[&str]) -> bool {
        some.contains(&name) && bit((name, arity)) != 0 || some.iter().any(|on| self.depends(name, arity, on))
    }

    fn reached_by(&self, (name, arity): (&str, usize)) -> u16 {
        self.numbers.get(&(name, arity)).map_or(0, |&number| self.reached[self.component_of[number]])
    }

    /// Returns whether a relation depends on a relation that reads it, or is
    /// that relation.
    pub fn recurs(&self, read: &Atom, reader: &Atom) -> bool {
        let component = |atom| self.numbers.get(&signature(atom)).map(|&number| self.component_of[number]);
        component(read).is_some_and(|read| Some(read) == component(reader))
    }

    /// Returns whether rules or facts define a relation.
    pub fn defines(&self, name: &str) -> bool {
        self.defined.contains(name)
    }
}

fn signature(atom: &Atom) -> Signature<'_> {
    (&atom.name, atom.args.len())
}

/// Returns the bit of a relation of the language, or 0 for another relation.
fn bit(relation: Signature<'_>) -> u16 {
    RELATIONS.iter().position(|&known| known == relation).map_or(0, |place| 1 << place)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    /// Returns all relations that each relation depends on, by following edges.
    fn all_pairs(rules: &Rules) -> BTreeMap<Signature<'_>, BTreeSet<Signature<'_>>> {
        let mut reached: BTreeMap<Signature<'_>, BTreeSet<Signature<'_>>> = BTreeMap::new();
        loop {
            let before = reached.values().map(BTreeSet::len).sum::<usize>();
            for rule in rules.iter() {
                for_each_atom(&rule.body, true, &mut |atom, _| {
                    let beyond = reached.get(&signature(atom)).cloned().unwrap_or_default();
                    let all = reached.entry(signature(&rule.head)).or_default();
                    all.insert(signature(atom));
                    all.extend(beyond);
                });
            }
            if reached.values().map(BTreeSet::len).sum::<usize>() == before {
                return reached;
            }
        }
    }

    proptest! {
        #[test]
        fn the_graph_has_the_dependencies_of_all_pairs(edges in proptest::collection::vec((0..9_usize, 0..9_usize, any::<bool>()), 0..14)) {
            let names = ["(p a)", "(p a b)", "q", "r", "(true a)", "(does a b)", "(legal a b)", "(next a)", "terminal"];
            let rule = |&(head, read, negated): &(usize, usize, bool)| match negated {
                true => format!("(<= {} (not {}))", names[head], names[read]),
                false => format!("(<= {} (or {} q))", names[head], names[read]),
            };
            let rules = Rules::parse(&edges.iter().map(rule).collect::<String>()).unwrap();
            let (graph, pairs) = (DependencyGraph::new(&rules), all_pairs(&rules));
            let depends = |from: &Atom, to| pairs.get(&signature(from)).is_some_and(|all| all.contains(&to));
            for rule in rules.iter() {
                for &(on, arity) in &RELATIONS {
                    let (name, args) = signature(&rule.head);
                    prop_assert_eq!(graph.depends(name, args, on), depends(&rule.head, (on, arity)));
                    let is_it = (name, args) == (on, arity);
                    prop_assert_eq!(graph.reaches((name, args), &[on]), is_it || depends(&rule.head, (on, arity)));
                }
                for_each_atom(&rule.body, true, &mut |atom, _| {
                    let expected = signature(atom) == signature(&rule.head) || depends(atom, signature(&rule.head));
                    assert_eq!(graph.recurs(atom, &rule.head), expected);
                });
            }
        }
    }
}
