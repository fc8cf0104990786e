//! Random states at each distance of a table.

use std::collections::BinaryHeap;

use rand::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use sternhalma_builder::{BuildPhase, Observer};
use sternhalma_data::table::Distance;
use sternhalma_data::{DistanceStream, Table, TableError};

/// The number of states at each distance.
const SAMPLES: usize = 100;
/// The states that a thread reads after each other.
const PART: u64 = 1 << 24;
/// The states that are read at a time.
const CHUNK: u64 = 1 << 16;
/// The difference of the states of a [`SplitMix64`] generator before and after a number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The states with the least random numbers, with these numbers. The largest number is first.
type Least = BinaryHeap<(u64, u64)>;

/// Returns the ranks of random states at each distance, in random order. All states at a distance are equally likely. The
/// same seed draws the same states in every form of the table, with any number of threads. Returns `None` if the observer
/// cancels the pass.
///
/// Each state has a random number, and those with the least numbers at their distance are drawn.
///
/// Cost: a pass over the table ([`DistanceStream`]) that all threads share.
pub fn samples(table: &Table, seed: u64, observer: &dyn Observer) -> Result<Option<Vec<Vec<u64>>>, TableError> {
    let states = table.prefix().states();
    observer.begin(BuildPhase::Read, states);
    let parts = (0..states.div_ceil(PART)).into_par_iter();
    let drawn = parts.map(|part| draw(table, part * PART..states.min((part + 1) * PART), seed, observer));
    let merged = drawn.try_reduce(|| vec![Least::new(); Distance::COUNT], |a, b| Ok(merge(a, b)))?;
    if observer.cancelled() {
        return Ok(None);
    }
    let ranks = |least: Least| least.into_sorted_vec().into_iter().map(|(_, rank)| rank).collect();
    Ok(Some(merged.into_iter().take(table.info().layers.len()).map(ranks).collect()))
}

/// Draws states among those with these ranks.
fn draw(
    table: &Table,
    ranks: std::ops::Range<u64>,
    seed: u64,
    observer: &dyn Observer,
) -> Result<Vec<Least>, TableError> {
    // The number of a state is the one that the generator of the seed returns after as many others as the rank says.
    let mut random = SplitMix64::from_seed(seed.wrapping_add(ranks.start.wrapping_mul(STEP)).to_le_bytes());
    let mut stream = DistanceStream::new(table, ranks.clone())?;
    let mut all = vec![Least::new(); Distance::COUNT];
    let mut chunk = vec![0; CHUNK as usize];
    let mut first = ranks.start;
    while first < ranks.end && !observer.cancelled() {
        let chunk = &mut chunk[..(ranks.end - first).min(CHUNK) as usize];
        stream.read(chunk)?;
        for (rank, &mut distance) in (first..).zip(chunk.iter_mut()) {
            add(&mut all[usize::from(distance)], (random.next_u64(), rank));
        }
        first += chunk.len() as u64;
        observer.advance(chunk.len() as u64);
    }
    Ok(all)
}

/// Adds a state if its number is among the least.
fn add(least: &mut Least, state: (u64, u64)) {
    if least.len() < SAMPLES {
        least.push(state);
    } else if least.peek().is_some_and(|largest| state < *largest) {
        least.pop();
        least.push(state);
    }
}

fn merge(mut all: Vec<Least>, others: Vec<Least>) -> Vec<Least> {
    for (least, other) in all.iter_mut().zip(others) {
        other.into_iter().for_each(|state| add(least, state));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use sternhalma_data::{Board, Prefix};
    use sternhalma_testutil::{Reference, encodings};

    use super::*;

    #[test]
    fn states_are_drawn_at_each_distance_in_every_form() {
        let dir = tempfile::tempdir().unwrap();
        let reference = Reference::search(Prefix::whole(Board::new(6, 4).unwrap()));
        let mut first = None;
        for (number, encoding) in encodings().into_iter().enumerate() {
            let table = reference.write(&dir.path().join(number.to_string()), encoding);
            let drawn = samples(&table, 7, &()).unwrap().unwrap();
            for (distance, (ranks, &states)) in drawn.iter().zip(&table.info().layers).enumerate() {
                assert_eq!(ranks.len() as u64, states.min(SAMPLES as u64));
                assert_eq!(ranks.iter().collect::<HashSet<_>>().len(), ranks.len());
                assert!(ranks.iter().all(|&rank| usize::from(reference.distances[rank as usize]) == distance));
            }
            assert_eq!(first.get_or_insert_with(|| drawn.clone()), &drawn, "{encoding}");
            assert_ne!(samples(&table, 8, &()).unwrap().unwrap(), drawn);
        }
    }

    #[test]
    fn parts_draw_the_same_states() {
        let dir = tempfile::tempdir().unwrap();
        let reference = Reference::search(Prefix::whole(Board::new(5, 3).unwrap()));
        let table = reference.write(&dir.path().join("t"), encodings()[0]);
        let whole = draw(&table, 0..2300, 1, &()).unwrap();
        let parts = merge(draw(&table, 0..999, 1, &()).unwrap(), draw(&table, 999..2300, 1, &()).unwrap());
        let sorted = |all: Vec<Least>| all.into_iter().map(Least::into_sorted_vec).collect::<Vec<_>>();
        assert_eq!(sorted(whole), sorted(parts));
    }
}
