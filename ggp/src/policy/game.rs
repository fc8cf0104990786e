//! Games that policies play.

use sternhalma_game::Game;
use sternhalma_game::features::StateFeatures;
use sternhalma_gdl::ProverGame;
use sternhalma_gdl::network::{LaneGame, LaneState, NetworkGame};

use super::{Policy, PolicyAgent};

/// A [`LaneGame`] that is the same game as another, with the same move numbers.
pub struct Together<'a, G: Game> {
    /// The game that is stepped in lanes.
    pub lanes: &'a LaneGame,
    /// Converts a state.
    pub state: fn(&G::State) -> LaneState,
    /// Converts a move number to a move.
    pub mv: fn(u32) -> G::Move,
}

/// The properties of a game beyond its rules that policies can use. Every method
/// has a default, so that `impl PolicyGame for MyGame {}` is enough.
pub trait PolicyGame: Game + Sized + 'static {
    /// Returns the features of states that the strategies of MINI-Player use,
    /// or `None` if the game has none. May take some seconds.
    fn features(&self) -> Option<Box<dyn StateFeatures<Self>>> {
        None
    }

    /// Returns the same game for batched simulations, or `None` if there is
    /// none. May take some seconds the first time.
    fn together(&self) -> Option<Together<'_, Self>> {
        None
    }

    /// Creates the agent that plays a role of one match by a policy.
    ///
    /// An implementation that repeats the default body compiles all searches of
    /// the game in its own crate, and not again in each program that uses it.
    fn agent(&self, policy: &Policy, role: usize, seed: u64) -> Box<dyn PolicyAgent<Self>> {
        policy.agent(self, role, seed)
    }
}

impl PolicyGame for NetworkGame {
    fn features(&self) -> Option<Box<dyn StateFeatures<NetworkGame>>> {
        Some(NetworkGame::features(self))
    }

    fn together(&self) -> Option<Together<'_, NetworkGame>> {
        let lanes = LaneGame::of(self)?;
        Some(Together { lanes, state: |state| LaneState::Single(state.clone()), mv: |number| number })
    }

    fn agent(&self, policy: &Policy, role: usize, seed: u64) -> Box<dyn PolicyAgent<NetworkGame>> {
        policy.agent(self, role, seed)
    }
}

impl PolicyGame for ProverGame {
    fn agent(&self, policy: &Policy, role: usize, seed: u64) -> Box<dyn PolicyAgent<ProverGame>> {
        policy.agent(self, role, seed)
    }
}

impl PolicyGame for LaneGame {}
