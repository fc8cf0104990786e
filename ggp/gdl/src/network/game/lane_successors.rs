//! Successors of states in lanes, found together.

use std::ops::Range;

use sternhalma_game::features::{Degree, DegreeBuffers, FoundSuccessors, GoalTree, SuccessorPart};

use super::lane_game::LanePhase;
use crate::network::run::{Bits, LANES, LaneProgram, LaneSlots, TransposedPlanes};

/// The successors of the states in some lanes, up to 512 in all. They are in lanes of their own.
#[derive(Debug, Default)]
pub(super) struct LaneSuccessors {
    parents: Vec<Parent>,
    /// The joint moves of the acting roles of all parents.
    joints: Vec<u32>,
    /// The moves of all roles, by successor.
    numbers: Vec<u32>,
    /// The number of successors, and of their fluents.
    count: usize,
    fluents: usize,
    /// The facts of the successors.
    facts: TransposedPlanes,
    /// For each role and successor the number of its legal moves.
    mobility: Vec<u32>,
    /// For each successor the degree to which it satisfies a goal.
    degrees: Vec<Degree>,
    buffers: DegreeBuffers,
}

/// What is found of successors besides their facts.
#[derive(Clone, Copy)]
pub(super) enum DerivedFeature<'a> {
    None,
    /// The mobility of each role. The phase is that of the successors.
    Mobility(&'a LanePhase),
    /// The degrees to which they satisfy a goal.
    Degrees(&'a GoalTree),
}

/// A state whose successors are found.
#[derive(Debug)]
struct Parent {
    seat: usize,
    lane: usize,
    successors: Range<usize>,
    joints: Range<usize>,
}

/// The lanes of a word that have successors of the state in a lane.
struct Span {
    lane: usize,
    lanes: u64,
}

impl LaneSuccessors {
    /// Returns whether there is room for `count` more successors.
    pub fn has_room(&self, count: usize) -> bool {
        self.count + count <= LANES
    }

    /// Removes all states.
    pub fn clear(&mut self) {
        self.parents.clear();
        self.joints.clear();
        self.numbers.clear();
        self.count = 0;
    }

    /// Adds the state of a seat and its lane, with joint moves of the acting roles: `acting` alone, or all roles. `first`
    /// has the moves of all roles for the first joint move.
    pub fn add(&mut self, seat: usize, lane: usize, joints: &[u32], first: &[u32], acting: Option<usize>) {
        let roles = first.len();
        let count = match acting {
            None => joints.len() / roles,
            Some(_) => joints.len(),
        };
        match acting {
            None => self.numbers.extend_from_slice(joints),
            Some(role) => {
                for &mv in joints {
                    let start = self.numbers.len();
                    self.numbers.extend_from_slice(first);
                    self.numbers[start + role] = mv;
                }
            }
        }
        let start = self.joints.len();
        self.joints.extend_from_slice(joints);
        let successors = self.count..self.count + count;
        self.parents.push(Parent { seat, lane, successors, joints: start..self.joints.len() });
        self.count += count;
    }

    /// Returns the seat of a state, in the order of their addition.
    pub fn seat(&self, index: usize) -> Option<usize> {
        self.parents.get(index).map(|parent| parent.seat)
    }

    /// Finds the successors of all states, which are in `states` and in `phase`, by means of `slots`.
    pub fn find(
        &mut self,
        states: &LaneSlots,
        slots: &mut LaneSlots,
        fluents: usize,
        phase: &LanePhase,
        derived: DerivedFeature<'_>,
    ) {
        self.fluents = fluents;
        self.spread(states, slots, fluents);
        let program = &phase.program;
        // The inputs of the next state must be evaluated in this order.
        program.terminal(slots);
        program.legal(slots);
        let roles = program.roles();
        roles.iter().filter(|role| !role.forced).for_each(|role| slots[role.slots()].fill(Bits::NONE));
        for (lane, moves) in self.numbers.chunks_exact(roles.len()).enumerate() {
            for slot in moves.iter().filter_map(|&mv| phase.done[mv as usize]) {
                slots[slot].set(lane, true);
            }
        }
        program.next(slots);
        match derived {
            DerivedFeature::None => {
                self.facts.set((0..fluents).map(|fluent| slots[LaneProgram::fluent(fluent)]));
            }
            DerivedFeature::Mobility(next) => {
                next.program.terminal(slots);
                next.program.legal(slots);
                self.mobility.clear();
                for role in next.program.roles() {
                    match role.forced {
                        true => self.mobility.resize(self.mobility.len() + LANES, 1),
                        false => count_each(&slots[role.slots()], &mut self.mobility),
                    }
                }
            }
            DerivedFeature::Degrees(tree) => {
                self.degrees.clear();
                let holding = |fact| &slots[LaneProgram::fluent(fact)].0[..];
                tree.degrees_of(self.count, holding, &mut self.buffers, &mut self.degrees);
            }
        }
    }

    /// Copies each state to the lanes of its successors.
    fn spread(&self, states: &LaneSlots, slots: &mut LaneSlots, fluents: usize) {
        // By word of lanes, the lanes that have successors of one state.
        let mut words: [Vec<Span>; Bits::WORDS] = Default::default();
        for &Parent { lane, ref successors, .. } in &self.parents {
            let mut start = successors.start;
            while start < successors.end {
                let end = successors.end.min((start / 64 + 1) * 64);
                words[start / 64].push(Span { lane, lanes: (!0 >> (64 - (end - start))) << (start % 64) });
                start = end;
            }
        }
        for slot in (0..fluents).map(LaneProgram::fluent) {
            let from = states[slot];
            slots[slot] = Bits(std::array::from_fn(|word| {
                words[word].iter().fold(0, |all, span| all | span.lanes & u64::from(from.get(span.lane)).wrapping_neg())
            }));
        }
    }

    /// Copies this part of the successors of one state by these joint moves.
    ///
    /// # Panics
    ///
    /// Panics if other joint moves were added for the state.
    pub fn copy(&self, index: usize, joints: &[u32], part: SuccessorPart, found: &mut FoundSuccessors) {
        let Parent { successors, joints: own, .. } = &self.parents[index];
        assert_eq!(joints, &self.joints[own.clone()], "the joint moves are those that were foreseen");
        let roles = self.numbers.len() / self.count;
        match part {
            SuccessorPart::Facts => {
                found.facts.reset(successors.len(), self.fluents);
                for (index, lane) in successors.clone().enumerate() {
                    found.facts.row_mut(index).iter_mut().zip(self.facts.words(lane)).for_each(|(to, of)| *to = of);
                }
            }
            SuccessorPart::Mobility => {
                found.states.reset(successors.len(), 0, roles);
                for (role, mobility) in self.mobility.chunks_exact(LANES).enumerate() {
                    found.states.mobility_mut(role).copy_from_slice(&mobility[successors.clone()]);
                }
            }
            SuccessorPart::Degrees { .. } => {
                found.degrees.clear();
                found.degrees.extend_from_slice(&self.degrees[successors.clone()]);
            }
        }
    }
}

/// Appends for each lane the number of planes in which it is set.
fn count_each(planes: &[Bits], counts: &mut Vec<u32>) {
    // The bits of the counts, least significant first.
    let mut digits: Vec<Bits> = Vec::new();
    for &plane in planes {
        let mut carry = plane;
        for digit in &mut digits {
            (*digit, carry) = (*digit ^ carry, *digit & carry);
        }
        if carry.any() {
            digits.push(carry);
        }
    }
    let first = counts.len();
    counts.resize(first + LANES, 0);
    for (place, digit) in digits.into_iter().enumerate() {
        digit.for_each_lane(|lane| counts[first + lane] += 1 << place);
    }
}
