//! The driver of simulations whose states are stepped together.
//!
//! A *phase* is a step of the fixed cycle in which control passes between roles. Lanes in one phase share a smaller circuit.

use sternhalma_game::StateNeeds;
use sternhalma_game::features::{GoalTree, SuccessorPart};
use sternhalma_gdl::network::{LANES, LaneGame, LaneStates, LaneView, NetworkState, Seats};
use sternhalma_mcts::Foresight;

use super::resumable::StepOutcome;

/// Simulations that a [`LaneDriver`] steps, each at its own seat.
pub(crate) trait SeatSearch {
    /// Returns the state in which the simulations of a seat begin.
    fn root(&self, seat: usize) -> &NetworkState;

    /// Returns what the next step of a seat may read of its state.
    fn needs(&self, seat: usize) -> StateNeeds;

    /// Returns which successors the next step of a seat reads, and sets `joints` to their joint moves. The state is not
    /// terminal by the rules.
    fn foresee(&mut self, _seat: usize, _state: &LaneView, _joints: &mut Vec<u32>) -> Foresight {
        Foresight::Nothing
    }

    /// Returns the goal of a role by which the searches judge successors, if they do.
    fn goal_tree(&self, _role: usize) -> Option<&GoalTree> {
        None
    }

    /// Takes the next step of the simulation at a seat, which is in `state`. To
    /// play, it sets `numbers` to the move numbers of all roles.
    fn step(&mut self, seat: usize, state: &LaneView, numbers: &mut Vec<u32>) -> StepOutcome;
}

/// Steps the simulations at up to 512 seats.
///
/// All states are in the same phase of the game. A simulation that has ended
/// waits for the phase of its root before the next one of the seat begins.
pub(crate) struct LaneDriver<'a> {
    game: &'a LaneGame,
    states: LaneStates<'a>,
    /// The seats with a simulation under way.
    active: Seats,
    /// By phase: the seats whose root is not set yet, and those that wait to
    /// return to theirs.
    new: Vec<Vec<usize>>,
    returning: Vec<Seats>,
    /// By seat: the phase of its root.
    phases: [usize; LANES],
    /// One more than the last seat that was used.
    seats: usize,
    numbers: Vec<u32>,
    joints: Vec<u32>,
}

impl<'a> LaneDriver<'a> {
    /// Creates a driver whose seats are empty.
    pub fn new(game: &'a LaneGame) -> LaneDriver<'a> {
        let phases = game.phase_count();
        LaneDriver {
            game,
            states: LaneStates::new(game),
            active: Seats::NONE,
            new: vec![Vec::new(); phases],
            returning: vec![Seats::NONE; phases],
            phases: [0; LANES],
            seats: 0,
            numbers: Vec::new(),
            joints: Vec::new(),
        }
    }

    /// Goes to the phase of a state. No seat may be in use.
    pub fn skip_to(&mut self, root: &NetworkState) {
        while self.states.phase() != self.game.phase_of(root) {
            self.states.pass();
        }
    }

    /// Returns whether any seat is in use.
    pub fn is_busy(&self) -> bool {
        self.active.any()
            || self.returning.iter().any(|seats| seats.any())
            || self.new.iter().any(|new| !new.is_empty())
    }

    /// Seats a simulation at an empty seat. It begins at `root`, which is not terminal; in the round of its phase
    /// [`SeatSearch::root`] of the seat must return the same state.
    pub fn seat(&mut self, seat: usize, root: &NetworkState) {
        self.phases[seat] = self.game.phase_of(root);
        self.seats = self.seats.max(seat + 1);
        self.new[self.phases[seat]].push(seat);
    }

    /// Empties a seat.
    pub fn remove(&mut self, seat: usize) {
        self.active.set(seat, false);
        self.new.iter_mut().for_each(|new| new.retain(|&of| of != seat));
        self.returning.iter_mut().for_each(|returning| returning.set(seat, false));
    }

    /// Steps every simulation in the current phase, and advances to the next phase.
    pub fn round(&mut self, searches: &mut impl SeatSearch) {
        let phase = self.states.phase();
        let mut new = std::mem::take(&mut self.new[phase]);
        for &seat in &new {
            self.states.put(seat, searches.root(seat));
            self.active.set(seat, true);
        }
        let ended = self.states.find_ends(self.active);
        new.iter().for_each(|&seat| self.states.keep_root(seat));
        // The list's memory is used again.
        new.clear();
        self.new[phase] = new;
        for seat in ended.iter() {
            let needs = searches.needs(seat);
            let action = searches.step(seat, self.states.end(seat, needs), &mut self.numbers);
            self.leave(seat, action);
        }
        let returning = std::mem::replace(&mut self.returning[phase], Seats::NONE);
        if returning.any() {
            self.states.restart(returning);
            self.active = self.active.with(returning);
        }
        match self.active.any() {
            true => self.play(searches),
            false => self.states.pass(),
        }
    }

    /// The simulation of a seat has ended.
    fn leave(&mut self, seat: usize, action: StepOutcome) {
        self.active.set(seat, false);
        if action == StepOutcome::Restart {
            self.returning[self.phases[seat]].set(seat, true);
        }
    }

    /// Steps all active simulations, and plays the moves that they choose.
    fn play(&mut self, searches: &mut impl SeatSearch) {
        self.states.find_moves();
        for seat in 0..self.seats {
            if self.active.contains(seat) {
                self.step(seat, searches);
            }
        }
        for part in self.states.parts() {
            self.look_ahead(searches, part);
        }
        self.states.step();
    }

    /// Steps a simulation, or queues its state for its successors.
    fn step(&mut self, seat: usize, searches: &mut impl SeatSearch) {
        let mut needs = searches.needs(seat);
        let foresight = searches.foresee(seat, self.states.view(seat, needs), &mut self.joints);
        if let Foresight::Successors(part) = foresight {
            if self.states.queue(seat, &self.joints, part) {
                return;
            }
            self.look_ahead(searches, part);
            self.states.view(seat, needs);
            if self.states.queue(seat, &self.joints, part) {
                return;
            }
        }
        // The successors are unknown, or too many.
        needs.facts |= foresight != Foresight::Nothing;
        let action = searches.step(seat, self.states.view(seat, needs), &mut self.numbers);
        self.act(seat, action);
    }

    /// Steps the simulations whose states are queued.
    fn look_ahead(&mut self, searches: &mut impl SeatSearch, part: SuccessorPart) {
        self.states.find_successors(part, |role| searches.goal_tree(role));
        let mut index = 0;
        while let Some(seat) = self.states.queued_seat(index) {
            let needs = searches.needs(seat);
            let action = searches.step(seat, self.states.queued_view(index, seat, needs), &mut self.numbers);
            self.act(seat, action);
            index += 1;
        }
    }

    fn act(&mut self, seat: usize, action: StepOutcome) {
        match action {
            StepOutcome::Play => self.states.play(seat, &self.numbers),
            action => self.leave(seat, action),
        }
    }
}
