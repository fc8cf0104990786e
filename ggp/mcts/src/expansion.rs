//! Expansion: when a simulation adds a node to the tree.

use std::cell::Cell;

use sternhalma_game::{Game, SearchState, SearchStats, StateNeeds, Turn, key_of_words};

use super::config::MAX_EDGES;
use super::simulation::SimulationPosition;
use super::tree::NodeId;
use super::{Cutoff, Foresight, Mcts, Playout, Selection, Simulation};

/// Returns the key of the node of a state after `ply` joint moves of the match. Different plies
/// have different keys, so that the graph has no cycle.
pub(super) fn node_key(key: u64, ply: u64) -> u64 {
    key_of_words([key, ply])
}

/// What a joint move of a node reaches.
enum Reached {
    /// A node that it is known to reach.
    Child(NodeId),
    /// Another node of the same key.
    Known(NodeId),
    /// A state that may not become a node yet.
    Beyond,
    /// A state that may become a node with this key.
    New(Option<u64>),
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
        let key = match self.reach(simulation, game, state, node, first_edge) {
            Reached::Child(child) => return SimulationPosition::Node(child),
            Reached::Known(known) => {
                self.tree.set_child(node, edges, known);
                return SimulationPosition::Node(known);
            }
            Reached::Beyond => return SimulationPosition::Playout,
            Reached::New(key) => key,
        };
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

    /// Returns what a joint move of `node` reaches.
    #[inline]
    fn reach<V: SearchState<G>>(
        &self,
        simulation: &Simulation,
        game: &G,
        state: &V,
        node: NodeId,
        first_edge: usize,
    ) -> Reached {
        let edges = &simulation.edges[first_edge..];
        if let Some(child) = self.tree.child(node, edges) {
            return Reached::Child(child);
        }
        // The rarest move of a joint move bounds how often the joint move was followed.
        let followed = edges.iter().map(|&edge| self.tree.edges[edge as usize].stats.visits).min();
        if followed.is_none_or(|visits| visits < self.config.expansion_threshold) {
            return Reached::Beyond;
        }
        let key = if self.config.transpositions { state.key(game) } else { None };
        let key = key.map(|key| node_key(key, self.plies + simulation.path.len() as u64));
        match key.and_then(|key| self.tree.find(key)) {
            Some(known) => Reached::Known(known),
            None => Reached::New(key),
        }
    }

    /// Returns what the next step of a simulation may read of its state.
    pub fn needs(&self, simulation: &Simulation) -> StateNeeds {
        StateNeeds {
            key: self.config.transpositions && matches!(simulation.position, SimulationPosition::Below { .. }),
            facts: P::READS_STATES && self.playout.watches_facts(),
        }
    }

    /// Returns which successors the next step of a simulation reads, which is in `state`. For [`Foresight::Successors`],
    /// sets `joints` to their joint moves.
    pub fn foresee<V: SearchState<G>>(
        &mut self,
        simulation: &Simulation,
        game: &G,
        state: &V,
        joints: &mut Vec<G::Move>,
    ) -> Foresight
    where
        P: Playout<G, V>,
    {
        if !<P as Playout<G, V>>::READS_STATES || state.is_terminal(game) {
            return Foresight::Nothing;
        }
        let node = match simulation.position {
            SimulationPosition::Node(node) => Some(node),
            SimulationPosition::Playout => None,
            SimulationPosition::Below { node, first_edge } => {
                match self.reach(simulation, game, state, node, first_edge) {
                    Reached::Child(node) | Reached::Known(node) => Some(node),
                    Reached::Beyond | Reached::New(_) => None,
                }
            }
        };
        let Mcts { tree, playout, scratch, rng, .. } = self;
        let untried = match node.filter(|&node| !tree.is_leaf(node)) {
            None => None,
            Some(node) if tree.nodes[node as usize].turn == Turn::All => return Foresight::Any,
            Some(node) => {
                let edges = tree.edges[tree.edges_of(node, 0)].iter().filter(|edge| edge.stats.visits == 0);
                scratch.moves.clear();
                scratch.moves.extend(edges.map(|edge| edge.mv));
                if scratch.moves.is_empty() || self.selection.values_untried() {
                    return Foresight::Nothing;
                }
                Some(&scratch.moves[..])
            }
        };
        playout.foresee(game, state, untried, &simulation.history, rng.clone(), joints)
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
