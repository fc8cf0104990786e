//! Two-player Chinese Checkers in the arena.

use sternhalma_data::{NotationError, Position};
use sternhalma_ggp::arena::{ArenaGame, Contestant, Fault, Opening, OpeningError, Request, SearchValue};
use sternhalma_ggp::{Rng, SearchStats};

use crate::players::EnginePlayer;
use crate::protocol::ugi;
use crate::rules::{Action, ChineseCheckers, GameState, Placement};

/// Openings are position strings, or `startpos` or `fen` with a position
/// string, optionally followed by `moves` and moves, as in the engine
/// protocol.
impl ArenaGame for ChineseCheckers {
    fn move_text(&self, _: &GameState, _: usize, action: Action) -> String {
        ugi::action_text(self.geometry(), action)
    }

    fn why_illegal(&self, state: &GameState, _: usize, action: Action) -> Option<String> {
        self.why_forbidden(state, action?)
    }

    fn opening(&self, text: &str) -> Result<Opening<GameState>, OpeningError> {
        let words = text.split_whitespace().next();
        let state = match words {
            Some("startpos" | "fen") => ugi::placed(self, text).map_err(OpeningError::Notation)?,
            _ => {
                let position: Position = text.parse().map_err(|error: NotationError| OpeningError::notation(error))?;
                let other = || OpeningError::Notation(format!("`{text}` is no position of {}", self.board()));
                self.state(&position).ok_or_else(other)?
            }
        };
        match state.outcome() {
            Some(_) => Err(OpeningError::End(text.to_owned())),
            None => Ok(self.opening_at(state)),
        }
    }

    fn random_opening(&self, plies: u32, rng: &mut Rng) -> Option<Opening<GameState>> {
        self.random_state(plies, rng).map(|state| self.opening_at(state))
    }

    fn repetition_key(&self, state: &GameState) -> Option<[u128; 2]> {
        self.counted_placement(state).map(Placement::bits)
    }
}

impl ChineseCheckers {
    fn opening_at(&self, state: GameState) -> Opening<GameState> {
        Opening { state, text: self.position(&state).to_string(), plies: state.ply() }
    }
}

/// A built-in player as a contestant of the arena.
pub struct EngineContestant {
    player: Box<dyn EnginePlayer>,
    /// The value of the last search.
    value: Option<SearchValue>,
}

impl EngineContestant {
    /// Creates a contestant.
    pub fn new(player: Box<dyn EnginePlayer>) -> EngineContestant {
        EngineContestant { player, value: None }
    }
}

impl Contestant<ChineseCheckers> for EngineContestant {
    fn begin(&mut self, _: &ChineseCheckers, start: &GameState, _: usize, seed: u64) -> Result<(), Fault> {
        self.player.reset(seed);
        self.player.begin(start);
        Ok(())
    }

    fn choose(
        &mut self,
        _: &ChineseCheckers,
        state: &GameState,
        request: &Request,
    ) -> Result<(Action, SearchStats), Fault> {
        let value = &mut self.value;
        let choice = self.player.think(state, request.search_limits(), request.stop, &mut |info| *value = info.value);
        Ok((choice.action, choice.spent))
    }

    fn value(&self) -> Option<SearchValue> {
        self.value
    }

    fn observe(&mut self, _: &ChineseCheckers, joint: &[Action]) {
        self.player.observe(joint[0]);
    }
}

#[cfg(test)]
mod tests {
    use sternhalma_data::Board;

    use sternhalma_ggp::Game;

    use super::*;
    use crate::rules::Filter;

    #[test]
    fn openings_read_as_they_are_written() {
        let game = ChineseCheckers::new(Board::new(5, 3).unwrap(), Filter::All);
        let mut rng = rand::SeedableRng::seed_from_u64(1);
        for plies in 0..6 {
            let opening = game.random_opening(plies, &mut rng).unwrap();
            assert_eq!((game.opening(&opening.text), opening.plies), (Ok(opening.clone()), plies));
        }
        let initial = game.opening("startpos").unwrap();
        assert_eq!(initial.state, game.initial());
        let moved = game.opening("startpos moves a1-a3 e5-e3").unwrap();
        assert_eq!((moved.plies, game.opening(&format!("fen {}", moved.text))), (2, Ok(moved.clone())));
        for (text, why) in [
            ("", "three fields"),
            ("startpos moves a1-e5", "not legal"),
            ("startpos a1-a3", "reads"),
            ("fen 3xx/4x/5/o4/oo3 o 9", "end of a game"),
            ("3x/4/4/oo2 x 0", "no position of"),
        ] {
            let error = game.opening(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
