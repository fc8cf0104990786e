//! Clauses restricted to what is asked: magic sets (Bancilhon, Maier, Sagiv
//! and Ullman 1986).
//!
//! Forward chaining finds all that may hold, asked for or not. Where a
//! relation is only ever asked with some arguments known, as a count that
//! begins at nothing, a clause of it is made to wait for the demand: a row of
//! the known arguments, which follows from the clauses that ask.

use std::collections::HashMap;

use super::clause::{Clause, Kind, Literal, Name, Pat, Pred, Program, VarSet};
use super::error::GroundError;

/// Ways in which relations may be asked.
const MOST_QUESTIONS: usize = 10_000;

/// A relation asked with some arguments known, one bit a column.
type Question = (Pred, u64);

/// Puts in the place of each relation that clauses derive from the state one
/// for each way in which it is asked.
///
/// # Errors
///
/// If there are too many ways.
pub fn restrict(program: &mut Program) -> Result<(), GroundError> {
    let clauses = std::mem::take(&mut program.clauses);
    let mut by_head: HashMap<Pred, Vec<Clause>> = HashMap::new();
    for clause in clauses {
        if program.relations[clause.head.pred].is_dynamic() {
            by_head.entry(clause.head.pred).or_default().push(clause);
        } else {
            program.clauses.push(clause);
        }
    }
    let mut restriction = Restriction { program, by_head: &by_head, asked: HashMap::new(), open: Vec::new() };
    for (name, arity) in [("next", 1), ("legal", 2), ("goal", 2), ("terminal", 0)] {
        if let Some(&pred) = restriction.program.names.get(&Name::Named(name.into(), arity)) {
            restriction.asked.insert((pred, 0), (pred, None));
            restriction.open.push((pred, 0));
        }
    }
    while let Some((pred, columns)) = restriction.open.pop() {
        for clause in by_head.get(&pred).into_iter().flatten() {
            restriction.answer(clause, columns);
        }
        if restriction.asked.len() > MOST_QUESTIONS {
            return Err(GroundError::TooLarge);
        }
    }
    Ok(())
}

struct Restriction<'a> {
    program: &'a mut Program,
    by_head: &'a HashMap<Pred, Vec<Clause>>,
    /// The relation that answers a question, and that of its demand, if it
    /// waits for any.
    asked: HashMap<Question, (Pred, Option<Pred>)>,
    open: Vec<Question>,
}

impl Restriction<'_> {
    /// Adds the clause that answers a question as `clause` does, and the
    /// clauses that ask what it needs.
    fn answer(&mut self, clause: &Clause, columns: u64) {
        let (pred, demand) = self.asked[&(clause.head.pred, columns)];
        let mut body: Vec<Literal> = Vec::new();
        body.extend(demand.map(|demand| Literal { pred: demand, args: known(&clause.head, columns) }));
        let mut left: Vec<&Literal> = clause.body.iter().collect();
        loop {
            let bound = body.iter().fold(0, |set, literal| set | literal.vars());
            let best = (0..left.len()).max_by_key(|&index| (self.worth(left[index], bound), usize::MAX - index));
            let Some(index) = best else { break };
            let literal = left.remove(index);
            let literal = self.ask(clause, &body, literal, bound);
            body.push(literal);
        }
        let bound = body.iter().fold(0, |set, literal| set | literal.vars());
        let absent = clause.absent.iter().map(|literal| self.ask(clause, &body, literal, bound)).collect();
        let head = Literal { pred, args: clause.head.args.clone() };
        let clause = Clause { head, body, absent, tests: clause.tests.clone(), variables: clause.variables };
        self.program.clauses.push(clause);
    }

    /// How early a literal is to be met: whatever is known in full first,
    /// then what needs no asking, then what is asked. What holds in all
    /// states and has nothing to do with what is known comes last, as it
    /// would only multiply the demand.
    fn worth(&self, literal: &Literal, bound: VarSet) -> (u8, u32) {
        let known = bound_columns(literal, bound).count_ones();
        let is_static = self.program.relations[literal.pred].kind == Kind::Static;
        let rank = match () {
            () if known as usize == literal.args.len() => 3,
            () if is_static && known == 0 => 0,
            () if self.by_head.contains_key(&literal.pred) => 1,
            () => 2,
        };
        (rank, known)
    }

    /// The literal with the relation that answers it in the place of its
    /// own, if clauses derive it; adds the clause that asks for it.
    fn ask(&mut self, clause: &Clause, before: &[Literal], literal: &Literal, bound: VarSet) -> Literal {
        if !self.by_head.contains_key(&literal.pred) {
            return literal.clone();
        }
        let columns = bound_columns(literal, bound);
        let (pred, demand) = self.question((literal.pred, columns));
        if let Some(demand) = demand {
            let head = Literal { pred: demand, args: known(literal, columns) };
            let tests = clause.tests.iter().filter(|test| test.vars() & !bound == 0).cloned().collect();
            let body = before.to_vec();
            // What is asked in order to answer the same is asked already.
            if !body.contains(&head) {
                let variables = clause.variables;
                self.program.clauses.push(Clause { head, body, absent: Vec::new(), tests, variables });
            }
        }
        Literal { pred, args: literal.args.clone() }
    }

    fn question(&mut self, question: Question) -> (Pred, Option<Pred>) {
        let (pred, columns) = question;
        if let Some(&known) = self.asked.get(&question) {
            return known;
        }
        // What the language itself asks in full has no demand.
        let answers = if let Some(&whole) = self.asked.get(&(pred, 0)).filter(|(_, demand)| demand.is_none()) {
            whole
        } else {
            let answer = self.program.made(self.program.relations[pred].arity, Kind::Dynamic);
            self.program.answers.entry(pred).or_default().push(answer);
            (answer, Some(self.program.made(columns.count_ones() as usize, Kind::Demand)))
        };
        self.asked.insert(question, answers);
        if answers.1.is_some() {
            self.open.push(question);
        }
        answers
    }
}

fn bound_columns(literal: &Literal, bound: VarSet) -> u64 {
    let is_bound = |&column: &usize| literal.args[column].vars() & !bound == 0;
    (0..literal.args.len()).filter(is_bound).fold(0, |columns, column| columns | 1 << column)
}

/// The arguments in some columns.
fn known(literal: &Literal, columns: u64) -> Box<[Pat]> {
    let is_known = |&(column, _): &(usize, &Pat)| columns >> column & 1 == 1;
    literal.args.iter().enumerate().filter(is_known).map(|(_, arg)| arg.clone()).collect()
}
