//! States of a table at a distance, and random ones.

use std::collections::{BTreeMap, HashSet};

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::error::TableError;
use super::reader::Table;
use super::stream::DistanceStream;
use crate::board::Rank;

/// The number of states per read.
const CHUNK: u64 = 1 << 20;

/// The ranks of the states at a distance, in ascending order. See [`Table::states_at`].
pub struct StatesAt<'a> {
    distance: u8,
    stream: DistanceStream<'a>,
    /// The distances of the current chunk, and its first rank.
    chunk: Vec<u8>,
    first: u64,
    /// The offset in the chunk at which the next search begins.
    offset: usize,
    states: u64,
}

impl Iterator for StatesAt<'_> {
    type Item = Result<Rank, TableError>;

    fn next(&mut self) -> Option<Result<Rank, TableError>> {
        loop {
            let rest = &self.chunk[self.offset..];
            if let Some(at) = rest.iter().position(|&distance| distance == self.distance) {
                let found = self.offset + at;
                self.offset = found + 1;
                return Some(Ok(Rank(self.first + found as u64)));
            }
            self.first += self.chunk.len() as u64;
            self.offset = 0;
            self.chunk.resize((self.states - self.first).min(CHUNK) as usize, 0);
            if self.chunk.is_empty() {
                return None;
            }
            if let Err(error) = self.stream.read(&mut self.chunk) {
                (self.first, self.chunk) = (self.states, Vec::new());
                return Some(Err(error));
            }
        }
    }
}

impl Table {
    /// Returns the ranks of the covered states at a distance, in ascending order.
    ///
    /// Cost: a pass over the table ([`DistanceStream`]), with 1 MiB of memory.
    ///
    /// # Errors
    /// If the table is damaged.
    pub fn states_at(&self, distance: u8) -> Result<StatesAt<'_>, TableError> {
        let states = self.prefix().states();
        let stream = DistanceStream::new(self, 0..states)?;
        Ok(StatesAt { distance, stream, chunk: Vec::new(), first: 0, offset: 0, states })
    }

    /// Returns the ranks of different random covered states, in random order. All states are equally likely. If there
    /// are fewer than `count` states, all are returned. The same seed draws the same states in every form of the table.
    ///
    /// Cost: some 50 bytes of memory per drawn state.
    pub fn sample(&self, count: u64, seed: u64) -> Vec<Rank> {
        draw(self.prefix().states(), count, seed).into_iter().map(Rank).collect()
    }

    /// Returns the ranks of different random states at a distance, as [`sample`](Table::sample) does.
    ///
    /// Cost: that of [`states_at`](Table::states_at).
    ///
    /// # Errors
    /// If the table is damaged.
    pub fn sample_at(&self, distance: u8, count: u64, seed: u64) -> Result<Vec<Rank>, TableError> {
        let at_distance = self.info().layers.get(usize::from(distance)).copied().unwrap_or(0);
        let drawn = draw(at_distance, count, seed);
        // The places of the drawn states, by their index among those at the distance.
        let mut places: BTreeMap<u64, usize> = drawn.iter().enumerate().map(|(place, &index)| (index, place)).collect();
        let mut found = vec![Rank(0); drawn.len()];
        for (index, rank) in (0..).zip(self.states_at(distance)?) {
            let rank = rank?;
            if let Some(place) = places.remove(&index) {
                found[place] = rank;
            }
            if places.is_empty() {
                return Ok(found);
            }
        }
        // The table has fewer states at the distance than its header says.
        if places.is_empty() { Ok(found) } else { Err(self.contradiction(0)) }
    }
}

/// Draws different numbers below `end` in random order [Floyd 1987].
fn draw(end: u64, count: u64, seed: u64) -> Vec<u64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut drawn = HashSet::new();
    let mut order = Vec::new();
    for last in end.saturating_sub(count)..end {
        let number = rng.random_range(0..=last);
        let number = if drawn.insert(number) { number } else { last };
        drawn.insert(number);
        order.push(number);
    }
    order.shuffle(&mut rng);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_different_and_equally_likely() {
        let mut counts = [0; 6];
        for seed in 0..6000 {
            let drawn = draw(6, 3, seed);
            assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2] && drawn[0] != drawn[2], "{drawn:?}");
            drawn.iter().for_each(|&number| counts[number as usize] += 1);
            counts[drawn[0] as usize] += 1;
        }
        // Expected are 4000 with a standard deviation below 60; the seeds are fixed.
        assert!(counts.iter().all(|count| (3700..4300).contains(count)), "{counts:?}");
        let all = |count| {
            let mut drawn = draw(6, count, 1);
            drawn.sort_unstable();
            drawn
        };
        assert_eq!((all(6), all(9), all(0)), ((0..6).collect(), (0..6).collect(), Vec::new()));
    }
}
