//! Where playouts end before the game does.

use crate::game::Game;

/// Where a playout ends before the game does.
pub trait Cutoff<G: Game> {
    /// If the playout ends in this state, which is not terminal, writes a
    /// reward a role and returns true. `moves` have been played since the tree.
    fn cut(&mut self, game: &G, state: &G::State, moves: u32, rewards: &mut [f64]) -> bool;
}

/// Playouts go on to the end of the game.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ToTheEnd;

impl<G: Game> Cutoff<G> for ToTheEnd {
    #[inline]
    fn cut(&mut self, _: &G, _: &G::State, _: u32, _: &mut [f64]) -> bool {
        false
    }
}

/// What a state is worth to each role without playing on.
pub trait Evaluator<G: Game> {
    /// Writes a value a role, in units of reward.
    fn evaluate(&mut self, game: &G, state: &G::State, values: &mut [f64]);
}

/// Playouts end after a number of moves, with the value of the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FixedDepth<E> {
    /// Moves played beyond the tree.
    pub depth: u32,
    /// Values the state then.
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
