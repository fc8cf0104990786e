//! Networks as games for searches and traces.

mod in_lanes;
mod lane_game;
mod lane_states;
mod lane_successors;
mod lane_view;
mod network_game;

pub use in_lanes::InLanes;
pub use lane_game::LaneGame;
pub use lane_states::{LaneStates, Seats};
pub use lane_view::LaneView;
pub use network_game::NetworkGame;
