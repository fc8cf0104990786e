//! Distances in whole numbers, and those that are slow to find kept.

use sternhalma_data::{Rank, State};

use crate::distance::Distances;

/// The value of a move: values are hundredths of one.
pub(super) const MOVE: i32 = 100;

/// How many distances are kept where the table is slow; a power of two.
const KEPT: usize = 1 << 18;

/// A distance that is kept, with the rank of its army.
#[derive(Clone, Copy)]
struct CachedDistance {
    rank: u64,
    distance: i32,
}

/// Looks up distances in hundredths of a move. Those that are more than a
/// load away, of other encodings than bytes and beyond a prefix, are kept.
pub(super) struct DistanceCache {
    distances: Distances,
    kept: Vec<CachedDistance>,
}

impl DistanceCache {
    pub fn new(distances: Distances) -> DistanceCache {
        let table = distances.table();
        let fast = table.as_bytes().is_some() && table.prefix().is_whole();
        // No army of a board has this rank.
        let empty = CachedDistance { rank: u64::MAX, distance: 0 };
        DistanceCache { kept: if fast { Vec::new() } else { vec![empty; KEPT] }, distances }
    }

    /// Whether every distance is a load away.
    pub fn is_fast(&self) -> bool {
        self.kept.is_empty()
    }

    /// The distance of an army as its goal tip sees it, with its rank.
    #[inline]
    pub fn distance(&mut self, army: State, rank: Rank) -> i32 {
        if self.kept.is_empty() { hundredths(self.distances.of(army, rank)) } else { self.slow(army, rank) }
    }

    #[cold]
    fn slow(&mut self, army: State, rank: Rank) -> i32 {
        // Ranks of like armies are close together; the product spreads them.
        let place = (rank.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % KEPT;
        if self.kept[place].rank != rank.0 {
            self.kept[place] = CachedDistance { rank: rank.0, distance: hundredths(self.distances.of(army, rank)) };
        }
        self.kept[place].distance
    }
}

#[inline]
fn hundredths(moves: f64) -> i32 {
    (moves * f64::from(MOVE)).round() as i32
}
