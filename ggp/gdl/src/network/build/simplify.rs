//! Simplification with the rules of play: each role plays exactly one legal
//! move.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use sternhalma_game::util::Lit;

use super::conditions::NeededLiterals;
use super::netlist::{Gates, Netlist, Outputs};
use crate::ground::GroundError;

/// Weight of a move-dependent literal relative to any other literal (1).
const MOVE_WEIGHT: usize = 8;

/// The maximum number of literals of a conjunction that are compared. A larger
/// conjunction is not factored, because that would take too long.
const MAX_FACTORING_WORK: usize = 2_000_000;

/// The number of rounds; a round uses the results of the previous round.
const ROUNDS: usize = 2;

/// Simplifies a netlist. The result is the same game if each role plays one
/// legal move in reachable states.
///
/// Frame rules produce large disjunctions over the moves that do not affect a
/// fluent, for every role and every fluent. The following steps reduce these
/// disjunctions:
///
/// * A common literal of a disjunction of conjunctions is factored out.
/// * If one of several moves is played, none of the others is.
/// * A move whose legality needs a literal implies that literal, and excludes
///   the other moves of the role.
/// * Suppose that a role needs a literal for all moves except one, and that
///   this move needs its negation. The role then plays that move exactly if
///   the literal is false, so waiting is not an input.
/// * Suppose that each role needs a literal, such as control, and that exactly
///   one of these literals always holds. A condition on the control and the
///   moves of that role then depends on the moves alone.
///
/// # Errors
///
/// Returns [`GroundError::Stopped`] if `stop` is set.
pub fn simplify(netlist: &Netlist, stop: &AtomicBool) -> Result<Netlist, GroundError> {
    let mut netlist = flatten(netlist);
    for _ in 0..ROUNDS {
        netlist = flatten(&rewrite(&netlist, stop)?);
    }
    Ok(netlist)
}

/// Applies each step once, beginning with the inputs.
fn rewrite(netlist: &Netlist, stop: &AtomicBool) -> Result<Netlist, GroundError> {
    let mut facts = PlayFacts::new(netlist);
    let mut written = Simplifier::new(netlist, &facts).rewrite(stop)?;
    if facts.turns && !facts.hold_next(&written.1.next) {
        facts = PlayFacts { turns: false, ..facts }.with_waiting();
        written = Simplifier::new(netlist, &facts).rewrite(stop)?;
    }
    let (gates, outputs) = written;
    Ok(gates.finish(netlist.initial.clone(), netlist.roles.clone(), outputs))
}

/// Merges conjunctions that only one other conjunction uses into that
/// conjunction.
fn flatten(netlist: &Netlist) -> Netlist {
    let mut uses = vec![0; netlist.nodes()];
    netlist.gates().flatten().copied().chain(netlist.outputs.lits()).for_each(|lit| uses[lit.node()] += 1);
    let mut gates = Gates::new(netlist.fluents(), netlist.moves());
    let mut written: Vec<Lit> = (0..netlist.first_gate()).map(|node| Lit::new(node, false)).collect();
    let literal = |lit: Lit, written: &[Lit]| lit.map(|node| written[node]);
    for gate in netlist.gates() {
        let mut lits = Vec::new();
        for &lit in gate {
            let new = literal(lit, &written);
            let inner = gates.literals(new.node()).filter(|_| !new.is_inverted() && uses[lit.node()] == 1);
            match inner {
                Some(parts) => lits.extend_from_slice(parts),
                None => lits.push(new),
            }
        }
        written.push(gates.and(lits));
    }
    let mut outputs = netlist.outputs.clone();
    outputs.replace(|lit| literal(lit, &written));
    gates.finish(netlist.initial.clone(), netlist.roles.clone(), outputs)
}

/// Facts about reachable states and played moves.
#[derive(Clone)]
struct PlayFacts {
    /// The literals of fluents that the legality of each move needs, in order.
    needs: Vec<Vec<Lit>>,
    /// The role of each move.
    role_of: Vec<usize>,
    /// The literal that each role needs for all moves except one.
    controls: Vec<Option<Lit>>,
    /// Whether exactly one of these literals holds in every state.
    turns: bool,
    /// The move of each role that does not need its control.
    passes: Vec<Option<usize>>,
    /// The literals of waiting moves, which are played exactly if no other
    /// move is legal.
    waiting: BTreeMap<usize, Lit>,
}

impl PlayFacts {
    fn new(netlist: &Netlist) -> PlayFacts {
        let mut finder = NeededLiterals::new(netlist);
        let needs: Vec<Vec<Lit>> = netlist.outputs.legal.iter().map(|&lit| finder.of(lit)).collect();
        let mut role_of = vec![0; netlist.moves()];
        let mut controls = Vec::new();
        for (role, range) in netlist.roles.iter().enumerate() {
            role_of[range.clone()].fill(role);
            let mut counts: BTreeMap<Lit, usize> = BTreeMap::new();
            needs[range.clone()].iter().flatten().for_each(|&lit| *counts.entry(lit).or_default() += 1);
            let of_all = counts.into_iter().find(|&(_, count)| count + 1 == range.len() && count > 0);
            controls.push(of_all.map(|(lit, _)| lit));
        }
        let held =
            |control: &Option<Lit>| control.is_some_and(|lit| netlist.initial[lit.node() - 1] ^ lit.is_inverted());
        let mut distinct: Vec<usize> = controls.iter().flatten().map(|lit| lit.node()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let turns = controls.len() > 1
            && controls.iter().all(Option::is_some)
            && (distinct.len() == controls.len() || controls.len() == 2 && controls[0] == controls[1].map(|lit| !lit))
            && controls.iter().filter(|control| held(control)).count() == 1;
        let pass = |(role, &control): (usize, &Option<Lit>)| {
            netlist.roles[role].clone().find(|&mv| control.is_some_and(|control| !needs[mv].contains(&control)))
        };
        let passes = controls.iter().enumerate().map(pass).collect();
        PlayFacts { needs, role_of, controls, turns, passes, waiting: BTreeMap::new() }.with_waiting()
    }

    /// Finds the waiting moves.
    fn with_waiting(mut self) -> PlayFacts {
        self.waiting.clear();
        for (&control, &pass) in self.controls.iter().zip(&self.passes) {
            if let (Some(control), Some(mv)) = (control, pass)
                && self.needs[mv].iter().any(|&lit| self.exclude(lit, control))
            {
                self.waiting.insert(mv, !control);
            }
        }
        self
    }

    /// Returns whether two literals cannot both hold.
    fn exclude(&self, these: Lit, those: Lit) -> bool {
        let controls = |lit| self.controls.contains(&Some(lit));
        these == !those || self.turns && these != those && controls(these) && controls(those)
    }

    /// Returns whether exactly one control holds in the next state, provided
    /// that one holds now: control passes from role to role. `next` has
    /// simplified literals.
    fn hold_next(&self, next: &[Lit]) -> bool {
        let controls: Vec<Lit> = self.controls.iter().copied().flatten().collect();
        let mut from: Vec<Lit> = Vec::new();
        for &control in &controls {
            let lit = control.map(|node| next[node - 1]);
            // With two roles, the negation of one control implies the other.
            let other = |&&other: &&Lit| controls.len() == 2 && other != lit && lit == !other;
            match controls.iter().find(other) {
                Some(&not) => from.extend(controls.iter().find(|&&this| this != not)),
                None => from.push(lit),
            }
        }
        from.sort_unstable();
        let mut sorted = controls;
        sorted.sort_unstable();
        from == sorted
    }
}

/// A rewriter of a netlist.
struct Simplifier<'a> {
    netlist: &'a Netlist,
    facts: &'a PlayFacts,
    gates: Gates,
    /// Whether each new gate depends on moves.
    moving: Vec<bool>,
}

impl<'a> Simplifier<'a> {
    fn new(netlist: &'a Netlist, facts: &'a PlayFacts) -> Simplifier<'a> {
        Simplifier { netlist, facts, gates: Gates::new(netlist.fluents(), netlist.moves()), moving: Vec::new() }
    }

    fn rewrite(mut self, stop: &AtomicBool) -> Result<(Gates, Outputs), GroundError> {
        let netlist = self.netlist;
        let mut written: Vec<Lit> = (0..netlist.first_gate()).map(|node| Lit::new(node, false)).collect();
        for (&mv, &lit) in &self.facts.waiting {
            written[netlist.move_node(mv)] = lit;
        }
        let literal = |lit: Lit, written: &[Lit]| lit.map(|node| written[node]);
        for gate in netlist.gates() {
            if stop.load(Relaxed) {
                return Err(GroundError::Stopped);
            }
            let lits = gate.iter().map(|&lit| literal(lit, &written)).collect();
            let lit = self.and(lits);
            written.push(lit);
        }
        let mut outputs = netlist.outputs.clone();
        outputs.replace(|lit| literal(lit, &written));
        Ok((self.gates, outputs))
    }

    /// Returns the move of a literal, if it is one.
    fn move_of(&self, lit: Lit) -> Option<usize> {
        lit.node().checked_sub(self.netlist.move_node(0)).filter(|&mv| mv < self.netlist.moves())
    }

    /// Returns the move whose play, or whose absence if `inverted`, a literal
    /// states.
    fn played(&self, lit: Lit, inverted: bool) -> Option<usize> {
        self.move_of(lit).filter(|_| lit.is_inverted() == inverted)
    }

    fn does(&self, mv: usize) -> Lit {
        let input = Lit::new(self.netlist.move_node(mv), false);
        self.facts.waiting.get(&mv).copied().unwrap_or(input)
    }

    fn or(&mut self, lits: impl IntoIterator<Item = Lit>) -> Lit {
        !self.and(lits.into_iter().map(|lit| !lit).collect())
    }

    fn and(&mut self, mut lits: Vec<Lit>) -> Lit {
        self.spread(&mut lits);
        lits.sort_unstable();
        lits.dedup();
        self.assume_control(&mut lits);
        self.narrow(&mut lits);
        if self.imply(&mut lits).is_none() {
            return Lit::FALSE;
        }
        self.complement(&mut lits);
        self.take_out(&mut lits);
        self.forget_turns(&mut lits);
        let lit = self.gates.and(lits);
        self.mark_moving();
        lit
    }

    /// Replaces conjunctions of unplayed moves by their literals.
    fn spread(&self, lits: &mut Vec<Lit>) {
        let mut spread = Vec::new();
        lits.retain(|lit| {
            let parts = self.gates.literals(lit.node()).filter(|_| !lit.is_inverted());
            let parts = parts.filter(|parts| parts.iter().all(|&part| self.played(part, true).is_some()));
            spread.extend_from_slice(parts.unwrap_or_default());
            parts.is_none()
        });
        lits.extend(spread);
    }

    /// Drops literals that follow from the role in control.
    fn assume_control(&mut self, lits: &mut Vec<Lit>) {
        let controls: Vec<Lit> =
            self.facts.controls.iter().flatten().copied().filter(|control| lits.contains(control)).collect();
        for control in controls {
            for lit in lits.iter_mut() {
                let Some(parts) = self.gates.literals(lit.node()).filter(|_| lit.is_inverted()) else { continue };
                if parts.iter().any(|&part| self.facts.exclude(part, control)) {
                    *lit = Lit::TRUE;
                } else if parts.contains(&control) {
                    let rest: Vec<Lit> = parts.iter().copied().filter(|&part| part != control).collect();
                    *lit = !self.and(rest);
                }
            }
        }
        lits.sort_unstable();
        lits.dedup();
    }

    /// Returns a set of moves of which at least one is played according to a literal.
    fn any_played(&self, lit: Lit) -> Option<Vec<usize>> {
        let parts = self.gates.literals(lit.node()).filter(|_| lit.is_inverted())?;
        parts.iter().map(|&part| self.played(part, true)).collect()
    }

    /// Reduces a choice of moves to those that are legal according to the
    /// other literals, and drops literals that all of them need.
    fn narrow(&mut self, lits: &mut Vec<Lit>) {
        for lit in lits.clone() {
            // A literal that was dropped follows from the others.
            if !lits.contains(&lit) {
                continue;
            }
            let Some(moves) = self.any_played(lit) else { continue };
            let possible = |mv: usize| {
                let needs = &self.facts.needs[mv];
                !lits.iter().any(|&other| needs.iter().any(|&need| self.facts.exclude(need, other)))
            };
            let left: Vec<usize> = moves.iter().copied().filter(|&mv| possible(mv)).collect();
            lits.retain(|other| left.is_empty() || !left.iter().all(|&mv| self.facts.needs[mv].contains(other)));
            if left.len() < moves.len() {
                lits.retain(|&other| other != lit);
                lits.push(self.or(left.into_iter().map(|mv| self.does(mv)).collect::<Vec<_>>()));
            }
        }
        lits.sort_unstable();
        lits.dedup();
    }

    /// Drops literals that follow from the played moves. Returns `None` if
    /// there is a contradiction.
    fn imply(&self, lits: &mut Vec<Lit>) -> Option<()> {
        let moves: Vec<usize> = lits.iter().filter_map(|&lit| self.played(lit, false)).collect();
        for mv in moves {
            let needs = &self.facts.needs[mv];
            let role = self.facts.role_of[mv];
            let other =
                |lit: Lit| self.move_of(lit).is_some_and(|other| other != mv && self.facts.role_of[other] == role);
            let against = |lit| needs.iter().any(|&need| self.facts.exclude(need, lit));
            if lits.iter().any(|&lit| against(lit) || !lit.is_inverted() && other(lit)) {
                return None;
            }
            lits.retain(|lit| !needs.contains(lit) && !other(*lit));
        }
        Some(())
    }

    /// Replaces "most moves of a role are not played" by "one of the others is
    /// played".
    fn complement(&mut self, lits: &mut Vec<Lit>) {
        for range in &self.netlist.roles {
            let excluded =
                lits.iter().filter(|&&lit| self.played(lit, true).is_some_and(|mv| range.contains(&mv))).count();
            if 2 * excluded <= range.len() {
                continue;
            }
            let not = |mv: usize| !self.does(mv);
            let (excluded, others): (Vec<usize>, Vec<usize>) =
                range.clone().partition(|&mv| lits.binary_search(&not(mv)).is_ok());
            let mut excluded: Vec<Lit> = excluded.into_iter().map(not).collect();
            // A waiting move has the literal of a fluent, out of order.
            excluded.sort_unstable();
            lits.retain(|lit| excluded.binary_search(lit).is_err());
            let others: Vec<Lit> = others.into_iter().map(|mv| self.does(mv)).collect();
            lits.push(self.or(others));
            lits.sort_unstable();
            lits.dedup();
        }
    }

    /// Factors: not (x and a) and not (x and b) becomes not (x and (a or b)).
    fn take_out(&mut self, lits: &mut Vec<Lit>) {
        for _ in 0..MAX_FACTORING_WORK / lits.len().max(1) {
            let mut counts: BTreeMap<Lit, usize> = BTreeMap::new();
            for &lit in &*lits {
                self.shareable(lit).for_each(|(part, weight)| *counts.entry(part).or_default() += weight);
            }
            let Some((common, count)) = counts.into_iter().rev().max_by_key(|&(_, count)| count) else { return };
            if count < 2 * MOVE_WEIGHT {
                return;
            }
            let mut rests = Vec::new();
            lits.retain(|lit| {
                let shares = self.shareable(*lit).any(|(part, _)| part == common);
                let with = self.gates.literals(lit.node()).filter(|_| shares);
                rests
                    .extend(with.map(|parts| parts.iter().copied().filter(|&part| part != common).collect::<Vec<_>>()));
                with.is_none()
            });
            let rests: Vec<Lit> = rests.into_iter().map(|rest| self.and(rest)).collect();
            let any = self.or(rests);
            let lit = !self.and(vec![common, any]);
            lits.push(lit);
        }
    }

    /// Returns the literals of a negated conjunction that may be factored out,
    /// with their weights. The weight is highest for move-dependent literals
    /// and control; otherwise it must compensate for a conjunction that was
    /// shared.
    fn shareable(&self, lit: Lit) -> impl Iterator<Item = (Lit, usize)> {
        let gate = lit.node().checked_sub(self.netlist.first_gate()).filter(|_| lit.is_inverted());
        let moving = gate.is_some_and(|gate| self.moving[gate]);
        let parts = gate.and_then(|_| self.gates.literals(lit.node())).unwrap_or_default();
        let weight = move |part| if moving || self.facts.controls.contains(&Some(part)) { MOVE_WEIGHT } else { 1 };
        parts.iter().map(move |&part| (part, weight(part)))
    }

    /// Drops control if it only selects whose moves are tested.
    ///
    /// For each role, "not (in control and none of some moves is played)" is
    /// equivalent to "some role plays one of them". A role that does not pass
    /// is in control.
    fn forget_turns(&mut self, lits: &mut Vec<Lit>) {
        if !self.facts.turns {
            return;
        }
        let (mut dropped, mut moves) = (Vec::new(), Vec::new());
        for (role, &control) in self.facts.controls.iter().enumerate() {
            let Some(control) = control else { return };
            let pass = self.facts.passes[role].map(|mv| self.does(mv));
            let in_control = |part: Lit| part == control || pass == Some(!part);
            let of_control =
                |part: Lit| self.played(part, true).is_some_and(|mv| self.facts.needs[mv].contains(&control));
            let of_role = |lit: &&Lit| {
                let parts = self.gates.literals(lit.node()).filter(|_| lit.is_inverted()).unwrap_or_default();
                let asked = parts.iter().any(|&part| in_control(part));
                in_control(!**lit) || asked && parts.iter().all(|&part| in_control(part) || of_control(part))
            };
            let Some(&lit) = lits.iter().find(of_role) else { return };
            dropped.push(lit);
            let parts = self.gates.literals(lit.node()).filter(|_| lit.is_inverted()).map(<[Lit]>::to_vec);
            for part in parts.unwrap_or_else(|| vec![!lit]).into_iter().filter(|&part| part != control) {
                // A role in control that passes has no other legal move.
                moves.push(if pass == Some(!part) { self.gates.and([control, !part]) } else { !part });
            }
        }
        self.mark_moving();
        if !moves.is_empty() {
            lits.retain(|lit| !dropped.contains(lit));
            lits.push(self.or(moves));
        }
    }

    fn mark_moving(&mut self) {
        let first = self.netlist.first_gate();
        for node in first + self.moving.len()..self.gates.nodes() {
            let parts = self.gates.literals(node).unwrap_or_default();
            let moves = |lit: &Lit| match lit.node().checked_sub(first) {
                Some(gate) => self.moving[gate],
                None => self.move_of(*lit).is_some(),
            };
            self.moving.push(parts.iter().any(moves));
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::Rules;
    use crate::network::Network;
    use crate::network::testing::{Sizes, games, random_network};
    use sternhalma_game::Rng;

    /// Plays a random match of legal moves and compares all outputs.
    fn agree(netlist: &Netlist, rng: &mut Rng) {
        let simple = simplify(netlist, &AtomicBool::new(false)).unwrap();
        let outputs = |netlist: &Netlist, fluents: &[bool], does: &[bool]| -> Vec<bool> {
            let values = netlist.evaluate(fluents, does);
            netlist.outputs.lits().map(|lit| lit.of(&values)).collect()
        };
        let mut fluents = netlist.initial.clone();
        loop {
            let mut does = vec![false; netlist.moves()];
            let values = netlist.evaluate(&fluents, &does);
            let state = |values: Vec<bool>| values[netlist.fluents()..].to_vec();
            assert_eq!(state(outputs(&simple, &fluents, &does)), state(outputs(netlist, &fluents, &does)));
            if netlist.outputs.terminal.of(&values) {
                break;
            }
            for range in &netlist.roles {
                let legal: Vec<usize> = range.clone().filter(|&mv| netlist.outputs.legal[mv].of(&values)).collect();
                does[legal[rng.random_range(0..legal.len())]] = true;
            }
            assert_eq!(outputs(&simple, &fluents, &does), outputs(netlist, &fluents, &does));
            let values = netlist.evaluate(&fluents, &does);
            fluents = netlist.outputs.next.iter().map(|lit| lit.of(&values)).collect();
        }
    }

    /// Returns a game of two roles that mark nine cells in turn; cells keep
    /// their marks. `wait` is the condition for waiting, `pass` has the rules
    /// for control.
    fn marks(wait: &str, pass: &str) -> Network {
        let cells: String = (1..10).map(|cell| format!("(cell {cell}) (init (holds {cell} b)) ")).collect();
        let rules = format!(
            "(role x) (role o) (init (control x)) {cells}
             (<= (legal ?r (mark ?c)) (true (control ?r)) (true (holds ?c b)))
             (<= (legal ?r wait) (role ?r) {wait})
             (<= (next (holds ?c ?r)) (does ?r (mark ?c)))
             (<= (next (holds ?c ?v)) (true (holds ?c ?v)) (does ?r (mark ?d)) (distinct ?c ?d))
             {pass}
             (<= open (true (holds ?c b)))
             (<= terminal (not open))
             (<= (goal ?r 100) (true (holds 5 ?r)))
             (<= (goal ?r 0) (role ?r) (not (true (holds 5 ?r))))"
        );
        Network::plain_within(&Rules::parse(&rules).unwrap(), 2 << 30, &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn random_play_is_the_same() {
        let mut rng = Rng::seed_from_u64(1);
        for network in games() {
            (0..5).for_each(|_| agree(&network.netlist, &mut rng));
        }
        for _ in 0..200 {
            let sizes = Sizes {
                roles: rng.random_range(1..4),
                moves: rng.random_range(1..9),
                fluents: rng.random_range(1..10),
                gates: rng.random_range(1..100),
                steps: 12,
            };
            agree(&random_network(&mut rng, sizes).netlist, &mut rng);
        }
    }

    #[test]
    fn simplification_stops() {
        let network = marks("(not (true (control ?r)))", "");
        assert_eq!(simplify(&network.netlist, &AtomicBool::new(true)), Err(GroundError::Stopped));
    }

    #[test]
    fn unchanged_fluents_do_not_read_control() {
        let (other, not) = ("(true (control ?s)) (role ?s) (distinct ?r ?s)", "(not (true (control ?r)))");
        let stuck = "(or (not (true (control ?r))) (not open))";
        let swap = "(<= (next (control x)) (true (control o))) (<= (next (control o)) (true (control x)))";
        let waited = "(<= (next (control ?r)) (does ?r wait))";
        let mut rng = Rng::seed_from_u64(2);
        for (wait, pass) in [(other, swap), (not, swap), (not, waited), (other, waited), (stuck, swap)] {
            let network = marks(wait, pass);
            (0..10).for_each(|_| agree(&network.netlist, &mut rng));
            let simple = simplify(&network.netlist, &AtomicBool::new(false)).unwrap();
            // A cell depends on itself, on the two moves that mark it, and on
            // whether a role has no move.
            let literals: usize = simple.gates().map(<[Lit]>::len).sum();
            let most = if wait == stuck { 240 } else { 165 };
            assert!(literals < most, "{literals} literals with {wait}");
        }
    }

    #[test]
    fn a_literal_that_stops_holding_is_not_a_control() {
        // After the first step no role is in control, and both wait.
        let lost = marks("(not (true (control ?r)))", "(<= (next (ended)) (role x))");
        let mut netlist = lost.netlist.clone();
        let ended = lost.fluents.iter().position(|name| name.starts_with("(ended") || name == "ended").unwrap();
        netlist.outputs.terminal = Lit::new(1 + ended, false);
        agree(&netlist, &mut Rng::seed_from_u64(3));
    }
}
