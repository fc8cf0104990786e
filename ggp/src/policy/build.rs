//! From a policy to the search that plays a match.

use std::sync::Arc;

use sternhalma_game::features::StateFeatures;
use sternhalma_game::{Game, MemoryBudget, SearchState};
use sternhalma_gdl::network::{LaneGame, LaneView, NetworkGame};
use sternhalma_mcts::tuning::Tuning;
use sternhalma_mcts::{Mcts, MctsConfig, Playout, Selection, ToTheEnd};

use super::{Parallelism, PartsVisitor, Policy, PolicyAgent, PolicyGame, RandomAgent, SearchPolicy, SelectionVisitor};
use crate::batch::{LanePlayout, LaneSelection, ResumableMcts, ResumableSearch, TreeParallel};

/// The maximum number of edges of a tree that is kept through a match. A tree
/// of this size takes 400 MB to 1 GB.
const MAX_EDGES: usize = 1 << 24;

impl SearchPolicy {
    /// Calls the visitor with the selection and the playout, both without experience. A search is compiled for each
    /// combination of them. The search is for `role` until another role is searched for.
    pub fn visit<G: PolicyGame, V: PartsVisitor<G>>(&self, game: &G, role: usize, visitor: V) -> V::Made {
        self.selection.visit(WithPlayout { search: self, game, role, features: || game.features(), visitor })
    }

    /// Calls the visitor with parts that also play in lanes. `features` returns the features of the game, or `None` if
    /// several simulations of a search run at the same time, whose states strategies cannot follow.
    pub(crate) fn visit_in_lanes<V: PartsVisitor<NetworkGame, LaneView>>(
        &self,
        game: &NetworkGame,
        role: usize,
        features: impl FnOnce() -> Option<Box<dyn StateFeatures<NetworkGame>>>,
        visitor: V,
    ) -> V::Made {
        self.selection.visit(WithPlayout { search: self, game, role, features, visitor })
    }
}

/// Adds the playout to a selection.
struct WithPlayout<'a, G, F, V> {
    search: &'a SearchPolicy,
    game: &'a G,
    role: usize,
    features: F,
    visitor: V,
}

impl<G, W, F, V> SelectionVisitor<G, W> for WithPlayout<'_, G, F, V>
where
    G: Game + 'static,
    W: SearchState<G>,
    F: FnOnce() -> Option<Box<dyn StateFeatures<G>>>,
    V: PartsVisitor<G, W>,
{
    type Made = V::Made;

    fn visit<S>(self, selection: S) -> V::Made
    where
        S: Selection<G> + Selection<G, W> + Clone + Send + 'static,
    {
        let WithPlayout { search, game, role, features, visitor } = self;
        search.playout.visit(game, role, features, search.tuning.as_ref(), selection, visitor)
    }
}

impl Policy {
    /// Creates an agent that plays one role of one match by this policy.
    ///
    /// [`PolicyGame::agent`] calls this function, so that it is compiled once for each game.
    pub fn agent<G: PolicyGame>(&self, game: &G, role: usize, seed: u64) -> Box<dyn PolicyAgent<G>> {
        match self {
            Policy::Random => Box::new(RandomAgent::new(seed)),
            Policy::Search(search) => search.visit(game, role, AgentBuilder(search.spec(seed))),
        }
    }

    /// Creates an agent whose simulations run in lanes, if the policy asks for them and the network fits.
    pub(super) fn agent_in_lanes(
        &self,
        game: &NetworkGame,
        role: usize,
        seed: u64,
    ) -> Box<dyn PolicyAgent<NetworkGame>> {
        if let Policy::Search(search) = self
            && search.lanes != Parallelism::One
            && let Ok(lanes) = game.lanes()
        {
            let make = TreeParallelBuilder { spec: search.spec(seed), lanes: lanes.clone(), many: search.lanes };
            return search.visit_in_lanes(game, role, || None, make);
        }
        self.agent(game, role, seed)
    }

    /// Returns whether the policy plays the same in a [`ResumableSearch`]: unless simulations of a search run at the same
    /// time.
    pub(crate) fn is_resumable(&self) -> bool {
        !matches!(self, Policy::Search(SearchPolicy { lanes: Parallelism::Lanes(_), .. }))
    }

    /// Creates a resumable search for one role of one match by this policy; none if the policy does not search.
    pub(crate) fn resumable(&self, game: &NetworkGame, role: usize, seed: u64) -> Option<Box<dyn ResumableSearch>> {
        let Policy::Search(search) = self else { return None };
        let features = || Some(game.features_for_lanes());
        Some(search.visit_in_lanes(game, role, features, ResumableBuilder(search.spec(seed))))
    }
}

impl SearchPolicy {
    /// Returns the settings of a search that plays a match.
    fn spec(&self, seed: u64) -> SearchSpec {
        let &SearchPolicy { decision, tree_gamma, solver, transpositions, .. } = self;
        let settings =
            MctsConfig { max_edges: MAX_EDGES, decision, tree_gamma, solver, transpositions, ..MctsConfig::default() };
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
    lanes: Arc<LaneGame>,
    many: Parallelism,
}

impl PartsVisitor<NetworkGame, LaneView> for TreeParallelBuilder {
    type Made = Box<dyn PolicyAgent<NetworkGame>>;

    fn visit<S, P>(self, selection: S, playout: P) -> Box<dyn PolicyAgent<NetworkGame>>
    where
        S: LaneSelection + 'static,
        P: LanePlayout + 'static,
    {
        Box::new(TreeParallel::new(self.spec.search(selection, playout), self.lanes, self.many))
    }
}

struct ResumableBuilder(SearchSpec);

impl PartsVisitor<NetworkGame, LaneView> for ResumableBuilder {
    type Made = Box<dyn ResumableSearch>;

    fn visit<S, P>(self, selection: S, playout: P) -> Box<dyn ResumableSearch>
    where
        S: LaneSelection + 'static,
        P: LanePlayout + 'static,
    {
        Box::new(ResumableMcts::new(self.0.search(selection, playout)))
    }
}
