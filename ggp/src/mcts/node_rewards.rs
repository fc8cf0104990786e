//! What simulations that came to a node were worth to every role.

use std::cmp::Ordering;

use super::effective_quality::Child;
use super::stats::MoveStats;
use super::tree::{NodeId, Tree};

/// The simulations that came to each node, with their rewards role by role:
/// what the decision by effective quality needs beyond the statistics of moves.
#[derive(Debug)]
pub(crate) struct NodeRewards {
    roles: usize,
    counts: Vec<u32>,
    sums: Vec<f64>,
}

impl NodeRewards {
    /// None yet.
    pub fn new(roles: usize) -> NodeRewards {
        NodeRewards { roles, counts: Vec::new(), sums: Vec::new() }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.sums.clear();
    }

    /// Counts a simulation for every node that it has come to: those of
    /// `path`, which it left by `edges`, and the one after them, if it is a node.
    pub fn learn<M: Copy + Eq, N: Copy>(&mut self, tree: &Tree<M, N>, path: &[NodeId], edges: &[u32], rewards: &[f64]) {
        path.iter().for_each(|&node| self.add(node, rewards));
        let Some(&last) = path.last() else { return };
        let seats = tree.nodes[last as usize].turn.acting(self.roles).len();
        if let Some(end) = tree.child(last, &edges[edges.len() - seats..]) {
            self.add(end, rewards);
        }
    }

    fn add(&mut self, node: NodeId, rewards: &[f64]) {
        self.grow(node);
        self.counts[node as usize] += 1;
        let sums = &mut self.sums[node as usize * self.roles..];
        sums.iter_mut().zip(rewards).for_each(|(sum, reward)| *sum += reward);
    }

    /// The edges of a role, the `seat`-th to act at the root, by which the
    /// child of highest effective quality is reached, and of those the edges
    /// whose moves are preferred most. None if the root has no child.
    pub fn best<M: Copy + Eq, N: Copy>(
        &self,
        tree: &Tree<M, N>,
        role: usize,
        seat: usize,
        prefer: impl Fn(M) -> f64,
    ) -> Vec<usize> {
        let children = tree.children_of(&[0]).pop().unwrap_or_default();
        let nodes: Vec<NodeId> = children.iter().map(|&(_, node)| node).collect();
        let mut best = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let mut edges: Vec<usize> = Vec::new();
        for ((joint, node), next) in children.iter().zip(tree.children_of(&nodes)) {
            let Some(quality) = self.mean(*node, role) else { continue };
            let successors: Vec<f64> = next.iter().filter_map(|&(_, node)| self.mean(node, role)).collect();
            let edge = joint[seat] as usize;
            let value = self.child(tree, *node, role, quality, &successors).effective_quality();
            let this = (value, prefer(tree.edges[edge].mv));
            let order = if edges.is_empty() { Some(Ordering::Greater) } else { this.partial_cmp(&best) };
            if order == Some(Ordering::Greater) {
                best = this;
                edges.clear();
            }
            if matches!(order, Some(Ordering::Greater | Ordering::Equal)) && !edges.contains(&edge) {
                edges.push(edge);
            }
        }
        edges
    }

    /// What effective quality looks at in a node.
    fn child<'a, M: Copy + Eq, N: Copy>(
        &self,
        tree: &Tree<M, N>,
        node: NodeId,
        role: usize,
        quality: f64,
        successors: &'a [f64],
    ) -> Child<'a> {
        let acting = tree.nodes[node as usize].turn.acting(self.roles);
        let moves = |seat| tree.edges_of(node, seat).len();
        Child {
            quality,
            is_terminal: tree.is_leaf(node),
            own_moves: acting.clone().position(|acting| acting == role).map_or(1, moves),
            joint_moves: (0..acting.len()).map(moves).fold(1, usize::saturating_mul),
            successors,
        }
    }

    /// The mean reward of a role; none if no simulation came to the node.
    pub fn mean(&self, node: NodeId, role: usize) -> Option<f64> {
        let count = self.counts.get(node as usize).copied().filter(|&count| count > 0)?;
        Some(self.sums[node as usize * self.roles + role] / f64::from(count))
    }

    /// Lets what is known [fade](MoveStats::decayed).
    pub fn decay(&mut self, by: f64) {
        for (count, sums) in self.counts.iter_mut().zip(self.sums.chunks_exact_mut(self.roles)) {
            let faded = |&sum: &f64| MoveStats { visits: *count, under_way: 0, sum }.decayed(by);
            let visits = faded(&0.0).visits;
            sums.iter_mut().for_each(|sum| *sum = faded(sum).sum);
            *count = visits;
        }
    }

    /// The nodes have new numbers, by their old ones.
    pub fn renumber(&mut self, numbers: &[Option<NodeId>]) {
        let mut kept = NodeRewards::new(self.roles);
        for (old, &count) in self.counts.iter().enumerate() {
            if let Some(Some(new)) = numbers.get(old) {
                kept.grow(*new);
                kept.counts[*new as usize] = count;
                let sums = &self.sums[old * self.roles..][..self.roles];
                kept.sums[*new as usize * self.roles..][..self.roles].copy_from_slice(sums);
            }
        }
        *self = kept;
    }

    fn grow(&mut self, node: NodeId) {
        let nodes = node as usize + 1;
        if self.counts.len() < nodes {
            self.counts.resize(nodes, 0);
            self.sums.resize(nodes * self.roles, 0.0);
        }
    }
}
