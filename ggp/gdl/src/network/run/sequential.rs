//! Evaluation of a netlist one state at a time. Only changes are computed.

use std::ops::Range;

use rand::RngExt;
use sternhalma_game::Rng;
use sternhalma_game::util::{FluentSet, Lit, bits, nth_bit};

use super::NetworkState;
use super::cone::GoalCone;
use crate::Goal;
use crate::network::Netlist;
use crate::network::build::conditions;

/// An engine that steps a netlist.
///
/// Every gate counts its false literals and has a *slot* with one bit. The bit
/// is flipped whenever the value of the gate changes. The meaning of the bit
/// depends on the position of the slot:
///
/// * Inner gates come first, in topological order. The bit of an inner gate
///   means that the change has not been propagated to the gates that read it.
/// * One gate per fluent follows, whose bit means that the fluent has another
///   value in the next state.
/// * One gate per move follows, whose bit means that the move is legal if its
///   condition holds.
/// * The bit of the last gate means that the match is over.
///
/// The bits of inner gates are processed in order, so each gate propagates at
/// most one change per step. Gates that only goals need are not included; they
/// are evaluated on request.
#[derive(Debug)]
pub struct SequentialEngine {
    /// The start of the edges of each source, and the end of the last. Sources
    /// are the fluents, the moves and the inner gates.
    starts: Vec<u32>,
    /// The slots that read each source, times two, plus one if inverted.
    edges: Vec<u32>,
    layout: SlotLayout,
    roles: Vec<RoleGroups>,
    /// The goals of each role.
    goals: GoalCone,
    initial: NetworkState,
}

/// The layout of the slots. Each part starts with its own word.
#[derive(Clone, Debug)]
struct SlotLayout {
    fluents: usize,
    moves: usize,
    /// The words of inner gates.
    inner: Range<usize>,
    /// The first word with an inner gate that depends on moves.
    first_moving: usize,
    /// The words of next values.
    next: Range<usize>,
    terminal: usize,
    slots: usize,
}

/// The moves of a role in groups; the moves of a group are legal if its
/// condition holds.
#[derive(Debug)]
struct RoleGroups {
    groups: Vec<MoveGroup>,
}

#[derive(Debug)]
struct MoveGroup {
    condition: Lit,
    /// The slot of the condition, if it is a gate.
    slot: Option<u32>,
    /// The words with one bit per move.
    words: Range<usize>,
    /// The move of each bit.
    moves: Vec<u32>,
}

impl SequentialEngine {
    /// Creates the engine of a netlist.
    pub fn new(netlist: &Netlist) -> SequentialEngine {
        let (netlist, conditions) = conditions(netlist);
        SlotBuilder::new(&netlist, conditions).build()
    }

    /// Returns the number of gates that are kept up to date.
    pub fn gates(&self) -> usize {
        self.starts.len() - 1 - self.layout.fluents - self.layout.moves
    }

    /// Returns the initial state.
    pub fn initial(&self) -> &NetworkState {
        &self.initial
    }

    /// Returns the state in which exactly these fluents hold.
    pub fn state(&self, fluents: &FluentSet) -> NetworkState {
        let mut state = self.initial.clone();
        for ((flips, &these), &those) in
            state.flips.words_mut().iter_mut().zip(state.fluents.words()).zip(fluents.words())
        {
            *flips = these ^ those;
        }
        let next = &mut state.bits[self.layout.next.clone()];
        next.iter_mut().zip(state.flips.words()).for_each(|(next, flips)| *next ^= flips);
        self.flip_fluents(&mut state);
        self.settle(&mut state, self.layout.inner.start);
        state
    }

    /// Plays one move of every role.
    #[inline]
    pub fn step(&self, state: &mut NetworkState, joint: &[u32]) {
        for &mv in joint {
            self.propagate(state, self.layout.fluents + mv as usize, true);
        }
        self.settle(state, self.layout.first_moving);
        // A fluent that changes in this step must not change again.
        state.bits[self.layout.next.clone()].swap_with_slice(state.flips.words_mut());
        self.flip_fluents(state);
        for &mv in joint {
            self.propagate(state, self.layout.fluents + mv as usize, false);
        }
        self.settle(state, self.layout.inner.start);
    }

    /// Calls `visit` with each fluent that a move of every role would change. The state is the same
    /// afterwards. This takes a fraction of the time of [`step`](SequentialEngine::step), because
    /// nothing that follows from the changed fluents is computed.
    pub(in crate::network) fn changes(&self, state: &mut NetworkState, joint: &[usize], mut visit: impl FnMut(usize)) {
        self.set_moves(state, joint, true);
        for (word, &flips) in state.bits[self.layout.next.clone()].iter().enumerate() {
            bits(flips).for_each(|bit| visit(64 * word + bit));
        }
        self.set_moves(state, joint, false);
    }

    /// Makes moves take place, or not, in the gates that depend on moves.
    fn set_moves(&self, state: &mut NetworkState, joint: &[usize], holds: bool) {
        for &mv in joint {
            self.propagate(state, self.layout.fluents + mv, holds);
        }
        self.settle(state, self.layout.first_moving);
    }

    /// Changes the marked fluents.
    fn flip_fluents(&self, state: &mut NetworkState) {
        for word in 0..state.flips.words().len() {
            let flips = std::mem::take(&mut state.flips.words_mut()[word]);
            let values = state.fluents.words()[word] ^ flips;
            state.fluents.words_mut()[word] = values;
            for bit in bits(flips) {
                self.propagate(state, 64 * word + bit, values >> bit & 1 == 1);
            }
        }
    }

    /// Propagates the changes of inner gates, starting with a word.
    #[inline]
    fn settle(&self, state: &mut NetworkState, first: usize) {
        for word in first..self.layout.inner.end {
            while state.bits[word] != 0 {
                let bits = state.bits[word];
                state.bits[word] = bits & (bits - 1);
                let slot = 64 * word + bits.trailing_zeros() as usize;
                let holds = state.holds(slot);
                self.propagate(state, self.layout.fluents + self.layout.moves + slot, holds);
            }
        }
    }

    /// Updates the gates that read a source with its new value.
    #[inline]
    fn propagate(&self, state: &mut NetworkState, source: usize, holds: bool) {
        let edges = &self.edges[self.starts[source] as usize..self.starts[source + 1] as usize];
        let (counters, bits) = (&mut state.counters[..], &mut state.bits[..]);
        for &edge in edges {
            let slot = (edge >> 1) as usize;
            let now_holds = (edge ^ u32::from(holds)) & 1;
            let before = counters[slot];
            let after = before + 1 - 2 * now_holds as i16;
            counters[slot] = after;
            // The sign is the value of the gate. A branch would be
            // mispredicted often.
            bits[slot / 64] ^= u64::from((before ^ after) < 0) << (slot % 64);
        }
    }

    /// Returns whether the match is over by the rules.
    #[inline]
    pub fn is_terminal(&self, state: &NetworkState) -> bool {
        state.bits[self.layout.terminal] & 1 == 1
    }

    /// Returns whether a state is terminal by the rules or a role has no legal
    /// move.
    #[inline]
    pub fn is_over(&self, state: &NetworkState) -> bool {
        self.is_terminal(state) || !(0..self.roles.len()).all(|role| self.can_move(state, role))
    }

    /// Plays uniformly random moves until a state is terminal, `most` steps
    /// were played, or a role has no legal move. Calls `visit` with every
    /// state from the first to the last. Returns the number of steps.
    pub fn play_random(
        &self,
        state: &mut NetworkState,
        most: usize,
        rng: &mut Rng,
        mut visit: impl FnMut(&NetworkState),
    ) -> usize {
        let mut joint = std::mem::take(&mut state.joint);
        let mut steps = 0;
        visit(state);
        while steps < most && !self.is_terminal(state) {
            joint.clear();
            joint.extend((0..self.roles.len()).map_while(|role| self.random_legal(state, role, rng)));
            if joint.len() < self.roles.len() {
                break;
            }
            self.step(state, &joint);
            steps += 1;
            visit(state);
        }
        joint.clear();
        state.joint = joint;
        steps
    }

    /// Returns the number of legal moves of a role.
    #[inline]
    pub fn count_legal(&self, state: &NetworkState, role: usize) -> usize {
        self.open_words(state, role).map(|(_, _, word)| word.count_ones() as usize).sum()
    }

    /// Returns whether a role has a legal move.
    #[inline]
    pub fn can_move(&self, state: &NetworkState, role: usize) -> bool {
        self.open_words(state, role).any(|(_, _, word)| word != 0)
    }

    /// Returns the legal move of a role with a given index.
    ///
    /// # Panics
    ///
    /// Panics if the role has no more than `index` legal moves.
    #[inline]
    pub fn nth_legal(&self, state: &NetworkState, role: usize, mut index: usize) -> u32 {
        for (group, first, word) in self.open_words(state, role) {
            let count = word.count_ones() as usize;
            if index < count {
                return group.moves[first + nth_bit(word, index)];
            }
            index -= count;
        }
        panic!("the role has no legal move of that number");
    }

    /// Returns the legal moves of a role, always in the same order.
    pub fn legal<'a>(&'a self, state: &'a NetworkState, role: usize) -> impl Iterator<Item = u32> + 'a {
        self.open_words(state, role)
            .flat_map(|(group, first, word)| bits(word).map(move |bit| group.moves[first + bit]))
    }

    /// Returns all moves of a role, in the order of
    /// [`legal`](SequentialEngine::legal).
    pub(in crate::network) fn order(&self, role: usize) -> impl Iterator<Item = u32> {
        self.roles[role].groups.iter().flat_map(|group| group.moves.iter().copied())
    }

    /// Returns a uniformly random legal move of a role.
    #[inline]
    pub fn random_legal(&self, state: &NetworkState, role: usize, rng: &mut Rng) -> Option<u32> {
        match self.count_legal(state, role) {
            0 => None,
            1 => Some(self.nth_legal(state, role, 0)),
            count => Some(self.nth_legal(state, role, rng.random_range(0..count))),
        }
    }

    /// Returns the words of the legal moves of a role, each with its group and
    /// the number of its first bit in the group.
    #[inline]
    fn open_words<'a>(
        &'a self,
        state: &'a NetworkState,
        role: usize,
    ) -> impl Iterator<Item = (&'a MoveGroup, usize, u64)> {
        let groups = self.roles[role].groups.iter().filter(|group| group.is_open(state));
        groups.flat_map(|group| {
            let words = state.bits[group.words.clone()].iter().enumerate();
            words.map(move |(index, &word)| (group, 64 * index, word))
        })
    }

    /// Returns the goal of each role.
    pub fn goals(&self, state: &NetworkState) -> impl Iterator<Item = Goal> {
        self.goals.goals(state)
    }
}

impl MoveGroup {
    /// Returns whether the condition holds.
    #[inline]
    fn is_open(&self, state: &NetworkState) -> bool {
        let lit = self.condition;
        let node_holds = match self.slot {
            Some(slot) => state.holds(slot as usize),
            None => !lit.is_constant() && state.fluents.contains(lit.node() - 1),
        };
        node_holds ^ lit.is_inverted()
    }
}

/// A builder that lays out the slots of a netlist.
struct SlotBuilder<'a> {
    netlist: &'a Netlist,
    gates: Vec<&'a [Lit]>,
    conditions: Vec<Lit>,
    initial: Vec<bool>,
    /// The slot of each gate that has one.
    slots: Vec<Option<u32>>,
    /// The literals of each slot.
    lits: Vec<Vec<Lit>>,
}

impl<'a> SlotBuilder<'a> {
    fn new(netlist: &'a Netlist, conditions: Vec<Lit>) -> SlotBuilder<'a> {
        let gates: Vec<&[Lit]> = netlist.gates().collect();
        let initial = netlist.evaluate(&netlist.initial, &vec![false; netlist.moves()]);
        let slots = vec![None; gates.len()];
        SlotBuilder { netlist, gates, conditions, initial, slots, lits: Vec::new() }
    }

    /// Returns the number of a gate, or `None` if the node is not a gate.
    fn gate(&self, node: usize) -> Option<usize> {
        node.checked_sub(self.netlist.first_gate())
    }

    fn build(mut self) -> SequentialEngine {
        let netlist = self.netlist;
        let outputs = &netlist.outputs;
        let (fluents, moves) = (netlist.fluents(), netlist.moves());
        let inner = self.inner_gates();
        let moving = self.depend_on_moves();
        for wanted in [false, true] {
            for gate in (0..self.gates.len()).filter(|&gate| inner[gate] && moving[gate] == wanted) {
                self.slots[gate] = Some(self.lits.len() as u32);
                self.lits.push(self.gates[gate].to_vec());
            }
        }
        let count = self.lits.len();
        let first_moving = (0..self.gates.len()).filter(|&gate| inner[gate] && !moving[gate]).count() / 64;
        self.align();
        let mut bits = vec![0; self.lits.len() / 64];
        let next = self.output_slots(&outputs.next, &mut bits);
        // The bit of a next value means that it differs from the current
        // value.
        for (word, held) in bits[next.clone()].iter_mut().zip(FluentSet::of(&netlist.initial).words()) {
            *word ^= held;
        }
        let roles: Vec<RoleGroups> =
            netlist.roles.iter().map(|range| self.role_moves(range.clone(), &mut bits)).collect();
        let terminal = self.output_slots(&[outputs.terminal], &mut bits).start;

        let layout = SlotLayout {
            fluents,
            moves,
            inner: 0..count.div_ceil(64),
            first_moving,
            next,
            terminal,
            slots: self.lits.len(),
        };
        let (starts, edges) = self.edges(count);
        let goals = GoalCone::new(&outputs.goals, netlist, |gate| self.slots[gate]);
        let initial = NetworkState {
            fluents: FluentSet::of(&netlist.initial),
            counters: self.lits.iter().map(|lits| self.unsatisfied(lits) as i16 - 1).collect(),
            bits,
            flips: FluentSet::new(fluents),
            joint: Vec::new(),
        };
        debug_assert_eq!(initial.counters.len(), layout.slots);
        SequentialEngine { starts, edges, layout, roles, goals, initial }
    }

    /// Returns the number of literals that are false in the initial state.
    fn unsatisfied(&self, lits: &[Lit]) -> usize {
        lits.iter().filter(|lit| !lit.of(&self.initial)).count()
    }

    /// Returns which gates are read by other gates that not only goals need,
    /// or by several outputs.
    fn inner_gates(&self) -> Vec<bool> {
        let outputs = &self.netlist.outputs;
        // 0 means unused, 1 means used by one output, 2 means any other use.
        let mut uses = vec![0u8; self.gates.len()];
        for lit in outputs.next.iter().chain(&outputs.legal).chain([&outputs.terminal]) {
            if let Some(gate) = self.gate(lit.node()) {
                uses[gate] = 2.min(uses[gate] + 1);
            }
        }
        for gate in self.conditions.iter().filter_map(|lit| self.gate(lit.node())) {
            uses[gate] = 2;
        }
        for gate in (0..self.gates.len()).rev() {
            if uses[gate] > 0 {
                for part in self.gates[gate].iter().filter_map(|lit| self.gate(lit.node())) {
                    uses[part] = 2;
                }
            }
        }
        uses.into_iter().map(|uses| uses == 2).collect()
    }

    fn depend_on_moves(&self) -> Vec<bool> {
        let mut depend = vec![false; self.netlist.first_gate()];
        depend[self.netlist.move_node(0)..].fill(true);
        for gate in &self.gates {
            depend.push(gate.iter().any(|lit| depend[lit.node()]));
        }
        depend.split_off(self.netlist.first_gate())
    }

    /// Starts a new word.
    fn align(&mut self) {
        self.lits.resize(self.lits.len().next_multiple_of(64), vec![Lit::FALSE]);
    }

    /// Assigns slots to outputs, with their initial values as bits. A gate
    /// that only this output reads uses the slot itself.
    fn output_slots(&mut self, lits: &[Lit], bits: &mut Vec<u64>) -> Range<usize> {
        let first = bits.len();
        for &lit in lits {
            let slot = self.lits.len() as u32;
            match self.gate(lit.node()).filter(|&gate| self.slots[gate].is_none()) {
                Some(gate) => {
                    self.slots[gate] = Some(slot);
                    self.lits.push(self.gates[gate].to_vec());
                }
                None => self.lits.push(vec![lit]),
            }
        }
        self.align();
        let values: Vec<bool> = lits.iter().map(|lit| lit.of(&self.initial)).collect();
        bits.extend_from_slice(FluentSet::of(&values).words());
        first..bits.len()
    }

    /// Groups the moves of a role by their conditions.
    fn role_moves(&mut self, range: Range<usize>, bits: &mut Vec<u64>) -> RoleGroups {
        let mut known: Vec<Lit> = range.clone().map(|mv| self.conditions[mv]).collect();
        known.sort_unstable();
        known.dedup();
        let mut groups = Vec::new();
        for condition in known {
            let moves: Vec<usize> = range.clone().filter(|&mv| self.conditions[mv] == condition).collect();
            let lits: Vec<Lit> = moves.iter().map(|&mv| self.netlist.outputs.legal[mv]).collect();
            let words = self.output_slots(&lits, bits);
            let slot = self.gate(condition.node()).and_then(|gate| self.slots[gate]);
            groups.push(MoveGroup { condition, slot, words, moves: moves.into_iter().map(|mv| mv as u32).collect() });
        }
        RoleGroups { groups }
    }

    /// Returns the edges of all sources in compressed rows. True constants are
    /// omitted from conjunctions; a conjunction with a false constant never
    /// holds.
    fn edges(&self, inner: usize) -> (Vec<u32>, Vec<u32>) {
        let first_gate = self.netlist.first_gate();
        let source = |lit: Lit| match self.gate(lit.node()) {
            None => lit.node() - 1,
            Some(gate) => first_gate - 1 + self.slots[gate].expect("a gate that is needed has a slot") as usize,
        };
        let pairs = || {
            let lits = self.lits.iter().enumerate().flat_map(|(slot, lits)| lits.iter().map(move |&lit| (slot, lit)));
            lits.filter(|(_, lit)| !lit.is_constant())
        };
        let mut starts = vec![0u32; first_gate + inner];
        pairs().for_each(|(_, lit)| starts[source(lit) + 1] += 1);
        for source in 1..starts.len() {
            starts[source] += starts[source - 1];
        }
        let mut ends = starts.clone();
        let mut edges = vec![0; starts[starts.len() - 1] as usize];
        for (slot, lit) in pairs() {
            let end = &mut ends[source(lit)];
            edges[*end as usize] = (slot as u32) << 1 | u32::from(lit.is_inverted());
            *end += 1;
        }
        (starts, edges)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::network::Network;
    use crate::network::testing::{Sizes, games, random_network};

    /// Returns the state after a joint move, by definition.
    fn next(netlist: &Netlist, fluents: &[bool], joint: &[u32]) -> Vec<bool> {
        let mut does = vec![false; netlist.moves()];
        joint.iter().for_each(|&mv| does[mv as usize] = true);
        let values = netlist.evaluate(fluents, &does);
        netlist.outputs.next.iter().map(|lit| lit.of(&values)).collect()
    }

    /// Compares a state with the definition, and with the state that is made
    /// from its fluents alone.
    fn agree(engine: &SequentialEngine, netlist: &Netlist, state: &NetworkState, fluents: &[bool]) {
        let set = FluentSet::of(fluents);
        assert_eq!(state.fluents(), &set);
        let mut from_here = netlist.clone();
        from_here.initial = fluents.to_vec();
        assert_eq!(SequentialEngine::new(&from_here).initial(), state);
        assert_eq!(&engine.state(&set), state);
        let values = netlist.evaluate(fluents, &vec![false; netlist.moves()]);
        assert_eq!(engine.is_terminal(state), netlist.outputs.terminal.of(&values));
        for (role, range) in netlist.roles.iter().enumerate() {
            let in_order: Vec<u32> = engine.legal(state, role).collect();
            let mut sorted = in_order.clone();
            sorted.sort_unstable();
            let legal: Vec<u32> =
                range.clone().filter(|&mv| netlist.outputs.legal[mv].of(&values)).map(|mv| mv as u32).collect();
            assert_eq!(sorted, legal);
            assert_eq!(engine.count_legal(state, role), legal.len());
            assert_eq!(engine.can_move(state, role), !legal.is_empty());
            assert!((0..legal.len()).all(|index| engine.nth_legal(state, role, index) == in_order[index]));
            let goals = netlist.outputs.goals[role].iter().filter(|(_, lit)| lit.of(&values));
            let goals: Vec<u8> = goals.map(|&(goal, _)| goal).collect();
            let goal = match goals[..] {
                [] => Goal::None,
                [goal] => Goal::Value(goal),
                _ => Goal::Several,
            };
            assert_eq!(engine.goals(state).nth(role), Some(goal));
        }
    }

    /// Plays a random match and compares every state.
    fn compare(network: &Network, rng: &mut Rng) {
        let netlist = &network.netlist;
        let engine = SequentialEngine::new(netlist);
        let mut state = engine.initial().clone();
        let mut fluents = netlist.initial.clone();
        loop {
            agree(&engine, netlist, &state, &fluents);
            if engine.is_terminal(&state) {
                break;
            }
            let roles = 0..netlist.roles.len();
            let joint: Option<Vec<u32>> = roles.map(|role| engine.random_legal(&state, role, rng)).collect();
            let joint = joint.expect("each role has a legal move");
            let before = state.clone();
            let mut changed = vec![false; fluents.len()];
            let moves: Vec<usize> = joint.iter().map(|&mv| mv as usize).collect();
            engine.changes(&mut state, &moves, |fluent| changed[fluent] = !changed[fluent]);
            assert_eq!(state, before);
            let after = next(netlist, &fluents, &joint);
            assert!(changed.iter().zip(fluents.iter().zip(&after)).all(|(&changed, (a, b))| changed == (a != b)));
            engine.step(&mut state, &joint);
            agree(&engine, netlist, &before, &fluents);
            fluents = next(netlist, &fluents, &joint);
        }
    }

    #[test]
    fn games_are_stepped_as_defined() {
        let mut rng = Rng::seed_from_u64(1);
        for network in games() {
            for _ in 0..5 {
                compare(&network, &mut rng);
            }
        }
    }

    #[test]
    fn random_networks_are_stepped_as_defined() {
        let mut rng = Rng::seed_from_u64(2);
        for _ in 0..300 {
            let sizes = Sizes {
                roles: rng.random_range(1..4),
                moves: rng.random_range(1..9),
                fluents: rng.random_range(1..80),
                gates: rng.random_range(1..200),
                steps: 12,
            };
            let network = random_network(&mut rng, sizes);
            compare(&network, &mut rng);
        }
    }
}
