//! Rules without variables: everything that may hold in some state, and the
//! ways in which it may.
//!
//! What may hold is found by forward chaining in which every sentence that
//! depends on the state and is negated may hold or not (relaxed
//! reachability). Two changes of the clauses keep it from exploding: they are
//! [`split`] where variables concern few of their literals, and they wait
//! for the [`demand`] of those that read them.

mod chain;
mod clause;
mod demand;
mod split;
mod tables;
mod terms;
#[cfg(test)]
mod tests;

use thiserror::Error;

use super::kif::{MAX_DEPTH, Place};
use super::syntax::Rules;

pub use chain::{AtomKind, Chain};
pub use clause::{Name, Pred, Program};
pub use terms::Terms;

/// How far grounding goes before it is given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Rows that joins may visit.
    pub visits: u64,
    /// Words of facts and instances that may be kept, of 4 bytes each.
    pub words: usize,
    /// Functions in one another.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { visits: 200_000_000, words: 50_000_000, depth: MAX_DEPTH }
    }
}

/// Why a rulesheet cannot be grounded.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GroundError {
    /// A rule has a variable that nothing binds.
    #[error("{place}: the rule is unsafe: a variable of its head, a negation or a `distinct` is bound by nothing")]
    Unsafe {
        /// The rule.
        place: Place,
    },
    /// A rule has too many disjunctions.
    #[error("{place}: the disjunctions of the rule spread into more than {limit} conjunctions: split the rule")]
    Alternatives {
        /// The rule.
        place: Place,
        /// The most there may be.
        limit: usize,
    },
    /// A rule has too many variables or literals, or a relation too many
    /// arguments.
    #[error("{place}: the rule has more than 128 variables or 256 literals, or a relation of more than 32 arguments")]
    TooWide {
        /// The rule.
        place: Place,
    },
    /// What holds at the start, or who plays, depends on the state.
    #[error("{place}: a role or the initial state depends on the state")]
    Start {
        /// The rule.
        place: Place,
    },
    /// A relation depends on its own negation.
    #[error("the rules are not stratified")]
    NotStratified,
    /// Nothing says who plays.
    #[error("the rulesheet has no role")]
    NoRole,
    /// The rules without variables are too many, or their terms too deep.
    #[error("the rules without variables are too many or too deep")]
    TooLarge,
    /// Whoever asked has asked to stop.
    #[error("grounding was stopped")]
    Stopped,
}

/// The order in which the clauses that depend on no state are run, a group
/// after all that it reads, and then those that do, as one group.
pub fn groups(program: &Program) -> Result<Vec<Vec<usize>>, GroundError> {
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

/// The strongly connected components of a graph, each after those that it
/// leads to (Tarjan 1972, without recursion).
pub fn components(nodes: usize, edges: impl Fn(usize, &mut dyn FnMut(usize))) -> Vec<Vec<usize>> {
    const UNSEEN: u32 = u32::MAX;
    let (mut index, mut low) = (vec![UNSEEN; nodes], vec![0; nodes]);
    let mut on_stack = vec![false; nodes];
    let (mut stack, mut found, mut next) = (Vec::new(), Vec::new(), 0);
    // The nodes being walked, with the neighbours still to be seen.
    let mut walk: Vec<(usize, Vec<usize>)> = Vec::new();
    for root in 0..nodes {
        if index[root] != UNSEEN {
            continue;
        }
        let mut enter = Some(root);
        loop {
            if let Some(node) = enter.take() {
                (index[node], low[node]) = (next, next);
                next += 1;
                stack.push(node);
                on_stack[node] = true;
                let mut neighbours = Vec::new();
                edges(node, &mut |other| neighbours.push(other));
                walk.push((node, neighbours));
            }
            let Some((node, neighbours)) = walk.last_mut() else { break };
            if let Some(other) = neighbours.pop() {
                if index[other] == UNSEEN {
                    enter = Some(other);
                } else if on_stack[other] {
                    low[*node] = low[*node].min(index[other]);
                }
                continue;
            }
            let node = *node;
            walk.pop();
            if let Some((parent, _)) = walk.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            if low[node] == index[node] {
                let start = stack.iter().rposition(|&other| other == node).unwrap_or(0);
                let component = stack.split_off(start);
                component.iter().for_each(|&other| on_stack[other] = false);
                found.push(component);
            }
        }
    }
    found
}

/// The clauses of a rulesheet, cut into pieces and restricted to what the
/// game asks.
pub fn program(rules: &Rules, terms: &mut Terms) -> Result<Program, GroundError> {
    let mut program = Program::new(rules, terms)?;
    split::split(&mut program);
    demand::restrict(&mut program)?;
    Ok(program)
}
