//! From a policy to the search that plays a match.

use sternhalma_game::{Game, MemoryBudget, SearchStats};
use sternhalma_gdl::network::LaneGame;
use sternhalma_mcts::tuning::Tuning;
use sternhalma_mcts::{Mcts, MctsConfig, Playout, SearchResult, Selection, ToTheEnd};

use super::{
    Parallelism, PartsVisitor, Policy, PolicyAgent, PolicyGame, RandomAgent, SearchPolicy, SearchTask,
    SelectionVisitor, Together,
};
use crate::batch::{ResumableMcts, ResumableSearch, TreeParallel};

/// The maximum number of edges of a tree that is kept through a match. A tree
/// of this size takes 400 MB to 1 GB.
const MOST_EDGES: usize = 1 << 24;

impl SearchPolicy {
    /// Calls the visitor with the selection and the playout, both without experience. A search is compiled for each
    /// combination of them. The search is for `role` until another role is searched for.
    pub fn visit<G: PolicyGame, V: PartsVisitor<G>>(&self, game: &G, role: usize, visitor: V) -> V::Made {
        self.selection.visit(WithPlayout { search: self, game, role, visitor })
    }
}

/// Adds the playout to a selection.
struct WithPlayout<'a, G, V> {
    search: &'a SearchPolicy,
    game: &'a G,
    role: usize,
    visitor: V,
}

impl<G: PolicyGame, V: PartsVisitor<G>> SelectionVisitor<G> for WithPlayout<'_, G, V> {
    type Made = V::Made;

    fn visit<S: Selection<G> + Clone + Send + 'static>(self, selection: S) -> V::Made {
        let WithPlayout { search, game, role, visitor } = self;
        let tuning = search.tuning.as_ref();
        search.playout.visit(game, role, || game.features(), tuning, selection, visitor)
    }
}

impl Policy {
    /// Creates an agent that plays one role of one match by this policy.
    ///
    /// [`PolicyGame::agent`] calls this function, so that it is compiled once for each game.
    pub fn agent<G: PolicyGame>(&self, game: &G, role: usize, seed: u64) -> Box<dyn PolicyAgent<G>> {
        match self {
            Policy::Random => Box::new(RandomAgent::new(seed)),
            Policy::Search(search) => match game.together().filter(|_| search.lanes != Parallelism::One) {
                Some(together) => {
                    let make = TreeParallelBuilder { spec: search.spec(seed), many: search.lanes };
                    Box::new(LaneAdapter(search.visit(together.lanes, role, make)))
                }
                None => search.visit(game, role, AgentBuilder(search.spec(seed))),
            },
        }
    }

    /// Returns whether the policy plays the same in a [`ResumableSearch`].
    pub(crate) fn is_resumable(&self) -> bool {
        match self {
            Policy::Search(SearchPolicy { lanes: Parallelism::Lanes(_), .. }) => false,
            Policy::Search(SearchPolicy { playout, .. }) => playout.is_resumable(),
            Policy::Random => true,
        }
    }

    /// Creates a resumable search for one role of one match by this policy; none if the policy does not search.
    pub(crate) fn resumable<G: PolicyGame>(
        &self,
        game: &G,
        role: usize,
        seed: u64,
    ) -> Option<Box<dyn ResumableSearch<G>>> {
        match self {
            Policy::Random => None,
            Policy::Search(search) => Some(search.visit(game, role, ResumableBuilder(search.spec(seed)))),
        }
    }
}

impl SearchPolicy {
    /// Returns the settings of a search that plays a match.
    fn spec(&self, seed: u64) -> SearchSpec {
        let &SearchPolicy { decision, tree_gamma, solver, transpositions, .. } = self;
        let settings =
            MctsConfig { max_edges: MOST_EDGES, decision, tree_gamma, solver, transpositions, ..MctsConfig::default() };
        SearchSpec { settings, tuning: self.tuning.clone(), memory: self.memory_budget(), seed }
    }
}

/// The settings of a search, without its parts.
struct SearchSpec {
    settings: MctsConfig,
    tuning: Option<Tuning>,
    memory: MemoryBudget,
    seed: u64,
}

impl SearchSpec {
    /// Creates the search with these parts, whose playouts end with the game.
    fn search<G: Game, S: Selection<G>, P: Playout<G>>(self, selection: S, playout: P) -> Mcts<G, S, P, ToTheEnd> {
        let search = Mcts::new(selection, playout, ToTheEnd, self.settings, self.seed).within(&self.memory);
        search.tuned(self.tuning)
    }
}

struct AgentBuilder(SearchSpec);

impl<G: Game + 'static> PartsVisitor<G> for AgentBuilder {
    type Made = Box<dyn PolicyAgent<G>>;

    fn visit<S, P>(self, selection: S, playout: P) -> Box<dyn PolicyAgent<G>>
    where
        S: Selection<G> + Clone + Send + 'static,
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
        P: Playout<LaneGame> + Clone + Send + 'static,
    {
        Box::new(TreeParallel::new(self.spec.search(selection, playout), self.many))
    }
}

struct ResumableBuilder(SearchSpec);

impl<G: Game + 'static> PartsVisitor<G> for ResumableBuilder {
    type Made = Box<dyn ResumableSearch<G>>;

    fn visit<S, P>(self, selection: S, playout: P) -> Box<dyn ResumableSearch<G>>
    where
        S: Selection<G> + Clone + Send + 'static,
        P: Playout<G> + Clone + Send + 'static,
    {
        Box::new(ResumableMcts::new(self.0.search(selection, playout)))
    }
}

/// An agent for a game that has a [batched form](PolicyGame::together): the agent inside plays the batched form.
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

    fn think(&mut self, task: &SearchTask<G>) -> SearchStats {
        let form = LaneAdapter::form(task.game);
        let &SearchTask { limits, stop, clock, .. } = task;
        self.0.think(&SearchTask { game: form.lanes, state: &(form.state)(task.state), limits, stop, clock })
    }

    fn search(&mut self, task: &SearchTask<G>, role: usize) -> SearchResult<G::Move> {
        let form = LaneAdapter::form(task.game);
        let &SearchTask { limits, stop, clock, .. } = task;
        let task = SearchTask { game: form.lanes, state: &(form.state)(task.state), limits, stop, clock };
        let SearchResult { best, moves, spent } = self.0.search(&task, role);
        let moves = moves.into_iter().map(|(mv, stats)| ((form.mv)(mv), stats)).collect();
        SearchResult { best: (form.mv)(best), moves, spent }
    }

    fn is_solved(&self) -> bool {
        self.0.is_solved()
    }

    fn advance(&mut self, game: &G, joint: &[G::Move]) {
        let numbers: Vec<u32> = joint.iter().map(|&mv| game.number(0, mv)).collect();
        self.0.advance(LaneAdapter::form(game).lanes, &numbers);
    }
}
