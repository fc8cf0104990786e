//! The moves of past simulations.

use std::collections::HashMap;

use sternhalma_game::NOOP;

use crate::MoveHistory;

/// A move of a role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MoveKey(pub u32);

impl MoveKey {
    /// Combines role and number. Look-ups take one multiplication, and keys of
    /// adjacent roles are adjacent, so keys are dense.
    #[inline]
    pub fn new(roles: usize, role: usize, number: u32) -> MoveKey {
        MoveKey(number * roles as u32 + role as u32)
    }
}

/// The position of a simulation in a [`SimulationLog`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LoggedSimulation {
    start: u32,
    /// The number of leading keys that are moves from a node onwards.
    pub count: u32,
}

impl LoggedSimulation {
    /// Returns whether the entry belongs to the simulation at this position.
    pub fn is_at(self, start: u32) -> bool {
        self.start == start
    }
}

/// A log of simulations: the rewards of each, and its moves from last to
/// first, each move of a role once.
///
/// A move is stored at its last occurrence, so the moves from any step onwards
/// form a prefix of the entry.
#[derive(Clone, Debug, Default)]
pub(super) struct SimulationLog {
    roles: usize,
    /// The simulations in order: the bits of one reward per role, then the
    /// keys, each with its role.
    pub words: Vec<u32>,
    /// The last simulation with each key.
    seen: Vec<u32>,
    simulations: u32,
    /// The number of keys of the moves from each step of the tree onwards.
    counts: Vec<u32>,
}

impl SimulationLog {
    /// The maximum number of words, 1 GiB.
    const MAX_WORDS: usize = 1 << 28;

    /// Adds a simulation and returns its position.
    /// [`entry`](SimulationLog::entry) then returns its moves from each of its
    /// first `steps` steps onwards.
    pub fn add(&mut self, steps: usize, history: &MoveHistory, rewards: &[f64]) -> u32 {
        self.roles = history.roles();
        self.simulations += 1;
        let start = self.words.len() as u32;
        self.words.extend(rewards.iter().map(|&reward| (reward as f32).to_bits()));
        let first = self.words.len();
        self.counts.clear();
        self.counts.resize(steps, 0);
        let length = history.len();
        for (back, numbers) in history.steps().rev().enumerate() {
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

    /// Returns the simulation that was added last, from a step of the tree
    /// onwards.
    pub fn entry(&self, start: u32, step: usize) -> LoggedSimulation {
        LoggedSimulation { start, count: self.counts[step] }
    }

    /// Returns the moves of a simulation with the reward of the role that
    /// played each.
    #[inline]
    pub fn moves(&self, entry: LoggedSimulation) -> impl Iterator<Item = (MoveKey, f32)> {
        let (rewards, keys) = self.words[entry.start as usize..].split_at(self.roles);
        let roles = self.roles as u32;
        keys[..entry.count as usize]
            .iter()
            .map(move |&key| (MoveKey(key), f32::from_bits(rewards[(key % roles) as usize])))
    }

    /// Removes all simulations except those of the given entries, and updates
    /// the positions of these entries.
    pub fn keep<'a>(&mut self, entries: impl Iterator<Item = &'a mut LoggedSimulation>) {
        let mut kept = Vec::new();
        let mut places: HashMap<u32, (u32, u32)> = HashMap::new();
        for entry in entries {
            let words = self.roles + entry.count as usize;
            let (place, longest) = places.entry(entry.start).or_insert((kept.len() as u32, 0));
            // The entries of one simulation are not adjacent, so a longer one
            // is kept separately.
            if entry.count > *longest || *longest == 0 {
                (*place, *longest) = (kept.len() as u32, entry.count);
                kept.extend_from_slice(&self.words[entry.start as usize..][..words]);
            }
            entry.start = *place;
        }
        self.words = kept;
    }

    /// Returns the memory of the log in bytes.
    pub fn bytes(&self) -> usize {
        (self.words.capacity() + self.seen.capacity()) * size_of::<u32>()
    }

    /// Returns whether a simulation with this number of words needs no more memory.
    pub fn has_space(&self, words: usize) -> bool {
        self.words.capacity() - self.words.len() >= words
    }

    /// Returns whether the log is full. Nodes with simulations in the log then
    /// get no more, so that a long search does not use up the memory.
    pub fn is_full(&self) -> bool {
        self.words.len() >= SimulationLog::MAX_WORDS
    }

    /// Removes the simulation that was added last.
    pub fn take_back(&mut self, start: u32) {
        self.words.truncate(start as usize);
    }
}
