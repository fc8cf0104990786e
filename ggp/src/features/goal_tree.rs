//! Degrees to which a goal holds (paper 002, section V.B).

use std::collections::HashMap;

use super::successors::Successors;
use crate::util::Lit;

/// States whose degrees are told side by side.
const CHUNK: usize = 16;

/// A goal as an AND-OR tree, with equal branches kept once, and the signals
/// that its leaves read.
///
/// A leaf is 1 where its signal holds and 0 elsewhere. A node of conditions
/// that all count has the mean of their degrees, and a node of alternatives
/// the best of theirs; the tie-breaker is the mean in both.
#[derive(Clone, Debug)]
pub struct GoalTree {
    /// Signal 0 is false; others come after those that they read.
    signals: Vec<Signal>,
    lits: Vec<Lit>,
    /// Nodes come after their children; the last is the root.
    nodes: Vec<GoalNode>,
    children: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Signal {
    False,
    Fact(u32),
    /// The conjunction of these places of `lits`.
    And(u32, u32),
}

#[derive(Clone, Copy, Debug)]
enum GoalNode {
    Leaf(Lit),
    /// These places of `children`.
    All(u32, u32),
    Any(u32, u32),
}

/// How far states satisfy a goal.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Degree {
    /// 1 if the goal holds, else less.
    pub value: f32,
    /// What tells degrees of the same value apart.
    pub tie_break: f32,
}

/// The degrees of a node in some states.
#[derive(Clone, Copy, Debug)]
struct Degrees {
    values: [f32; CHUNK],
    tie_breaks: [f32; CHUNK],
}

/// What degrees are computed in.
#[derive(Clone, Debug, Default)]
pub struct DegreeBuffers {
    signals: Vec<u64>,
    nodes: Vec<Degrees>,
}

impl GoalTree {
    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Appends the degree of each state to `degrees`. Takes time in proportion
    /// to the size of the tree for every sixteen states.
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

    /// The signals in the states of a word.
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

    /// The degrees of all nodes in the states from one on.
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

/// The means of the degrees of some nodes, state by state.
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

/// The highest degrees of some nodes and the means of their tie-breakers,
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

/// Puts a [`GoalTree`] together from below.
///
/// ```
/// use sternhalma_ggp::mini::{DegreeBuffers, GoalTreeBuilder, Successors};
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
    /// A tree without nodes.
    pub fn new() -> GoalTreeBuilder {
        let tree = GoalTree { signals: vec![Signal::False], lits: Vec::new(), nodes: Vec::new(), children: Vec::new() };
        GoalTreeBuilder { tree, facts: HashMap::new(), leaves: HashMap::new() }
    }

    /// The number of nodes and their children so far.
    pub fn size(&self) -> usize {
        self.tree.nodes.len() + self.tree.children.len()
    }

    /// The signal that a fact holds.
    pub fn fact(&mut self, fact: u32) -> Lit {
        let next = Lit::new(self.tree.signals.len(), false);
        let signal = *self.facts.entry(fact).or_insert(next);
        if signal == next {
            self.tree.signals.push(Signal::Fact(fact));
        }
        signal
    }

    /// The signal that some signals hold together. A leaf of it is true or
    /// false, not in between.
    pub fn and(&mut self, signals: impl IntoIterator<Item = Lit>) -> Lit {
        let first = self.tree.lits.len() as u32;
        self.tree.lits.extend(signals);
        self.tree.signals.push(Signal::And(first, self.tree.lits.len() as u32));
        Lit::new(self.tree.signals.len() - 1, false)
    }

    /// A node of degree 1 if a signal holds, else 0.
    pub fn leaf(&mut self, signal: Lit) -> u32 {
        let next = self.tree.nodes.len() as u32;
        let node = *self.leaves.entry(signal).or_insert(next);
        if node == next {
            self.tree.nodes.push(GoalNode::Leaf(signal));
        }
        node
    }

    /// A node of conditions, which are to hold together.
    pub fn all(&mut self, children: &[u32]) -> u32 {
        if children.is_empty() {
            return self.leaf(Lit::TRUE);
        }
        let (first, end) = self.place(children);
        self.node(GoalNode::All(first, end))
    }

    /// A node of alternatives.
    pub fn any(&mut self, children: &[u32]) -> u32 {
        if children.is_empty() {
            return self.leaf(Lit::FALSE);
        }
        let (first, end) = self.place(children);
        self.node(GoalNode::Any(first, end))
    }

    /// The tree of this root.
    pub fn finish(mut self, root: u32) -> GoalTree {
        // What comes after the root is no part of its tree.
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
