//! Comparison of two tables of a board.
//!
//! A table of a prefix contains upper bounds, which are compared with a table
//! of a longer prefix. All statistics follow from the number of states with
//! each pair of distances, and there are few pairs.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;
use sternhalma_data::{DistanceStream, Prefix, Table};

use crate::blocks::check_blocks;
use crate::error::{BuilderError, Result};
use crate::observer::{BuildPhase, Observer};
use crate::process::thread_pool;

/// The states that a thread takes at a time.
const GRAIN: u64 = 1 << 20;
/// The number of distances that a byte can hold.
const WIDTH: usize = 256;

/// The result of the comparison of two tables, on the states that both cover.
/// The compared states are those of the smaller prefix.
///
/// A longer prefix allows more paths, so its distances are at most those of a
/// shorter one. If the shorter prefix proves a distance, both are equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// The prefix of the smaller table.
    prefix: Prefix,
    proven_depth: Option<u32>,
    /// Whether both tables cover the same states, so that they must be equal.
    same: bool,
    /// The number of states for each distance in the smaller and in the larger table.
    pairs: BTreeMap<(u8, u8), u64>,
}

/// Statistics of a set of compared states.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct DifferenceStats {
    /// The number of states.
    pub states: u64,
    /// The number of states whose distance the smaller table proves.
    pub proven: u64,
    /// The number of proven states that differ. The number is 0 unless a table is wrong.
    pub proven_differing: u64,
    /// The number of states that differ in a way that right tables cannot:
    /// proven states, states with the larger distance in the larger table, and
    /// all differing states if both tables cover the same states.
    pub contradictions: u64,
    /// The number of states with each difference other than 0. The difference
    /// is the distance in the smaller table minus that in the larger one.
    pub differences: BTreeMap<i16, u64>,
}

impl DifferenceStats {
    /// Returns the number of states that differ.
    pub fn differing(&self) -> u64 {
        self.differences.values().sum()
    }

    /// Returns the share of the states that differ, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.differing() as f64 / self.states.max(1) as f64
    }

    /// Returns the largest absolute difference, or `None` if no state differs.
    pub fn largest(&self) -> Option<u16> {
        self.differences.keys().map(|difference| difference.unsigned_abs()).max()
    }

    /// Returns the mean absolute difference of the states that differ.
    pub fn mean(&self) -> Option<f64> {
        let sum: u64 = self.differences.iter().map(|(by, states)| u64::from(by.unsigned_abs()) * states).sum();
        (sum > 0).then(|| sum as f64 / self.differing() as f64)
    }

    fn join(mut self, other: DifferenceStats) -> DifferenceStats {
        self.states += other.states;
        self.proven += other.proven;
        self.proven_differing += other.proven_differing;
        self.contradictions += other.contradictions;
        other.differences.into_iter().for_each(|(by, states)| *self.differences.entry(by).or_default() += states);
        self
    }
}

impl Comparison {
    /// Returns the compared states.
    pub fn prefix(&self) -> Prefix {
        self.prefix
    }

    /// Returns the largest distance that the smaller table proves, or `None` if it proves all.
    pub fn proven_depth(&self) -> Option<u32> {
        self.proven_depth
    }

    /// Returns the statistics of the states with this distance in the smaller table.
    pub fn at(&self, distance: u8) -> DifferenceStats {
        let proven = self.proven_depth.is_none_or(|limit| u32::from(distance) <= limit);
        let mut stats = DifferenceStats::default();
        for (&(_, other), &states) in self.pairs.range((distance, 0)..=(distance, u8::MAX)) {
            let by = i16::from(distance) - i16::from(other);
            stats.states += states;
            stats.proven += if proven { states } else { 0 };
            if by != 0 {
                stats.differences.insert(by, states);
                stats.proven_differing += if proven { states } else { 0 };
                stats.contradictions += if proven || self.same || by < 0 { states } else { 0 };
            }
        }
        stats
    }

    /// Returns the statistics for each distance of the smaller table that occurs.
    pub fn by_distance(&self) -> Vec<(u8, DifferenceStats)> {
        let rows = (0..=u8::MAX).map(|distance| (distance, self.at(distance)));
        rows.filter(|(_, stats)| stats.states > 0).collect()
    }

    /// Returns the statistics of all compared states.
    pub fn all(&self) -> DifferenceStats {
        self.by_distance().into_iter().fold(DifferenceStats::default(), |all, (_, stats)| all.join(stats))
    }
}

/// Compares two tables of a board on the states that both cover, after a check
/// of their checksums. If both cover the same states, the first counts as the smaller.
///
/// Cost: one pass over these states of both tables.
///
/// # Errors
/// If the tables are of different boards, if one is damaged, or if the observer
/// cancels the comparison. A contradiction between the tables is not an error,
/// but counted in [`DifferenceStats::contradictions`].
pub fn compare(a: &Table, b: &Table, threads: usize, observer: &dyn Observer) -> Result<Comparison> {
    let [prefix_a, prefix_b] = [a, b].map(Table::prefix);
    if prefix_a.board() != prefix_b.board() {
        return Err(BuilderError::DifferentBoards { a: prefix_a.board(), b: prefix_b.board() });
    }
    let (smaller, larger) = if prefix_a.within() <= prefix_b.within() { (a, b) } else { (b, a) };
    let prefix = smaller.prefix();
    let counts = thread_pool(threads)?.install(|| {
        check_blocks(&[smaller, larger], prefix.states(), observer)?;
        count([smaller, larger], prefix.states(), observer)
    })?;
    let pair = |(number, states)| (((number / WIDTH) as u8, (number % WIDTH) as u8), states);
    let pairs = counts.into_iter().enumerate().filter(|&(_, states)| states > 0).map(pair).collect();
    Ok(Comparison { prefix, proven_depth: smaller.proven_depth(), same: prefix_a == prefix_b, pairs })
}

/// Counts the pairs of distances of the first `states` states. The index of a
/// pair is the first table's distance times `WIDTH`, plus the second's.
fn count(tables: [&Table; 2], states: u64, observer: &dyn Observer) -> Result<Vec<u64>> {
    observer.begin(BuildPhase::Compare, states);
    let none = || vec![0; WIDTH * WIDTH];
    let parts = (0..states.div_ceil(GRAIN)).into_par_iter().map(|part| part * GRAIN..states.min((part + 1) * GRAIN));
    parts
        .try_fold(none, |mut counts: Vec<u64>, ranks| {
            if observer.cancelled() {
                return Err(BuilderError::Cancelled);
            }
            let [smaller, larger] = tables.map(|table| distances(table, ranks.clone()));
            for (&a, &b) in smaller?.iter().zip(larger?.iter()) {
                counts[usize::from(a) * WIDTH + usize::from(b)] += 1;
            }
            observer.advance(ranks.end - ranks.start);
            Ok(counts)
        })
        .try_reduce(none, |mut all, counts| {
            all.iter_mut().zip(counts).for_each(|(all, states)| *all += states);
            Ok(all)
        })
}

fn distances(table: &Table, ranks: Range<u64>) -> Result<Vec<u8>> {
    let mut out = vec![0; (ranks.end - ranks.start) as usize];
    DistanceStream::new(table, ranks)?.read(&mut out)?;
    Ok(out)
}
