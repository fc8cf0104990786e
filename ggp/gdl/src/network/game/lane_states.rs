//! The states of many simulations that advance together.

use sternhalma_game::features::{GoalTree, SuccessorPart};
use sternhalma_game::util::FluentSet;
use sternhalma_game::{StateNeeds, key_of_words};

use super::lane_game::{LaneGame, LanePhase};
use super::lane_successors::{DerivedFeature, LaneSuccessors};
use super::lane_view::LaneView;
use crate::Goal;
use crate::network::run::{Bits, LANES, LaneProgram, LaneSlots, NetworkState, TransposedPlanes, find_goals};

/// The states of up to 512 simulations of a [`LaneGame`], one per *seat*, all
/// in the same phase of the game.
///
/// A round consists of [`find_ends`](LaneStates::find_ends),
/// [`find_moves`](LaneStates::find_moves), one [`play`](LaneStates::play) for
/// each seat that continues, and [`step`](LaneStates::step). A state is
/// [put](LaneStates::put) on a seat before a round. A seat may
/// [return](LaneStates::restart) to that state after `find_ends`. Lanes
/// without a seat have no meaning.
///
/// Between `find_moves` and `step`, states may be [queued](LaneStates::queue)
/// for [`find_successors`](LaneStates::find_successors), which finds the
/// successors of all of them at once.
pub struct LaneStates<'a> {
    game: &'a LaneGame,
    slots: LaneSlots,
    phase: usize,
    /// For each phase, the values of the kept slots at the roots of the seats.
    roots: Vec<Vec<Bits>>,
    /// For each role, the goals in the lanes whose matches ended.
    goals: Vec<Vec<u8>>,
    /// The legal moves.
    moves: TransposedPlanes,
    /// The facts, valid if `knows_facts` is set.
    facts: TransposedPlanes,
    knows_facts: bool,
    view: LaneView,
    /// The states that are queued for each part of their successors: facts, mobility, and the degrees of each role.
    queues: Vec<LaneSuccessors>,
    /// The slots of successors, once there are any.
    ahead: Option<LaneSlots>,
    /// A buffer for the moves of all roles.
    first: Vec<u32>,
}

/// Returns the lane of a seat. Consecutive seats have consecutive words in
/// transposed planes.
#[inline]
fn lane(seat: usize) -> usize {
    64 * (seat % Bits::WORDS) + seat / Bits::WORDS
}

/// A set of seats, in the order of their lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seats(Bits);

impl Seats {
    /// The empty set.
    pub const NONE: Seats = Seats(Bits::NONE);

    /// Adds a seat or removes it.
    #[inline]
    pub fn set(&mut self, seat: usize, value: bool) {
        self.0.set(lane(seat), value);
    }

    /// Returns whether a seat is in the set.
    #[inline]
    pub fn contains(&self, seat: usize) -> bool {
        self.0.get(lane(seat))
    }

    /// Returns whether the set is not empty.
    pub fn any(&self) -> bool {
        self.0.any()
    }

    /// Returns the union of two sets.
    #[must_use]
    pub fn with(self, other: Seats) -> Seats {
        Seats(self.0 | other.0)
    }

    /// Returns the seats in the set.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        self.0.lanes().map(|lane| lane % 64 * Bits::WORDS + lane / 64)
    }
}

impl<'a> LaneStates<'a> {
    /// Creates meaningless states in the first phase.
    pub fn new(game: &'a LaneGame) -> LaneStates<'a> {
        let roots = game.phases.iter().map(|phase| vec![Bits::NONE; phase.program.kept().len()]);
        LaneStates {
            slots: LaneSlots::new(game.slot_count()),
            phase: 0,
            roots: roots.collect(),
            goals: vec![vec![0; LANES]; game.phases[0].program.roles().len()],
            moves: TransposedPlanes::default(),
            facts: TransposedPlanes::default(),
            knows_facts: false,
            view: LaneView::new(game.phases[0].clone(), game.fluents),
            queues: (0..2 + game.phases[0].roles.len()).map(|_| LaneSuccessors::default()).collect(),
            ahead: None,
            first: Vec::new(),
            game,
        }
    }

    /// Returns the phase of all states.
    pub fn phase(&self) -> usize {
        self.phase
    }

    /// Puts a state of this phase on a seat. If
    /// [`keep_root`](LaneStates::keep_root) is called after the next
    /// [`find_ends`](LaneStates::find_ends), the seat returns to this state.
    pub fn put(&mut self, seat: usize, state: &NetworkState) {
        self.knows_facts = false;
        for fluent in 0..self.game.fluents {
            self.slots[LaneProgram::fluent(fluent)].set(lane(seat), state.fluents().contains(fluent));
        }
    }

    /// Keeps the state of a seat as the one to return to.
    pub fn keep_root(&mut self, seat: usize) {
        let kept = self.game.phases[self.phase].program.kept();
        for (root, &slot) in self.roots[self.phase].iter_mut().zip(kept) {
            root.set(lane(seat), self.slots[slot].get(lane(seat)));
        }
    }

    /// Returns seats to their roots, which must be in this phase.
    pub fn restart(&mut self, seats: Seats) {
        self.knows_facts = false;
        let kept = self.game.phases[self.phase].program.kept();
        for (&root, &slot) in self.roots[self.phase].iter().zip(kept) {
            let slot = &mut self.slots[slot];
            *slot = (*slot & !seats.0) | (root & seats.0);
        }
    }

    /// Returns those of the given seats whose match is in a terminal state.
    pub fn find_ends(&mut self, of: Seats) -> Seats {
        let program = &self.game.phases[self.phase].program;
        let over = program.terminal(&mut self.slots) & of.0;
        if over.any() {
            self.find_goals(program, over);
        }
        Seats(over)
    }

    /// Finds the goals in ended matches. A role without exactly one goal gets
    /// 0.
    fn find_goals(&mut self, program: &LaneProgram, over: Bits) {
        for (goals, of_role) in self.goals.iter_mut().zip(program.goals(&mut self.slots)) {
            find_goals(of_role, &self.slots, over, |lane, score| goals[lane] = score);
        }
    }

    /// Gives the view what is needed of a seat.
    fn look(&mut self, seat: usize, needs: StateNeeds) {
        self.view.place = None;
        if needs != StateNeeds::default() && !self.knows_facts {
            self.facts.set((0..self.game.fluents).map(|fluent| self.slots[LaneProgram::fluent(fluent)]));
            self.knows_facts = true;
        }
        self.view.key = needs.key.then(|| key_of_words(self.facts.words(lane(seat))));
        if needs.facts {
            let words = self.view.facts.words_mut().iter_mut();
            words.zip(self.facts.words(lane(seat))).for_each(|(to, of)| *to = of);
        }
    }

    /// Returns the view of a seat whose match is in a terminal state.
    pub fn end(&mut self, seat: usize, needs: StateNeeds) -> &LaneView {
        self.look(seat, needs);
        self.view.terminal = true;
        self.view.goals.clear();
        self.view.goals.extend(self.goals.iter().map(|goals| goals[lane(seat)]));
        &self.view
    }

    /// Finds the legal moves in all states.
    pub fn find_moves(&mut self) {
        let LanePhase { program, planes, .. } = &*self.game.phases[self.phase];
        program.legal(&mut self.slots);
        self.moves.set(planes.iter().map(|&slot| self.slots[slot]));
        // From here on the slots contain the played moves.
        for role in program.roles().iter().filter(|role| !role.forced) {
            self.slots[role.slots()].fill(Bits::NONE);
        }
    }

    /// Returns the view of a seat whose match is not over by the rules. If a role
    /// has no legal move, the view is terminal.
    pub fn view(&mut self, seat: usize, needs: StateNeeds) -> &LaneView {
        self.look(seat, needs);
        self.view.words.clear();
        self.view.words.extend(self.moves.words(lane(seat)));
        self.view.terminal = !self.view.count();
        if self.view.terminal {
            self.view.goals = self.goals_of(seat);
        }
        &self.view
    }

    /// Returns the parts of successors, each of which has a queue.
    pub fn parts(&self) -> impl Iterator<Item = SuccessorPart> + use<> {
        let degrees = (0..self.game.phases[0].roles.len()).map(|role| SuccessorPart::Degrees { role });
        [SuccessorPart::Facts, SuccessorPart::Mobility].into_iter().chain(degrees)
    }

    fn queue_of(&mut self, part: SuccessorPart) -> &mut LaneSuccessors {
        &mut self.queues[match part {
            SuccessorPart::Facts => 0,
            SuccessorPart::Mobility => 1,
            SuccessorPart::Degrees { role } => 2 + role,
        }]
    }

    /// Queues the state of the last [`view`](LaneStates::view), that of `seat`, for a part of its successors by some joint
    /// moves of the acting roles, at least one. Returns whether there was room; if not, the queue must be worked off first,
    /// and the state be viewed again.
    pub fn queue(&mut self, seat: usize, joints: &[u32], part: SuccessorPart) -> bool {
        let acting = self.view.acting();
        let seats = if acting.is_some() { 1 } else { self.view.phase.roles.len() };
        if !self.queue_of(part).has_room(joints.len() / seats) {
            return false;
        }
        let mut first = std::mem::take(&mut self.first);
        first.clear();
        self.view.write_numbers(&joints[..seats], &mut first);
        self.queue_of(part).add(seat, lane(seat), joints, &first, acting);
        self.first = first;
        true
    }

    /// Finds a part of the successors of the states in its queue, which becomes empty; degrees by the tree of `goal`.
    /// [`queued_seat`](LaneStates::queued_seat) and [`queued_view`](LaneStates::queued_view) refer to them.
    pub fn find_successors<'g>(&mut self, part: SuccessorPart, goal: impl Fn(usize) -> Option<&'g GoalTree>) {
        let mut queue = std::mem::take(self.queue_of(part));
        std::mem::swap(&mut queue, &mut self.view.successors);
        queue.clear();
        *self.queue_of(part) = queue;
        let found = &mut self.view.successors;
        if found.seat(0).is_none() {
            return;
        }
        let phases = &self.game.phases;
        let derived = match part {
            SuccessorPart::Facts => DerivedFeature::None,
            SuccessorPart::Mobility => DerivedFeature::Mobility(&phases[(self.phase + 1) % phases.len()]),
            SuccessorPart::Degrees { role } => goal(role).map_or(DerivedFeature::None, DerivedFeature::Degrees),
        };
        let ahead = self.ahead.get_or_insert_with(|| LaneSlots::new(self.game.slot_count()));
        found.find(&self.slots, ahead, self.game.fluents, &phases[self.phase], derived);
    }

    /// Returns the seat of a state whose successors were found, in the order in which they were queued.
    pub fn queued_seat(&self, index: usize) -> Option<usize> {
        self.view.successors.seat(index)
    }

    /// Returns the view of the same state, with the successors.
    pub fn queued_view(&mut self, index: usize, seat: usize, needs: StateNeeds) -> &LaneView {
        self.view(seat, needs);
        self.view.place = Some(index);
        &self.view
    }

    /// Returns the goals of the state of a seat.
    fn goals_of(&self, seat: usize) -> Vec<u8> {
        let holds = |fluent| self.slots[LaneProgram::fluent(fluent)].get(lane(seat));
        let fluents: Vec<bool> = (0..self.game.fluents).map(holds).collect();
        let engine = &self.game.engine;
        engine.goals(&engine.state(&FluentSet::of(&fluents))).map(Goal::score).collect()
    }

    /// Sets the moves of a seat: one legal move per role.
    #[inline]
    pub fn play(&mut self, seat: usize, moves: &[u32]) {
        let done = &self.game.phases[self.phase].done;
        for &mv in moves {
            if let Some(slot) = done[mv as usize] {
                self.slots[slot].set(lane(seat), true);
            }
        }
    }

    /// Plays the moves of all seats.
    pub fn step(&mut self) {
        self.game.phases[self.phase].program.next(&mut self.slots);
        self.pass();
    }

    /// Advances to the next phase when no seat plays.
    pub fn pass(&mut self) {
        self.knows_facts = false;
        // The phase is shared by all threads, so its count of owners is left alone if it does not change.
        if self.game.phases.len() > 1 {
            self.phase = (self.phase + 1) % self.game.phases.len();
            self.view.phase = self.game.phases[self.phase].clone();
        }
    }
}
