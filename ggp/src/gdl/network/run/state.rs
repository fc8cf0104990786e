//! The states of a game that is stepped one state at a time.

use crate::util::FluentSet;

/// A state of a [`Sequential`] game: what holds, and what follows from it.
#[derive(PartialEq, Eq, Debug)]
pub struct State {
    pub(super) fluents: FluentSet,
    /// For each slot, the literals that do not hold, less one: negative if
    /// the gate holds.
    pub(super) counters: Vec<i16>,
    pub(super) bits: Vec<u64>,
    /// The fluents that are changing; none between steps.
    pub(super) flips: FluentSet,
    /// The moves of a step, while it is played.
    pub(super) joint: Vec<u32>,
}

impl Clone for State {
    fn clone(&self) -> State {
        State {
            fluents: self.fluents.clone(),
            counters: self.counters.clone(),
            bits: self.bits.clone(),
            flips: self.flips.clone(),
            joint: Vec::new(),
        }
    }

    /// Without allocation, if both are states of the same game.
    fn clone_from(&mut self, other: &State) {
        self.fluents.clone_from(&other.fluents);
        self.counters.clone_from(&other.counters);
        self.bits.clone_from(&other.bits);
        self.flips.clone_from(&other.flips);
    }
}

impl State {
    /// The fluents that hold.
    pub fn fluents(&self) -> &FluentSet {
        &self.fluents
    }

    /// Whether a slot's gate holds.
    #[inline]
    pub(super) fn holds(&self, slot: usize) -> bool {
        self.counters[slot] < 0
    }
}
