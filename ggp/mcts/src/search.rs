//! The search: the tree and its components, from one move of a match to the next.

use std::sync::atomic::AtomicBool;

use rand::RngExt;
use sternhalma_game::{Game, LimitChecker, Limits, MemoryBudget, MemoryUse, Rng, SearchClock, SearchStats, Turn};

use super::node_rewards::NodeRewards;
use super::tree::{EdgeId, Tree};
use super::tuning::{Tuners, Tuning};
use super::{
    Cutoff, Decision, EdgeValues, MctsConfig, MoveHistory, MoveStats, Playout, RandomPlayout, Selection, Simulation,
    ToTheEnd, Uct,
};

/// The result of a search for one role.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult<M> {
    /// The move to play.
    pub best: M,
    /// Each move of the role at the root, with its statistics.
    pub moves: Vec<(M, MoveStats)>,
    /// What the search spent.
    pub spent: SearchStats,
}

impl<M: PartialEq> SearchResult<M> {
    /// Creates the result of a move that was chosen without a search.
    pub fn without_search(best: M) -> SearchResult<M> {
        SearchResult { best, moves: Vec::new(), spent: SearchStats::default() }
    }

    /// Returns the mean reward of the move to play, 0 to 1, or `None` if the
    /// statistics of the root do not contain the move.
    pub fn value(&self) -> Option<f64> {
        // A proved move has an infinite mean.
        self.moves.iter().find(|(mv, _)| *mv == self.best).map(|(_, stats)| stats.mean().clamp(0.0, 1.0))
    }
}

/// Monte-Carlo tree search for any game, put together from a [`Selection`] in
/// the tree, a [`Playout`] beyond it, a [`Cutoff`] that may end it early, and a
/// [`MctsConfig`]. The [crate](crate) lists the steps of a simulation.
///
/// Rewards are goals divided by 100. In a simultaneous state, each role selects
/// by its own statistics, independently of the others. The tree is kept between
/// the moves of a match ([`advance`](Mcts::advance)).
///
/// ```
/// # use sternhalma_game::{Game, Turn};
/// # struct Nim;
/// # impl Game for Nim {
/// #     type State = (u32, usize);
/// #     type Move = u32;
/// #     fn roles(&self) -> usize { 2 }
/// #     fn initial(&self) -> (u32, usize) { (10, 0) }
/// #     fn turn(&self, state: &(u32, usize)) -> Turn { Turn::One(state.1) }
/// #     fn legal(&self, state: &(u32, usize), _: usize, moves: &mut Vec<u32>) { moves.extend(1..=state.0.min(3)); }
/// #     fn number(&self, _: usize, mv: u32) -> u32 { mv }
/// #     fn play(&self, state: &mut (u32, usize), joint: &[u32]) { *state = (state.0 - joint[0], 1 - state.1); }
/// #     fn is_terminal(&self, state: &(u32, usize)) -> bool { state.0 == 0 }
/// #     fn goal(&self, state: &(u32, usize), role: usize) -> u8 { if role == state.1 { 0 } else { 100 } }
/// # }
/// use sternhalma_game::Limits;
/// use sternhalma_mcts::Mcts;
/// // `Nim` is the game of the example of `Game`: the best move takes 2 of 10 stones.
/// let mut mcts = Mcts::uct(0.7, 1);
/// let result = mcts.search(&Nim, &Nim.initial(), 0, Limits::playouts(2000), &Default::default());
/// assert_eq!(result.best, 2);
/// ```
#[derive(Debug)]
pub struct Mcts<G: Game, S: EdgeValues, P, C> {
    pub(super) selection: S,
    pub(super) playout: P,
    pub(super) cutoff: C,
    pub(super) config: MctsConfig,
    pub(super) rng: Rng,
    pub(super) tree: Tree<G::Move, S::EdgeData>,
    /// The state of the root, if it is known.
    root: Option<G::State>,
    /// The number of joint moves of the match.
    pub(super) plies: u64,
    /// The last moves of the match, with which each simulation begins.
    pub(super) history: MoveHistory,
    /// The rewards at each node, if the decision needs them.
    pub(super) node_rewards: Option<NodeRewards>,
    tuning: Option<Tuning>,
    pub(super) tuners: Option<Tuners>,
    /// The simulation whose parameters selection and playouts use.
    pub(super) parameters_of: u64,
    /// The number of simulations that have begun.
    pub(super) begun: u64,
    /// Memory that is used again: of simulations, of a state, and of steps.
    pub(super) spare: Vec<Simulation>,
    pub(super) spare_state: Option<G::State>,
    pub(super) scratch: Scratch<G::Move>,
    /// The memory of the tree and of what selection and playouts learn.
    pub(super) memory: MemoryUse,
    seed: u64,
}

/// Memory for the steps of simulations. The contents last for one step.
#[derive(Debug)]
pub(super) struct Scratch<M> {
    pub moves: Vec<M>,
    pub joint: Vec<M>,
    pub goals: Vec<u8>,
    pub untried: Vec<usize>,
    pub values: Vec<f64>,
}

impl<M> Scratch<M> {
    fn new() -> Scratch<M> {
        Scratch { moves: Vec::new(), joint: Vec::new(), goals: Vec::new(), untried: Vec::new(), values: Vec::new() }
    }
}

impl<G: Game> Mcts<G, Uct, RandomPlayout<G::Move>, ToTheEnd> {
    /// Creates the plain search: UCT with exploration constant `c` on rewards
    /// 0 to 1, random playouts to the end of the game, and the default
    /// [`MctsConfig`].
    pub fn uct(c: f64, seed: u64) -> Self {
        Mcts::new(Uct::new(c), RandomPlayout::default(), ToTheEnd, MctsConfig::default(), seed)
    }
}

impl<G: Game, S: Selection<G>, P: Playout<G>, C: Cutoff<G>> Mcts<G, S, P, C> {
    /// Whether a component learns from the moves of simulations.
    pub(super) const RECORDS: bool = S::LEARNS || P::LEARNS;

    /// Creates a search with an empty tree. The same seed gives the same search.
    pub fn new(selection: S, playout: P, cutoff: C, config: MctsConfig, seed: u64) -> Self {
        Mcts {
            selection,
            playout,
            cutoff,
            config,
            rng: rand::SeedableRng::seed_from_u64(seed),
            tree: Tree::new(),
            root: None,
            history: MoveHistory::default(),
            node_rewards: None,
            tuning: None,
            tuners: None,
            parameters_of: 0,
            plies: 0,
            begun: 0,
            spare: Vec::new(),
            spare_state: None,
            scratch: Scratch::new(),
            memory: MemoryUse::default(),
            seed,
        }
    }

    /// Limits the memory of the tree and of what selection and playouts learn. When the memory is
    /// used up, the search continues without new nodes, until the match leaves a part of the tree
    /// behind.
    #[must_use]
    pub fn within(mut self, memory: &MemoryBudget) -> Self {
        self.memory = MemoryUse::of(memory);
        self
    }

    /// Returns the number of states in the tree.
    pub fn nodes(&self) -> usize {
        self.tree.nodes.len()
    }

    /// Tunes parameters of the search while it runs, for each role separately.
    #[must_use]
    pub fn tuned(mut self, tuning: Option<Tuning>) -> Self {
        self.tuning = tuning;
        self
    }

    /// Returns the playout policy with its learned statistics.
    pub fn playout(&self) -> &P {
        &self.playout
    }

    /// Begins a match, or continues it from another state than the match has
    /// reached: drops the tree and the moves of the match. The learned
    /// statistics of playouts are kept.
    pub fn begin(&mut self, game: &G, state: &G::State) {
        self.clear_tree();
        self.plies = 0;
        self.history = MoveHistory::new(game.roles());
        self.root = Some(state.clone());
    }

    fn clear_tree(&mut self) {
        let nodes = self.tree.nodes.len();
        self.tree.clear();
        self.selection.renumber(&vec![None; nodes]);
        self.node_rewards.iter_mut().for_each(NodeRewards::clear);
        self.count_memory();
    }

    /// Counts the memory that the search holds.
    #[inline]
    pub(super) fn count_memory(&mut self) {
        let rewards = self.node_rewards.as_ref().map_or(0, NodeRewards::bytes);
        let bytes = self.tree.bytes() + rewards + self.selection.memory() + self.playout.memory();
        self.memory.set(bytes as u64);
    }

    /// Gives selection and playouts half of the remaining memory each, to grow in.
    pub(super) fn divide_room(&mut self) {
        let room = usize::try_from(self.memory.budget().room() / 2).unwrap_or(usize::MAX / 2);
        self.selection.set_room(room);
        self.playout.set_room(room);
    }

    /// Follows a joint move of the match, with one move of each acting role,
    /// and keeps the part of the tree below it.
    pub fn advance(&mut self, game: &G, joint: &[G::Move]) {
        let Some(state) = &mut self.root else { return };
        if Self::RECORDS {
            self.history.record(game, state, joint, self.playout.skips_waits());
            self.history.commit_last();
        }
        self.playout.advance(game);
        self.tuners.iter_mut().for_each(Tuners::advance);
        game.play(state, joint);
        self.plies += 1;
        let find = |(seat, mv): (usize, &G::Move)| {
            let mut range = self.tree.edges_of(0, seat);
            range.find(|&edge| self.tree.edges[edge].mv == *mv).map(|edge| edge as EdgeId)
        };
        let known = !self.tree.is_empty();
        let edges: Option<Vec<EdgeId>> = known.then(|| joint.iter().enumerate().map(find).collect()).flatten();
        match edges.and_then(|edges| self.tree.child(0, &edges)) {
            Some(child) => {
                let numbers = self.tree.reroot(child);
                self.selection.renumber(&numbers);
                self.node_rewards.iter_mut().for_each(|rewards| rewards.renumber(&numbers));
            }
            None => self.clear_tree(),
        }
        if self.config.tree_gamma < 1.0 {
            self.tree.decay(self.config.tree_gamma);
            self.node_rewards.iter_mut().for_each(|rewards| rewards.decay(self.config.tree_gamma));
        }
        self.count_memory();
        self.divide_room();
    }

    /// Searches for a move of `role`, which must act in `state`, until a limit
    /// is reached or `stop` is set. Runs at least one simulation.
    ///
    /// If the match has [begun](Mcts::begin) or has been searched, `state` must
    /// be the one that it has reached by [`advance`](Mcts::advance).
    ///
    /// # Panics
    /// If the state is terminal or the role does not act.
    pub fn search(
        &mut self,
        game: &G,
        state: &G::State,
        role: usize,
        limits: Limits,
        stop: &AtomicBool,
    ) -> SearchResult<G::Move> {
        self.resume(game, state, role, limits, stop, SearchStats::default())
    }

    /// Resumes a [`search`](Mcts::search) of the same state that has spent
    /// `spent`. The limits are those of the whole search. A search in several
    /// parts runs the simulations that it would run in one.
    ///
    /// # Panics
    /// If the state is terminal or the role does not act.
    pub fn resume(
        &mut self,
        game: &G,
        state: &G::State,
        role: usize,
        limits: Limits,
        stop: &AtomicBool,
        spent: SearchStats,
    ) -> SearchResult<G::Move> {
        self.playout.play_for(role);
        let spent = self.think(game, state, limits, stop, spent, SearchClock::Play);
        self.result(game, state, role, spent)
    }

    /// Runs simulations from a state that is not terminal, whichever role acts
    /// there, until a limit is reached or `stop` is set. Returns what was spent
    /// in all, `spent` included.
    ///
    /// # Panics
    /// If the state is terminal.
    pub fn think(
        &mut self,
        game: &G,
        state: &G::State,
        limits: Limits,
        stop: &AtomicBool,
        spent: SearchStats,
        clock: SearchClock,
    ) -> SearchStats {
        let mut checker = LimitChecker::resumed(limits, stop, spent).under(clock);
        self.prepare(game, state, &mut checker);
        while self.simulate(game, state, &mut checker) && !checker.is_over() && !self.is_solved() {}
        checker.spent()
    }

    /// Makes `state` the root if the tree is empty.
    pub fn prepare(&mut self, game: &G, state: &G::State, checker: &mut LimitChecker) {
        if self.history.roles() != game.roles() {
            self.history = MoveHistory::new(game.roles());
        }
        if let (Some(tuning), None) = (&self.tuning, &self.tuners) {
            let tuners = Tuners::new(tuning, game.roles(), self.seed);
            self.tuners = Some(tuners.expect("the settings of a `Tuning` are valid"));
        }
        if self.config.decision == Decision::EffectiveQuality && self.node_rewards.is_none() {
            self.node_rewards = Some(NodeRewards::new(game.roles()));
        }
        if self.tree.is_empty() {
            self.root = Some(state.clone());
            self.tree.add(game, state, &mut self.scratch.moves, &mut self.selection);
            assert!(!self.tree.is_leaf(0), "the state that is searched is not terminal");
            checker.spent.expansions += 1;
        }
    }

    /// Returns whether the outcome of the root is proved.
    #[inline]
    pub fn is_solved(&self) -> bool {
        self.tree.nodes.first().is_some_and(|root| root.proved.is_some())
    }

    /// Returns the result for a role that acts in the state of the root.
    ///
    /// # Panics
    /// If the role does not act, or no simulation was run.
    pub fn result(&self, game: &G, state: &G::State, role: usize, spent: SearchStats) -> SearchResult<G::Move> {
        let seat = game.turn(state).acting(game.roles()).position(|acting| acting == role);
        let seat = seat.expect("the role acts in the state that is searched");
        let edges = &self.tree.edges[self.tree.edges_of(0, seat)];
        let best = self.best_effective_quality(game, role, seat);
        let best = best.or_else(|| self.config.decision.best(edges.iter().map(|edge| edge.stats)));
        SearchResult {
            best: edges[best.expect("there is a move")].mv,
            moves: edges.iter().map(|edge| (edge.mv, edge.stats)).collect(),
            spent,
        }
    }

    /// Returns the index of the move of highest effective quality among those
    /// of a role at the root, or `None` if another decision is configured or no
    /// child of the root is in the tree.
    fn best_effective_quality(&self, game: &G, role: usize, seat: usize) -> Option<usize> {
        let rewards = self.node_rewards.as_ref()?;
        let first = self.tree.edges_of(0, seat).start;
        let best = rewards.best(&self.tree, role, seat, |mv| self.playout.preference(game, role, mv));
        // A copy of the generator, so that deciding does not change the search.
        let choice = if best.len() > 1 { self.rng.clone().random_range(0..best.len()) } else { 0 };
        best.get(choice).map(|&edge| edge - first)
    }

    /// Returns the principal variation: the move to play, then the most visited
    /// ones, as far as they are in the tree and one role acts alone. The
    /// variation is empty before a search. [`Decision::EffectiveQuality`]
    /// counts as [`Decision::BestAverage`] here.
    pub fn principal_variation(&self) -> Vec<G::Move> {
        let mut line = Vec::new();
        let mut node = (!self.tree.is_empty()).then_some(0);
        let mut decision = self.config.decision;
        while let Some(id) = node.filter(|&id| matches!(self.tree.nodes[id as usize].turn, Turn::One(_))) {
            let range = self.tree.edges_of(id, 0);
            let stats = self.tree.edges[range.clone()].iter().map(|edge| edge.stats);
            let Some(edge) = decision.best(stats).map(|best| range.start + best) else { break };
            let found = &self.tree.edges[edge];
            if found.stats.visits == 0 {
                break;
            }
            line.push(found.mv);
            node = self.tree.child(id, &[edge as EdgeId]);
            decision = Decision::MostVisits;
        }
        line
    }
}
