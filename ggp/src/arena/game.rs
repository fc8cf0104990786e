//! Games that the arena can play, and what a tournament needs besides its schedule.

use sternhalma_game::{Game, Rng};

use super::{Contestant, Openings};

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

/// Creates a contestant for the entrant with this index. An error, such as too little memory, ends the run.
pub type ContestantFactory<'a, G> = dyn Fn(usize) -> Result<Box<dyn Contestant<G>>, String> + Sync + 'a;

/// Returns the goals of a non-terminal state whose result is certain.
pub type Adjudicator<'a, G> = dyn Fn(&<G as Game>::State) -> Option<Vec<u8>> + Sync + 'a;

/// The game and the contestants of a tournament.
pub struct TournamentSetup<'a, G: ArenaGame> {
    /// The game.
    pub game: &'a G,
    /// Creates the contestants.
    pub contestants: &'a ContestantFactory<'a, G>,
    /// The function that can end a game early, called before each move.
    pub adjudicator: Option<&'a Adjudicator<'a, G>>,
    /// The openings, if those of the schedule have been read before.
    pub openings: Option<&'a Openings<G::State>>,
}
