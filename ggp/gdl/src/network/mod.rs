//! Propositional networks: games as circuits.

mod analysis;
mod build;
mod environment;
mod game;
mod run;
#[cfg(test)]
mod testing;

pub use analysis::Profile;
pub use build::{Gates, Netlist, Network, Outputs};
pub use environment::{
    Autoreset, EnvironmentBlock, EnvironmentError, EnvironmentOptions, EnvironmentRows, LaneEnvironment,
};
pub use game::{InLanes, LaneGame, LaneStates, LaneView, NetworkGame, Seats};
pub use run::{LANES, Lanes, LanesError, NetworkState, Playouts, SequentialEngine};
pub use sternhalma_game::util::Lit;
