//! Propositional networks: a game as a circuit.

mod conditions;
mod cone;
mod game;
mod netlist;
mod sequential;
mod set;
#[cfg(test)]
mod testing;

pub use game::NetworkGame;
pub use netlist::{Gates, Lit, Netlist, Outputs};
pub use sequential::{Sequential, State};
pub use set::FluentSet;

/// A game as a circuit, with the names of what goes in. Names are KIF with one
/// space between words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// The circuit.
    pub netlist: Netlist,
    /// The name of each role.
    pub roles: Vec<String>,
    /// The name of each fluent.
    pub fluents: Vec<String>,
    /// The name of each move. Names differ within a role.
    pub moves: Vec<String>,
}
