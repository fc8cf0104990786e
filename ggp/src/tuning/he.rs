//! Hierarchical expansion.

use super::space::{Combination, MOST_PARAMETERS, Setting, Space, bits, random_order};
use super::ucb::{Bandits, exploration};
use crate::game::Rng;

/// The root, which is below no arm, in the place of a node not yet built.
const UNBUILT: u32 = 0;

/// UCB1 at each node of a tree that has a level a parameter, in an order drawn
/// when the tree is made (paper 001, section 4.2, "Hierarchical Expansion",
/// figures 2 and 3). A node stands for the values chosen above it, and is
/// built when it is first reached.
#[derive(Clone, Debug)]
pub(super) struct He {
    c: f64,
    /// The parameter of each level.
    order: Vec<usize>,
    /// A bandit a node, the root first.
    bandits: Bandits,
    /// How often each node was passed.
    passed: Vec<u32>,
    /// The node below each arm, `arms` places a node.
    below: Vec<u32>,
    arms: usize,
    /// The nodes that the last choice passed.
    path: [u32; MOST_PARAMETERS],
}

impl He {
    pub(super) fn new(space: &Space, c: f64, rng: &mut Rng) -> He {
        let parameters = space.parameters().len();
        let order = random_order(parameters, rng)[..parameters].iter().map(|&p| usize::from(p)).collect();
        let arms = space.parameters().iter().map(|parameter| parameter.values.len()).max().unwrap_or(1);
        let (passed, below) = (Vec::new(), Vec::new());
        let mut tree = He { c, order, bandits: Bandits::new(arms), passed, below, arms, path: [0; MOST_PARAMETERS] };
        tree.build();
        tree
    }

    fn build(&mut self) -> u32 {
        self.passed.push(0);
        self.below.resize(self.below.len() + self.arms, UNBUILT);
        self.bandits.push() as u32
    }

    #[inline]
    pub(super) fn choose(&mut self, space: &Space, rng: &mut Rng) -> Combination {
        let mut partial = space.everything();
        let mut node = 0;
        for level in 0..self.order.len() {
            let parameter = self.order[level];
            let exploration = exploration(self.c, self.passed[node]);
            let value = self.bandits.choose(node, partial.feasible(parameter), exploration, rng);
            partial = space.set(partial, Setting { parameter, value });
            self.path[level] = node as u32;
            if level + 1 < self.order.len() {
                node = self.descend(node, value);
            }
        }
        partial.combination()
    }

    #[inline]
    fn descend(&mut self, node: usize, value: usize) -> usize {
        let arm = node * self.arms + value;
        if self.below[arm] == UNBUILT {
            self.below[arm] = self.build();
        }
        self.below[arm] as usize
    }

    /// Counts a reward for the combination that was chosen last.
    #[inline]
    pub(super) fn update(&mut self, combination: Combination, reward: f64) {
        for (&parameter, &node) in self.order.iter().zip(&self.path) {
            let node = node as usize;
            self.bandits.update(node, combination.index(parameter), reward);
            self.passed[node] += 1;
        }
    }

    /// Follows the most visited arms; beyond the tree, the first values.
    pub(super) fn best(&self, space: &Space) -> Combination {
        let mut partial = space.everything();
        let mut node = Some(0_usize);
        for &parameter in &self.order {
            let visits = |value: usize| node.map_or(0, |node| self.bandits.visits(node, value));
            let most = bits(partial.feasible(parameter)).reduce(|a, b| if visits(b) > visits(a) { b } else { a });
            let value = most.expect("a partial combination leaves a value of each parameter");
            partial = space.set(partial, Setting { parameter, value });
            node = node
                .map(|node| self.below[node * self.arms + value])
                .filter(|&node| node != UNBUILT)
                .map(|node| node as usize);
        }
        partial.combination()
    }
}
