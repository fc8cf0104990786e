//! The states of many simulations that advance together.

use sternhalma_game::key_of_words;
use sternhalma_game::util::FluentSet;

use super::lane_game::{LaneGame, LanePhase};
use super::lane_view::LaneView;
use crate::Goal;
use crate::network::run::{Bits, LANES, LaneProgram, LaneSlots, NetworkState, find_goals, transpose};

/// The states of up to 512 simulations of a [`LaneGame`], one per *seat*, all
/// in the same phase of the game.
///
/// A round consists of [`find_ends`](LaneStates::find_ends),
/// [`find_moves`](LaneStates::find_moves), one [`play`](LaneStates::play) for
/// each seat that continues, and [`step`](LaneStates::step). A state is
/// [put](LaneStates::put) on a seat before a round. A seat may
/// [return](LaneStates::restart) to that state after `find_ends`. Lanes
/// without a seat have no meaning.
pub struct LaneStates<'a> {
    game: &'a LaneGame,
    slots: LaneSlots,
    phase: usize,
    /// For each phase, the values of the kept slots at the roots of the seats.
    roots: Vec<Vec<Bits>>,
    /// For each role, the goals in the lanes whose matches ended.
    goals: Vec<Vec<u8>>,
    /// The legal moves in blocks of 64, transposed so that a seat has one word
    /// of each block.
    blocks: Vec<[Bits; 64]>,
    view: LaneView,
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
        let blocks = game.phases.iter().map(|phase| phase.planes.len() / 64).max().unwrap_or(0);
        LaneStates {
            slots: LaneSlots::new(game.slot_count()),
            phase: 0,
            roots: roots.collect(),
            goals: vec![vec![0; LANES]; game.phases[0].program.roles().len()],
            blocks: vec![[Bits::NONE; 64]; blocks],
            view: LaneView::new(game.phases[0].clone()),
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

    /// Returns the key of the state of a seat, which is that of the independent state.
    fn key(&self, seat: usize) -> u64 {
        let (fluents, lane) = (self.game.fluents, lane(seat));
        key_of_words((0..fluents).step_by(64).map(|first| {
            (first..fluents.min(first + 64)).fold(0, |word, fluent| {
                word | u64::from(self.slots[LaneProgram::fluent(fluent)].get(lane)) << (fluent - first)
            })
        }))
    }

    /// Returns the view of a seat whose match is in a terminal state, with its key if `with_key` is set.
    pub fn end(&mut self, seat: usize, with_key: bool) -> &LaneView {
        self.view.key = with_key.then(|| self.key(seat));
        self.view.terminal = true;
        self.view.goals.clear();
        self.view.goals.extend(self.goals.iter().map(|goals| goals[lane(seat)]));
        &self.view
    }

    /// Finds the legal moves in all states.
    pub fn find_moves(&mut self) {
        let LanePhase { program, planes, .. } = &*self.game.phases[self.phase];
        program.legal(&mut self.slots);
        for (block, planes) in self.blocks.iter_mut().zip(planes.as_chunks::<64>().0) {
            for (row, &slot) in block.iter_mut().zip(planes) {
                *row = self.slots[slot];
            }
            transpose(block);
        }
        // From here on the slots contain the played moves.
        for role in program.roles().iter().filter(|role| !role.forced) {
            self.slots[role.slots()].fill(Bits::NONE);
        }
    }

    /// Returns the view of a seat whose match is not over by the rules, with its
    /// key if `with_key` is set. If a role has no legal move, the view is terminal.
    pub fn view(&mut self, seat: usize, with_key: bool) -> &LaneView {
        self.view.key = with_key.then(|| self.key(seat));
        let blocks = self.view.phase.planes.len() / 64;
        self.view.words.clear();
        let (row, word) = (seat / Bits::WORDS, seat % Bits::WORDS);
        self.view.words.extend(self.blocks[..blocks].iter().map(|block| block[row].0[word]));
        self.view.terminal = !self.view.count();
        if self.view.terminal {
            self.view.goals = self.goals_of(seat);
        }
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
        // The phase is shared by all threads, so its count of owners is left alone if it does not change.
        if self.game.phases.len() > 1 {
            self.phase = (self.phase + 1) % self.game.phases.len();
            self.view.phase = self.game.phases[self.phase].clone();
        }
    }
}
