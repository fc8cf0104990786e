//! The interface of players.

use std::sync::atomic::AtomicBool;

use sternhalma_data::Move;
pub use sternhalma_ggp::arena::SearchValue;
use sternhalma_ggp::{Game, Limits, SearchStats};

use crate::rules::{Action, ChineseCheckers, GameState};

/// The action that a player chose, and the cost of its search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Choice {
    /// The move, or a pass.
    pub action: Action,
    /// The cost of the search; zero if there was only one action.
    pub spent: SearchStats,
}

/// The progress of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct SearchInfo {
    /// The cost so far.
    pub spent: SearchStats,
    /// The value of the state for the player to move, if it is known.
    pub value: Option<SearchValue>,
    /// Whether the value is the lead of a race: the armies pass each other on the principal variation, and the table
    /// decides the game.
    pub is_race: bool,
    /// The principal variation as far as it is known, beginning with the best
    /// action.
    pub line: Vec<Action>,
}

/// Receives the progress of a search.
pub type SearchObserver<'a> = dyn FnMut(&SearchInfo) + 'a;

/// A player of one side of a game.
pub trait EnginePlayer: Send {
    /// Chooses an action in a state in which the game is not over.
    fn choose(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool) -> Choice;

    /// Chooses an action like [`choose`](EnginePlayer::choose) and reports the
    /// progress to `watch`, during the search if it can, and at its end.
    fn think(&mut self, state: &GameState, limits: Limits, stop: &AtomicBool, watch: &mut SearchObserver) -> Choice {
        let choice = self.choose(state, limits, stop);
        watch(&SearchInfo { spent: choice.spent, value: None, is_race: false, line: vec![choice.action] });
        choice
    }

    /// Follows an action of the game, by either player.
    fn observe(&mut self, _action: Action) {}

    /// Learns the start of a game, after [`reset`](EnginePlayer::reset), for the rule about repetition.
    fn begin(&mut self, _start: &GameState) {}

    /// Excludes moves from the choice of the following searches; an empty slice
    /// excludes none. Returns whether the player can exclude these moves.
    fn exclude(&mut self, moves: &[Move]) -> bool {
        moves.is_empty()
    }

    /// Begins a new game. The same seed and limits give the same game.
    fn reset(&mut self, seed: u64);
}

/// Returns the choice for a forced action.
pub(crate) fn forced(action: Action, watch: &mut SearchObserver) -> Choice {
    let spent = SearchStats::default();
    watch(&SearchInfo { spent, value: None, is_race: false, line: vec![action] });
    Choice { action, spent }
}

/// Returns the only legal action, or `None` if there are several.
pub(crate) fn only_action(game: &ChineseCheckers, state: &GameState) -> Option<Action> {
    let mut actions = Vec::new();
    game.legal(state, state.player() as usize, &mut actions);
    (actions.len() == 1).then(|| actions[0])
}
