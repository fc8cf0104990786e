//! What is read of the successors of a state.

use super::goal_tree::{Degree, DegreeBuffers, GoalTree};
use super::successors::{FactRows, Successors};
use crate::util::bits_of;

/// What is read of successors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SuccessorPart {
    /// The facts.
    Facts,
    /// The mobility of each role.
    Mobility,
    /// The degrees to which they satisfy the [goal](super::StateFeatures::goal_tree) of a role, which has a tree.
    Degrees {
        /// The role.
        role: usize,
    },
}

/// What was read of the successors of a state.
#[derive(Clone, Debug, Default)]
pub struct FoundSuccessors {
    /// The states by which [`StateFeatures`](super::StateFeatures) answer.
    pub states: Successors,
    /// The facts of each state.
    pub facts: FactRows,
    /// The degree of each state.
    pub degrees: Vec<Degree>,
    buffers: DegreeBuffers,
}

impl FoundSuccessors {
    /// Finds the facts of each state of `states`.
    pub fn find_facts(&mut self) {
        let states = &self.states;
        self.facts.reset(states.count(), states.facts());
        for fact in 0..states.facts() {
            bits_of(states.holding(fact)).for_each(|state| self.facts.row_mut(state)[fact / 64] |= 1 << (fact % 64));
        }
    }

    /// Finds the degree of each state of `states`.
    pub fn find_degrees(&mut self, tree: &GoalTree) {
        self.degrees.clear();
        tree.degrees(&self.states, &mut self.buffers, &mut self.degrees);
    }
}
