//! Generic functions of the parts of a search.

use sternhalma_game::{Game, SearchState};
use sternhalma_mcts::{Playout, Selection};

/// A generic function of a selection, compiled for each kind of selection. The search also reads states as `V`.
pub trait SelectionVisitor<G: Game, V: SearchState<G> = <G as Game>::State> {
    /// The result.
    type Made;

    /// Returns the result for a selection.
    fn visit<S>(self, selection: S) -> Self::Made
    where
        S: Selection<G> + Selection<G, V> + Clone + Send + 'static;
}

/// A generic function of a selection and a playout, compiled for each combination of them. The search also reads
/// states as `V`.
pub trait PartsVisitor<G: Game, V: SearchState<G> = <G as Game>::State> {
    /// The result.
    type Made;

    /// Returns the result for a selection and a playout.
    fn visit<S, P>(self, selection: S, playout: P) -> Self::Made
    where
        S: Selection<G> + Selection<G, V> + Clone + Send + 'static,
        P: Playout<G> + Playout<G, V> + Clone + Send + 'static;
}
