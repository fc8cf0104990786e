//! Conjunctions: the alternatives to which the disjunctions of a rule expand,
//! and the bounds of rules.

use std::collections::BTreeSet;

use thiserror::Error;

use super::kif::Place;
use super::terms::{Atom, Literal, Rule, Term, for_each_atom};

/// The maximum number of conjunctions to which a rule expands.
pub const MAX_ALTERNATIVES: usize = 1024;
/// The maximum number of literals of a conjunction. Joins recurse to this depth.
pub const MAX_LITERALS: usize = 256;
/// The maximum number of variables of a conjunction: the bits of a `u128`.
pub const MAX_VARIABLES: usize = 128;
/// The maximum number of arguments of a relation: the bits of a `u64`.
pub const MAX_ARITY: usize = 64;

/// A bound of rules that a rule exceeds. No engine plays such a rule.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RuleBound {
    /// A rule has too many disjunctions.
    #[error("the disjunctions of the rule expand to more than {MAX_ALTERNATIVES} conjunctions: split the rule")]
    Alternatives,
    /// A conjunction has too many literals.
    #[error("the rule has more than {MAX_LITERALS} literals in a conjunction: split the rule")]
    Literals,
    /// A conjunction has too many variables.
    #[error("the rule has more than {MAX_VARIABLES} variables in a conjunction: split the rule")]
    Variables,
    /// A relation has too many arguments.
    #[error("the relation {name} has {arity} arguments: expected at most {MAX_ARITY}")]
    Arguments {
        /// The relation.
        name: String,
        /// The number of its arguments.
        arity: usize,
    },
}

/// A part of a conjunction.
#[derive(Clone, Debug)]
pub enum ConjunctionPart<'a> {
    Holds(&'a Atom),
    Absent(&'a Atom),
    Distinct(&'a Term, &'a Term),
    Same(&'a Term, &'a Term),
    /// A disjunction of tests, which binds nothing and is not expanded.
    Tests(Vec<Conjunction<'a>>),
}

pub type Conjunction<'a> = Vec<ConjunctionPart<'a>>;

/// Returns the conjunctions to which a rule expands. A disjunction of tests is not expanded.
/// `is_test` returns whether the absence of a sentence is a test.
///
/// # Errors
///
/// Returns an error if there are more than [`MAX_ALTERNATIVES`] conjunctions or one has more than
/// [`MAX_LITERALS`] literals.
pub fn conjunctions<'a>(rule: &'a Rule, is_test: &dyn Fn(&Atom) -> bool) -> Result<Vec<Conjunction<'a>>, RuleBound> {
    product(rule.body.iter().map(|literal| alternatives(literal, true, is_test)))
}

/// Returns the alternatives of a literal, or of its negation.
fn alternatives<'a>(
    literal: &'a Literal,
    holds: bool,
    is_test: &dyn Fn(&Atom) -> bool,
) -> Result<Vec<Conjunction<'a>>, RuleBound> {
    let single = |part| vec![vec![part]];
    Ok(match (literal, holds) {
        (Literal::Holds(atom), true) => single(ConjunctionPart::Holds(atom)),
        (Literal::Holds(atom), false) => single(ConjunctionPart::Absent(atom)),
        (Literal::Distinct(_, left, right), true) => single(ConjunctionPart::Distinct(left, right)),
        (Literal::Distinct(_, left, right), false) => single(ConjunctionPart::Same(left, right)),
        (Literal::Not(_, inner), _) => alternatives(inner, !holds, is_test)?,
        (Literal::Or(_, parts), false) => product(parts.iter().map(|part| alternatives(part, false, is_test)))?,
        (Literal::Or(_, parts), true) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(alternatives(part, true, is_test)?);
            }
            let tests = |part: &ConjunctionPart| match part {
                ConjunctionPart::Holds(_) => false,
                ConjunctionPart::Absent(atom) => is_test(atom),
                ConjunctionPart::Distinct(..) | ConjunctionPart::Same(..) | ConjunctionPart::Tests(_) => true,
            };
            if all.iter().flatten().all(tests) { single(ConjunctionPart::Tests(all)) } else { all }
        }
    })
}

fn product<'a>(
    parts: impl Iterator<Item = Result<Vec<Conjunction<'a>>, RuleBound>>,
) -> Result<Vec<Conjunction<'a>>, RuleBound> {
    let mut all: Vec<Conjunction> = vec![Vec::new()];
    for part in parts {
        let part = part?;
        if all.len() * part.len() > MAX_ALTERNATIVES {
            return Err(RuleBound::Alternatives);
        }
        match &part[..] {
            [tail] => all.iter_mut().for_each(|head| head.extend_from_slice(tail)),
            _ => all = all.iter().flat_map(|head| part.iter().map(|tail| [&head[..], tail].concat())).collect(),
        }
        if all.iter().any(|conjunction| conjunction.len() > MAX_LITERALS) {
            return Err(RuleBound::Literals);
        }
    }
    Ok(all)
}

/// Checks that a rule is within the bounds of all engines.
///
/// # Errors
///
/// Returns the place and the bound that the rule exceeds.
pub fn check_bounds(rule: &Rule) -> Result<(), (Place, RuleBound)> {
    let mut wide = None;
    let mut check = |atom: &Atom| {
        if atom.args.len() > MAX_ARITY {
            let bound = RuleBound::Arguments { name: atom.name.clone(), arity: atom.args.len() };
            wide.get_or_insert((atom.place, bound));
        }
    };
    check(&rule.head);
    for_each_atom(&rule.body, true, &mut |atom, _| check(atom));
    if let Some(wide) = wide {
        return Err(wide);
    }
    let at_rule = |bound| (rule.place, bound);
    for conjunction in conjunctions(rule, &|_| true).map_err(at_rule)? {
        let mut names = rule.head.variables();
        variables(&conjunction, &mut names);
        if names.len() > MAX_VARIABLES {
            return Err(at_rule(RuleBound::Variables));
        }
    }
    Ok(())
}

/// Adds the variables of a conjunction to `names`.
fn variables<'a>(conjunction: &Conjunction<'a>, names: &mut BTreeSet<&'a str>) {
    for part in conjunction {
        match part {
            ConjunctionPart::Holds(atom) | ConjunctionPart::Absent(atom) => names.extend(atom.variables()),
            ConjunctionPart::Distinct(left, right) | ConjunctionPart::Same(left, right) => {
                left.variables(names);
                right.variables(names);
            }
            ConjunctionPart::Tests(all) => all.iter().for_each(|conjunction| variables(conjunction, names)),
        }
    }
}
