//! Compilation of rules for evaluation. Names are interned, disjunctions are
//! expanded, and bodies are ordered so that the variables of every test are
//! bound.

use std::collections::{BTreeSet, HashMap};

use super::error::ProverError;
use super::rows::Rows;
use super::terms::Terms;
use crate::gdl::syntax::Graph;
use crate::gdl::syntax::{Atom, Literal, Rule, Rules, Term};

/// The maximum number of conjunctions that a rule expands to.
const MAX_ALTERNATIVES: usize = 1024;

/// The maximum number of arguments; calls mark bound arguments by the bits of
/// a word.
pub const MAX_ARITY: usize = 64;

/// A term of a rule. Variables are indices into the environment of the rule.
#[derive(Clone, Debug)]
enum Shape {
    Const(u32),
    Var(usize),
    Fun(u32, Vec<Shape>),
}

#[derive(Clone, Debug)]
enum Part {
    Rel(u32, Vec<Shape>),
    True(Shape),
    Does(Vec<Shape>),
    Distinct(Shape, Shape),
    Not(Box<Part>),
    /// Alternatives that bind no variable; each is a list of tests.
    AnyOf(Vec<Vec<Part>>),
}

/// A rule whose body is a conjunction.
struct Clause {
    args: Vec<Shape>,
    body: Vec<Part>,
    variables: usize,
}

/// The validity of an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Span {
    /// Valid in every state.
    Always,
    /// Valid in one state.
    State,
    /// Valid in one state with one joint move.
    Joint,
}

/// A relation that rules define.
pub struct Pred {
    pub span: Span,
    /// Its facts.
    pub facts: Rows,
    clauses: Vec<Clause>,
}

impl Pred {
    /// Returns whether it has no rules.
    pub fn is_facts(&self) -> bool {
        self.clauses.is_empty()
    }
}

/// The matching of a column of a row. The bound variables are known in
/// advance, because every answer is ground.
#[derive(Clone, Debug)]
pub enum Pat {
    Const(u32),
    /// Binds a variable.
    Bind(usize),
    /// Compares with a bound variable.
    Check(usize),
    Fun(u32, Box<[Pat]>),
}

/// The construction of a bound term.
#[derive(Clone, Debug)]
pub enum Build {
    Const(u32),
    Var(usize),
    Fun(u32, Box<[Build]>),
}

/// A set of rows to scan.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    Facts(u32),
    /// The arguments of the fluents of a functor.
    Functor(u32),
    /// All fluents.
    Fluents,
    Does,
}

#[derive(Clone, Debug)]
pub enum Goal {
    /// Matches rows. `keys` are bound columns by which rows can be looked up.
    Scan {
        source: Source,
        pats: Box<[Pat]>,
        keys: Box<[(usize, Build)]>,
    },
    /// Matches the answers of a call. The call has one entry per column: a
    /// construction if the argument is bound. `pats` match the other columns.
    Call {
        pred: u32,
        args: Box<[Option<Build>]>,
        pats: Box<[Pat]>,
    },
    Distinct(Build, Build),
    Not(Box<Goal>),
    AnyOf(Box<[Box<[Goal]>]>),
}

/// A clause compiled for calls with certain bound arguments.
#[derive(Debug)]
pub struct RulePlan {
    pub variables: usize,
    /// Matches the bound arguments of the call, in order.
    pub bound: Box<[Pat]>,
    pub body: Box<[Goal]>,
    /// Constructs the free arguments, in order.
    pub free: Box<[Build]>,
}

/// A compiled rulesheet.
pub struct Program {
    pub preds: Vec<Pred>,
    names: HashMap<(String, usize), u32>,
}

impl Program {
    /// # Errors
    ///
    /// Returns an error for unsafe rules, rules that expand too far, and
    /// relations with too many arguments.
    pub fn new(rules: &Rules, terms: &mut Terms) -> Result<Program, ProverError> {
        let mut program = Program { preds: Vec::new(), names: HashMap::new() };
        let graph = Graph::new(rules);
        for rule in rules.iter() {
            program.add(rule, terms)?;
        }
        for ((name, _), &pred) in &program.names {
            let reads = |what: &str| graph.depends(name, what);
            let joint = reads("does");
            let state = reads("true");
            let span = if joint {
                Span::Joint
            } else if state {
                Span::State
            } else {
                Span::Always
            };
            program.preds[pred as usize].span = span;
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
            self.preds.push(Pred { span: Span::Always, facts: Rows::new(arity), clauses: Vec::new() });
        }
        pred
    }

    fn add(&mut self, rule: &Rule, terms: &mut Terms) -> Result<(), ProverError> {
        if rule.head.args.len() > MAX_ARITY {
            return Err(ProverError::Arity { place: rule.place, limit: MAX_ARITY });
        }
        let pred = self.pred_or_new(&rule.head.name, rule.head.args.len());
        for body in alternatives(rule)? {
            let mut scope = Scope { program: self, terms, variables: HashMap::new() };
            let args: Vec<Shape> = rule.head.args.iter().map(|arg| scope.shape(arg)).collect();
            let body: Vec<Part> = body.iter().map(|literal| scope.part(literal)).collect();
            let clause = Clause { args, body, variables: scope.variables.len() };
            let constants: Option<Vec<u32>> = clause.args.iter().map(Shape::as_const).collect();
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

    /// Returns the compiled clauses of a relation for calls whose bound
    /// arguments are the bits of `mask`.
    pub fn plans(&self, pred: u32, mask: u64) -> Vec<RulePlan> {
        let ready = |clause: &Clause| clause.plan(mask, &self.preds);
        // A clause that can be evaluated without bound arguments can be
        // evaluated with them.
        self.preds[pred as usize].clauses.iter().filter_map(ready).collect()
    }
}

/// Expands disjunctions to conjunctions. Disjunctions of tests are kept,
/// because they bind no variable.
fn alternatives(rule: &Rule) -> Result<Vec<Vec<Literal>>, ProverError> {
    let mut all: Vec<Vec<Literal>> = vec![Vec::new()];
    for literal in &rule.body {
        let branches = match simplify(literal) {
            Literal::Or(_, parts) if !parts.iter().all(is_test) => parts,
            literal => vec![literal],
        };
        if all.len() * branches.len() > MAX_ALTERNATIVES {
            return Err(ProverError::Alternatives { place: rule.place, limit: MAX_ALTERNATIVES });
        }
        all = all
            .iter()
            .flat_map(|body| branches.iter().map(|part| [body, std::slice::from_ref(part)].concat()))
            .collect();
    }
    Ok(all)
}

/// Merges nested disjunctions and removes double negations. A negated
/// disjunction is a test and is kept.
fn simplify(literal: &Literal) -> Literal {
    match literal {
        Literal::Or(place, parts) => {
            let mut flat = Vec::new();
            for part in parts {
                match simplify(part) {
                    Literal::Or(_, inner) => flat.extend(inner),
                    other => flat.push(other),
                }
            }
            Literal::Or(*place, flat)
        }
        Literal::Not(place, inner) => match simplify(inner) {
            Literal::Not(_, inner) => *inner,
            inner => Literal::Not(*place, Box::new(inner)),
        },
        other => other.clone(),
    }
}

fn is_test(literal: &Literal) -> bool {
    match literal {
        Literal::Holds(_) => false,
        Literal::Not(..) | Literal::Distinct(..) => true,
        Literal::Or(_, parts) => parts.iter().all(is_test),
    }
}

/// Converts the parts of one rule to shapes.
struct Scope<'a> {
    program: &'a mut Program,
    terms: &'a mut Terms,
    variables: HashMap<String, usize>,
}

impl Scope<'_> {
    fn shape(&mut self, term: &Term) -> Shape {
        match term {
            Term::Constant(name) => Shape::Const(self.terms.constant(name)),
            Term::Variable(name) => {
                let next = self.variables.len();
                Shape::Var(*self.variables.entry(name.clone()).or_insert(next))
            }
            Term::Function { name, args, .. } => {
                let functor = self.terms.functor(name, args.len()).0;
                let args: Vec<Shape> = args.iter().map(|arg| self.shape(arg)).collect();
                match args.iter().map(Shape::as_const).collect::<Option<Vec<u32>>>() {
                    Some(constants) => Shape::Const(self.terms.intern(&[&[functor], &constants[..]].concat())),
                    None => Shape::Fun(functor, args),
                }
            }
        }
    }

    fn atom(&mut self, atom: &Atom) -> Part {
        let mut args: Vec<Shape> = atom.args.iter().map(|arg| self.shape(arg)).collect();
        match (atom.name.as_str(), args.len()) {
            ("true", 1) => Part::True(args.swap_remove(0)),
            ("does", 2) => Part::Does(args),
            (name, arity) => Part::Rel(self.program.pred_or_new(name, arity), args),
        }
    }

    fn part(&mut self, literal: &Literal) -> Part {
        match literal {
            Literal::Holds(atom) => self.atom(atom),
            Literal::Distinct(_, left, right) => Part::Distinct(self.shape(left), self.shape(right)),
            Literal::Not(_, inner) => Part::Not(Box::new(self.part(inner))),
            Literal::Or(_, parts) => Part::AnyOf(parts.iter().map(|part| vec![self.part(part)]).collect()),
        }
    }
}

impl Shape {
    fn as_const(&self) -> Option<u32> {
        match self {
            Shape::Const(id) => Some(*id),
            _ => None,
        }
    }

    fn any_variable(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
        match self {
            Shape::Const(_) => false,
            Shape::Var(variable) => test(*variable),
            Shape::Fun(_, args) => args.iter().any(|arg| arg.any_variable(test)),
        }
    }

    fn is_bound(&self, bound: &[bool]) -> bool {
        !self.any_variable(&mut |variable| !bound[variable])
    }

    /// Returns the pattern, after which all its variables are bound.
    fn pat(&self, bound: &mut [bool]) -> Pat {
        match self {
            Shape::Const(id) => Pat::Const(*id),
            Shape::Var(variable) if bound[*variable] => Pat::Check(*variable),
            Shape::Var(variable) => {
                bound[*variable] = true;
                Pat::Bind(*variable)
            }
            Shape::Fun(functor, args) => Pat::Fun(*functor, args.iter().map(|arg| arg.pat(bound)).collect()),
        }
    }

    fn build(&self) -> Build {
        match self {
            Shape::Const(id) => Build::Const(*id),
            Shape::Var(variable) => Build::Var(*variable),
            Shape::Fun(functor, args) => Build::Fun(*functor, args.iter().map(Shape::build).collect()),
        }
    }
}

impl Part {
    fn any_variable(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
        match self {
            Part::Rel(_, args) | Part::Does(args) => args.iter().any(|arg| arg.any_variable(test)),
            Part::True(fluent) => fluent.any_variable(test),
            Part::Distinct(left, right) => left.any_variable(test) || right.any_variable(test),
            Part::Not(inner) => inner.any_variable(test),
            Part::AnyOf(branches) => branches.iter().flatten().any(|part| part.any_variable(test)),
        }
    }

    fn is_bound(&self, bound: &[bool]) -> bool {
        !self.any_variable(&mut |variable| !bound[variable])
    }

    /// Returns the number of unbound variables.
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

    fn is_generator(&self) -> bool {
        matches!(self, Part::Rel(..) | Part::True(_) | Part::Does(_))
    }

    /// Returns whether it is cheap to evaluate once its variables are bound.
    fn is_cheap(&self, preds: &[Pred]) -> bool {
        match self {
            Part::Rel(pred, _) => preds[*pred as usize].is_facts(),
            Part::Not(inner) => inner.is_cheap(preds),
            Part::AnyOf(branches) => branches.iter().flatten().all(|part| part.is_cheap(preds)),
            Part::True(_) | Part::Does(_) | Part::Distinct(..) => true,
        }
    }

    fn is_of_state(&self, preds: &[Pred]) -> bool {
        match self {
            Part::Rel(pred, _) => preds[*pred as usize].span > Span::Always,
            _ => true,
        }
    }

    fn goal(&self, bound: &mut [bool], preds: &[Pred]) -> Goal {
        match self {
            Part::Rel(pred, args) if preds[*pred as usize].is_facts() => scan(Source::Facts(*pred), args, bound),
            Part::Rel(pred, args) => call(*pred, args, bound),
            Part::True(Shape::Fun(functor, args)) => scan(Source::Functor(*functor), args, bound),
            Part::True(fluent) => scan(Source::Fluents, std::slice::from_ref(fluent), bound),
            Part::Does(args) => scan(Source::Does, args, bound),
            Part::Distinct(left, right) => Goal::Distinct(left.build(), right.build()),
            Part::Not(inner) => Goal::Not(Box::new(inner.goal(bound, preds))),
            Part::AnyOf(branches) => {
                let goals =
                    |parts: &Vec<Part>, bound: &mut [bool]| parts.iter().map(|part| part.goal(bound, preds)).collect();
                Goal::AnyOf(branches.iter().map(|parts| goals(parts, bound)).collect())
            }
        }
    }
}

fn scan(source: Source, args: &[Shape], bound: &mut [bool]) -> Goal {
    let keys = args.iter().enumerate().filter(|(_, arg)| arg.is_bound(bound) && !matches!(arg, Shape::Fun(..)));
    let keys = keys.map(|(column, arg)| (column, arg.build())).collect();
    Goal::Scan { source, pats: args.iter().map(|arg| arg.pat(bound)).collect(), keys }
}

fn call(pred: u32, args: &[Shape], bound: &mut [bool]) -> Goal {
    let made: Box<[Option<Build>]> = args.iter().map(|arg| arg.is_bound(bound).then(|| arg.build())).collect();
    let free = args.iter().zip(&made).filter(|(_, made)| made.is_none());
    Goal::Call { pred, pats: free.map(|(arg, _)| arg.pat(bound)).collect(), args: made }
}

impl Clause {
    /// Returns `None` if a variable of a test or of the head remains unbound.
    fn plan(&self, mask: u64, preds: &[Pred]) -> Option<RulePlan> {
        let mut known = vec![false; self.variables];
        let is_bound = |column: usize| mask >> column & 1 == 1;
        let columns = |wanted: bool| (0..self.args.len()).filter(move |&column| is_bound(column) == wanted);
        let bound = columns(true).map(|column| self.args[column].pat(&mut known)).collect();
        let mut left: Vec<&Part> = self.body.iter().collect();
        let mut body = Vec::new();
        while !left.is_empty() {
            let part = left.remove(pick(&left, &known, preds)?);
            body.push(part.goal(&mut known, preds));
        }
        let free = columns(false).map(|column| &self.args[column]);
        if free.clone().any(|arg| !arg.is_bound(&known)) {
            return None;
        }
        Some(RulePlan { variables: self.variables, bound, body: body.into(), free: free.map(Shape::build).collect() })
    }
}

/// Returns the part to evaluate next.
///
/// The order of preference is: a cheap test; the moves; among tests and parts
/// that share a bound variable, the first with the fewest unbound variables;
/// the first binding part that depends on the state, because fewer rows
/// usually hold; the first part.
fn pick(left: &[&Part], known: &[bool], preds: &[Pred]) -> Option<usize> {
    let ready = |part: &Part| part.is_bound(known);
    let joined = |part: &Part| part.is_generator() && part.any_variable(&mut |variable| known[variable]);
    let next = left.iter().enumerate().filter(|(_, part)| joined(part) || ready(part));
    left.iter()
        .position(|part| ready(part) && part.is_cheap(preds))
        .or_else(|| left.iter().position(|part| matches!(part, Part::Does(_))))
        .or_else(|| next.min_by_key(|(_, part)| part.unbound(known)).map(|(place, _)| place))
        .or_else(|| left.iter().position(|part| part.is_generator() && part.is_of_state(preds)))
        .or_else(|| left.iter().position(|part| part.is_generator()))
}
