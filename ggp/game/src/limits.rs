//! Limits of a search, and what it has spent.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::game::Game;

/// The limits of a search for one move. The search ends at the first limit that
/// it reaches. A search without limits runs until the caller stops the search.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Limits {
    /// The number of simulations of a Monte-Carlo search.
    pub playouts: Option<u64>,
    /// The number of states whose moves are generated, in tree or playout, or of simulations if that is larger: a search
    /// whose simulations all end inside the tree generates none, and ends too.
    pub expansions: Option<u64>,
    /// The depth of a depth-first search, in plies.
    pub depth: Option<u32>,
    /// The elapsed time.
    pub time: Option<Duration>,
}

impl Limits {
    /// Creates a limit of playouts only.
    pub fn playouts(count: u64) -> Limits {
        Limits { playouts: Some(count), ..Limits::default() }
    }

    /// Creates a limit of expansions only.
    pub fn expansions(count: u64) -> Limits {
        Limits { expansions: Some(count), ..Limits::default() }
    }

    /// Creates a limit of depth only.
    pub fn depth(plies: u32) -> Limits {
        Limits { depth: Some(plies), ..Limits::default() }
    }

    /// Creates a limit of time only.
    pub fn time(time: Duration) -> Limits {
        Limits { time: Some(time), ..Limits::default() }
    }

    /// Returns the limits, except that of depth, multiplied by `ratio`.
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

    /// Returns whether the limit of playouts or that of expansions is reached.
    #[inline]
    pub fn counted_out(&self, spent: &SearchStats) -> bool {
        let over = |spent: u64, limit: Option<u64>| limit.is_some_and(|limit| spent >= limit);
        over(spent.playouts, self.playouts) || over(spent.expansions_counted(), self.expansions)
    }

    /// Returns the lower of both for each limit.
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

/// The cost of a search for one move.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SearchStats {
    /// The number of simulations.
    pub playouts: u64,
    /// The number of states whose moves were generated, in tree, playout or
    /// depth-first search.
    pub expansions: u64,
    /// The depth in plies: the deepest ply in the tree, or that of the last
    /// completed iteration of a depth-first search.
    pub depth: u32,
    /// The elapsed time.
    pub time: Duration,
    /// Whether the tree or a table of the search could not grow within the memory limit.
    pub memory_limited: bool,
}

impl SearchStats {
    /// Returns the number that counts against a limit of expansions: the larger one of expansions and simulations, so
    /// that a search whose simulations all end inside the tree ends too.
    #[inline]
    pub fn expansions_counted(&self) -> u64 {
        self.expansions.max(self.playouts)
    }
}

/// The clock under which a search runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SearchClock {
    /// The start clock before the match. The search takes the whole start clock.
    Start,
    /// A part of the start clock. Holds the share of the start clock, 0 to 1,
    /// that has elapsed when the part begins.
    StartAt(f64),
    /// The clock of a move.
    Play,
}

/// A search of a state that is not terminal.
pub struct SearchTask<'a, G: Game> {
    /// The game.
    pub game: &'a G,
    /// The state.
    pub state: &'a G::State,
    /// The limits of the search.
    pub limits: Limits,
    /// A flag that ends the search once it is set.
    pub stop: &'a AtomicBool,
    /// The clock under which the search runs.
    pub clock: SearchClock,
}

impl<'a, G: Game> SearchTask<'a, G> {
    /// Creates a search under the clock of a move.
    pub fn new(game: &'a G, state: &'a G::State, limits: Limits, stop: &'a AtomicBool) -> SearchTask<'a, G> {
        SearchTask { game, state, limits, stop, clock: SearchClock::Play }
    }
}

/// Compares what a search has spent with its limits.
#[derive(Debug)]
pub struct LimitChecker<'a> {
    limits: Limits,
    stop: &'a AtomicBool,
    started: Instant,
    /// The time that was spent before this part of the search.
    before: Duration,
    /// The time since `started` when the clock was last read.
    read: Duration,
    /// What the search has spent so far.
    pub spent: SearchStats,
    unchecked: u32,
    /// The number of checks before the clock is read again.
    clock_every: u32,
    clock: SearchClock,
    /// Whether an expansion was refused.
    refused: bool,
}

impl<'a> LimitChecker<'a> {
    /// Maximum number of checks between two clock reads.
    const CLOCK_EVERY: u32 = 128;

    /// Target interval between clock reads.
    const CLOCK_WITHIN: Duration = Duration::from_micros(200);

    /// Starts the clock of a search.
    pub fn new(limits: Limits, stop: &'a AtomicBool) -> LimitChecker<'a> {
        LimitChecker::resumed(limits, stop, SearchStats::default())
    }

    /// Starts the clock of a search that is resumed after spending `spent`.
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
            clock: SearchClock::Play,
            refused: false,
        }
    }

    /// Sets the clock under which the search runs; by default it is that of a move.
    pub fn under(self, clock: SearchClock) -> LimitChecker<'a> {
        LimitChecker { clock, ..self }
    }

    /// Checks limits of counts only: the clock is not read, and nothing stops the
    /// search.
    pub fn counting(limits: Limits) -> LimitChecker<'static> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        LimitChecker { clock_every: u32::MAX, ..LimitChecker::new(limits, &NEVER) }
    }

    /// Returns whether the search must end.
    #[inline]
    pub fn is_over(&mut self) -> bool {
        self.limits.counted_out(&self.spent) || self.is_interrupted()
    }

    /// Counts an expansion and returns whether it was within the limits. After
    /// the first refusal all further expansions are refused.
    #[inline]
    pub fn expand(&mut self) -> bool {
        self.refused = self.refused || self.is_over();
        self.spent.expansions += u64::from(!self.refused);
        !self.refused
    }

    /// Sets the depth that was reached, in plies.
    pub fn set_depth(&mut self, plies: u32) {
        self.spent.depth = plies;
    }

    /// Returns whether the search must end at once, in the middle of a simulation:
    /// its time is up, or it is stopped.
    #[inline]
    pub fn is_interrupted(&mut self) -> bool {
        self.unchecked += 1;
        if self.unchecked < self.clock_every {
            return false;
        }
        let before = self.read;
        self.read = self.started.elapsed();
        // The next checks are taken to be as far apart as those since the last read.
        let apart = (self.read - before) / self.unchecked;
        let fit = Self::CLOCK_WITHIN.as_nanos() / apart.as_nanos().max(1);
        self.clock_every = fit.clamp(1, Self::CLOCK_EVERY.into()) as u32;
        self.unchecked = 0;
        self.stop.load(Relaxed) || self.limits.time.is_some_and(|limit| self.before + self.read >= limit)
    }

    /// Returns the share of the limits that is spent, 0 to 1, by the last read of
    /// the clock.
    fn share(&self) -> f64 {
        let of = |spent: f64, limit: Option<f64>| limit.map_or(0.0, |limit| spent / limit.max(1e-9));
        let playouts = of(self.spent.playouts as f64, self.limits.playouts.map(|limit| limit as f64));
        let expansions = of(self.spent.expansions_counted() as f64, self.limits.expansions.map(|limit| limit as f64));
        let read = (self.before + self.read).as_secs_f64();
        let time = of(read, self.limits.time.map(|limit| limit.as_secs_f64()));
        playouts.max(expansions).max(time).min(1.0)
    }

    /// Returns the share of the start clock, 0 to 1, that has elapsed, or `None` under the clock of a move. In a part
    /// of the start clock, which is short, this is the share at the beginning of the part.
    pub fn start_elapsed(&self) -> Option<f64> {
        match self.clock {
            SearchClock::Start => Some(self.share()),
            SearchClock::StartAt(elapsed) => Some(elapsed),
            SearchClock::Play => None,
        }
    }

    /// Returns how many playouts are left before the limit.
    pub fn playouts_left(&self) -> u64 {
        self.limits.playouts.map_or(u64::MAX, |limit| limit.saturating_sub(self.spent.playouts))
    }

    /// Returns what was spent so far, the time included.
    pub fn spent(&self) -> SearchStats {
        SearchStats { time: self.before + self.started.elapsed(), ..self.spent }
    }
}
