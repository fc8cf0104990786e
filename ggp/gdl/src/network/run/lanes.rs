//! Many matches of a game at once, one per lane.

use sternhalma_game::Rng;
use sternhalma_game::util::FluentSet;

use super::choice::MAX_MOVES;
use super::playouts::PlayoutRun;
use super::{Bits, LaneProgram, LaneSlots, LanesError, Playouts, Slot};
use crate::Goal;
use crate::network::Netlist;
use crate::network::build::{GamePhase, phases};

/// A game in 512 lanes, each with its own state.
///
/// ```
/// use rand::SeedableRng;
/// use sternhalma_game::Rng;
/// use sternhalma_gdl::network::{Gates, Lanes, Lit, Netlist, Outputs};
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
    general: LaneProgram,
    /// The programs for the phases of the game, beginning with the initial
    /// state.
    phases: Vec<(GamePhase, LaneProgram)>,
    initial: Vec<bool>,
    slots: LaneSlots,
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
        let compiled = |phase: GamePhase| {
            let program = LaneProgram::new(&phase.netlist);
            (phase, program)
        };
        Lanes::with(netlist, phases(netlist).into_iter().map(compiled).collect())
    }

    /// Compiles a game for single steps only, without playouts. Such a
    /// compilation takes less time and memory.
    ///
    /// # Errors
    ///
    /// Returns [`LanesError::TooLarge`] if the network does not fit.
    pub fn for_steps(netlist: &Netlist) -> Result<Lanes, LanesError> {
        Lanes::with(netlist, Vec::new())
    }

    fn with(netlist: &Netlist, phases: Vec<(GamePhase, LaneProgram)>) -> Result<Lanes, LanesError> {
        if netlist.roles.iter().any(|moves| moves.len() > MAX_MOVES) {
            return Err(LanesError::TooLarge);
        }
        let general = LaneProgram::new(netlist);
        let mut lanes = Lanes {
            slots: LaneSlots::new(
                phases
                    .iter()
                    .map(|(_, program)| program)
                    .chain([&general])
                    .map(LaneProgram::slot_count)
                    .max()
                    .unwrap_or(1),
            ),
            general,
            phases,
            initial: netlist.initial.clone(),
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
    pub(super) fn playouts_from(
        &mut self,
        state: &FluentSet,
        count: usize,
        rng: &mut Rng,
    ) -> Result<Playouts, LanesError> {
        self.set_all(state);
        let programs = programs(&self.phases, &self.general, &self.slots);
        let mut run = PlayoutRun::new(&mut self.slots, rng);
        run.prepare(programs[0], count);
        run.play(&programs)?;
        Ok(run.playouts)
    }

    /// Puts all lanes in a state. An unreachable state may be evaluated
    /// incorrectly.
    pub fn set_all(&mut self, state: &FluentSet) {
        for fluent in 0..self.initial.len() {
            self.slots[LaneProgram::fluent(fluent)] = Bits::all_if(state.contains(fluent));
        }
    }

    /// Puts a lane in a state.
    pub fn set(&mut self, lane: usize, state: &FluentSet) {
        for fluent in 0..self.initial.len() {
            self.slots[LaneProgram::fluent(fluent)].set(lane, state.contains(fluent));
        }
    }

    /// Returns the state of a lane.
    pub fn state(&self, lane: usize) -> FluentSet {
        let mut state = FluentSet::new(self.initial.len());
        let holds = |fluent: &usize| self.slots[LaneProgram::fluent(*fluent)].get(lane);
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
        Goal::of(self.goals[role].iter().filter(|(_, holds)| holds.get(lane)).map(|&(score, _)| score))
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
                    self.slots[role.first + index as Slot].set(lane, true);
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
        &self.slots[LaneProgram::fluent(fluent)].0
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
}

/// Returns the programs to run: those of the phases from the current
/// one on if all lanes are in one phase, otherwise the general one.
fn programs<'a>(
    phases: &'a [(GamePhase, LaneProgram)],
    general: &'a LaneProgram,
    slots: &LaneSlots,
) -> Vec<&'a LaneProgram> {
    let here = |(fluent, value): &(usize, bool)| slots[LaneProgram::fluent(*fluent)] == Bits::all_if(*value);
    match phases.iter().position(|(phase, _)| phase.fluents.iter().all(here)) {
        Some(phase) => {
            let (before, after) = phases.split_at(phase);
            after.iter().chain(before).map(|(_, program)| program).collect()
        }
        None => vec![general],
    }
}
