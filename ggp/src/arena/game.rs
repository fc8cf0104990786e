//! Games that the arena can play.

use sternhalma_game::{Game, Rng};
use thiserror::Error;

/// A game whose moves and openings have a text form.
pub trait ArenaGame: Game {
    /// Returns the text of a legal move, as records contain it.
    fn move_text(&self, state: &Self::State, role: usize, mv: Self::Move) -> String;

    /// Returns the reason why a move is illegal, if the game can give one. `mv` may be any move.
    fn why_illegal(&self, _state: &Self::State, _role: usize, _mv: Self::Move) -> Option<String> {
        None
    }

    /// Parses an opening.
    ///
    /// # Errors
    /// Returns an error if the text is not an opening of this game or ends the game.
    fn opening(&self, text: &str) -> Result<Opening<Self::State>, OpeningError>;

    /// Returns an opening of random legal moves, or `None` if they end the game.
    fn random_opening(&self, plies: u32, rng: &mut Rng) -> Option<Opening<Self::State>>;

    /// Returns the key by which repetitions of a state are counted, or `None` if repetitions do not
    /// matter. The third occurrence of a key is a draw.
    fn repetition_key(&self, _state: &Self::State) -> Option<[u128; 2]> {
        None
    }
}

/// The reason why a text is no opening of a game.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpeningError {
    /// The text has no position or moves of the game: says what is wrong, in the notation of the game.
    #[error("{0}")]
    Notation(String),
    /// The game is over after the moves.
    #[error("`{0}` is the end of a game")]
    End(String),
}

impl OpeningError {
    /// Creates the error of a text that the notation of the game refuses.
    pub fn notation(why: impl ToString) -> OpeningError {
        OpeningError::Notation(why.to_string())
    }
}

/// A state from which contestants start to play, with its text form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opening<S> {
    /// The state.
    pub state: S,
    /// The text that [`ArenaGame::opening`] parses.
    pub text: String,
    /// The number of plies played so far.
    pub plies: u32,
}
