//! The interface of all engines that play a rulesheet.

use sternhalma_game::Game;

/// The goal of a role in a state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Goal {
    /// The only goal that can be proven, 0 to 100.
    Value(u8),
    /// No goal can be proven.
    None,
    /// Several goals can be proven.
    Several,
    /// The goal that can be proven is not a number from 0 to 100.
    NotANumber,
}

impl Goal {
    /// Creates the goal from the values that can be proven.
    pub(crate) fn of(mut values: impl Iterator<Item = u8>) -> Goal {
        match (values.next(), values.next()) {
            (Some(value), None) => Goal::Value(value),
            (None, _) => Goal::None,
            (Some(_), Some(_)) => Goal::Several,
        }
    }

    /// Returns the value, or 0 unless there is exactly one.
    pub fn score(self) -> u8 {
        match self {
            Goal::Value(value) => value,
            Goal::None | Goal::Several | Goal::NotANumber => 0,
        }
    }

    /// Returns whether there is exactly one value.
    pub fn is_value(self) -> bool {
        matches!(self, Goal::Value(_))
    }
}

/// A game defined by a rulesheet. Names are KIF with one space between words.
pub trait Reasoner: Game {
    /// Returns the names of the roles, in order.
    fn role_names(&self) -> &[String];

    /// Returns the fluents that hold in a state, in alphabetical order.
    fn facts(&self, state: &Self::State) -> Vec<String>;

    /// Returns whether `terminal` holds. [`Game::is_terminal`] may also hold for
    /// other reasons.
    fn is_over(&self, state: &Self::State) -> bool {
        self.is_terminal(state)
    }

    /// Returns the legal moves of a role, acting or not, also in a terminal state.
    fn legal_of(&self, state: &Self::State, role: usize) -> Vec<Self::Move>;

    /// Returns the name of a move.
    fn move_name(&self, role: usize, mv: Self::Move) -> String;

    /// Returns the move with a name, or `None` if no state has it.
    fn move_named(&self, role: usize, name: &str) -> Option<Self::Move>;

    /// Plays one legal move per role, acting or not.
    fn play_all(&self, state: &mut Self::State, joint: &[Self::Move]);

    /// Returns whether the game has used up much of its memory, so that it should be replaced by a
    /// new one.
    fn is_crowded(&self) -> bool {
        false
    }

    /// Returns the goal of a role in a state, terminal or not.
    fn reached(&self, state: &Self::State, role: usize) -> Goal;
}
