//! Random playouts in lanes.

use fearless_simd::{Simd, dispatch};
use fearless_simd_macros::simd;
use sternhalma_cpu::level;
use sternhalma_game::Rng;

use super::bits::RandomBits;
use super::choice::choose;
use super::{Bits, LANES, LaneProgram, LaneSlots, LanesError, Slot, find_goals};

/// The number of steps after which a playout counts as endless.
pub const MAX_STEPS: u32 = 100_000;

/// The results of playouts, in the order in which they ended. Short playouts
/// come first, so only all of them together are an unbiased sample.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Playouts {
    /// The number of steps of each playout.
    pub lengths: Vec<u32>,
    /// The goals of each playout, role by role: the only goal that holds at
    /// the end, or 0 if there is not exactly one.
    pub scores: Vec<u8>,
    /// The number of times that a role had no goal or several goals at the end.
    pub faults: u64,
    /// The total number of steps.
    pub steps: u64,
}

/// Playouts in progress. Lanes whose playout is over start another one when
/// all lanes are in the first phase again, while playouts are left.
pub struct PlayoutRun<'a> {
    slots: &'a mut LaneSlots,
    random: RandomBits,
    /// The number of playouts that have not started.
    left: usize,
    /// The lanes with a playout in progress.
    active: Bits,
    /// The step in which the playout of each lane started.
    began: [u32; LANES],
    /// The index of the last playout that ended in each lane.
    places: [usize; LANES],
    step: u32,
    /// The slots to set at the start of a playout, with their values.
    fresh: Vec<(Slot, bool)>,
    /// Whether playouts end in the state in which they start.
    over_at_once: bool,
    pub playouts: Playouts,
}

impl<'a> PlayoutRun<'a> {
    pub fn new(slots: &'a mut LaneSlots, rng: &mut Rng) -> PlayoutRun<'a> {
        PlayoutRun {
            slots,
            random: RandomBits::new(rng),
            left: 0,
            active: Bits::NONE,
            began: [0; LANES],
            places: [0; LANES],
            step: 0,
            fresh: Vec::new(),
            over_at_once: false,
            playouts: Playouts::default(),
        }
    }

    /// Prepares `count` playouts from the state that all lanes are in.
    pub fn prepare(&mut self, program: &LaneProgram, count: usize) {
        self.left = count;
        self.over_at_once = program.terminal(self.slots).get(0);
        self.fresh = program.kept().iter().map(|&slot| (slot, self.slots[slot].get(0))).collect();
    }

    /// Plays until all playouts have ended.
    pub fn play(&mut self, programs: &[&LaneProgram]) -> Result<(), LanesError> {
        dispatch!(level(), simd => self.play_at(simd, programs))
    }

    #[simd]
    fn play_at<S: Simd>(&mut self, simd: S, programs: &[&LaneProgram]) -> Result<(), LanesError> {
        while self.over_at_once && self.left > 0 {
            self.begin(simd);
            self.end(simd, programs[0], self.active);
        }
        loop {
            for (phase, program) in programs.iter().enumerate() {
                let over = program.terminal(self.slots);
                self.end(simd, program, over & self.active);
                if phase == 0 {
                    self.begin(simd);
                    if !self.active.any() {
                        return Ok(());
                    }
                }
                self.advance(program)?;
            }
            self.check_end()?;
        }
    }

    /// Records the results of lanes.
    #[simd]
    fn end<S: Simd>(&mut self, _: S, program: &LaneProgram, over: Bits) {
        if !over.any() {
            return;
        }
        self.active &= !over;
        let roles = program.roles().len();
        over.for_each_lane(|lane| {
            let length = self.step - self.began[lane];
            self.places[lane] = self.playouts.lengths.len();
            self.playouts.lengths.push(length);
            self.playouts.steps += u64::from(length);
        });
        self.playouts.scores.resize(self.playouts.lengths.len() * roles, 0);
        for (role, goals) in program.goals(self.slots).iter().enumerate() {
            let set = |lane: usize, score| self.playouts.scores[self.places[lane] * roles + role] = score;
            self.playouts.faults += find_goals(goals, self.slots, over, set).count() as u64;
        }
    }

    /// Starts playouts in lanes that have none.
    #[simd]
    fn begin<S: Simd>(&mut self, _: S) {
        let mut begin = !self.active;
        if begin.count() > self.left {
            begin = begin.take(self.left);
        }
        if begin.any() {
            self.left -= begin.count();
            self.active |= begin;
            begin.for_each_lane(|lane| self.began[lane] = self.step);
            for &(slot, value) in &self.fresh {
                let slot = &mut self.slots[slot];
                *slot = if value { *slot | begin } else { *slot & !begin };
            }
        }
    }

    fn advance(&mut self, program: &LaneProgram) -> Result<(), LanesError> {
        program.legal(self.slots);
        for (index, role) in program.roles().iter().enumerate() {
            if !role.forced && (choose(&mut self.slots[role.slots()], &mut self.random) & self.active).any() {
                return Err(LanesError::NoLegalMove { role: index });
            }
        }
        program.next(self.slots);
        self.step += 1;
        Ok(())
    }

    fn check_end(&self) -> Result<(), LanesError> {
        let endless = |lane: usize| self.step - self.began[lane] > MAX_STEPS;
        if self.step.is_multiple_of(1024) && self.active.lanes().any(endless) {
            return Err(LanesError::Endless { steps: MAX_STEPS });
        }
        Ok(())
    }
}
