//! Splitting of clauses: variable elimination on the join graph.
//!
//! If only some literals of a body contain a variable, and the head does not,
//! these literals become a separate clause. The head of the new clause lacks the
//! variable. The other literals are then joined once instead of once per value of
//! the variable.

use super::GroundClauses;
use super::clause::{GroundClause, GroundLiteral, GroundTest, RelationKind, TermPattern, Var, VarSet, vars};

/// The maximum number of arguments of a relation that a split introduces.
const MAX_CUT_ARITY: usize = 32;

/// The number of additional clauses above which no test is expanded.
const MAX_ADDED_CLAUSES: usize = 4096;

/// Splits every clause as long as a split reduces the number of variables.
pub fn split(program: &mut GroundClauses) {
    let mut all = std::mem::take(&mut program.clauses);
    let most = all.len() + MAX_ADDED_CLAUSES;
    while let Some(mut clause) = all.pop() {
        while let Some(group) = best_group(&clause) {
            let part = cut(&mut clause, group, program);
            all.push(part);
        }
        match expand_test(&clause) {
            Some(alternatives) if all.len() + program.clauses.len() < most => all.extend(alternatives),
            _ => program.clauses.push(clause),
        }
    }
    program.clauses.reverse();
}

/// Returns the variable to eliminate, as a set, if any. The clause of its
/// literals, and the remaining clause, must both have fewer variables.
fn best_group(clause: &GroundClause) -> Option<VarSet> {
    let all = clause.vars();
    let head = clause.head.vars();
    let candidates = (0..clause.variables).filter(|&var| (all & !head) >> var & 1 == 1);
    let group = |var: Var| {
        let eliminated = 1 << var;
        let (mut bound, mut used) = (0, 0);
        let has = |set: VarSet| set & eliminated != 0;
        clause.body.iter().map(GroundLiteral::vars).filter(|&set| has(set)).for_each(|set| bound |= set);
        let others = clause.absent.iter().map(GroundLiteral::vars).chain(clause.tests.iter().map(GroundTest::vars));
        others.filter(|&set| has(set)).for_each(|set| used |= set);
        let narrow = bound.count_ones() as usize <= MAX_CUT_ARITY + 1;
        (narrow && used & !bound == 0 && bound != all).then_some((bound.count_ones(), eliminated))
    };
    candidates.filter_map(group).min().map(|(_, eliminated)| eliminated)
}

/// Returns a clause for each alternative of a test, if all of these can be split.
/// A test that contains all variables may have alternatives that contain few.
fn expand_test(clause: &GroundClause) -> Option<Vec<GroundClause>> {
    clause.tests.iter().enumerate().find_map(|(index, test)| {
        let GroundTest::Any(parts) = test else { return None };
        let with = |part: &GroundTest| {
            let mut clause = clause.clone();
            clause.tests[index] = part.clone();
            clause
        };
        let clauses: Vec<GroundClause> = parts.iter().map(with).collect();
        clauses.iter().all(|clause| best_group(clause).is_some()).then_some(clauses)
    })
}

/// Moves the literals with the eliminated variable to a new clause, and returns
/// it.
fn cut(clause: &mut GroundClause, eliminated: VarSet, program: &mut GroundClauses) -> GroundClause {
    let has = |set: VarSet| set & eliminated != 0;
    let mut body: Vec<_> = clause.body.extract_if(.., |literal| has(literal.vars())).collect();
    let mut absent: Vec<_> = clause.absent.extract_if(.., |literal| has(literal.vars())).collect();
    let mut tests: Vec<_> = clause.tests.extract_if(.., |test| has(test.vars())).collect();
    // Tests whose variables are all bound here belong to the new clause.
    let bound = body.iter().fold(0, |set, literal| set | literal.vars());
    tests.extend(clause.tests.extract_if(.., |test| test.vars() & !bound == 0));
    let kept = bound & clause.vars();
    // The variables of the new clause are renumbered.
    let places: Vec<Var> = (0..clause.variables).filter(|&var| bound >> var & 1 == 1).collect();
    let rename = |var: Var| places.iter().position(|&place| place == var).unwrap_or(0);
    let head: Box<[TermPattern]> =
        places.iter().filter(|&&var| kept >> var & 1 == 1).map(|&var| TermPattern::Var(var)).collect();
    let is_dynamic = !absent.is_empty() || body.iter().any(|literal| program.relations[literal.pred].is_dynamic());
    let pred = program.made(head.len(), if is_dynamic { RelationKind::Dynamic } else { RelationKind::Static });
    let head = GroundLiteral { pred, args: head };
    clause.body.push(head.clone());
    debug_assert_eq!(vars(&head.args), kept);
    body.iter_mut()
        .chain(&mut absent)
        .for_each(|literal| literal.args.iter_mut().for_each(|arg| renamed(arg, &rename)));
    tests.iter_mut().for_each(|test| test_renamed(test, &rename));
    let mut head = head;
    head.args.iter_mut().for_each(|arg| renamed(arg, &rename));
    GroundClause { head, body, absent, tests, variables: places.len() }
}

fn renamed(pat: &mut TermPattern, rename: &impl Fn(Var) -> Var) {
    match pat {
        TermPattern::Const(_) => {}
        TermPattern::Var(var) => *var = rename(*var),
        TermPattern::Fun(_, args) => args.iter_mut().for_each(|arg| renamed(arg, rename)),
    }
}

fn test_renamed(test: &mut GroundTest, rename: &impl Fn(Var) -> Var) {
    match test {
        GroundTest::Distinct(left, right) | GroundTest::Same(left, right) => {
            renamed(left, rename);
            renamed(right, rename);
        }
        GroundTest::Absent(literal) => literal.args.iter_mut().for_each(|arg| renamed(arg, rename)),
        GroundTest::All(parts) | GroundTest::Any(parts) => parts.iter_mut().for_each(|part| test_renamed(part, rename)),
    }
}
