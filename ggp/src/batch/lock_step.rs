//! Many searches at once, whose simulations are stepped together.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::resumable::{ResumableSearch, StepOutcome};
use crate::gdl::network::{LANES, LaneGame, LaneState, LaneStates, Seats};
use crate::limits::{Limits, SearchStats};
use crate::mcts::{SearchClock, SearchResult};

/// A search of a [`LaneGame`].
pub(crate) type BoxedLaneSearch = Box<dyn ResumableSearch<LaneGame>>;

/// A search that a [`LockStep`] runs, or has run.
pub(crate) struct LaneSearch<T> {
    /// What its caller knows it by.
    pub tag: T,
    /// What searches.
    pub resumable: BoxedLaneSearch,
    pub root: LaneState,
    limits: Limits,
    clock: SearchClock,
    phase: usize,
    /// Its share of the time, in seconds.
    seconds: f64,
}

impl<T> LaneSearch<T> {
    /// A search from a state of its own that is not terminal, by limits of
    /// playouts and expansions alone.
    pub fn new(
        tag: T,
        resumable: BoxedLaneSearch,
        root: LaneState,
        limits: Limits,
        clock: SearchClock,
    ) -> LaneSearch<T> {
        LaneSearch { tag, resumable, root, limits, clock, phase: 0, seconds: 0.0 }
    }

    /// What it has spent; of the time that many searches take it is told an
    /// equal share.
    pub fn spent(&self) -> SearchStats {
        SearchStats { time: Duration::from_secs_f64(self.seconds.max(0.0)), ..self.resumable.spent() }
    }

    /// What it found for a role that is to act.
    pub fn found(&self, game: &LaneGame, role: usize) -> SearchResult<u32> {
        SearchResult { spent: self.spent(), ..self.resumable.found(game, &self.root, role) }
    }
}

/// Searches side by side, up to 512 at a time, each with a seat whose
/// simulation takes a step whenever those of all others do. Each search runs
/// the simulations that it would run alone.
///
/// As all states are in the same phase of the game, a simulation that has
/// ended waits for the phase of its root.
pub(crate) struct LockStepSearches<'a, T> {
    game: &'a LaneGame,
    states: LaneStates<'a>,
    seats: Vec<Option<LaneSearch<T>>>,
    free: Vec<usize>,
    /// Searches that wait for a seat.
    queue: VecDeque<LaneSearch<T>>,
    /// By phase: the seats whose root is still to be put there, and those
    /// that go back to theirs.
    new: Vec<Vec<usize>>,
    back: Vec<Seats>,
    /// The seats with a simulation under way.
    active: Seats,
    ended: Vec<LaneSearch<T>>,
    numbers: Vec<u32>,
    /// The time of all rounds, divided by the searches of each.
    shared: f64,
    read: Instant,
}

impl<'a, T> LockStepSearches<'a, T> {
    /// So many seats, 1 to 512.
    pub fn new(game: &'a LaneGame, seats: usize) -> LockStepSearches<'a, T> {
        let seats = seats.clamp(1, LANES);
        let phases = game.phase_count();
        LockStepSearches {
            game,
            states: LaneStates::new(game),
            seats: (0..seats).map(|_| None).collect(),
            free: (0..seats).rev().collect(),
            queue: VecDeque::new(),
            new: vec![Vec::new(); phases],
            back: vec![Seats::NONE; phases],
            active: Seats::NONE,
            ended: Vec::new(),
            numbers: Vec::new(),
            shared: 0.0,
            read: Instant::now(),
        }
    }

    /// Begins a search as soon as there is a seat for it.
    pub fn begin(&mut self, search: LaneSearch<T>) {
        self.queue.push_back(search);
    }

    /// Whether there is no search.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.free.len() == self.seats.len()
    }

    /// The searches that have ended since it was asked last.
    pub fn ended(&mut self) -> impl Iterator<Item = LaneSearch<T>> {
        self.ended.drain(..)
    }

    /// The searches under way.
    pub fn searches(&self) -> impl Iterator<Item = &LaneSearch<T>> {
        self.seats.iter().flatten()
    }

    /// Drops searches.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.queue.retain(|search| keep(&search.tag));
        for seat in 0..self.seats.len() {
            if self.seats[seat].as_ref().is_some_and(|search| !keep(&search.tag)) {
                self.seats[seat] = None;
                self.free.push(seat);
                self.active.set(seat, false);
                self.new.iter_mut().for_each(|new| new.retain(|&of| of != seat));
                self.back.iter_mut().for_each(|back| back.set(seat, false));
            }
        }
    }

    /// A step of every simulation whose phase it is.
    pub fn round(&mut self) {
        self.seat_searches();
        let phase = self.states.phase();
        let new = std::mem::take(&mut self.new[phase]);
        self.put_new(&new);
        let over = self.states.find_ends(self.active);
        new.iter().for_each(|&seat| self.states.keep_root(seat));
        self.recycle(phase, new);
        for seat in over.iter() {
            self.end_simulation(seat);
        }
        let back = std::mem::replace(&mut self.back[phase], Seats::NONE);
        if back.any() {
            self.states.restart(back);
            self.active = self.active.with(back);
        }
        if self.active.any() {
            self.play();
        } else {
            self.states.pass();
        }
        self.share_time();
    }

    /// Gives seats to searches that wait for one.
    fn seat_searches(&mut self) {
        while !self.queue.is_empty()
            && let Some(seat) = self.free.pop()
            && let Some(mut search) = self.queue.pop_front()
        {
            search.resumable.search_from(self.game, &search.root, search.limits, search.clock);
            search.phase = self.game.phase_of(&search.root);
            search.seconds = -self.shared;
            self.new[search.phase].push(seat);
            self.seats[seat] = Some(search);
        }
    }

    fn put_new(&mut self, new: &[usize]) {
        for &seat in new {
            if let Some(search) = &self.seats[seat] {
                self.states.put(seat, &search.root);
                self.active.set(seat, true);
            }
        }
    }

    /// Takes the memory of a list back, empty.
    fn recycle(&mut self, phase: usize, mut list: Vec<usize>) {
        list.clear();
        self.new[phase] = list;
    }

    /// Shows a search the end of its simulation.
    fn end_simulation(&mut self, seat: usize) {
        if let Some(search) = &mut self.seats[seat] {
            let outcome = search.resumable.step(self.game, self.states.end(seat), &mut self.numbers);
            self.go_back(seat, outcome);
        }
    }

    /// The simulation of a seat has ended.
    fn go_back(&mut self, seat: usize, outcome: StepOutcome) {
        self.active.set(seat, false);
        match &self.seats[seat] {
            Some(search) if outcome == StepOutcome::Restart => self.back[search.phase].set(seat, true),
            _ => self.end_search(seat),
        }
    }

    fn end_search(&mut self, seat: usize) {
        if let Some(mut search) = self.seats[seat].take() {
            search.seconds += self.shared;
            self.ended.push(search);
            self.free.push(seat);
        }
    }

    /// Shows all searches their states, and plays what they choose.
    fn play(&mut self) {
        self.states.find_moves();
        for seat in 0..self.seats.len() {
            if !self.active.contains(seat) {
                continue;
            }
            let Some(search) = &mut self.seats[seat] else { continue };
            match search.resumable.step(self.game, self.states.view(seat), &mut self.numbers) {
                StepOutcome::Play => self.states.play(seat, &self.numbers),
                outcome => self.go_back(seat, outcome),
            }
        }
        self.states.step();
    }

    fn share_time(&mut self) {
        let now = Instant::now();
        let searches = self.seats.len() - self.free.len();
        self.shared += (now - self.read).as_secs_f64() / searches.max(1) as f64;
        self.read = now;
    }
}
