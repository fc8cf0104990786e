//! Static checks of rules.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{check_names, did_you_mean};
use super::variables::check_variables;
use crate::syntax::{
    Atom, Code, DependencyGraph, Finding, Literal, Place, RELATIONS, Rule, Rules, Term, for_each_atom,
};

pub struct StaticCheck<'a> {
    rules: &'a Rules,
    graph: DependencyGraph<'a>,
    /// Whether the rules may be a part of a rulesheet.
    fragment: bool,
    findings: Vec<Finding>,
}

impl<'a> StaticCheck<'a> {
    pub fn new(rules: &'a Rules, fragment: bool) -> StaticCheck<'a> {
        StaticCheck { rules, graph: DependencyGraph::new(rules), fragment, findings: Vec::new() }
    }

    pub fn run(mut self) -> Vec<Finding> {
        let rules = self.rules;
        for rule in rules.iter() {
            self.safety(rule);
            self.reserved(rule);
            self.negation_cycle(rule);
            self.recursion(rule);
            self.goal_value(rule);
        }
        self.arities();
        self.roles();
        self.dependences();
        self.missing();
        self.findings.extend(check_names(rules, self.fragment));
        self.findings.extend(check_variables(rules));
        self.findings
    }

    fn error(&mut self, code: Code, place: Place, message: impl Into<String>) {
        self.findings.push(Finding::error(code, place, message));
    }

    /// Checks that a positive literal binds every variable of the head, of
    /// negations and of `distinct`. The parser reports variables of facts.
    fn safety(&mut self, rule: &'a Rule) {
        if rule.body.is_empty() {
            return;
        }
        let mut needed = rule.head.variables();
        test_variables(&rule.body, &mut needed);
        let bound = binds(&rule.body);
        if let Some(name) = needed.difference(&bound).next() {
            let similar = did_you_mean(name, bound.iter().copied());
            self.error(Code::Unsafe, rule.place, format!("No positive literal of the body binds {name}.{similar}"));
        }
    }

    fn reserved(&mut self, rule: &'a Rule) {
        if ["true", "does"].contains(&rule.head.name.as_str()) {
            let message = format!("`{}` is a built-in relation: rules cannot define it.", rule.head.name);
            self.error(Code::ReservedHead, rule.place, message);
        }
        for_each_atom(&rule.body, true, &mut |atom, _| {
            if ["init", "next", "base", "input"].contains(&atom.name.as_str()) {
                let message = format!("`{}` cannot be read in the body of a rule.", atom.name);
                self.findings.push(match atom.name.as_str() {
                    "init" | "next" => Finding::error(Code::ReservedBody, atom.place, message),
                    _ => Finding::warning(Code::ReservedBody, atom.place, message),
                });
            }
        });
    }

    /// Checks that no negated relation depends on the head.
    fn negation_cycle(&mut self, rule: &'a Rule) {
        for_each_atom(&rule.body, true, &mut |atom, positive| {
            if !positive && self.graph.recurs(atom, &rule.head) {
                let head = &rule.head.name;
                let message = format!("{head} depends on the negation of {}, which depends on {head}.", atom.name);
                self.findings.push(Finding::error(Code::Unstratified, atom.place, message));
            }
        });
    }

    /// Checks the recursion restriction [Love et al. 2008, definition 15]. In a
    /// literal that depends on the head, each argument must be ground, an argument
    /// of the head, or an argument of a literal that does not depend on the head.
    /// A disjunction restricts the arguments that all its alternatives restrict.
    fn recursion(&mut self, rule: &'a Rule) {
        let head = &rule.head;
        let recursive = |atom: &Atom| self.graph.recurs(atom, head);
        let mut calls = Vec::new();
        for_each_atom(&rule.body, true, &mut |atom, _| calls.extend(recursive(atom).then_some(atom)));
        if calls.is_empty() {
            return;
        }
        let mut others = restricting(&rule.body, &recursive);
        others.extend(&head.args);
        let restricted = |arg: &&Term| arg.is_ground() || others.contains(arg);
        for call in calls {
            if let Some(arg) = call.args.iter().find(|arg| !restricted(arg)) {
                let message =
                    format!("{} recurs with {}, which no other literal restricts.", head.name, term_text(arg));
                self.error(Code::Recursion, call.place, message);
            }
        }
    }

    fn goal_value(&mut self, rule: &'a Rule) {
        if rule.head.name != "goal" {
            return;
        }
        let message = match &rule.head.args[1] {
            Term::Variable(_) => return,
            Term::Constant(name) if name.parse().is_ok_and(|value: u8| value <= 100) => return,
            other => format!("The goal {} is not a number from 0 to 100.", term_text(other)),
        };
        self.error(Code::GoalValue, rule.place, message);
    }

    /// Checks that each relation and each function always has the same number of
    /// arguments. A name may be a relation, a function and a constant at the
    /// same time.
    fn arities(&mut self) {
        let mut arities = Arities::default();
        for rule in self.rules.iter() {
            arities.atom(&rule.head);
            for_each_atom(&rule.body, true, &mut |atom, _| arities.atom(atom));
            for_each_distinct(&rule.body, &mut |left, right| {
                arities.term(left);
                arities.term(right);
            });
        }
        self.findings.append(&mut arities.findings);
    }

    /// Checks that roles are facts, or at least follow from facts alone.
    fn roles(&mut self) {
        for rule in self.rules.iter().filter(|rule| rule.head.name == "role") {
            if self.graph.reaches(("role", 1), &["true", "does"]) {
                self.error(Code::Role, rule.place, "The roles depend on the state: define them by facts.");
            } else if !rule.body.is_empty() {
                let message = "A rule defines a role: define roles by facts.";
                self.findings.push(Finding::warning(Code::Role, rule.place, message));
            }
        }
    }

    fn dependences(&mut self) {
        let never: [(&str, &[&str]); 6] = [
            ("init", &["true", "does", "next", "legal", "goal", "terminal"]),
            ("base", &["true", "does", "next", "legal", "goal", "terminal", "init"]),
            ("input", &["true", "does", "next", "legal", "goal", "terminal", "init"]),
            ("legal", &["does"]),
            ("goal", &["does"]),
            ("terminal", &["does"]),
        ];
        for (name, others) in never {
            for rule in self.rules.iter().filter(|rule| is_keyword(&rule.head, name)) {
                let mut forbidden = None;
                for_each_atom(&rule.body, true, &mut |atom, _| {
                    let reaches = |other: &&&str| self.graph.reaches((&atom.name, atom.args.len()), &[other]);
                    forbidden = forbidden.or_else(|| others.iter().find(reaches).map(|other| (atom.place, *other)));
                });
                if let Some((place, other)) = forbidden {
                    let message = format!("`{name}` must not depend on `{other}`.");
                    self.findings.push(Finding::error(Code::Dependence, place, message));
                }
            }
        }
    }

    /// Reports missing relations. A missing `init` or `next` is only a warning: a
    /// game without `init` begins in the empty state, and `next` is missing in some
    /// valid rulesheets.
    fn missing(&mut self) {
        let defines = |name: &&str| self.graph.defines(name);
        if !RELATIONS.iter().any(|(name, _)| self.graph.defines(name)) {
            if self.fragment {
                return;
            }
            let message = "This defines no game: it has no `role`, `legal`, `goal`, `terminal`, `init` or `next`.";
            self.findings.push(Finding::error(Code::NoGame, Place::default(), message).without_place());
            return;
        }
        let names = ["role", "legal", "goal", "terminal", "init", "next"];
        let missing: Vec<&str> = names.into_iter().filter(|name| !defines(name)).collect();
        let own = self.rules.iter().map(|rule| rule.head.name.as_str()).filter(|name| !names.contains(name));
        let own: BTreeSet<&str> = own.collect();
        for name in missing {
            let similar = did_you_mean(name, own.iter().copied());
            let message = format!("Nothing defines `{name}`.{similar}");
            let finding = match name {
                "init" | "next" => Finding::warning(Code::Missing, Place::default(), message),
                _ => Finding::error(Code::Missing, Place::default(), message),
            };
            self.findings.push(finding.without_place());
        }
    }
}

/// Returns whether an atom is of a relation of the language, with its number of
/// arguments.
fn is_keyword(atom: &Atom, name: &str) -> bool {
    atom.name == name && RELATIONS.contains(&(name, atom.args.len()))
}

/// Adds the variables of the tests of a body to `names`.
fn test_variables<'a>(body: &'a [Literal], names: &mut BTreeSet<&'a str>) {
    for literal in body {
        match literal {
            Literal::Holds(_) => {}
            Literal::Not(_, inner) => inner.variables(names),
            Literal::Distinct(..) => literal.variables(names),
            Literal::Or(_, parts) => test_variables(parts, names),
        }
    }
}

/// Returns the variables that a conjunction binds. A disjunction binds the
/// variables that all alternatives bind.
fn binds(body: &[Literal]) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for literal in body {
        match literal {
            Literal::Holds(atom) => names.extend(atom.variables()),
            Literal::Or(_, parts) => {
                let mut alternatives = parts.iter().map(|part| binds(std::slice::from_ref(part)));
                let first = alternatives.next().unwrap_or_default();
                names.extend(alternatives.fold(first, |all, one| all.intersection(&one).copied().collect()));
            }
            Literal::Not(..) | Literal::Distinct(..) => {}
        }
    }
    names
}

/// Returns the arguments of the positive literals of a conjunction that are not
/// recursive. A disjunction has the arguments that all alternatives have.
fn restricting<'a>(body: &'a [Literal], recursive: &dyn Fn(&Atom) -> bool) -> Vec<&'a Term> {
    let mut terms = Vec::new();
    for literal in body {
        match literal {
            Literal::Holds(atom) if !recursive(atom) => terms.extend(&atom.args),
            Literal::Or(_, parts) => {
                let mut alternatives = parts.iter().map(|part| restricting(std::slice::from_ref(part), recursive));
                let first = alternatives.next().unwrap_or_default();
                terms.extend(alternatives.fold(first, |mut all, one| {
                    all.retain(|term| one.contains(term));
                    all
                }));
            }
            Literal::Holds(_) | Literal::Not(..) | Literal::Distinct(..) => {}
        }
    }
    terms
}

fn for_each_distinct<'a>(body: &'a [Literal], visit: &mut dyn FnMut(&'a Term, &'a Term)) {
    for literal in body {
        match literal {
            Literal::Holds(_) => {}
            Literal::Not(_, inner) => for_each_distinct(std::slice::from_ref(inner), visit),
            Literal::Distinct(_, left, right) => visit(left, right),
            Literal::Or(_, parts) => for_each_distinct(parts, visit),
        }
    }
}

fn term_text(term: &Term) -> String {
    match term {
        Term::Constant(name) | Term::Variable(name) => name.clone(),
        Term::Function { name, args, .. } => {
            let args: Vec<String> = args.iter().map(term_text).collect();
            format!("({name} {})", args.join(" "))
        }
    }
}

/// The first number of arguments of each name, for reporting each difference
/// once.
#[derive(Default)]
struct Arities<'a> {
    sentences: BTreeMap<&'a str, usize>,
    functions: BTreeMap<&'a str, usize>,
    reported: BTreeSet<(bool, &'a str)>,
    findings: Vec<Finding>,
}

impl<'a> Arities<'a> {
    fn atom(&mut self, atom: &'a Atom) {
        let first = *self.sentences.entry(&atom.name).or_insert(atom.args.len());
        if first != atom.args.len() && self.reported.insert((true, &atom.name)) {
            self.report(Code::SentenceArity, "relation", atom.place, &atom.name, first, atom.args.len());
        }
        atom.args.iter().for_each(|arg| self.term(arg));
    }

    fn term(&mut self, term: &'a Term) {
        let Term::Function { place, name, args } = term else { return };
        let first = *self.functions.entry(name).or_insert(args.len());
        if first != args.len() && self.reported.insert((false, name)) {
            self.report(Code::FunctionArity, "function", *place, name, first, args.len());
        }
        args.iter().for_each(|arg| self.term(arg));
    }

    fn report(&mut self, code: Code, what: &str, place: Place, name: &str, first: usize, then: usize) {
        let message = format!("The {what} {name} has {then} arguments here and {first} elsewhere.");
        self.findings.push(Finding::error(code, place, message));
    }
}
