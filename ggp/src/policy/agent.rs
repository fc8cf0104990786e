//! Who plays one match by a policy.

use std::sync::atomic::AtomicBool;

use rand::{RngExt, SeedableRng};

use super::game::{PolicyGame, Together};
use super::{PartsVisitor, Policy, SearchPolicy};
use crate::batch::{Parallelism, TreeParallel};
use crate::game::Game;
use crate::gdl::network::{LaneGame, LaneState};
use crate::limits::{Limits, SearchStats};
use crate::mcts::tuning::Tuning;
use crate::mcts::{Mcts, MctsConfig, Playout, SearchClock, Selection, ToTheEnd};
use crate::rng::Rng;

/// The edges of a tree that is kept through a match: with its nodes 400 MB to
/// 1 GB.
const MOST_EDGES: usize = 1 << 24;

/// What finds the moves of a match.
pub trait PolicyAgent<G: Game>: Send {
    /// Begins the match, or goes on from another state than the match had come to.
    fn begin(&mut self, game: &G, state: &G::State);

    /// Thinks about a state that is not terminal before its role is to act,
    /// until a limit is reached or `stop` is set, and returns what that took.
    fn think(
        &mut self,
        game: &G,
        state: &G::State,
        limits: Limits,
        stop: &AtomicBool,
        clock: SearchClock,
    ) -> SearchStats;

    /// A move of a role that is to act in a state that is not terminal, the
    /// best that is known once a limit is reached or `stop` is set, and what
    /// that took.
    fn search(
        &mut self,
        game: &G,
        state: &G::State,
        role: usize,
        limits: Limits,
        stop: &AtomicBool,
    ) -> (G::Move, SearchStats);

    /// Whether it is proved what the match comes to, so that more thinking
    /// changes nothing.
    fn is_solved(&self) -> bool {
        false
    }

    /// Follows the moves of the acting roles.
    fn advance(&mut self, game: &G, joint: &[G::Move]);
}

impl Policy {
    /// What plays a role of one match by this policy.
    ///
    /// [`PolicyGame::agent`] calls it: there it is compiled once for each game.
    pub fn agent<G: PolicyGame>(&self, game: &G, role: usize, seed: u64) -> Box<dyn PolicyAgent<G>> {
        match self {
            Policy::Random => Box::new(RandomAgent::new(seed)),
            Policy::Search(search) => match game.together().filter(|_| search.lanes != Parallelism::One) {
                Some(together) => {
                    let make = TreeParallelBuilder { spec: search.spec(together.lanes, seed), many: search.lanes };
                    Box::new(LaneAdapter(search.visit(together.lanes, role, make)))
                }
                None => search.visit(game, role, AgentBuilder(search.spec(game, seed))),
            },
        }
    }
}

impl SearchPolicy {
    /// What a search that plays a match is made of beside its parts.
    pub(super) fn spec(&self, game: &impl PolicyGame, seed: u64) -> SearchSpec {
        let &SearchPolicy { decision, tree_gamma, solver, .. } = self;
        let settings = MctsConfig { max_edges: MOST_EDGES, decision, tree_gamma, solver, ..MctsConfig::default() };
        let expects = self.tuning.as_ref().is_some_and(|tuning| tuning.method.expects());
        SearchSpec { settings, tuning: self.tuning.clone(), accumulates: expects && game.accumulates(), seed }
    }
}

/// What a search is made of beside its parts.
pub(super) struct SearchSpec {
    settings: MctsConfig,
    tuning: Option<Tuning>,
    accumulates: bool,
    seed: u64,
}

impl SearchSpec {
    /// The search of these parts, whose playouts go on to the end.
    pub fn search<G, S, P>(self, selection: S, playout: P) -> Mcts<G, S, P, ToTheEnd>
    where
        G: Game,
        S: Selection<G>,
        P: Playout<G>,
    {
        Mcts::new(selection, playout, ToTheEnd, self.settings, self.seed).tuned(self.tuning, self.accumulates)
    }
}

struct AgentBuilder(SearchSpec);

impl<G: Game + 'static> PartsVisitor<G> for AgentBuilder {
    type Made = Box<dyn PolicyAgent<G>>;

    fn visit<S, P>(self, selection: S, playout: P) -> Box<dyn PolicyAgent<G>>
    where
        S: Selection<G> + Clone + Send + 'static,
        S::EdgeData: Send,
        P: Playout<G> + Clone + Send + 'static,
    {
        Box::new(self.0.search(selection, playout))
    }
}

struct TreeParallelBuilder {
    spec: SearchSpec,
    many: Parallelism,
}

impl PartsVisitor<LaneGame> for TreeParallelBuilder {
    type Made = Box<dyn PolicyAgent<LaneGame>>;

    fn visit<S, P>(self, selection: S, playout: P) -> Box<dyn PolicyAgent<LaneGame>>
    where
        S: Selection<LaneGame> + Clone + Send + 'static,
        S::EdgeData: Send,
        P: Playout<LaneGame> + Clone + Send + 'static,
    {
        Box::new(TreeParallel::new(self.spec.search(selection, playout), self.many))
    }
}

/// Plays a game by an agent that plays the same game [together](PolicyGame::together).
struct LaneAdapter(Box<dyn PolicyAgent<LaneGame>>);

impl LaneAdapter {
    fn form<G: PolicyGame>(game: &G) -> Together<'_, G> {
        game.together().expect("a game that has lanes once has them always")
    }
}

impl<G: PolicyGame> PolicyAgent<G> for LaneAdapter {
    fn begin(&mut self, game: &G, state: &G::State) {
        let form = LaneAdapter::form(game);
        self.0.begin(form.lanes, &(form.state)(state));
    }

    fn think(
        &mut self,
        game: &G,
        state: &G::State,
        limits: Limits,
        stop: &AtomicBool,
        clock: SearchClock,
    ) -> SearchStats {
        let form = LaneAdapter::form(game);
        self.0.think(form.lanes, &(form.state)(state), limits, stop, clock)
    }

    fn search(
        &mut self,
        game: &G,
        state: &G::State,
        role: usize,
        limits: Limits,
        stop: &AtomicBool,
    ) -> (G::Move, SearchStats) {
        let form = LaneAdapter::form(game);
        let (mv, spent) = self.0.search(form.lanes, &(form.state)(state), role, limits, stop);
        ((form.mv)(mv), spent)
    }

    fn is_solved(&self) -> bool {
        self.0.is_solved()
    }

    fn advance(&mut self, game: &G, joint: &[G::Move]) {
        let numbers: Vec<u32> = joint.iter().map(|&mv| game.number(0, mv)).collect();
        self.0.advance(LaneAdapter::form(game).lanes, &numbers);
    }
}

/// Plays any legal move, all equally likely.
pub(crate) struct RandomAgent<M> {
    moves: Vec<M>,
    rng: Rng,
}

impl<M> RandomAgent<M> {
    /// A player of random moves by this seed.
    pub fn new(seed: u64) -> RandomAgent<M> {
        RandomAgent { moves: Vec::new(), rng: Rng::seed_from_u64(seed) }
    }

    /// A legal move of an acting role.
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
