//! Degrees to which a goal holds [Świechowski and Mańdziuk 2014, section V.B].

use std::collections::HashMap;

use super::successors::Successors;
use crate::util::Lit;

/// The number of states whose degrees are computed together.
const CHUNK: usize = 16;

/// A goal as an AND-OR tree, which stores equal branches once, and the signals
/// that its leaves read.
///
/// A leaf is 1 where its signal holds and 0 elsewhere. The degree of an AND node
/// is the mean of the degrees of its children, and that of an OR node is the
/// highest. The tie-breaker of both is the mean.
#[derive(Clone, Debug)]
pub struct GoalTree {
    /// Signal 0 is false. Each signal follows those that it reads.
    signals: Vec<Signal>,
    lits: Vec<Lit>,
    /// Each node follows its children. The last node is the root.
    nodes: Vec<GoalNode>,
    children: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Signal {
    False,
    Fact(u32),
    /// The conjunction of this range of `lits`.
    And(u32, u32),
}

#[derive(Clone, Copy, Debug)]
enum GoalNode {
    Leaf(Lit),
    /// The AND or OR of this range of `children`.
    All(u32, u32),
    Any(u32, u32),
}

/// The degree to which a state satisfies a goal.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Degree {
    /// 1 if the goal holds, and less otherwise.
    pub value: f32,
    /// Orders degrees of the same value.
    pub tie_break: f32,
}

/// The degrees of a node in a chunk of states.
#[derive(Clone, Copy, Debug)]
struct Degrees {
    values: [f32; CHUNK],
    tie_breaks: [f32; CHUNK],
}

/// Memory for the computation of degrees.
#[derive(Clone, Debug, Default)]
pub struct DegreeBuffers {
    signals: Vec<u64>,
    nodes: Vec<Degrees>,
}

impl GoalTree {
    /// Appends the degree of each state to `degrees`. The time is proportional to
    /// the size of the tree for every 16 states.
    pub fn degrees(&self, states: &Successors, buffers: &mut DegreeBuffers, degrees: &mut Vec<Degree>) {
        for first in (0..states.count()).step_by(CHUNK) {
            if first % 64 == 0 {
                self.evaluate(states, first / 64, &mut buffers.signals);
            }
            self.fold(&buffers.signals, first % 64, &mut buffers.nodes);
            let Some(root) = buffers.nodes.last() else { return };
            let both = root.values.iter().zip(&root.tie_breaks);
            let both = both.map(|(&value, &tie_break)| Degree { value, tie_break });
            degrees.extend(both.take(states.count() - first));
        }
    }

    /// Computes the signals for the states of one word.
    fn evaluate(&self, states: &Successors, word: usize, signals: &mut Vec<u64>) {
        signals.clear();
        for &signal in &self.signals {
            let holds = match signal {
                Signal::False => 0,
                Signal::Fact(fact) => states.holding(fact as usize)[word],
                Signal::And(first, end) => {
                    let lits = &self.lits[first as usize..end as usize];
                    lits.iter().fold(!0, |all, &lit| all & read(signals, lit))
                }
            };
            signals.push(holds);
        }
    }

    /// Computes the degrees of all nodes for the states from `first` on.
    fn fold(&self, signals: &[u64], first: usize, degrees: &mut Vec<Degrees>) {
        degrees.clear();
        for &node in &self.nodes {
            let degree = match node {
                GoalNode::Leaf(lit) => {
                    let holds = read(signals, lit) >> first;
                    let degree = std::array::from_fn(|state| (holds >> state & 1) as f32);
                    Degrees { values: degree, tie_breaks: degree }
                }
                GoalNode::All(start, end) => all(&self.children[start as usize..end as usize], degrees),
                GoalNode::Any(start, end) => any(&self.children[start as usize..end as usize], degrees),
            };
            degrees.push(degree);
        }
    }
}

#[inline]
fn read(signals: &[u64], lit: Lit) -> u64 {
    signals[lit.node()] ^ if lit.is_inverted() { !0 } else { 0 }
}

/// Returns the means of the degrees of some nodes, state by state.
#[inline]
fn all(nodes: &[u32], degrees: &[Degrees]) -> Degrees {
    let (mut values, mut tie_breaks) = ([0.0f32; CHUNK], [0.0f32; CHUNK]);
    for &node in nodes {
        let degrees = &degrees[node as usize];
        values.iter_mut().zip(&degrees.values).for_each(|(sum, value)| *sum += value);
        tie_breaks.iter_mut().zip(&degrees.tie_breaks).for_each(|(sum, value)| *sum += value);
    }
    let count = nodes.len() as f32;
    Degrees { values: values.map(|sum| sum / count), tie_breaks: tie_breaks.map(|sum| sum / count) }
}

/// Returns the highest degrees of some nodes and the means of their tie-breakers,
/// state by state.
#[inline]
fn any(nodes: &[u32], degrees: &[Degrees]) -> Degrees {
    let (mut values, mut tie_breaks) = ([0.0f32; CHUNK], [0.0f32; CHUNK]);
    for &node in nodes {
        let degrees = &degrees[node as usize];
        values
            .iter_mut()
            .zip(&degrees.values)
            .for_each(|(most, &value)| *most = if value > *most { value } else { *most });
        tie_breaks.iter_mut().zip(&degrees.tie_breaks).for_each(|(sum, value)| *sum += value);
    }
    let count = nodes.len() as f32;
    Degrees { values, tie_breaks: tie_breaks.map(|sum| sum / count) }
}

/// Builds a [`GoalTree`] from the leaves to the root.
///
/// ```
/// use sternhalma_game::features::{DegreeBuffers, GoalTreeBuilder, Successors};
///
/// // Facts 0 and 1 together, or fact 2 without fact 0.
/// let mut tree = GoalTreeBuilder::new();
/// let facts = [0, 1, 2].map(|fact| tree.fact(fact));
/// let leaves = [facts[0], facts[1], facts[2], !facts[0]].map(|signal| tree.leaf(signal));
/// let ways = [tree.all(&leaves[..2]), tree.all(&leaves[2..])];
/// let root = tree.any(&ways);
/// let tree = tree.finish(root);
///
/// let mut states = Successors::default();
/// states.reset(1, 3, 1);
/// states.insert(0, 0);
/// let mut degrees = Vec::new();
/// tree.degrees(&states, &mut DegreeBuffers::default(), &mut degrees);
/// assert_eq!((degrees[0].value, degrees[0].tie_break), (0.5, 0.25));
/// ```
#[derive(Clone, Debug)]
pub struct GoalTreeBuilder {
    tree: GoalTree,
    facts: HashMap<u32, Lit>,
    leaves: HashMap<Lit, u32>,
}

impl Default for GoalTreeBuilder {
    fn default() -> GoalTreeBuilder {
        GoalTreeBuilder::new()
    }
}

impl GoalTreeBuilder {
    /// Creates a tree without nodes.
    pub fn new() -> GoalTreeBuilder {
        let tree = GoalTree { signals: vec![Signal::False], lits: Vec::new(), nodes: Vec::new(), children: Vec::new() };
        GoalTreeBuilder { tree, facts: HashMap::new(), leaves: HashMap::new() }
    }

    /// Returns the number of nodes plus the number of their children.
    pub fn size(&self) -> usize {
        self.tree.nodes.len() + self.tree.children.len()
    }

    /// Returns the signal that a fact holds.
    pub fn fact(&mut self, fact: u32) -> Lit {
        let next = Lit::new(self.tree.signals.len(), false);
        let signal = *self.facts.entry(fact).or_insert(next);
        if signal == next {
            self.tree.signals.push(Signal::Fact(fact));
        }
        signal
    }

    /// Returns the conjunction of some signals. A leaf with this signal has degree 0 or 1.
    pub fn and(&mut self, signals: impl IntoIterator<Item = Lit>) -> Lit {
        let first = self.tree.lits.len() as u32;
        self.tree.lits.extend(signals);
        self.tree.signals.push(Signal::And(first, self.tree.lits.len() as u32));
        Lit::new(self.tree.signals.len() - 1, false)
    }

    /// Returns a node with degree 1 if a signal holds, and 0 otherwise.
    pub fn leaf(&mut self, signal: Lit) -> u32 {
        let next = self.tree.nodes.len() as u32;
        let node = *self.leaves.entry(signal).or_insert(next);
        if node == next {
            self.tree.nodes.push(GoalNode::Leaf(signal));
        }
        node
    }

    /// Returns the AND of some nodes.
    pub fn all(&mut self, children: &[u32]) -> u32 {
        if children.is_empty() {
            return self.leaf(Lit::TRUE);
        }
        let (first, end) = self.place(children);
        self.node(GoalNode::All(first, end))
    }

    /// Returns the OR of some nodes.
    pub fn any(&mut self, children: &[u32]) -> u32 {
        if children.is_empty() {
            return self.leaf(Lit::FALSE);
        }
        let (first, end) = self.place(children);
        self.node(GoalNode::Any(first, end))
    }

    /// Returns the tree with this root.
    pub fn finish(mut self, root: u32) -> GoalTree {
        // Later nodes are not part of the tree.
        self.tree.nodes.truncate(root as usize + 1);
        self.tree
    }

    fn place(&mut self, children: &[u32]) -> (u32, u32) {
        let first = self.tree.children.len() as u32;
        self.tree.children.extend_from_slice(children);
        (first, self.tree.children.len() as u32)
    }

    fn node(&mut self, node: GoalNode) -> u32 {
        self.tree.nodes.push(node);
        self.tree.nodes.len() as u32 - 1
    }
}
