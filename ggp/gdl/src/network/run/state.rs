//! States of a game that advances one state at a time.

use sternhalma_game::util::FluentSet;

/// A state of a [`SequentialEngine`](super::sequential::SequentialEngine) game: its fluents and their consequences.
#[derive(PartialEq, Eq, Debug)]
pub struct NetworkState {
    pub(super) fluents: FluentSet,
    /// The number of false literals of each slot, minus one: negative if the
    /// gate holds.
    pub(super) counters: Vec<i16>,
    pub(super) bits: Vec<u64>,
    /// The changing fluents; empty between steps.
    pub(super) flips: FluentSet,
    /// The moves of the current step.
    pub(in crate::network) joint: Vec<u32>,
}

impl Clone for NetworkState {
    fn clone(&self) -> NetworkState {
        NetworkState {
            fluents: self.fluents.clone(),
            counters: self.counters.clone(),
            bits: self.bits.clone(),
            flips: self.flips.clone(),
            joint: Vec::new(),
        }
    }

    /// Copies without allocation if both are states of the same game.
    fn clone_from(&mut self, other: &NetworkState) {
        self.fluents.clone_from(&other.fluents);
        self.counters.clone_from(&other.counters);
        self.bits.clone_from(&other.bits);
        self.flips.clone_from(&other.flips);
    }
}

impl NetworkState {
    /// Returns the fluents that hold.
    pub fn fluents(&self) -> &FluentSet {
        &self.fluents
    }

    /// Returns whether the gate of a slot holds.
    #[inline]
    pub(super) fn holds(&self, slot: usize) -> bool {
        self.counters[slot] < 0
    }
}
