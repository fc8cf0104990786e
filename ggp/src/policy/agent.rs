//! Agents that play one match by a policy.

use rand::{RngExt, SeedableRng};
use sternhalma_game::{Game, Rng, SearchStats};
use sternhalma_gdl::network::{NetworkGame, NetworkState};
use sternhalma_mcts::{Mcts, Playout, SearchResult, Selection, ToTheEnd};

use super::SearchTask;
use crate::batch::{LanePlayout, LaneSelection, TreeParallel};

/// An agent that finds the moves of one match.
pub trait PolicyAgent<G: Game>: Send {
    /// Begins the match, or continues from a state that the match did not reach by the last moves.
    fn begin(&mut self, game: &G, state: &G::State);

    /// Searches before the role of the agent moves, until a limit is reached or `stop` is set. Returns the cost.
    fn think(&mut self, task: &SearchTask<G>) -> SearchStats;

    /// Searches for a move of an acting role until a limit is reached or `stop` is set. The clock is that of a move.
    fn search(&mut self, task: &SearchTask<G>, role: usize) -> SearchResult<G::Move>;

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

impl<M: Copy> RandomAgent<M> {
    /// Creates an agent with a seed.
    pub fn new(seed: u64) -> RandomAgent<M> {
        RandomAgent { moves: Vec::new(), rng: Rng::seed_from_u64(seed) }
    }

    /// Returns a legal move of an acting role.
    pub fn choose<G: Game<Move = M>>(&mut self, game: &G, state: &G::State, role: usize) -> M {
        self.moves.clear();
        game.legal(state, role, &mut self.moves);
        self.moves[self.rng.random_range(0..self.moves.len())]
    }
}

impl<G: Game> PolicyAgent<G> for RandomAgent<G::Move> {
    fn begin(&mut self, _: &G, _: &G::State) {}

    fn think(&mut self, _: &SearchTask<G>) -> SearchStats {
        SearchStats::default()
    }

    fn search(&mut self, task: &SearchTask<G>, role: usize) -> SearchResult<G::Move> {
        SearchResult::without_search(self.choose(task.game, task.state, role))
    }

    fn advance(&mut self, _: &G, _: &[G::Move]) {}
}

impl<G: Game, S: Selection<G> + Send, P: Playout<G> + Send> PolicyAgent<G> for Mcts<G, S, P, ToTheEnd> {
    fn begin(&mut self, game: &G, state: &G::State) {
        Mcts::begin(self, game, state);
    }

    fn think(&mut self, task: &SearchTask<G>) -> SearchStats {
        Mcts::think(self, task.game, task.state, task.limits, task.stop, SearchStats::default(), task.clock)
    }

    fn search(&mut self, task: &SearchTask<G>, role: usize) -> SearchResult<G::Move> {
        Mcts::search(self, task.game, task.state, role, task.limits, task.stop)
    }

    fn is_solved(&self) -> bool {
        Mcts::is_solved(self)
    }

    fn advance(&mut self, game: &G, joint: &[G::Move]) {
        Mcts::advance(self, game, joint);
    }
}

impl<S: LaneSelection, P: LanePlayout> PolicyAgent<NetworkGame> for TreeParallel<S, P> {
    fn begin(&mut self, game: &NetworkGame, state: &NetworkState) {
        self.mcts.begin(game, state);
    }

    fn think(&mut self, task: &SearchTask<NetworkGame>) -> SearchStats {
        TreeParallel::think(self, task)
    }

    fn search(&mut self, task: &SearchTask<NetworkGame>, role: usize) -> SearchResult<u32> {
        let spent = TreeParallel::think(self, task);
        self.mcts.result(task.game, task.state, role, spent)
    }

    fn is_solved(&self) -> bool {
        self.mcts.is_solved()
    }

    fn advance(&mut self, game: &NetworkGame, joint: &[u32]) {
        self.mcts.advance(game, joint);
    }
}
