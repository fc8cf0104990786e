//! Many searches at once, whose simulations are stepped together.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use sternhalma_game::features::GoalTree;
use sternhalma_game::{Limits, SearchStats, StateNeeds};
use sternhalma_gdl::network::{LANES, LaneGame, LaneView, NetworkGame, NetworkState};
use sternhalma_mcts::{Foresight, SearchClock, SearchResult};

use super::lane_driver::{LaneDriver, SeatSearch};
use super::resumable::{ResumableSearch, StepOutcome};

/// A search that [`LockStepSearches`] runs, or has run.
pub(crate) struct LaneSearch<T> {
    /// The caller's name for the search.
    pub tag: T,
    /// The search itself.
    pub resumable: Box<dyn ResumableSearch>,
    /// The state that is searched.
    pub root: NetworkState,
    limits: Limits,
    clock: SearchClock,
    /// The search's share of the time, in seconds.
    seconds: f64,
}

impl<T> LaneSearch<T> {
    /// Creates a search from a state that is not terminal. The limits are of
    /// playouts and expansions only.
    pub fn new(
        tag: T,
        resumable: Box<dyn ResumableSearch>,
        root: NetworkState,
        limits: Limits,
        clock: SearchClock,
    ) -> Self {
        LaneSearch { tag, resumable, root, limits, clock, seconds: 0.0 }
    }

    /// Returns what the search has spent. Searches that run together share
    /// their time equally.
    pub fn spent(&self) -> SearchStats {
        SearchStats { time: Duration::from_secs_f64(self.seconds.max(0.0)), ..self.resumable.spent() }
    }

    /// Returns the result for a role that acts in the state that was searched.
    pub fn result(&self, game: &NetworkGame, role: usize) -> SearchResult<u32> {
        SearchResult { spent: self.spent(), ..self.resumable.result(game, &self.root, role) }
    }
}

/// Up to 512 searches that run side by side, each with its own tree and seat.
/// Each search runs the simulations that it would run alone.
pub(crate) struct LockStepSearches<'a, T> {
    driver: LaneDriver<'a>,
    seats: Seated<'a, T>,
    /// Searches that wait for a seat.
    queue: VecDeque<LaneSearch<T>>,
    read: Instant,
}

/// The searches that have a seat, and those that have left theirs.
struct Seated<'a, T> {
    game: &'a NetworkGame,
    seats: Vec<Option<LaneSearch<T>>>,
    free: Vec<usize>,
    ended: Vec<LaneSearch<T>>,
    /// The sum over all rounds of the time of a round, divided by the number
    /// of its searches.
    shared: f64,
}

impl<'a, T> LockStepSearches<'a, T> {
    /// Creates `seats` empty seats, 1 to 512.
    pub fn new(game: &'a NetworkGame, lanes: &'a LaneGame, seats: usize) -> LockStepSearches<'a, T> {
        let seats = seats.clamp(1, LANES);
        LockStepSearches {
            driver: LaneDriver::new(lanes),
            seats: Seated {
                game,
                seats: (0..seats).map(|_| None).collect(),
                free: (0..seats).rev().collect(),
                ended: Vec::new(),
                shared: 0.0,
            },
            queue: VecDeque::new(),
            read: Instant::now(),
        }
    }

    /// Adds a search, which begins as soon as a seat is free.
    pub fn add(&mut self, search: LaneSearch<T>) {
        self.queue.push_back(search);
    }

    /// Returns whether there is no search.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.seats.under_way() == 0
    }

    /// Removes and returns the searches that have ended since the last call.
    pub fn take_ended(&mut self) -> impl Iterator<Item = LaneSearch<T>> {
        self.seats.ended.drain(..)
    }

    /// Returns the searches that have a seat.
    pub fn searches(&self) -> impl Iterator<Item = &LaneSearch<T>> {
        self.seats.seats.iter().flatten()
    }

    /// Drops the searches whose tag does not satisfy `keep`.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.queue.retain(|search| keep(&search.tag));
        for (seat, search) in self.seats.seats.iter_mut().enumerate() {
            if search.take_if(|search| !keep(&search.tag)).is_some() {
                self.seats.free.push(seat);
                self.driver.remove(seat);
            }
        }
    }

    /// Steps every simulation in the current phase.
    pub fn round(&mut self) {
        self.seat_searches();
        self.driver.round(&mut self.seats);
        self.share_time();
    }

    /// Gives free seats to searches of the queue.
    fn seat_searches(&mut self) {
        while !self.queue.is_empty()
            && let Some(seat) = self.seats.free.pop()
            && let Some(mut search) = self.queue.pop_front()
        {
            search.resumable.begin_search(self.seats.game, &search.root, search.limits, search.clock);
            search.seconds = -self.seats.shared;
            self.driver.seat(seat, &search.root);
            self.seats.seats[seat] = Some(search);
        }
    }

    fn share_time(&mut self) {
        let now = Instant::now();
        self.seats.shared += (now - self.read).as_secs_f64() / self.seats.under_way().max(1) as f64;
        self.read = now;
    }
}

impl<T> Seated<'_, T> {
    fn under_way(&self) -> usize {
        self.seats.len() - self.free.len()
    }
}

impl<T> SeatSearch for Seated<'_, T> {
    fn root(&self, seat: usize) -> &NetworkState {
        &self.seats[seat].as_ref().expect("a seat that begins has a search").root
    }

    fn needs(&self, seat: usize) -> StateNeeds {
        self.seats[seat].as_ref().map_or(StateNeeds::default(), |search| search.resumable.needs())
    }

    fn foresee(&mut self, seat: usize, state: &LaneView, joints: &mut Vec<u32>) -> Foresight {
        let Some(search) = &mut self.seats[seat] else { return Foresight::Nothing };
        search.resumable.foresee(self.game, state, joints)
    }

    fn goal_tree(&self, role: usize) -> Option<&GoalTree> {
        self.game.goal_tree(role)
    }

    fn step(&mut self, seat: usize, state: &LaneView, numbers: &mut Vec<u32>) -> StepOutcome {
        let Some(search) = &mut self.seats[seat] else { return StepOutcome::Finished };
        match search.resumable.step(self.game, state, numbers) {
            StepOutcome::Finished => {}
            outcome => return outcome,
        }
        if let Some(mut search) = self.seats[seat].take() {
            // The time of this round is shared by the searches that are left: one round of a search is negligible.
            search.seconds += self.shared;
            self.ended.push(search);
            self.free.push(seat);
        }
        StepOutcome::Finished
    }
}
