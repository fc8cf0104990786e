//! Principal-variation search for Chinese Checkers: the default player.
//!
//! `search.rs` has iterative deepening and the search. `moves.rs` orders moves
//! by their gain. `value.rs` evaluates states with the weights of `weights.rs`. `table.rs` stores states by the
//! keys of `node.rs`. `distance_cache.rs` looks up distances.

mod distance_cache;
mod moves;
mod node;
mod search;
mod table;
mod value;
mod weights;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sternhalma_data::Move;
use sternhalma_ggp::{Limits, MemoryBudget, MemoryUse};

use crate::config::PvsConfig;
use crate::distance::Distances;
use crate::engine_player::{Choice, EnginePlayer, SearchObserver, forced, only_action};
use crate::game::{Action, ChineseCheckers, GameState};
use crate::repetition::Repetitions;
use distance_cache::DistanceCache;
use moves::MoveOrdering;
use node::SearchContext;
use search::{MOST_PLIES, Memory, PvsSearch, RootFilter};
use table::TranspositionTable;

/// A player with principal-variation search.
pub(crate) struct PvsPlayer {
    config: PvsConfig,
    context: SearchContext,
    memory: Memory,
    /// The memory of the transposition table.
    _used: MemoryUse,
    /// The state of the game after the last search, if there was one.
    now: Option<GameState>,
    /// The keys of the states of the game, independent of the ply.
    seen: Vec<u64>,
    /// The moves that searches do not choose.
    excluded: Vec<Move>,
}

impl PvsPlayer {
    /// Creates a player, whose transposition table takes at most the remaining memory.
    pub fn new(
        game: Arc<ChineseCheckers>,
        config: &PvsConfig,
        distances: Distances,
        memory: &MemoryBudget,
    ) -> PvsPlayer {
        let room = u32::try_from(memory.room() >> 20).unwrap_or(u32::MAX);
        let table = TranspositionTable::new(config.table_megabytes.min(room));
        let mut used = MemoryUse::of(memory);
        used.set(table.bytes() as u64);
        let memory = Memory { table, ordering: MoveOrdering::new(MOST_PLIES) };
        let context = SearchContext::new(game, DistanceCache::new(distances), config);
        let config = config.clone();
        PvsPlayer { config, context, memory, _used: used, now: None, seen: Vec::new(), excluded: Vec::new() }
    }

    fn see(&mut self, state: &GameState) {
        if self.now != Some(*state) {
            self.now = Some(*state);
            self.seen.push(self.context.placement_key(state));
            let SearchContext { game, played, .. } = &mut self.context;
            played.push(game, state);
            // Proofs do not count with a draw by repetition, which is now possible.
            if played.count(state.placement()) > 1 {
                self.memory.table.clear();
            }
        }
    }
}

impl EnginePlayer for PvsPlayer {
    fn choose(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool) -> Choice {
        self.think(state, limits, stop, &mut |_| ())
    }

    fn think(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool, watch: &mut SearchObserver) -> Choice {
        self.see(state);
        if let Some(action) = only_action(&self.context.game, state) {
            return forced(action, watch);
        }
        self.memory.table.grow_older();
        self.memory.ordering.grow_older();
        let depth = limits.depth.map_or(self.config.depth, |depth| depth.min(self.config.depth));
        PvsSearch::new(&mut self.context, &mut self.memory, &self.config, limits, stop).run(
            state,
            RootFilter { seen: &self.seen, excluded: &self.excluded },
            depth,
            watch,
        )
    }

    fn observe(&mut self, action: Action) {
        if let Some(mut state) = self.now {
            self.context.game.play_action(&mut state, action);
            self.see(&state);
        }
    }

    fn begin(&mut self, start: &GameState) {
        // Without the rule about repetition, a game begins at the first search.
        if self.context.game.counted_placement(start).is_some() {
            self.see(start);
        }
    }

    fn exclude(&mut self, moves: &[Move]) -> bool {
        self.excluded = moves.to_vec();
        true
    }

    fn reset(&mut self, _: u64) {
        self.memory.table.clear();
        self.memory.ordering = MoveOrdering::new(MOST_PLIES);
        self.now = None;
        self.seen.clear();
        self.context.played = Repetitions::default();
    }
}
