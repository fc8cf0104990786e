//! Terms, sentences, literals and rules.

use std::collections::BTreeSet;

use super::kif::Place;

/// A term of a rule. Constants are case-sensitive. Equality disregards places.
#[derive(Clone, Eq, Debug)]
pub enum Term {
    /// A name.
    Constant(String),
    /// A variable, with its question mark.
    Variable(String),
    /// A function of at least one argument.
    Function {
        /// The place of the function.
        place: Place,
        /// Its name.
        name: String,
        /// Its arguments.
        args: Vec<Term>,
    },
}

// Equality of terms, sentences, literals and rules disregards places: two
// occurrences of one expression are equal.

impl PartialEq for Term {
    fn eq(&self, other: &Term) -> bool {
        match (self, other) {
            (Term::Constant(one), Term::Constant(two)) | (Term::Variable(one), Term::Variable(two)) => one == two,
            (Term::Function { name, args, .. }, Term::Function { name: other, args: others, .. }) => {
                name == other && args == others
            }
            _ => false,
        }
    }
}

impl PartialEq for Atom {
    fn eq(&self, other: &Atom) -> bool {
        self.name == other.name && self.args == other.args
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        match (self, other) {
            (Literal::Holds(one), Literal::Holds(two)) => one == two,
            (Literal::Not(_, one), Literal::Not(_, two)) => one == two,
            (Literal::Distinct(_, left, right), Literal::Distinct(_, other_left, other_right)) => {
                left == other_left && right == other_right
            }
            (Literal::Or(_, parts), Literal::Or(_, others)) => parts == others,
            _ => false,
        }
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.head == other.head && self.body == other.body
    }
}

impl Term {
    /// Adds the names of all variables to `names`.
    pub(crate) fn variables<'a>(&'a self, names: &mut BTreeSet<&'a str>) {
        match self {
            Term::Constant(_) => {}
            Term::Variable(name) => {
                names.insert(name);
            }
            Term::Function { args, .. } => args.iter().for_each(|arg| arg.variables(names)),
        }
    }

    pub(crate) fn is_ground(&self) -> bool {
        match self {
            Term::Constant(_) => true,
            Term::Variable(_) => false,
            Term::Function { args, .. } => args.iter().all(Term::is_ground),
        }
    }
}

/// A sentence: a relation with its arguments. Keywords are in lower case. Equality disregards places.
#[derive(Clone, Eq, Debug)]
pub struct Atom {
    /// The place where the sentence begins.
    pub place: Place,
    /// The relation.
    pub name: String,
    /// The arguments.
    pub args: Vec<Term>,
}

impl Atom {
    /// Returns the names of the variables.
    pub(crate) fn variables(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.args.iter().for_each(|arg| arg.variables(&mut names));
        names
    }
}

/// A condition in the body of a rule. Equality disregards places.
#[derive(Clone, Eq, Debug)]
pub enum Literal {
    /// A sentence that must hold.
    Holds(Atom),
    /// A literal that must not hold. Valid GDL negates sentences only.
    Not(Place, Box<Literal>),
    /// Two terms that must differ.
    Distinct(Place, Term, Term),
    /// Literals of which at least one must hold.
    Or(Place, Vec<Literal>),
}

impl Literal {
    /// Adds the names of all variables to `names`.
    pub(crate) fn variables<'a>(&'a self, names: &mut BTreeSet<&'a str>) {
        match self {
            Literal::Holds(atom) => names.extend(atom.variables()),
            Literal::Not(_, inner) => inner.variables(names),
            Literal::Distinct(_, left, right) => [left, right].into_iter().for_each(|term| term.variables(names)),
            Literal::Or(_, parts) => parts.iter().for_each(|part| part.variables(names)),
        }
    }
}

/// A rule, or a fact if the body is empty. Equality disregards places.
#[derive(Clone, Eq, Debug)]
pub struct Rule {
    /// The place where the statement begins.
    pub place: Place,
    /// The consequence.
    pub head: Atom,
    /// The conditions.
    pub body: Vec<Literal>,
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
