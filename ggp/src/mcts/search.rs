//! Monte-Carlo tree search.

use std::sync::atomic::AtomicBool;

use rand::RngExt;

use super::clock::SearchClock;
use super::config::{MOST_EDGES, MctsConfig};
use super::cutoff::Cutoff;
use super::decision::Decision;
use super::move_history::MoveHistory;
use super::node_rewards::NodeRewards;
use super::playout::{Phase, Playout};
use super::selection::{NodeVisit, Selection};
use super::stats::MoveStats;
use super::tree::{NodeId, Tree};
use super::tuning::{Tuned, Tuners, Tuning};
use crate::game::{Game, Turn};
use crate::limits::{LimitChecker, Limits, SearchStats};
use crate::rng::Rng;

/// What a search found for a role: the moves at the root with their statistics.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult<M> {
    /// The move to play.
    pub best: M,
    /// Every move of the role at the root, as the search knows it.
    pub moves: Vec<(M, MoveStats)>,
    /// What the search spent.
    pub spent: SearchStats,
}

/// Monte-Carlo tree search for any game, put together from parts:
/// [`Selection`] in the tree, [`Playout`] beyond it, [`Cutoff`] to end it, and
/// [`MctsConfig`].
///
/// Rewards are goals over 100. In a simultaneous state each role selects by
/// its own statistics, independent of the others'. The tree is kept between
/// the moves of a match ([`advance`](Mcts::advance)).
///
/// ```
/// # use sternhalma_ggp::{Game, Turn};
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
/// use sternhalma_ggp::{Limits, Mcts, RandomPlayout, MctsConfig, ToTheEnd, Uct};
/// // Nim, as in the example of `Game`: of 10 stones take 2.
/// let mut mcts = Mcts::new(Uct::new(0.7), RandomPlayout::default(), ToTheEnd, MctsConfig::default(), 1);
/// let found = mcts.search(&Nim, &Nim.initial(), 0, Limits::playouts(2000), &Default::default());
/// assert_eq!(found.best, 2);
/// ```
#[derive(Debug)]
pub struct Mcts<G: Game, S: Selection<G>, P, C> {
    selection: S,
    playout: P,
    cutoff: C,
    settings: MctsConfig,
    rng: Rng,
    pub(super) tree: Tree<G::Move, S::EdgeData>,
    /// The state of the root, if it is known.
    root: Option<G::State>,
    /// The state of the last simulation, whose memory the next one uses.
    scratch: Option<G::State>,
    /// The moves of the simulation, if a part learns from them.
    trail: MoveHistory,
    simulation: Simulation,
    /// What every role got at each node, if the decision asks for it.
    pub(super) arrivals: Option<NodeRewards>,
    buffers: Scratch<G::Move>,
    /// Whether other simulations may be under way beside the one at hand.
    side_by_side: bool,
    tuning: Option<Tuning>,
    accumulates: bool,
    tuners: Option<Tuners>,
    seed: u64,
}

/// Where a simulation is.
#[derive(Clone, Copy, Debug)]
enum At {
    /// At the state of a node.
    Node(NodeId),
    /// After the moves of a node that `edges` of the buffer have from `first` on.
    Below { node: NodeId, first: usize },
    /// Beyond the tree.
    Beyond,
}

/// What a simulation is about to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Play the joint move.
    Play,
    /// Learn: it has come to its rewards.
    Learn,
    /// Nothing: it is interrupted, and forgotten.
    Forget,
}

/// A simulation that is under way.
#[derive(Debug)]
struct Simulation {
    at: At,
    /// The node that it has added to the tree.
    added: Option<NodeId>,
    /// The node at which it has ended, whose outcome is proved.
    proved: Option<NodeId>,
    /// Moves played in the tree, and beyond.
    tree_moves: u32,
    playout_moves: u32,
}

/// A simulation that is under way while another is at hand.
#[derive(Debug)]
pub(crate) struct Flight {
    simulation: Simulation,
    trail: MoveHistory,
    path: Vec<NodeId>,
    edges: Vec<u32>,
    tuned: Tuned,
}

/// What a simulation works in.
#[derive(Debug)]
struct Scratch<M> {
    moves: Vec<M>,
    joint: Vec<M>,
    rewards: Vec<f64>,
    goals: Vec<u8>,
    /// The nodes of the simulation, and the edges it took, one a seat of each.
    path: Vec<NodeId>,
    edges: Vec<u32>,
    untried: Vec<usize>,
    values: Vec<f64>,
}

impl<G: Game, S: Selection<G>, P: Playout<G>, C: Cutoff<G>> Mcts<G, S, P, C> {
    const RECORDS: bool = S::LEARNS || P::LEARNS;

    /// A search with an empty tree.
    pub fn new(selection: S, playout: P, cutoff: C, settings: MctsConfig, seed: u64) -> Self {
        let buffers = Scratch {
            moves: Vec::new(),
            joint: Vec::new(),
            rewards: Vec::new(),
            goals: Vec::new(),
            path: Vec::new(),
            edges: Vec::new(),
            untried: Vec::new(),
            values: Vec::new(),
        };
        Mcts {
            selection,
            playout,
            cutoff,
            settings,
            rng: rand::SeedableRng::seed_from_u64(seed),
            tree: Tree::new(),
            root: None,
            scratch: None,
            trail: MoveHistory::default(),
            simulation: Simulation { at: At::Beyond, added: None, proved: None, tree_moves: 0, playout_moves: 0 },
            arrivals: None,
            buffers,
            side_by_side: false,
            tuning: None,
            accumulates: false,
            tuners: None,
            seed,
        }
    }

    /// Tunes the search's parameters while it runs, for each role separately.
    /// `accumulates` says whether moves mostly add permanent facts: some tuning
    /// methods expect other parameters to be good then.
    #[must_use]
    pub fn tuned(mut self, tuning: Option<Tuning>, accumulates: bool) -> Self {
        self.tuning = tuning;
        self.accumulates = accumulates;
        self
    }

    /// The playout, with what it has learnt.
    pub fn playout(&self) -> &P {
        &self.playout
    }

    /// Forgets the tree and the moves of the match, which goes on from `state`.
    /// What playouts have learnt stays.
    pub fn begin(&mut self, game: &G, state: &G::State) {
        self.clear_tree();
        self.trail = MoveHistory::new(game.roles());
        self.root = Some(state.clone());
    }

    fn clear_tree(&mut self) {
        let nodes = self.tree.nodes.len();
        self.tree.clear();
        self.selection.renumber(&vec![None; nodes]);
        self.arrivals.iter_mut().for_each(NodeRewards::clear);
    }

    /// Follows a joint move of the match, one move an acting role, and keeps
    /// the part of the tree below it.
    pub fn advance(&mut self, game: &G, joint: &[G::Move]) {
        let Some(state) = &mut self.root else { return };
        if Self::RECORDS {
            self.trail.rewind();
            record(game, state, joint, &mut self.trail, self.playout.skips_waits());
            self.trail.commit_last();
        }
        self.playout.advance(game);
        self.tuners.iter_mut().for_each(Tuners::advance);
        game.play(state, joint);
        let find = |(seat, mv): (usize, &G::Move)| {
            let mut range = self.tree.edges_of(0, seat);
            range.find(|&edge| self.tree.edges[edge].mv == *mv).map(|edge| edge as u32)
        };
        let known = !self.tree.is_empty();
        let edges: Option<Vec<u32>> = known.then(|| joint.iter().enumerate().map(find).collect()).flatten();
        match edges.and_then(|edges| self.tree.child(0, &edges)) {
            Some(child) => {
                let numbers = self.tree.reroot(child);
                self.selection.renumber(&numbers);
                self.arrivals.iter_mut().for_each(|arrivals| arrivals.renumber(&numbers));
            }
            None => self.clear_tree(),
        }
        if self.settings.tree_gamma < 1.0 {
            self.tree.fade(self.settings.tree_gamma);
            self.arrivals.iter_mut().for_each(|arrivals| arrivals.fade(self.settings.tree_gamma));
        }
    }

    /// Searches from a state for a move of `role`, which is to act there,
    /// until a limit is reached or `stop` is set. At least one simulation is run.
    ///
    /// If a match has [begun](Mcts::begin) or been searched, the state is to
    /// be the one it has come to by [`advance`](Mcts::advance).
    ///
    /// # Panics
    /// If the state is terminal or the role is not to act.
    pub fn search(
        &mut self,
        game: &G,
        state: &G::State,
        role: usize,
        limits: Limits,
        stop: &AtomicBool,
    ) -> SearchResult<G::Move> {
        self.search_on(game, state, role, limits, stop, SearchStats::default())
    }

    /// Goes on with a [`search`](Mcts::search) of the same state that has
    /// spent `spent`; the limits are those of the whole. A search in parts
    /// runs the simulations that it would have run in one.
    ///
    /// # Panics
    /// As `search` does.
    pub fn search_on(
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
        self.found(game, state, role, spent)
    }

    /// Runs simulations from a state that is not terminal, whoever is to act
    /// there, until a limit is reached or `stop` is set, and returns what was
    /// spent: `spent` before, and the simulations.
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
        let mut meter = LimitChecker::resumed(limits, stop, spent);
        self.prepare(game, state, &mut meter);
        while self.simulate(game, state, &mut meter, clock) && !meter.is_over() && !self.is_solved() {}
        meter.finish()
    }

    /// What the simulations so far say of the moves of a role that is to act
    /// in the state at the root.
    ///
    /// # Panics
    /// If it is not to act, or there was no simulation.
    pub(crate) fn found(&self, game: &G, state: &G::State, role: usize, spent: SearchStats) -> SearchResult<G::Move> {
        let seat = game.turn(state).acting(game.roles()).position(|acting| acting == role);
        let seat = seat.expect("the role is to act in the state that is searched");
        let edges = &self.tree.edges[self.tree.edges_of(0, seat)];
        let best = self.decide(game, role, seat);
        let best = best.or_else(|| self.settings.decision.best(edges.iter().map(|edge| edge.stats)));
        SearchResult {
            best: edges[best.expect("there is a move")].mv,
            moves: edges.iter().map(|edge| (edge.mv, edge.stats)).collect(),
            spent,
        }
    }

    /// The index of the move of highest effective quality among those of a
    /// role at the root; none if another decision is asked for, or no joint
    /// move of the root has become a node.
    fn decide(&self, game: &G, role: usize, seat: usize) -> Option<usize> {
        let arrivals = self.arrivals.as_ref()?;
        let first = self.tree.edges_of(0, seat).start;
        let best = arrivals.best(&self.tree, role, seat, |mv| self.playout.prefer(game, role, mv));
        // The search goes on as if nothing had been drawn.
        let choice = if best.len() > 1 { self.rng.clone().random_range(0..best.len()) } else { 0 };
        best.get(choice).map(|&edge| edge - first)
    }

    /// The principal variation, as far as the tree goes and one role acts
    /// alone: the move that would be played, then the most visited. Empty
    /// before a search. A decision by effective quality counts as that by
    /// averages here.
    pub fn line(&self) -> Vec<G::Move> {
        let mut line = Vec::new();
        let mut node = (!self.tree.is_empty()).then_some(0);
        let mut decision = self.settings.decision;
        while let Some(id) = node.filter(|&id| matches!(self.tree.nodes[id as usize].turn, Turn::One(_))) {
            let range = self.tree.edges_of(id, 0);
            let stats = self.tree.edges[range.clone()].iter().map(|edge| edge.stats);
            let Some(edge) = decision.best(stats).map(|best| range.start + best) else { break };
            let found = &self.tree.edges[edge];
            if found.stats.visits == 0 {
                break;
            }
            line.push(found.mv);
            node = self.tree.child(id, &[edge as u32]);
            decision = Decision::MostVisits;
        }
        line
    }

    /// Makes the state the root, if there is none.
    pub(crate) fn prepare(&mut self, game: &G, state: &G::State, meter: &mut LimitChecker) {
        if self.trail.roles() != game.roles() {
            self.trail = MoveHistory::new(game.roles());
        }
        if let (Some(tuning), None) = (&self.tuning, &self.tuners) {
            self.tuners = Some(Tuners::new(tuning, game.roles(), self.accumulates, self.seed));
        }
        if self.settings.decision == Decision::EffectiveQuality && self.arrivals.is_none() {
            self.arrivals = Some(NodeRewards::new(game.roles()));
        }
        if self.tree.is_empty() {
            self.root = Some(state.clone());
            self.tree.add(game, state, &mut self.buffers.moves, &mut self.selection);
            assert!(!self.tree.is_leaf(0), "the state that is searched is not terminal");
            meter.spent.expansions += 1;
        }
    }

    /// Whether the outcome of the root is proved.
    #[inline]
    pub(crate) fn is_solved(&self) -> bool {
        self.tree.nodes.first().is_some_and(|root| root.proved.is_some())
    }

    /// Runs a simulation; one that is interrupted is forgotten, and false.
    fn simulate(&mut self, game: &G, root: &G::State, meter: &mut LimitChecker, clock: SearchClock) -> bool {
        let mut state = match self.scratch.take() {
            Some(mut scratch) => {
                scratch.clone_from(root);
                scratch
            }
            None => root.clone(),
        };
        self.set_out(game, meter, clock);
        let mut next = self.next(game, &state, meter);
        while next == Next::Play {
            if Self::RECORDS {
                game.play_numbered(&mut state, &self.buffers.joint, self.trail.last());
            } else {
                game.play(&mut state, &self.buffers.joint);
            }
            next = self.next(game, &state, meter);
        }
        self.scratch = Some(state);
        if next == Next::Learn {
            self.learn(game, meter);
        }
        next == Next::Learn
    }

    /// Begins to run many simulations side by side, or ends it when none is
    /// under way but one. Until a simulation ends, what it chose in the tree
    /// counts as visited, and has no part in averages (WU-UCT).
    pub(crate) fn set_side_by_side(&mut self, on: bool) {
        self.side_by_side = on;
    }

    /// A simulation that has not set out.
    pub(crate) fn flight(&self) -> Flight {
        let simulation = Simulation { at: At::Beyond, added: None, proved: None, tree_moves: 0, playout_moves: 0 };
        Flight { simulation, trail: self.trail.clone(), path: Vec::new(), edges: Vec::new(), tuned: Tuned::default() }
    }

    /// Takes a simulation up, and puts the one at hand in its place.
    #[inline]
    pub(crate) fn swap(&mut self, flight: &mut Flight) {
        std::mem::swap(&mut self.simulation, &mut flight.simulation);
        std::mem::swap(&mut self.trail, &mut flight.trail);
        std::mem::swap(&mut self.buffers.path, &mut flight.path);
        std::mem::swap(&mut self.buffers.edges, &mut flight.edges);
        if let Some(tuners) = &mut self.tuners {
            tuners.swap(&mut flight.tuned, |role, controls| {
                self.selection.set(role, controls);
                self.playout.set(role, controls);
            });
        }
    }

    /// Forgets the simulation at hand, one of many side by side.
    pub(crate) fn forget(&mut self, roles: usize) {
        let mut edges = self.buffers.edges.iter();
        for &node in &self.buffers.path {
            let node = &mut self.tree.nodes[node as usize];
            node.visits -= 1;
            for (_, &edge) in node.turn.acting(roles).zip(edges.by_ref()) {
                let stats = &mut self.tree.edges[edge as usize].stats;
                stats.visits -= 1;
                stats.under_way -= 1;
            }
        }
    }

    /// Begins a simulation at the root.
    pub(crate) fn set_out(&mut self, game: &G, meter: &LimitChecker, clock: SearchClock) {
        self.buffers.path.clear();
        self.buffers.edges.clear();
        self.trail.rewind();
        self.simulation = Simulation { at: At::Node(0), added: None, proved: None, tree_moves: 0, playout_moves: 0 };
        let phase = match clock {
            SearchClock::Start => Phase::Start(meter.share()),
            SearchClock::StartAt(gone) => Phase::Start(gone),
            SearchClock::Play => Phase::Play,
        };
        if let Some(tuners) = &mut self.tuners {
            tuners.choose(|role, controls| {
                self.selection.set(role, controls);
                self.playout.set(role, controls);
            });
        }
        self.playout.begin(game, phase, &mut self.rng);
    }

    /// What the simulation does in the state that it has come to. A joint
    /// move it chooses is to be played before it is asked again.
    pub(crate) fn next(&mut self, game: &G, state: &G::State, meter: &mut LimitChecker) -> Next {
        if P::WATCHES {
            self.playout.watch(game, state);
        }
        if let At::Below { node, first } = self.simulation.at {
            self.simulation.at = self.arrive(game, state, node, first, &mut meter.spent);
        }
        match self.simulation.at {
            At::Node(node) if self.tree.nodes[node as usize].proved.is_some() => {
                let Mcts { buffers, tree, .. } = self;
                buffers.rewards.clear();
                buffers.rewards.extend_from_slice(tree.outcome(node).unwrap_or_default());
                self.simulation.proved = Some(node);
                return Next::Learn;
            }
            At::Node(node) if !self.tree.is_leaf(node) => {
                self.choose_at(game, state, node);
                self.simulation.tree_moves += 1;
            }
            _ if game.is_terminal(state) => {
                self.reward(game, state);
                if self.settings.solver && self.simulation.playout_moves == 0 {
                    self.simulation.proved = self.simulation.added;
                }
                return Next::Learn;
            }
            _ => {
                self.clear_rewards(game);
                if self.cutoff.cut(game, state, self.simulation.playout_moves, &mut self.buffers.rewards) {
                    return Next::Learn;
                }
                if meter.is_interrupted() {
                    return Next::Forget;
                }
                self.choose_beyond(game, state);
                self.simulation.at = At::Beyond;
                self.simulation.playout_moves += 1;
                meter.spent.expansions += 1;
            }
        }
        self.record(game, state);
        Next::Play
    }

    /// Adds the joint move that was chosen to the trail, if a part learns from it.
    #[inline]
    fn record(&mut self, game: &G, state: &G::State) {
        if Self::RECORDS {
            record(game, state, &self.buffers.joint, &mut self.trail, self.playout.skips_waits());
        }
    }

    /// Adds the numbers of the joint move that was chosen in a state.
    #[inline]
    pub(crate) fn numbers(&self, game: &G, state: &G::State, numbers: &mut Vec<u32>) {
        match Self::RECORDS {
            true => numbers.extend_from_slice(self.trail.last()),
            false => game.numbers(state, &self.buffers.joint, numbers),
        }
    }

    /// Chooses at a node that is no leaf.
    fn choose_at(&mut self, game: &G, state: &G::State, node: NodeId) {
        let first = self.buffers.edges.len();
        self.buffers.joint.clear();
        let place = |node: NodeId| NodeVisit { node, visits: self.tree.nodes[node as usize].visits };
        if self.side_by_side {
            self.buffers.path.iter().for_each(|&node| self.selection.enter(place(node)));
        }
        let place = place(node);
        self.selection.enter(place);
        let turn = self.tree.nodes[node as usize].turn;
        for (seat, role) in turn.acting(game.roles()).enumerate() {
            let edge = self.select(game, state, place, seat, role);
            self.buffers.edges.push(edge as u32);
            self.buffers.joint.push(self.tree.edges[edge].mv);
        }
        if self.side_by_side {
            self.tree.nodes[node as usize].visits += 1;
            let chosen = &self.buffers.edges[first..];
            for &edge in chosen {
                let stats = &mut self.tree.edges[edge as usize].stats;
                stats.visits += 1;
                stats.under_way += 1;
            }
        }
        self.buffers.path.push(node);
        self.simulation.at = At::Below { node, first };
    }

    /// Chooses beyond the tree.
    #[inline]
    fn choose_beyond(&mut self, game: &G, state: &G::State) {
        let Mcts { playout, trail, rng, buffers, .. } = self;
        buffers.joint.clear();
        let acting = game.turn(state).acting(game.roles());
        buffers.joint.extend(acting.map(|role| playout.choose(game, state, role, trail, rng)));
    }

    /// Where a simulation is after the edges of a node that it has followed: a
    /// node that may be new, or beyond the tree.
    fn arrive(&mut self, game: &G, state: &G::State, node: NodeId, first: usize, spent: &mut SearchStats) -> At {
        let edges = &self.buffers.edges[first..];
        if let Some(child) = self.tree.child(node, edges) {
            return At::Node(child);
        }
        // A joint move has been followed as often as the rarest of its moves at most.
        let followed = edges.iter().map(|&edge| self.tree.edges[edge as usize].stats.visits).min();
        if followed.is_none_or(|visits| visits < self.settings.expansion_threshold) {
            return At::Beyond;
        }
        let key = if self.settings.transpositions { game.key(state) } else { None };
        if let Some(known) = key.and_then(|key| self.tree.find(key)) {
            self.tree.set_child(node, edges, known);
            return At::Node(known);
        }
        if self.tree.edges.len() < self.settings.most_edges.min(MOST_EDGES) {
            let child = self.tree.add(game, state, &mut self.buffers.moves, &mut self.selection);
            self.tree.set_child(node, &self.buffers.edges[first..], child);
            spent.expansions += 1;
            self.simulation.added = Some(child);
            if let Some(key) = key {
                self.tree.set_key(child, key);
            }
        }
        At::Beyond
    }

    /// The edge a simulation takes: an untried one while there are any, unless
    /// the selection values them.
    #[inline]
    fn select(&mut self, game: &G, state: &G::State, place: NodeVisit, seat: usize, role: usize) -> usize {
        let range = self.tree.edges_of(place.node, seat);
        let edges = &self.tree.edges[range.clone()];
        let all_valued = self.selection.values_untried();
        let tolerance = self.selection.tolerance();
        let prepared = self.selection.prepare(place, role);
        let values = &mut self.buffers.values;
        values.clear();
        let mut best = (f64::NEG_INFINITY, 0);
        for (index, edge) in edges.iter().enumerate() {
            if edge.stats.visits == 0 && !all_valued {
                return range.start + self.untried(game, state, range, role);
            }
            let value = self.selection.value(prepared, edge.stats, edge.note);
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
        range.start + best.1
    }

    /// Which of the edges of a role to try, of those without visits.
    fn untried(&mut self, game: &G, state: &G::State, edges: std::ops::Range<usize>, role: usize) -> usize {
        let Scratch { moves, untried, .. } = &mut self.buffers;
        untried.clear();
        moves.clear();
        let edges = self.tree.edges[edges].iter().enumerate();
        for (index, edge) in edges.filter(|(_, edge)| edge.stats.visits == 0) {
            untried.push(index);
            moves.push(edge.mv);
        }
        untried[self.playout.choose_untried(game, state, role, moves, &self.trail, &mut self.rng)]
    }

    fn clear_rewards(&mut self, game: &G) {
        self.buffers.rewards.clear();
        self.buffers.rewards.resize(game.roles(), 0.0);
    }

    /// The rewards of a terminal state.
    fn reward(&mut self, game: &G, state: &G::State) {
        let Scratch { rewards, goals, .. } = &mut self.buffers;
        goals.clear();
        game.goals(state, goals);
        rewards.clear();
        rewards.extend(goals.iter().map(|&goal| f64::from(goal) / 100.0));
    }

    /// Learns from the simulation, which has come to its rewards.
    pub(crate) fn learn(&mut self, game: &G, meter: &mut LimitChecker) {
        let Simulation { tree_moves, playout_moves, .. } = self.simulation;
        meter.spent.playouts += 1;
        meter.spent.depth = meter.spent.depth.max(tree_moves);
        if let Some(tuners) = &mut self.tuners {
            tuners.update(&self.buffers.rewards, tree_moves + playout_moves);
        }
        self.settings.length_bonus.shape(&mut self.buffers.rewards, tree_moves + playout_moves);
        self.back_up(game.roles());
        if let Some(node) = self.simulation.proved {
            let Scratch { path, edges, rewards, .. } = &self.buffers;
            self.tree.prove(path, edges, node, rewards);
        }
        let Scratch { path, edges, rewards, .. } = &mut self.buffers;
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.learn(&self.tree, path, edges, rewards);
        }
        // What came after it is the first that is known of a new node.
        path.extend(self.simulation.added);
        if S::LEARNS {
            self.selection.learn(path, &self.trail, rewards);
        }
        self.playout.learn(game, &self.trail, rewards);
    }

    fn back_up(&mut self, roles: usize) {
        // One of many has been counted as it went.
        let visits = u32::from(!self.side_by_side);
        let mut edges = self.buffers.edges.iter();
        for &node in &self.buffers.path {
            let node = &mut self.tree.nodes[node as usize];
            node.visits += visits;
            for (role, &edge) in node.turn.acting(roles).zip(edges.by_ref()) {
                let stats = &mut self.tree.edges[edge as usize].stats;
                stats.visits += visits;
                stats.under_way -= u32::from(self.side_by_side);
                stats.sum += self.buffers.rewards[role];
            }
        }
    }
}

/// Adds the joint move that is to be played in a state to a trail, and who of
/// the roles has no choice if that is to be told.
#[inline]
fn record<G: Game>(game: &G, state: &G::State, joint: &[G::Move], trail: &mut MoveHistory, with_waits: bool) {
    trail.push(|numbers| game.numbers(state, joint, numbers));
    if with_waits {
        trail.mark_waits(|role| !game.has_choice(state, role));
    }
}
