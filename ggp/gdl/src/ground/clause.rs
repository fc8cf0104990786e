//! Conversion of rules to clauses for grounding: conjunctions of literals with
//! patterns as arguments.

use std::collections::HashMap;

use super::error::GroundError;
use super::terms::{Functor, GroundTerms};
use crate::syntax::{Atom, ConjunctionPart, DependencyGraph, MAX_ARITY, Rule, Rules, Term, conjunctions};

pub type Var = usize;
pub type PredId = usize;

/// A set of variables of a clause. The parser refuses rules with more variables than bits.
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
    /// Converts the rules of a game with their dependency graph.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule is unsafe or expands to too many or too long
    /// conjunctions.
    pub fn new(rules: &Rules, graph: &DependencyGraph, terms: &mut GroundTerms) -> Result<GroundClauses, GroundError> {
        let mut program = GroundClauses::default();
        let starts_late = |rule: &&Rule| matches!(rule.head.name.as_str(), "init" | "role");
        program.relation(RelationName::True(None), 1, RelationKind::Dynamic);
        program.relation(RelationName::Does(None), 2, RelationKind::Dynamic);
        let depends = |rule: &&Rule| !rule.body.is_empty() && is_dynamic(&rule.head, graph);
        if let Some(rule) = rules.iter().filter(starts_late).find(depends) {
            return Err(GroundError::Start { place: rule.place });
        }
        for rule in rules.iter() {
            let all = conjunctions(rule, &|atom| !is_dynamic(atom, graph));
            for conjunction in all.map_err(|bound| GroundError::Bound { place: rule.place, bound })? {
                let clause = ClauseConverter { program: &mut program, terms, graph, vars: Vec::new() }
                    .clause(&rule.head, &conjunction);
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

    /// Returns whether grounding introduced a relation.
    pub fn is_made(&self, pred: PredId) -> bool {
        self.names.get(&RelationName::Made(pred)) == Some(&pred)
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

/// The relations of the language that depend on the state or the moves, or belong to the network.
const DYNAMIC: [&str; 6] = ["true", "does", "next", "legal", "goal", "terminal"];

/// Returns whether a relation depends on the state or the moves.
fn is_dynamic(atom: &Atom, graph: &DependencyGraph) -> bool {
    graph.reaches((&atom.name, atom.args.len()), &DYNAMIC)
}

/// The context for converting one conjunction.
struct ClauseConverter<'a> {
    program: &'a mut GroundClauses,
    terms: &'a mut GroundTerms,
    graph: &'a DependencyGraph<'a>,
    vars: Vec<&'a str>,
}

impl<'a> ClauseConverter<'a> {
    fn clause(mut self, head: &'a Atom, leaves: &[ConjunctionPart<'a>]) -> GroundClause {
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
        GroundClause { head, body, absent, tests, variables: self.vars.len() }
    }

    fn kind(&self, atom: &Atom) -> RelationKind {
        if is_dynamic(atom, self.graph) { RelationKind::Dynamic } else { RelationKind::Static }
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

    /// Converts a sentence. Fluents and moves of one functor have their own relation, unless it has
    /// too many arguments.
    fn literal(&mut self, atom: &'a Atom) -> GroundLiteral {
        let args: Vec<TermPattern> = atom.args.iter().map(|arg| self.pat(arg)).collect();
        let (name, args) = match (atom.name.as_str(), &args[..]) {
            ("true", [TermPattern::Fun(functor, inner)]) if inner.len() <= MAX_ARITY => {
                (RelationName::True(Some(*functor)), inner.to_vec())
            }
            ("true", _) => (RelationName::True(None), args),
            ("does", [role, TermPattern::Fun(functor, inner)]) if inner.len() < MAX_ARITY => {
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
