//! Propositional networks: a game as a circuit.

mod netlist;

pub use netlist::{Gates, Lit, Netlist, Outputs};
