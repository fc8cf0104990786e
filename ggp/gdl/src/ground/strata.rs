//! The order in which forward chaining runs clauses.

use super::{GroundClauses, GroundError};
use crate::scc::components;

/// Returns groups of clauses in the order in which they run. Clauses that do not
/// depend on the state form groups, each after the groups that it reads. All
/// clauses that depend on the state form the last group.
pub fn clause_groups(program: &GroundClauses) -> Result<Vec<Vec<usize>>, GroundError> {
    let count = program.relations.len();
    let mut reads: Vec<Vec<(usize, bool)>> = vec![Vec::new(); count];
    for clause in &program.clauses {
        if !program.relations[clause.head.pred].is_late() {
            let reads = &mut reads[clause.head.pred];
            reads.extend(clause.body.iter().map(|literal| (literal.pred, false)));
            clause.tests.iter().for_each(|test| test.absent(&mut |literal| reads.push((literal.pred, true))));
        }
    }
    let components = components(count, |pred, visit| reads[pred].iter().for_each(|&(read, _)| visit(read)));
    let mut group_of = vec![0; count];
    for (number, component) in components.iter().enumerate() {
        component.iter().for_each(|&pred| group_of[pred] = number);
    }
    let negates = |pred: usize| reads[pred].iter().any(|&(read, negated)| negated && group_of[read] == group_of[pred]);
    if (0..count).any(negates) {
        return Err(GroundError::NotStratified);
    }
    let mut groups = vec![Vec::new(); components.len() + 1];
    for (number, clause) in program.clauses.iter().enumerate() {
        let head = clause.head.pred;
        let is_late = program.relations[head].is_late();
        groups[if is_late { components.len() } else { group_of[head] }].push(number);
    }
    groups.retain(|group| !group.is_empty());
    Ok(groups)
}
