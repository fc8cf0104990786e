//! A network as a game for searches whose simulations advance in lanes.

use std::ops::Range;

use sternhalma_game::util::{bits, nth_bit};
use sternhalma_game::{Game, MemoryBudget, MemoryUse, Rng, Turn};

use super::network_game::SingleGame;
use crate::network::build::{GamePhase, phases};
use crate::network::run::{LaneProgram, LaneSlots, LanesError, NetworkState, Slot};
use crate::{Goal, Reasoner};

/// A rulesheet played with its network. A search can request its [`LaneGame`].
pub type NetworkGame = SingleGame<Option<LaneGame>>;

/// A [`NetworkGame`] whose states may also be in lanes.
///
/// A search plays the same simulations with both kinds of states: turns,
/// moves, their order and random choices are those of `NetworkGame`.
pub struct LaneGame {
    game: SingleGame,
    /// The phases of the game, beginning with the initial state.
    phases: Vec<LanePhase>,
    memory: MemoryUse,
}

/// The game in one phase.
pub(super) struct LanePhase {
    /// The fluents that the phase determines, with their values.
    fluents: Vec<(usize, bool)>,
    pub program: LaneProgram,
    /// The legal moves of each role as bits of a view.
    roles: Vec<RoleBits>,
    /// The slot of each bit of a view; unused bits have slot 0, which is
    /// false.
    pub planes: Vec<Slot>,
    /// For each move the slot that marks it as played; `None` if no mark is
    /// needed.
    pub done: Vec<Option<Slot>>,
}

/// The location of the legal moves of a role in a view.
struct RoleBits {
    /// The words with one bit per move.
    words: Range<usize>,
    /// The move of each bit, in the order of the network.
    moves: Vec<u32>,
    /// Whether there is only one move, which is always legal; it has no bit.
    forced: bool,
}

/// A state of a [`LaneGame`].
#[derive(PartialEq, Eq, Debug)]
pub enum LaneState {
    /// An independent state, such as that of a match.
    Single(NetworkState),
    /// A view of the state in a lane. The state cannot be played separately,
    /// because all lanes advance together.
    InLane(LaneView),
}

/// A view of the state in a lane: the goals if it is terminal, otherwise the
/// legal moves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneView {
    pub(super) phase: usize,
    pub(super) terminal: bool,
    pub(super) turn: Turn,
    /// The key of the state, if it was requested.
    pub(super) key: Option<u64>,
    /// The number of legal moves of each role.
    counts: Vec<u32>,
    /// The legal moves, in the layout of the phase.
    pub(super) words: Vec<u64>,
    /// The goals of all roles.
    pub(super) goals: Vec<u8>,
}

impl Clone for LaneState {
    fn clone(&self) -> LaneState {
        match self {
            LaneState::Single(state) => LaneState::Single(state.clone()),
            LaneState::InLane(view) => LaneState::InLane(view.clone()),
        }
    }

    /// Copies without allocation if both are independent states of the same
    /// game.
    fn clone_from(&mut self, other: &LaneState) {
        match (self, other) {
            (LaneState::Single(state), LaneState::Single(other)) => state.clone_from(other),
            (state, other) => *state = other.clone(),
        }
    }
}

impl LanePhase {
    fn new(game: &SingleGame, fluents: Vec<(usize, bool)>, program: LaneProgram) -> LanePhase {
        let mut planes = Vec::new();
        let mut done = vec![None; game.network().netlist.moves()];
        let mut roles = Vec::new();
        for (role, of_role) in program.roles().iter().enumerate() {
            let slot = |mv: u32| of_role.moves.binary_search(&(mv as usize)).ok().map(|at| of_role.first + at as Slot);
            let slots: Vec<(u32, Slot)> = game.engine().order(role).filter_map(|mv| Some((mv, slot(mv)?))).collect();
            let first = planes.len() / 64;
            if !of_role.forced {
                slots.iter().for_each(|&(mv, slot)| done[mv as usize] = Some(slot));
                planes.extend(slots.iter().map(|&(_, slot)| slot));
                planes.resize(planes.len().next_multiple_of(64), 0);
            }
            let moves = slots.into_iter().map(|(mv, _)| mv).collect();
            roles.push(RoleBits { words: first..planes.len() / 64, moves, forced: of_role.forced });
        }
        LanePhase { fluents, program, roles, planes, done }
    }
}

impl RoleBits {
    fn count(&self, words: &[u64]) -> u32 {
        match self.forced {
            true => 1,
            false => words[self.words.clone()].iter().map(|word| word.count_ones()).sum(),
        }
    }

    /// Calls `visit` with the legal moves, in order.
    #[inline]
    fn legal(&self, words: &[u64], mut visit: impl FnMut(u32)) {
        if self.forced {
            return visit(self.moves[0]);
        }
        for (&word, moves) in words[self.words.clone()].iter().zip(self.moves.chunks(64)) {
            bits(word).for_each(|bit| visit(moves[bit]));
        }
    }

    /// Returns the legal move with a given index.
    #[inline]
    fn nth(&self, words: &[u64], mut index: usize) -> Option<u32> {
        if self.forced {
            return self.moves.get(index).copied();
        }
        for (&word, moves) in words[self.words.clone()].iter().zip(self.moves.chunks(64)) {
            let count = word.count_ones() as usize;
            if index < count {
                return Some(moves[nth_bit(word, index)]);
            }
            index -= count;
        }
        None
    }
}

impl LaneView {
    /// Creates an empty view.
    pub(super) fn new() -> LaneView {
        LaneView {
            phase: 0,
            terminal: false,
            turn: Turn::One(0),
            key: None,
            counts: Vec::new(),
            words: Vec::new(),
            goals: Vec::new(),
        }
    }

    /// Counts the legal moves after their bits were set. Returns whether each
    /// role has one.
    pub(super) fn count(&mut self, game: &LaneGame) -> bool {
        self.counts.clear();
        let (mut choosing, mut role_that_chooses) = (0, 0);
        let mut all_can = true;
        for (role, of_role) in game.phases[self.phase].roles.iter().enumerate() {
            let count = of_role.count(&self.words);
            self.counts.push(count);
            all_can &= count > 0;
            if count > 1 {
                choosing += 1;
                role_that_chooses = role;
            }
        }
        self.turn = if choosing > 1 { Turn::All } else { Turn::One(role_that_chooses) };
        all_can
    }
}

impl std::fmt::Debug for LaneGame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaneGame").field("phases", &self.phases.len()).finish_non_exhaustive()
    }
}

impl LaneGame {
    /// Creates the game and compiles the network for lanes.
    pub fn new<L>(game: &SingleGame<L>) -> LaneGame {
        let game = game.share();
        let phase = |phase: GamePhase| LanePhase::new(&game, phase.fluents, LaneProgram::new(&phase.netlist));
        let phases = phases(&game.network().netlist).into_iter().map(phase).collect();
        LaneGame { game, phases, memory: MemoryUse::default() }
    }

    /// Counts the memory of the programs, and of the states of one search, for a budget.
    ///
    /// # Errors
    ///
    /// Returns [`LanesError::OutOfMemory`] if it exceeds the room that is left.
    pub fn within(mut self, memory: &MemoryBudget) -> Result<LaneGame, LanesError> {
        let programs: usize = self.phases.iter().map(|phase| phase.program.bytes()).sum();
        let (bytes, room) = ((programs + LaneSlots::bytes(self.slot_count())) as u64, memory.room());
        if bytes > room {
            return Err(LanesError::OutOfMemory { bytes, room });
        }
        self.memory = MemoryUse::of(memory);
        self.memory.set(bytes);
        Ok(self)
    }

    /// Returns the lane game of a game, or `None` if it exceeds the memory of the game.
    /// The first call compiles the network, which may take some seconds.
    pub fn of(game: &NetworkGame) -> Option<&LaneGame> {
        let memory = game.memory();
        game.other(|| LaneGame::new(game).within(memory).ok()).as_ref()
    }

    /// Returns the game for one state at a time.
    pub fn single(&self) -> &SingleGame {
        &self.game
    }

    pub(super) fn phases(&self) -> &[LanePhase] {
        &self.phases
    }

    /// Returns the largest number of slots of a program.
    pub(super) fn slot_count(&self) -> usize {
        self.phases.iter().map(|phase| phase.program.slot_count()).max().unwrap_or(0)
    }

    /// Returns the number of phases of a match.
    pub fn phase_count(&self) -> usize {
        self.phases.len()
    }

    /// Returns the phase of an independent state that is reachable.
    pub fn phase_of(&self, state: &LaneState) -> usize {
        let fluents = state.single().fluents();
        let holds = |&(fluent, value): &(usize, bool)| fluents.contains(fluent) == value;
        let phase = self.phases.iter().position(|phase| phase.fluents.iter().all(holds));
        phase.expect("every state of a match is in one of the phases")
    }

    #[inline]
    fn role(&self, view: &LaneView, role: usize) -> &RoleBits {
        &self.phases[view.phase].roles[role]
    }
}

impl LaneState {
    /// Returns the independent state.
    ///
    /// # Panics
    ///
    /// Panics if the state is in a lane.
    pub(super) fn single(&self) -> &NetworkState {
        match self {
            LaneState::Single(state) => state,
            LaneState::InLane(_) => panic!("a state in a lane has only turns, moves and goals"),
        }
    }

    fn single_mut(&mut self) -> &mut NetworkState {
        match self {
            LaneState::Single(state) => state,
            LaneState::InLane(_) => panic!("a state in a lane cannot be played on by itself"),
        }
    }
}

/// # Panics
///
/// [`play`](Game::play) panics if the state is in a lane.
impl Game for LaneGame {
    type State = LaneState;
    /// The number of a move in the network.
    type Move = u32;

    fn roles(&self) -> usize {
        self.game.roles()
    }

    fn initial(&self) -> LaneState {
        LaneState::Single(self.game.initial())
    }

    #[inline]
    fn turn(&self, state: &LaneState) -> Turn {
        match state {
            LaneState::Single(state) => self.game.turn(state),
            LaneState::InLane(view) => view.turn,
        }
    }

    #[inline]
    fn has_choice(&self, state: &LaneState, role: usize) -> bool {
        match state {
            LaneState::Single(state) => self.game.has_choice(state, role),
            LaneState::InLane(view) => view.counts[role] > 1,
        }
    }

    #[inline]
    fn legal(&self, state: &LaneState, role: usize, moves: &mut Vec<u32>) {
        match state {
            LaneState::Single(state) => self.game.legal(state, role, moves),
            LaneState::InLane(view) => {
                moves.reserve(view.counts[role] as usize);
                self.role(view, role).legal(&view.words, |mv| moves.push(mv));
            }
        }
    }

    fn play(&self, state: &mut LaneState, joint: &[u32]) {
        self.game.play(state.single_mut(), joint);
    }

    #[inline]
    fn key(&self, state: &LaneState) -> Option<u64> {
        match state {
            LaneState::Single(state) => self.game.key(state),
            LaneState::InLane(view) => view.key,
        }
    }

    #[inline]
    fn is_terminal(&self, state: &LaneState) -> bool {
        match state {
            LaneState::Single(state) => self.game.is_terminal(state),
            LaneState::InLane(view) => view.terminal,
        }
    }

    fn goal(&self, state: &LaneState, role: usize) -> u8 {
        match state {
            LaneState::Single(state) => self.game.goal(state, role),
            LaneState::InLane(view) => view.goals[role],
        }
    }

    fn goals(&self, state: &LaneState, goals: &mut Vec<u8>) {
        match state {
            LaneState::Single(state) => self.game.goals(state, goals),
            LaneState::InLane(view) => goals.extend_from_slice(&view.goals),
        }
    }

    #[inline]
    fn random_move(&self, state: &LaneState, role: usize, moves: &mut Vec<u32>, rng: &mut Rng) -> Option<u32> {
        use rand::RngExt;
        match state {
            LaneState::Single(state) => self.game.random_move(state, role, moves, rng),
            LaneState::InLane(view) => {
                let index = match view.counts[role] as usize {
                    0 => return None,
                    1 => 0,
                    count => rng.random_range(0..count),
                };
                self.role(view, role).nth(&view.words, index)
            }
        }
    }

    #[inline]
    fn number(&self, _: usize, mv: u32) -> u32 {
        mv
    }

    /// Appends the moves of all roles; roles that wait play their only move.
    #[inline]
    fn numbers(&self, state: &LaneState, joint: &[u32], numbers: &mut Vec<u32>) {
        let view = match state {
            LaneState::Single(state) => return self.game.numbers(state, joint, numbers),
            LaneState::InLane(view) => view,
        };
        match view.turn {
            Turn::All => numbers.extend_from_slice(joint),
            Turn::One(acting) => numbers.extend((0..self.roles()).map(|role| match role == acting {
                true => joint[0],
                false => {
                    self.role(view, role).nth(&view.words, 0).expect("a role that does not act has one legal move")
                }
            })),
        }
    }

    fn play_numbered(&self, state: &mut LaneState, joint: &[u32], numbers: &[u32]) {
        self.game.play_numbered(state.single_mut(), joint, numbers);
    }
}

/// # Panics
///
/// Queries of a state panic if the state is in a lane.
impl Reasoner for LaneGame {
    fn role_names(&self) -> &[String] {
        self.game.role_names()
    }

    fn facts(&self, state: &LaneState) -> Vec<String> {
        self.game.facts(state.single())
    }

    fn is_over(&self, state: &LaneState) -> bool {
        self.game.is_over(state.single())
    }

    fn legal_of(&self, state: &LaneState, role: usize) -> Vec<u32> {
        self.game.legal_of(state.single(), role)
    }

    fn move_name(&self, role: usize, mv: u32) -> String {
        self.game.move_name(role, mv)
    }

    fn move_named(&self, role: usize, name: &str) -> Option<u32> {
        self.game.move_named(role, name)
    }

    fn play_all(&self, state: &mut LaneState, joint: &[u32]) {
        self.game.play_all(state.single_mut(), joint);
    }

    fn reached(&self, state: &LaneState, role: usize) -> Goal {
        self.game.reached(state.single(), role)
    }
}
