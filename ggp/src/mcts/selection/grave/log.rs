//! The moves of past simulations.

use std::collections::HashMap;

use crate::game::NOOP;
use crate::mcts::move_history::MoveHistory;

/// A move of a role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MoveKey(pub u32);

impl MoveKey {
    /// Numbers are looked up with a multiplication; the roles next to each
    /// other keep them dense.
    #[inline]
    pub fn new(roles: usize, role: usize, number: u32) -> MoveKey {
        MoveKey(number * roles as u32 + role as u32)
    }
}

/// The place of a simulation in a [`SimulationLog`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LoggedSimulation {
    start: u32,
    /// How many keys, of those it begins with, are of moves from a node on.
    pub count: u32,
}

impl LoggedSimulation {
    /// Whether it is of the simulation at this place.
    pub fn is_at(self, start: u32) -> bool {
        self.start == start
    }
}

/// Simulations: the rewards of each, and its moves from the last to the first,
/// each move of a role once.
///
/// As a move stands where it is played last, the moves from some step on are
/// the first ones of the simulation.
#[derive(Clone, Debug, Default)]
pub(super) struct SimulationLog {
    roles: usize,
    /// Simulation after simulation: the bits of a reward a role, then the keys,
    /// each with its role.
    words: Vec<u32>,
    /// By key: the last simulation that had it.
    seen: Vec<u32>,
    simulations: u32,
    /// How many keys the moves from each step of the tree on have.
    counts: Vec<u32>,
}

impl SimulationLog {
    /// 1 GiB.
    const MOST_WORDS: usize = 1 << 28;

    /// Adds a simulation. [`entry`](SimulationLog::entry) then tells its moves from each
    /// of its first `steps` steps on.
    pub fn add(&mut self, steps: usize, trail: &MoveHistory, rewards: &[f64]) -> u32 {
        self.roles = trail.roles();
        self.simulations += 1;
        let start = self.words.len() as u32;
        self.words.extend(rewards.iter().map(|&reward| (reward as f32).to_bits()));
        let first = self.words.len();
        self.counts.clear();
        self.counts.resize(steps, 0);
        let length = trail.len();
        for (back, numbers) in trail.steps().rev().enumerate() {
            for (role, &number) in numbers.iter().enumerate().filter(|(_, number)| **number < NOOP) {
                self.add_key(MoveKey::new(self.roles, role, number));
            }
            if let Some(count) = self.counts.get_mut(length - 1 - back) {
                *count = (self.words.len() - first) as u32;
            }
        }
        start
    }

    #[inline]
    fn add_key(&mut self, key: MoveKey) {
        let place = key.0 as usize;
        if self.seen.len() <= place {
            self.seen.resize(place + 1, 0);
        }
        if std::mem::replace(&mut self.seen[place], self.simulations) != self.simulations {
            self.words.push(key.0);
        }
    }

    /// The simulation that was added last, from a step of the tree on.
    pub fn entry(&self, start: u32, step: usize) -> LoggedSimulation {
        LoggedSimulation { start, count: self.counts[step] }
    }

    /// The moves of a simulation with the reward of the role that played each.
    #[inline]
    pub fn moves(&self, entry: LoggedSimulation) -> impl Iterator<Item = (MoveKey, f32)> {
        let (rewards, keys) = self.words[entry.start as usize..].split_at(self.roles);
        let roles = self.roles as u32;
        keys[..entry.count as usize]
            .iter()
            .map(move |&key| (MoveKey(key), f32::from_bits(rewards[(key % roles) as usize])))
    }

    /// Forgets all simulations but those of these entries, which are told
    /// their new places.
    pub fn keep<'a>(&mut self, entries: impl Iterator<Item = &'a mut LoggedSimulation>) {
        let mut kept = Vec::new();
        let mut places: HashMap<u32, (u32, u32)> = HashMap::new();
        for entry in entries {
            let words = self.roles + entry.count as usize;
            let (place, longest) = places.entry(entry.start).or_insert((kept.len() as u32, 0));
            // The entries of a simulation do not follow each other, so a
            // longer one is kept by itself.
            if entry.count > *longest || *longest == 0 {
                (*place, *longest) = (kept.len() as u32, entry.count);
                kept.extend_from_slice(&self.words[entry.start as usize..][..words]);
            }
            entry.start = *place;
        }
        self.words = kept;
    }

    /// Whether nodes that have simulations here are to get no more of them: a
    /// search that goes on for long would else use up memory.
    pub fn is_full(&self) -> bool {
        self.words.len() >= SimulationLog::MOST_WORDS
    }

    /// Forgets the simulation that was added last.
    pub fn take_back(&mut self, start: u32) {
        self.words.truncate(start as usize);
    }
}
