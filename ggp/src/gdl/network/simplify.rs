//! Circuits made smaller without changing what they say of any state that a
//! match can reach.

use std::ops::Range;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rustc_hash::FxBuildHasher;

use super::netlist::{Gates, Lit, Netlist};

/// Rounds of rewriting; most circuits settle after two.
const ROUNDS: usize = 4;

/// A smaller circuit for the same game: fluents and moves keep their
/// numbers. It may differ in states that no match reaches, and for joint
/// moves that are not one legal move a role.
pub fn simplify(mut netlist: Netlist) -> Netlist {
    let known = constants(&netlist);
    for _ in 0..ROUNDS {
        let before = size(&netlist);
        netlist = Rewrite::new(&netlist, &known).run();
        if size(&netlist) == before {
            break;
        }
    }
    netlist
}

fn size(netlist: &Netlist) -> (usize, usize) {
    (netlist.gates().len(), netlist.gates().map(<[Lit]>::len).sum())
}

/// The inputs that have the same value in all states of all matches, by
/// evaluation with an unknown third value: from the initial state, whatever
/// the roles do, until nothing new can be. Linear in the literals, as each
/// node becomes possibly false and possibly true once at most.
fn constants(netlist: &Netlist) -> Vec<Option<bool>> {
    let mut possible = Possible::new(netlist);
    possible.node(0, false);
    for (fluent, &holds) in netlist.initial.iter().enumerate() {
        possible.node(netlist.fluent_node(fluent), holds);
    }
    for mv in 0..netlist.moves() {
        possible.node(netlist.move_node(mv), false);
    }
    possible.spread();
    let value = |can: &[bool; 2]| match can {
        [true, false] => Some(false),
        [false, true] => Some(true),
        _ => None,
    };
    possible.can[..netlist.first_gate()].iter().map(value).collect()
}

struct Possible {
    first_gate: usize,
    /// Whether each node can be false, and true.
    can: Vec<[bool; 2]>,
    /// How many literals of each gate cannot be true as far as is known.
    missing: Vec<usize>,
    /// Of each node, the gates that have it, and whether inverted.
    readers: Vec<Vec<(u32, bool)>>,
    /// Of each node, the inputs whose value follows from it: fluents from
    /// what is next, and moves, which are possible if legal.
    inputs: Vec<Vec<(u32, bool)>>,
    is_move: Range<usize>,
    open: Vec<(usize, bool)>,
}

impl Possible {
    fn new(netlist: &Netlist) -> Possible {
        let mut readers = vec![Vec::new(); netlist.nodes()];
        let mut missing = Vec::new();
        for (index, gate) in netlist.gates().enumerate() {
            missing.push(gate.len());
            gate.iter().for_each(|lit| readers[lit.node()].push((index as u32, lit.is_inverted())));
        }
        let mut inputs = vec![Vec::new(); netlist.nodes()];
        let next = netlist.outputs.next.iter().enumerate().map(|(fluent, lit)| (netlist.fluent_node(fluent), lit));
        let legal = netlist.outputs.legal.iter().enumerate().map(|(mv, lit)| (netlist.move_node(mv), lit));
        next.chain(legal).for_each(|(node, lit)| inputs[lit.node()].push((node as u32, lit.is_inverted())));
        Possible {
            first_gate: netlist.first_gate(),
            can: vec![[false; 2]; netlist.nodes()],
            missing,
            readers,
            inputs,
            is_move: netlist.move_node(0)..netlist.first_gate(),
            open: Vec::new(),
        }
    }

    fn node(&mut self, node: usize, value: bool) {
        if !std::mem::replace(&mut self.can[node][usize::from(value)], true) {
            self.open.push((node, value));
        }
    }

    fn spread(&mut self) {
        while let Some((node, value)) = self.open.pop() {
            for place in 0..self.readers[node].len() {
                let (gate, inverted) = self.readers[node][place];
                let gate = gate as usize;
                if value == inverted {
                    self.node(self.first_gate + gate, false);
                } else {
                    self.missing[gate] -= 1;
                    if self.missing[gate] == 0 {
                        self.node(self.first_gate + gate, true);
                    }
                }
            }
            for place in 0..self.inputs[node].len() {
                let (input, inverted) = self.inputs[node][place];
                if value != inverted || !self.is_move.contains(&(input as usize)) {
                    self.node(input as usize, value != inverted);
                }
            }
        }
    }
}

/// A set of moves of one role, as bits.
type Moves = Box<[u64]>;

/// One pass over all gates.
struct Rewrite<'a> {
    old: &'a Netlist,
    gates: Gates,
    /// The new literal of each old node.
    new: Vec<Lit>,
    /// The moves each role may ever play.
    playable: Vec<Moves>,
    /// New nodes that say no more than that a role plays one of some moves.
    choices: HashMap<usize, (usize, Moves), FxBuildHasher>,
    /// Of each move, what is implied by its being played.
    implied: Vec<Vec<Lit>>,
    uses: Vec<u32>,
}

impl<'a> Rewrite<'a> {
    fn new(old: &'a Netlist, known: &[Option<bool>]) -> Rewrite<'a> {
        let gates = Gates::new(old.fluents(), old.moves());
        let constant = |value: bool| if value { Lit::TRUE } else { Lit::FALSE };
        let new = known.iter().enumerate().map(|(node, value)| value.map_or(Lit::new(node, false), constant)).collect();
        let mut playable = Vec::new();
        let mut choices = HashMap::default();
        for (role, range) in old.roles.iter().enumerate() {
            let is_playable = |mv: &usize| known[old.move_node(*mv)] != Some(false);
            let all = moves(range, range.clone().filter(is_playable));
            for mv in range.clone().filter(is_playable) {
                choices.insert(old.move_node(mv), (role, moves(range, [mv])));
            }
            playable.push(all);
        }
        let mut uses = vec![0; old.nodes()];
        old.gates().flatten().for_each(|lit| uses[lit.node()] += 1);
        old.outputs.lits().for_each(|lit| uses[lit.node()] += 1);
        Rewrite { old, gates, new, playable, choices, implied: vec![Vec::new(); old.moves()], uses }
    }

    fn run(mut self) -> Netlist {
        let old = self.old;
        // What says that a move is legal comes first: playing it implies that.
        let mut is_state = vec![true; old.first_gate()];
        (0..old.moves()).for_each(|mv| is_state[old.move_node(mv)] = false);
        for gate in old.gates() {
            is_state.push(gate.iter().all(|lit| is_state[lit.node()]));
        }
        self.new.resize(old.nodes(), Lit::FALSE);
        for of_state in [true, false] {
            for (index, gate) in old.gates().enumerate() {
                let node = old.first_gate() + index;
                if is_state[node] == of_state {
                    self.new[node] = self.rewrite(gate);
                }
            }
            if of_state {
                for mv in 0..old.moves() {
                    self.implied[mv] = self.conjuncts(self.moved(old.outputs.legal[mv]));
                }
            }
        }
        let mut outputs = old.outputs.clone();
        outputs.replace(|lit| self.moved(lit));
        self.gates.finish(old.initial.clone(), old.roles.clone(), outputs)
    }

    /// The new literal of an old one.
    fn moved(&self, lit: Lit) -> Lit {
        let new = self.new[lit.node()];
        if lit.is_inverted() { !new } else { new }
    }

    /// The new literals that a conjunction of one new literal says.
    fn conjuncts(&self, lit: Lit) -> Vec<Lit> {
        let mut all = vec![lit];
        let mut at = 0;
        while at < all.len() && all.len() < 64 {
            if let Some(gate) = self.gates.of(all[at]).filter(|_| !all[at].is_inverted()) {
                all.extend_from_slice(gate);
            }
            at += 1;
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    fn rewrite(&mut self, gate: &[Lit]) -> Lit {
        let mut lits: Vec<Lit> = Vec::with_capacity(gate.len());
        for &lit in gate {
            let new = self.moved(lit);
            // A conjunction that nothing else needs becomes part of this one,
            // and so does one of choices, to be joined with others.
            match self.gates.of(new).filter(|_| !new.is_inverted() && !self.choices.contains_key(&new.node())) {
                Some(inner) if self.uses[lit.node()] == 1 || self.are_choices(inner) => lits.extend_from_slice(inner),
                _ => lits.push(new),
            }
        }
        self.join_terms(&mut lits);
        let implied = self.join_choices(&mut lits);
        if implied.contains(&Lit::FALSE) {
            return Lit::FALSE;
        }
        lits.sort_unstable();
        lits.dedup();
        self.absorb(&mut lits, &implied);
        self.gates.and(lits)
    }

    /// In a disjunction, joins the terms that differ in nothing but the moves
    /// that roles play: a & (one of these moves) | a & (one of those) is
    /// a & (one of all).
    fn join_terms(&mut self, lits: &mut Vec<Lit>) {
        let mut joined: Vec<Term> = Vec::new();
        let mut places: HashMap<Vec<Lit>, usize, FxBuildHasher> = HashMap::default();
        lits.retain(|&lit| {
            let Some(mut term) = self.term(lit) else { return true };
            match places.entry(std::mem::take(&mut term.rest)) {
                Entry::Occupied(place) => joined[*place.get()].join(&term),
                Entry::Vacant(place) => {
                    term.rest = place.key().clone();
                    joined.push(term);
                    place.insert(joined.len() - 1);
                }
            }
            false
        });
        for term in joined {
            let lit = if let Some(lit) = term.alone {
                lit
            } else {
                let choices: Vec<Lit> = term.sets.iter().map(|(role, set)| self.choice(*role, set)).collect();
                let sum = self.gates.or(choices);
                !self.gates.and(term.rest.into_iter().chain([sum]))
            };
            lits.push(lit);
        }
    }

    /// An inverted conjunction as a sum of choices and other literals, if it
    /// is one.
    fn term(&self, lit: Lit) -> Option<Term> {
        if !lit.is_inverted() || self.choices.contains_key(&lit.node()) {
            return None;
        }
        let gate = self.gates.of(lit)?;
        let mut sums = gate.iter().filter_map(|&lit| Some((lit, self.sum(lit)?)));
        let (Some((sum, sets)), None) = (sums.next(), sums.next()) else { return None };
        let rest = gate.iter().copied().filter(|&lit| lit != sum).collect();
        Some(Term { rest, sets, alone: Some(lit) })
    }

    /// The moves of each role of which one is to be played, if that is what a
    /// literal says.
    fn sum(&self, lit: Lit) -> Option<Vec<(usize, Moves)>> {
        let set = |lit: Lit| {
            let (role, set) = self.choices.get(&lit.node())?;
            let words = self.playable[*role].iter().zip(set);
            Some((*role, words.map(|(all, set)| if lit.is_inverted() { all & !set } else { *set }).collect()))
        };
        if self.choices.contains_key(&lit.node()) {
            return set(lit).map(|set| vec![set]);
        }
        let gate = self.gates.of(lit).filter(|_| lit.is_inverted())?;
        gate.iter().map(|&lit| set(!lit)).collect()
    }

    fn are_choices(&self, gate: &[Lit]) -> bool {
        gate.iter().all(|lit| self.choices.contains_key(&lit.node()))
    }

    /// Puts one literal in the place of all that say which move a role
    /// plays; returns what the choice implies of the state.
    fn join_choices(&mut self, lits: &mut Vec<Lit>) -> Vec<Lit> {
        let mut implied = Vec::new();
        for role in 0..self.playable.len() {
            let mut joined: Option<Moves> = None;
            lits.retain(|lit| match self.choices.get(&lit.node()) {
                Some((other, set)) if *other == role => {
                    let all = joined.get_or_insert_with(|| self.playable[role].clone());
                    for (word, &other) in all.iter_mut().zip(set) {
                        *word &= if lit.is_inverted() { !other } else { other };
                    }
                    false
                }
                _ => true,
            });
            if let Some(set) = joined {
                let lit = self.choice(role, &set);
                lits.push(lit);
                implied.extend(self.implied_by(role, &set));
                if lit == Lit::FALSE {
                    implied.push(lit);
                }
            }
        }
        implied
    }

    /// What holds whenever a role plays one of some moves.
    fn implied_by(&self, role: usize, set: &Moves) -> Vec<Lit> {
        let mut moves = bits(set).map(|bit| self.old.roles[role].start + bit);
        let Some(first) = moves.next() else { return Vec::new() };
        let mut all = self.implied[first].clone();
        for mv in moves {
            if all.is_empty() {
                break;
            }
            all.retain(|lit| self.implied[mv].binary_search(lit).is_ok());
        }
        all
    }

    /// The literal that says that a role plays one of some moves: it plays
    /// exactly one of those it may play.
    fn choice(&mut self, role: usize, set: &Moves) -> Lit {
        let all = &self.playable[role];
        let start = self.old.roles[role].start;
        let node = |bit: usize| Lit::new(self.old.move_node(start + bit), false);
        let rest: Moves = all.iter().zip(set).map(|(all, set)| all & !set).collect();
        let few = bits(set).count() <= bits(&rest).count();
        let lit = if few { self.gates.or(bits(set).map(node)) } else { !self.gates.or(bits(&rest).map(node)) };
        if !lit.is_constant() {
            let set = if lit.is_inverted() { rest } else { set.clone() };
            // An inverted disjunction is a gate, so a node says the negation.
            self.choices.entry(lit.node()).or_insert((role, set));
        }
        lit
    }

    /// Leaves out literals that others imply, and cuts the conjunctions in
    /// inverted literals down to what is not known.
    fn absorb(&mut self, lits: &mut Vec<Lit>, implied: &[Lit]) {
        let mut known: Vec<Lit> = implied.to_vec();
        for &lit in lits.iter() {
            if !lit.is_inverted()
                && let Some(gate) = self.gates.of(lit)
            {
                known.extend_from_slice(gate);
            }
        }
        known.sort_unstable();
        lits.retain(|lit| known.binary_search(lit).is_err() || lit.is_constant());
        if lits.iter().any(|&lit| known.binary_search(&!lit).is_ok()) {
            *lits = vec![Lit::FALSE];
            return;
        }
        known.extend_from_slice(lits);
        known.sort_unstable();
        for place in lits.iter_mut() {
            let lit = *place;
            if !lit.is_inverted() || self.choices.contains_key(&lit.node()) {
                continue;
            }
            let Some(gate) = self.gates.of(lit) else { continue };
            if gate.iter().any(|&inner| known.binary_search(&!inner).is_ok()) {
                *place = Lit::TRUE;
            } else if gate.iter().any(|inner| known.binary_search(inner).is_ok()) {
                let left: Vec<Lit> = gate.iter().copied().filter(|inner| known.binary_search(inner).is_err()).collect();
                *place = !self.gates.and(left);
            }
        }
    }
}

/// Other literals and, for each role, moves of which any role plays one.
struct Term {
    rest: Vec<Lit>,
    sets: Vec<(usize, Moves)>,
    /// The literal itself as long as nothing has joined it.
    alone: Option<Lit>,
}

impl Term {
    fn join(&mut self, other: &Term) {
        self.alone = None;
        for (role, moves) in &other.sets {
            match self.sets.iter_mut().find(|(known, _)| known == role) {
                Some((_, set)) => set.iter_mut().zip(moves).for_each(|(word, more)| *word |= more),
                None => self.sets.push((*role, moves.clone())),
            }
        }
    }
}

fn moves(range: &Range<usize>, of: impl IntoIterator<Item = usize>) -> Moves {
    let mut set: Moves = vec![0; range.len().div_ceil(64)].into();
    for mv in of {
        let bit = mv - range.start;
        set[bit / 64] |= 1 << (bit % 64);
    }
    set
}

fn bits(set: &Moves) -> impl Iterator<Item = usize> {
    set.iter()
        .enumerate()
        .flat_map(|(index, &word)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * index + bit))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::super::netlist::Outputs;
    use super::super::testing::{self, Sizes};
    use super::*;
    use crate::Rng;

    /// Plays random matches in which both circuits are to say the same.
    fn agree(netlist: &Netlist, rng: &mut Rng) {
        let simple = simplify(netlist.clone());
        for _ in 0..5 {
            let mut fluents = netlist.initial.clone();
            loop {
                let mut does = vec![false; netlist.moves()];
                let values = [netlist, &simple].map(|netlist| netlist.evaluate(&fluents, &does));
                let told = |outputs: &Outputs, values: &[bool]| {
                    let goals = outputs.goals.iter().flatten().map(|(_, lit)| lit);
                    let lits = outputs.legal.iter().chain([&outputs.terminal]).chain(goals);
                    lits.map(|lit| lit.of(values)).collect::<Vec<bool>>()
                };
                let legal = told(&netlist.outputs, &values[0]);
                assert_eq!(legal, told(&simple.outputs, &values[1]));
                if netlist.outputs.terminal.of(&values[0]) {
                    break;
                }
                for range in &netlist.roles {
                    let legal: Vec<usize> = range.clone().filter(|&mv| legal[mv]).collect();
                    does[legal[rng.random_range(0..legal.len())]] = true;
                }
                let next = [netlist, &simple].map(|netlist| {
                    let values = netlist.evaluate(&fluents, &does);
                    netlist.outputs.next.iter().map(|lit| lit.of(&values)).collect::<Vec<bool>>()
                });
                assert_eq!(next[0], next[1]);
                fluents.clone_from(&next[0]);
            }
        }
    }

    #[test]
    fn matches_go_on_as_before() {
        let mut rng = Rng::seed_from_u64(7);
        for network in testing::games() {
            agree(&network.netlist, &mut rng);
        }
        for round in 0..600 {
            let sizes = Sizes { roles: 1 + round % 3, moves: 2 + round % 5, fluents: 10, gates: 60, steps: 8 };
            agree(&testing::random_network(&mut rng, sizes).netlist, &mut rng);
        }
    }

    /// Two roles, of which each may always play any of five moves; a fluent
    /// of `next` from the literals of the moves.
    fn of_moves(next: impl FnOnce(&mut Gates, &dyn Fn(usize) -> Lit) -> Lit) -> Netlist {
        let mut gates = Gates::new(1, 10);
        let next = vec![next(&mut gates, &|mv| Lit::new(2 + mv, false))];
        let outputs = Outputs { next, legal: vec![Lit::TRUE; 10], terminal: Lit::FALSE, goals: vec![vec![]; 2] };
        simplify(gates.finish(vec![false], vec![0..5, 5..10], outputs))
    }

    #[test]
    fn a_role_plays_just_one_of_its_moves() {
        // All but one are the others.
        let all_but_one = of_moves(|gates, does| gates.or((0..4).map(does)));
        assert_eq!(all_but_one.outputs.next, [!Lit::new(all_but_one.move_node(4), false)]);
        assert_eq!(of_moves(|gates, does| gates.or((0..5).map(does))).outputs.next, [Lit::TRUE]);
        assert_eq!(of_moves(|gates, does| gates.and([does(1), does(2)])).outputs.next, [Lit::FALSE]);
        // Terms that differ in the move alone are one.
        let joined = of_moves(|gates, does| {
            let fluent = Lit::new(1, false);
            let terms: Vec<Lit> = (0..10).filter(|mv| mv % 5 > 0).map(|mv| gates.and([fluent, does(mv)])).collect();
            gates.or(terms)
        });
        // The fluent never holds.
        assert_eq!(joined.outputs.next, [Lit::FALSE]);
    }

    #[test]
    fn what_can_never_change_is_constant() {
        // The second fluent holds from the start as long as the first does not.
        let mut gates = Gates::new(3, 1);
        let fluent = |index: usize| Lit::new(1 + index, false);
        let next = vec![fluent(0), gates.and([fluent(1), !fluent(0)]), !fluent(2)];
        let legal = vec![gates.and([fluent(1), fluent(2)])];
        let outputs = Outputs { next, legal, terminal: fluent(0), goals: vec![vec![(100, fluent(1))]] };
        let roles = std::iter::once(0..1).collect();
        let simple = simplify(gates.finish(vec![false, true, false], roles, outputs));
        assert_eq!(simple.outputs.next, [Lit::FALSE, Lit::TRUE, !fluent(2)]);
        assert_eq!(simple.outputs.legal, [fluent(2)]);
        assert_eq!(simple.outputs.goals, [[(100, Lit::TRUE)]]);
        assert_eq!(simple.gates().len(), 0);
    }
}
