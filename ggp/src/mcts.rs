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
    /// A tree with this many moves grows no more. A move takes
    /// some 24 bytes, and what the selection notes of it.
    pub most_edges: usize,
    /// Whether states of the same [`key`](Game::key) are one node, whichever
    /// way leads there. Statistics are those of a move, not of the state after it.
    pub transpositions: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            expansion_threshold: 0,
            length_bonus: LengthBonus::NONE,
            decision: Decision::BestAverage,
            most_edges: MOST_EDGES,
            transpositions: false,
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
pub struct Mcts<G: Game, S: Selection<G>, P, C> {
    selection: S,
    playout: P,
    cutoff: C,
    settings: Settings,
    rng: Rng,
    tree: Tree<G::Move, S::Note>,
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

impl<G: Game, S: Selection<G>, P: Playout<G>, C: Cutoff<G>> Mcts<G, S, P, C> {
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
            self.tree.add(game, state, &mut self.buffers.moves, &mut self.selection);
            meter.spent.expansions += 1;
        }
        let edges = self.tree.edges_of(0, seat);
        assert!(!edges.is_empty(), "the state that is searched is not terminal");
        while self.simulate(game, state, &mut meter) && !meter.is_over() {}
        let edges = &self.tree.edges[edges];
        let best = self.settings.decision.best(edges.iter().map(|edge| edge.stats));
        Found {
            best: edges[best.expect("there is a move")].mv,
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

    /// Runs a simulation; one that is interrupted is forgotten, and false.
    fn simulate(&mut self, game: &G, root: &G::State, meter: &mut Meter) -> bool {
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

        let tree_moves = self.descend(game, &mut state, &mut meter.spent);
        let playout_moves = self.play_out(game, &mut state, meter);
        self.scratch = Some(state);
        let Some(playout_moves) = playout_moves else { return false };
        meter.spent.playouts += 1;
        meter.spent.depth = meter.spent.depth.max(tree_moves);
        self.settings.length_bonus.shape(&mut self.buffers.rewards, tree_moves + playout_moves);
        self.back_up(roles);
        true
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
            let key = if grows && self.settings.transpositions { game.key(state) } else { None };
            if let Some(known) = key.and_then(|key| self.tree.find(key)) {
                self.tree.set_child(node, &self.buffers.edges[first..], known);
                node = known;
                continue;
            }
            if grows && self.tree.edges.len() < self.settings.most_edges.min(MOST_EDGES) {
                let child = self.tree.add(game, state, &mut self.buffers.moves, &mut self.selection);
                self.tree.set_child(node, &self.buffers.edges[first..], child);
                spent.expansions += 1;
                if let Some(key) = key {
                    self.tree.set_key(child, key);
                }
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
            if edge.stats.visits == 0 && !S::VALUES_UNTRIED {
                untried = true;
                break;
            }
            let value = self.selection.value(prepared, edge.stats, edge.note);
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
    /// fills in the rewards. Returns the moves played; none if it is interrupted.
    fn play_out(&mut self, game: &G, state: &mut G::State, meter: &mut Meter) -> Option<u32> {
        let mut moves = 0;
        while !game.is_terminal(state) {
            if self.cutoff.cut(game, state, moves, &mut self.buffers.rewards) {
                return Some(moves);
            }
            if meter.is_interrupted() {
                return None;
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
            meter.spent.expansions += 1;
        }
        let Buffers { rewards, goals, .. } = &mut self.buffers;
        goals.clear();
        game.goals(state, goals);
        rewards.iter_mut().zip(goals).for_each(|(reward, goal)| *reward = f64::from(*goal) / 100.0);
        Some(moves)
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

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;
    use crate::parts::{RandomPlayout, ToTheEnd, Uct};

    /// Two roles add digits, in an order that is not always in turn, and split
    /// what they come to.
    struct Sums;

    const ROLES: [usize; 6] = [0, 1, 1, 0, 1, 0];

    impl Game for Sums {
        type State = (usize, u64);
        type Move = u64;
        fn roles(&self) -> usize {
            2
        }
        fn initial(&self) -> (usize, u64) {
            (0, 0)
        }
        fn turn(&self, state: &(usize, u64)) -> Turn {
            Turn::One(ROLES[state.0 % ROLES.len()])
        }
        fn legal(&self, _: &(usize, u64), _: usize, moves: &mut Vec<u64>) {
            moves.extend([0, 1, 2, 5]);
        }
        fn key(&self, state: &(usize, u64)) -> Option<u64> {
            Some((state.1 << 8 | state.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        }
        fn play(&self, state: &mut (usize, u64), joint: &[u64]) {
            *state = (state.0 + 1, state.1 + joint[0]);
        }
        fn is_terminal(&self, state: &(usize, u64)) -> bool {
            state.0 == ROLES.len()
        }
        fn goal(&self, state: &(usize, u64), role: usize) -> u8 {
            let first = (state.1 * 37 % 101) as u8;
            if role == 0 { first } else { 100 - first }
        }
    }

    /// The nodes of a tree with their states. A node is of one state.
    fn nodes(tree: &Tree<u64, ()>, root: (usize, u64)) -> HashMap<NodeId, (usize, u64)> {
        let mut states = HashMap::from([(0, root)]);
        let mut open = vec![0];
        while let Some(node) = open.pop() {
            for edge in tree.edges_of(node, 0) {
                let Some(child) = tree.child(node, &[edge as u32]) else { continue };
                let state = (states[&node].0 + 1, states[&node].1 + tree.edges[edge].mv);
                let known = states.insert(child, state);
                assert!(known.is_none_or(|known| known == state), "{state:?} is not {known:?}");
                open.extend(known.is_none().then_some(child));
            }
        }
        states
    }

    #[test]
    fn transpositions_are_one_node() {
        for transpositions in [false, true] {
            let settings = Settings { transpositions, ..Settings::default() };
            let mut mcts = Mcts::new(Uct { c: 1.0 }, RandomPlayout::default(), ToTheEnd, settings, 1);
            let mut state = (0, 0);
            for mv in [2, 5, 0] {
                mcts.search(&Sums, &state, ROLES[state.0], Limits::playouts(3000), &Default::default());
                for (before, after) in [(None, state), (Some(mv), (state.0 + 1, state.1 + mv))] {
                    if let Some(mv) = before {
                        mcts.advance(&Sums, &[mv]);
                    }
                    let found = nodes(&mcts.tree, after);
                    assert_eq!(found.len(), mcts.tree.nodes.len(), "nothing else is kept");
                    let states: HashSet<_> = found.values().collect();
                    assert_eq!(states.len() == found.len(), transpositions, "after {after:?}");
                    for (&node, state) in found.iter().filter(|(node, _)| **node != 0) {
                        let found = mcts.tree.find(Sums.key(state).unwrap());
                        assert_eq!(found, transpositions.then_some(node));
                    }
                }
                state = (state.0 + 1, state.1 + mv);
            }
        }
    }

    #[test]
    fn transpositions_change_what_is_searched_and_not_what_is_found() {
        // By hand: the last moves for each sum, backwards.
        fn value(state: (usize, u64)) -> u8 {
            if Sums.is_terminal(&state) {
                return Sums.goal(&state, 0);
            }
            let of = [0, 1, 2, 5].map(|mv| value((state.0 + 1, state.1 + mv)));
            if ROLES[state.0] == 0 { of.into_iter().max().unwrap() } else { of.into_iter().min().unwrap() }
        }
        for state in [(3, 4), (3, 9), (2, 6), (4, 7)] {
            for transpositions in [false, true] {
                let settings = Settings { transpositions, decision: Decision::MostVisits, ..Settings::default() };
                let mut mcts = Mcts::new(Uct { c: 0.7 }, RandomPlayout::default(), ToTheEnd, settings, 1);
                let role = ROLES[state.0];
                let found = mcts.search(&Sums, &state, role, Limits::playouts(20_000), &Default::default());
                assert_eq!(value((state.0 + 1, state.1 + found.best)), value(state), "{state:?} {transpositions}");
            }
        }
    }
}
