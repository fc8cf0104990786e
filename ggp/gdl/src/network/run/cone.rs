//! The gates that only goals need.

use sternhalma_game::util::Lit;

use super::state::NetworkState;
use crate::Goal;
use crate::network::build::Netlist;

/// The number of literals of a gate that are read between two tests for a
/// false one.
const AT_ONCE: usize = 8;

/// The goals of all roles, with the gates between them and the values that a
/// [`NetworkState`] keeps up to date. The goals are evaluated on request.
#[derive(Debug)]
pub struct GoalCone {
    /// The inputs: the fluents and slots that gates or goals read.
    fluents: Vec<u32>,
    slots: Vec<u32>,
    /// The literals of all gates. Nodes are numbered from 1: first fluents,
    /// then slots, then gates in topological order.
    lits: Vec<Lit>,
    /// The start of each gate's literals, and the end of the last.
    starts: Vec<u32>,
    goals: Vec<Vec<(u8, Lit)>>,
}

impl GoalCone {
    /// Creates the cone of the goals of each role. `slot` returns the slot of
    /// a gate if it is kept up to date.
    pub fn new(goals: &[Vec<(u8, Lit)>], netlist: &Netlist, slot: impl Fn(usize) -> Option<u32>) -> GoalCone {
        let gates: Vec<&[Lit]> = netlist.gates().collect();
        let first_gate = netlist.first_gate();
        let gate_of = |node: usize| node.checked_sub(first_gate);
        let lone = |node: usize| gate_of(node).filter(|&gate| slot(gate).is_none());
        let mut needed = vec![false; netlist.nodes()];
        goals.iter().flatten().for_each(|(_, lit)| needed[lit.node()] = true);
        for node in (first_gate..netlist.nodes()).rev() {
            if let Some(gate) = lone(node).filter(|_| needed[node]) {
                gates[gate].iter().for_each(|lit| needed[lit.node()] = true);
            }
        }
        // Goals do not depend on moves, and the needed nodes are in order.
        let nodes = |range: std::ops::Range<usize>| range.filter(|&node| needed[node]);
        let fluents: Vec<usize> = nodes(1..netlist.move_node(0)).collect();
        let (inner, kept): (Vec<usize>, Vec<usize>) =
            nodes(first_gate..netlist.nodes()).partition(|&node| lone(node).is_some());
        let mut places = vec![0; netlist.nodes()];
        let order = fluents.iter().chain(&kept).chain(&inner);
        order.enumerate().for_each(|(place, &node)| places[node] = 1 + place);
        let moved = |lit: Lit| Lit::new(places[lit.node()], lit.is_inverted());
        let (mut lits, mut starts) = (Vec::new(), vec![0]);
        for gate in inner.iter().filter_map(|&node| gate_of(node)) {
            lits.extend(gates[gate].iter().map(|&lit| moved(lit)));
            starts.push(lits.len() as u32);
        }
        GoalCone {
            fluents: fluents.iter().map(|&node| node as u32 - 1).collect(),
            slots: kept.iter().filter_map(|&node| slot(gate_of(node)?)).collect(),
            lits,
            starts,
            goals: goals.iter().map(|goals| goals.iter().map(|&(goal, lit)| (goal, moved(lit))).collect()).collect(),
        }
    }

    /// Returns the goal of each role in a state.
    pub fn goals(&self, state: &NetworkState) -> impl Iterator<Item = Goal> {
        let mut values = Vec::with_capacity(self.fluents.len() + self.slots.len() + self.starts.len());
        values.push(false);
        values.extend(self.fluents.iter().map(|&fluent| state.fluents().contains(fluent as usize)));
        values.extend(self.slots.iter().map(|&slot| state.holds(slot as usize)));
        for pair in self.starts.windows(2) {
            let gate = &self.lits[pair[0] as usize..pair[1] as usize];
            // A test after each literal costs more than reading a few more
            // literals.
            let some_hold = |lits: &[Lit]| lits.iter().fold(true, |all, lit| all & lit.of(&values));
            values.push(gate.chunks(AT_ONCE).all(some_hold));
        }
        let reached = move |&(goal, lit): &(u8, Lit)| lit.of(&values).then_some(goal);
        self.goals.iter().map(move |goals| Goal::of(goals.iter().filter_map(&reached)))
    }
}
