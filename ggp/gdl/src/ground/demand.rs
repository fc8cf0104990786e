//! Restriction of clauses to the queries that read them: magic sets
//! [Bancilhon et al. 1986].
//!
//! Forward chaining derives all sentences, whether or not anything reads them. If
//! a relation is only queried with some arguments bound, its clauses get an
//! additional condition, the demand: a row of the bound arguments. The clauses
//! that query the relation derive its demand.

use std::collections::HashMap;

use super::clause::{GroundClause, GroundLiteral, RelationKind, TermPattern, VarSet};
use super::{GroundClauses, GroundError, PredId, RelationName};
use crate::scc::components;

/// The maximum number of queries beyond one per relation.
const MAX_QUERIES: usize = 10_000;

/// A relation queried with some arguments bound, one bit per column.
type DemandQuery = (PredId, u64);

/// Replaces each derived relation that depends on the state by one relation per
/// query.
///
/// # Errors
///
/// Returns an error if there are too many queries.
pub fn restrict(program: &mut GroundClauses) -> Result<(), GroundError> {
    let clauses = std::mem::take(&mut program.clauses);
    let mut by_head: HashMap<PredId, Vec<GroundClause>> = HashMap::new();
    for clause in clauses {
        if program.relations[clause.head.pred].is_dynamic() {
            by_head.entry(clause.head.pred).or_default().push(clause);
        } else {
            program.clauses.push(clause);
        }
    }
    let limit = MAX_QUERIES + by_head.len();
    let component_of = components_of(program.relations.len(), &by_head);
    let mut restriction =
        Restriction { program, by_head: &by_head, component_of, answers: HashMap::new(), open: Vec::new() };
    for (name, arity) in [("next", 1), ("legal", 2), ("goal", 2), ("terminal", 0)] {
        if let Some(&pred) = restriction.program.names.get(&RelationName::Named(name.into(), arity)) {
            restriction.answers.insert((pred, 0), (pred, None));
            restriction.open.push((pred, 0));
        }
    }
    while let Some((pred, columns)) = restriction.open.pop() {
        for clause in by_head.get(&pred).into_iter().flatten() {
            restriction.answer(clause, columns);
        }
        if restriction.answers.len() > limit {
            return Err(GroundError::Bindings { limit });
        }
    }
    Ok(())
}

/// Returns the strongly connected component of each relation.
fn components_of(relations: usize, by_head: &HashMap<PredId, Vec<GroundClause>>) -> Vec<usize> {
    let read = |pred: usize, visit: &mut dyn FnMut(usize)| {
        let clauses = by_head.get(&pred).into_iter().flatten();
        clauses.flat_map(|clause| clause.body.iter().chain(&clause.absent)).for_each(|literal| visit(literal.pred));
    };
    let mut component_of = vec![0; relations];
    for (number, component) in components(relations, read).iter().enumerate() {
        component.iter().for_each(|&pred| component_of[pred] = number);
    }
    component_of
}

struct Restriction<'a> {
    program: &'a mut GroundClauses,
    by_head: &'a HashMap<PredId, Vec<GroundClause>>,
    /// The strongly connected component of each relation of the clauses.
    component_of: Vec<usize>,
    /// The relation that answers each query, and the relation of its demand, if
    /// any.
    answers: HashMap<DemandQuery, (PredId, Option<PredId>)>,
    open: Vec<DemandQuery>,
}

impl Restriction<'_> {
    /// Adds the variant of a clause that answers a query, and the clauses that
    /// derive the demand of its literals.
    fn answer(&mut self, clause: &GroundClause, columns: u64) {
        let (pred, demand) = self.answers[&(clause.head.pred, columns)];
        let mut body: Vec<GroundLiteral> = Vec::new();
        body.extend(demand.map(|demand| GroundLiteral { pred: demand, args: known(&clause.head, columns) }));
        let mut left: Vec<&GroundLiteral> = clause.body.iter().collect();
        loop {
            let bound = body.iter().fold(0, |set, literal| set | literal.vars());
            let best =
                (0..left.len()).max_by_key(|&index| (self.priority(clause, left[index], bound), usize::MAX - index));
            let Some(index) = best else { break };
            let literal = left.remove(index);
            let literal = self.replace(clause, &body, literal, bound);
            body.push(literal);
        }
        let bound = body.iter().fold(0, |set, literal| set | literal.vars());
        let absent = clause.absent.iter().map(|literal| self.replace(clause, &body, literal, bound)).collect();
        let head = GroundLiteral { pred, args: clause.head.args.clone() };
        let clause = GroundClause { head, body, absent, tests: clause.tests.clone(), variables: clause.variables };
        self.program.clauses.push(clause);
    }

    /// Returns the priority of a literal in the join. Literals with all arguments
    /// bound come first, then those without demand, then those with demand. Static
    /// literals without bound arguments come last, since they only multiply the
    /// demand. Among literals with all arguments bound, static ones come first, then
    /// others without demand. A literal whose demand may grow without end comes after
    /// all literals that have a bound argument, since one of these restricts it: the
    /// order of the text does not decide whether a demand is finite.
    fn priority(&self, clause: &GroundClause, literal: &GroundLiteral, bound: VarSet) -> (u8, u32) {
        let known = bound_columns(literal, bound).count_ones();
        let is_static = self.program.relations[literal.pred].kind == RelationKind::Static;
        let has_demand = self.by_head.contains_key(&literal.pred);
        let rank = match () {
            () if has_demand && self.may_grow(clause, literal, bound) => return (1, 0),
            () if known as usize == literal.args.len() => match () {
                () if is_static => 5,
                () if has_demand => 3,
                () => 4,
            },
            () if is_static && known == 0 => 0,
            () if has_demand => 1,
            () => 2,
        };
        (rank, known)
    }

    /// Returns whether a literal is recursive, and its demand may contain larger terms than that
    /// of the clause: it has a function of bound variables, or is of a part of a clause, which may
    /// have one.
    fn may_grow(&self, clause: &GroundClause, literal: &GroundLiteral, bound: VarSet) -> bool {
        let is_function =
            |arg: &TermPattern| matches!(arg, TermPattern::Fun(..)) && arg.vars() != 0 && arg.vars() & !bound == 0;
        self.component_of[literal.pred] == self.component_of[clause.head.pred]
            && (self.program.is_made(literal.pred) || literal.args.iter().any(is_function))
    }

    /// Returns the literal with its relation replaced by the one that answers the
    /// query, and adds the clause that derives the demand. Relations that no
    /// clause derives are not replaced.
    fn replace(
        &mut self,
        clause: &GroundClause,
        before: &[GroundLiteral],
        literal: &GroundLiteral,
        bound: VarSet,
    ) -> GroundLiteral {
        if !self.by_head.contains_key(&literal.pred) {
            return literal.clone();
        }
        let columns = bound_columns(literal, bound);
        let (pred, demand) = self.query((literal.pred, columns));
        if let Some(demand) = demand {
            let head = GroundLiteral { pred: demand, args: known(literal, columns) };
            let tests = clause.tests.iter().filter(|test| test.vars() & !bound == 0).cloned().collect();
            let body = before.to_vec();
            // A recursive literal may have the demand of the query that this clause answers, which is then the first
            // literal of the body. The clause of the demand would only repeat it.
            if !body.contains(&head) {
                let variables = clause.variables;
                self.program.clauses.push(GroundClause { head, body, absent: Vec::new(), tests, variables });
            }
        }
        GroundLiteral { pred, args: literal.args.clone() }
    }

    fn query(&mut self, query: DemandQuery) -> (PredId, Option<PredId>) {
        let (pred, columns) = query;
        if let Some(&known) = self.answers.get(&query) {
            return known;
        }
        // The relations that the language itself queries have no demand.
        let answers = if let Some(&whole) = self.answers.get(&(pred, 0)).filter(|(_, demand)| demand.is_none()) {
            whole
        } else {
            let answer = self.program.made(self.program.relations[pred].arity, RelationKind::Dynamic);
            self.program.answers.entry(pred).or_default().push(answer);
            (answer, Some(self.program.made(columns.count_ones() as usize, RelationKind::Demand)))
        };
        self.answers.insert(query, answers);
        if answers.1.is_some() {
            self.open.push(query);
        }
        answers
    }
}

fn bound_columns(literal: &GroundLiteral, bound: VarSet) -> u64 {
    let is_bound = |&column: &usize| literal.args[column].vars() & !bound == 0;
    (0..literal.args.len()).filter(is_bound).fold(0, |columns, column| columns | 1 << column)
}

/// Returns the arguments in the columns of a set.
fn known(literal: &GroundLiteral, columns: u64) -> Box<[TermPattern]> {
    let is_known = |&(column, _): &(usize, &TermPattern)| columns >> column & 1 == 1;
    literal.args.iter().enumerate().filter(is_known).map(|(_, arg)| arg.clone()).collect()
}
