//! States with what the search carries along, and the keys of states.

use std::sync::Arc;

use sternhalma_data::board::PartialRank;
use sternhalma_data::{Cell, CellSet, Geometry, Move, Rank, Side, State};

use super::distance_cache::DistanceCache;
use super::value::{RestWorth, Weights};
use crate::config::PvsConfig;
use crate::game::{Action, ChineseCheckers, GameState};
use sternhalma_ggp::arena::derive_seed;

/// A state with its key and the distances of both armies.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchNode {
    pub state: GameState,
    /// The Zobrist key: equal states have equal keys.
    pub key: u64,
    /// By player: how the army stands.
    pub standings: [Standing; 2],
}

/// How an army stands, in hundredths of a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Standing {
    /// The distance to the goal.
    pub distance: i32,
    /// What the army is worth while it may meet the other: less for what is far.
    pub worth: i32,
}

/// All pieces of an army but one, with what its place is asked for.
pub(super) struct Rest {
    cells: CellSet,
    ranks: PartialRank,
    worth: RestWorth,
}

/// Random numbers whose exclusive or is a state's key (Zobrist 1970).
struct Zobrist {
    /// By player and cell.
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

/// Makes nodes and plays moves on them.
pub(super) struct SearchContext {
    pub game: Arc<ChineseCheckers>,
    pub distances: DistanceCache,
    pub weights: Weights,
    zobrist: Zobrist,
    /// Whether the ply is part of a key: where the search can see the ply limit.
    keyed_by_ply: bool,
}

impl SearchContext {
    pub fn new(game: Arc<ChineseCheckers>, distances: DistanceCache, weights: &PvsConfig) -> SearchContext {
        let weights = Weights::new(game.geometry(), weights);
        SearchContext { game, distances, weights, zobrist: Zobrist::new(), keyed_by_ply: false }
    }

    pub fn geometry(&self) -> &'static Geometry {
        self.game.geometry()
    }

    /// A state made a node from scratch. Of states searched from here some
    /// `plies` on, those at different plies share a key unless the ply limit is within reach.
    pub fn root(&mut self, state: &GameState, plies: u32) -> SearchNode {
        // What the table keeps of a state may be asked for as many plies later.
        self.keyed_by_ply = state.ply().saturating_add(2 * plies) >= self.game.ply_limit();
        let standings = [Side::X, Side::O].map(|player| self.standing(self.game.ranked(state, player).0));
        SearchNode { state: *state, key: self.key(state), standings }
    }

    /// The key of a state from scratch.
    pub fn key(&self, state: &GameState) -> u64 {
        self.placement_key(state) ^ self.ply_key(state)
    }

    /// The key of a state at whatever ply.
    pub fn placement_key(&self, state: &GameState) -> u64 {
        let armies = [Side::X, Side::O].map(|player| {
            let cells = &self.zobrist.cells[player as usize];
            state.army(player).iter().fold(0, |key, cell| key ^ cells[cell.index()])
        });
        armies[0] ^ armies[1] ^ self.placement_turn_key(state)
    }

    /// The part of the key that is not of the pieces.
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

    /// How an army stands, as its goal tip sees it.
    #[inline]
    pub fn standing(&mut self, army: State) -> Standing {
        let distance = self.distances.distance(army, Rank::of(army));
        Standing { distance, worth: self.weights.of(army.cells()) - distance }
    }

    /// How an army stands once its last piece, beside `others`, is on `cell`.
    #[inline]
    pub fn standing_with(&mut self, others: &Rest, cell: Cell) -> Standing {
        let army = others.cells.with(cell);
        let distance = self.distances.distance(State::from_cells(army), others.ranks.rank_with(cell));
        Standing { distance, worth: self.weights.with(&others.worth, cell) - distance }
    }

    /// All pieces of an army but one, as its goal tip sees them.
    #[inline]
    pub fn rest(&self, cells: CellSet) -> Rest {
        Rest { cells, ranks: PartialRank::new(cells), worth: self.weights.of_rest(cells) }
    }

    /// The node after an action that leaves the mover so.
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

    /// The node with the other player to move, as no rule allows.
    pub fn skipped(&self, node: &SearchNode) -> SearchNode {
        let state = node.state.skipped();
        SearchNode { state, key: node.key ^ self.turn_key(&node.state) ^ self.turn_key(&state), ..*node }
    }
}
