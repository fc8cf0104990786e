//! Principal-variation search for Chinese Checkers: the default player.
//!
//! `search.rs` has iterative deepening and the search. `moves.rs` orders moves by
//! their gain. `node.rs` generates moves, with bounds of the distances after
//! them, and looks up these distances in `distance_cache.rs`. `value.rs` evaluates
//! states with the weights of `weights.rs` and the network of `network.rs`.
//! `table.rs` stores states by the keys of `node.rs`, and `busy.rs` the moves that are
//! being searched, both for all threads.

mod busy;
mod distance_cache;
mod moves;
mod network;
mod node;
mod search;
mod table;
mod value;
mod weights;

#[cfg(test)]
mod exact;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use sternhalma_data::Move;
use sternhalma_ggp::{Limits, MemoryBudget, MemoryUse};

use crate::distances::Distances;
use crate::players::config::PvsConfig;
use crate::players::interface::{Choice, EnginePlayer, SearchObserver, forced, only_action};
use crate::players::learned::LearnedWeights;
use crate::rules::{Action, ChineseCheckers, GameState, Repetitions};
use busy::BusyMoves;
use distance_cache::DistanceCache;
use moves::MoveOrdering;
use node::SearchContext;
use search::{MAX_PLIES, PvsSearch, RootFilter, Worker};
use table::TranspositionTable;

pub use table::AllocationError;

/// A player with principal-variation search.
pub(crate) struct PvsPlayer {
    config: PvsConfig,
    table: TranspositionTable,
    /// The worker of the thread that calls the player.
    main: Worker,
    /// The workers of the other threads.
    helpers: Vec<Worker>,
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
    ///
    /// # Errors
    ///
    /// Returns an error if the transposition table cannot be allocated.
    pub fn new(
        game: Arc<ChineseCheckers>,
        config: &PvsConfig,
        distances: Distances,
        learned: Option<&LearnedWeights>,
        memory: &MemoryBudget,
    ) -> Result<PvsPlayer, AllocationError> {
        let room = u32::try_from(memory.room() >> 20).unwrap_or(u32::MAX);
        let table = TranspositionTable::new(config.table_megabytes.min(room))?;
        let mut used = MemoryUse::of(memory);
        used.set(table.bytes() as u64);
        let worker = || {
            let context = SearchContext::new(game.clone(), DistanceCache::new(distances.clone()), config, learned);
            Worker { context, ordering: MoveOrdering::new(MAX_PLIES) }
        };
        let helpers = (1..config.threads).map(|_| worker()).collect();
        Ok(PvsPlayer {
            config: config.clone(),
            table,
            main: worker(),
            helpers,
            _used: used,
            now: None,
            seen: Vec::new(),
            excluded: Vec::new(),
        })
    }

    fn see(&mut self, state: &GameState) {
        if self.now != Some(*state) {
            self.now = Some(*state);
            self.seen.push(self.main.context.placement_key(state));
            let SearchContext { game, played, .. } = &mut self.main.context;
            played.push(game, state);
            // Proofs do not count with a draw by repetition, which is now possible.
            if played.count(state.placement()) > 1 {
                self.table.clear();
            }
        }
    }
}

impl PvsPlayer {
    fn workers(&mut self) -> impl Iterator<Item = &mut Worker> {
        std::iter::once(&mut self.main).chain(&mut self.helpers)
    }

    /// Searches with all threads. They share the transposition table and the moves that
    /// they search, and the thread of the caller determines the move. Each has an equal
    /// part of the limit of expansions.
    fn search(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool, watch: &mut SearchObserver) -> Choice {
        let PvsPlayer { config, table, main, helpers, seen, excluded, .. } = self;
        let (config, table, filter) = (&*config, &*table, RootFilter { seen, excluded });
        let threads = helpers.len() as u64 + 1;
        let part = |index: u64| limits.expansions.map(|all| (all / threads + u64::from(index < all % threads)).max(1));
        let depth = limits.depth.map_or(config.depth, |depth| depth.min(config.depth)).clamp(1, MAX_PLIES);
        let is_done = AtomicBool::new(false);
        let busy = (threads > 1).then(BusyMoves::new);
        let busy = busy.as_ref();
        std::thread::scope(|scope| {
            let mut running = Vec::new();
            for (index, helper) in (1..).zip(helpers) {
                helper.context.played.clone_from(&main.context.played);
                let limits = Limits { expansions: part(index), ..Limits::default() };
                let is_done = &is_done;
                // Half of the threads begin with the next depth, so that not all search the same.
                let depths = 1 + (index % 2) as u32..=MAX_PLIES;
                running.push(scope.spawn(move || {
                    PvsSearch::new(helper, table, busy, config, limits, is_done).run(state, filter, depths, &mut |_| ())
                }));
            }
            let own = Limits { expansions: part(0), ..limits };
            let mut choice = PvsSearch::new(main, table, busy, config, own, stop).run(state, filter, 1..=depth, watch);
            is_done.store(true, Relaxed);
            for helper in running {
                let helper = helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                choice.spent.expansions += helper.spent.expansions;
            }
            choice
        })
    }
}

impl EnginePlayer for PvsPlayer {
    fn choose(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool) -> Choice {
        self.think(state, limits, stop, &mut |_| ())
    }

    fn think(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool, watch: &mut SearchObserver) -> Choice {
        self.see(state);
        if let Some(action) = only_action(&self.main.context.game, state) {
            return forced(action, watch);
        }
        self.table.grow_older();
        self.workers().for_each(|worker| worker.ordering.grow_older());
        self.search(state, limits, stop, watch)
    }

    fn observe(&mut self, action: Action) {
        if let Some(mut state) = self.now {
            self.main.context.game.play_action(&mut state, action);
            self.see(&state);
        }
    }

    fn begin(&mut self, start: &GameState) {
        // Without the rule about repetition, a game begins at the first search.
        if self.main.context.game.counted_placement(start).is_some() {
            self.see(start);
        }
    }

    fn exclude(&mut self, moves: &[Move]) -> bool {
        self.excluded = moves.to_vec();
        true
    }

    fn reset(&mut self, _: u64) {
        self.table.clear();
        self.workers().for_each(|worker| worker.ordering = MoveOrdering::new(MAX_PLIES));
        self.now = None;
        self.seen.clear();
        self.main.context.played = Repetitions::default();
    }
}
