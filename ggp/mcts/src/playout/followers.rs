//! The moves that followed a context.

use super::MoveHistory;
use super::decay::{DecayingAverage, Scale};

/// The moves that followed a context, with the averages of the sequences that they end.
#[derive(Clone, Debug)]
pub(super) enum Followers {
    One(Follower),
    /// A hash table with open addressing: a power of two of slots with at least a quarter free.
    Hashed {
        slots: Box<[Follower]>,
        used: u32,
        /// Whether some sequence may have enough weight.
        counts: bool,
    },
    /// An array by move number, if it takes no more memory than the hash table without the spare entries at its end.
    Row {
        averages: Box<[DecayingAverage]>,
        counts: bool,
    },
}

/// A sequence: its last move, and its average.
#[derive(Clone, Copy, Debug)]
pub(super) struct Follower {
    pub number: u32,
    pub average: DecayingAverage,
}

impl Follower {
    const FREE: Follower = Follower { number: MoveHistory::NONE, average: DecayingAverage::NONE };
}

/// Returns the first slot for a move.
#[inline]
fn first_place(slots: &[Follower], number: u32) -> usize {
    // The function is Fibonacci hashing; the upper bits of the product are
    // well mixed.
    let hash = number.wrapping_mul(0x9e37_79b9);
    ((u64::from(hash) * slots.len() as u64) >> 32) as usize
}

/// Returns the slot of a move, or the free slot for it.
#[inline]
fn place(slots: &[Follower], number: u32) -> usize {
    let mut place = first_place(slots, number);
    while slots[place].number != number && slots[place].number != MoveHistory::NONE {
        place = (place + 1) & (slots.len() - 1);
    }
    place
}

/// Returns the followers in slots that are not free.
fn occupied(slots: &[Follower]) -> Vec<Follower> {
    slots.iter().filter(|slot| slot.number != MoveHistory::NONE).copied().collect()
}

/// Puts followers into free slots.
fn fill(slots: &mut [Follower], all: &[Follower]) {
    for follower in all {
        slots[place(slots, follower.number)] = *follower;
    }
}

impl Followers {
    /// Returns the memory of the entries in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Followers::One(_) => 0,
            Followers::Hashed { slots, .. } => size_of_val::<[Follower]>(slots),
            Followers::Row { averages, .. } => size_of_val::<[DecayingAverage]>(averages),
        }
    }

    /// Returns the average in the first slot that a look-up of a move reads. It may be that of another move: the call
    /// only loads the slot into the cache.
    #[inline]
    pub fn first_at(&self, number: u32) -> DecayingAverage {
        match self {
            Followers::One(follower) => follower.average,
            Followers::Hashed { slots, .. } => slots[first_place(slots, number)].average,
            Followers::Row { averages, .. } => averages.get(number as usize).copied().unwrap_or(DecayingAverage::NONE),
        }
    }

    /// Returns whether a move needs more memory than there is.
    pub fn needs_room(&self, number: u32) -> bool {
        match self {
            Followers::One(follower) => follower.number != number,
            Followers::Hashed { slots, used, .. } => {
                4 * (*used as usize + 1) > 3 * slots.len() && slots[place(slots, number)].number != number
            }
            Followers::Row { averages, .. } => number as usize >= averages.len(),
        }
    }

    /// Makes room for another move. Chooses the array if that takes no more memory. `is_enough` returns whether an
    /// average has enough weight to count.
    pub fn make_room(&mut self, number: u32, is_enough: impl Fn(DecayingAverage) -> bool) {
        let all = self.all();
        let counts = all.iter().any(|follower| is_enough(follower.average));
        let numbers = all.iter().map(|follower| follower.number).chain([number]);
        let length = numbers.max().map_or(0, |largest| largest as usize + 1);
        let mut size = 4;
        while 4 * (all.len() + 1) > 3 * size {
            size *= 2;
        }
        *self = if length * size_of::<DecayingAverage>() <= size * size_of::<Follower>() {
            let mut averages = vec![DecayingAverage::NONE; (length + length / 4).next_multiple_of(8)];
            all.iter().for_each(|follower| averages[follower.number as usize] = follower.average);
            Followers::Row { averages: averages.into(), counts }
        } else {
            let mut slots = vec![Follower::FREE; size];
            fill(&mut slots, &all);
            Followers::Hashed { slots: slots.into(), used: all.len() as u32, counts }
        };
    }

    /// Updates the average of a move, which has room.
    pub fn update(
        &mut self,
        number: u32,
        update: impl FnOnce(&mut DecayingAverage),
        is_enough: impl Fn(DecayingAverage) -> bool,
    ) {
        match self {
            Followers::One(follower) => update(&mut follower.average),
            Followers::Hashed { slots, used, counts } => {
                let place = place(slots, number);
                let follower = &mut slots[place];
                *used += u32::from(follower.number == MoveHistory::NONE);
                follower.number = number;
                update(&mut follower.average);
                *counts |= is_enough(follower.average);
            }
            Followers::Row { averages, counts } => {
                let average = &mut averages[number as usize];
                update(average);
                *counts |= is_enough(*average);
            }
        }
    }

    /// Returns the moves that have an average.
    pub fn all(&self) -> Vec<Follower> {
        match self {
            Followers::One(follower) => vec![*follower],
            Followers::Hashed { slots, .. } => occupied(slots),
            Followers::Row { averages, .. } => (0..)
                .zip(averages)
                .filter(|(_, average)| **average != DecayingAverage::NONE)
                .map(|(number, &average)| Follower { number, average })
                .collect(),
        }
    }

    /// Multiplies all weights and removes moves without weight. Returns whether any move is left.
    pub fn multiply(&mut self, factor: f32) -> bool {
        match self {
            Followers::One(follower) => follower.average.multiply(factor),
            Followers::Hashed { slots, used, .. } => {
                let mut all = occupied(slots);
                all.retain_mut(|follower| follower.average.multiply(factor));
                *used = all.len() as u32;
                slots.fill(Follower::FREE);
                fill(slots, &all);
                !all.is_empty()
            }
            Followers::Row { averages, .. } => {
                let mut is_left = false;
                for average in averages {
                    match average.multiply(factor) {
                        true => is_left = true,
                        false => *average = DecayingAverage::NONE,
                    }
                }
                is_left
            }
        }
    }

    /// Adds the averages of some moves to `sums`, together with their numbers.
    #[inline]
    pub fn add_values(&self, numbers: &[u32], sums: &mut [(f32, f32)], least: f32, scale: Scale) {
        let mut add = |at: usize, average: DecayingAverage| {
            if let Some(mean) = average.mean_from(least, scale) {
                sums[at].0 += mean;
                sums[at].1 += 1.0;
            }
        };
        match self {
            Followers::One(follower) if follower.average.mean_from(least, scale).is_some() => {
                let at = numbers.iter().position(|&number| number == follower.number);
                at.into_iter().for_each(|at| add(at, follower.average));
            }
            Followers::Hashed { slots, counts: true, .. } => {
                (0..).zip(numbers).for_each(|(at, &number)| add(at, slots[place(slots, number)].average));
            }
            Followers::Row { averages, counts: true } => (0..).zip(numbers).for_each(|(at, &number)| {
                add(at, averages.get(number as usize).copied().unwrap_or(DecayingAverage::NONE));
            }),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::playout::Decay;
    use sternhalma_game::Rng;

    #[test]
    fn followers_are_averages_by_number() {
        const SCALE: Scale = Scale::ONE;
        let limits = Decay { omega: 0.97, ..Decay::NONE }.limits();
        let mut rng = Rng::seed_from_u64(6);
        let is_enough = |average: DecayingAverage| average.mean_from(2.0, SCALE).is_some();
        let mut forms = [0; 3];
        for round in 0..60 {
            let mut followers = Followers::One(Follower { number: 5, average: DecayingAverage::NONE });
            let mut alone: BTreeMap<u32, DecayingAverage> = BTreeMap::new();
            // Move numbers are close together, far apart, or both; the first ones are alike.
            let most = [12, 200, 100_000][round % 3];
            for step in 0..300 {
                let far = round % 2 == 1 && rng.random_range(0..40) == 0;
                let number = match step {
                    0..10 => 5,
                    _ if far => rng.random_range(0..1_000_000),
                    _ => rng.random_range(0..most),
                };
                let reward = rng.random();
                if followers.needs_room(number) {
                    followers.make_room(number, is_enough);
                }
                followers.update(number, |average| average.add(reward, limits, SCALE), is_enough);
                alone.entry(number).or_default().add(reward, limits, SCALE);
                if step % 90 == 89 {
                    assert!(followers.multiply(1e-5), "the last average is left");
                    alone.retain(|_, average| average.multiply(1e-5));
                }
                let form = match &followers {
                    Followers::One(_) => 0,
                    Followers::Hashed { .. } => 1,
                    Followers::Row { .. } => 2,
                };
                forms[form] += 1;
            }
            let all = followers.all().into_iter().map(|Follower { number, average }| (number, average));
            assert!(all.collect::<BTreeMap<_, _>>() == alone, "round {round}");
            let numbers: Vec<u32> = alone.keys().flat_map(|&number| [number, number + 1]).collect();
            let mut sums = vec![(0.5, 1.0); numbers.len()];
            followers.add_values(&numbers, &mut sums, 2.0, SCALE);
            for (number, sum) in numbers.iter().zip(sums) {
                let mean = alone.get(number).and_then(|average| average.mean_from(2.0, SCALE));
                assert_eq!(sum, mean.map_or((0.5, 1.0), |mean| (0.5 + mean, 2.0)), "round {round}, {number}");
            }
            assert!(!followers.multiply(1e-9), "round {round}");
        }
        assert!(forms[0] >= 600 && forms[1..].iter().all(|&count| count > 3000), "{forms:?}");
    }
}
