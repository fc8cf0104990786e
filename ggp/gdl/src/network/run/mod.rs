//! Engines that evaluate networks, one state at a time or in lanes.

mod bits;
mod choice;
mod cone;
mod error;
mod gates;
mod lanes;
mod playouts;
mod program;
mod sequential;
mod state;
#[cfg(test)]
mod tests;

pub use bits::LANES;
pub(super) use bits::{Bits, RandomBits, TransposedPlanes};
pub(super) use choice::{MAX_MOVES, choose};
pub use error::LanesError;
pub(super) use gates::{LaneSlots, Slot};
pub use lanes::Lanes;
pub use playouts::Playouts;
pub(super) use program::{LaneProgram, RoleSlots, find_goals};
pub use sequential::SequentialEngine;
pub use state::NetworkState;
