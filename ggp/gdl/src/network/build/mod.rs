//! Compilation of rules to a circuit.

mod compile;
mod conditions;
mod netlist;
mod phases;
mod simplify;

pub use compile::Network;
pub(super) use compile::NetworkBuilder;
pub(super) use conditions::conditions;
pub use netlist::{Gates, Netlist, Outputs};
pub(super) use phases::{GamePhase, nodes_over, phases, without_moves};
