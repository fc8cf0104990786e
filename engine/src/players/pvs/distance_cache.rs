//! Distances as integers, with a cache for slow ones.

use sternhalma_data::{CellSet, Rank, State};

use crate::distances::Distances;

/// The value of a move; the unit of values is a hundredth of a move.
pub(super) const MOVE: i32 = 100;

/// The number of cached distances, if the table is slow; a power of two.
const CACHE_ENTRIES: usize = 1 << 18;

/// A cached distance with the rank of its army.
#[derive(Clone, Copy)]
struct CachedDistance {
    rank: u64,
    distance: i32,
}

/// Distances in hundredths of a move. Distances that need more than a load are
/// cached: those of encodings other than bytes, and estimates beyond a prefix.
pub(super) struct DistanceCache {
    distances: Distances,
    entries: Vec<CachedDistance>,
}

impl DistanceCache {
    pub fn new(distances: Distances) -> DistanceCache {
        let fast = distances.is_fast();
        // No army has this rank.
        let empty = CachedDistance { rank: u64::MAX, distance: 0 };
        DistanceCache { entries: if fast { Vec::new() } else { vec![empty; CACHE_ENTRIES] }, distances }
    }

    /// Returns the cells of the armies whose exact distance is known, in goal order.
    pub fn covered(&self) -> CellSet {
        self.distances.table().map_or(CellSet::EMPTY, |table| table.prefix().cells())
    }

    /// Returns the distance of an army with its rank.
    #[inline]
    pub fn distance(&mut self, army: State, rank: Rank) -> i32 {
        if !self.entries.is_empty() {
            return self.cached_distance(army, rank);
        }
        match self.distances.by_rank(rank) {
            Some(distance) => i32::from(distance) * MOVE,
            None => hundredths(self.distances.without_rank(army)),
        }
    }

    /// Returns a cached distance, or looks it up and caches it. The rank alone selects
    /// the entry, and a new distance replaces the old one.
    #[cold]
    fn cached_distance(&mut self, army: State, rank: Rank) -> i32 {
        // Ranks of similar armies are close together. The product with 2^64 divided by
        // the golden ratio spreads them.
        let index = (rank.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % CACHE_ENTRIES;
        if self.entries[index].rank != rank.0 {
            self.entries[index] = CachedDistance { rank: rank.0, distance: hundredths(self.distances.of(army, rank)) };
        }
        self.entries[index].distance
    }
}

#[inline]
fn hundredths(moves: f64) -> i32 {
    (moves * f64::from(MOVE)).round() as i32
}
