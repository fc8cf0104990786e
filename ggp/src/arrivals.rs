//! What simulations that came to a node were worth to every role.

use crate::tree::NodeId;

/// The simulations that came to each node, with their rewards role by role:
/// what the decision by effective quality needs beyond the statistics of moves.
#[derive(Debug)]
pub(crate) struct Arrivals {
    roles: usize,
    counts: Vec<u32>,
    sums: Vec<f64>,
}

impl Arrivals {
    /// None yet.
    pub fn new(roles: usize) -> Arrivals {
        Arrivals { roles, counts: Vec::new(), sums: Vec::new() }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.sums.clear();
    }

    /// Counts a simulation that came to a node.
    pub fn add(&mut self, node: NodeId, rewards: &[f64]) {
        self.grow(node);
        self.counts[node as usize] += 1;
        let sums = &mut self.sums[node as usize * self.roles..];
        sums.iter_mut().zip(rewards).for_each(|(sum, reward)| *sum += reward);
    }

    /// The mean reward of a role; none if no simulation came to the node.
    pub fn mean(&self, node: NodeId, role: usize) -> Option<f64> {
        let count = self.counts.get(node as usize).copied().filter(|&count| count > 0)?;
        Some(self.sums[node as usize * self.roles + role] / f64::from(count))
    }

    /// The nodes have new numbers, by their old ones.
    pub fn renumber(&mut self, numbers: &[Option<NodeId>]) {
        let mut kept = Arrivals::new(self.roles);
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
