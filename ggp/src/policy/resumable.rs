//! Searches by a policy that are run a step at a time.

use super::agent::SearchSpec;
use super::game::PolicyGame;
use super::{PartsVisitor, PlayoutPolicy, Policy, SearchPolicy};
use crate::batch::{Parallelism, ResumableMcts, ResumableSearch};
use crate::game::Game;
use crate::mcts::{Playout, Selection};

impl Policy {
    /// Whether it plays the same a step at a time: strategies that look at
    /// states want more of them than a lane shows.
    pub(crate) fn is_resumable(&self) -> bool {
        match self {
            Policy::Search(SearchPolicy { lanes: Parallelism::Lanes(_), .. }) => false,
            Policy::Search(SearchPolicy { playout: PlayoutPolicy::Mini(config), .. }) => config.is_blind(),
            _ => true,
        }
    }

    /// What plays a role of one match by this policy a step at a time; none if
    /// it does not search.
    pub(crate) fn resumable<G: PolicyGame>(
        &self,
        game: &G,
        role: usize,
        seed: u64,
    ) -> Option<Box<dyn ResumableSearch<G>>> {
        match self {
            Policy::Random => None,
            Policy::Search(search) => Some(search.visit(game, role, ResumableBuilder(search.spec(game, seed)))),
        }
    }
}

struct ResumableBuilder(SearchSpec);

impl<G: Game + 'static> PartsVisitor<G> for ResumableBuilder {
    type Made = Box<dyn ResumableSearch<G>>;

    fn visit<S, P>(self, selection: S, playout: P) -> Box<dyn ResumableSearch<G>>
    where
        S: Selection<G> + Clone + Send + 'static,
        S::EdgeData: Send,
        P: Playout<G> + Clone + Send + 'static,
    {
        Box::new(ResumableMcts::new(self.0.search(selection, playout)))
    }
}
