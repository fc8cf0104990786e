//! Players that compare their moves without a search.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rand::{RngExt, SeedableRng};
use sternhalma_data::Move;
use sternhalma_ggp::{Limits, Rng, SearchStats};

use crate::players::adversaries::Adversary;
use crate::players::fortress::Fortress;
use crate::players::interface::{Choice, EnginePlayer};
use crate::rules::{Action, ChineseCheckers, Filter, GameState, Placement};

const ONE_EXPANSION: SearchStats =
    SearchStats { playouts: 0, expansions: 1, depth: 1, time: std::time::Duration::ZERO, memory_limited: false };

/// A player that compares its moves without a search.
pub(super) struct OnePly {
    game: Arc<ChineseCheckers>,
    rng: Rng,
    action: OnePlyRule,
}

/// Chooses a move.
pub(super) type OnePlyRule = fn(&ChineseCheckers, &GameState, &mut Rng) -> Action;

impl OnePly {
    pub fn new(game: Arc<ChineseCheckers>, action: OnePlyRule) -> OnePly {
        OnePly { game, rng: Rng::seed_from_u64(0), action }
    }
}

impl EnginePlayer for OnePly {
    fn choose(&mut self, state: &GameState, _: Limits, _: &AtomicBool) -> Choice {
        Choice { action: (self.action)(&self.game, state, &mut self.rng), spent: ONE_EXPANSION }
    }

    fn reset(&mut self, seed: u64) {
        self.rng = Rng::seed_from_u64(seed);
    }
}

/// The player [`Fortress`].
pub(super) struct FortressPlayer {
    game: Arc<ChineseCheckers>,
    fortress: Fortress,
    rng: Rng,
}

impl FortressPlayer {
    pub fn new(game: Arc<ChineseCheckers>) -> FortressPlayer {
        FortressPlayer { fortress: Fortress::new(game.board()), game, rng: Rng::seed_from_u64(0) }
    }
}

impl EnginePlayer for FortressPlayer {
    fn choose(&mut self, state: &GameState, _: Limits, _: &AtomicBool) -> Choice {
        Choice { action: self.fortress.choose(&self.game, state, &mut self.rng), spent: ONE_EXPANSION }
    }

    fn reset(&mut self, seed: u64) {
        self.rng = Rng::seed_from_u64(seed);
    }
}

/// A player of `adversaries.rs`.
pub(super) struct AdversaryPlayer {
    game: Arc<ChineseCheckers>,
    /// The state of the game after the last action, if it is known.
    now: Option<GameState>,
    placements: Vec<Placement>,
    rng: Rng,
    action: Adversary,
}

impl AdversaryPlayer {
    pub fn new(game: Arc<ChineseCheckers>, action: Adversary) -> AdversaryPlayer {
        AdversaryPlayer { game, now: None, placements: Vec::new(), rng: Rng::seed_from_u64(0), action }
    }

    fn see(&mut self, state: &GameState) {
        if self.now != Some(*state) {
            self.now = Some(*state);
            self.placements.push(state.placement());
        }
    }
}

impl EnginePlayer for AdversaryPlayer {
    fn choose(&mut self, state: &GameState, _: Limits, _: &AtomicBool) -> Choice {
        self.see(state);
        let action = (self.action)(&self.game, state, &self.placements, &mut self.rng);
        Choice { action, spent: ONE_EXPANSION }
    }

    fn observe(&mut self, action: Action) {
        if let Some(mut state) = self.now {
            self.game.play_action(&mut state, action);
            self.see(&state);
        }
    }

    fn begin(&mut self, start: &GameState) {
        self.see(start);
    }

    fn reset(&mut self, seed: u64) {
        (self.now, self.rng) = (None, Rng::seed_from_u64(seed));
        self.placements.clear();
    }
}

/// Returns a move with the largest advance (ties: the rearmost piece, then random).
pub(super) fn greedy(game: &ChineseCheckers, state: &GameState, rng: &mut Rng) -> Action {
    let player = state.player();
    let (mut best, mut moves) = (None, Vec::new());
    for (from, to) in game.pieces(state, Filter::All).iter() {
        // In goal order, cells in farther rows have larger indices.
        let behind = game.geometry().row(from.to_goal_order(game.board(), player));
        for to in to {
            let mv = Move { from, to };
            let key = Some((game.advance(player, mv), behind));
            if key > best {
                best = key;
                moves.clear();
            }
            if key == best {
                moves.push(mv);
            }
        }
    }
    (!moves.is_empty()).then(|| moves[rng.random_range(0..moves.len())])
}
