//! Fluents that follow a fixed cycle.
//!
//! In most games, control depends only on the previous control. If all lanes
//! are in the same phase of such a cycle, these fluents are constants, and a
//! large part of the circuit is not needed.

use std::collections::HashSet;

use sternhalma_game::util::Lit;

use super::netlist::{Gates, Netlist};

/// The maximum length of a cycle.
const LONGEST: usize = 8;

/// A phase of the cycle.
#[derive(Clone)]
pub struct GamePhase {
    /// The fluents that the phase determines, with their values.
    pub fluents: Vec<(usize, bool)>,
    /// The circuit of the game in this phase, with all fluents and moves.
    ///
    /// The circuit assumes that moves that cannot be legal are never played,
    /// and that the only move of a role is always played if it is always legal.
    pub netlist: Netlist,
}

/// Returns the phases of a game, at least one, beginning with that of the
/// initial state.
pub fn phases(netlist: &Netlist) -> Vec<GamePhase> {
    let cycle = cycle(netlist).into_iter();
    cycle.map(|fluents| GamePhase { netlist: specialise(netlist, &fluents), fluents }).collect()
}

/// Returns the fluents that each phase determines, with their values.
fn cycle(netlist: &Netlist) -> Vec<Vec<(usize, bool)>> {
    let history = history(netlist);
    let periods: Vec<Option<usize>> = closures(netlist)
        .iter()
        .map(|closure| {
            let closure = closure.as_ref()?;
            (1..=LONGEST).find(|&period| closure.iter().all(|&fluent| history[period][fluent] == history[0][fluent]))
        })
        .collect();
    // The cycle determines as many fluents as possible: those whose periods
    // divide its length.
    let determined = |length: usize| periods.iter().flatten().filter(|&&period| length.is_multiple_of(period)).count();
    let length = (1..=LONGEST).rev().max_by_key(|&length| (determined(length), LONGEST - length)).unwrap_or(1);
    (0..length)
        .map(|phase| {
            let fluents = periods.iter().enumerate();
            let fluents = fluents.filter(|(_, period)| period.is_some_and(|period| length.is_multiple_of(period)));
            fluents.map(|(fluent, _)| (fluent, history[phase][fluent])).collect()
        })
        .collect()
}

/// Returns the values of the fluents that do not depend on moves, step by step
/// from the initial state.
fn history(netlist: &Netlist) -> Vec<Vec<bool>> {
    let idle = vec![false; netlist.moves()];
    let mut history = vec![netlist.initial.clone()];
    for step in 0..LONGEST {
        let values = netlist.evaluate(&history[step], &idle);
        history.push(netlist.outputs.next.iter().map(|lit| lit.of(&values)).collect());
    }
    history
}

/// Returns for each fluent all fluents that it depends on over time, or `None`
/// if it depends on moves.
fn closures(netlist: &Netlist) -> Vec<Option<Vec<usize>>> {
    let free = without_moves(netlist);
    let direct: Vec<Vec<usize>> = (0..netlist.fluents())
        .map(|fluent| if free[fluent] { fluents_below(netlist, netlist.outputs.next[fluent]) } else { Vec::new() })
        .collect();
    (0..netlist.fluents())
        .map(|fluent| {
            free[fluent].then(|| {
                let mut closure = vec![fluent];
                let mut seen = vec![false; netlist.fluents()];
                seen[fluent] = true;
                let mut next = 0;
                while next < closure.len() {
                    for &other in &direct[closure[next]] {
                        if !std::mem::replace(&mut seen[other], true) {
                            closure.push(other);
                        }
                    }
                    next += 1;
                }
                closure
            })
        })
        .collect()
}

/// Returns whether each fluent evolves independently of moves.
pub fn without_moves(netlist: &Netlist) -> Vec<bool> {
    let mut free = vec![true; netlist.fluents()];
    loop {
        let nodes = nodes_over(netlist, &free);
        let stays = |fluent: usize| free[fluent] && nodes[netlist.outputs.next[fluent].node()];
        let now: Vec<bool> = (0..netlist.fluents()).map(stays).collect();
        if now == free {
            return free;
        }
        free = now;
    }
}

/// Returns the nodes that depend on no inputs except some fluents.
pub fn nodes_over(netlist: &Netlist, fluents: &[bool]) -> Vec<bool> {
    let mut nodes = vec![true];
    nodes.extend_from_slice(fluents);
    nodes.resize(netlist.first_gate(), false);
    for gate in netlist.gates() {
        nodes.push(gate.iter().all(|lit| nodes[lit.node()]));
    }
    nodes
}

/// Returns the fluents that a literal depends on.
fn fluents_below(netlist: &Netlist, lit: Lit) -> Vec<usize> {
    let mut fluents = Vec::new();
    let mut seen = HashSet::from([lit.node()]);
    let mut stack = vec![lit.node()];
    while let Some(node) = stack.pop() {
        if node >= netlist.first_gate() {
            let lits = netlist.gate(node).iter();
            stack.extend(lits.map(|lit| lit.node()).filter(|&node| seen.insert(node)));
        } else if node > 0 {
            fluents.push(node - 1);
        }
    }
    fluents
}

/// Returns the netlist of one phase.
fn specialise(netlist: &Netlist, fluents: &[(usize, bool)]) -> Netlist {
    let mut known = vec![None; netlist.first_gate()];
    known[0] = Some(false);
    for &(fluent, value) in fluents {
        known[netlist.fluent_node(fluent)] = Some(value);
    }
    let legal = fold(netlist, &known).outputs.legal;
    for role in &netlist.roles {
        let possible: Vec<usize> = role.clone().filter(|&mv| legal[mv] != Lit::FALSE).collect();
        for mv in role.clone() {
            if legal[mv] == Lit::FALSE {
                known[netlist.move_node(mv)] = Some(false);
            }
        }
        if let [mv] = possible[..]
            && legal[mv] == Lit::TRUE
        {
            known[netlist.move_node(mv)] = Some(true);
        }
    }
    fold(netlist, &known)
}

/// Returns the netlist with some of its inputs replaced by constants.
fn fold(netlist: &Netlist, known: &[Option<bool>]) -> Netlist {
    let constant = |value| Lit::FALSE.xor(value);
    let inputs = known.iter().enumerate().map(|(node, value)| value.map_or(Lit::new(node, false), constant));
    let mut lits: Vec<Lit> = inputs.collect();
    let mut gates = Gates::new(netlist.fluents(), netlist.moves());
    let of = |lit: Lit, lits: &[Lit]| lit.map(|node| lits[node]);
    for gate in netlist.gates() {
        let folded = gates.and(gate.iter().map(|&lit| of(lit, &lits)));
        lits.push(folded);
    }
    let mut outputs = netlist.outputs.clone();
    outputs.replace(|lit| of(lit, &lits));
    gates.finish(netlist.initial.clone(), netlist.roles.clone(), outputs)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::network::testing::{Sizes, lamps, pennies, random_network, three_in_turn, tic_tac_toe};
    use sternhalma_game::Rng;

    #[test]
    fn control_is_a_cycle() {
        let names = |network: &crate::network::Network| -> Vec<Vec<String>> {
            let phases = phases(&network.netlist);
            let holding = phases.iter().map(|phase| phase.fluents.iter().filter(|(_, value)| *value));
            holding.map(|fluents| fluents.map(|&(fluent, _)| network.fluents[fluent].clone()).collect()).collect()
        };
        assert_eq!(names(&tic_tac_toe()), [["( control white )"], ["( control black )"]]);
        assert_eq!(names(&three_in_turn(7)), [["( control p0 )"], ["( control p1 )"], ["( control p2 )"]]);
        // A sequence that stops is not a cycle.
        assert_eq!(names(&pennies()).concat(), [""; 0]);
        assert_eq!(names(&lamps(6, 9)).concat(), [""; 0]);
    }

    #[test]
    fn a_role_that_waits_has_no_gates() {
        let netlist = tic_tac_toe().netlist;
        for (turn, phase) in phases(&netlist).iter().enumerate() {
            assert!(phase.netlist.nodes() < netlist.nodes());
            let waits = &phase.netlist.outputs.legal[netlist.roles[1 - turn].clone()];
            let (noop, marks) = waits.split_last().expect("there are moves");
            assert_eq!(*noop, Lit::TRUE);
            assert!(marks.iter().all(|&lit| lit == Lit::FALSE));
        }
    }

    /// Plays at random by definition and compares the outputs of the phases.
    #[test]
    fn phases_agree_with_the_game() {
        let mut rng = Rng::seed_from_u64(1);
        let sizes = Sizes { roles: 2, moves: 5, fluents: 8, gates: 50, steps: 30 };
        let mut networks: Vec<_> = (0..100).map(|_| random_network(&mut rng, sizes)).collect();
        networks.extend([tic_tac_toe(), three_in_turn(7)]);
        let mut cycles = 0;
        for network in networks {
            let netlist = &network.netlist;
            let phases = phases(netlist);
            cycles += usize::from(phases.len() > 1);
            let mut fluents = netlist.initial.clone();
            for step in 0.. {
                let phase = &phases[step % phases.len()];
                assert!(phase.fluents.iter().all(|&(fluent, value)| fluents[fluent] == value));
                let mut does = vec![false; netlist.moves()];
                let values = netlist.evaluate(&fluents, &does);
                if netlist.outputs.terminal.of(&values) {
                    break;
                }
                for role in &netlist.roles {
                    let legal: Vec<usize> = role.clone().filter(|&mv| netlist.outputs.legal[mv].of(&values)).collect();
                    does[legal[rng.random_range(0..legal.len())]] = true;
                }
                let these = netlist.evaluate(&fluents, &does);
                let those = phase.netlist.evaluate(&fluents, &does);
                let of = |netlist: &Netlist, values: &[bool]| -> Vec<bool> {
                    netlist.outputs.lits().map(|lit| lit.of(values)).collect()
                };
                assert_eq!(of(netlist, &these), of(&phase.netlist, &those));
                fluents = netlist.outputs.next.iter().map(|lit| lit.of(&these)).collect();
            }
        }
        assert!(cycles > 5, "{cycles}");
    }
}
