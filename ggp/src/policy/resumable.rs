//! Resumable searches by a policy.

use super::build::SearchSpec;
use super::game::PolicyGame;
use super::search::SearchPolicy;
use super::text::Policy;
use super::visitor::PartsVisitor;
use crate::batch::{Parallelism, ResumableMcts, ResumableSearch};
use crate::game::Game;
use crate::mcts::{Playout, Selection};

impl Policy {
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
