//! Compilation of ground rules to gates.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use sternhalma_game::util::Lit;

use super::netlist::{Gates, Netlist, Outputs};
use super::simplify::simplify;
use crate::ground::{
    AtomKind, ForwardChaining, GroundBound, GroundClauses, GroundError, GroundLimits, GroundTerms, clause_groups,
    ground_clauses,
};
use crate::scc::components;
use crate::syntax::{DependencyGraph, Rules};

/// A game as a circuit, with the names of its components.
#[derive(Clone, Debug)]
pub struct Network {
    /// The circuit.
    pub netlist: Netlist,
    /// The roles, in order.
    pub roles: Vec<String>,
    /// The fluents, in KIF.
    pub fluents: Vec<String>,
    /// The moves of all roles, in KIF.
    pub moves: Vec<String>,
}

impl Network {
    /// Grounds a rulesheet and builds its circuit.
    ///
    /// # Errors
    ///
    /// Returns an error if the rules are invalid or have too many ground
    /// instances.
    pub fn new(rules: &Rules) -> Result<Network, GroundError> {
        Network::unless(rules, &AtomicBool::new(false))
    }

    /// Grounds a rulesheet and builds its circuit, unless `stop` is set.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Network::new`], and
    /// [`GroundError::Stopped`].
    pub fn unless(rules: &Rules, stop: &AtomicBool) -> Result<Network, GroundError> {
        Network::within(rules, GroundLimits::DEFAULT_MEMORY, stop)
    }

    /// Grounds a rulesheet and builds its circuit with about `memory` bytes, unless `stop` is set.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Network::unless`].
    pub fn within(rules: &Rules, memory: u64, stop: &AtomicBool) -> Result<Network, GroundError> {
        let mut network = Network::plain_within(rules, memory, stop)?;
        network.netlist = simplify(&network.netlist, stop)?;
        Ok(network)
    }

    /// Grounds the rules with about `memory` bytes and builds their network without
    /// simplification.
    ///
    /// # Errors
    ///
    /// Returns an error if `terminal`, `legal` or `goal` depends on the moves, and the
    /// errors of grounding.
    pub(crate) fn plain_within(rules: &Rules, memory: u64, stop: &AtomicBool) -> Result<Network, GroundError> {
        let graph = DependencyGraph::new(rules);
        if let Some(relation) = [("terminal", 0), ("legal", 2), ("goal", 2)]
            .into_iter()
            .find_map(|(name, arity)| graph.depends(name, arity, "does").then_some(name))
        {
            return Err(GroundError::MoveDependence { relation });
        }
        let mut terms = GroundTerms::default();
        let clauses = ground_clauses(rules, &graph, &mut terms)?;
        let mut chain = ForwardChaining::new(&clauses, &mut terms, GroundLimits::within(memory), stop);
        chain.run(&clause_groups(&clauses)?)?;
        Ok(NetworkBuilder::new(&clauses, &chain, stop)?.build())
    }
}

impl Network {
    /// Returns the approximate memory of the network and of the engine that steps it, in bytes.
    pub fn bytes(&self) -> usize {
        let texts = self.fluents.iter().chain(&self.moves).map(|text| 2 * (text.len() + size_of::<String>()));
        // The engine stores each literal again, with the gate that reads the literal.
        3 * self.netlist.bytes() + texts.sum::<usize>()
    }
}

/// A builder with the gates of all atoms that may hold.
pub struct NetworkBuilder<'b, 'a> {
    clauses: &'b GroundClauses,
    chain: &'b ForwardChaining<'a>,
    pub roles: Vec<u32>,
    pub fluents: Vec<u32>,
    /// The moves of all roles; those of a role are adjacent.
    moves: Vec<(usize, u32)>,
    pub gates: Gates,
    /// The literal of each atom.
    pub lits: Vec<Lit>,
}

impl<'b, 'a> NetworkBuilder<'b, 'a> {
    /// # Errors
    ///
    /// Returns an error if there is no role, if recursion is not stratified or
    /// too large, or if the names are too long, and [`GroundError::Stopped`].
    pub fn new(
        clauses: &'b GroundClauses,
        chain: &'b ForwardChaining<'a>,
        stop: &AtomicBool,
    ) -> Result<Self, GroundError> {
        // Roles from facts come first, as in the prover.
        let facts = clauses.facts("role", 1);
        let mut roles: Vec<u32> = chain.rows("role", 1).map(|row| row[0]).collect();
        roles.sort_by_key(|role| facts.iter().position(|fact| fact[0] == *role).unwrap_or(facts.len()));
        if roles.is_empty() {
            return Err(GroundError::NoRole);
        }
        let mut fluents = Vec::new();
        let mut moves = Vec::new();
        for kind in &chain.kinds {
            match *kind {
                AtomKind::Fluent(term) => fluents.push(term),
                AtomKind::Move(role, term) => {
                    moves.extend(roles.iter().position(|&other| other == role).map(|role| (role, term)));
                }
                AtomKind::Derived => {}
            }
        }
        // The network keeps the texts, which can be much larger than the terms.
        let names = fluents.iter().chain(moves.iter().map(|(_, term)| term));
        let bytes: u64 = names.map(|&term| chain.terms.length(term)).sum();
        if bytes / 4 > chain.limits.words as u64 {
            return Err(chain.limits.error(GroundBound::Words));
        }
        moves.sort_by_key(|&(role, _)| role);
        let gates = Gates::new(fluents.len(), moves.len());
        let lits = vec![Lit::FALSE; chain.kinds.len()];
        let mut builder = NetworkBuilder { clauses, chain, roles, fluents, moves, gates, lits };
        builder.place_inputs();
        builder.place_gates(stop)?;
        Ok(builder)
    }

    fn build(self) -> Network {
        let chain = self.chain;
        let lit_of =
            |name: &str, words: &[u32]| chain.find(name, words).map_or(Lit::FALSE, |atom| self.lits[atom as usize]);
        let next = self.fluents.iter().map(|&term| lit_of("next", &[term])).collect();
        let legal = self.moves.iter().map(|&(role, term)| lit_of("legal", &[self.roles[role], term])).collect();
        let terminal = lit_of("terminal", &[]);
        let mut goals = vec![Vec::new(); self.roles.len()];
        for row in chain.rows("goal", 2) {
            let Some(role) = self.roles.iter().position(|&role| role == row[0]) else { continue };
            let lit = lit_of("goal", row);
            match chain.terms.text(row[1]).parse() {
                Ok(value @ 0..=100) => goals[role].push((value, lit)),
                // An invalid goal counts like several goals.
                _ => goals[role].extend([(0, lit), (0, lit)]),
            }
        }
        goals.iter_mut().for_each(|goals| goals.sort_by_key(|&(value, _)| value));
        let initial = self.fluents.iter().map(|&term| chain.find("init", &[term]).is_some()).collect();
        let roles = (0..self.roles.len()).map(|role| {
            let start = self.moves.partition_point(|&(other, _)| other < role);
            start..self.moves.partition_point(|&(other, _)| other <= role)
        });
        let outputs = Outputs { next, legal, terminal, goals };
        let text = |&term: &u32| chain.terms.text(term);
        Network {
            netlist: self.gates.finish(initial, roles.collect(), outputs),
            roles: self.roles.iter().map(text).collect(),
            fluents: self.fluents.iter().map(text).collect(),
            moves: self.moves.iter().map(|(_, term)| text(term)).collect(),
        }
    }

    fn place_inputs(&mut self) {
        for (index, &term) in self.fluents.iter().enumerate() {
            if let Some(atom) = self.chain.find_in(self.clauses.fluents(), &[term]) {
                self.lits[atom as usize] = Lit::new(1 + index, false);
            }
        }
        for (index, &(role, term)) in self.moves.iter().enumerate() {
            if let Some(atom) = self.chain.find_in(self.clauses.moves(), &[self.roles[role], term]) {
                self.lits[atom as usize] = Lit::new(1 + self.fluents.len() + index, false);
            }
        }
    }

    /// Creates the gates of each atom, after those of all atoms that it
    /// depends on.
    fn place_gates(&mut self, stop: &AtomicBool) -> Result<(), GroundError> {
        let instances = AtomInstances::new(self.chain);
        let atoms = self.chain.kinds.len();
        let order = components(atoms, |atom, see| {
            instances.of(atom).flatten().for_each(|&(other, _)| see(other as usize));
        });
        let mut component_of = vec![0; atoms];
        for (number, component) in order.iter().enumerate() {
            component.iter().for_each(|&atom| component_of[atom] = number);
        }
        for (number, component) in order.iter().enumerate() {
            if stop.load(Relaxed) {
                return Err(GroundError::Stopped);
            }
            let is_inside = |atom: u32| component_of[atom as usize] == number;
            let inside = component.iter().flat_map(|&atom| instances.of(atom).flatten());
            if inside.into_iter().any(|&(atom, negated)| negated && is_inside(atom)) {
                return Err(GroundError::NotStratified);
            }
            if let [atom] = component[..] {
                if self.chain.kinds[atom] == AtomKind::Derived {
                    self.lits[atom] = self.gate(instances.of(atom));
                }
                continue;
            }
            self.unroll(component, &instances)?;
        }
        Ok(())
    }

    fn gate<'i>(&mut self, instances: impl Iterator<Item = &'i [(u32, bool)]>) -> Lit {
        let mut any = Vec::new();
        for instance in instances {
            let lits = &self.lits;
            any.push(self.gates.and(instance.iter().map(|&(atom, negated)| lits[atom as usize].xor(negated))));
        }
        self.gates.or(any)
    }

    /// Unrolls the recursion of atoms that depend on one another. Such atoms
    /// hold if they follow from nothing in some number of rounds, at most the
    /// number of atoms.
    fn unroll(&mut self, component: &[usize], instances: &AtomInstances) -> Result<(), GroundError> {
        for _ in 0..component.len() {
            let round: Vec<Lit> = component.iter().map(|&atom| self.gate(instances.of(atom))).collect();
            let mut changed = false;
            for (&atom, lit) in component.iter().zip(round) {
                changed |= self.lits[atom] != lit;
                self.lits[atom] = lit;
            }
            if !changed {
                break;
            }
            if self.gates.nodes() > self.chain.limits.gates {
                return Err(self.chain.limits.error(GroundBound::Gates));
            }
        }
        Ok(())
    }
}

/// The instances of each atom: lists of atoms, each with whether it is
/// negated.
struct AtomInstances {
    lits: Vec<(u32, bool)>,
    /// The start of each instance in `lits`, and the end of the last.
    starts: Vec<u32>,
    /// The start of each atom's instances in `starts`.
    firsts: Vec<u32>,
}

impl AtomInstances {
    fn new(chain: &ForwardChaining) -> AtomInstances {
        let heads = || {
            let mut at = 0;
            std::iter::from_fn(move || {
                let (&head, &count) = (chain.instances.get(at)?, chain.instances.get(at + 1)?);
                let refs = &chain.instances[at + 2..at + 2 + count as usize];
                at += 2 + count as usize;
                Some((head as usize, refs))
            })
        };
        let mut firsts = vec![0u32; chain.kinds.len() + 1];
        heads().for_each(|(head, _)| firsts[head + 1] += 1);
        (0..chain.kinds.len()).for_each(|atom| firsts[atom + 1] += firsts[atom]);
        let mut places = firsts.clone();
        let mut by_head = vec![&[][..]; firsts.last().map_or(0, |&count| count as usize)];
        for (head, refs) in heads() {
            by_head[places[head] as usize] = refs;
            places[head] += 1;
        }
        let (mut lits, mut starts) = (Vec::new(), vec![0]);
        for refs in by_head {
            for &literal in refs {
                if let (Some(atom), negated) = chain.resolve(literal) {
                    lits.push((atom, negated));
                }
            }
            starts.push(lits.len() as u32);
        }
        AtomInstances { lits, starts, firsts }
    }

    fn of(&self, atom: usize) -> impl Iterator<Item = &[(u32, bool)]> {
        let range = self.firsts[atom] as usize..self.firsts[atom + 1] as usize;
        range.map(|instance| &self.lits[self.starts[instance] as usize..self.starts[instance + 1] as usize])
    }
}
