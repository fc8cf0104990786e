//! The game of a session.

use std::sync::Arc;

use sternhalma_data::{Board, BoardError, Position, Side};
use sternhalma_ggp::Game;

use super::command::{Query, UgiError, legal_action};
use super::error::SessionError;
use crate::rules::{Action, ChineseCheckers, Filter, GameSetup, GameState, Outcome, Repetitions};

/// The game of the last `position` command.
#[derive(Clone, Debug)]
pub(super) struct CurrentGame {
    pub rules: Arc<ChineseCheckers>,
    pub start: GameState,
    pub actions: Vec<Action>,
    pub now: GameState,
    played: Repetitions,
}

impl CurrentGame {
    /// Returns the game from the initial position.
    pub fn initial(setup: GameSetup) -> Result<CurrentGame, BoardError> {
        let board = setup.board.for_two()?;
        let game = ChineseCheckers::of(GameSetup { board, ..setup }, Filter::All);
        let start = game.initial();
        let played = Repetitions::new(&game, &start);
        Ok(CurrentGame { rules: Arc::new(game), start, actions: Vec::new(), now: start, played })
    }

    /// Returns the game that starts at a position, on its board.
    pub fn at(position: &Position, setup: GameSetup) -> Result<CurrentGame, SessionError> {
        let board = Board::new(position.geometry().size() as u64, position.army(Side::X).len() as u64)?;
        let mut game = CurrentGame::initial(GameSetup { board, ..setup })?;
        game.start = game.rules.state(position).ok_or(SessionError::UnequalArmies)?;
        game.now = game.start;
        game.played = Repetitions::new(&game.rules, &game.start);
        Ok(game)
    }

    /// Plays the move of a text.
    pub fn play(&mut self, text: &str) -> Result<(), UgiError> {
        if self.played.is_over() {
            return Err(UgiError::after_repetition(text, self.now.ply()));
        }
        let action = legal_action(&self.rules, &self.now, text)?;
        self.rules.play_action(&mut self.now, action);
        self.played.push(&self.rules, &self.now);
        self.actions.push(action);
        Ok(())
    }

    /// Returns the result, by the present state or by repetition.
    pub fn outcome(&self) -> Option<Outcome> {
        self.now.outcome().or_else(|| self.played.is_over().then_some(Outcome::Draw))
    }

    /// Returns the answer to a query.
    pub fn answer(&self, query: Query) -> String {
        match (query, self.outcome()) {
            (Query::GameOver, outcome) => outcome.is_some().to_string(),
            (Query::P1Turn, _) => (self.now.player() == Side::X).to_string(),
            (Query::Result, None) => "none".to_owned(),
            (Query::Result, Some(Outcome::Draw)) => "draw".to_owned(),
            (Query::Result, Some(Outcome::Won(side))) => format!("p{}win", side as usize + 1),
        }
    }
}
