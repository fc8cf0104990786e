//! Games that the arena can play.

use sternhalma_game::{Game, Rng};

/// A game whose moves and openings have a text form.
pub trait ArenaGame: Game {
    /// Returns the text of a legal move, as records contain it.
    fn move_text(&self, state: &Self::State, role: usize, mv: Self::Move) -> String;

    /// Parses an opening.
    ///
    /// # Errors
    /// Returns a message if the text is not an opening of this game or ends the game.
    fn opening(&self, text: &str) -> Result<Opening<Self::State>, String>;

    /// Returns an opening of random legal moves, or `None` if they end the game.
    fn random_opening(&self, plies: u32, rng: &mut Rng) -> Option<Opening<Self::State>>;

    /// Returns the key by which repetitions of a state are counted, or `None` if repetitions do not
    /// matter. The third occurrence of a key is a draw.
    fn repetition_key(&self, _state: &Self::State) -> Option<[u128; 2]> {
        None
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
