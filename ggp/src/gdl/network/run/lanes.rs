//! Many matches of a game at once, one per lane.

use thiserror::Error;

use super::bits::{Bits, LANES, RandomBits};
use super::choice::{MOST_MOVES, choose};
use super::program::{Program, Slots};
use crate::Rng;
use crate::gdl::Goal;
use crate::gdl::network::build::Netlist;
use crate::gdl::network::build::{GamePhase, phases};
use crate::util::FluentSet;

/// The number of steps after which a playout counts as endless.
const MOST_STEPS: u32 = 100_000;

/// An error of playing in lanes.
#[derive(Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LanesError {
    /// The network has too many values in use at the same time.
    #[error("the network is too large to be evaluated in lanes")]
    TooLarge,
    /// A role has no legal move although the match is not over.
    #[error("role {role} has no legal move in a state that is not terminal")]
    NoLegalMove {
        /// The role, counted from 0.
        role: usize,
    },
    /// A match does not end.
    #[error("a match is not over after {steps} steps")]
    Endless {
        /// The number of played steps.
        steps: u32,
    },
}

/// The results of playouts, in the order in which they ended. Short playouts
/// come first, so only all of them together are an unbiased sample.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Playouts {
    /// The number of steps of each playout.
    pub lengths: Vec<u32>,
    /// The goals of each playout, role by role: the only goal that holds at
    /// the end, or 0 if there is not exactly one.
    pub scores: Vec<u8>,
    /// How often a role had no goal or several goals at the end.
    pub faults: u64,
    /// The total number of steps.
    pub steps: u64,
}

/// A game in 512 lanes, each with a state of its own.
///
/// ```
/// use rand::SeedableRng;
/// use sternhalma_ggp::Rng;
/// use sternhalma_ggp::gdl::network::{Gates, Lanes, Lit, Netlist, Outputs};
///
/// // Two roles say heads or tails, once; the first wins if both say the same.
/// let mut gates = Gates::new(2, 4);
/// let over = Lit::new(1, false);
/// let same = Lit::new(2, false);
/// let says = |mv: usize| Lit::new(3 + mv, false);
/// let [heads, tails] = [[says(0), says(2)], [says(1), says(3)]].map(|both| gates.and(both));
/// let outputs = Outputs {
///     next: vec![Lit::TRUE, gates.or([heads, tails])],
///     legal: vec![Lit::TRUE; 4],
///     terminal: over,
///     goals: vec![vec![(100, same), (0, !same)], vec![(0, same), (100, !same)]],
/// };
/// let game = gates.finish(vec![false; 2], vec![0..2, 2..4], outputs);
///
/// let playouts = Lanes::new(&game)?.playouts(1000, &mut Rng::seed_from_u64(1))?;
/// assert_eq!(playouts.lengths, vec![1; 1000]);
/// assert!((450..550).contains(&playouts.scores.chunks(2).filter(|scores| scores[0] == 100).count()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Lanes {
    /// The program for any state.
    general: Program,
    /// The programs for the phases of the game, beginning with the initial
    /// state.
    phases: Vec<(GamePhase, Program)>,
    initial: Vec<bool>,
    slots: Box<Slots>,
    /// The lanes whose evaluated states are terminal.
    terminal: Bits,
    goals: Vec<Vec<(u8, Bits)>>,
}

impl Lanes {
    /// Compiles a game. All lanes are in its initial state.
    ///
    /// # Errors
    ///
    /// Returns [`LanesError::TooLarge`] if the network does not fit.
    pub fn new(netlist: &Netlist) -> Result<Lanes, LanesError> {
        let compiled = |phase: GamePhase| compile(&phase.netlist).map(|program| (phase, program));
        Lanes::with(netlist, phases(netlist).into_iter().map(compiled).collect::<Result<_, _>>()?)
    }

    /// Compiles a game for single steps only, without playouts. This takes
    /// less time and memory.
    ///
    /// # Errors
    ///
    /// Returns [`LanesError::TooLarge`] if the network does not fit.
    pub fn for_steps(netlist: &Netlist) -> Result<Lanes, LanesError> {
        Lanes::with(netlist, Vec::new())
    }

    fn with(netlist: &Netlist, phases: Vec<(GamePhase, Program)>) -> Result<Lanes, LanesError> {
        if netlist.roles.iter().any(|moves| moves.len() > MOST_MOVES) {
            return Err(LanesError::TooLarge);
        }
        let slots = vec![Bits::NONE; 1 << 16].into_boxed_slice();
        let mut lanes = Lanes {
            general: compile(netlist)?,
            phases,
            initial: netlist.initial.clone(),
            slots: slots.try_into().expect("as many slots as 16 bits tell apart"),
            terminal: Bits::NONE,
            goals: Vec::new(),
        };
        lanes.set_all(&FluentSet::of(&netlist.initial));
        Ok(lanes)
    }

    /// Plays uniformly random playouts from the initial state. The states of
    /// the lanes are lost.
    ///
    /// # Errors
    ///
    /// Returns [`LanesError::NoLegalMove`] or [`LanesError::Endless`] if a
    /// playout cannot be finished.
    pub fn playouts(&mut self, count: usize, rng: &mut Rng) -> Result<Playouts, LanesError> {
        self.playouts_from(&FluentSet::of(&self.initial), count, rng)
    }

    /// Plays uniformly random playouts from a state. The states of the lanes
    /// are lost.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`playouts`](Lanes::playouts).
    pub fn playouts_from(&mut self, state: &FluentSet, count: usize, rng: &mut Rng) -> Result<Playouts, LanesError> {
        self.set_all(state);
        let programs = programs(&self.phases, &self.general, &self.slots);
        let mut simulation = Simulation::new(&mut self.slots, rng);
        simulation.prepare(programs[0], count);
        simulation.play(&programs)?;
        Ok(simulation.playouts)
    }

    /// Plays a uniformly random playout in every lane from the state of the
    /// lane, which is lost. The playouts are in the order of the lanes.
    ///
    /// All lanes wait for the longest playout, so this takes longer than the
    /// same number of [`playouts`](Lanes::playouts).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`playouts`](Lanes::playouts).
    pub fn play_out(&mut self, rng: &mut Rng) -> Result<Playouts, LanesError> {
        let programs = programs(&self.phases, &self.general, &self.slots);
        let mut simulation = Simulation::new(&mut self.slots, rng);
        simulation.active = Bits::ALL;
        simulation.play(&programs)?;
        Ok(simulation.by_lane(self.general.roles().len()))
    }

    /// Puts all lanes in a state. An unreachable state may be evaluated
    /// incorrectly.
    pub fn set_all(&mut self, state: &FluentSet) {
        for fluent in 0..self.initial.len() {
            self.slots[Program::fluent(fluent)] = Bits::all_if(state.contains(fluent));
        }
    }

    /// Puts a lane in a state.
    pub fn set(&mut self, lane: usize, state: &FluentSet) {
        for fluent in 0..self.initial.len() {
            self.slots[Program::fluent(fluent)].set(lane, state.contains(fluent));
        }
    }

    /// Returns the state of a lane.
    pub fn state(&self, lane: usize) -> FluentSet {
        let mut state = FluentSet::new(self.initial.len());
        let holds = |fluent: &usize| self.slots[Program::fluent(*fluent)].get(lane);
        (0..self.initial.len()).filter(holds).for_each(|fluent| state.insert(fluent));
        state
    }

    /// Evaluates the states of all lanes. Queries of a lane and its next step
    /// refer to the evaluated state.
    pub fn evaluate(&mut self) {
        let slots = &mut self.slots;
        self.terminal = self.general.terminal(slots);
        let goals = self.general.goals(slots).iter();
        self.goals = goals.map(|role| role.iter().map(|&(score, found)| (score, found.of(slots))).collect()).collect();
        self.general.legal(slots);
    }

    /// Returns whether the match of a lane is over.
    pub fn is_terminal(&self, lane: usize) -> bool {
        self.terminal.get(lane)
    }

    /// Returns the goal of a role in a lane, terminal or not.
    pub fn goal(&self, lane: usize, role: usize) -> Goal {
        let mut reached = self.goals[role].iter().filter(|(_, holds)| holds.get(lane));
        match (reached.next(), reached.next()) {
            (None, _) => Goal::None,
            (Some(&(score, _)), None) => Goal::Value(score),
            (Some(_), Some(_)) => Goal::Several,
        }
    }

    /// Returns the legal moves of a role in a lane, between
    /// [`evaluate`](Lanes::evaluate) and [`step`](Lanes::step).
    pub fn legal(&self, lane: usize, role: usize) -> impl Iterator<Item = usize> {
        let role = &self.general.roles()[role];
        let legal = role.moves.iter().zip(&self.slots[role.slots()]);
        legal.filter(move |(_, lanes)| lanes.get(lane)).map(|(&mv, _)| mv)
    }

    /// Plays the given joint moves in the first lanes. All moves must be
    /// legal. The states of all other lanes are lost.
    pub fn step<'a>(&mut self, joints: impl IntoIterator<Item = &'a [usize]>) {
        for role in self.general.roles() {
            self.slots[role.slots()].fill(Bits::NONE);
        }
        for (lane, joint) in joints.into_iter().enumerate() {
            for (role, mv) in self.general.roles().iter().zip(joint) {
                if let Ok(index) = role.moves.binary_search(mv) {
                    self.slots[role.first + index].set(lane, true);
                }
            }
        }
        self.general.next(&mut self.slots);
    }

    /// Puts each of the first lanes in the state that follows from `state` by
    /// one of the joint moves, which must be legal. The states of all other
    /// lanes are lost.
    pub fn follow<'a>(&mut self, state: &FluentSet, joints: impl IntoIterator<Item = &'a [usize]>) {
        self.set_all(state);
        // The inputs of the next state must be evaluated in this order.
        self.general.terminal(&mut self.slots);
        self.general.legal(&mut self.slots);
        self.step(joints);
    }

    /// Returns the lanes in which a fluent holds.
    #[inline]
    pub(crate) fn holding(&self, fluent: usize) -> &[u64; Bits::WORDS] {
        &self.slots[Program::fluent(fluent)].0
    }

    /// Calls `see` with the role of each move and the lanes in which the move
    /// is legal. The states of the lanes must not have been evaluated yet.
    pub(crate) fn see_legal(&mut self, mut see: impl FnMut(usize, &[u64; Bits::WORDS])) {
        self.general.terminal(&mut self.slots);
        self.general.legal(&mut self.slots);
        for (index, role) in self.general.roles().iter().enumerate() {
            self.slots[role.slots()].iter().for_each(|lanes| see(index, &lanes.0));
        }
    }

    /// Chooses a uniformly random legal move for every role in every lane and
    /// plays it. Returns the moves of each lane, one per role; `None` for a
    /// role without a legal move.
    pub fn step_at_random(&mut self, rng: &mut Rng) -> Vec<Vec<Option<usize>>> {
        let mut random = RandomBits::new(rng);
        let mut joints = vec![Vec::new(); LANES];
        for role in self.general.roles() {
            choose(&mut self.slots[role.slots()], &mut random);
            for (lane, joint) in joints.iter_mut().enumerate() {
                let chosen = self.slots[role.slots()].iter().position(|lanes| lanes.get(lane));
                joint.push(chosen.map(|index| role.moves[index]));
            }
        }
        self.general.next(&mut self.slots);
        joints
    }
}

fn compile(netlist: &Netlist) -> Result<Program, LanesError> {
    Program::new(netlist).ok_or(LanesError::TooLarge)
}

/// Returns the programs to continue with: those of the phases from the current
/// one on if all lanes are in one phase, otherwise the general one.
fn programs<'a>(phases: &'a [(GamePhase, Program)], general: &'a Program, slots: &Slots) -> Vec<&'a Program> {
    let here = |(fluent, value): &(usize, bool)| slots[Program::fluent(*fluent)] == Bits::all_if(*value);
    match phases.iter().position(|(phase, _)| phase.fluents.iter().all(here)) {
        Some(phase) => {
            let (before, after) = phases.split_at(phase);
            after.iter().chain(before).map(|(_, program)| program).collect()
        }
        None => vec![general],
    }
}

/// Playouts in progress. Lanes whose playout is over start another one when
/// all lanes are in the first phase again, while playouts are left.
struct Simulation<'a> {
    slots: &'a mut Slots,
    random: RandomBits,
    /// The number of playouts that have not started.
    left: usize,
    /// The lanes with a playout in progress.
    active: Bits,
    /// The step in which the playout of each lane started.
    began: [u32; LANES],
    /// The index of the last playout that ended in each lane.
    places: [usize; LANES],
    step: u32,
    /// The slots to set at the start of a playout, with their values.
    fresh: Vec<(u16, bool)>,
    /// Whether playouts end in the state in which they start.
    over_at_once: bool,
    playouts: Playouts,
}

impl<'a> Simulation<'a> {
    fn new(slots: &'a mut Slots, rng: &mut Rng) -> Simulation<'a> {
        Simulation {
            slots,
            random: RandomBits::new(rng),
            left: 0,
            active: Bits::NONE,
            began: [0; LANES],
            places: [0; LANES],
            step: 0,
            fresh: Vec::new(),
            over_at_once: false,
            playouts: Playouts::default(),
        }
    }

    /// Prepares `count` playouts from the state that all lanes are in.
    fn prepare(&mut self, program: &Program, count: usize) {
        self.left = count;
        self.over_at_once = program.terminal(self.slots).get(0);
        self.fresh = program.kept().iter().map(|&slot| (slot, self.slots[slot as usize].get(0))).collect();
    }

    /// Plays until all playouts have ended.
    fn play(&mut self, programs: &[&Program]) -> Result<(), LanesError> {
        while self.over_at_once && self.left > 0 {
            self.begin();
            self.end(programs[0], self.active);
        }
        loop {
            for (phase, program) in programs.iter().enumerate() {
                let over = program.terminal(self.slots);
                self.end(program, over & self.active);
                if phase == 0 {
                    self.begin();
                    if !self.active.any() {
                        return Ok(());
                    }
                }
                self.advance(program)?;
            }
            self.check_end()?;
        }
    }

    /// Records the results of lanes.
    fn end(&mut self, program: &Program, over: Bits) {
        if !over.any() {
            return;
        }
        self.active &= !over;
        let roles = program.roles().len();
        let first = self.playouts.lengths.len();
        for (index, lane) in over.lanes().enumerate() {
            let length = self.step - self.began[lane];
            self.playouts.lengths.push(length);
            self.playouts.steps += u64::from(length);
            self.places[lane] = first + index;
        }
        self.playouts.scores.resize(self.playouts.lengths.len() * roles, 0);
        for (role, goals) in program.goals(self.slots).iter().enumerate() {
            let (mut any, mut several) = (Bits::NONE, Bits::NONE);
            for &(score, found) in goals {
                let holds = found.of(self.slots) & over;
                several |= any & holds;
                any |= holds;
                holds.lanes().for_each(|lane| self.playouts.scores[self.places[lane] * roles + role] = score);
            }
            several.lanes().for_each(|lane| self.playouts.scores[self.places[lane] * roles + role] = 0);
            self.playouts.faults += ((over & !any) | several).count() as u64;
        }
    }

    /// Returns the results in the order of lanes, after one playout per lane.
    fn by_lane(self, roles: usize) -> Playouts {
        let Playouts { lengths, scores, faults, steps } = self.playouts;
        Playouts {
            lengths: self.places.iter().map(|&place| lengths[place]).collect(),
            scores: self
                .places
                .iter()
                .flat_map(|&place| &scores[place * roles..(place + 1) * roles])
                .copied()
                .collect(),
            faults,
            steps,
        }
    }

    /// Starts playouts in lanes that have none.
    fn begin(&mut self) {
        let mut begin = !self.active;
        if begin.count() > self.left {
            begin = begin.take(self.left);
        }
        if begin.any() {
            self.left -= begin.count();
            self.active |= begin;
            begin.lanes().for_each(|lane| self.began[lane] = self.step);
            for &(slot, value) in &self.fresh {
                let slot = &mut self.slots[slot as usize];
                *slot = if value { *slot | begin } else { *slot & !begin };
            }
        }
    }

    fn advance(&mut self, program: &Program) -> Result<(), LanesError> {
        program.legal(self.slots);
        for (index, role) in program.roles().iter().enumerate() {
            if !role.forced && (choose(&mut self.slots[role.slots()], &mut self.random) & self.active).any() {
                return Err(LanesError::NoLegalMove { role: index });
            }
        }
        program.next(self.slots);
        self.step += 1;
        Ok(())
    }

    fn check_end(&self) -> Result<(), LanesError> {
        let endless = |lane: usize| self.step - self.began[lane] > MOST_STEPS;
        if self.step.is_multiple_of(1024) && self.active.lanes().any(endless) {
            return Err(LanesError::Endless { steps: MOST_STEPS });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::gdl::network::testing::{
        Sizes, games, lamps, pennies, random_network, row_game, three_in_turn, tic_tac_toe,
    };
    use crate::gdl::network::{Gates, Lit, Network, Outputs};

    /// Returns the legal moves of each role, given the values of all nodes.
    fn legal(netlist: &Netlist, values: &[bool]) -> Vec<Vec<usize>> {
        let legal = |mv: &usize| netlist.outputs.legal[*mv].of(values);
        netlist.roles.iter().map(|role| role.clone().filter(legal).collect()).collect()
    }

    /// Returns the state after a joint move, by definition.
    fn step(netlist: &Netlist, fluents: &[bool], joint: &[usize]) -> Vec<bool> {
        let mut does = vec![false; netlist.moves()];
        joint.iter().for_each(|&mv| does[mv] = true);
        let values = netlist.evaluate(fluents, &does);
        netlist.outputs.next.iter().map(|lit| lit.of(&values)).collect()
    }

    fn score(goals: &[(u8, Lit)], values: &[bool]) -> Goal {
        let reached: Vec<u8> = goals.iter().filter(|(_, lit)| lit.of(values)).map(|&(score, _)| score).collect();
        match reached[..] {
            [] => Goal::None,
            [score] => Goal::Value(score),
            _ => Goal::Several,
        }
    }

    /// Checks random steps from random states against the definition, with
    /// moves that are chosen by the lanes or given to them.
    fn agrees(netlist: &Netlist, rng: &mut Rng) {
        let mut lanes = Lanes::new(netlist).expect("the network is small");
        let mut states: Vec<Vec<bool>> = Vec::new();
        for lane in 0..LANES {
            let random: Vec<bool> = (0..netlist.fluents()).map(|_| rng.random()).collect();
            states.push(if lane % 2 == 0 { random } else { netlist.initial.clone() });
            lanes.set(lane, &FluentSet::of(&states[lane]));
        }
        for turn in 0..4 {
            lanes.evaluate();
            let idle = vec![false; netlist.moves()];
            let mut told: Vec<Vec<usize>> = Vec::new();
            let mut all_can_move = vec![true; LANES];
            for (lane, state) in states.iter().enumerate() {
                assert_eq!(lanes.state(lane), FluentSet::of(state), "lane {lane}");
                let values = netlist.evaluate(state, &idle);
                assert_eq!(lanes.is_terminal(lane), netlist.outputs.terminal.of(&values), "lane {lane}");
                let legal = legal(netlist, &values);
                for (role, moves) in legal.iter().enumerate() {
                    assert_eq!(lanes.goal(lane, role), score(&netlist.outputs.goals[role], &values), "lane {lane}");
                    assert!(lanes.legal(lane, role).eq(moves.iter().copied()), "lane {lane}");
                }
                all_can_move[lane] = legal.iter().all(|moves| !moves.is_empty());
                let some = legal.iter().filter(|moves| !moves.is_empty());
                told.push(some.map(|moves| moves[rng.random_range(0..moves.len())]).collect());
            }
            if turn % 2 == 0 {
                told =
                    lanes.step_at_random(rng).into_iter().map(|joint| joint.into_iter().flatten().collect()).collect();
            } else {
                let joints = told.iter().zip(&all_can_move).map(|(joint, &all)| if all { &joint[..] } else { &[] });
                lanes.step(joints);
            }
            for lane in 0..LANES {
                states[lane] = if all_can_move[lane] {
                    step(netlist, &states[lane], &told[lane])
                } else {
                    lanes.set(lane, &FluentSet::of(&netlist.initial));
                    netlist.initial.clone()
                };
            }
        }
    }

    #[test]
    fn every_lane_is_the_game() {
        let mut rng = Rng::seed_from_u64(1);
        games().iter().for_each(|network| agrees(&network.netlist, &mut rng));
        for round in 0..60 {
            let sizes =
                Sizes { roles: 1 + round % 3, moves: 3 + round % 5, fluents: 14, gates: 10 + 4 * round, steps: 3 };
            agrees(&random_network(&mut rng, sizes).netlist, &mut rng);
        }
    }

    /// A conjunction with so many literals that it is split twice, and next
    /// states that are swapped, inverted or constant.
    #[test]
    fn wide_gates_and_plain_wires_are_the_game() {
        const FLUENTS: usize = 300;
        let mut gates = Gates::new(FLUENTS, 2);
        let fluent = |fluent: usize| Lit::new(1 + fluent, false);
        let wide = gates.and((0..FLUENTS).map(|f| if f % 3 == 0 { !fluent(f) } else { fluent(f) }));
        let narrow = gates.or((0..70).map(fluent));
        let mut next: Vec<Lit> = (0..FLUENTS).map(|f| fluent((f + 7) % FLUENTS)).collect();
        next[0] = !fluent(0);
        next[1] = Lit::TRUE;
        next[2] = Lit::FALSE;
        next[3] = !fluent(4);
        next[4] = fluent(3);
        next[5] = !wide;
        next[6] = wide;
        next[10] = Lit::new(1 + FLUENTS, true);
        next[11] = narrow;
        next[12] = narrow;
        next[13] = fluent(13);
        let outputs =
            Outputs { next, legal: vec![!wide, !wide], terminal: wide, goals: vec![vec![(7, wide), (8, narrow)]] };
        let roles = std::iter::once(0..2).collect();
        let initial: Vec<bool> = (0..FLUENTS).map(|f| f % 3 != 0).collect();
        let mut rng = Rng::seed_from_u64(2);
        let netlist = gates.finish(initial, roles, outputs);
        assert!(netlist.outputs.terminal.of(&netlist.evaluate(&netlist.initial, &[false; 2])));
        agrees(&netlist, &mut rng);
    }

    /// Computes the exact mean length and mean goals of uniformly random
    /// playouts.
    fn expected(netlist: &Netlist, state: &[bool], known: &mut HashMap<Vec<bool>, Vec<f64>>) -> Vec<f64> {
        if let Some(means) = known.get(state) {
            return means.clone();
        }
        let values = netlist.evaluate(state, &vec![false; netlist.moves()]);
        let means = if netlist.outputs.terminal.of(&values) {
            let scores = netlist.outputs.goals.iter().map(|goals| f64::from(score(goals, &values).score()));
            std::iter::once(0.0).chain(scores).collect()
        } else {
            let mut joints = vec![Vec::new()];
            for moves in legal(netlist, &values) {
                joints =
                    joints.iter().flat_map(|joint| moves.iter().map(move |&mv| [&joint[..], &[mv]].concat())).collect();
            }
            let mut means = vec![0.0; 1 + netlist.roles.len()];
            means[0] = 1.0;
            for joint in &joints {
                let after = expected(netlist, &step(netlist, state, joint), known);
                means.iter_mut().zip(after).for_each(|(mean, after)| *mean += after / joints.len() as f64);
            }
            means
        };
        known.insert(state.to_vec(), means.clone());
        means
    }

    /// Compares the means of playouts with exact ones, over many calls for
    /// `count` playouts, within 5.5 standard errors.
    fn fair(network: &Network, state: &[bool], count: usize, seed: u64) {
        let netlist = &network.netlist;
        let exact = expected(netlist, state, &mut HashMap::new());
        let mut lanes = Lanes::new(netlist).expect("the network is small");
        let mut rng = Rng::seed_from_u64(seed);
        let roles = netlist.roles.len();
        let mut samples: Vec<Vec<f64>> = vec![Vec::new(); 1 + roles];
        while samples[0].len() < 100_000 {
            let playouts = lanes.playouts_from(&FluentSet::of(state), count, &mut rng).expect("playouts end");
            assert_eq!((playouts.lengths.len(), playouts.scores.len()), (count, count * roles));
            assert_eq!(playouts.steps, playouts.lengths.iter().map(|&length| u64::from(length)).sum::<u64>());
            samples[0].extend(playouts.lengths.iter().copied().map(f64::from));
            for (index, &score) in playouts.scores.iter().enumerate() {
                samples[1 + index % roles].push(f64::from(score));
            }
        }
        for (exact, sample) in exact.iter().zip(&samples) {
            let size = sample.len() as f64;
            let mean = sample.iter().sum::<f64>() / size;
            let variance = sample.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / size;
            let error = (variance / size).sqrt().max(1e-9);
            assert!((mean - exact).abs() < 5.5 * error, "{mean} is not {exact} +- {error}");
        }
    }

    #[test]
    fn playouts_are_fair() {
        for network in [tic_tac_toe(), pennies(), three_in_turn(7), lamps(6, 9)] {
            fair(&network, &network.netlist.initial, 20_000, 1);
        }
    }

    /// Lanes that end early must not have a larger weight: the test has few
    /// playouts with very different lengths, and goals that depend on the
    /// length.
    #[test]
    fn short_playouts_count_no_more_than_long_ones() {
        let network = stop_or_go(12);
        for count in [1, 100, 600, 1500] {
            fair(&network, &network.netlist.initial, count, 2);
        }
        for count in [600, 1500] {
            fair(&three_in_turn(7), &three_in_turn(7).netlist.initial, count, 3);
        }
    }

    /// Returns a game in which one role may stop at each step, must stop after
    /// some, and gets a higher goal the earlier it stops.
    fn stop_or_go(steps: usize) -> Network {
        let mut gates = Gates::new(steps + 2, 2);
        let at = |step: usize| Lit::new(1 + step, false);
        let over = Lit::new(2 + steps, false);
        let goes = Lit::new(3 + steps, false);
        let stops = Lit::new(4 + steps, false);
        let mut next = vec![Lit::FALSE];
        next.extend((0..steps).map(|step| gates.or([at(step), over])));
        next.push(stops);
        // The step does not change after the end of the match.
        for (step, next) in next[..=steps].iter_mut().enumerate() {
            let before = if step == 0 { Lit::FALSE } else { gates.and([at(step - 1), goes]) };
            let stays = gates.and([at(step), stops]);
            *next = gates.or([before, stays]);
        }
        let mut initial = vec![false; steps + 2];
        initial[0] = true;
        let goals = (0..=steps).map(|step| (100 - 8 * step as u8, at(step))).collect();
        let outputs = Outputs { next, legal: vec![!at(steps), Lit::TRUE], terminal: over, goals: vec![goals] };
        let roles = std::iter::once(0..2).collect();
        let names = |count: usize| (0..count).map(|name| name.to_string()).collect();
        Network {
            netlist: gates.finish(initial, roles, outputs),
            roles: names(1),
            fluents: names(steps + 2),
            moves: names(2),
        }
    }

    #[test]
    fn playouts_begin_anywhere() {
        let mut rng = Rng::seed_from_u64(4);
        for network in [tic_tac_toe(), row_game(3, 3, 3, true), three_in_turn(8)] {
            let netlist = &network.netlist;
            let mut state = netlist.initial.clone();
            loop {
                fair(&network, &state, 5_000, rng.random());
                let values = netlist.evaluate(&state, &vec![false; netlist.moves()]);
                if netlist.outputs.terminal.of(&values) {
                    break;
                }
                let legal = legal(netlist, &values);
                let joint: Vec<usize> = legal.iter().map(|moves| moves[rng.random_range(0..moves.len())]).collect();
                state = step(netlist, &state, &joint);
            }
        }
        // A state outside all phases: both roles are in control.
        let network = row_game(3, 2, 2, false);
        let mut state = network.netlist.initial.clone();
        let control = state.len() - 2;
        state[control..].fill(true);
        fair(&network, &state, 5_000, 5);
    }

    /// Creates a game with one fluent and one move.
    fn small(initial: bool, outputs: Outputs) -> Lanes {
        let netlist = Gates::new(1, 1).finish(vec![initial], std::iter::once(0..1).collect(), outputs);
        Lanes::new(&netlist).expect("the network is small")
    }

    /// Plays each lane from its own state, in the same phase or not.
    #[test]
    fn lanes_are_played_out() {
        for mixed in [false, true] {
            let network = tic_tac_toe();
            let netlist = &network.netlist;
            let mut rng = Rng::seed_from_u64(7);
            let mut lanes = Lanes::new(netlist).expect("the network is small");
            let mut known = HashMap::new();
            let mut deviations = vec![Vec::new(); 3];
            for _ in 0..100 {
                let mut exact = Vec::new();
                for lane in 0..LANES {
                    let mut state = netlist.initial.clone();
                    for _ in 0..if mixed { lane % 9 } else { lane % 4 * 2 } {
                        let values = netlist.evaluate(&state, &vec![false; netlist.moves()]);
                        if !netlist.outputs.terminal.of(&values) {
                            let legal = legal(netlist, &values);
                            let joint: Vec<usize> =
                                legal.iter().map(|moves| moves[rng.random_range(0..moves.len())]).collect();
                            state = step(netlist, &state, &joint);
                        }
                    }
                    lanes.set(lane, &FluentSet::of(&state));
                    exact.push(expected(netlist, &state, &mut known));
                }
                let playouts = lanes.play_out(&mut rng).expect("playouts end");
                assert_eq!(playouts.lengths.len(), LANES);
                for (lane, exact) in exact.iter().enumerate() {
                    // A match that is over does not change.
                    if exact[0] == 0.0 {
                        assert_eq!(playouts.lengths[lane], 0);
                    }
                    deviations[0].push(f64::from(playouts.lengths[lane]) - exact[0]);
                    for role in 0..2 {
                        deviations[1 + role].push(f64::from(playouts.scores[2 * lane + role]) - exact[1 + role]);
                    }
                }
            }
            for deviations in deviations {
                let size = deviations.len() as f64;
                let mean = deviations.iter().sum::<f64>() / size;
                let error = (deviations.iter().map(|value| value.powi(2)).sum::<f64>()).sqrt() / size;
                assert!(mean.abs() < 5.5 * error, "{mean} is not 0 +- {error}");
            }
        }
    }

    #[test]
    fn what_cannot_be_played_is_an_error() {
        let on = Lit::new(1, false);
        let outputs = |next, legal, terminal| Outputs {
            next: vec![next],
            legal: vec![legal],
            terminal,
            goals: vec![vec![(50, on), (70, on)]],
        };
        let mut rng = Rng::seed_from_u64(6);
        let stuck = small(true, outputs(Lit::FALSE, on, Lit::FALSE)).playouts(3, &mut rng);
        assert_eq!(stuck, Err(LanesError::NoLegalMove { role: 0 }));
        let endless = small(true, outputs(on, on, !on)).playouts(3, &mut rng);
        assert_eq!(endless, Err(LanesError::Endless { steps: MOST_STEPS }));
        // No goal and several goals are both faults, and count as 0.
        let several = small(true, outputs(on, on, on)).playouts(3, &mut rng).expect("over at once");
        assert_eq!(several, Playouts { lengths: vec![0; 3], scores: vec![0; 3], faults: 3, steps: 0 });
        let none = small(true, outputs(Lit::FALSE, Lit::TRUE, !on)).playouts(3, &mut rng).expect("over in a step");
        assert_eq!(none, Playouts { lengths: vec![1; 3], scores: vec![0; 3], faults: 3, steps: 3 });
        let empty = small(true, outputs(Lit::FALSE, Lit::TRUE, !on)).playouts(0, &mut rng);
        assert_eq!(empty, Ok(Playouts::default()));
    }

    #[test]
    fn the_same_seed_gives_the_same_playouts() {
        let network = tic_tac_toe();
        let mut lanes = Lanes::new(&network.netlist).expect("the network is small");
        let mut playouts = |seed| lanes.playouts(700, &mut Rng::seed_from_u64(seed)).expect("playouts end");
        let first = playouts(1);
        assert_ne!(playouts(2), first);
        assert_eq!(playouts(1), first);
    }
}
