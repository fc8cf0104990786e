//! The fluents that the rules of a game can make.

use std::collections::{HashMap, HashSet};

use crate::syntax::{Atom, Document, Expr, ExprKind, Literal, Rule, Rules, Term};

/// The maximum number of symbols that the analysis of a rulesheet compares.
const MAX_WORK: usize = 5_000_000;

/// A name with its number of arguments: a constant, or a function.
type Symbol<'a> = (&'a str, usize);

/// The place of an argument: of a relation, or of a function in any relation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Slot<'a> {
    Relation(Symbol<'a>, usize),
    Function(Symbol<'a>, usize),
}

/// The place of a fluent that holds.
const FLUENT: Slot<'_> = Slot::Relation(("true", 1), 0);

type Domain<'a> = HashSet<Symbol<'a>>;
type Bindings<'a> = HashMap<&'a str, Domain<'a>>;

/// The symbols that can stand at each place of the fluents of a game. States that matches reach have no other fluents.
///
/// ```
/// use sternhalma_gdl::{FluentDomains, Rules};
///
/// let rules = Rules::parse("(role a) (n 1) (n 2) (init (at 1)) (<= (next (at ?x)) (does a (go ?x)))
///     (<= (legal a (go ?x)) (n ?x)) (<= terminal (true (at 2))) (goal a 50)")?;
/// let domains = FluentDomains::new(&rules);
/// assert!(domains.admit("(at 2)"));
/// assert!(!domains.admit("(at 3)") && !domains.admit("(on 1)"));
/// # Ok::<(), sternhalma_gdl::RulesError>(())
/// ```
#[derive(Debug)]
pub struct FluentDomains<'a> {
    /// The domains; `None` if they are not known.
    domains: Option<HashMap<Slot<'a>, Domain<'a>>>,
}

impl<'a> FluentDomains<'a> {
    /// Computes the domains of a rulesheet: the least ones that all rules preserve, without regard to negation and to
    /// relations between arguments. A rulesheet that takes too long has domains of all symbols.
    pub fn new(rules: &'a Rules) -> FluentDomains<'a> {
        FluentDomains { domains: Analysis::default().run(rules) }
    }

    /// Returns whether a text is a fluent that the rules may make.
    pub fn admit(&self, fluent: &str) -> bool {
        let Ok(document) = Document::parse(fluent) else { return false };
        let mut expressions = document.expressions();
        let (Some(only), None) = (expressions.next(), expressions.next()) else { return false };
        let Some(domains) = &self.domains else { return true };
        admits(domains, FLUENT, &only.without_empty_parentheses())
    }
}

fn admits<'e>(domains: &HashMap<Slot<'e>, Domain<'e>>, slot: Slot<'e>, expr: &'e Expr) -> bool {
    let (name, args) = match &expr.kind {
        ExprKind::Symbol(name) => (name.as_str(), &[][..]),
        ExprKind::List(items) => match &items[0].kind {
            ExprKind::Symbol(name) => (name.as_str(), &items[1..]),
            ExprKind::List(_) => return false,
        },
    };
    let symbol = (name, args.len());
    let mut parts = args.iter().enumerate();
    domains.get(&slot).is_some_and(|domain| domain.contains(&symbol))
        && parts.all(|(index, arg)| admits(domains, Slot::Function(symbol, index), arg))
}

#[derive(Default)]
struct Analysis<'a> {
    domains: HashMap<Slot<'a>, Domain<'a>>,
    work: usize,
    has_grown: bool,
}

impl<'a> Analysis<'a> {
    /// Applies the rules until no domain grows. Returns `None` if that takes too long, or a variable of a head is not
    /// bound.
    fn run(mut self, rules: &'a Rules) -> Option<HashMap<Slot<'a>, Domain<'a>>> {
        let mut pending: Vec<&Rule> = rules.iter().collect();
        loop {
            self.has_grown = false;
            for rule in &pending {
                if self.work > MAX_WORK {
                    return None;
                }
                let Some(bindings) = self.conjunction(&rule.body) else { continue };
                let name = if ["init", "next"].contains(&rule.head.name.as_str()) { "true" } else { &rule.head.name };
                let symbol = (name, rule.head.args.len());
                for (index, arg) in rule.head.args.iter().enumerate() {
                    self.extend(Slot::Relation(symbol, index), arg, &bindings)?;
                }
            }
            if !self.has_grown {
                return Some(self.domains);
            }
            pending.retain(|rule| !rule.body.is_empty());
        }
    }

    /// Adds the symbols of a term of a head to the domain of its place.
    fn extend(&mut self, slot: Slot<'a>, term: &'a Term, bindings: &Bindings<'a>) -> Option<()> {
        let domain = self.domains.entry(slot).or_default();
        let before = domain.len();
        match term {
            Term::Constant(name) => _ = domain.insert((name, 0)),
            Term::Variable(name) => {
                let bound = bindings.get(name.as_str())?;
                self.work += bound.len();
                domain.extend(bound);
            }
            Term::Function { name, args, .. } => {
                let symbol = (name.as_str(), args.len());
                domain.insert(symbol);
                self.has_grown |= domain.len() > before;
                let mut parts = args.iter().enumerate();
                return parts.try_for_each(|(index, arg)| self.extend(Slot::Function(symbol, index), arg, bindings));
            }
        }
        self.has_grown |= domain.len() > before;
        Some(())
    }

    /// Returns the domains of the variables of literals, or `None` if one of the literals cannot hold yet.
    fn conjunction(&mut self, literals: &'a [Literal]) -> Option<Bindings<'a>> {
        let mut bindings = Bindings::new();
        for literal in literals {
            self.work += 1;
            match literal {
                Literal::Holds(atom) => self.bind_atom(atom, &mut bindings)?,
                Literal::Or(_, parts) => {
                    let parts = parts.iter().filter_map(|part| self.conjunction(std::slice::from_ref(part)));
                    let either = parts.collect::<Vec<_>>().into_iter().reduce(union)?;
                    either.into_iter().try_for_each(|(name, domain)| self.restrict(name, &domain, &mut bindings))?;
                }
                Literal::Not(..) | Literal::Distinct(..) => {}
            }
        }
        Some(bindings)
    }

    fn bind_atom(&mut self, atom: &'a Atom, bindings: &mut Bindings<'a>) -> Option<()> {
        let name = if atom.name == "does" { "legal" } else { atom.name.as_str() };
        let symbol = (name, atom.args.len());
        let mut args = atom.args.iter().enumerate();
        args.try_for_each(|(index, arg)| self.bind(Slot::Relation(symbol, index), arg, bindings))
    }

    fn bind(&mut self, slot: Slot<'a>, term: &'a Term, bindings: &mut Bindings<'a>) -> Option<()> {
        match term {
            Term::Variable(name) => {
                let domain = std::mem::take(self.domains.get_mut(&slot)?);
                let bound = self.restrict(name, &domain, bindings);
                self.domains.insert(slot, domain);
                bound
            }
            Term::Constant(name) => self.domains.get(&slot)?.contains(&(name.as_str(), 0)).then_some(()),
            Term::Function { name, args, .. } => {
                let symbol = (name.as_str(), args.len());
                self.domains.get(&slot)?.contains(&symbol).then_some(())?;
                let mut parts = args.iter().enumerate();
                parts.try_for_each(|(index, arg)| self.bind(Slot::Function(symbol, index), arg, bindings))
            }
        }
    }

    /// Restricts a variable to a domain. Returns `None` if nothing is left.
    fn restrict(&mut self, name: &'a str, domain: &Domain<'a>, bindings: &mut Bindings<'a>) -> Option<()> {
        let bound = match bindings.remove(name) {
            None => domain.clone(),
            Some(bound) => bound.intersection(domain).copied().collect(),
        };
        self.work += domain.len();
        let is_possible = !bound.is_empty();
        bindings.insert(name, bound);
        is_possible.then_some(())
    }
}

/// Returns the bindings by one of two alternatives. A variable that one of them does not bind is not bound.
fn union<'a>(one: Bindings<'a>, mut other: Bindings<'a>) -> Bindings<'a> {
    let both = |(name, mut domain): (&'a str, Domain<'a>)| {
        domain.extend(other.remove(name)?);
        Some((name, domain))
    };
    one.into_iter().filter_map(both).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use sternhalma_game::Rng;

    use super::*;
    use crate::{GAMES, Prover};

    #[test]
    fn domains_have_all_fluents_of_random_matches() {
        let mut rng = Rng::seed_from_u64(1);
        for game in GAMES {
            let rules = Rules::parse(game.text).unwrap();
            let domains = FluentDomains::new(&rules);
            assert!(domains.domains.is_some(), "{}", game.name);
            let mut prover = Prover::new(&rules).unwrap();
            let mut state = prover.initial().unwrap();
            for _ in 0..20 {
                for &fluent in state.fluents() {
                    let text = prover.text(fluent);
                    assert!(domains.admit(&text), "{}: {text}", game.name);
                }
                if prover.is_terminal(&state).unwrap() {
                    break;
                }
                let joint = prover.random_moves(&state, &mut rng).unwrap();
                state = prover.next(&state, &joint).unwrap();
            }
        }
    }

    #[test]
    fn other_fluents_are_not_admitted() {
        let game = GAMES.iter().find(|game| game.name == "tic-tac-toe").unwrap();
        let rules = Rules::parse(game.text).unwrap();
        let domains = FluentDomains::new(&rules);
        assert!(domains.admit("(square 3 3 empty)"));
        for text in [
            "(square 9 9 x)",
            "(square 1 1)",
            "square",
            "(unknown 1)",
            "(square (s 1) 1 x)",
            "(square 1 1 x) x",
            "((a) b)",
        ] {
            assert!(!domains.admit(text), "{text}");
        }
        let unbound = Rules::parse("(role a) (<= (next (p ?x)) (distinct ?x 1))").unwrap();
        assert!(FluentDomains::new(&unbound).admit("(anything 1)"));
        let either = "(init (p 1)) (q 2) (r 3) (<= (next (p ?x)) (or (q ?x) (r ?x))) (<= (next (p 4)) (true (p 5)))";
        let rules = Rules::parse(either).unwrap();
        let domains = FluentDomains::new(&rules);
        let found: Vec<usize> = (1..6).filter(|n| domains.admit(&format!("(p {n})"))).collect();
        assert_eq!(found, [1, 2, 3]);
    }
}
