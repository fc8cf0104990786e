//! The states of 512 matches of an environment.

use fearless_simd::{Simd, dispatch};
use fearless_simd_macros::simd;
use rand::SeedableRng;
use sternhalma_cpu::level;
use sternhalma_game::{Rng, derive_seed};

use super::planes::{
    PlaneBytes, add_planes, count_planes, find_numbers, find_others, find_planes, replace_planes, to_numbers,
    unpack_plane, unpack_planes,
};
use super::{Autoreset, EnvironmentRows, LaneEnvironment};
use crate::network::run::{Bits, LANES, LaneProgram, LaneSlots, RandomBits, Slot, choose, find_goals};

/// Up to 512 matches of a [`LaneEnvironment`]. All methods get the same environment.
///
/// A step is [`read_actions`](EnvironmentBlock::read_actions), which changes no match, and then
/// [`step`](EnvironmentBlock::step).
pub struct EnvironmentBlock {
    number: u64,
    lanes: usize,
    slots: LaneSlots,
    random: RandomBits,
    terminated: Bits,
    truncated: Bits,
    /// The lanes whose match is over and has not begun again.
    over: Bits,
    /// The lanes in which each role is to move.
    to_move: Vec<Bits>,
    /// The lanes in which several roles have a choice.
    several: Bits,
    /// The legal actions, as in [`EnvironmentRows::legal_planes`].
    legal: Vec<Bits>,
    /// The actions to play, and the lanes to play them in.
    played: Vec<Bits>,
    stepping: Bits,
    /// The fluents before a step.
    before: Vec<Bits>,
    blocks: Vec<PlaneBytes>,
    numbers: Box<[u16; LANES]>,
    steps: Box<[u32; LANES]>,
}

impl EnvironmentBlock {
    /// Creates the block with a number, with new matches in its lanes.
    ///
    /// # Panics
    ///
    /// Panics if there are more than 512 lanes.
    pub fn new(environment: &LaneEnvironment, number: u64, lanes: usize) -> EnvironmentBlock {
        assert!(lanes <= LANES, "a block has at most {LANES} lanes");
        let actions = environment.choices() * environment.max_moves();
        let most = environment.fluents().max(actions);
        let mut block = EnvironmentBlock {
            number,
            lanes,
            slots: LaneSlots::new(environment.program.slot_count()),
            random: seeded(0, number),
            terminated: Bits::NONE,
            truncated: Bits::NONE,
            over: Bits::NONE,
            to_move: vec![Bits::NONE; environment.roles()],
            several: Bits::NONE,
            legal: vec![Bits::NONE; actions],
            played: vec![Bits::NONE; actions],
            stepping: Bits::NONE,
            before: vec![Bits::NONE; environment.fluents()],
            blocks: vec![[[0; 64]; 64]; most.div_ceil(64)],
            numbers: Box::new([0; LANES]),
            steps: Box::new([0; LANES]),
        };
        block.reset(environment, |_| true, &mut EnvironmentRows::default());
        block
    }

    /// Returns an independent block in the same states.
    #[must_use]
    pub fn duplicate(&self, environment: &LaneEnvironment) -> EnvironmentBlock {
        let mut block = EnvironmentBlock::new(environment, self.number, self.lanes);
        let slots = 0..environment.program.slot_count() as Slot;
        block.slots[slots.clone()].copy_from_slice(&self.slots[slots]);
        block.random = self.random.clone();
        (block.terminated, block.truncated, block.over) = (self.terminated, self.truncated, self.over);
        block.to_move.clone_from(&self.to_move);
        block.several = self.several;
        block.legal.clone_from(&self.legal);
        block.steps.clone_from(&self.steps);
        block
    }

    /// Seeds the generator of random actions.
    pub fn seed(&mut self, seed: u64) {
        self.random = seeded(seed, self.number);
    }

    /// Returns the first lane in which several roles have a choice although the environment is not simultaneous.
    pub fn conflict(&self, environment: &LaneEnvironment) -> Option<usize> {
        if environment.is_simultaneous() { None } else { (self.several & self.used()).lanes().next() }
    }

    /// Begins new matches in some lanes.
    pub fn reset(&mut self, environment: &LaneEnvironment, of: impl Fn(usize) -> bool, rows: &mut EnvironmentRows) {
        let lanes = self.lanes_where(of);
        for (fluent, &holds) in environment.initial.iter().enumerate() {
            set_lanes(&mut self.slots[LaneProgram::fluent(fluent)], lanes, holds);
        }
        self.begin(environment, lanes, rows);
    }

    /// Puts some lanes in given states: a row of truth values per fluent. An unreachable state may be evaluated
    /// incorrectly. The goals of a terminal state are its rewards.
    pub fn set<'r>(
        &mut self,
        environment: &LaneEnvironment,
        states: impl Iterator<Item = (usize, &'r [u8])>,
        rows: &mut EnvironmentRows,
    ) {
        let mut lanes = Bits::NONE;
        for (lane, state) in states {
            lanes.set(lane, true);
            for (fluent, &value) in state.iter().enumerate() {
                self.slots[LaneProgram::fluent(fluent)].set(lane, value != 0);
            }
        }
        self.begin(environment, lanes, rows);
    }

    /// Begins matches in lanes whose fluents have been replaced.
    fn begin(&mut self, environment: &LaneEnvironment, lanes: Bits, rows: &mut EnvironmentRows) {
        let roles = environment.roles();
        for lane in lanes.lanes() {
            self.steps[lane] = 0;
            if let Some(reward) = rows.reward.get_mut(lane * roles..(lane + 1) * roles) {
                reward.fill(0.0);
            }
        }
        for flags in [&mut self.terminated, &mut self.truncated, &mut self.over] {
            *flags &= !lanes;
        }
        dispatch!(level(), simd => self.evaluate(simd, environment, Autoreset::Never, lanes, rows));
    }

    /// Reads the actions of the next step, one per lane or role. Lanes in which `mask` is false do not change. Returns
    /// the first lane whose action is not legal.
    pub fn read_actions(
        &mut self,
        environment: &LaneEnvironment,
        actions: &[i32],
        mask: Option<&[bool]>,
    ) -> Option<usize> {
        let (choices, moves) = (environment.choices(), environment.max_moves());
        self.stepping = mask.map_or(self.used(), |mask| self.lanes_where(|lane| mask.get(lane) == Some(&true)));
        let mut wrong = Bits::NONE;
        for (choice, played) in self.played.chunks_mut(moves.max(1)).enumerate() {
            let legal = &self.legal[choice * moves..(choice + 1) * moves];
            let (actions, numbers) = (actions.get(choice..).unwrap_or_default(), &mut self.numbers);
            wrong |= dispatch!(level(), simd => {
                to_numbers(simd, actions, choices, numbers);
                !find_planes(simd, numbers, legal, played)
            });
        }
        (wrong & self.stepping & !self.over).lanes().next()
    }

    /// Plays the actions that were read.
    ///
    /// The other roles play their only legal move.
    pub fn step(&mut self, environment: &LaneEnvironment, autoreset: Autoreset, rows: &mut EnvironmentRows) {
        dispatch!(level(), simd => self.step_at(simd, environment, autoreset, rows));
    }

    #[simd]
    fn step_at<S: Simd>(
        &mut self,
        simd: S,
        environment: &LaneEnvironment,
        autoreset: Autoreset,
        rows: &mut EnvironmentRows,
    ) {
        rows.reward.fill(0.0);
        self.terminated &= self.over;
        self.truncated &= self.over;
        let moving = self.stepping & !self.over;
        let restarting = if autoreset == Autoreset::NextStep { self.stepping & self.over } else { Bits::NONE };
        self.play(simd, environment);
        self.advance(simd, environment, moving, restarting);
        for flags in [&mut self.terminated, &mut self.truncated, &mut self.over] {
            *flags &= !restarting;
        }
        self.evaluate(simd, environment, autoreset, moving | restarting, rows);
    }

    /// Replaces the legal moves by the played ones.
    #[simd]
    fn play<S: Simd>(&mut self, simd: S, environment: &LaneEnvironment) {
        let moves = environment.max_moves();
        for (role, slots) in environment.program.roles().iter().enumerate() {
            let (lanes, first) = match environment.is_simultaneous() {
                true => (&Bits::ALL, role * moves),
                false => (&self.to_move[role], 0),
            };
            replace_planes(simd, &mut self.slots[slots.slots()], lanes, &self.played[first..]);
        }
    }

    /// Replaces the states: by the next ones in some lanes, by the initial one in others. The remaining lanes keep
    /// theirs.
    #[simd]
    fn advance<S: Simd>(&mut self, simd: S, environment: &LaneEnvironment, moving: Bits, restarting: Bits) {
        let fluents = LaneProgram::fluent(0)..LaneProgram::fluent(environment.fluents());
        // Lanes beyond the end stay in the initial state.
        let restarting = restarting | !self.used();
        let staying = !(moving | restarting);
        if staying.any() {
            self.before.copy_from_slice(&self.slots[fluents.clone()]);
        }
        environment.program.next(&mut self.slots);
        if staying.any() {
            replace_planes(simd, &mut self.slots[fluents], &staying, &self.before);
        }
        if restarting.any() {
            for (fluent, &holds) in environment.initial.iter().enumerate() {
                set_lanes(&mut self.slots[LaneProgram::fluent(fluent)], restarting, holds);
            }
        }
        let mut more = [0; LANES];
        unpack_plane(simd, &moving, 1, &mut more);
        self.steps.iter_mut().zip(&more).for_each(|(steps, &more)| *steps = steps.wrapping_add(u32::from(more)));
        restarting.for_each_lane(|lane| self.steps[lane] = 0);
    }

    /// Evaluates all states after those of some lanes have changed, and writes the arrays.
    #[simd]
    fn evaluate<S: Simd>(
        &mut self,
        simd: S,
        environment: &LaneEnvironment,
        autoreset: Autoreset,
        changed: Bits,
        rows: &mut EnvironmentRows,
    ) {
        let changed = changed & self.used();
        let ended = environment.program.terminal(&mut self.slots) & changed;
        self.end(environment, autoreset, ended, rows);
        if let Some(most) = environment.max_steps {
            let late = self.lanes_where(|lane| self.steps[lane] >= most) & changed & !ended;
            self.truncated |= late;
            self.conclude(environment, autoreset, late, rows);
        }
        environment.program.legal(&mut self.slots);
        let stuck = self.find_to_move(simd, environment) & changed & !self.over;
        if stuck.any() {
            environment.program.terminal(&mut self.slots);
            self.end(environment, autoreset, stuck, rows);
            environment.program.legal(&mut self.slots);
            self.find_to_move(simd, environment);
        }
        self.find_legal(simd, environment);
        self.write(simd, environment, rows);
    }

    /// Ends matches by the rules. The terminal condition has just been evaluated.
    fn end(&mut self, environment: &LaneEnvironment, autoreset: Autoreset, ended: Bits, rows: &mut EnvironmentRows) {
        if !ended.any() {
            return;
        }
        let roles = environment.roles();
        for (role, goals) in environment.program.goals(&mut self.slots).iter().enumerate() {
            find_goals(goals, &self.slots, ended, |lane, goal| {
                if let Some(reward) = rows.reward.get_mut(lane * roles + role) {
                    *reward = environment.reward(goal);
                }
            });
        }
        self.terminated |= ended;
        self.conclude(environment, autoreset, ended, rows);
    }

    /// Marks matches as over, or begins new ones in the same step.
    fn conclude(
        &mut self,
        environment: &LaneEnvironment,
        autoreset: Autoreset,
        ended: Bits,
        rows: &mut EnvironmentRows,
    ) {
        if autoreset != Autoreset::SameStep {
            self.over |= ended;
            return;
        }
        let fluents = environment.fluents();
        for lane in ended.lanes() {
            self.steps[lane] = 0;
            if let Some(row) = rows.final_observation.get_mut(lane * fluents..(lane + 1) * fluents) {
                for (fluent, value) in row.iter_mut().enumerate() {
                    *value = u8::from(self.slots[LaneProgram::fluent(fluent)].get(lane));
                }
            }
        }
        for &(slot, holds) in &environment.restart {
            set_lanes(&mut self.slots[slot], ended, holds);
        }
    }

    /// Finds the role to move in each lane, and the lanes in which several roles have a choice. Returns the lanes in
    /// which a role has no legal move.
    ///
    /// The role to move is the first with a choice; if there is none, the first whose only move is not one that it
    /// waits with; if there is none, the first.
    #[simd]
    fn find_to_move<S: Simd>(&mut self, simd: S, environment: &LaneEnvironment) -> Bits {
        let (mut free, mut stuck) = (Bits::ALL, Bits::NONE);
        self.several = Bits::NONE;
        for (slots, to_move) in environment.program.roles().iter().zip(&mut self.to_move) {
            let (mut any, mut choice) = (Bits::NONE, Bits::NONE);
            count_planes(simd, &self.slots[slots.slots()], &mut any, &mut choice);
            stuck |= !any;
            self.several |= choice & !free;
            *to_move = choice & free;
            free &= !choice;
        }
        for role in 0..self.to_move.len() {
            if !free.any() {
                break;
            }
            let slots = environment.program.roles()[role].slots();
            let mut acts = Bits::NONE;
            find_others(simd, &self.slots[slots], &environment.waiting[role], &mut acts);
            self.to_move[role] |= acts & free;
            free &= !acts;
        }
        if let Some(first) = self.to_move.first_mut() {
            *first |= free;
        }
        stuck
    }

    /// Finds the legal actions.
    #[simd]
    fn find_legal<S: Simd>(&mut self, simd: S, environment: &LaneEnvironment) {
        self.legal.fill(self.over);
        self.several &= !self.over;
        let moves = environment.max_moves();
        for (role, slots) in environment.program.roles().iter().enumerate() {
            let (lanes, first) = match environment.is_simultaneous() {
                true => (Bits::ALL, role * moves),
                false => (self.to_move[role], 0),
            };
            let lanes = lanes & !self.over;
            add_planes(simd, &mut self.legal[first..], &lanes, &self.slots[slots.slots()]);
        }
    }

    /// Writes all arrays except the rewards and the final observations.
    #[simd]
    fn write<S: Simd>(&mut self, simd: S, environment: &LaneEnvironment, rows: &mut EnvironmentRows) {
        let fluents = LaneProgram::fluent(0)..LaneProgram::fluent(environment.fluents());
        let fluents = &self.slots[fluents];
        copy_planes(fluents, rows.planes);
        copy_planes(&self.legal, rows.legal_planes);
        unpack_planes(simd, fluents, &mut self.blocks, rows.observation);
        unpack_planes(simd, &self.legal, &mut self.blocks, rows.legal);
        unpack_plane(simd, &self.terminated, 1, rows.terminated);
        unpack_plane(simd, &self.truncated, 1, rows.truncated);
        let nobody = self.over | self.several;
        let mut player = [0; LANES];
        for (role, lanes) in self.to_move.iter().enumerate() {
            let mut of_role = [0; LANES];
            unpack_plane(simd, &(*lanes & !nobody), role as u8 + 1, &mut of_role);
            player.iter_mut().zip(&of_role).for_each(|(player, role)| *player |= role);
        }
        rows.player.iter_mut().zip(&player).for_each(|(out, &number)| *out = number as i8 - 1);
        let steps = rows.steps.len();
        rows.steps.copy_from_slice(&self.steps[..steps]);
    }

    /// Writes a uniformly random legal action per lane, or per role and lane if the environment is simultaneous. The
    /// action is 0 if the match is over.
    pub fn choose(&mut self, environment: &LaneEnvironment, actions: &mut [i32]) {
        let (choices, moves) = (environment.choices(), environment.max_moves());
        self.played.copy_from_slice(&self.legal);
        for (choice, planes) in self.played.chunks_mut(moves.max(1)).enumerate() {
            choose(planes, &mut self.random);
            let (active, actions) = (!self.over, actions.get_mut(choice..).unwrap_or_default());
            dispatch!(level(), simd => find_numbers(simd, planes, &active, actions, choices));
        }
    }

    /// Returns the lanes that are in use.
    fn used(&self) -> Bits {
        let word = |word: usize| match self.lanes.saturating_sub(64 * word) {
            lanes @ 0..64 => (1 << lanes) - 1,
            _ => !0,
        };
        Bits(std::array::from_fn(word))
    }

    /// Returns the lanes in use with a property.
    fn lanes_where(&self, has: impl Fn(usize) -> bool) -> Bits {
        let mut lanes = Bits::NONE;
        (0..self.lanes).filter(|&lane| has(lane)).for_each(|lane| lanes.set(lane, true));
        lanes
    }
}

/// Returns the generator of random actions of a block.
fn seeded(seed: u64, number: u64) -> RandomBits {
    RandomBits::new(&mut Rng::seed_from_u64(derive_seed(seed, number)))
}

/// Sets the value in some lanes.
#[inline(always)]
fn set_lanes(plane: &mut Bits, lanes: Bits, value: bool) {
    *plane = if value { *plane | lanes } else { *plane & !lanes };
}

/// Copies planes to words, if there is room for them.
fn copy_planes(planes: &[Bits], words: &mut [u64]) {
    for (words, plane) in words.as_chunks_mut::<{ Bits::WORDS }>().0.iter_mut().zip(planes) {
        *words = plane.0;
    }
}
