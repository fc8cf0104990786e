//! Generic functions of the parts of a search.

use sternhalma_game::Game;
use sternhalma_mcts::{Playout, Selection};

/// A generic function of a selection, compiled for each kind of selection.
pub trait SelectionVisitor<G: Game> {
    /// The result.
    type Made;

    /// Returns the result for a selection.
    fn visit<S: Selection<G> + Clone + Send + 'static>(self, selection: S) -> Self::Made;
}

/// A generic function of a selection and a playout, compiled for each combination of them.
pub trait PartsVisitor<G: Game> {
    /// The result.
    type Made;

    /// Returns the result for a selection and a playout.
    fn visit<S, P>(self, selection: S, playout: P) -> Self::Made
    where
        S: Selection<G> + Clone + Send + 'static,
        P: Playout<G> + Clone + Send + 'static;
}
