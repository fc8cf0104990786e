//! Comparing two tables of a board.
//!
//! A table of a prefix gives upper bounds, so it is measured against a table
//! of a longer one. How often each pair of distances occurs tells all the
//! rest, and there are few pairs.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use sternhalma_data::{DistanceStream, Prefix, Table, TableError};

use crate::error::CompareError;
use crate::monitor::{Monitor, Stage};

/// States a thread takes at a time.
const GRAIN: u64 = 1 << 20;
/// Distances a byte can hold.
const WIDTH: usize = 256;

/// What two tables of a board say of the states both cover: those of the
/// smaller prefix.
///
/// A longer prefix knows more paths, so its distances are at most those of a
/// shorter one. Where the shorter proves its distance, they are equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// Of the smaller table.
    prefix: Prefix,
    proven_depth: Option<u32>,
    /// Whether both tables cover the same states, and so are to be equal.
    same: bool,
    /// The states by the distance of the smaller table and that of the larger.
    pairs: BTreeMap<(u8, u8), u64>,
}

/// Some of the compared states.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// How many there are.
    pub states: u64,
    /// How many of them the smaller table's exactness rule proves.
    pub proven: u64,
    /// How many of the proven ones differ: none, unless a table is wrong.
    pub proven_differ: u64,
    /// How many differ in a way that two right tables cannot: proven ones,
    /// ones to which the larger table gives the larger distance, and any if
    /// both tables cover the same states.
    pub impossible: u64,
    /// How many states have each difference, other than 0: the smaller
    /// table's distance less the larger's.
    pub differences: BTreeMap<i16, u64>,
}

impl Tally {
    /// How many states differ.
    pub fn differ(&self) -> u64 {
        self.differences.values().sum()
    }

    /// The share of the states that differ, 0 to 1.
    pub fn share(&self) -> f64 {
        self.differ() as f64 / self.states.max(1) as f64
    }

    /// The largest difference up or down; `None` if nothing differs.
    pub fn largest(&self) -> Option<u16> {
        self.differences.keys().map(|difference| difference.unsigned_abs()).max()
    }

    /// The mean difference, up or down, of the states that differ.
    pub fn mean(&self) -> Option<f64> {
        let sum: u64 = self.differences.iter().map(|(by, states)| u64::from(by.unsigned_abs()) * states).sum();
        (sum > 0).then(|| sum as f64 / self.differ() as f64)
    }

    fn join(mut self, other: Tally) -> Tally {
        self.states += other.states;
        self.proven += other.proven;
        self.proven_differ += other.proven_differ;
        self.impossible += other.impossible;
        other.differences.into_iter().for_each(|(by, states)| *self.differences.entry(by).or_default() += states);
        self
    }
}

impl Comparison {
    /// The compared states.
    pub fn prefix(&self) -> Prefix {
        self.prefix
    }

    /// Distances of the smaller table up to this one are proven; `None` if all are.
    pub fn proven_depth(&self) -> Option<u32> {
        self.proven_depth
    }

    /// The states to which the smaller table gives `distance`.
    pub fn at(&self, distance: u8) -> Tally {
        let proven = self.proven_depth.is_none_or(|limit| u32::from(distance) <= limit);
        let mut tally = Tally::default();
        for (&(_, other), &states) in self.pairs.range((distance, 0)..=(distance, u8::MAX)) {
            let by = i16::from(distance) - i16::from(other);
            tally.states += states;
            tally.proven += if proven { states } else { 0 };
            if by != 0 {
                tally.differences.insert(by, states);
                tally.proven_differ += if proven { states } else { 0 };
                tally.impossible += if proven || self.same || by < 0 { states } else { 0 };
            }
        }
        tally
    }

    /// The states by the smaller table's distance, as far as there are any.
    pub fn by_distance(&self) -> Vec<(u8, Tally)> {
        let rows = (0..=u8::MAX).map(|distance| (distance, self.at(distance)));
        rows.filter(|(_, tally)| tally.states > 0).collect()
    }

    /// All compared states.
    pub fn all(&self) -> Tally {
        self.by_distance().into_iter().fold(Tally::default(), |all, (_, tally)| all.join(tally))
    }
}

/// Compares two tables of a board on the states both cover, after their
/// checksums. If they cover the same states, the first is taken for the smaller.
///
/// Cost: a pass over both tables up to there, by `threads` threads (0 is one a
/// core).
///
/// # Errors
/// If the tables are of different boards, one is damaged, or the monitor
/// cancels the work. Tables that contradict each other are no error:
/// [`Tally::impossible`] counts the states.
pub fn compare(a: &Table, b: &Table, threads: usize, monitor: &dyn Monitor) -> Result<Comparison, CompareError> {
    let (ours, theirs) = (a.prefix(), b.prefix());
    if ours.board() != theirs.board() {
        return Err(CompareError::Boards { a: ours.board(), b: theirs.board() });
    }
    let (smaller, larger) = if ours.within() <= theirs.within() { (a, b) } else { (b, a) };
    let prefix = smaller.prefix();
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    let counts = pool.install(|| {
        check_blocks([smaller, larger], prefix.states(), monitor)?;
        count([smaller, larger], prefix.states(), monitor)
    })?;
    let pair = |(number, states)| (((number / WIDTH) as u8, (number % WIDTH) as u8), states);
    let pairs = counts.into_iter().enumerate().filter(|&(_, states)| states > 0).map(pair).collect();
    Ok(Comparison { prefix, proven_depth: smaller.proven_depth(), same: ours == theirs, pairs })
}

/// Checks the blocks that hold the first `states` states.
fn check_blocks(tables: [&Table; 2], states: u64, monitor: &dyn Monitor) -> Result<(), CompareError> {
    let blocks = tables.map(|table| {
        let all = 0..table.layout().blocks();
        all.take_while(|&number| table.layout().block(number).ranks.start < states).count() as u64
    });
    monitor.begin(Stage::Check, blocks.iter().sum());
    (0..blocks[0] + blocks[1]).into_par_iter().try_for_each(|number| {
        if monitor.cancelled() {
            return Err(CompareError::Cancelled);
        }
        match number.checked_sub(blocks[0]) {
            None => tables[0].check_block(number)?,
            Some(number) => tables[1].check_block(number)?,
        }
        monitor.advance(1);
        Ok(())
    })
}

/// How often each pair of distances occurs in the first `states` states: by
/// the first table's distance times `WIDTH`, plus the second's.
fn count(tables: [&Table; 2], states: u64, monitor: &dyn Monitor) -> Result<Vec<u64>, CompareError> {
    monitor.begin(Stage::Compare, states);
    let none = || vec![0; WIDTH * WIDTH];
    let parts = (0..states.div_ceil(GRAIN)).into_par_iter().map(|part| part * GRAIN..states.min((part + 1) * GRAIN));
    parts
        .try_fold(none, |mut counts: Vec<u64>, ranks| {
            if monitor.cancelled() {
                return Err(CompareError::Cancelled);
            }
            let [smaller, larger] = tables.map(|table| distances(table, ranks.clone()));
            for (&a, &b) in smaller?.iter().zip(larger?.iter()) {
                counts[usize::from(a) * WIDTH + usize::from(b)] += 1;
            }
            monitor.advance(ranks.end - ranks.start);
            Ok(counts)
        })
        .try_reduce(none, |mut all, counts| {
            all.iter_mut().zip(counts).for_each(|(all, states)| *all += states);
            Ok(all)
        })
}

fn distances(table: &Table, ranks: Range<u64>) -> Result<Vec<u8>, TableError> {
    let mut out = vec![0; (ranks.end - ranks.start) as usize];
    DistanceStream::new(table, ranks)?.read(&mut out)?;
    Ok(out)
}
