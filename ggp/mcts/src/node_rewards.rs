//! The rewards of simulations at each node, for all roles.

use std::cmp::Ordering;

use sternhalma_game::reserve_within;

use super::tree::{NodeId, Tree};
use super::{Child, MoveStats};

/// The rewards, role by role, of the simulations that reached each node. The
/// decision by effective quality needs these rewards in addition to the
/// statistics of moves.
#[derive(Debug)]
pub(crate) struct NodeRewards {
    roles: usize,
    counts: Vec<u32>,
    sums: Vec<f64>,
}

impl NodeRewards {
    /// Creates the rewards of a tree without nodes.
    pub fn new(roles: usize) -> NodeRewards {
        NodeRewards { roles, counts: Vec::new(), sums: Vec::new() }
    }

    /// Returns the memory of the rewards in bytes.
    pub fn bytes(&self) -> usize {
        self.counts.capacity() * size_of::<u32>() + self.sums.capacity() * size_of::<f64>()
    }

    /// Reserves space for another node, which takes at most `room` bytes. Returns whether there is
    /// space.
    #[inline]
    pub fn reserve(&mut self, room: impl Fn() -> u64) -> bool {
        reserve_within(&mut self.counts, 1, &room) && reserve_within(&mut self.sums, self.roles, &room)
    }

    /// Removes all rewards.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.sums.clear();
    }

    /// Adds the rewards of a simulation to every node that it reached: those of
    /// `path`, which it left by `edges`, and the node after them, if there is one.
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

    /// Returns the edges of a role, the `seat`-th to act at the root, that lead to
    /// the children with the highest effective quality. Ties go to the highest
    /// `preference`; all edges that are still tied are returned. Empty without a
    /// child.
    pub fn best<M: Copy + Eq, N: Copy>(
        &self,
        tree: &Tree<M, N>,
        role: usize,
        seat: usize,
        preference: impl Fn(M) -> f64,
    ) -> Vec<usize> {
        let children = tree.children_of(&[0]).pop().unwrap_or_default();
        let nodes: Vec<NodeId> = children.iter().map(|&(_, node)| node).collect();
        let mut best = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let mut edges: Vec<usize> = Vec::new();
        for ((joint, node), next) in children.iter().zip(tree.children_of(&nodes)) {
            let Some(quality) = self.mean(*node, role) else { continue };
            let successors: Vec<f64> = next.iter().filter_map(|&(_, node)| self.mean(node, role)).collect();
            let edge = joint[seat] as usize;
            let acting = tree.nodes[*node as usize].turn.acting(self.roles);
            let moves = |seat| tree.edges_of(*node, seat).len();
            let child = Child {
                quality,
                is_terminal: tree.is_leaf(*node),
                own_moves: acting.clone().position(|acting| acting == role).map_or(1, moves),
                joint_moves: (0..acting.len()).map(moves).fold(1, usize::saturating_mul),
                successors: &successors,
            };
            let this = (child.effective_quality(), preference(tree.edges[edge].mv));
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

    /// Returns the mean reward of a role, or `None` if no simulation reached the node.
    pub fn mean(&self, node: NodeId, role: usize) -> Option<f64> {
        let count = self.counts.get(node as usize).copied().filter(|&count| count > 0)?;
        Some(self.sums[node as usize * self.roles + role] / f64::from(count))
    }

    /// Multiplies counts and sums, as [`MoveStats::decayed`] does.
    pub fn decay(&mut self, by: f64) {
        for (count, sums) in self.counts.iter_mut().zip(self.sums.chunks_exact_mut(self.roles)) {
            let decayed = |&sum: &f64| MoveStats { visits: *count, under_way: 0, sum }.decayed(by);
            let visits = decayed(&0.0).visits;
            sums.iter_mut().for_each(|sum| *sum = decayed(sum).sum);
            *count = visits;
        }
    }

    /// Gives nodes the new numbers that `numbers` has for the old ones, and drops the rest.
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
