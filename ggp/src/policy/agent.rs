//! Agents that play one match by a policy.

use std::sync::atomic::AtomicBool;

use rand::{RngExt, SeedableRng};

use crate::batch::TreeParallel;
use crate::game::Game;
use crate::gdl::network::{LaneGame, LaneState};
use crate::limits::{Limits, SearchStats};
use crate::mcts::{Mcts, Playout, SearchClock, Selection, ToTheEnd};
use crate::rng::Rng;

/// An agent that finds the moves of one match.
pub trait PolicyAgent<G: Game>: Send {
    /// Begins the match, or continues from a state that the match did not reach by the last moves.
    fn begin(&mut self, game: &G, state: &G::State);

    /// Searches from a state that is not terminal before its role moves, until a limit is reached or `stop` is set.
    /// Returns the cost.
    fn think(
        &mut self,
        game: &G,
        state: &G::State,
        limits: Limits,
        stop: &AtomicBool,
        clock: SearchClock,
    ) -> SearchStats;

    /// Returns a move of an acting role in a state that is not terminal, with the cost of the search: the best known
    /// move once a limit is reached or `stop` is set.
    fn search(
        &mut self,
        game: &G,
        state: &G::State,
        role: usize,
        limits: Limits,
        stop: &AtomicBool,
    ) -> (G::Move, SearchStats);

    /// Returns whether the outcome of the match is proved, so that more thinking changes nothing.
    fn is_solved(&self) -> bool {
        false
    }

    /// Follows the moves of the acting roles.
    fn advance(&mut self, game: &G, joint: &[G::Move]);
}

/// An agent that plays uniformly random legal moves.
pub(crate) struct RandomAgent<M> {
    moves: Vec<M>,
    rng: Rng,
}

impl<M> RandomAgent<M> {
    /// Creates an agent with a seed.
    pub fn new(seed: u64) -> RandomAgent<M> {
        RandomAgent { moves: Vec::new(), rng: Rng::seed_from_u64(seed) }
    }

    /// Returns a legal move of an acting role.
    pub fn choose<G: Game<Move = M>>(&mut self, game: &G, state: &G::State, role: usize) -> M
    where
        M: Copy,
    {
        self.moves.clear();
        game.legal(state, role, &mut self.moves);
        self.moves[self.rng.random_range(0..self.moves.len())]
    }
}

impl<G: Game> PolicyAgent<G> for RandomAgent<G::Move> {
    fn begin(&mut self, _: &G, _: &G::State) {}

    fn think(&mut self, _: &G, _: &G::State, _: Limits, _: &AtomicBool, _: SearchClock) -> SearchStats {
        SearchStats::default()
    }

    fn search(&mut self, game: &G, state: &G::State, role: usize, _: Limits, _: &AtomicBool) -> (G::Move, SearchStats) {
        (self.choose(game, state, role), SearchStats::default())
    }

    fn advance(&mut self, _: &G, _: &[G::Move]) {}
}

impl<G, S, P> PolicyAgent<G> for Mcts<G, S, P, ToTheEnd>
where
    G: Game,
    S: Selection<G> + Send,
    S::EdgeData: Send,
    P: Playout<G> + Send,
{
    fn begin(&mut self, game: &G, state: &G::State) {
        Mcts::begin(self, game, state);
    }

    fn think(
        &mut self,
        game: &G,
        state: &G::State,
        limits: Limits,
        stop: &AtomicBool,
        clock: SearchClock,
    ) -> SearchStats {
        Mcts::think(self, game, state, limits, stop, SearchStats::default(), clock)
    }

    fn search(
        &mut self,
        game: &G,
        state: &G::State,
        role: usize,
        limits: Limits,
        stop: &AtomicBool,
    ) -> (G::Move, SearchStats) {
        let found = Mcts::search(self, game, state, role, limits, stop);
        (found.best, found.spent)
    }

    fn is_solved(&self) -> bool {
        Mcts::is_solved(self)
    }

    fn advance(&mut self, game: &G, joint: &[G::Move]) {
        Mcts::advance(self, game, joint);
    }
}

impl<S, P> PolicyAgent<LaneGame> for TreeParallel<S, P>
where
    S: Selection<LaneGame> + Send,
    S::EdgeData: Send,
    P: Playout<LaneGame> + Send,
{
    fn begin(&mut self, game: &LaneGame, state: &LaneState) {
        self.mcts.begin(game, state);
    }

    fn think(
        &mut self,
        game: &LaneGame,
        state: &LaneState,
        limits: Limits,
        stop: &AtomicBool,
        clock: SearchClock,
    ) -> SearchStats {
        TreeParallel::think(self, game, state, limits, stop, clock)
    }

    fn search(
        &mut self,
        game: &LaneGame,
        state: &LaneState,
        role: usize,
        limits: Limits,
        stop: &AtomicBool,
    ) -> (u32, SearchStats) {
        let found = TreeParallel::search(self, game, state, role, limits, stop);
        (found.best, found.spent)
    }

    fn is_solved(&self) -> bool {
        self.mcts.is_solved()
    }

    fn advance(&mut self, game: &LaneGame, joint: &[u32]) {
        self.mcts.advance(game, joint);
    }
}
