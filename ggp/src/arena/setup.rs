//! What a tournament needs besides its schedule.

use std::error::Error;

use sternhalma_game::Game;

use super::{ArenaGame, Contestant, Openings};

/// Creates a contestant for the entrant with this index. An error ends the run.
pub type ContestantFactory<'a, G> = dyn Fn(usize) -> Result<Box<dyn Contestant<G>>, ContestantError> + Sync + 'a;

/// The reason why a contestant cannot be created, such as too little memory.
pub type ContestantError = Box<dyn Error + Send + Sync>;

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
