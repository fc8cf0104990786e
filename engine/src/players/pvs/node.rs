//! Nodes of the search: states with incrementally updated data, and their
//! keys.

use std::sync::Arc;

use sternhalma_data::board::{PartialRank, SealRule};
use sternhalma_data::{Cell, CellSet, Geometry, Move, Rank, RuleSet, Side, State};
use sternhalma_ggp::arena::derive_seed;

use super::distance_cache::MOVE;
use super::network::{Network, Sums};
use super::weights::{Formation, Weights};
use super::{Action, ChineseCheckers, DistanceCache, GameState, PvsConfig};
use crate::players::config::PositionalEvaluation;
use crate::players::learned::LearnedWeights;
use crate::rules::{Filter, Repetitions};

/// A state with its key and the distances of both armies.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchNode {
    pub state: GameState,
    /// The Zobrist key; equal states have equal keys.
    pub key: u64,
    /// The standing of each player's army.
    pub standings: [Standing; 2],
    /// The sums of the network, if there is one.
    pub sums: Sums,
    /// The static value for the player to move, if it has been computed.
    pub value: Option<i32>,
}

/// The standing of an army, in hundredths of a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Standing {
    /// The distance to the goal, or a lower bound.
    pub distance: i32,
    pub formation: Formation,
}

impl Standing {
    /// Returns the value of the army while the armies may meet.
    #[inline]
    pub fn worth(self) -> i32 {
        self.formation.value - self.distance
    }
}

/// A move with the standing of the mover after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScoredMove {
    pub mv: Move,
    pub standing: Standing,
    /// The priority; the highest is searched first.
    pub order: i32,
}

/// Random numbers whose exclusive or is the key of a state [Zobrist 1970].
struct Zobrist {
    /// The numbers by player and cell.
    cells: [[u64; Cell::LIMIT]; 2],
    player: u64,
    passed: u64,
}

impl Zobrist {
    fn new() -> Zobrist {
        let mut number = 0;
        let mut next = || {
            number += 1;
            derive_seed(0x7a6f_6272, number)
        };
        Zobrist { cells: [(); 2].map(|()| [(); Cell::LIMIT].map(|()| next())), player: next(), passed: next() }
    }
}

/// Creates nodes and plays moves on them.
pub(super) struct SearchContext {
    pub game: Arc<ChineseCheckers>,
    pub distances: DistanceCache,
    pub weights: Weights,
    pub network: Option<Network>,
    /// The placements of the game, and then of the path of the search.
    pub played: Repetitions,
    /// The test for sealed goals, if the rules permit them.
    seal: Option<SealRule>,
    /// The player that searches.
    own: Side,
    zobrist: Zobrist,
    /// Whether keys include the ply, because the search can reach the ply
    /// limit.
    keyed_by_ply: bool,
    /// The cells of the armies whose exact distance is known, in goal order.
    covered: CellSet,
    /// The number of rows between the tips of the goals.
    rows: i32,
}

impl SearchContext {
    pub fn new(
        game: Arc<ChineseCheckers>,
        distances: DistanceCache,
        config: &PvsConfig,
        learned: Option<&LearnedWeights>,
    ) -> SearchContext {
        let weights = Weights::new(game.geometry(), config, learned.map(|learned| &learned.linear));
        let uses_network = config.evaluation == PositionalEvaluation::Network;
        let network = learned.and_then(|learned| learned.network.clone()).filter(|_| uses_network);
        let network = network.map(|weights| Network::new(game.board(), weights));
        let seal = (game.rules() == RuleSet::Paper).then(|| SealRule::new(game.board()));
        let (played, zobrist) = (Repetitions::default(), Zobrist::new());
        let covered = distances.covered();
        let rows = 2 * (game.geometry().size() as i32 - 1);
        let (own, keyed_by_ply) = (Side::X, false);
        SearchContext { game, distances, weights, network, played, seal, own, zobrist, keyed_by_ply, covered, rows }
    }

    pub fn geometry(&self) -> &'static Geometry {
        self.game.geometry()
    }

    /// Returns whether a state that comes next ends the game by repetition.
    #[inline]
    pub fn repeats(&self, state: &GameState) -> bool {
        self.game.counted_placement(state).is_some_and(|placement| self.played.would_end(placement))
    }

    /// Returns whether the opponent of the player that searches can keep the goal of that player
    /// sealed: it is sealed, and a free piece can move.
    #[inline]
    pub fn is_shut_out(&self, state: &GameState) -> bool {
        let side = self.own.other();
        let (army, others) = (state.army(side), state.army(side.other()));
        let seal = self.seal.as_ref().and_then(|seal| seal.seal(army, others, side));
        let can_move = |cell: Cell| !self.geometry().destinations((army | others).without(cell), cell).is_empty();
        seal.is_some_and(|seal| seal.free.iter().any(can_move))
    }

    /// Returns the player that searches.
    #[inline]
    pub fn own(&self) -> Side {
        self.own
    }

    /// Creates the node of a state from scratch. In a search of `plies` plies
    /// from here, states at different plies share a key unless the ply limit
    /// is within reach.
    pub fn root(&mut self, state: &GameState, plies: u32) -> SearchNode {
        // A table entry may be used up to `plies` plies later.
        self.keyed_by_ply = state.ply().saturating_add(2 * plies) >= self.game.ply_limit();
        self.own = state.player();
        let standings = [Side::X, Side::O].map(|player| self.standing(self.game.ranked(state, player).0));
        let sums = self.network.as_ref().map_or(Sums::NONE, |network| network.sums(state));
        SearchNode { state: *state, key: self.key(state), standings, sums, value: None }
    }

    /// Returns the key of a state, computed from scratch.
    pub fn key(&self, state: &GameState) -> u64 {
        self.placement_key(state) ^ self.ply_key(state)
    }

    /// Returns the key of a state, independent of the ply.
    pub fn placement_key(&self, state: &GameState) -> u64 {
        let armies = [Side::X, Side::O].map(|player| {
            let cells = &self.zobrist.cells[player as usize];
            state.army(player).iter().fold(0, |key, cell| key ^ cells[cell.index()])
        });
        armies[0] ^ armies[1] ^ self.placement_turn_key(state)
    }

    /// Returns the part of the key that does not depend on the pieces.
    #[inline]
    fn turn_key(&self, state: &GameState) -> u64 {
        self.placement_turn_key(state) ^ self.ply_key(state)
    }

    #[inline]
    fn placement_turn_key(&self, state: &GameState) -> u64 {
        let player = if state.player() == Side::O { self.zobrist.player } else { 0 };
        let passed = if state.has_passed() { self.zobrist.passed } else { 0 };
        player ^ passed
    }

    #[inline]
    fn ply_key(&self, state: &GameState) -> u64 {
        if self.keyed_by_ply { derive_seed(self.zobrist.player, state.ply().into()) } else { 0 }
    }

    /// Returns the standing of an army.
    #[inline]
    pub fn standing(&mut self, army: State) -> Standing {
        let distance = self.distances.distance(army, Rank::of(army));
        Standing { distance, formation: self.weights.of(army.cells()) }
    }

    /// Returns whether a move of the player to move may end the game.
    #[inline]
    pub fn may_end(&self, state: &GameState) -> bool {
        let occupied = state.army(Side::X) | state.army(Side::O);
        let is_nearly_full = |side| (self.game.goal_corner(side) - occupied).len() <= 1;
        is_nearly_full(Side::X) || is_nearly_full(Side::O) || state.ply() + 1 >= self.game.ply_limit()
    }

    /// Returns whether a move of the player to move may shut out the player that searches.
    #[inline]
    pub fn may_shut_out(&self, state: &GameState) -> bool {
        let mover = state.player();
        mover != self.own && self.seal.as_ref().is_some_and(|seal| seal.is_near(state.army(mover), mover))
    }

    /// Returns whether armies with these standings only race, as [`ChineseCheckers::is_race`] defines.
    #[inline]
    pub fn is_race(&self, own: Standing, other: Standing) -> bool {
        own.formation.rear + other.formation.rear < self.rows - 1
    }

    /// Appends the moves of a node, each with a lower bound of the distance of the army after it.
    /// The distance of a covered army is exact. A move that an army could also make alone reduces it
    /// by at most 1, if the army is covered before and after the move.
    #[inline]
    pub fn outline(&self, node: &SearchNode, filter: Filter, out: &mut Vec<ScoredMove>) {
        let (player, board, geometry) = (node.state.player(), self.game.board(), self.geometry());
        let (own, others) = (node.state.army(player), node.state.army(player.other()));
        let army = State::from_army(board, player, own).cells();
        let is_covered = army.is_subset(self.covered);
        let least = (node.standings[player as usize].distance - MOVE).max(0);
        let formation = self.weights.army(army);
        for (from, to) in self.game.pieces(&node.state, filter).iter() {
            let rest = formation.without(from.to_goal_order(board, player));
            let alone = match is_covered {
                true if (to - geometry.neighbors(from)).is_empty() => to,
                true => geometry.destinations_over(own.without(from), (own | others).without(from), from),
                false => CellSet::EMPTY,
            };
            for to in to {
                let cell = to.to_goal_order(board, player);
                let bounded = alone.contains(to) && self.covered.contains(cell);
                let standing =
                    Standing { distance: if bounded { least } else { 0 }, formation: self.weights.with(&rest, cell) };
                out.push(ScoredMove { mv: Move { from, to }, standing, order: 0 });
            }
        }
    }

    /// Returns the standing of the mover after a move.
    #[inline]
    pub fn standing_after(&mut self, node: &SearchNode, mv: Move) -> Standing {
        self.standing(self.army_after(node, mv))
    }

    /// Replaces the bound of a distance after a move by the distance.
    #[inline]
    pub fn look_up(&mut self, node: &SearchNode, candidate: &mut ScoredMove) {
        let army = self.army_after(node, candidate.mv);
        candidate.standing.distance = self.distances.distance(army, Rank::of(army));
    }

    #[inline]
    fn army_after(&self, node: &SearchNode, Move { from, to }: Move) -> State {
        let player = node.state.player();
        State::from_army(self.game.board(), player, node.state.army(player).without(from).with(to))
    }

    /// Replaces the bounds of the distances after moves by the distances, as [`look_up`] does, but
    /// faster if several moves in succession are of the same piece.
    ///
    /// [`look_up`]: SearchContext::look_up
    #[inline]
    pub fn look_up_all(&mut self, node: &SearchNode, candidates: &mut [ScoredMove]) {
        let (player, board) = (node.state.player(), self.game.board());
        let army = State::from_army(board, player, node.state.army(player)).cells();
        for moves in candidates.chunk_by_mut(|one, next| one.mv.from == next.mv.from) {
            let others = army.without(moves[0].mv.from.to_goal_order(board, player));
            let ranks = PartialRank::new(others);
            for candidate in moves {
                let cell = candidate.mv.to.to_goal_order(board, player);
                let after = State::from_cells(others.with(cell));
                candidate.standing.distance = self.distances.distance(after, ranks.rank_with(cell));
            }
        }
    }

    /// Returns the node after an action, given the standing of
    /// the mover after the action.
    #[inline]
    pub fn after(&self, node: &SearchNode, action: Action, standing: Standing) -> SearchNode {
        let mover = node.state.player();
        let mut after = *node;
        self.game.play_action(&mut after.state, action);
        after.standings[mover as usize] = standing;
        after.value = None;
        if let Some(Move { from, to }) = action {
            let cells = &self.zobrist.cells[mover as usize];
            after.key ^= cells[from.index()] ^ cells[to.index()];
            if let Some(network) = &self.network {
                after.sums = network.after(&node.sums, mover, Move { from, to });
            }
        }
        after.key ^= self.turn_key(&node.state) ^ self.turn_key(&after.state);
        after
    }

    /// Returns the node with the other player to move (a null move).
    pub fn skipped(&self, node: &SearchNode) -> SearchNode {
        let state = node.state.skipped();
        let key = node.key ^ self.turn_key(&node.state) ^ self.turn_key(&state);
        SearchNode { state, key, value: None, ..*node }
    }
}
