//! Preparation of rules for the tabling engine.
//!
//! Names are interned and disjunctions expanded. The parts of each body are put
//! in an order in which the variables of every test are bound.

use std::collections::{BTreeSet, HashMap};

use super::error::ProverError;
use super::rows::TupleSet;
use super::terms::TermStore;
use crate::syntax::{Atom, ConjunctionPart, DependencyGraph, Rule, Rules, Term, conjunctions};

/// A term of a rule. Variables are indexes into the rule's environment.
#[derive(Clone, Debug)]
pub enum RuleTerm {
    Const(u32),
    Var(usize),
    Fun(u32, Box<[RuleTerm]>),
}

#[derive(Clone, Debug)]
enum BodyPart {
    /// A relation with its arguments, and whether it is recursive and has a function: its calls
    /// may then contain larger and larger terms.
    Rel(u32, Vec<RuleTerm>, bool),
    True(RuleTerm),
    Does(Vec<RuleTerm>),
    Distinct(RuleTerm, RuleTerm),
    Not(Box<BodyPart>),
    /// A disjunction of tests, which binds nothing. Each alternative is a list.
    AnyOf(Vec<Vec<BodyPart>>),
}

/// A clause: a rule whose body is a conjunction.
struct PlanClause {
    args: Vec<RuleTerm>,
    body: Vec<BodyPart>,
    variables: usize,
}

/// The scope of time for which an answer is valid.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AnswerScope {
    /// All states.
    Always,
    /// One state.
    State,
    /// One state with one joint move.
    Joint,
}

/// A relation that rules define.
pub struct PlanRelation {
    pub scope: AnswerScope,
    /// The tuples that facts define.
    pub facts: TupleSet,
    clauses: Vec<PlanClause>,
}

impl PlanRelation {
    /// Returns whether the relation has facts only.
    pub fn is_facts(&self) -> bool {
        self.clauses.is_empty()
    }
}

/// A pattern for a column of a row. Since all answers are ground, the bound
/// variables are known when the rules are prepared.
#[derive(Clone, Debug)]
pub enum ColumnPattern {
    Const(u32),
    /// Binds a variable.
    Bind(usize),
    /// Compares with a bound variable.
    Check(usize),
    Fun(u32, Box<[ColumnPattern]>),
}

/// A source of rows.
#[derive(Clone, Copy, Debug)]
pub enum RowSource {
    Facts(u32),
    /// The arguments of the fluents of a functor.
    Functor(u32),
    /// All fluents.
    Fluents,
    Does,
}

#[derive(Clone, Debug)]
pub enum PlanStep {
    /// Matches rows with patterns. `keys` are the bound columns that an index
    /// may use.
    Scan {
        source: RowSource,
        pats: Box<[ColumnPattern]>,
        keys: Box<[(usize, RuleTerm)]>,
    },
    /// Matches the answers of a call. `args` has an entry per column, which is
    /// `Some` if the column is bound. `pats` are for the other columns.
    Call {
        pred: u32,
        args: Box<[Option<RuleTerm>]>,
        pats: Box<[ColumnPattern]>,
    },
    Distinct(RuleTerm, RuleTerm),
    Not(Box<PlanStep>),
    AnyOf(Box<[Box<[PlanStep]>]>),
}

/// A clause prepared for calls with certain arguments bound.
#[derive(Debug)]
pub struct RulePlan {
    pub variables: usize,
    /// The patterns of the bound arguments of the call, in order.
    pub bound: Box<[ColumnPattern]>,
    pub body: Box<[PlanStep]>,
    /// The instructions for the other arguments, in order.
    pub free: Box<[RuleTerm]>,
}

/// All relations of a rulesheet, prepared for the tabling engine.
pub struct PlannedRules {
    pub preds: Vec<PlanRelation>,
    names: HashMap<(String, usize), u32>,
}

impl PlannedRules {
    /// Prepares the rules of a game.
    ///
    /// # Errors
    ///
    /// Returns an error if a rule is unsafe or contains a term that is too long.
    pub fn new(rules: &Rules, terms: &mut TermStore) -> Result<PlannedRules, ProverError> {
        let mut program = PlannedRules { preds: Vec::new(), names: HashMap::new() };
        let graph = DependencyGraph::new(rules);
        for rule in rules.iter() {
            program.add(rule, &graph, terms)?;
        }
        if std::mem::take(&mut terms.too_large) {
            return Err(ProverError::TermTooLarge);
        }
        for ((name, arity), &pred) in &program.names {
            let reads = |what: &str| graph.depends(name, *arity, what);
            let joint = reads("does");
            let state = reads("true");
            let scope = if joint {
                AnswerScope::Joint
            } else if state {
                AnswerScope::State
            } else {
                AnswerScope::Always
            };
            program.preds[pred as usize].scope = scope;
        }
        Ok(program)
    }

    pub fn pred(&self, name: &str, arity: usize) -> Option<u32> {
        self.names.get(&(name.to_string(), arity)).copied()
    }

    fn pred_or_new(&mut self, name: &str, arity: usize) -> u32 {
        let next = self.preds.len() as u32;
        let pred = *self.names.entry((name.to_string(), arity)).or_insert(next);
        if pred == next {
            self.preds.push(PlanRelation {
                scope: AnswerScope::Always,
                facts: TupleSet::new(arity),
                clauses: Vec::new(),
            });
        }
        pred
    }

    fn add(&mut self, rule: &Rule, graph: &DependencyGraph, terms: &mut TermStore) -> Result<(), ProverError> {
        let pred = self.pred_or_new(&rule.head.name, rule.head.args.len());
        for body in conjunctions(rule, &|_| true).expect("the parser refuses rules beyond the bounds") {
            let mut converter =
                RuleConverter { program: self, graph, head: &rule.head, terms, variables: HashMap::new() };
            let args: Vec<RuleTerm> = rule.head.args.iter().map(|arg| converter.shape(arg)).collect();
            let body: Vec<BodyPart> = body.iter().map(|part| converter.part(part)).collect();
            let clause = PlanClause { args, body, variables: converter.variables.len() };
            let constants: Option<Vec<u32>> = clause.args.iter().map(RuleTerm::as_const).collect();
            match constants {
                Some(row) if clause.body.is_empty() => {
                    self.preds[pred as usize].facts.insert(&row);
                }
                _ => {
                    if clause.plan(0, &self.preds).is_none() {
                        return Err(ProverError::Unsafe { place: rule.place });
                    }
                    self.preds[pred as usize].clauses.push(clause);
                }
            }
        }
        Ok(())
    }

    /// Returns the clauses of a relation, prepared for calls whose bound arguments
    /// are the bits of `mask`.
    pub fn plans(&self, pred: u32, mask: u64) -> Vec<RulePlan> {
        let ready = |clause: &PlanClause| clause.plan(mask, &self.preds);
        // A clause that can be evaluated without bound arguments can also be
        // evaluated with them.
        self.preds[pred as usize].clauses.iter().filter_map(ready).collect()
    }
}

/// The context for converting the parts of one rule.
struct RuleConverter<'a> {
    program: &'a mut PlannedRules,
    graph: &'a DependencyGraph<'a>,
    head: &'a Atom,
    terms: &'a mut TermStore,
    variables: HashMap<String, usize>,
}

impl RuleConverter<'_> {
    fn shape(&mut self, term: &Term) -> RuleTerm {
        match term {
            Term::Constant(name) => RuleTerm::Const(self.terms.constant(name)),
            Term::Variable(name) => {
                let next = self.variables.len();
                RuleTerm::Var(*self.variables.entry(name.clone()).or_insert(next))
            }
            Term::Function { name, args, .. } => {
                let functor = self.terms.functor(name, args.len()).0;
                let args: Box<[RuleTerm]> = args.iter().map(|arg| self.shape(arg)).collect();
                match args.iter().map(RuleTerm::as_const).collect::<Option<Vec<u32>>>() {
                    Some(constants) => RuleTerm::Const(self.terms.intern(&[&[functor], &constants[..]].concat())),
                    None => RuleTerm::Fun(functor, args),
                }
            }
        }
    }

    fn atom(&mut self, atom: &Atom) -> BodyPart {
        let mut args: Vec<RuleTerm> = atom.args.iter().map(|arg| self.shape(arg)).collect();
        match (atom.name.as_str(), args.len()) {
            ("true", 1) => BodyPart::True(args.swap_remove(0)),
            ("does", 2) => BodyPart::Does(args),
            (name, arity) => {
                let is_function = |arg: &RuleTerm| matches!(arg, RuleTerm::Fun(..));
                let may_grow = args.iter().any(is_function) && self.graph.recurs(atom, self.head);
                BodyPart::Rel(self.program.pred_or_new(name, arity), args, may_grow)
            }
        }
    }

    fn part(&mut self, part: &ConjunctionPart) -> BodyPart {
        match part {
            ConjunctionPart::Holds(atom) => self.atom(atom),
            ConjunctionPart::Absent(atom) => BodyPart::Not(Box::new(self.atom(atom))),
            ConjunctionPart::Distinct(left, right) => BodyPart::Distinct(self.shape(left), self.shape(right)),
            ConjunctionPart::Same(left, right) => {
                BodyPart::Not(Box::new(BodyPart::Distinct(self.shape(left), self.shape(right))))
            }
            ConjunctionPart::Tests(any) => {
                BodyPart::AnyOf(any.iter().map(|all| all.iter().map(|part| self.part(part)).collect()).collect())
            }
        }
    }
}

impl RuleTerm {
    fn as_const(&self) -> Option<u32> {
        match self {
            RuleTerm::Const(id) => Some(*id),
            _ => None,
        }
    }

    fn any_variable(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
        match self {
            RuleTerm::Const(_) => false,
            RuleTerm::Var(variable) => test(*variable),
            RuleTerm::Fun(_, args) => args.iter().any(|arg| arg.any_variable(test)),
        }
    }

    fn is_bound(&self, bound: &[bool]) -> bool {
        !self.any_variable(&mut |variable| !bound[variable])
    }

    /// Returns the pattern of a term and marks its variables as bound.
    fn pat(&self, bound: &mut [bool]) -> ColumnPattern {
        match self {
            RuleTerm::Const(id) => ColumnPattern::Const(*id),
            RuleTerm::Var(variable) if bound[*variable] => ColumnPattern::Check(*variable),
            RuleTerm::Var(variable) => {
                bound[*variable] = true;
                ColumnPattern::Bind(*variable)
            }
            RuleTerm::Fun(functor, args) => {
                ColumnPattern::Fun(*functor, args.iter().map(|arg| arg.pat(bound)).collect())
            }
        }
    }
}

impl BodyPart {
    fn any_variable(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
        match self {
            BodyPart::Rel(_, args, _) | BodyPart::Does(args) => args.iter().any(|arg| arg.any_variable(test)),
            BodyPart::True(fluent) => fluent.any_variable(test),
            BodyPart::Distinct(left, right) => left.any_variable(test) || right.any_variable(test),
            BodyPart::Not(inner) => inner.any_variable(test),
            BodyPart::AnyOf(branches) => branches.iter().flatten().any(|part| part.any_variable(test)),
        }
    }

    fn is_bound(&self, bound: &[bool]) -> bool {
        !self.any_variable(&mut |variable| !bound[variable])
    }

    /// Returns the number of variables that are not bound.
    fn unbound(&self, bound: &[bool]) -> usize {
        let mut variables = BTreeSet::new();
        self.any_variable(&mut |variable| {
            if !bound[variable] {
                variables.insert(variable);
            }
            false
        });
        variables.len()
    }

    fn may_grow(&self) -> bool {
        matches!(self, BodyPart::Rel(_, _, true))
    }

    fn is_generator(&self) -> bool {
        matches!(self, BodyPart::Rel(..) | BodyPart::True(_) | BodyPart::Does(_))
    }

    /// Returns whether the part is cheap to evaluate once its variables are bound.
    fn is_cheap(&self, preds: &[PlanRelation]) -> bool {
        match self {
            BodyPart::Rel(pred, ..) => preds[*pred as usize].is_facts(),
            BodyPart::Not(inner) => inner.is_cheap(preds),
            BodyPart::AnyOf(branches) => branches.iter().flatten().all(|part| part.is_cheap(preds)),
            BodyPart::True(_) | BodyPart::Does(_) | BodyPart::Distinct(..) => true,
        }
    }

    fn is_of_state(&self, preds: &[PlanRelation]) -> bool {
        match self {
            BodyPart::Rel(pred, ..) => preds[*pred as usize].scope > AnswerScope::Always,
            _ => true,
        }
    }

    fn goal(&self, bound: &mut [bool], preds: &[PlanRelation]) -> PlanStep {
        match self {
            BodyPart::Rel(pred, args, _) if preds[*pred as usize].is_facts() => {
                scan(RowSource::Facts(*pred), args, bound)
            }
            BodyPart::Rel(pred, args, _) => call(*pred, args, bound),
            BodyPart::True(RuleTerm::Fun(functor, args)) => scan(RowSource::Functor(*functor), args, bound),
            BodyPart::True(fluent) => scan(RowSource::Fluents, std::slice::from_ref(fluent), bound),
            BodyPart::Does(args) => scan(RowSource::Does, args, bound),
            BodyPart::Distinct(left, right) => PlanStep::Distinct(left.clone(), right.clone()),
            BodyPart::Not(inner) => PlanStep::Not(Box::new(inner.goal(bound, preds))),
            BodyPart::AnyOf(branches) => {
                let goals = |parts: &Vec<BodyPart>, bound: &mut [bool]| {
                    parts.iter().map(|part| part.goal(bound, preds)).collect()
                };
                PlanStep::AnyOf(branches.iter().map(|parts| goals(parts, bound)).collect())
            }
        }
    }
}

fn scan(source: RowSource, args: &[RuleTerm], bound: &mut [bool]) -> PlanStep {
    let keys = args.iter().enumerate().filter(|(_, arg)| arg.is_bound(bound) && !matches!(arg, RuleTerm::Fun(..)));
    let keys = keys.map(|(column, arg)| (column, arg.clone())).collect();
    PlanStep::Scan { source, pats: args.iter().map(|arg| arg.pat(bound)).collect(), keys }
}

fn call(pred: u32, args: &[RuleTerm], bound: &mut [bool]) -> PlanStep {
    let made: Box<[Option<RuleTerm>]> = args.iter().map(|arg| arg.is_bound(bound).then(|| arg.clone())).collect();
    let free = args.iter().zip(&made).filter(|(_, made)| made.is_none());
    PlanStep::Call { pred, pats: free.map(|(arg, _)| arg.pat(bound)).collect(), args: made }
}

impl PlanClause {
    /// Orders the body for calls whose bound arguments are the bits of `mask`.
    /// Returns `None` if nothing binds a variable of a test or of the head.
    fn plan(&self, mask: u64, preds: &[PlanRelation]) -> Option<RulePlan> {
        let mut known = vec![false; self.variables];
        let is_bound = |column: usize| mask >> column & 1 == 1;
        let columns = |wanted: bool| (0..self.args.len()).filter(move |&column| is_bound(column) == wanted);
        let bound = columns(true).map(|column| self.args[column].pat(&mut known)).collect();
        let mut left: Vec<&BodyPart> = self.body.iter().collect();
        let mut body = Vec::new();
        while !left.is_empty() {
            let part = left.remove(pick(&left, &known, preds)?);
            body.push(part.goal(&mut known, preds));
        }
        let free = columns(false).map(|column| &self.args[column]);
        if free.clone().any(|arg| !arg.is_bound(&known)) {
            return None;
        }
        Some(RulePlan { variables: self.variables, bound, body: body.into(), free: free.cloned().collect() })
    }
}

/// Returns the part to evaluate next, by these rules in order:
///
/// 1. a cheap test;
/// 2. the moves played;
/// 3. among the tests and the parts with a bound variable, the one with the
///    fewest unbound variables, and the first of these. Recursive calls with a
///    function come after the others, since one of these restricts its argument;
/// 4. the first generator that depends on the state, since such relations
///    usually have fewer rows;
/// 5. the first generator.
fn pick(left: &[&BodyPart], known: &[bool], preds: &[PlanRelation]) -> Option<usize> {
    let ready = |part: &BodyPart| part.is_bound(known);
    let joined = |part: &BodyPart| part.is_generator() && part.any_variable(&mut |variable| known[variable]);
    let next = left.iter().enumerate().filter(|(_, part)| joined(part) || ready(part));
    left.iter()
        .position(|part| ready(part) && part.is_cheap(preds))
        .or_else(|| left.iter().position(|part| matches!(part, BodyPart::Does(_))))
        .or_else(|| next.min_by_key(|(_, part)| (part.may_grow(), part.unbound(known))).map(|(place, _)| place))
        .or_else(|| left.iter().position(|part| part.is_generator() && part.is_of_state(preds)))
        .or_else(|| left.iter().position(|part| part.is_generator()))
}
