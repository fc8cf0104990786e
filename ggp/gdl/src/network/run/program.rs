//! Netlists compiled for evaluation in all lanes.
//!
//! Values are in *slots*: slot 0 is false, then come the fluents, then the
//! moves. The remaining slots are allocated and freed as values come and go,
//! so few slots are in use and most of them are in the nearest cache. Gates
//! with the same shape are adjacent in *runs*; each run is one loop without a
//! branch.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use sternhalma_game::util::Lit;

use super::bits::Bits;
use super::gates::{GateCode, GateShape, LaneSlots, Slot, SlotNumber, WIDEST};
use crate::network::build::Netlist;

/// The number of gates within which gates are ordered by shape.
const WINDOW: usize = 256;

/// The location of a literal.
#[derive(Clone, Copy, Debug)]
pub struct SlotLit {
    slot: Slot,
    inverted: bool,
}

impl SlotLit {
    /// Returns the value in all lanes.
    #[inline]
    pub fn of(self, slots: &LaneSlots) -> Bits {
        let value = slots[self.slot];
        if self.inverted { !value } else { value }
    }
}

/// Passes the goal of a role to `set` for each of some lanes: the only value that holds, or 0. Returns the lanes in
/// which no value or several values hold.
pub fn find_goals(goals: &[(u8, SlotLit)], slots: &LaneSlots, of: Bits, mut set: impl FnMut(usize, u8)) -> Bits {
    let (mut any, mut several) = (Bits::NONE, Bits::NONE);
    for &(score, found) in goals {
        let holds = found.of(slots) & of;
        several |= any & holds;
        any |= holds;
        holds.for_each_lane(|lane| set(lane, score));
    }
    let undefined = (of & !any) | several;
    undefined.for_each_lane(|lane| set(lane, 0));
    undefined
}

/// The moves of a role, in order and in consecutive slots.
#[derive(Clone, Debug)]
pub struct RoleSlots {
    /// The moves.
    pub moves: Vec<usize>,
    /// The slot of the first move.
    pub first: Slot,
    /// Whether there is only one move, which is always legal.
    pub forced: bool,
}

impl RoleSlots {
    /// Returns the slots of the moves. The slots contain the legal moves after
    /// [`LaneProgram::legal`], and the played moves for [`LaneProgram::next`].
    pub fn slots(&self) -> Range<Slot> {
        self.first..self.first + self.moves.len() as Slot
    }
}

/// The parts of a program, in order.
const PARTS: usize = 4;
const TERMINAL: usize = 0;
const GOALS: usize = 1;
const LEGAL: usize = 2;
const NEXT: usize = 3;

/// The gates of a program, with the smallest numbers that all slots fit into.
#[derive(Clone)]
enum Code {
    Narrow(GateCode<u16, PARTS>),
    Wide(GateCode<Slot, PARTS>),
}

/// The program that evaluates a netlist. The parts of the program run in the
/// order of the methods; [`goals`](LaneProgram::goals) is optional.
#[derive(Clone)]
pub struct LaneProgram {
    code: Code,
    terminal: SlotLit,
    goals: Vec<Vec<(u8, SlotLit)>>,
    roles: Vec<RoleSlots>,
    kept: Vec<Slot>,
    slot_count: usize,
}

impl LaneProgram {
    /// Returns the slot of a fluent.
    pub fn fluent(fluent: usize) -> Slot {
        1 + fluent as Slot
    }

    /// Returns the moves of each role.
    pub fn roles(&self) -> &[RoleSlots] {
        &self.roles
    }

    /// Evaluates from the fluents the lanes in which the match is over.
    pub fn terminal(&self, slots: &mut LaneSlots) -> Bits {
        self.run(TERMINAL, slots);
        self.terminal.of(slots)
    }

    /// Evaluates the goals. Returns the possible values of each role, with the
    /// location of the lanes that have them.
    pub fn goals(&self, slots: &mut LaneSlots) -> &[Vec<(u8, SlotLit)>] {
        self.run(GOALS, slots);
        &self.goals
    }

    /// Returns the slots that [`legal`](LaneProgram::legal) and
    /// [`next`](LaneProgram::next) read. To continue with another state than the
    /// one that was given to [`terminal`](LaneProgram::terminal), replace these
    /// slots.
    pub fn kept(&self) -> &[Slot] {
        &self.kept
    }

    /// Returns the number of slots that the program uses.
    pub fn slot_count(&self) -> usize {
        self.slot_count
    }

    /// Returns the memory of the program in bytes, without its slots.
    pub fn bytes(&self) -> usize {
        match &self.code {
            Code::Narrow(code) => code.bytes(),
            Code::Wide(code) => code.bytes(),
        }
    }

    /// Evaluates the legal moves.
    pub fn legal(&self, slots: &mut LaneSlots) {
        self.run(LEGAL, slots);
    }

    /// Replaces the fluents by those of the next state.
    pub fn next(&self, slots: &mut LaneSlots) {
        self.run(NEXT, slots);
    }

    fn run(&self, part: usize, slots: &mut LaneSlots) {
        match &self.code {
            Code::Narrow(code) => code.run(part, slots),
            Code::Wide(code) => code.run(part, slots),
        }
    }
}

/// An evaluation of a gate: the conjunction of literals of values.
///
/// Up to the first gate, values have the numbers of nodes. A gate that is
/// evaluated twice has two values.
struct Op {
    lits: Vec<Lit>,
    inverted: bool,
    out: usize,
}

impl Op {
    fn shape(&self) -> GateShape {
        let negated = self.lits.iter().filter(|lit| lit.is_inverted()).count();
        (self.lits.len() - negated, negated, self.inverted)
    }
}

/// The entry of `of_node` for a node that has not been evaluated.
const NO_VALUE: usize = usize::MAX;

/// Representation constraints on a value.
#[derive(Clone, Copy, Default)]
struct ValueConstraint {
    /// Whether the slot stores the negation of the value.
    inverted: bool,
    /// The slot that it must be in, if any.
    slot: Option<Slot>,
}

struct LaneCompiler<'a> {
    netlist: &'a Netlist,
    gates: Vec<&'a [Lit]>,
    values: Vec<ValueConstraint>,
    /// The value of each node that has been evaluated.
    of_node: Vec<usize>,
}

impl LaneProgram {
    /// Compiles a netlist. Moves that are never legal have no slot.
    pub fn new(netlist: &Netlist) -> LaneProgram {
        let outputs = &netlist.outputs;
        let mut slots = 1 + netlist.fluents();
        let roles: Vec<RoleSlots> = (0..netlist.roles.len())
            .map(|role| {
                let moves: Vec<usize> = netlist.possible_moves(role).collect();
                let first = slots as Slot;
                slots += moves.len();
                let forced = moves.len() == 1 && outputs.legal[moves[0]] == Lit::TRUE;
                RoleSlots { moves, first, forced }
            })
            .collect();
        let mut compiler = LaneCompiler::new(netlist, &roles);
        let terminal_ops = compiler.ops([outputs.terminal]);
        let terminal = compiler.lit(outputs.terminal);
        let after_terminal = compiler.of_node.clone();
        let goal_lits = outputs.goals.iter().flatten().map(|&(_, lit)| lit);
        let goal_ops = compiler.ops(goal_lits.clone());
        let goals: Vec<Lit> = goal_lits.map(|lit| compiler.lit(lit)).collect();
        compiler.of_node = after_terminal;
        let legal_ops = compiler.legal_ops(&roles);
        let next_ops = compiler.next_ops();

        let values = compiler.values;
        let parts = [terminal_ops, goal_ops, legal_ops, next_ops];
        let found_at_end = [vec![terminal], goals.clone(), Vec::new(), Vec::new()];
        let slots = SlotAllocation::new(&values, &parts, &found_at_end, slots);
        let found = |lit: Lit| SlotLit { slot: slots.of_value[lit.node()], inverted: lit.is_inverted() };
        let code = match u16::try_from(slots.count) {
            Ok(_) => Code::Narrow(emit(&parts, &slots.of_value)),
            Err(_) => Code::Wide(emit(&parts, &slots.of_value)),
        };
        let mut goals = goals.into_iter().map(found);
        LaneProgram {
            code,
            terminal: found(terminal),
            goals: outputs
                .goals
                .iter()
                .map(|role| role.iter().map(|&(score, _)| score).zip(&mut goals).collect())
                .collect(),
            roles,
            kept: (1..=netlist.fluents() as Slot).chain(slots.kept).collect(),
            slot_count: slots.count,
        }
    }
}

impl<'a> LaneCompiler<'a> {
    fn new(netlist: &'a Netlist, roles: &[RoleSlots]) -> LaneCompiler<'a> {
        let first_gate = netlist.first_gate();
        let mut values = vec![ValueConstraint::default(); first_gate];
        for (index, value) in values.iter_mut().enumerate().take(1 + netlist.fluents()) {
            value.slot = Some(index as Slot);
        }
        for (&mv, slot) in roles.iter().flat_map(|role| role.moves.iter().zip(role.slots())) {
            values[netlist.move_node(mv)].slot = Some(slot as Slot);
        }
        // A move without a slot is never played.
        let mut of_node = vec![NO_VALUE; netlist.nodes()];
        for (node, value) in of_node.iter_mut().enumerate().take(first_gate) {
            *value = if values[node].slot.is_some() { node } else { 0 };
        }
        LaneCompiler { netlist, gates: netlist.gates().collect(), values, of_node }
    }

    /// Converts a literal of a node to a literal of its value.
    fn lit(&self, lit: Lit) -> Lit {
        let value = self.of_node[lit.node()];
        Lit::new(value, lit.is_inverted() ^ self.values[value].inverted)
    }

    fn add(&mut self, value: ValueConstraint) -> usize {
        self.values.push(value);
        self.values.len() - 1
    }

    /// Returns the gates below these literals that have no value yet, with
    /// related gates close together.
    fn below(&self, roots: impl IntoIterator<Item = Lit>) -> Vec<usize> {
        let mut seen = HashSet::new();
        let mut order = Vec::new();
        let mut stack = Vec::new();
        for root in roots {
            stack.push((root.node(), false));
            while let Some((node, done)) = stack.pop() {
                if done {
                    order.push(node);
                } else if self.of_node[node] == NO_VALUE && seen.insert(node) {
                    stack.push((node, true));
                    let gate = self.gates[node - self.netlist.first_gate()];
                    stack.extend(gate.iter().rev().map(|lit| (lit.node(), false)));
                }
            }
        }
        order
    }

    /// Assigns a value to a gate and evaluates it, in several parts if it is
    /// wide.
    fn op(&mut self, node: usize, value: ValueConstraint, ops: &mut Vec<Op>) {
        let gate = self.gates[node - self.netlist.first_gate()];
        let mut lits: Vec<Lit> = gate.iter().map(|&lit| self.lit(lit)).collect();
        while lits.len() > WIDEST {
            lits.sort_by_key(|lit| lit.is_inverted());
            let parts = lits.chunks(WIDEST).map(|part| match part {
                [lit] => *lit,
                _ => {
                    let out = self.add(ValueConstraint::default());
                    ops.push(Op { lits: part.to_vec(), inverted: false, out });
                    Lit::new(out, false)
                }
            });
            lits = parts.collect();
        }
        let out = self.add(value);
        self.of_node[node] = out;
        ops.push(Op { lits, inverted: value.inverted, out });
    }

    fn ops(&mut self, roots: impl IntoIterator<Item = Lit>) -> Vec<Op> {
        let nodes = self.below(roots);
        let mut ops = Vec::new();
        nodes.into_iter().for_each(|node| self.op(node, ValueConstraint::default(), &mut ops));
        by_shape(ops)
    }

    /// Evaluates the legal moves into the slots of the moves.
    fn legal_ops(&mut self, roles: &[RoleSlots]) -> Vec<Op> {
        let outputs = &self.netlist.outputs;
        let nodes = self.below(outputs.legal.iter().copied());
        // Values that the choice overwrites are not needed later.
        let mut needed = vec![false; self.of_node.len()];
        outputs.next.iter().for_each(|lit| needed[lit.node()] = true);
        let of_legal: HashSet<usize> = nodes.iter().copied().collect();
        for node in self.below(outputs.next.iter().copied()) {
            if !of_legal.contains(&node) {
                self.gates[node - self.netlist.first_gate()].iter().for_each(|lit| needed[lit.node()] = true);
            }
        }
        let mut placed = vec![None; self.of_node.len()];
        let mut copies = Vec::new();
        for (&mv, slot) in roles.iter().flat_map(|role| role.moves.iter().zip(role.slots())) {
            let lit = outputs.legal[mv];
            let node = lit.node();
            if of_legal.contains(&node) && !needed[node] && placed[node].is_none() {
                placed[node] = Some(ValueConstraint { inverted: lit.is_inverted(), slot: Some(slot as Slot) });
            } else {
                copies.push((lit, slot));
            }
        }
        let mut ops: Vec<Op> = Vec::new();
        for node in nodes {
            self.op(node, placed[node].unwrap_or_default(), &mut ops);
        }
        for (lit, slot) in copies {
            let lits = vec![self.lit(lit)];
            let out = self.add(ValueConstraint { inverted: false, slot: Some(slot as Slot) });
            ops.push(Op { lits, inverted: false, out });
        }
        by_shape(ops)
    }

    /// Returns the operations that evaluate the next state into the slots of the
    /// fluents. A node that the terminal condition or the legal moves have evaluated is
    /// not evaluated again.
    fn next_ops(&mut self) -> Vec<Op> {
        let next = &self.netlist.outputs.next;
        let nodes = self.below(next.iter().copied());
        // Maps a gate to the first fluent whose next value it is.
        // The gate stores the value as this fluent needs it, negated if the literal is.
        let mut firsts = HashMap::new();
        for (fluent, &lit) in next.iter().enumerate() {
            if self.of_node[lit.node()] == NO_VALUE {
                firsts.entry(lit.node()).or_insert((fluent, lit.is_inverted()));
            }
        }
        let mut ops = Vec::new();
        // Maps the value of such a gate to that fluent, whose slot it may take.
        let mut fluents = HashMap::new();
        for node in nodes {
            let first = firsts.get(&node);
            let inverted = first.is_some_and(|&(_, inverted)| inverted);
            self.op(node, ValueConstraint { inverted, slot: None }, &mut ops);
            fluents.extend(first.map(|&(fluent, _)| (self.of_node[node], fluent)));
        }
        let mut ops = by_shape(ops);
        let copies = self.write_at_once(&ops, &fluents);
        self.copy(copies, &mut ops);
        ops
    }

    /// Writes values directly to the slots of their fluents if the old value
    /// is not read any more. Returns the remaining copies of values to
    /// fluents, which come last.
    fn write_at_once(&mut self, ops: &[Op], fluents: &HashMap<usize, usize>) -> Vec<(usize, Lit)> {
        let mut copies = Vec::new();
        for (fluent, &lit) in self.netlist.outputs.next.iter().enumerate() {
            let lit = self.lit(lit);
            let stays = lit == Lit::new(self.netlist.fluent_node(fluent), false);
            if !stays && fluents.get(&lit.node()) != Some(&fluent) {
                copies.push((fluent, lit));
            }
        }
        let mut readers = Readers::new(self.netlist.fluents());
        ops.iter().for_each(|op| readers.add(&op.lits));
        copies.iter().for_each(|&(_, lit)| readers.add(&[lit]));
        for op in ops {
            readers.remove(&op.lits);
            if let Some(&fluent) = fluents.get(&op.out) {
                if readers.0[fluent] == 0 {
                    self.values[op.out].slot = Some(LaneProgram::fluent(fluent) as Slot);
                } else {
                    copies.push((fluent, Lit::new(op.out, false)));
                }
            }
        }
        copies
    }

    /// Copies values to fluents. Chains of copies between fluents are
    /// processed from their ends; a cycle is broken by one additional value.
    fn copy(&mut self, mut copies: Vec<(usize, Lit)>, ops: &mut Vec<Op>) {
        let mut readers = Readers::new(self.netlist.fluents());
        copies.iter().for_each(|&(_, lit)| readers.add(&[lit]));
        while !copies.is_empty() {
            let own = |fluent: usize, lit: Lit| usize::from(lit.node() == self.netlist.fluent_node(fluent));
            let ready = copies.iter().position(|&(fluent, lit)| readers.0[fluent] == own(fluent, lit));
            // If no copy is ready, all remaining copies are on cycles.
            let (fluent, lit) = copies.swap_remove(ready.unwrap_or(0));
            readers.remove(&[lit]);
            let slot = ready.map(|_| LaneProgram::fluent(fluent) as Slot);
            let out = self.add(ValueConstraint { inverted: false, slot });
            ops.push(Op { lits: vec![lit], inverted: false, out });
            if ready.is_none() {
                copies.push((fluent, Lit::new(out, false)));
            }
        }
    }
}

/// The number of pending reads of the old value of each fluent.
struct Readers(Vec<usize>);

impl Readers {
    fn new(fluents: usize) -> Readers {
        Readers(vec![0; fluents])
    }

    fn add(&mut self, lits: &[Lit]) {
        lits.iter().for_each(|&lit| self.change(lit, 1));
    }

    fn remove(&mut self, lits: &[Lit]) {
        lits.iter().for_each(|&lit| self.change(lit, -1));
    }

    fn change(&mut self, lit: Lit, by: isize) {
        // Fluents are the nodes from 1 on.
        if let Some(readers) = lit.node().checked_sub(1).and_then(|fluent| self.0.get_mut(fluent)) {
            *readers = readers.wrapping_add_signed(by);
        }
    }
}

/// Moves gates of the same shape together within a window, without moving a
/// gate before its inputs.
fn by_shape(mut ops: Vec<Op>) -> Vec<Op> {
    for window in ops.chunks_mut(WINDOW) {
        let mut levels = HashMap::new();
        for op in window.iter() {
            let level = op.lits.iter().filter_map(|lit| levels.get(&lit.node())).max().map_or(0, |level| level + 1);
            levels.insert(op.out, level);
        }
        window.sort_by_cached_key(|op| (levels[&op.out], op.shape(), op.out));
    }
    ops
}

/// Returns the code of the parts. Every slot must fit into `S`.
fn emit<S: SlotNumber>(parts: &[Vec<Op>; PARTS], slots: &[Slot]) -> GateCode<S, PARTS> {
    let mut code = GateCode::new();
    for (part, ops) in parts.iter().enumerate() {
        for run in ops.chunk_by(|a, b| a.shape() == b.shape()) {
            let gates = run.iter().flat_map(|op| {
                let of = |inverted| op.lits.iter().filter(move |lit| lit.is_inverted() == inverted);
                of(false).chain(of(true)).map(|lit| slots[lit.node()]).chain([slots[op.out]])
            });
            code.add_run(part, run[0].shape(), gates);
        }
    }
    code
}

/// The slot of each value.
struct SlotAllocation {
    of_value: Vec<Slot>,
    /// The slots of the values of the first part that the third and fourth
    /// part read.
    kept: Vec<Slot>,
    /// The number of slots.
    count: usize,
}

impl SlotAllocation {
    /// Allocates slots for `parts`, which run one after another. The values in
    /// `found_at_end` are still available at the end of each part. The first
    /// `fixed` slots are reserved.
    fn new(
        values: &[ValueConstraint],
        parts: &[Vec<Op>; PARTS],
        found_at_end: &[Vec<Lit>; PARTS],
        fixed: usize,
    ) -> SlotAllocation {
        // The time of the last read of each value. Each op takes one unit of time, and so does the end of each part.
        let mut last = vec![0; values.len()];
        let mut of_part = vec![usize::MAX; values.len()];
        let mut kept = vec![false; values.len()];
        let mut time = 0;
        for (part, ops) in parts.iter().enumerate() {
            for op in ops {
                time += 1;
                of_part[op.out] = part;
                last[op.out] = time;
                for lit in &op.lits {
                    last[lit.node()] = time;
                    kept[lit.node()] |= part >= LEGAL && of_part[lit.node()] == TERMINAL;
                }
            }
            found_at_end[part].iter().for_each(|lit| last[lit.node()] = last[lit.node()].max(time + 1));
            time += 1;
        }
        let mut ending: Vec<Vec<u32>> = vec![Vec::new(); time + 1];
        for (value, &last) in last.iter().enumerate() {
            if of_part[value] != usize::MAX && values[value].slot.is_none() {
                ending[last].push(value as u32);
            }
        }
        let mut of_value: Vec<Slot> = values.iter().map(|value| value.slot.unwrap_or(0)).collect();
        let mut free: Vec<Slot> = Vec::new();
        let mut used = fixed;
        let mut time = 0;
        for ops in parts {
            for op in ops {
                time += 1;
                if let Some(slot) = values[op.out].slot {
                    of_value[op.out] = slot;
                }
                // A value whose last reader is this op can share its slot.
                let own = |value: u32| value as usize == op.out;
                free.extend(ending[time].iter().filter(|&&value| !own(value)).map(|&value| of_value[value as usize]));
                if values[op.out].slot.is_none() {
                    of_value[op.out] = match free.pop() {
                        Some(slot) => slot,
                        None => {
                            used += 1;
                            (used - 1) as Slot
                        }
                    };
                }
                free.extend(ending[time].iter().filter(|&&value| own(value)).map(|&value| of_value[value as usize]));
            }
            time += 1;
            free.extend(ending[time].iter().map(|&value| of_value[value as usize]));
        }
        let kept = kept.iter().zip(&of_value).filter(|(kept, _)| **kept).map(|(_, &slot)| slot).collect();
        SlotAllocation { of_value, kept, count: used }
    }
}
