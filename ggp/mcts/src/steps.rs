//! The steps of a simulation: selection in the tree, and playout beyond it.

use rand::RngExt;
use sternhalma_game::{Game, LimitChecker, SearchState};

use super::search::Scratch;
use super::simulation::SimulationPosition;
use super::tree::{EdgeId, NodeId};
use super::{Cutoff, Mcts, NodeVisit, Playout, Selection, Simulation, StepAction};

/// The maximum number of moves of a playout. A longer playout, in a game that need not end, counts as lost for all
/// roles.
const MAX_PLAYOUT: u32 = 2_000;

impl<G: Game, S: Selection<G>, P: Playout<G>, C: Cutoff<G>> Mcts<G, S, P, C> {
    /// Runs one simulation. Returns whether the simulation finished; a
    /// simulation that a limit interrupts changes no statistics.
    pub(super) fn simulate(&mut self, game: &G, root: &G::State, checker: &mut LimitChecker) -> bool {
        let mut state = match self.spare_state.take() {
            Some(mut state) => {
                state.clone_from(root);
                state
            }
            None => root.clone(),
        };
        let mut simulation = self.begin_simulation(game, checker, false);
        let finished = loop {
            match self.step(&mut simulation, game, &state, checker) {
                StepAction::Play if Self::RECORDS => {
                    game.play_numbered(&mut state, &self.scratch.joint, simulation.history.last());
                }
                StepAction::Play => game.play(&mut state, &self.scratch.joint),
                StepAction::Finish => {
                    self.finish(simulation, game, checker);
                    break true;
                }
                StepAction::Cancel => {
                    self.cancel(simulation, game, checker);
                    break false;
                }
            }
        };
        self.spare_state = Some(state);
        finished
    }

    /// Begins a simulation at the root. Set `parallel` if other simulations run
    /// at the same time.
    pub fn begin_simulation(&mut self, game: &G, checker: &LimitChecker, parallel: bool) -> Simulation {
        let mut simulation = self.spare.pop().unwrap_or_default();
        self.begun += 1;
        simulation.restart(self.begun, parallel, &self.history);
        if let Some(tuners) = &mut self.tuners {
            tuners.choose(&mut simulation.tuned);
        }
        self.use_parameters(&simulation);
        self.playout.begin(game, checker.start_elapsed(), &mut self.rng);
        simulation
    }

    /// Lets selection and playouts use the parameters that were chosen for a
    /// simulation.
    #[inline]
    pub(super) fn use_parameters(&mut self, simulation: &Simulation) {
        if self.tuners.is_some() && self.parameters_of != simulation.id {
            self.parameters_of = simulation.id;
            for (role, parameters) in simulation.tuned.parameters() {
                self.selection.set_params(role, parameters);
                self.playout.set_params(role, parameters);
            }
        }
    }

    /// Returns the answer of the playout, whatever states it reads.
    fn skips_waits(&self) -> bool {
        self.playout.skips_waits()
    }

    /// Takes the next step of a simulation, which is in `state`.
    pub fn step<V: SearchState<G>>(
        &mut self,
        simulation: &mut Simulation,
        game: &G,
        state: &V,
        checker: &mut LimitChecker,
    ) -> StepAction
    where
        S: Selection<G, V>,
        P: Playout<G, V>,
        C: Cutoff<G, V>,
    {
        self.use_parameters(simulation);
        self.playout.watch(game, state);
        if let SimulationPosition::Below { node, first_edge } = simulation.position {
            simulation.position = self.expand(simulation, game, state, node, first_edge, &mut checker.spent);
        }
        match simulation.position {
            SimulationPosition::Node(node) if self.tree.nodes[node as usize].proved.is_some() => {
                simulation.rewards.clear();
                simulation.rewards.extend_from_slice(self.tree.outcome(node).unwrap_or_default());
                simulation.proved = Some(node);
                return StepAction::Finish;
            }
            SimulationPosition::Node(node) if !self.tree.is_leaf(node) => {
                if simulation.tree_moves >= Cutoff::<G, V>::tree_from(&self.cutoff)
                    && self.is_cut(simulation, game, state)
                {
                    return StepAction::Finish;
                }
                self.choose_in_tree(simulation, game, state, node);
                simulation.tree_moves += 1;
            }
            _ if state.is_terminal(game) => {
                self.reward(simulation, game, state);
                if self.config.solver && simulation.playout_moves == 0 {
                    simulation.proved = simulation.added;
                }
                return StepAction::Finish;
            }
            _ => {
                if self.is_cut(simulation, game, state) || simulation.playout_moves >= MAX_PLAYOUT {
                    return StepAction::Finish;
                }
                if checker.is_interrupted() {
                    return StepAction::Cancel;
                }
                self.choose_in_playout(simulation, game, state);
                simulation.position = SimulationPosition::Playout;
                simulation.playout_moves += 1;
                checker.spent.expansions += 1;
            }
        }
        if Self::RECORDS {
            simulation.history.record(game, state, &self.scratch.joint, self.skips_waits());
        }
        StepAction::Play
    }

    /// Returns whether the cutoff ends a simulation, and sets its rewards.
    #[inline]
    fn is_cut<V>(&mut self, simulation: &mut Simulation, game: &G, state: &V) -> bool
    where
        C: Cutoff<G, V>,
    {
        simulation.rewards.clear();
        simulation.rewards.resize(game.roles(), 0.0);
        self.cutoff.cut(game, state, simulation.playout_moves, &mut simulation.rewards)
    }

    /// Appends the move number of each role for the joint move that the last
    /// [`step`](Mcts::step) chose in `state` for this simulation.
    #[inline]
    pub fn move_numbers(&self, simulation: &Simulation, game: &G, state: &impl SearchState<G>, numbers: &mut Vec<u32>) {
        match Self::RECORDS {
            true => numbers.extend_from_slice(simulation.history.last()),
            false => state.numbers(game, &self.scratch.joint, numbers),
        }
    }

    /// Chooses a joint move at a node that is not a leaf.
    fn choose_in_tree<V>(&mut self, simulation: &mut Simulation, game: &G, state: &V, node: NodeId)
    where
        P: Playout<G, V>,
    {
        let first_edge = simulation.edges.len();
        self.scratch.joint.clear();
        let visit = |node: NodeId| NodeVisit { node, visits: self.tree.nodes[node as usize].visits };
        if simulation.parallel {
            // The selection has followed another simulation meanwhile.
            simulation.path.iter().for_each(|&node| self.selection.enter(visit(node)));
        }
        let visit = visit(node);
        self.selection.enter(visit);
        let turn = self.tree.nodes[node as usize].turn;
        for (seat, role) in turn.acting(game.roles()).enumerate() {
            let edge = match self.select(visit, seat, role) {
                Some(edge) => edge,
                None => self.choose_untried(simulation, game, state, self.tree.edges_of(node, seat), role),
            };
            simulation.edges.push(edge as EdgeId);
            self.scratch.joint.push(self.tree.edges[edge].mv);
        }
        if simulation.parallel {
            self.tree.nodes[node as usize].visits += 1;
            for &edge in &simulation.edges[first_edge..] {
                let stats = &mut self.tree.edges[edge as usize].stats;
                stats.visits += 1;
                stats.under_way += 1;
            }
        }
        simulation.path.push(node);
        simulation.position = SimulationPosition::Below { node, first_edge };
    }

    /// Returns the edge that the simulation follows for a role, or `None` if it must try an edge without visits
    /// first.
    #[inline]
    fn select(&mut self, visit: NodeVisit, seat: usize, role: usize) -> Option<usize> {
        let range = self.tree.edges_of(visit.node, seat);
        let edges = &self.tree.edges[range.clone()];
        let all_valued = self.selection.values_untried();
        let tolerance = self.selection.tolerance();
        let prepared = self.selection.prepare(visit, role);
        let values = &mut self.scratch.values;
        values.clear();
        let mut best = (f64::NEG_INFINITY, 0);
        for (index, edge) in edges.iter().enumerate() {
            if edge.stats.visits == 0 && !all_valued {
                return None;
            }
            let value = self.selection.value(prepared, edge.stats, edge.data);
            if value > best.0 {
                best = (value, index);
            }
            if tolerance > 0.0 {
                values.push(value);
            }
        }
        if tolerance > 0.0 {
            let near = |&(_, value): &(usize, &f64)| *value >= best.0 - tolerance;
            let count = values.iter().enumerate().filter(near).count();
            let index = if count > 1 { self.rng.random_range(0..count) } else { 0 };
            best.1 = values.iter().enumerate().filter(near).nth(index).map_or(best.1, |(index, _)| index);
        }
        Some(range.start + best.1)
    }

    /// Returns which of a role's edges to try, among those without visits.
    fn choose_untried<V>(
        &mut self,
        simulation: &Simulation,
        game: &G,
        state: &V,
        range: std::ops::Range<usize>,
        role: usize,
    ) -> usize
    where
        P: Playout<G, V>,
    {
        let Scratch { moves, untried, .. } = &mut self.scratch;
        untried.clear();
        moves.clear();
        let edges = self.tree.edges[range.clone()].iter().enumerate();
        for (index, edge) in edges.filter(|(_, edge)| edge.stats.visits == 0) {
            untried.push(index);
            moves.push(edge.mv);
        }
        let choice = self.playout.choose_untried(game, state, role, moves, &simulation.history, &mut self.rng);
        range.start + untried[choice]
    }

    /// Chooses a joint move beyond the tree.
    #[inline]
    fn choose_in_playout<V: SearchState<G>>(&mut self, simulation: &Simulation, game: &G, state: &V)
    where
        P: Playout<G, V>,
    {
        let Mcts { playout, rng, scratch, .. } = self;
        scratch.joint.clear();
        let acting = state.turn(game).acting(game.roles());
        scratch.joint.extend(acting.map(|role| playout.choose(game, state, role, &simulation.history, rng)));
    }

    /// Sets the rewards of a terminal state.
    fn reward(&mut self, simulation: &mut Simulation, game: &G, state: &impl SearchState<G>) {
        let goals = &mut self.scratch.goals;
        goals.clear();
        state.goals(game, goals);
        simulation.rewards.clear();
        simulation.rewards.extend(goals.iter().map(|&goal| f64::from(goal) / 100.0));
    }
}
