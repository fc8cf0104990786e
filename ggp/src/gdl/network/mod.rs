//! Propositional networks: a game as a circuit.

mod accumulation;
mod anatomy;
mod bits;
mod build;
mod choice;
mod conditions;
mod cone;
mod game;
mod goals;
mod in_lanes;
mod lane_game;
mod lane_states;
mod lanes;
mod netlist;
mod phases;
mod profile;
mod program;
mod sequential;
mod set;
mod simplify;
#[cfg(test)]
mod testing;

pub use bits::LANES;
pub use build::Network;
pub use game::NetworkGame;
pub use in_lanes::InLanes;
pub use lane_game::{LaneGame, LaneState, LaneView};
pub(crate) use lane_states::{LaneStates, Seats};
pub use lanes::{Lanes, LanesError, Playouts};
pub use netlist::{Gates, Lit, Netlist, Outputs};
pub use profile::Profile;
pub use sequential::{Sequential, State};
pub use set::FluentSet;
