//! The limits of a search.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use sternhalma_ggp::{Limits, SearchStats};

/// Compares the cost of a search with its limits.
pub(super) struct Meter<'a> {
    limits: Limits,
    stop: &'a AtomicBool,
    started: Instant,
    spent: SearchStats,
    /// The number of expansions between two clock reads.
    clock_every: u64,
    over: bool,
}

impl<'a> Meter<'a> {
    pub fn new(limits: Limits, stop: &'a AtomicBool, clock_every: u64) -> Meter<'a> {
        Meter { limits, stop, started: Instant::now(), spent: SearchStats::default(), clock_every, over: false }
    }

    /// Counts an expansion and returns whether it was within the limits. After
    /// the first refusal all further expansions are refused.
    #[inline]
    pub fn spend(&mut self) -> bool {
        self.over = self.over || self.limits.counted_out(&self.spent) || self.is_late();
        self.spent.expansions += u64::from(!self.over);
        !self.over
    }

    #[inline]
    fn is_late(&self) -> bool {
        self.spent.expansions.is_multiple_of(self.clock_every)
            && (self.stop.load(Relaxed) || self.limits.time.is_some_and(|limit| self.started.elapsed() >= limit))
    }

    /// Records the number of completely searched plies.
    pub fn reached(&mut self, depth: u32) {
        self.spent.depth = depth;
    }

    /// Returns the cost so far.
    pub fn spent(&self) -> SearchStats {
        SearchStats { time: self.started.elapsed(), ..self.spent }
    }
}
