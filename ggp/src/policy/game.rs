//! Games that policies play.

use sternhalma_game::Game;
use sternhalma_game::features::StateFeatures;
use sternhalma_gdl::ProverGame;
use sternhalma_gdl::network::NetworkGame;

use super::{Policy, PolicyAgent};

/// The properties of a game beyond its rules that policies can use. Every method
/// has a default, so that `impl PolicyGame for MyGame {}` is enough.
pub trait PolicyGame: Game + Sized + 'static {
    /// Returns the features of states that the strategies of MINI-Player use,
    /// or `None` if the game has none. May take some seconds.
    fn features(&self) -> Option<Box<dyn StateFeatures<Self>>> {
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

    fn agent(&self, policy: &Policy, role: usize, seed: u64) -> Box<dyn PolicyAgent<NetworkGame>> {
        policy.agent_in_lanes(self, role, seed)
    }
}

impl PolicyGame for ProverGame {
    fn agent(&self, policy: &Policy, role: usize, seed: u64) -> Box<dyn PolicyAgent<ProverGame>> {
        policy.agent(self, role, seed)
    }
}
