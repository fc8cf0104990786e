//! Degrees to which a goal holds [Świechowski and Mańdziuk 2014, section V.B].

use std::collections::HashMap;

use fearless_simd::{Select, Simd, SimdBase, SimdMask, dispatch, f32x16, mask32x16};
use fearless_simd_macros::simd;
use sternhalma_cpu::{Level, level};

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
    /// The signals of the leaves.
    leaves: Vec<Lit>,
    /// The nodes that are not leaves. Each follows its children, and the last is the root.
    nodes: Vec<InnerNode>,
    children: Vec<Child>,
}

#[derive(Clone, Copy, Debug)]
enum Signal {
    False,
    Fact(u32),
    /// The conjunction of this range of `lits`.
    And(u32, u32),
}

#[derive(Clone, Copy, Debug)]
struct InnerNode {
    is_any: bool,
    /// Its range of `children`.
    first: u32,
    end: u32,
    /// Whether all children are leaves.
    over_leaves: bool,
}

/// A leaf by its index among the leaves, or a node.
#[derive(Clone, Copy, Debug)]
enum Child {
    Leaf(u32),
    Node(u32),
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
    leaves: Vec<[f32; CHUNK]>,
    nodes: Vec<Degrees>,
}

impl GoalTree {
    /// Appends the degree of each state to `degrees`. The time is proportional to
    /// the size of the tree for every 16 states.
    pub fn degrees(&self, states: &Successors, buffers: &mut DegreeBuffers, degrees: &mut Vec<Degree>) {
        self.degrees_of(states.count(), |fact| states.holding(fact), buffers, degrees);
    }

    /// Appends the degree of each of `count` states to `degrees`. `holding` returns the states in which a fact holds, in the
    /// layout of [`Successors::holding`].
    pub fn degrees_of<'a>(
        &self,
        count: usize,
        holding: impl Fn(usize) -> &'a [u64],
        buffers: &mut DegreeBuffers,
        degrees: &mut Vec<Degree>,
    ) {
        for first in (0..count).step_by(CHUNK) {
            if first % 64 == 0 {
                self.evaluate(first / 64, &holding, &mut buffers.signals);
            }
            self.fold_at(level(), first % 64, buffers);
            let Some(root) = buffers.nodes.last() else { return };
            let both = root.values.iter().zip(&root.tie_breaks);
            let both = both.map(|(&value, &tie_break)| Degree { value, tie_break });
            degrees.extend(both.take(count - first));
        }
    }

    /// Computes the signals for the states of one word.
    fn evaluate<'a>(&self, word: usize, holding: impl Fn(usize) -> &'a [u64], signals: &mut Vec<u64>) {
        signals.clear();
        for &signal in &self.signals {
            let holds = match signal {
                Signal::False => 0,
                Signal::Fact(fact) => holding(fact as usize)[word],
                Signal::And(first, end) => {
                    let lits = &self.lits[first as usize..end as usize];
                    lits.iter().fold(!0, |all, &lit| all & read(signals, lit))
                }
            };
            signals.push(holds);
        }
    }

    fn fold_at(&self, level: Level, first: usize, buffers: &mut DegreeBuffers) {
        dispatch!(level, simd => self.fold(simd, first, buffers));
    }

    /// Computes the degrees of all nodes for the states from `first` on. The order of additions is that of the children.
    #[simd]
    #[inline(never)]
    fn fold<S: Simd>(&self, simd: S, first: usize, buffers: &mut DegreeBuffers) {
        let DegreeBuffers { signals, leaves, nodes } = buffers;
        let (zero, one) = (f32x16::splat(simd, 0.0), f32x16::splat(simd, 1.0));
        leaves.resize(self.leaves.len(), [0.0; CHUNK]);
        for (degrees, &leaf) in leaves.iter_mut().zip(&self.leaves) {
            mask32x16::from_bitmask(simd, read(signals, leaf) >> first & 0xffff).select(one, zero).store_slice(degrees);
        }
        let leaf = |index: u32| f32x16::from_slice(simd, &leaves[index as usize]);
        nodes.clear();
        for node in &self.nodes {
            let children = &self.children[node.first as usize..node.end as usize];
            let of = |child: &Child| match *child {
                Child::Leaf(index) => (leaf(index), leaf(index)),
                Child::Node(index) => {
                    let degrees: &Degrees = &nodes[index as usize];
                    (f32x16::from_slice(simd, &degrees.values), f32x16::from_slice(simd, &degrees.tie_breaks))
                }
            };
            let (mut values, mut tie_breaks) = (zero, zero);
            if node.is_any {
                for (value, tie_break) in children.iter().map(of) {
                    values = values.max(value);
                    tie_breaks += tie_break;
                }
                tie_breaks = mean(simd, tie_breaks, children.len());
            } else if node.over_leaves {
                for (value, _) in children.iter().map(of) {
                    values += value;
                }
                values = mean(simd, values, children.len());
                tie_breaks = values;
            } else {
                for (value, tie_break) in children.iter().map(of) {
                    values += value;
                    tie_breaks += tie_break;
                }
                values = mean(simd, values, children.len());
                tie_breaks = mean(simd, tie_breaks, children.len());
            }
            let mut degrees = Degrees { values: [0.0; CHUNK], tie_breaks: [0.0; CHUNK] };
            values.store_slice(&mut degrees.values);
            tie_breaks.store_slice(&mut degrees.tie_breaks);
            nodes.push(degrees);
        }
    }
}

/// Returns the quotients of some sums and a count, by a product if it is the same.
#[inline(always)]
fn mean<S: Simd>(simd: S, sums: f32x16<S>, count: usize) -> f32x16<S> {
    let divisor = count as f32;
    match count.is_power_of_two() {
        true => sums * f32x16::splat(simd, 1.0 / divisor),
        false => sums / f32x16::splat(simd, divisor),
    }
}

#[inline(always)]
fn read(signals: &[u64], lit: Lit) -> u64 {
    signals[lit.node()] ^ if lit.is_inverted() { !0 } else { 0 }
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
    signals: Vec<Signal>,
    lits: Vec<Lit>,
    /// Each node follows its children.
    nodes: Vec<BuilderNode>,
    children: Vec<u32>,
    facts: HashMap<u32, Lit>,
    leaves: HashMap<Lit, u32>,
}

#[derive(Clone, Copy, Debug)]
enum BuilderNode {
    Leaf(Lit),
    /// The AND or OR of this range of `children`.
    Inner {
        is_any: bool,
        first: u32,
        end: u32,
    },
}

impl Default for GoalTreeBuilder {
    fn default() -> GoalTreeBuilder {
        GoalTreeBuilder::new()
    }
}

impl GoalTreeBuilder {
    /// Creates a tree without nodes.
    pub fn new() -> GoalTreeBuilder {
        GoalTreeBuilder {
            signals: vec![Signal::False],
            lits: Vec::new(),
            nodes: Vec::new(),
            children: Vec::new(),
            facts: HashMap::new(),
            leaves: HashMap::new(),
        }
    }

    /// Returns the number of nodes plus the number of their children.
    pub fn size(&self) -> usize {
        self.nodes.len() + self.children.len()
    }

    /// Returns the signal that a fact holds.
    pub fn fact(&mut self, fact: u32) -> Lit {
        let next = Lit::new(self.signals.len(), false);
        let signal = *self.facts.entry(fact).or_insert(next);
        if signal == next {
            self.signals.push(Signal::Fact(fact));
        }
        signal
    }

    /// Returns the conjunction of some signals. A leaf with this signal has degree 0 or 1.
    pub fn and(&mut self, signals: impl IntoIterator<Item = Lit>) -> Lit {
        let first = self.lits.len() as u32;
        self.lits.extend(signals);
        self.signals.push(Signal::And(first, self.lits.len() as u32));
        Lit::new(self.signals.len() - 1, false)
    }

    /// Returns a node with degree 1 if a signal holds, and 0 otherwise.
    pub fn leaf(&mut self, signal: Lit) -> u32 {
        let next = self.nodes.len() as u32;
        let node = *self.leaves.entry(signal).or_insert(next);
        if node == next {
            self.nodes.push(BuilderNode::Leaf(signal));
        }
        node
    }

    /// Returns the AND of some nodes.
    pub fn all(&mut self, children: &[u32]) -> u32 {
        if children.is_empty() {
            return self.leaf(Lit::TRUE);
        }
        self.inner(false, children)
    }

    /// Returns the OR of some nodes.
    pub fn any(&mut self, children: &[u32]) -> u32 {
        if children.is_empty() {
            return self.leaf(Lit::FALSE);
        }
        self.inner(true, children)
    }

    /// Returns the tree with this root.
    pub fn finish(mut self, root: u32) -> GoalTree {
        // A tree has an inner node: the degree of a leaf is also the mean of its degree alone.
        let root = match self.nodes[root as usize] {
            BuilderNode::Leaf(_) => self.inner(false, &[root]),
            BuilderNode::Inner { .. } => root,
        };
        let GoalTreeBuilder { signals, lits, nodes, children, .. } = self;
        let mut tree = GoalTree { signals, lits, leaves: Vec::new(), nodes: Vec::new(), children: Vec::new() };
        let mut places: Vec<Child> = Vec::new();
        // Later nodes are not part of the tree.
        for &node in &nodes[..=root as usize] {
            places.push(match node {
                BuilderNode::Leaf(lit) => {
                    tree.leaves.push(lit);
                    Child::Leaf(tree.leaves.len() as u32 - 1)
                }
                BuilderNode::Inner { is_any, first, end } => {
                    let start = tree.children.len();
                    tree.children.extend(children[first as usize..end as usize].iter().map(|&of| places[of as usize]));
                    let over_leaves = tree.children[start..].iter().all(|of| matches!(of, Child::Leaf(_)));
                    let (first, end) = (start as u32, tree.children.len() as u32);
                    tree.nodes.push(InnerNode { is_any, first, end, over_leaves });
                    Child::Node(tree.nodes.len() as u32 - 1)
                }
            });
        }
        tree
    }

    fn inner(&mut self, is_any: bool, children: &[u32]) -> u32 {
        let first = self.children.len() as u32;
        self.children.extend_from_slice(children);
        self.nodes.push(BuilderNode::Inner { is_any, first, end: self.children.len() as u32 });
        self.nodes.len() as u32 - 1
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::Rng;

    /// Returns a tree with random nodes over 20 facts, whose children are some earlier nodes.
    fn random_tree(rng: &mut Rng) -> (GoalTreeBuilder, u32) {
        let mut builder = GoalTreeBuilder::new();
        let facts: Vec<Lit> = (0..20).map(|fact| builder.fact(fact)).collect();
        let mut nodes: Vec<u32> = facts
            .iter()
            .map(|&fact| {
                let signal = builder.and([fact, if rng.random() { !facts[0] } else { facts[1] }]);
                builder.leaf(signal)
            })
            .collect();
        for _ in 0..rng.random_range(1..30) {
            let children: Vec<u32> =
                (0..rng.random_range(1..9)).map(|_| nodes[rng.random_range(0..nodes.len())]).collect();
            nodes.push(if rng.random() { builder.all(&children) } else { builder.any(&children) });
        }
        let root = nodes[nodes.len() - 1];
        (builder, root)
    }

    /// Returns the degree of a node in one state, from its definition.
    fn degree(builder: &GoalTreeBuilder, node: u32, holds: &dyn Fn(Lit) -> bool) -> Degree {
        let BuilderNode::Inner { is_any, first, end } = builder.nodes[node as usize] else {
            let BuilderNode::Leaf(lit) = builder.nodes[node as usize] else { unreachable!("the node is a leaf") };
            let value = f32::from(u8::from(holds(lit)));
            return Degree { value, tie_break: value };
        };
        let children = &builder.children[first as usize..end as usize];
        let degrees: Vec<Degree> = children.iter().map(|&child| degree(builder, child, holds)).collect();
        let mean = |of: fn(&Degree) -> f32| degrees.iter().map(of).sum::<f32>() / degrees.len() as f32;
        let value = match is_any {
            true => degrees.iter().map(|degree| degree.value).fold(0.0, f32::max),
            false => mean(|degree| degree.value),
        };
        Degree { value, tie_break: mean(|degree| degree.tie_break) }
    }

    fn signal_holds(builder: &GoalTreeBuilder, facts: u64, lit: Lit) -> bool {
        let holds = match builder.signals[lit.node()] {
            Signal::False => false,
            Signal::Fact(fact) => facts >> fact & 1 == 1,
            Signal::And(first, end) => {
                builder.lits[first as usize..end as usize].iter().all(|&lit| signal_holds(builder, facts, lit))
            }
        };
        holds ^ lit.is_inverted()
    }

    #[test]
    fn degrees_at_all_levels_are_those_of_the_definition() {
        let mut rng = Rng::seed_from_u64(1);
        for _ in 0..200 {
            let (builder, root) = random_tree(&mut rng);
            let tree = builder.clone().finish(root);
            let count = rng.random_range(1..150);
            let states: Vec<u64> = (0..count).map(|_| rng.random()).collect();
            let mut columns = Successors::default();
            columns.reset(count, 20, 1);
            for (state, facts) in states.iter().enumerate() {
                (0..20).filter(|fact| facts >> fact & 1 == 1).for_each(|fact| columns.insert(state, fact));
            }
            let expected: Vec<Degree> =
                states.iter().map(|&facts| degree(&builder, root, &|lit| signal_holds(&builder, facts, lit))).collect();
            let (mut buffers, mut found) = (DegreeBuffers::default(), Vec::new());
            tree.degrees(&columns, &mut buffers, &mut found);
            assert_eq!(found, expected);
            for level in sternhalma_cpu::levels() {
                for (chunk, expected) in expected.chunks(CHUNK).enumerate() {
                    let first = CHUNK * chunk;
                    tree.evaluate(first / 64, |fact| columns.holding(fact), &mut buffers.signals);
                    tree.fold_at(level, first % 64, &mut buffers);
                    let root = buffers.nodes[buffers.nodes.len() - 1];
                    let of = |state: usize| Degree { value: root.values[state], tie_break: root.tie_breaks[state] };
                    assert!(expected.iter().enumerate().all(|(state, degree)| of(state) == *degree), "{level:?}");
                }
            }
        }
    }
}
