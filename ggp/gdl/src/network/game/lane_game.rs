//! A network for searches whose simulations advance in lanes.

use std::ops::Range;
use std::sync::Arc;

use sternhalma_game::util::{bits, nth_bit};
use sternhalma_game::{MemoryBudget, MemoryUse};

use crate::network::build::{GamePhase, Netlist, phases};
use crate::network::run::{LaneProgram, LaneSlots, LanesError, NetworkState, SequentialEngine, Slot};

/// The network of a game, compiled for simulations that advance in lanes.
pub struct LaneGame {
    pub(super) engine: Arc<SequentialEngine>,
    /// The number of fluents of a state.
    pub(super) fluents: usize,
    /// The phases of the game, beginning with the initial state.
    pub(super) phases: Vec<Arc<LanePhase>>,
    memory: MemoryUse,
}

/// The game in one phase.
pub(super) struct LanePhase {
    /// The fluents that the phase determines, with their values.
    fluents: Vec<(usize, bool)>,
    pub program: LaneProgram,
    /// The legal moves of each role as bits of a view.
    pub roles: Vec<RoleBits>,
    /// The slot of each bit of a view; unused bits have slot 0, which is
    /// false.
    pub planes: Vec<Slot>,
    /// For each move the slot that marks it as played; `None` if no mark is
    /// needed.
    pub done: Vec<Option<Slot>>,
}

/// The location of the legal moves of a role in a view.
pub(super) struct RoleBits {
    /// The words with one bit per move.
    words: Range<usize>,
    /// The move of each bit, in the order of the network.
    moves: Vec<u32>,
    /// Whether there is only one move, which is always legal; it has no bit.
    forced: bool,
}

impl LanePhase {
    fn new(moves: usize, engine: &SequentialEngine, fluents: Vec<(usize, bool)>, program: LaneProgram) -> LanePhase {
        let mut planes = Vec::new();
        let mut done = vec![None; moves];
        let mut roles = Vec::new();
        for (role, of_role) in program.roles().iter().enumerate() {
            let slot = |mv: u32| of_role.moves.binary_search(&(mv as usize)).ok().map(|at| of_role.first + at as Slot);
            let slots: Vec<(u32, Slot)> = engine.order(role).filter_map(|mv| Some((mv, slot(mv)?))).collect();
            let first = planes.len() / 64;
            if !of_role.forced {
                slots.iter().for_each(|&(mv, slot)| done[mv as usize] = Some(slot));
                planes.extend(slots.iter().map(|&(_, slot)| slot));
                planes.resize(planes.len().next_multiple_of(64), 0);
            }
            let moves = slots.into_iter().map(|(mv, _)| mv).collect();
            roles.push(RoleBits { words: first..planes.len() / 64, moves, forced: of_role.forced });
        }
        LanePhase { fluents, program, roles, planes, done }
    }
}

impl RoleBits {
    pub fn count(&self, words: &[u64]) -> u32 {
        match self.forced {
            true => 1,
            false => words[self.words.clone()].iter().map(|word| word.count_ones()).sum(),
        }
    }

    /// Calls `visit` with the legal moves, in order.
    #[inline]
    pub fn legal(&self, words: &[u64], mut visit: impl FnMut(u32)) {
        if self.forced {
            return visit(self.moves[0]);
        }
        for (&word, moves) in words[self.words.clone()].iter().zip(self.moves.chunks(64)) {
            bits(word).for_each(|bit| visit(moves[bit]));
        }
    }

    /// Returns the legal move with a given index.
    #[inline]
    pub fn nth(&self, words: &[u64], mut index: usize) -> Option<u32> {
        if self.forced {
            return self.moves.get(index).copied();
        }
        for (&word, moves) in words[self.words.clone()].iter().zip(self.moves.chunks(64)) {
            let count = word.count_ones() as usize;
            if index < count {
                return Some(moves[nth_bit(word, index)]);
            }
            index -= count;
        }
        None
    }
}

impl std::fmt::Debug for LaneGame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaneGame").field("phases", &self.phases.len()).finish_non_exhaustive()
    }
}

impl LaneGame {
    /// Compiles a network. Counts the memory of the programs, and of the states of one search, for a budget.
    ///
    /// # Errors
    ///
    /// Returns [`LanesError::OutOfMemory`] if it exceeds the room that is left.
    pub(super) fn within(
        netlist: &Netlist,
        engine: &Arc<SequentialEngine>,
        memory: &MemoryBudget,
    ) -> Result<LaneGame, LanesError> {
        let phase = |GamePhase { fluents, netlist }| {
            Arc::new(LanePhase::new(netlist.moves(), engine, fluents, LaneProgram::new(&netlist)))
        };
        let phases: Vec<Arc<LanePhase>> = phases(netlist).into_iter().map(phase).collect();
        let mut game =
            LaneGame { engine: engine.clone(), fluents: netlist.fluents(), phases, memory: MemoryUse::of(memory) };
        let programs: usize = game.phases.iter().map(|phase| phase.program.bytes()).sum();
        let (bytes, room) = ((programs + LaneSlots::bytes(game.slot_count())) as u64, memory.room());
        if bytes > room {
            return Err(LanesError::OutOfMemory { bytes, room });
        }
        game.memory.set(bytes);
        Ok(game)
    }

    /// Returns the largest number of slots of a program.
    pub(super) fn slot_count(&self) -> usize {
        self.phases.iter().map(|phase| phase.program.slot_count()).max().unwrap_or(0)
    }

    /// Returns the number of phases of a match.
    pub fn phase_count(&self) -> usize {
        self.phases.len()
    }

    /// Returns the phase of a state that is reachable.
    pub fn phase_of(&self, state: &NetworkState) -> usize {
        let fluents = state.fluents();
        let holds = |&(fluent, value): &(usize, bool)| fluents.contains(fluent) == value;
        let phase = self.phases.iter().position(|phase| phase.fluents.iter().all(holds));
        phase.expect("every state of a match is in one of the phases")
    }
}
