//! The rule about repetition.

use crate::game::{ChineseCheckers, GameState, Placement};

/// The occurrence of a placement that ends a game as a draw.
pub const OCCURRENCES: usize = 3;

/// The placements of a game in order, for the rule that the third occurrence of a placement is a
/// draw. Without that rule nothing is stored.
#[derive(Clone, Debug, Default)]
pub struct Repetitions(Vec<Placement>);

impl Repetitions {
    /// Creates the history of a game with only its first state.
    pub fn new(game: &ChineseCheckers, start: &GameState) -> Repetitions {
        let mut repetitions = Repetitions::default();
        repetitions.push(game, start);
        repetitions
    }

    /// Adds the state after a move. Returns whether it ends the game.
    #[inline]
    pub fn push(&mut self, game: &ChineseCheckers, state: &GameState) -> bool {
        let Some(placement) = game.counted_placement(state) else { return false };
        let ends = self.would_end(placement);
        self.0.push(placement);
        ends
    }

    /// Returns whether a placement that comes next ends the game.
    #[inline]
    pub fn would_end(&self, placement: Placement) -> bool {
        self.count(placement) + 1 >= OCCURRENCES
    }

    /// Returns the number of occurrences of a placement so far.
    #[inline]
    pub fn count(&self, placement: Placement) -> usize {
        self.0.iter().filter(|&&other| other == placement).count()
    }

    /// Returns whether the last state ended the game.
    pub fn is_over(&self) -> bool {
        self.0.last().is_some_and(|&last| self.count(last) >= OCCURRENCES)
    }

    /// Removes the states after the first `states`.
    #[inline]
    pub fn truncate(&mut self, states: usize) {
        self.0.truncate(states);
    }

    /// Returns the number of states.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether no state is stored.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
