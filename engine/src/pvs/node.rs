//! Nodes of the search: states with incrementally updated data, and their
//! keys.

use std::sync::Arc;

use sternhalma_data::board::{PartialRank, SealRule};
use sternhalma_data::{Cell, CellSet, Geometry, Move, Rank, RuleSet, Side, State};
use sternhalma_ggp::arena::derive_seed;

use super::weights::{RestWorth, Weights};
use super::{Action, ChineseCheckers, DistanceCache, GameState, PvsConfig};
use crate::repetition::Repetitions;

/// A state with its key and the distances of both armies.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchNode {
    pub state: GameState,
    /// The Zobrist key; equal states have equal keys.
    pub key: u64,
    /// The standing of each player's army.
    pub standings: [Standing; 2],
}

/// The standing of an army, in hundredths of a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Standing {
    /// The distance to the goal.
    pub distance: i32,
    /// The positional value while the armies may meet; pieces far from the
    /// goal reduce it.
    pub worth: i32,
}

/// All pieces of an army except one, prepared for any cell of the missing
/// piece.
pub(super) struct Rest {
    cells: CellSet,
    ranks: PartialRank,
    worth: RestWorth,
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
}

impl SearchContext {
    pub fn new(game: Arc<ChineseCheckers>, distances: DistanceCache, weights: &PvsConfig) -> SearchContext {
        let weights = Weights::new(game.geometry(), weights);
        let seal = (game.rules() == RuleSet::Paper).then(|| SealRule::new(game.board()));
        let (played, zobrist) = (Repetitions::default(), Zobrist::new());
        SearchContext { game, distances, weights, played, seal, own: Side::X, zobrist, keyed_by_ply: false }
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
    /// sealed: it is sealed, and a piece that is not needed for that can move.
    #[inline]
    pub fn is_shut_out(&self, state: &GameState) -> bool {
        let side = self.own.other();
        let (army, others) = (state.army(side), state.army(side.other()));
        let seal = self.seal.as_ref().and_then(|seal| seal.seal(army, others, side));
        let can_move = |cell: Cell| !self.geometry().destinations((army | others).without(cell), cell).is_empty();
        seal.is_some_and(|seal| (army - seal.wall).iter().any(can_move))
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
        SearchNode { state: *state, key: self.key(state), standings }
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
        Standing { distance, worth: self.weights.of(army.cells()) - distance }
    }

    /// Returns the standing of an army that has `others` and a piece on
    /// `cell`.
    #[inline]
    pub fn standing_with(&mut self, others: &Rest, cell: Cell) -> Standing {
        let army = others.cells.with(cell);
        let distance = self.distances.distance(State::from_cells(army), others.ranks.rank_with(cell));
        Standing { distance, worth: self.weights.with(&others.worth, cell) - distance }
    }

    /// Prepares all pieces of an army except one.
    #[inline]
    pub fn rest(&self, cells: CellSet) -> Rest {
        Rest { cells, ranks: PartialRank::new(cells), worth: self.weights.of_rest(cells) }
    }

    /// Returns the node after an action, given the standing of
    /// the mover after the action.
    #[inline]
    pub fn after(&self, node: &SearchNode, action: Action, standing: Standing) -> SearchNode {
        let mover = node.state.player();
        let mut after = *node;
        self.game.play_action(&mut after.state, action);
        after.standings[mover as usize] = standing;
        if let Some(Move { from, to }) = action {
            let cells = &self.zobrist.cells[mover as usize];
            after.key ^= cells[from.index()] ^ cells[to.index()];
        }
        after.key ^= self.turn_key(&node.state) ^ self.turn_key(&after.state);
        after
    }

    /// Returns the node with the other player to move (a null move).
    pub fn skipped(&self, node: &SearchNode) -> SearchNode {
        let state = node.state.skipped();
        SearchNode { state, key: node.key ^ self.turn_key(&node.state) ^ self.turn_key(&state), ..*node }
    }
}
