//! Cutoffs: when a playout ends before the game does.

use sternhalma_game::Game;

/// Decides whether a playout ends before the game does. `V` is what it reads of states.
pub trait Cutoff<G: Game, V = <G as Game>::State> {
    /// Returns whether the playout ends in `state`, which is not terminal. If
    /// the playout ends, sets the reward of each role. `moves` is the number of
    /// joint moves since the simulation left the tree.
    fn cut(&mut self, game: &G, state: &V, moves: u32, rewards: &mut [f64]) -> bool;

    /// Returns the number of joint moves from the root after which the cutoff also ends simulations that are still in
    /// the tree.
    #[inline]
    fn tree_from(&self) -> u32 {
        u32::MAX
    }
}

/// Plays every playout to the end of the game.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ToTheEnd;

impl<G: Game, V> Cutoff<G, V> for ToTheEnd {
    #[inline]
    fn cut(&mut self, _: &G, _: &V, _: u32, _: &mut [f64]) -> bool {
        false
    }
}

/// A static evaluation of states.
pub trait Evaluator<G: Game> {
    /// Sets the value of a state for each role, in units of reward.
    fn evaluate(&mut self, game: &G, state: &G::State, values: &mut [f64]);
}

/// Ends playouts after a number of moves, and evaluates the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FixedDepth<E> {
    /// The number of joint moves beyond the tree.
    pub depth: u32,
    /// The evaluation of the last state.
    pub evaluator: E,
}

impl<G: Game, E: Evaluator<G>> Cutoff<G> for FixedDepth<E> {
    #[inline]
    fn cut(&mut self, game: &G, state: &G::State, moves: u32, rewards: &mut [f64]) -> bool {
        if moves < self.depth {
            return false;
        }
        self.evaluator.evaluate(game, state, rewards);
        true
    }
}
