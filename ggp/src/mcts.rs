//! Monte-Carlo tree search.

use std::sync::atomic::AtomicBool;

use crate::game::{Game, Rng, Turn};
use crate::limits::{Limits, Meter, Spent};
use crate::parts::{Cutoff, Decision, LengthBonus, MoveStats, Playout, Selection};
use crate::tree::{NodeId, Tree};

/// Edges are numbered in 32 bits.
const MOST_EDGES: usize = 1 << 31;

/// The parts of a search that are plain numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// How often a move is followed before the state after it becomes a node:
    /// 0 adds a node with every simulation.
    pub expansion_threshold: u32,
    /// What the length of a simulation does to its rewards.
    pub length_bonus: LengthBonus,
    /// Which move is played after the search.
    pub decision: Decision,
    /// A tree with this many moves grows no more. A move takes some 24 bytes.
    pub most_edges: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            expansion_threshold: 0,
            length_bonus: LengthBonus::NONE,
            decision: Decision::BestAverage,
            most_edges: MOST_EDGES,
        }
    }
}

/// What a search found for a role: the moves at the root with their statistics.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<M> {
    /// The move to play.
    pub best: M,
    /// Every move of the role at the root, as the search knows it.
    pub moves: Vec<(M, MoveStats)>,
    /// What the search spent.
    pub spent: Spent,
}

/// Monte-Carlo tree search for any game, put together from parts:
/// [`Selection`] in the tree, [`Playout`] beyond it, [`Cutoff`] to end it, and
/// [`Settings`].
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
/// #     fn play(&self, state: &mut (u32, usize), joint: &[u32]) { *state = (state.0 - joint[0], 1 - state.1); }
/// #     fn is_terminal(&self, state: &(u32, usize)) -> bool { state.0 == 0 }
/// #     fn goal(&self, state: &(u32, usize), role: usize) -> u8 { if role == state.1 { 0 } else { 100 } }
/// # }
/// use sternhalma_ggp::{Limits, Mcts, RandomPlayout, Settings, ToTheEnd, Uct};
/// // Nim, as in the example of `Game`: of 10 stones take 2.
/// let mut mcts = Mcts::new(Uct { c: 0.7 }, RandomPlayout::default(), ToTheEnd, Settings::default(), 1);
/// let found = mcts.search(&Nim, &Nim.initial(), 0, Limits::playouts(2000), &Default::default());
/// assert_eq!(found.best, 2);
/// ```
#[derive(Debug)]
pub struct Mcts<G: Game, S, P, C> {
    selection: S,
    playout: P,
    cutoff: C,
    settings: Settings,
    rng: Rng,
    tree: Tree<G::Move>,
    /// The state of the root, if there is a tree.
    root: Option<G::State>,
    /// The state of the last simulation, whose memory the next one uses.
    scratch: Option<G::State>,
    buffers: Buffers<G::Move>,
}

/// What a simulation works in.
#[derive(Debug)]
struct Buffers<M> {
    moves: Vec<M>,
    joint: Vec<M>,
    rewards: Vec<f64>,
    goals: Vec<u8>,
    /// The nodes of the simulation, and the edges it took, one a seat of each.
    path: Vec<NodeId>,
    edges: Vec<u32>,
    untried: Vec<usize>,
}

impl<G: Game, S: Selection, P: Playout<G>, C: Cutoff<G>> Mcts<G, S, P, C> {
    /// A search with an empty tree.
    pub fn new(selection: S, playout: P, cutoff: C, settings: Settings, seed: u64) -> Self {
        let buffers = Buffers {
            moves: Vec::new(),
            joint: Vec::new(),
            rewards: Vec::new(),
            goals: Vec::new(),
            path: Vec::new(),
            edges: Vec::new(),
            untried: Vec::new(),
        };
        let rng = rand::SeedableRng::seed_from_u64(seed);
        Mcts { selection, playout, cutoff, settings, rng, tree: Tree::new(), root: None, scratch: None, buffers }
    }

    /// Forgets the tree. The next search begins with `state`.
    pub fn reset(&mut self) {
        self.tree.clear();
        self.root = None;
    }

    /// Follows a joint move of the match, one move an acting role, and keeps
    /// the part of the tree below it.
    pub fn advance(&mut self, game: &G, joint: &[G::Move]) {
        let Some(state) = &mut self.root else { return };
        let find = |(seat, mv): (usize, &G::Move)| {
            let mut range = self.tree.edges_of(0, seat);
            range.find(|&edge| self.tree.edges[edge].mv == *mv).map(|edge| edge as u32)
        };
        let edges: Option<Vec<u32>> = joint.iter().enumerate().map(find).collect();
        match edges.and_then(|edges| self.tree.child(0, &edges)) {
            Some(child) => {
                game.play(state, joint);
                self.tree.reroot(child);
            }
            None => self.reset(),
        }
    }

    /// Searches from a state for a move of `role`, which is to act there,
    /// until a limit is reached or `stop` is set. At least one simulation is run.
    ///
    /// If the tree has a root it is to be this state's: after each move of a
    /// match either [`advance`](Mcts::advance) or [`reset`](Mcts::reset).
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
    ) -> Found<G::Move> {
        self.search_on(game, state, role, limits, stop, Spent::default())
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
        spent: Spent,
    ) -> Found<G::Move> {
        let seat = game.turn(state).acting(game.roles()).position(|acting| acting == role);
        let seat = seat.expect("the role is to act in the state that is searched");
        let mut meter = Meter::resumed(limits, stop, spent);
        if self.tree.is_empty() {
            self.root = Some(state.clone());
            self.tree.add(game, state, &mut self.buffers.moves);
            meter.spent.expansions += 1;
        }
        let edges = self.tree.edges_of(0, seat);
        assert!(!edges.is_empty(), "the state that is searched is not terminal");
        loop {
            self.simulate(game, state, &mut meter.spent);
            if meter.is_over() {
                break;
            }
        }
        let edges = &self.tree.edges[edges];
        let best = self.settings.decision.best(edges.iter().map(|edge| edge.stats));
        Found {
            best: edges[best.expect("a simulation was run")].mv,
            moves: edges.iter().map(|edge| (edge.mv, edge.stats)).collect(),
            spent: meter.finish(),
        }
    }

    /// The principal variation, as far as the tree goes and one role acts
    /// alone: the move that would be played, then the most visited. Empty
    /// before a search.
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

    fn simulate(&mut self, game: &G, root: &G::State, spent: &mut Spent) {
        let mut state = match self.scratch.take() {
            Some(mut scratch) => {
                scratch.clone_from(root);
                scratch
            }
            None => root.clone(),
        };
        let roles = game.roles();
        self.buffers.path.clear();
        self.buffers.edges.clear();
        self.buffers.rewards.clear();
        self.buffers.rewards.resize(roles, 0.0);

        let tree_moves = self.descend(game, &mut state, spent);
        let playout_moves = self.play_out(game, &mut state, spent);
        spent.playouts += 1;
        spent.depth = spent.depth.max(tree_moves);
        self.settings.length_bonus.shape(&mut self.buffers.rewards, tree_moves + playout_moves);
        self.back_up(roles);
        self.scratch = Some(state);
    }

    /// Follows the tree to a state without a node, to a node made on the way,
    /// or to a terminal state. Returns the moves played.
    fn descend(&mut self, game: &G, state: &mut G::State, spent: &mut Spent) -> u32 {
        let mut node = 0;
        let mut moves = 0;
        while !self.tree.is_leaf(node) {
            let first = self.buffers.edges.len();
            self.buffers.joint.clear();
            let turn = self.tree.nodes[node as usize].turn;
            for (seat, role) in turn.acting(game.roles()).enumerate() {
                let edge = self.select(game, state, node, seat, role);
                self.buffers.edges.push(edge as u32);
                self.buffers.joint.push(self.tree.edges[edge].mv);
            }
            self.buffers.path.push(node);
            game.play(state, &self.buffers.joint);
            moves += 1;
            let edges = &self.buffers.edges[first..];
            if let Some(child) = self.tree.child(node, edges) {
                node = child;
                continue;
            }
            // A joint move has been followed as often as the rarest of its moves at most.
            let followed = edges.iter().map(|&edge| self.tree.edges[edge as usize].stats.visits).min();
            let grows = followed.is_some_and(|visits| visits >= self.settings.expansion_threshold);
            if grows && self.tree.edges.len() < self.settings.most_edges.min(MOST_EDGES) {
                let child = self.tree.add(game, state, &mut self.buffers.moves);
                self.tree.set_child(node, &self.buffers.edges[first..], child);
                spent.expansions += 1;
            }
            break;
        }
        moves
    }

    /// The edge a simulation takes: an untried one while there are any.
    #[inline]
    fn select(&mut self, game: &G, state: &G::State, node: NodeId, seat: usize, role: usize) -> usize {
        let range = self.tree.edges_of(node, seat);
        let edges = &self.tree.edges[range.clone()];
        let prepared = self.selection.prepare(self.tree.nodes[node as usize].visits);
        let mut best = (f64::NEG_INFINITY, 0);
        let mut untried = false;
        for (index, edge) in edges.iter().enumerate() {
            if edge.stats.visits == 0 {
                untried = true;
                break;
            }
            let value = self.selection.value(prepared, edge.stats);
            if value > best.0 {
                best = (value, index);
            }
        }
        if !untried {
            return range.start + best.1;
        }
        let Buffers { moves, untried, .. } = &mut self.buffers;
        untried.clear();
        moves.clear();
        for (index, edge) in edges.iter().enumerate().filter(|(_, edge)| edge.stats.visits == 0) {
            untried.push(index);
            moves.push(edge.mv);
        }
        let choice = self.playout.choose_untried(game, state, role, moves, &mut self.rng);
        range.start + untried[choice]
    }

    /// Plays from a state beyond the tree until the end or the cutoff, and
    /// fills in the rewards. Returns the moves played.
    fn play_out(&mut self, game: &G, state: &mut G::State, spent: &mut Spent) -> u32 {
        let mut moves = 0;
        while !game.is_terminal(state) {
            if self.cutoff.cut(game, state, moves, &mut self.buffers.rewards) {
                return moves;
            }
            match game.turn(state) {
                Turn::One(role) => {
                    let mv = self.playout.choose(game, state, role, &mut self.rng);
                    game.play(state, &[mv]);
                }
                Turn::All => {
                    self.buffers.joint.clear();
                    for role in 0..game.roles() {
                        self.buffers.joint.push(self.playout.choose(game, state, role, &mut self.rng));
                    }
                    game.play(state, &self.buffers.joint);
                }
            }
            moves += 1;
            spent.expansions += 1;
        }
        let Buffers { rewards, goals, .. } = &mut self.buffers;
        goals.clear();
        game.goals(state, goals);
        rewards.iter_mut().zip(goals).for_each(|(reward, goal)| *reward = f64::from(*goal) / 100.0);
        moves
    }

    fn back_up(&mut self, roles: usize) {
        let mut edges = self.buffers.edges.iter();
        for &node in &self.buffers.path {
            let node = &mut self.tree.nodes[node as usize];
            node.visits += 1;
            for (role, &edge) in node.turn.acting(roles).zip(edges.by_ref()) {
                let stats = &mut self.tree.edges[edge as usize].stats;
                stats.visits += 1;
                stats.sum += self.buffers.rewards[role];
            }
        }
    }
}
