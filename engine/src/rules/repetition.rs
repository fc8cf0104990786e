//! The rule about repetition.

use crate::rules::game::{ChineseCheckers, GameState, Placement};

/// The occurrence of a placement that ends a game as a draw.
pub const OCCURRENCES: usize = 3;

/// The placements of a game in order, for the rule that the third occurrence of a placement is a
/// draw. Without that rule nothing is stored.
#[derive(Clone, Debug, Default)]
pub struct Repetitions {
    /// Each placement, with whether it was the last occurrence before the one that ends the game.
    placements: Vec<(Placement, bool)>,
    /// The placements whose next occurrence ends the game, in order.
    due: Vec<Placement>,
}

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
        let occurrence = self.count(placement) + 1;
        let is_due = occurrence + 1 == OCCURRENCES;
        if is_due {
            self.due.push(placement);
        }
        self.placements.push((placement, is_due));
        occurrence >= OCCURRENCES
    }

    /// Returns whether a placement that comes next ends the game. The cost does not depend on the
    /// length of the game.
    #[inline]
    pub fn would_end(&self, placement: Placement) -> bool {
        self.due.contains(&placement)
    }

    /// Returns whether no placement ends the game if it comes next.
    #[inline]
    pub fn none_is_due(&self) -> bool {
        self.due.is_empty()
    }

    /// Returns the number of occurrences of a placement so far.
    #[inline]
    pub fn count(&self, placement: Placement) -> usize {
        self.placements.iter().filter(|&&(other, _)| other == placement).count()
    }

    /// Returns whether the last state ended the game.
    pub fn is_over(&self) -> bool {
        self.placements.last().is_some_and(|&(last, _)| self.count(last) >= OCCURRENCES)
    }

    /// Removes the states after the first `states`.
    #[inline]
    pub fn truncate(&mut self, states: usize) {
        let removed = self.placements.get(states..).unwrap_or_default();
        let due = removed.iter().filter(|&&(_, is_due)| is_due).count();
        self.due.truncate(self.due.len() - due);
        self.placements.truncate(states);
    }

    /// Returns the number of states.
    #[inline]
    pub fn len(&self) -> usize {
        self.placements.len()
    }

    /// Returns whether no state is stored.
    pub fn is_empty(&self) -> bool {
        self.placements.is_empty()
    }
}
