//! Conversion of rules to clauses for grounding: conjunctions of literals with
//! patterns as arguments.

use std::collections::{BTreeSet, HashMap};

use super::error::GroundError;
use super::terms::{Functor, GroundTerms};
use crate::gdl::syntax::{Atom, Literal, Rule, Rules, Term, for_each_atom};

/// The maximum number of conjunctions to which a rule expands.
const MAX_ALTERNATIVES: usize = 1024;
/// The maximum number of literals of a conjunction. Joins recurse to this depth.
pub const MAX_LITERALS: usize = 256;
/// The maximum number of arguments of a relation.
pub const MAX_ARITY: usize = 32;
/// The maximum number of variables of a conjunction: the bits of a [`VarSet`].
pub const MAX_VARIABLES: usize = 128;

pub type Var = usize;
pub type PredId = usize;

/// A set of variables of a clause.
pub type VarSet = u128;

/// A term of a clause.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TermPattern {
    Const(u32),
    Var(Var),
    Fun(Functor, Box<[TermPattern]>),
}

impl TermPattern {
    pub fn vars(&self) -> VarSet {
        match self {
            TermPattern::Const(_) => 0,
            TermPattern::Var(var) => 1 << var,
            TermPattern::Fun(_, args) => vars(args),
        }
    }
}

pub fn vars(args: &[TermPattern]) -> VarSet {
    args.iter().fold(0, |set, arg| set | arg.vars())
}

/// A literal: a relation with patterns as arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GroundLiteral {
    pub pred: PredId,
    pub args: Box<[TermPattern]>,
}

impl GroundLiteral {
    pub fn vars(&self) -> VarSet {
        vars(&self.args)
    }
}

/// A condition that grounding evaluates once its variables are bound.
#[derive(Clone, PartialEq, Debug)]
pub enum GroundTest {
    Distinct(TermPattern, TermPattern),
    Same(TermPattern, TermPattern),
    /// A sentence that does not depend on the state must not hold.
    Absent(GroundLiteral),
    All(Vec<GroundTest>),
    Any(Vec<GroundTest>),
}

impl GroundTest {
    pub fn vars(&self) -> VarSet {
        match self {
            GroundTest::Distinct(left, right) | GroundTest::Same(left, right) => left.vars() | right.vars(),
            GroundTest::Absent(literal) => literal.vars(),
            GroundTest::All(parts) | GroundTest::Any(parts) => parts.iter().fold(0, |set, part| set | part.vars()),
        }
    }
}

impl GroundTest {
    /// Calls `see` with all sentences whose absence is tested.
    pub fn absent(&self, see: &mut dyn FnMut(&GroundLiteral)) {
        match self {
            GroundTest::Distinct(..) | GroundTest::Same(..) => {}
            GroundTest::Absent(literal) => see(literal),
            GroundTest::All(parts) | GroundTest::Any(parts) => parts.iter().for_each(|part| part.absent(see)),
        }
    }
}

/// A clause: a head and the conjunction from which it follows.
#[derive(Clone, Debug)]
pub struct GroundClause {
    pub head: GroundLiteral,
    pub body: Vec<GroundLiteral>,
    /// The sentences that must not hold and that depend on the state.
    pub absent: Vec<GroundLiteral>,
    pub tests: Vec<GroundTest>,
    pub variables: usize,
}

impl GroundClause {
    pub fn vars(&self) -> VarSet {
        let parts = self.body.iter().chain(&self.absent).map(GroundLiteral::vars);
        parts.chain(self.tests.iter().map(GroundTest::vars)).fold(self.head.vars(), |set, vars| set | vars)
    }
}

/// The kind of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelationKind {
    /// A relation that depends neither on the state nor on moves.
    Static,
    /// A relation that depends on the state or on moves.
    Dynamic,
    /// A relation that restricts the instances of clauses and has no gates in the network.
    Demand,
}

/// A relation.
#[derive(Clone, Debug)]
pub struct Relation {
    pub arity: usize,
    pub kind: RelationKind,
}

impl Relation {
    /// Returns whether the relation belongs to the last group of clauses.
    pub fn is_late(&self) -> bool {
        self.kind != RelationKind::Static
    }

    /// Returns whether the network has gates for the relation.
    pub fn is_dynamic(&self) -> bool {
        self.kind == RelationKind::Dynamic
    }
}

/// The name of a relation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RelationName {
    /// A relation of the rulesheet.
    Named(String, usize),
    /// The fluents, or the arguments of the fluents with one functor.
    True(Option<Functor>),
    /// The moves played: the role and the move. With a functor, the role and the
    /// arguments of the moves with this functor.
    Does(Option<Functor>),
    /// A relation that grounding introduces.
    Made(usize),
}

/// The clauses of a rulesheet.
#[derive(Default)]
pub struct GroundClauses {
    pub relations: Vec<Relation>,
    pub clauses: Vec<GroundClause>,
    pub names: HashMap<RelationName, PredId>,
    /// The relations that replace a relation, one per combination of bound
    /// arguments.
    pub answers: HashMap<PredId, Vec<PredId>>,
}

impl GroundClauses {
    /// Converts the rules of a game.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule is unsafe, too wide, or expands to too many
    /// conjunctions.
    pub fn new(rules: &Rules, terms: &mut GroundTerms) -> Result<GroundClauses, GroundError> {
        let mut program = GroundClauses::default();
        let starts_late = |rule: &&Rule| matches!(rule.head.name.as_str(), "init" | "role");
        program.relation(RelationName::True(None), 1, RelationKind::Dynamic);
        program.relation(RelationName::Does(None), 2, RelationKind::Dynamic);
        let dynamic = dynamic_relations(rules);
        let depends =
            |rule: &&Rule| !rule.body.is_empty() && dynamic.contains(&(rule.head.name.as_str(), rule.head.args.len()));
        if let Some(rule) = rules.iter().filter(starts_late).find(depends) {
            return Err(GroundError::Start { place: rule.place });
        }
        for rule in rules.iter() {
            for conjunction in conjunctions(rule, &dynamic)? {
                let clause = ClauseConverter { program: &mut program, terms, dynamic: &dynamic, vars: Vec::new() }
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

    /// Returns the relation of all fluents.
    pub fn fluents(&self) -> PredId {
        0
    }

    /// Returns the relation of all moves with their roles.
    pub fn moves(&self) -> PredId {
        1
    }

    /// Returns the facts of a relation in the order of the text.
    pub fn facts(&self, name: &str, arity: usize) -> Vec<Vec<u32>> {
        let pred = self.names.get(&RelationName::Named(name.into(), arity));
        let facts = self.clauses.iter().filter(|clause| Some(&clause.head.pred) == pred && clause.body.is_empty());
        let constant = |arg: &TermPattern| match arg {
            TermPattern::Const(term) => Some(*term),
            _ => None,
        };
        facts.filter_map(|clause| clause.head.args.iter().map(constant).collect()).collect()
    }

    /// Adds a relation that the rulesheet does not have.
    pub fn made(&mut self, arity: usize, kind: RelationKind) -> PredId {
        self.relation(RelationName::Made(self.relations.len()), arity, kind)
    }

    fn relation(&mut self, name: RelationName, arity: usize, kind: RelationKind) -> PredId {
        let next = self.relations.len();
        let pred = *self.names.entry(name).or_insert(next);
        if pred == next {
            self.relations.push(Relation { arity, kind });
        }
        pred
    }
}

/// Returns the relations that depend on the state or the moves.
fn dynamic_relations(rules: &Rules) -> DynamicRelations<'_> {
    let mut dynamic =
        BTreeSet::from([("true", 1), ("does", 2), ("next", 1), ("legal", 2), ("goal", 2), ("terminal", 0)]);
    loop {
        let before = dynamic.len();
        for rule in rules.iter() {
            let mut reads = false;
            for_each_atom(&rule.body, true, &mut |atom, _| {
                reads |= dynamic.contains(&(atom.name.as_str(), atom.args.len()));
            });
            if reads {
                dynamic.insert((&rule.head.name, rule.head.args.len()));
            }
        }
        if dynamic.len() == before {
            return dynamic;
        }
    }
}

/// A part of a conjunction.
#[derive(Clone)]
enum ConjunctionPart<'a> {
    Holds(&'a Atom),
    Absent(&'a Atom),
    Distinct(&'a Term, &'a Term),
    Same(&'a Term, &'a Term),
    /// A disjunction of tests, which is not expanded.
    Tests(Disjunction<'a>),
}

/// Alternatives, each a conjunction.
type Disjunction<'a> = Vec<Vec<ConjunctionPart<'a>>>;

/// The relations that depend on the state or the moves.
type DynamicRelations<'a> = BTreeSet<(&'a str, usize)>;

/// Returns the conjunctions to which a rule expands.
fn conjunctions<'a>(rule: &'a Rule, dynamic: &DynamicRelations) -> Result<Disjunction<'a>, GroundError> {
    let too_many = GroundError::Alternatives { place: rule.place, limit: MAX_ALTERNATIVES };
    let parts = rule.body.iter().map(|literal| alternatives(literal, true, dynamic));
    product(parts).ok_or(too_many)
}

/// Returns the alternatives of a literal, or of its negation, each a conjunction.
/// Returns `None` if there are too many.
fn alternatives<'a>(literal: &'a Literal, holds: bool, dynamic: &DynamicRelations) -> Option<Disjunction<'a>> {
    Some(match (literal, holds) {
        (Literal::Holds(atom), true) => vec![vec![ConjunctionPart::Holds(atom)]],
        (Literal::Holds(atom), false) => vec![vec![ConjunctionPart::Absent(atom)]],
        (Literal::Distinct(_, left, right), true) => vec![vec![ConjunctionPart::Distinct(left, right)]],
        (Literal::Distinct(_, left, right), false) => vec![vec![ConjunctionPart::Same(left, right)]],
        (Literal::Not(_, inner), _) => alternatives(inner, !holds, dynamic)?,
        (Literal::Or(_, parts), false) => product(parts.iter().map(|part| alternatives(part, false, dynamic)))?,
        (Literal::Or(_, parts), true) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(alternatives(part, true, dynamic)?);
            }
            let is_test = |leaf: &ConjunctionPart| match leaf {
                ConjunctionPart::Holds(_) => false,
                ConjunctionPart::Absent(atom) => !dynamic.contains(&(atom.name.as_str(), atom.args.len())),
                ConjunctionPart::Distinct(..) | ConjunctionPart::Same(..) | ConjunctionPart::Tests(_) => true,
            };
            if all.iter().flatten().all(is_test) { vec![vec![ConjunctionPart::Tests(all)]] } else { all }
        }
    })
}

fn product<'a>(parts: impl Iterator<Item = Option<Disjunction<'a>>>) -> Option<Disjunction<'a>> {
    let mut all: Disjunction = vec![Vec::new()];
    for part in parts {
        let part = part?;
        if all.len() * part.len() > MAX_ALTERNATIVES {
            return None;
        }
        all = all.iter().flat_map(|head| part.iter().map(|tail| [&head[..], tail].concat())).collect();
    }
    Some(all)
}

/// The context for converting one conjunction.
struct ClauseConverter<'a> {
    program: &'a mut GroundClauses,
    terms: &'a mut GroundTerms,
    dynamic: &'a DynamicRelations<'a>,
    vars: Vec<&'a str>,
}

impl<'a> ClauseConverter<'a> {
    /// Returns the clause, or `None` if it has too many variables, arguments or
    /// literals.
    fn clause(mut self, head: &'a Atom, leaves: &[ConjunctionPart<'a>]) -> Option<GroundClause> {
        let (mut body, mut absent, mut tests) = (Vec::new(), Vec::new(), Vec::new());
        let args: Box<[TermPattern]> = head.args.iter().map(|arg| self.pat(arg)).collect();
        let name = RelationName::Named(head.name.clone(), args.len());
        let head = GroundLiteral { pred: self.program.relation(name, args.len(), self.kind(head)), args };
        for leaf in leaves {
            match leaf {
                ConjunctionPart::Holds(atom) => body.push(self.literal(atom)),
                ConjunctionPart::Absent(atom) if self.kind(atom) == RelationKind::Dynamic => {
                    absent.push(self.literal(atom))
                }
                leaf => tests.push(self.test(leaf)),
            }
        }
        let wide = |literal: &GroundLiteral| literal.args.len() > MAX_ARITY;
        let long = body.len() + absent.len() + tests.len() > MAX_LITERALS;
        if long || self.vars.len() > MAX_VARIABLES || wide(&head) || body.iter().chain(&absent).any(wide) {
            return None;
        }
        Some(GroundClause { head, body, absent, tests, variables: self.vars.len() })
    }

    fn kind(&self, atom: &Atom) -> RelationKind {
        let is_dynamic = self.dynamic.contains(&(atom.name.as_str(), atom.args.len()));
        if is_dynamic { RelationKind::Dynamic } else { RelationKind::Static }
    }

    fn test(&mut self, leaf: &ConjunctionPart<'a>) -> GroundTest {
        match leaf {
            ConjunctionPart::Distinct(left, right) => GroundTest::Distinct(self.pat(left), self.pat(right)),
            ConjunctionPart::Same(left, right) => GroundTest::Same(self.pat(left), self.pat(right)),
            ConjunctionPart::Absent(atom) | ConjunctionPart::Holds(atom) => GroundTest::Absent(self.literal(atom)),
            ConjunctionPart::Tests(any) => GroundTest::Any(
                any.iter().map(|all| GroundTest::All(all.iter().map(|leaf| self.test(leaf)).collect())).collect(),
            ),
        }
    }

    fn literal(&mut self, atom: &'a Atom) -> GroundLiteral {
        let args: Vec<TermPattern> = atom.args.iter().map(|arg| self.pat(arg)).collect();
        let (name, args) = match (atom.name.as_str(), &args[..]) {
            ("true", [TermPattern::Fun(functor, inner)]) => (RelationName::True(Some(*functor)), inner.to_vec()),
            ("true", _) => (RelationName::True(None), args),
            ("does", [role, TermPattern::Fun(functor, inner)]) => {
                (RelationName::Does(Some(*functor)), [std::slice::from_ref(role), inner].concat())
            }
            ("does", _) => (RelationName::Does(None), args),
            (name, _) => (RelationName::Named(name.to_string(), args.len()), args),
        };
        GroundLiteral { pred: self.program.relation(name, args.len(), self.kind(atom)), args: args.into() }
    }

    /// Converts a term. Ground functions remain functions, so that they match the
    /// rows of their functor.
    fn pat(&mut self, term: &'a Term) -> TermPattern {
        match term {
            Term::Constant(name) => TermPattern::Const(self.terms.constant(name)),
            Term::Variable(name) => {
                let known = self.vars.iter().position(|var| var == name);
                TermPattern::Var(known.unwrap_or_else(|| {
                    self.vars.push(name);
                    self.vars.len() - 1
                }))
            }
            Term::Function { name, args, .. } => {
                let functor = self.terms.functor(name, args.len());
                TermPattern::Fun(functor, args.iter().map(|arg| self.pat(arg)).collect())
            }
        }
    }
}
