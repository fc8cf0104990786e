//! Random playouts.

use super::{Game, MoveHistory, Playout, Rng, SearchState};

/// Uniformly random legal moves.
#[derive(Clone, Debug)]
pub struct RandomPlayout<M> {
    moves: Vec<M>,
}

impl<M> Default for RandomPlayout<M> {
    fn default() -> RandomPlayout<M> {
        RandomPlayout { moves: Vec::new() }
    }
}

impl<G: Game, V: SearchState<G>> Playout<G, V> for RandomPlayout<G::Move> {
    fn choose(&mut self, game: &G, state: &V, role: usize, _: &MoveHistory, rng: &mut Rng) -> G::Move {
        let mv = state.random_move(game, role, &mut self.moves, rng);
        mv.expect("an acting role has a legal move in a state that is not terminal")
    }
}
