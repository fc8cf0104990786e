//! Propositional networks: a game as a circuit.

mod build;
mod conditions;
mod cone;
mod game;
mod netlist;
mod sequential;
mod set;
mod simplify;
#[cfg(test)]
mod testing;

pub use build::Network;
pub use game::NetworkGame;
pub use netlist::{Gates, Lit, Netlist, Outputs};
pub use sequential::{Sequential, State};
pub use set::FluentSet;
pub use simplify::simplify;
