//! The circuit of a game: gates over fluents and moves.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use sternhalma_game::util::Lit;

/// A game as a sequential circuit.
///
/// The nodes of the circuit are, in this order: node 0, which is false; one
/// node per fluent; one node per move of a role, which holds if the role plays
/// the move; and the gates. A gate is the conjunction of at least two literals
/// of earlier nodes. A disjunction is an inverted conjunction of inverted
/// literals.
///
/// Moves are numbered over all roles; those of a role are adjacent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Netlist {
    /// The fluents that hold in the initial state.
    pub initial: Vec<bool>,
    /// The moves of each role.
    pub roles: Vec<Range<usize>>,
    /// The literals of all gates.
    lits: Vec<Lit>,
    /// The start of each gate's literals, and the end of the last.
    starts: Vec<u32>,
    /// The outputs of the circuit.
    pub outputs: Outputs,
}

/// The outputs of a circuit. All except `next` depend on fluents only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outputs {
    /// For each fluent, whether it holds in the next state.
    pub next: Vec<Lit>,
    /// For each move, whether it is legal.
    pub legal: Vec<Lit>,
    /// Whether the match is over.
    pub terminal: Lit,
    /// The possible goals of each role, with the literals of whether they
    /// hold.
    pub goals: Vec<Vec<(u8, Lit)>>,
}

impl Outputs {
    /// Returns all literals.
    pub fn lits(&self) -> impl Iterator<Item = Lit> {
        let goals = self.goals.iter().flatten().map(|&(_, lit)| lit);
        self.next.iter().chain(&self.legal).copied().chain([self.terminal]).chain(goals)
    }

    /// Replaces each literal.
    pub fn replace(&mut self, mut other: impl FnMut(Lit) -> Lit) {
        let goals = self.goals.iter_mut().flatten().map(|(_, lit)| lit);
        let lits = self.next.iter_mut().chain(&mut self.legal).chain([&mut self.terminal]).chain(goals);
        lits.for_each(|lit| *lit = other(*lit));
    }
}

impl Netlist {
    /// Returns the memory of the gates in bytes.
    pub fn bytes(&self) -> usize {
        self.lits.len() * size_of::<Lit>() + self.starts.len() * size_of::<u32>()
    }

    /// Returns the number of fluents.
    pub fn fluents(&self) -> usize {
        self.initial.len()
    }

    /// Returns the number of moves of all roles.
    pub fn moves(&self) -> usize {
        self.outputs.legal.len()
    }

    /// Returns the moves of a role that may be legal, in order.
    pub fn possible_moves(&self, role: usize) -> impl Iterator<Item = usize> {
        self.roles[role].clone().filter(|&mv| self.outputs.legal[mv] != Lit::FALSE)
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.first_gate() + self.starts.len() - 1
    }

    /// Returns the node of a fluent.
    pub fn fluent_node(&self, fluent: usize) -> usize {
        1 + fluent
    }

    /// Returns the node of a move.
    pub fn move_node(&self, mv: usize) -> usize {
        1 + self.fluents() + mv
    }

    /// Returns the node of the first gate.
    pub fn first_gate(&self) -> usize {
        1 + self.fluents() + self.moves()
    }

    /// Returns the literals of each gate, in order.
    pub fn gates(&self) -> impl ExactSizeIterator<Item = &[Lit]> {
        self.starts.windows(2).map(|pair| &self.lits[pair[0] as usize..pair[1] as usize])
    }

    /// Returns the literals of the gate of a node.
    pub fn gate(&self, node: usize) -> &[Lit] {
        let gate = node - self.first_gate();
        &self.lits[self.starts[gate] as usize..self.starts[gate + 1] as usize]
    }

    /// Evaluates all nodes in order. The result is the definition that the fast
    /// evaluations must agree with.
    ///
    /// `fluents` has one value per fluent, `does` one per move.
    pub fn evaluate(&self, fluents: &[bool], does: &[bool]) -> Vec<bool> {
        let mut values = vec![false];
        values.extend_from_slice(fluents);
        values.extend_from_slice(does);
        for gate in self.gates() {
            values.push(gate.iter().all(|lit| lit.of(&values)));
        }
        values
    }
}

/// A set of unique gates under construction.
pub struct Gates {
    inputs: usize,
    lits: Vec<Lit>,
    starts: Vec<u32>,
    /// The gates, by their literals.
    known: HashTable<u32>,
    scratch: Vec<Lit>,
}

impl Gates {
    /// Creates the inputs of a game with the given numbers of fluents and
    /// moves.
    pub fn new(fluents: usize, moves: usize) -> Gates {
        Gates {
            inputs: 1 + fluents + moves,
            lits: Vec::new(),
            starts: vec![0],
            known: HashTable::new(),
            scratch: Vec::new(),
        }
    }

    /// Returns the conjunction of literals.
    pub fn and(&mut self, lits: impl IntoIterator<Item = Lit>) -> Lit {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend(lits);
        let lit = self.and_of(&mut scratch);
        self.scratch = scratch;
        lit
    }

    /// Returns the disjunction of literals.
    pub fn or(&mut self, lits: impl IntoIterator<Item = Lit>) -> Lit {
        !self.and(lits.into_iter().map(|lit| !lit))
    }

    /// Returns the number of nodes so far.
    pub fn nodes(&self) -> usize {
        self.inputs + self.starts.len() - 1
    }

    /// Returns the literals of a node, if it is a gate.
    pub fn literals(&self, node: usize) -> Option<&[Lit]> {
        let gate = node.checked_sub(self.inputs)?;
        Some(&self.lits[self.starts[gate] as usize..self.starts[gate + 1] as usize])
    }

    fn and_of(&mut self, lits: &mut Vec<Lit>) -> Lit {
        lits.sort_unstable();
        lits.dedup();
        // A literal and its negation are adjacent, and so are the two
        // constants.
        if lits.first() == Some(&Lit::FALSE) || lits.windows(2).any(|pair| pair[0] == !pair[1]) {
            return Lit::FALSE;
        }
        if lits.first() == Some(&Lit::TRUE) {
            lits.remove(0);
        }
        match lits[..] {
            [] => return Lit::TRUE,
            [lit] => return lit,
            _ => {}
        }
        let Gates { inputs, lits: all, starts, known, .. } = self;
        let of = |gate: u32| &all[starts[gate as usize] as usize..starts[gate as usize + 1] as usize];
        let key = FxBuildHasher.hash_one(&lits[..]);
        if let Some(&gate) = known.find(key, |&gate| of(gate) == &lits[..]) {
            return Lit::new(*inputs + gate as usize, false);
        }
        let gate = starts.len() as u32 - 1;
        all.extend_from_slice(lits);
        starts.push(all.len() as u32);
        let of = |gate: u32| &all[starts[gate as usize] as usize..starts[gate as usize + 1] as usize];
        known.insert_unique(key, gate, |&gate| FxBuildHasher.hash_one(of(gate)));
        Lit::new(*inputs + gate as usize, false)
    }

    /// Returns the netlist of these gates with its outputs. Unused gates are
    /// removed; the others keep their order.
    pub fn finish(self, initial: Vec<bool>, roles: Vec<Range<usize>>, mut outputs: Outputs) -> Netlist {
        let gate = |index: usize| &self.lits[self.starts[index] as usize..self.starts[index + 1] as usize];
        let gates = self.starts.len() - 1;
        let mut needed = vec![false; self.inputs + gates];
        outputs.lits().for_each(|lit| needed[lit.node()] = true);
        for index in (0..gates).rev() {
            if needed[self.inputs + index] {
                gate(index).iter().for_each(|lit| needed[lit.node()] = true);
            }
        }
        let mut place: Vec<usize> = (0..self.inputs).collect();
        let (mut lits, mut starts) = (Vec::new(), vec![0]);
        let moved = |lit: Lit, place: &[usize]| Lit::new(place[lit.node()], lit.is_inverted());
        for index in 0..gates {
            place.push(self.inputs + starts.len() - 1);
            if needed[self.inputs + index] {
                lits.extend(gate(index).iter().map(|&lit| moved(lit, &place)));
                starts.push(lits.len() as u32);
            }
        }
        outputs.replace(|lit| moved(lit, &place));
        Netlist { initial, roles, lits, starts, outputs }
    }
}
