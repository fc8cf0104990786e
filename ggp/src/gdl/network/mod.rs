//! Propositional networks: games as circuits.

mod analysis;
mod build;
mod run;
#[cfg(test)]
mod testing;

pub use crate::util::Lit;
pub use analysis::Profile;
pub use build::{Gates, Netlist, Network, Outputs};
pub use run::{
    InLanes, LANES, LaneGame, LaneState, LaneView, Lanes, LanesError, NetworkGame, NetworkState, Playouts,
    SequentialEngine,
};
pub(crate) use run::{LaneStates, Seats};
