//! Rules made ready for grounding: conjunctions of literals over patterns.

use std::collections::{BTreeSet, HashMap};

use super::error::GroundError;
use super::terms::{Functor, Terms};
use crate::gdl::syntax::{Atom, Literal as Sentence, Rule, Rules, Term};

/// A rule may spread into this many conjunctions.
const MAX_ALTERNATIVES: usize = 1024;
/// A conjunction has at most so many literals: joins recurse into them.
pub const MAX_LITERALS: usize = 256;
/// Relations have at most so many arguments.
pub const MAX_ARITY: usize = 32;
/// A conjunction has at most so many variables: sets of them are words.
pub const MAX_VARIABLES: usize = 128;

pub type Var = usize;
pub type Pred = usize;

/// A set of variables of a clause.
pub type VarSet = u128;

/// A term of a clause.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Pat {
    Const(u32),
    Var(Var),
    Fun(Functor, Box<[Pat]>),
}

impl Pat {
    pub fn vars(&self) -> VarSet {
        match self {
            Pat::Const(_) => 0,
            Pat::Var(var) => 1 << var,
            Pat::Fun(_, args) => vars(args),
        }
    }
}

pub fn vars(args: &[Pat]) -> VarSet {
    args.iter().fold(0, |set, arg| set | arg.vars())
}

/// A relation of patterns.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Literal {
    pub pred: Pred,
    pub args: Box<[Pat]>,
}

impl Literal {
    pub fn vars(&self) -> VarSet {
        vars(&self.args)
    }
}

/// A condition that grounding itself decides, once its variables are bound.
#[derive(Clone, PartialEq, Debug)]
pub enum Test {
    Distinct(Pat, Pat),
    Same(Pat, Pat),
    /// A sentence that depends on no state does not hold.
    Absent(Literal),
    All(Vec<Test>),
    Any(Vec<Test>),
}

impl Test {
    pub fn vars(&self) -> VarSet {
        match self {
            Test::Distinct(left, right) | Test::Same(left, right) => left.vars() | right.vars(),
            Test::Absent(literal) => literal.vars(),
            Test::All(parts) | Test::Any(parts) => parts.iter().fold(0, |set, part| set | part.vars()),
        }
    }
}

impl Test {
    /// Shows all sentences whose absence is tested.
    pub fn absent(&self, see: &mut dyn FnMut(&Literal)) {
        match self {
            Test::Distinct(..) | Test::Same(..) => {}
            Test::Absent(literal) => see(literal),
            Test::All(parts) | Test::Any(parts) => parts.iter().for_each(|part| part.absent(see)),
        }
    }
}

/// A conjunction from which a head follows.
#[derive(Clone, Debug)]
pub struct Clause {
    pub head: Literal,
    pub body: Vec<Literal>,
    /// Sentences that must not hold, and that depend on the state.
    pub absent: Vec<Literal>,
    pub tests: Vec<Test>,
    pub variables: usize,
}

impl Clause {
    pub fn vars(&self) -> VarSet {
        let parts = self.body.iter().chain(&self.absent).map(Literal::vars);
        parts.chain(self.tests.iter().map(Test::vars)).fold(self.head.vars(), |set, vars| set | vars)
    }
}

/// What a relation depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Neither on the state nor on moves.
    Static,
    /// On the state or on moves.
    Dynamic,
    /// It only says what may be asked: the network has nothing of it.
    Demand,
}

/// A relation.
#[derive(Clone, Debug)]
pub struct Relation {
    pub arity: usize,
    pub kind: Kind,
}

impl Relation {
    /// Whether it is found together with what may hold in states.
    pub fn is_late(&self) -> bool {
        self.kind != Kind::Static
    }

    /// Whether the network has gates for it.
    pub fn is_dynamic(&self) -> bool {
        self.kind == Kind::Dynamic
    }
}

/// What a relation is called.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Name {
    /// A relation of the rulesheet.
    Named(String, usize),
    /// The fluents, or those of one functor by their arguments.
    True(Option<Functor>),
    /// The moves played, or those of one functor: the role, and the move or
    /// its arguments.
    Does(Option<Functor>),
    /// One that the grounder makes.
    Made(usize),
}

/// The clauses of a rulesheet.
#[derive(Default)]
pub struct Program {
    pub relations: Vec<Relation>,
    pub clauses: Vec<Clause>,
    pub names: HashMap<Name, Pred>,
    /// The relations that stand in the place of one, each for a way in which
    /// it is asked.
    pub answers: HashMap<Pred, Vec<Pred>>,
}

impl Program {
    /// # Errors
    ///
    /// Rules that are unsafe or spread too far.
    pub fn new(rules: &Rules, terms: &mut Terms) -> Result<Program, GroundError> {
        let mut program = Program::default();
        let starts_late = |rule: &&Rule| matches!(rule.head.name.as_str(), "init" | "role");
        program.relation(Name::True(None), 1, Kind::Dynamic);
        program.relation(Name::Does(None), 2, Kind::Dynamic);
        let dynamic = dynamic_relations(rules);
        let depends =
            |rule: &&Rule| !rule.body.is_empty() && dynamic.contains(&(rule.head.name.as_str(), rule.head.args.len()));
        if let Some(rule) = rules.iter().filter(starts_late).find(depends) {
            return Err(GroundError::Start { place: rule.place });
        }
        for rule in rules.iter() {
            for conjunction in conjunctions(rule, &dynamic)? {
                let clause = Scope { program: &mut program, terms, dynamic: &dynamic, vars: Vec::new() }
                    .clause(&rule.head, &conjunction);
                let clause = clause.ok_or(GroundError::TooWide { place: rule.place })?;
                let bound = clause.body.iter().fold(0, |set, literal| set | literal.vars());
                if clause.vars() & !bound != 0 {
                    return Err(GroundError::Unsafe { place: rule.place });
                }
                program.clauses.push(clause);
            }
        }
        Ok(program)
    }

    /// The relation of all fluents.
    pub fn fluents(&self) -> Pred {
        0
    }

    /// The relation of all moves with their roles.
    pub fn moves(&self) -> Pred {
        1
    }

    /// The facts of a relation, in the order of the text.
    pub fn facts(&self, name: &str, arity: usize) -> Vec<Vec<u32>> {
        let pred = self.names.get(&Name::Named(name.into(), arity));
        let facts = self.clauses.iter().filter(|clause| Some(&clause.head.pred) == pred && clause.body.is_empty());
        let constant = |arg: &Pat| match arg {
            Pat::Const(term) => Some(*term),
            _ => None,
        };
        facts.filter_map(|clause| clause.head.args.iter().map(constant).collect()).collect()
    }

    /// A relation that the rulesheet does not have.
    pub fn made(&mut self, arity: usize, kind: Kind) -> Pred {
        self.relation(Name::Made(self.relations.len()), arity, kind)
    }

    fn relation(&mut self, name: Name, arity: usize, kind: Kind) -> Pred {
        let next = self.relations.len();
        let pred = *self.names.entry(name).or_insert(next);
        if pred == next {
            self.relations.push(Relation { arity, kind });
        }
        pred
    }
}

/// The relations that depend on the state or the moves.
fn dynamic_relations(rules: &Rules) -> BTreeSet<(&str, usize)> {
    fn reads(literal: &Sentence, dynamic: &BTreeSet<(&str, usize)>) -> bool {
        match literal {
            Sentence::Holds(atom) => dynamic.contains(&(atom.name.as_str(), atom.args.len())),
            Sentence::Not(_, inner) => reads(inner, dynamic),
            Sentence::Distinct(..) => false,
            Sentence::Or(_, parts) => parts.iter().any(|part| reads(part, dynamic)),
        }
    }
    let mut dynamic =
        BTreeSet::from([("true", 1), ("does", 2), ("next", 1), ("legal", 2), ("goal", 2), ("terminal", 0)]);
    loop {
        let before = dynamic.len();
        for rule in rules.iter() {
            if rule.body.iter().any(|literal| reads(literal, &dynamic)) {
                dynamic.insert((&rule.head.name, rule.head.args.len()));
            }
        }
        if dynamic.len() == before {
            return dynamic;
        }
    }
}

/// What a conjunction is made of.
#[derive(Clone)]
enum Leaf<'a> {
    Holds(&'a Atom),
    Absent(&'a Atom),
    Distinct(&'a Term, &'a Term),
    Same(&'a Term, &'a Term),
    /// A disjunction of tests, which stays whole.
    Tests(Vec<Vec<Leaf<'a>>>),
}

/// The conjunctions into which a rule spreads.
fn conjunctions<'a>(rule: &'a Rule, dynamic: &BTreeSet<(&str, usize)>) -> Result<Vec<Vec<Leaf<'a>>>, GroundError> {
    let too_many = GroundError::Alternatives { place: rule.place, limit: MAX_ALTERNATIVES };
    let parts = rule.body.iter().map(|literal| alternatives(literal, true, dynamic));
    product(parts).ok_or(too_many)
}

/// The alternatives of a literal, or of its negation, each a conjunction.
fn alternatives<'a>(
    literal: &'a Sentence,
    holds: bool,
    dynamic: &BTreeSet<(&str, usize)>,
) -> Option<Vec<Vec<Leaf<'a>>>> {
    Some(match (literal, holds) {
        (Sentence::Holds(atom), true) => vec![vec![Leaf::Holds(atom)]],
        (Sentence::Holds(atom), false) => vec![vec![Leaf::Absent(atom)]],
        (Sentence::Distinct(_, left, right), true) => vec![vec![Leaf::Distinct(left, right)]],
        (Sentence::Distinct(_, left, right), false) => vec![vec![Leaf::Same(left, right)]],
        (Sentence::Not(_, inner), _) => alternatives(inner, !holds, dynamic)?,
        (Sentence::Or(_, parts), false) => product(parts.iter().map(|part| alternatives(part, false, dynamic)))?,
        (Sentence::Or(_, parts), true) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(alternatives(part, true, dynamic)?);
            }
            let is_test = |leaf: &Leaf| match leaf {
                Leaf::Holds(_) => false,
                Leaf::Absent(atom) => !dynamic.contains(&(atom.name.as_str(), atom.args.len())),
                Leaf::Distinct(..) | Leaf::Same(..) | Leaf::Tests(_) => true,
            };
            if all.iter().flatten().all(is_test) { vec![vec![Leaf::Tests(all)]] } else { all }
        }
    })
}

fn product<'a>(parts: impl Iterator<Item = Option<Vec<Vec<Leaf<'a>>>>>) -> Option<Vec<Vec<Leaf<'a>>>> {
    let mut all: Vec<Vec<Leaf>> = vec![Vec::new()];
    for part in parts {
        let part = part?;
        if all.len() * part.len() > MAX_ALTERNATIVES {
            return None;
        }
        all = all.iter().flat_map(|head| part.iter().map(|tail| [&head[..], tail].concat())).collect();
    }
    Some(all)
}

/// Turns the sentences of one conjunction into patterns.
struct Scope<'a> {
    program: &'a mut Program,
    terms: &'a mut Terms,
    dynamic: &'a BTreeSet<(&'a str, usize)>,
    vars: Vec<&'a str>,
}

impl<'a> Scope<'a> {
    /// None if the clause has too many variables, arguments or literals.
    fn clause(mut self, head: &'a Atom, leaves: &[Leaf<'a>]) -> Option<Clause> {
        let (mut body, mut absent, mut tests) = (Vec::new(), Vec::new(), Vec::new());
        let args: Box<[Pat]> = head.args.iter().map(|arg| self.pat(arg)).collect();
        let name = Name::Named(head.name.clone(), args.len());
        let head = Literal { pred: self.program.relation(name, args.len(), self.kind(head)), args };
        for leaf in leaves {
            match leaf {
                Leaf::Holds(atom) => body.push(self.literal(atom)),
                Leaf::Absent(atom) if self.kind(atom) == Kind::Dynamic => absent.push(self.literal(atom)),
                leaf => tests.push(self.test(leaf)),
            }
        }
        let wide = |literal: &Literal| literal.args.len() > MAX_ARITY;
        let long = body.len() + absent.len() + tests.len() > MAX_LITERALS;
        if long || self.vars.len() > MAX_VARIABLES || wide(&head) || body.iter().chain(&absent).any(wide) {
            return None;
        }
        Some(Clause { head, body, absent, tests, variables: self.vars.len() })
    }

    fn kind(&self, atom: &Atom) -> Kind {
        let is_dynamic = self.dynamic.contains(&(atom.name.as_str(), atom.args.len()));
        if is_dynamic { Kind::Dynamic } else { Kind::Static }
    }

    fn test(&mut self, leaf: &Leaf<'a>) -> Test {
        match leaf {
            Leaf::Distinct(left, right) => Test::Distinct(self.pat(left), self.pat(right)),
            Leaf::Same(left, right) => Test::Same(self.pat(left), self.pat(right)),
            Leaf::Absent(atom) | Leaf::Holds(atom) => Test::Absent(self.literal(atom)),
            Leaf::Tests(any) => {
                Test::Any(any.iter().map(|all| Test::All(all.iter().map(|leaf| self.test(leaf)).collect())).collect())
            }
        }
    }

    fn literal(&mut self, atom: &'a Atom) -> Literal {
        let args: Vec<Pat> = atom.args.iter().map(|arg| self.pat(arg)).collect();
        let (name, args) = match (atom.name.as_str(), &args[..]) {
            ("true", [Pat::Fun(functor, inner)]) => (Name::True(Some(*functor)), inner.to_vec()),
            ("true", _) => (Name::True(None), args),
            ("does", [role, Pat::Fun(functor, inner)]) => {
                (Name::Does(Some(*functor)), [std::slice::from_ref(role), inner].concat())
            }
            ("does", _) => (Name::Does(None), args),
            (name, _) => (Name::Named(name.to_string(), args.len()), args),
        };
        Literal { pred: self.program.relation(name, args.len(), self.kind(atom)), args: args.into() }
    }

    /// Ground functions stay functions: they meet the rows of their functor.
    fn pat(&mut self, term: &'a Term) -> Pat {
        match term {
            Term::Constant(name) => Pat::Const(self.terms.constant(name)),
            Term::Variable(name) => {
                let known = self.vars.iter().position(|var| var == name);
                Pat::Var(known.unwrap_or_else(|| {
                    self.vars.push(name);
                    self.vars.len() - 1
                }))
            }
            Term::Function { name, args, .. } => {
                let functor = self.terms.functor(name, args.len());
                Pat::Fun(functor, args.iter().map(|arg| self.pat(arg)).collect())
            }
        }
    }
}
