//! Many searches by one policy in lock step.

use std::time::Duration;

use sternhalma_game::{Game, Limits, SearchClock, SearchStats};
use sternhalma_gdl::network::{LaneGame, NetworkGame};

use super::Policy;
use crate::batch::{LaneSearch, LockStepSearches};

/// Searches by one policy from the initial state, each with its own tree, in
/// lock step. `LockStep` measures the speed of such searches.
pub struct LockStep<'a> {
    searches: LockStepSearches<'a, ()>,
}

impl<'a> LockStep<'a> {
    /// Begins one search without limits per seed, for at most 512 seeds.
    /// Returns `None` if the policy does not search or runs several simulations
    /// of a search at the same time, or if the initial state is terminal.
    pub fn new(
        game: &'a NetworkGame,
        lanes: &'a LaneGame,
        policy: &Policy,
        seeds: impl ExactSizeIterator<Item = u64>,
    ) -> Option<LockStep<'a>> {
        let root = game.initial();
        let mut searches = LockStepSearches::new(game, lanes, seeds.len());
        for seed in seeds {
            let mut resumable =
                policy.resumable(game, 0, seed).filter(|_| policy.is_resumable() && !game.is_terminal(&root))?;
            resumable.begin(game, &root);
            searches.add(LaneSearch::new((), resumable, root.clone(), Limits::default(), SearchClock::Play));
        }
        Some(LockStep { searches })
    }

    /// Advances all simulations by one step.
    pub fn step(&mut self) {
        self.searches.round();
    }

    /// Returns the total playouts and expansions of all searches, their
    /// maximum depth, and whether any reached the memory limit. The time is zero.
    pub fn spent(&self) -> SearchStats {
        let all = self.searches.searches().map(LaneSearch::spent);
        all.fold(SearchStats::default(), |all, one| SearchStats {
            playouts: all.playouts + one.playouts,
            expansions: all.expansions + one.expansions,
            depth: all.depth.max(one.depth),
            time: Duration::ZERO,
            memory_limited: all.memory_limited | one.memory_limited,
        })
    }
}
