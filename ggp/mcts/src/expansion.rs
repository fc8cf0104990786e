//! Expansion: when a simulation adds a node to the tree.

use std::cell::Cell;

use sternhalma_game::{Game, SearchState, SearchStats, key_of_words};

use super::config::MAX_EDGES;
use super::simulation::SimulationPosition;
use super::tree::NodeId;
use super::{Cutoff, Mcts, Playout, Selection, Simulation};

/// Returns the key of the node of a state after `ply` joint moves of the match. Different plies
/// have different keys, so that the graph has no cycle.
pub(super) fn node_key(key: u64, ply: u64) -> u64 {
    key_of_words([key, ply])
}

impl<G: Game, S: Selection<G>, P: Playout<G>, C: Cutoff<G>> Mcts<G, S, P, C> {
    /// Returns the place of a simulation after a joint move of `node`: at a
    /// node that is known, or beyond the tree. May add the state as a node, at
    /// which the playout begins.
    pub(super) fn expand<V: SearchState<G>>(
        &mut self,
        simulation: &mut Simulation,
        game: &G,
        state: &V,
        node: NodeId,
        first_edge: usize,
        spent: &mut SearchStats,
    ) -> SimulationPosition
    where
        S: Selection<G, V>,
    {
        let edges = &simulation.edges[first_edge..];
        if let Some(child) = self.tree.child(node, edges) {
            return SimulationPosition::Node(child);
        }
        // The rarest move of a joint move bounds how often the joint move was followed.
        let followed = edges.iter().map(|&edge| self.tree.edges[edge as usize].stats.visits).min();
        if followed.is_none_or(|visits| visits < self.config.expansion_threshold) {
            return SimulationPosition::Playout;
        }
        let key = if self.config.transpositions { state.key(game) } else { None };
        let key = key.map(|key| node_key(key, self.plies + simulation.path.len() as u64));
        if let Some(known) = key.and_then(|key| self.tree.find(key)) {
            self.tree.set_child(node, edges, known);
            return SimulationPosition::Node(known);
        }
        if self.tree.edges.len() < self.config.max_edges.min(MAX_EDGES) && self.tree_can_grow(spent) {
            let child = self.tree.add(game, state, &mut self.scratch.moves, &mut self.selection);
            self.tree.set_child(node, edges, child);
            spent.expansions += 1;
            simulation.added = Some(child);
            if let Some(key) = key {
                self.tree.set_key(child, key);
            }
        }
        SimulationPosition::Playout
    }

    /// Returns whether the next step of a simulation may need the [key](Game::key) of its state.
    pub fn needs_key(&self, simulation: &Simulation) -> bool {
        self.config.transpositions && matches!(simulation.position, SimulationPosition::Below { .. })
    }

    /// Returns whether there is memory for another node. Records in `spent` if there is none.
    #[inline]
    fn tree_can_grow(&mut self, spent: &mut SearchStats) -> bool {
        let budget = self.memory.budget();
        // Several structures may grow at once, and each gets half of the room that the ones before it leave.
        let growths = Cell::new(0);
        let room = || {
            growths.set(growths.get() + 1);
            budget.room() >> growths.get()
        };
        let grows = self.tree.reserve(room) && self.node_rewards.as_mut().is_none_or(|rewards| rewards.reserve(room));
        if !grows {
            budget.exhaust();
            spent.memory_limited = true;
        }
        if growths.get() > 0 {
            self.count_memory();
        }
        grows
    }
}
