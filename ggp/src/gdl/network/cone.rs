//! The gates that only goals need.

use super::netlist::{Lit, Netlist};
use super::sequential::State;
use crate::gdl::Goal;

/// The goals of a role with the gates that lead to them from those that a
/// [`State`] keeps up to date. They are evaluated when asked for.
#[derive(Debug)]
pub struct Cone {
    /// In topological order, each a conjunction.
    gates: Vec<Vec<Term>>,
    goals: Vec<(u8, Term)>,
}

/// A literal, by where its value is found.
#[derive(Clone, Copy, Debug)]
struct Term {
    place: Place,
    inverted: bool,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Never,
    Fluent(u32),
    Slot(u32),
    /// A gate of the cone.
    Gate(u32),
}

impl Cone {
    /// The cone of some goals. `slot` is that of a gate, if it is kept up to
    /// date.
    pub fn new(goals: &[(u8, Lit)], netlist: &Netlist, slot: impl Fn(usize) -> Option<u32>) -> Cone {
        let gates: Vec<&[Lit]> = netlist.gates().collect();
        let first_gate = netlist.first_gate();
        let lone = |lit: Lit| lit.node().checked_sub(first_gate).filter(|&gate| slot(gate).is_none());
        let mut needed = vec![false; gates.len()];
        goals.iter().filter_map(|&(_, lit)| lone(lit)).for_each(|gate| needed[gate] = true);
        for gate in (0..gates.len()).rev() {
            if needed[gate] {
                gates[gate].iter().filter_map(|&lit| lone(lit)).for_each(|part| needed[part] = true);
            }
        }
        let mut places = vec![0; gates.len()];
        for (place, gate) in (0..gates.len()).filter(|&gate| needed[gate]).enumerate() {
            places[gate] = place as u32;
        }
        let term = |lit: Lit| {
            let place = match lit.node().checked_sub(first_gate) {
                Some(gate) => slot(gate).map_or(Place::Gate(places[gate]), Place::Slot),
                None if lit.is_constant() => Place::Never,
                // Goals do not depend on moves.
                None => Place::Fluent(lit.node() as u32 - 1),
            };
            Term { place, inverted: lit.is_inverted() }
        };
        let terms = |gate: usize| gates[gate].iter().map(|&lit| term(lit)).collect();
        Cone {
            gates: (0..gates.len()).filter(|&gate| needed[gate]).map(terms).collect(),
            goals: goals.iter().map(|&(goal, lit)| (goal, term(lit))).collect(),
        }
    }

    /// The goal in a state.
    pub fn goal(&self, state: &State) -> Goal {
        let mut values = Vec::with_capacity(self.gates.len());
        let holds = |term: &Term, values: &[bool]| {
            let value = match term.place {
                Place::Never => false,
                Place::Fluent(fluent) => state.fluents().contains(fluent as usize),
                Place::Slot(slot) => state.holds(slot as usize),
                Place::Gate(gate) => values[gate as usize],
            };
            value ^ term.inverted
        };
        for gate in &self.gates {
            values.push(gate.iter().all(|term| holds(term, &values)));
        }
        let mut reached = self.goals.iter().filter(|(_, term)| holds(term, &values));
        match (reached.next(), reached.next()) {
            (Some(&(goal, _)), None) => Goal::Value(goal),
            (None, _) => Goal::None,
            (Some(_), Some(_)) => Goal::Several,
        }
    }
}
