//! Names that rules read and never make, or make and never read.

use std::collections::{BTreeMap, BTreeSet};

use sternhalma_game::messages::nearest;

use crate::syntax::{Atom, Code, Finding, Place, RELATIONS, Rules, Term, for_each_atom};

/// The number of names of a kind for which a similar one is suggested. A comparison with all names takes long.
const MAX_SUGGESTIONS: usize = 100;

/// Returns a question that suggests the most similar known name, if there is one.
pub fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    nearest(name, known).map_or_else(String::new, |similar| format!(" Did you mean `{similar}`?"))
}

/// The names of one kind, each with its first place.
#[derive(Default)]
struct Names<'a> {
    made: BTreeMap<&'a str, Place>,
    read: BTreeMap<&'a str, Place>,
    /// Whether a variable stands for names that are made, or read.
    makes_any: bool,
    reads_any: bool,
}

impl<'a> Names<'a> {
    /// Iterates over the names that are read and never made.
    fn undefined(&self) -> impl Iterator<Item = (&'a str, Place)> {
        let made = |name: &str| self.makes_any || self.made.contains_key(name);
        self.read.iter().map(|(name, place)| (*name, *place)).filter(move |(name, _)| !made(name))
    }

    /// Iterates over the names that are made and never read.
    fn unused(&self) -> impl Iterator<Item = (&'a str, Place)> {
        let read = |name: &str| self.reads_any || self.read.contains_key(name);
        self.made.iter().map(|(name, place)| (*name, *place)).filter(move |(name, _)| !read(name))
    }

    fn make_fluent(&mut self, atom: &'a Atom) {
        match fluent(atom) {
            Some((name, place)) => _ = self.made.entry(name).or_insert(place),
            None => self.makes_any = true,
        }
    }

    fn read_fluent(&mut self, atom: &'a Atom) {
        match fluent(atom) {
            Some((name, place)) => _ = self.read.entry(name).or_insert(place),
            None => self.reads_any = true,
        }
    }
}

/// Returns the name and the place of the fluent that is the argument of an atom, unless it is a variable.
fn fluent(atom: &Atom) -> Option<(&str, Place)> {
    match atom.args.first()? {
        Term::Function { name, place, .. } => Some((name, *place)),
        Term::Constant(name) => Some((name, atom.place)),
        Term::Variable(_) => None,
    }
}

/// Returns warnings about relations and fluents that are only read, or only made. Of a fragment, only the relations
/// that are read and not defined are reported.
pub fn check_names(rules: &Rules, fragment: bool) -> Vec<Finding> {
    let (mut relations, mut fluents) = (Names::default(), Names::default());
    for rule in rules.iter() {
        relations.made.entry(&rule.head.name).or_insert(rule.head.place);
        if ["init", "next"].contains(&rule.head.name.as_str()) {
            fluents.make_fluent(&rule.head);
        }
        for_each_atom(&rule.body, true, &mut |atom, _| {
            match atom.name.as_str() {
                "true" => fluents.read_fluent(atom),
                "does" => {}
                name => _ = relations.read.entry(name).or_insert(atom.place),
            };
        });
    }
    let keywords = || RELATIONS.iter().map(|(name, _)| *name);
    let known: BTreeSet<&str> = relations.made.keys().copied().chain(["true", "does"]).collect();
    let undefined = |(name, place): (&str, Place), similar: String| {
        Finding::warning(Code::Undefined, place, format!("Nothing defines {name}, so it never holds.{similar}"))
    };
    let mut findings = report(relations.undefined(), &known, undefined);
    if fragment {
        return findings;
    }
    let undefined = |(name, place): (&str, Place), similar: String| {
        let message = format!("No `init` or `next` makes the fluent {name}, so it never holds.{similar}");
        Finding::warning(Code::UndefinedFluent, place, message)
    };
    findings.extend(report(fluents.undefined(), &fluents.made.keys().copied().collect(), undefined));
    let unused = |what: &'static str| {
        move |(name, place): (&str, Place), similar: String| {
            Finding::warning(Code::Unused, place, format!("No rule reads the {what} {name}.{similar}"))
        }
    };
    // Names that are read and never made may be meant.
    let meant = relations.undefined().map(|(name, _)| name).chain(keywords()).collect();
    let own = relations.unused().filter(|(name, _)| !keywords().any(|keyword| keyword == *name));
    findings.extend(report(own, &meant, unused("relation")));
    let meant = fluents.undefined().map(|(name, _)| name).collect();
    findings.extend(report(fluents.unused(), &meant, unused("fluent")));
    findings
}

/// Returns a finding for each name, with a question about the most similar of `known`.
fn report<'a>(
    names: impl Iterator<Item = (&'a str, Place)>,
    known: &BTreeSet<&str>,
    finding: impl Fn((&'a str, Place), String) -> Finding,
) -> Vec<Finding> {
    let similar = |index, name| match index < MAX_SUGGESTIONS {
        true => did_you_mean(name, known.iter().copied()),
        false => String::new(),
    };
    let mut names: Vec<(&str, Place)> = names.collect();
    names.sort_by_key(|(_, place)| *place);
    names.into_iter().enumerate().map(|(index, named)| finding(named, similar(index, named.0))).collect()
}
