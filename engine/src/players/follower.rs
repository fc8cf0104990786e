//! Players that follow a game.

use crate::players::interface::EnginePlayer;
use crate::rules::{Action, GameState};

/// A player, and the game that it has followed.
pub struct Follower {
    player: Box<dyn EnginePlayer>,
    /// The start and the actions that the player knows, or `None` before its
    /// first game.
    followed: Option<(GameState, Vec<Action>)>,
}

impl Follower {
    /// Creates a follower from a player that has not seen a game.
    pub fn new(player: Box<dyn EnginePlayer>) -> Follower {
        Follower { player, followed: None }
    }

    /// Returns the player after it has followed a game: it continues the game
    /// that it knows, or begins another one with this seed.
    pub fn follow(&mut self, start: &GameState, actions: &[Action], seed: u64) -> &mut dyn EnginePlayer {
        let known = self.followed.take().filter(|(known, played)| known == start && actions.starts_with(played));
        let known = known.map(|(_, played)| played.len()).unwrap_or_else(|| {
            self.player.reset(seed);
            self.player.begin(start);
            0
        });
        actions[known..].iter().for_each(|&action| self.player.observe(action));
        self.followed = Some((*start, actions.to_vec()));
        &mut *self.player
    }

    /// Returns the player after it has followed a game from its start, whatever it knew before.
    pub fn follow_anew(&mut self, start: &GameState, actions: &[Action], seed: u64) -> &mut dyn EnginePlayer {
        self.forget();
        self.follow(start, actions, seed)
    }

    /// Forgets the game, so that the player begins another one.
    pub fn forget(&mut self) {
        self.followed = None;
    }
}
