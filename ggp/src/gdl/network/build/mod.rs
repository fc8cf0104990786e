//! Compilation of rules to a circuit.

mod compile;
mod conditions;
mod netlist;
mod phases;
mod simplify;

pub(super) use compile::Builder;
pub use compile::Network;
pub(super) use conditions::conditions;
pub use netlist::{Gates, Netlist, Outputs};
pub(super) use phases::{Phase, phases, without_moves};
