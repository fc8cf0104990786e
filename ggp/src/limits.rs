//! When a search ends.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What a search may spend on one move. It ends at whichever limit comes
/// first; without any it goes on until it is stopped.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Limits {
    /// Simulations of a Monte-Carlo search.
    pub playouts: Option<u64>,
    /// States whose moves are generated, in tree or playout. A simulation
    /// that ends inside the tree generates none, and counts as one.
    pub expansions: Option<u64>,
    /// Plies of a depth-first search.
    pub depth: Option<u32>,
    /// Time on the clock.
    pub time: Option<Duration>,
}

impl Limits {
    /// A limit of playouts alone.
    pub fn playouts(count: u64) -> Limits {
        Limits { playouts: Some(count), ..Limits::default() }
    }

    /// A limit of node expansions alone.
    pub fn expansions(count: u64) -> Limits {
        Limits { expansions: Some(count), ..Limits::default() }
    }

    /// A limit of plies alone.
    pub fn depth(plies: u32) -> Limits {
        Limits { depth: Some(plies), ..Limits::default() }
    }

    /// A limit of time alone.
    pub fn time(time: Duration) -> Limits {
        Limits { time: Some(time), ..Limits::default() }
    }

    /// Every limit but that of depth so many times.
    #[must_use]
    pub fn times(self, ratio: f64) -> Limits {
        let count = |limit: u64| (limit as f64 * ratio).round() as u64;
        Limits {
            playouts: self.playouts.map(count),
            expansions: self.expansions.map(count),
            depth: self.depth,
            time: self
                .time
                .map(|time| Duration::try_from_secs_f64(time.as_secs_f64() * ratio).unwrap_or(Duration::MAX)),
        }
    }

    /// Whether the limit of playouts or that of expansions is reached.
    #[inline]
    pub fn counted_out(&self, spent: &SearchStats) -> bool {
        let over = |spent: u64, limit: Option<u64>| limit.is_some_and(|limit| spent >= limit);
        over(spent.playouts, self.playouts) || over(spent.expansions_counted(), self.expansions)
    }

    /// For each limit, the lower of the two.
    #[must_use]
    pub fn and(self, other: Limits) -> Limits {
        fn lower<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            a.into_iter().chain(b).min()
        }
        Limits {
            playouts: lower(self.playouts, other.playouts),
            expansions: lower(self.expansions, other.expansions),
            depth: lower(self.depth, other.depth),
            time: lower(self.time, other.time),
        }
    }
}

/// What a search has spent on one move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SearchStats {
    /// Simulations.
    pub playouts: u64,
    /// States whose moves were generated, in tree, playout or depth-first search.
    pub expansions: u64,
    /// The deepest ply looked at from the tree, or the plies searched in full.
    pub depth: u32,
    /// Time on the clock.
    pub time: Duration,
}

impl SearchStats {
    /// What counts against a limit of expansions. Simulations that end inside
    /// the tree expand nothing; there are to be no more of them than of
    /// expansions.
    #[inline]
    pub fn expansions_counted(&self) -> u64 {
        self.expansions.max(self.playouts)
    }
}

/// Holds what is spent against the limits.
pub(crate) struct LimitChecker<'a> {
    limits: Limits,
    stop: &'a AtomicBool,
    started: Instant,
    /// Time that was spent before.
    before: Duration,
    /// The clock when it was last read.
    read: Duration,
    pub spent: SearchStats,
    unchecked: u32,
    /// How often the cheap limits are checked before the clock is read.
    clock_every: u32,
}

impl<'a> LimitChecker<'a> {
    /// The clock is read after so many checks at most,
    const CLOCK_EVERY: u32 = 128;

    /// and, where checks are far apart, about as often as this.
    const CLOCK_WITHIN: Duration = Duration::from_micros(200);

    pub fn new(limits: Limits, stop: &'a AtomicBool) -> LimitChecker<'a> {
        LimitChecker::resumed(limits, stop, SearchStats::default())
    }

    /// Of a search that has spent something already.
    pub fn resumed(limits: Limits, stop: &'a AtomicBool, spent: SearchStats) -> LimitChecker<'a> {
        LimitChecker {
            limits,
            stop,
            started: Instant::now(),
            before: spent.time,
            read: Duration::ZERO,
            spent,
            unchecked: 0,
            clock_every: 1,
        }
    }

    /// Of a search that only counts, and that nothing stops: the clock is not
    /// read.
    pub fn counting(limits: Limits) -> LimitChecker<'static> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        LimitChecker { clock_every: u32::MAX, ..LimitChecker::new(limits, &NEVER) }
    }

    fn elapsed(&self) -> Duration {
        self.before + self.started.elapsed()
    }

    /// Whether the search is to end.
    #[inline]
    pub fn is_over(&mut self) -> bool {
        self.limits.counted_out(&self.spent) || self.is_interrupted()
    }

    /// Whether it is to end at once, in the middle of a simulation: time is
    /// up, or it is stopped.
    #[inline]
    pub fn is_interrupted(&mut self) -> bool {
        self.unchecked += 1;
        if self.unchecked < self.clock_every {
            return false;
        }
        let before = self.read;
        self.read = self.started.elapsed();
        // Checks are as far apart as they were on average since the last reading.
        let apart = (self.read - before) / self.unchecked;
        let fit = Self::CLOCK_WITHIN.as_nanos() / apart.as_nanos().max(1);
        self.clock_every = fit.clamp(1, Self::CLOCK_EVERY.into()) as u32;
        self.unchecked = 0;
        self.stop.load(Relaxed) || self.limits.time.is_some_and(|limit| self.before + self.read >= limit)
    }

    /// The share of the limits that is spent, 0 to 1; that of time as it was
    /// when the clock was last read.
    pub fn share(&self) -> f64 {
        let of = |spent: f64, limit: Option<f64>| limit.map_or(0.0, |limit| spent / limit.max(1e-9));
        let playouts = of(self.spent.playouts as f64, self.limits.playouts.map(|limit| limit as f64));
        let expansions = of(self.spent.expansions_counted() as f64, self.limits.expansions.map(|limit| limit as f64));
        let read = (self.before + self.read).as_secs_f64();
        let time = of(read, self.limits.time.map(|limit| limit.as_secs_f64()));
        playouts.max(expansions).max(time).min(1.0)
    }

    /// Returns how many playouts are left before the limit.
    pub fn playouts_left(&self) -> u64 {
        self.limits.playouts.map_or(u64::MAX, |limit| limit.saturating_sub(self.spent.playouts))
    }

    pub fn finish(mut self) -> SearchStats {
        self.spent.time = self.elapsed();
        self.spent
    }
}
