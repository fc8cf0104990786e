//! Backpropagation: what the search learns from a simulation.

use sternhalma_game::{Game, LimitChecker};

use super::{Cutoff, Mcts, Playout, Selection, Simulation};

impl<G: Game, S: Selection<G>, P: Playout<G>, C: Cutoff<G>> Mcts<G, S, P, C> {
    /// Learns from a simulation that has its rewards.
    pub fn finish(&mut self, mut simulation: Simulation, game: &G, checker: &mut LimitChecker) {
        self.use_parameters(&simulation);
        let length = simulation.tree_moves + simulation.playout_moves;
        checker.spent.playouts += 1;
        checker.spent.depth = checker.spent.depth.max(simulation.tree_moves);
        if let Some(tuners) = &mut self.tuners {
            tuners.update(&simulation.tuned, &simulation.rewards, length);
        }
        self.config.length_bonus.apply(&mut simulation.rewards, length);
        self.back_up(&simulation, game.roles());
        if let Some(node) = simulation.proved {
            // A solver has no length bonus (`MctsConfig::solver`), so these are the rewards of the game.
            self.tree.prove(&simulation.path, &simulation.edges, node, &simulation.rewards);
        }
        if let Some(rewards) = &mut self.node_rewards {
            rewards.learn(&self.tree, &simulation.path, &simulation.edges, &simulation.rewards);
        }
        // Up to here the nodes of the path pair with its edges. No edge leaves the new node, but selection learns there too,
        // from the moves after it.
        simulation.path.extend(simulation.added);
        if Self::RECORDS {
            self.count_memory();
            self.divide_room();
        }
        if S::LEARNS {
            self.selection.learn(&simulation.path, &simulation.history, &simulation.rewards);
        }
        self.playout.learn(game, &simulation.history, &simulation.rewards);
        self.record_shortage(checker);
        self.count_memory();
        self.spare.push(simulation);
    }

    /// Records in the statistics of the search whether selection or playouts lacked room.
    fn record_shortage(&mut self, checker: &mut LimitChecker) {
        if Self::RECORDS && (self.selection.take_shortage() | self.playout.take_shortage()) {
            self.memory.budget().exhaust();
            checker.spent.memory_limited = true;
        }
    }

    /// Adds visits and rewards to the statistics of the moves in the tree. The
    /// visits of a parallel simulation were counted on its way.
    fn back_up(&mut self, simulation: &Simulation, roles: usize) {
        let visits = u32::from(!simulation.parallel);
        let mut edges = simulation.edges.iter();
        for &node in &simulation.path {
            let node = &mut self.tree.nodes[node as usize];
            node.visits += visits;
            for (role, &edge) in node.turn.acting(roles).zip(edges.by_ref()) {
                let stats = &mut self.tree.edges[edge as usize].stats;
                stats.visits += visits;
                stats.under_way -= u32::from(simulation.parallel);
                stats.sum += simulation.rewards[role];
            }
        }
    }

    /// Drops a simulation, and takes back the visits that it counted. A node
    /// that the simulation added stays.
    pub fn cancel(&mut self, simulation: Simulation, game: &G, checker: &mut LimitChecker) {
        self.record_shortage(checker);
        if simulation.parallel {
            let mut edges = simulation.edges.iter();
            for &node in &simulation.path {
                let node = &mut self.tree.nodes[node as usize];
                node.visits -= 1;
                for (_, &edge) in node.turn.acting(game.roles()).zip(edges.by_ref()) {
                    let stats = &mut self.tree.edges[edge as usize].stats;
                    stats.visits -= 1;
                    stats.under_way -= 1;
                }
            }
        }
        self.spare.push(simulation);
    }
}
