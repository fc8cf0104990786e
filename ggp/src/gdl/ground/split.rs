//! Clauses cut into smaller ones where a join order alone would not help.
//!
//! A variable that only some literals of a body have, and the head has not,
//! is no concern of the others: these literals become a clause of their own,
//! without the variable in its head. What would be met once for each value
//! of it is then met once. This is variable elimination on the join graph.

use super::clause::{Clause, Kind, Literal, MAX_ARITY, Pat, Program, Test, Var, VarSet, vars};

/// Clauses are no more spread once there are so many more than before.
const MOST_SPREAD: usize = 4096;

/// Splits every clause of a program as far as it helps.
pub fn split(program: &mut Program) {
    let mut all = std::mem::take(&mut program.clauses);
    let most = all.len() + MOST_SPREAD;
    while let Some(mut clause) = all.pop() {
        while let Some(group) = best_group(&clause) {
            let part = cut(&mut clause, group, program);
            all.push(part);
        }
        match spread(&clause) {
            Some(alternatives) if all.len() + program.clauses.len() < most => all.extend(alternatives),
            _ => program.clauses.push(clause),
        }
    }
    program.clauses.reverse();
}

/// A variable whose literals are to be cut off, as a set, if cutting helps:
/// they and what is left have fewer variables each.
fn best_group(clause: &Clause) -> Option<VarSet> {
    let all = clause.vars();
    let head = clause.head.vars();
    let candidates = (0..clause.variables).filter(|&var| (all & !head) >> var & 1 == 1);
    let group = |var: Var| {
        let eliminated = 1 << var;
        let (mut bound, mut used) = (0, 0);
        let has = |set: VarSet| set & eliminated != 0;
        clause.body.iter().map(Literal::vars).filter(|&set| has(set)).for_each(|set| bound |= set);
        let others = clause.absent.iter().map(Literal::vars).chain(clause.tests.iter().map(Test::vars));
        others.filter(|&set| has(set)).for_each(|set| used |= set);
        let narrow = bound.count_ones() as usize <= MAX_ARITY + 1;
        (narrow && used & !bound == 0 && bound != all).then_some((bound.count_ones(), eliminated))
    };
    candidates.filter_map(group).min().map(|(_, eliminated)| eliminated)
}

/// A clause for each alternative of a test, if all of them can be cut where
/// the clause itself cannot: a test that ties all variables together may have
/// alternatives that tie few.
fn spread(clause: &Clause) -> Option<Vec<Clause>> {
    clause.tests.iter().enumerate().find_map(|(index, test)| {
        let Test::Any(parts) = test else { return None };
        let with = |part: &Test| {
            let mut clause = clause.clone();
            clause.tests[index] = part.clone();
            clause
        };
        let clauses: Vec<Clause> = parts.iter().map(with).collect();
        clauses.iter().all(|clause| best_group(clause).is_some()).then_some(clauses)
    })
}

/// Cuts off the literals that have an eliminated variable.
fn cut(clause: &mut Clause, eliminated: VarSet, program: &mut Program) -> Clause {
    let has = |set: VarSet| set & eliminated != 0;
    let (mut body, rest): (Vec<_>, Vec<_>) = clause.body.drain(..).partition(|literal| has(literal.vars()));
    clause.body = rest;
    let (mut absent, rest): (Vec<_>, Vec<_>) = clause.absent.drain(..).partition(|literal| has(literal.vars()));
    clause.absent = rest;
    let (mut tests, rest): (Vec<_>, Vec<_>) = clause.tests.drain(..).partition(|test| has(test.vars()));
    clause.tests = rest;
    // Tests that need no more than what is bound here belong here.
    let bound = body.iter().fold(0, |set, literal| set | literal.vars());
    let (here, rest): (Vec<_>, Vec<_>) = clause.tests.drain(..).partition(|test| test.vars() & !bound == 0);
    clause.tests = rest;
    tests.extend(here);
    let kept = bound & clause.vars();
    // The new clause numbers its variables anew.
    let places: Vec<Var> = (0..clause.variables).filter(|&var| bound >> var & 1 == 1).collect();
    let rename = |var: Var| places.iter().position(|&place| place == var).unwrap_or(0);
    let head: Box<[Pat]> = places.iter().filter(|&&var| kept >> var & 1 == 1).map(|&var| Pat::Var(var)).collect();
    let is_dynamic = !absent.is_empty() || body.iter().any(|literal| program.relations[literal.pred].is_dynamic());
    let pred = program.made(head.len(), if is_dynamic { Kind::Dynamic } else { Kind::Static });
    let head = Literal { pred, args: head };
    clause.body.push(head.clone());
    debug_assert_eq!(vars(&head.args), kept);
    body.iter_mut()
        .chain(&mut absent)
        .for_each(|literal| literal.args.iter_mut().for_each(|arg| renamed(arg, &rename)));
    tests.iter_mut().for_each(|test| test_renamed(test, &rename));
    let mut head = head;
    head.args.iter_mut().for_each(|arg| renamed(arg, &rename));
    Clause { head, body, absent, tests, variables: places.len() }
}

fn renamed(pat: &mut Pat, rename: &impl Fn(Var) -> Var) {
    match pat {
        Pat::Const(_) => {}
        Pat::Var(var) => *var = rename(*var),
        Pat::Fun(_, args) => args.iter_mut().for_each(|arg| renamed(arg, rename)),
    }
}

fn test_renamed(test: &mut Test, rename: &impl Fn(Var) -> Var) {
    match test {
        Test::Distinct(left, right) | Test::Same(left, right) => {
            renamed(left, rename);
            renamed(right, rename);
        }
        Test::Absent(literal) => literal.args.iter_mut().for_each(|arg| renamed(arg, rename)),
        Test::All(parts) | Test::Any(parts) => parts.iter_mut().for_each(|part| test_renamed(part, rename)),
    }
}
