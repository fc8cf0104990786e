//! What every engine that plays a rulesheet can tell of it by name.

use crate::game::Game;

/// What a role has reached in a state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Goal {
    /// The one goal that can be proven, 0 to 100.
    Value(u8),
    /// None can be proven.
    None,
    /// Several can be proven.
    Several,
    /// What can be proven is not a number from 0 to 100.
    NotANumber,
}

impl Goal {
    /// The value, and 0 where there is not exactly one.
    pub fn score(self) -> u8 {
        match self {
            Goal::Value(value) => value,
            Goal::None | Goal::Several | Goal::NotANumber => 0,
        }
    }

    /// Whether there is exactly one value.
    pub fn is_value(self) -> bool {
        matches!(self, Goal::Value(_))
    }
}

/// A game told by a rulesheet, whatever engine plays it. Names are KIF with
/// one space between words.
pub trait Reasoner: Game {
    /// The names of the roles, in order.
    fn role_names(&self) -> &[String];

    /// The fluents that hold in a state, in alphabetical order.
    fn facts(&self, state: &Self::State) -> Vec<String>;

    /// Whether the rules say that the match is over. A game for the search
    /// may end for other reasons too.
    fn is_over(&self, state: &Self::State) -> bool {
        self.is_terminal(state)
    }

    /// The legal moves of a role, acting or not; also in a terminal state.
    fn legal_of(&self, state: &Self::State, role: usize) -> Vec<Self::Move>;

    /// The name of a move.
    fn move_name(&self, role: usize, mv: Self::Move) -> String;

    /// The move of a name, if any state may have it.
    fn move_named(&self, role: usize, name: &str) -> Option<Self::Move>;

    /// Plays one legal move of every role, acting or not.
    fn play_all(&self, state: &mut Self::State, joint: &[Self::Move]);

    /// What a role has reached in a state, terminal or not.
    fn reached(&self, state: &Self::State, role: usize) -> Goal;
}
