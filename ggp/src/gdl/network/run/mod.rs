//! Games that are played with a network.

mod bits;
mod choice;
mod cone;
mod error;
mod game;
mod in_lanes;
mod lane_game;
mod lane_states;
mod lanes;
mod playouts;
mod program;
mod sequential;
mod state;

pub use bits::LANES;
pub use error::LanesError;
pub use game::NetworkGame;
pub use in_lanes::InLanes;
pub use lane_game::{LaneGame, LaneState, LaneView};
pub(crate) use lane_states::{LaneStates, Seats};
pub use lanes::Lanes;
pub use playouts::Playouts;
pub use sequential::SequentialEngine;
pub use state::NetworkState;
