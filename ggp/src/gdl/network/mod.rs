//! Propositional networks: a game as a circuit.

mod build;
mod netlist;

pub use build::Network;
pub use netlist::{Gates, Lit, Netlist, Outputs};
