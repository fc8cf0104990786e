//! Propositional networks: a game as a circuit.

mod build;
mod netlist;
mod simplify;

pub use build::Network;
pub use netlist::{Gates, Lit, Netlist, Outputs};
