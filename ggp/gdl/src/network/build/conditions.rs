//! Common conditions of the legality of a role's moves.

use std::collections::{BTreeMap, HashMap};

use sternhalma_game::util::Lit;

use super::netlist::{Gates, Netlist};

/// The maximum number of literals of a conjunction after [`conditions`].
pub const WIDEST: usize = i16::MAX as usize;

/// The minimum number of moves that share a condition.
const FEWEST: usize = 4;
/// A condition must be shared by at least one in `SHARE` moves of the role.
const SHARE: usize = 4;
/// The maximum depth of nested conjunctions that are inspected.
const DEEPEST: u32 = 6;

/// Extracts literals that the legality of many moves of a role needs, such as
/// control. A move is then legal if its condition holds and `legal` of the
/// returned netlist holds. When control passes, the gates of single moves need
/// not change.
///
/// Conditions depend on fluents only. No conjunction of the netlist has more
/// than [`WIDEST`] literals.
pub fn conditions(netlist: &Netlist) -> (Netlist, Vec<Lit>) {
    let mut rewriter = Rewriter::new(netlist);
    let mut outputs = netlist.outputs.clone();
    outputs.replace(|lit| rewriter.rewrite(lit));
    let mut finder = NeededLiterals::new(netlist);
    finder.with_disjunctions = true;
    let mut conditions = vec![Lit::TRUE; netlist.moves()];
    for range in &netlist.roles {
        let mut needs: BTreeMap<usize, Vec<Lit>> =
            range.clone().map(|mv| (mv, finder.of(netlist.outputs.legal[mv]))).collect();
        let fewest = FEWEST.max(range.len().div_ceil(SHARE));
        while let Some(condition) = most_common(needs.values(), fewest) {
            rewriter.assume_nothing();
            let written = rewriter.rewrite(condition);
            rewriter.assume(condition);
            needs.retain(|&mv, needs| {
                let needed = needs.binary_search(&condition).is_ok();
                if needed {
                    conditions[mv] = written;
                    outputs.legal[mv] = rewriter.rewrite(netlist.outputs.legal[mv]);
                }
                !needed
            });
        }
    }
    // Conditions are temporary outputs, so that their gates are kept.
    outputs.goals.push(conditions.into_iter().map(|condition| (0, condition)).collect());
    let mut netlist = rewriter.gates.finish(netlist.initial.clone(), netlist.roles.clone(), outputs);
    let conditions = netlist.outputs.goals.pop().unwrap_or_default();
    (netlist, conditions.into_iter().map(|(_, condition)| condition).collect())
}

/// Returns the literal that most lists contain, if at least `fewest` do (ties:
/// the first).
fn most_common<'a>(lists: impl Iterator<Item = &'a Vec<Lit>>, fewest: usize) -> Option<Lit> {
    let mut counts: BTreeMap<Lit, usize> = BTreeMap::new();
    lists.flatten().for_each(|&lit| *counts.entry(lit).or_default() += 1);
    let (lit, count) = counts.into_iter().rev().max_by_key(|&(_, count)| count)?;
    (count >= fewest).then_some(lit)
}

/// A rewriter of a netlist.
struct Rewriter<'a> {
    netlist: &'a Netlist,
    old: Vec<&'a [Lit]>,
    gates: Gates,
    /// The literal for each node that has been rewritten under the assumption.
    written: HashMap<usize, Lit>,
}

impl<'a> Rewriter<'a> {
    fn new(netlist: &'a Netlist) -> Rewriter<'a> {
        let gates = Gates::new(netlist.fluents(), netlist.moves());
        Rewriter { netlist, old: netlist.gates().collect(), gates, written: HashMap::new() }
    }

    /// Returns the literals of a node, if it is a gate.
    fn gate(&self, node: usize) -> Option<&'a [Lit]> {
        node.checked_sub(self.netlist.first_gate()).map(|gate| self.old[gate])
    }

    /// Ends the assumption.
    fn assume_nothing(&mut self) {
        self.written.clear();
    }

    /// Assumes that a literal holds.
    fn assume(&mut self, lit: Lit) {
        self.written.clear();
        self.written.insert(lit.node(), Lit::TRUE.xor(lit.is_inverted()));
    }

    /// Rewrites a literal under the assumption.
    fn rewrite(&mut self, lit: Lit) -> Lit {
        let mut stack = vec![lit.node()];
        while let Some(&node) = stack.last() {
            if !self.written.contains_key(&node) {
                let Some(gate) = self.gate(node) else {
                    self.written.insert(node, Lit::new(node, false));
                    continue;
                };
                let open = stack.len();
                stack.extend(gate.iter().map(|lit| lit.node()).filter(|node| !self.written.contains_key(node)));
                if stack.len() > open {
                    continue;
                }
                let lits: Vec<Lit> = gate.iter().map(|&lit| self.literal(lit)).collect();
                let lit = self.conjunction(lits);
                self.written.insert(node, lit);
            }
            stack.pop();
        }
        self.literal(lit)
    }

    /// Returns the literal of a node that has been rewritten.
    fn literal(&self, lit: Lit) -> Lit {
        lit.map(|node| self.written[&node])
    }

    fn conjunction(&mut self, mut lits: Vec<Lit>) -> Lit {
        while lits.len() > WIDEST {
            lits = lits.chunks(WIDEST).map(|part| self.gates.and(part.iter().copied())).collect();
        }
        self.gates.and(lits)
    }
}

/// A search for the literals that other literals need.
pub struct NeededLiterals<'a> {
    netlist: &'a Netlist,
    gates: Vec<&'a [Lit]>,
    known: HashMap<Lit, Vec<Lit>>,
    /// Whether the result includes disjunctions as a whole.
    with_disjunctions: bool,
}

impl<'a> NeededLiterals<'a> {
    /// Creates a search without results.
    pub fn new(netlist: &'a Netlist) -> NeededLiterals<'a> {
        NeededLiterals { netlist, gates: netlist.gates().collect(), known: HashMap::new(), with_disjunctions: false }
    }

    /// Returns the literals of fluents that a literal needs to hold, in order:
    /// those of all parts of a conjunction, and the common ones of all parts
    /// of a disjunction.
    pub fn of(&mut self, lit: Lit) -> Vec<Lit> {
        self.within(lit, DEEPEST)
    }

    fn within(&mut self, lit: Lit, depth: u32) -> Vec<Lit> {
        if let Some(needs) = self.known.get(&lit) {
            return needs.clone();
        }
        let needs = self.find(lit, depth);
        self.known.insert(lit, needs.clone());
        needs
    }

    fn find(&mut self, lit: Lit, depth: u32) -> Vec<Lit> {
        let Some(gate) = lit.node().checked_sub(self.netlist.first_gate()) else {
            let fluent = !lit.is_constant() && lit.node() < self.netlist.move_node(0);
            return if fluent { vec![lit] } else { Vec::new() };
        };
        if depth == 0 {
            return Vec::new();
        }
        let parts = self.gates[gate].iter().map(|&part| part.xor(lit.is_inverted()));
        let mut needs = parts.map(|part| self.within(part, depth - 1));
        if lit.is_inverted() {
            let mut common = needs.next().unwrap_or_default();
            for other in needs {
                common.retain(|lit| other.binary_search(lit).is_ok());
                if common.is_empty() {
                    break;
                }
            }
            if self.with_disjunctions {
                common.push(lit);
                common.sort_unstable();
            }
            return common;
        }
        let mut all: Vec<Lit> = needs.flatten().collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::network::testing::{Sizes, connect_four, games, random_network};
    use crate::network::{Network, Outputs};
    use sternhalma_game::Rng;

    /// Compares the outputs of both netlists for random inputs.
    fn agree(network: &Network, rng: &mut Rng) {
        let netlist = &network.netlist;
        let (other, conditions) = conditions(netlist);
        for _ in 0..50 {
            let mut random = |count| -> Vec<bool> { (0..count).map(|_| rng.random()).collect() };
            let (fluents, does) = (random(netlist.fluents()), random(netlist.moves()));
            let (these, those) = (netlist.evaluate(&fluents, &does), other.evaluate(&fluents, &does));
            let without_legal = |outputs: &Outputs, values: &[bool]| -> Vec<bool> {
                let outputs = Outputs { legal: Vec::new(), ..outputs.clone() };
                outputs.lits().map(|lit| lit.of(values)).collect()
            };
            assert_eq!(without_legal(&netlist.outputs, &these), without_legal(&other.outputs, &those));
            let idle = other.evaluate(&fluents, &vec![false; netlist.moves()]);
            for (mv, condition) in conditions.iter().enumerate() {
                assert_eq!(condition.of(&idle), condition.of(&those), "{}", network.moves[mv]);
                let legal = condition.of(&those) && other.outputs.legal[mv].of(&those);
                assert_eq!(legal, netlist.outputs.legal[mv].of(&these), "{}", network.moves[mv]);
            }
        }
    }

    #[test]
    fn conditions_and_remainders_give_legality() {
        let mut rng = Rng::seed_from_u64(1);
        for network in games() {
            agree(&network, &mut rng);
        }
        let sizes = Sizes { roles: 2, moves: 8, fluents: 6, gates: 60, steps: 3 };
        let mut found = 0;
        for _ in 0..100 {
            let network = random_network(&mut rng, sizes);
            agree(&network, &mut rng);
            found += usize::from(conditions(&network.netlist).1.iter().any(|&lit| lit != Lit::TRUE));
        }
        assert!(found > 5, "conditions in {found} networks");
    }

    #[test]
    fn dropping_a_disc_has_the_condition_control() {
        let network = connect_four();
        let (netlist, conditions) = conditions(&network.netlist);
        for (mv, name) in network.moves.iter().enumerate().filter(|(_, name)| name.starts_with("( drop")) {
            assert!(network.fluents[conditions[mv].node() - 1].starts_with("( control"), "{name}");
            // The highest cell of the column is free.
            assert!(netlist.outputs.legal[mv].node() <= netlist.fluents());
        }
    }

    #[test]
    fn wide_conjunctions_are_split() {
        let fluents = 2 * WIDEST + 5;
        let mut gates = Gates::new(fluents, 1);
        let all = gates.and((0..fluents).map(|fluent| Lit::new(1 + fluent, false)));
        let outputs = Outputs {
            next: vec![Lit::FALSE; fluents],
            legal: vec![Lit::TRUE],
            terminal: all,
            goals: vec![vec![(100, all)]],
        };
        let netlist = gates.finish(vec![true; fluents], std::iter::once(0..1).collect(), outputs);
        let (cut, _) = conditions(&netlist);
        assert!(cut.gates().all(|gate| gate.len() <= WIDEST));
        let mut values = vec![true; fluents];
        assert!(cut.outputs.terminal.of(&cut.evaluate(&values, &[false])));
        values[fluents / 2] = false;
        assert!(!cut.outputs.terminal.of(&cut.evaluate(&values, &[false])));
    }
}
