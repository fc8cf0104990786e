//! Proofs of outcomes in the tree: MCTS-Solver [Winands et al. 2008].

use std::num::NonZeroU16;

use sternhalma_game::Turn;

use super::tree::{NodeId, Tree};

impl<M: Copy + Eq, N: Copy> Tree<M, N> {
    /// Returns the rewards of all roles with best play from a node, if they are
    /// proved.
    pub fn outcome(&self, node: NodeId) -> Option<&[f64]> {
        let number = self.nodes[node as usize].proved?.get();
        Some(&self.outcomes[usize::from(number) - 1])
    }

    /// Marks the rewards of node `last` as proved, and all that they prove for the
    /// nodes of `path`, which lead to it. `edges` holds one edge for each acting
    /// role at each of these nodes, and a simulation has ended after each.
    ///
    /// A state in which one role moves is proved once one of its moves wins
    /// everything, or all of its moves are proved. The role then plays its best
    /// move; ties go to the first. Simultaneous states are never proved.
    pub fn prove(&mut self, path: &[NodeId], edges: &[u32], last: NodeId, rewards: &[f64]) {
        let Some(number) = self.number_of(rewards) else { return };
        let mut child = last;
        self.nodes[child as usize].proved = Some(number);
        for (&node, &edge) in path.iter().rev().zip(edges.iter().rev()) {
            let Turn::One(role) = self.nodes[node as usize].turn else { return };
            let reward = self.outcome(child).map_or(0.0, |outcome| outcome[role]);
            self.edges[edge as usize].stats.prove(reward);
            let Some(best) = self.best_of(node, role) else { return };
            self.nodes[node as usize].proved = self.nodes[best as usize].proved;
            child = node;
        }
    }

    /// Returns the number of an outcome, or `None` if there are too many.
    fn number_of(&mut self, rewards: &[f64]) -> Option<NonZeroU16> {
        let known = self.outcomes.iter().position(|outcome| **outcome == *rewards);
        let place = known.unwrap_or(self.outcomes.len());
        let number = u16::try_from(place + 1).ok().and_then(NonZeroU16::new)?;
        if known.is_none() {
            self.outcomes.push(rewards.into());
        }
        Some(number)
    }

    /// Returns the node after the best move of the role that moves, if the best
    /// move is proved.
    fn best_of(&self, node: NodeId, role: usize) -> Option<NodeId> {
        let mut best: Option<(f64, NodeId)> = None;
        let mut all = true;
        for edge in self.edges_of(node, 0) {
            let child = self.child(node, &[edge as u32]);
            let proved = child.and_then(|child| Some((self.outcome(child)?[role], child)));
            match proved {
                Some(proved) if best.is_none_or(|best| proved.0 > best.0) => best = Some(proved),
                Some(_) => {}
                None => all = false,
            }
        }
        best.filter(|best| all || best.0 >= 1.0).map(|(_, child)| child)
    }
}
