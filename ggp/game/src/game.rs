//! The rules of a game, as the search sees them.

use std::fmt::Debug;

use rand::RngExt;

use crate::rng::Rng;

/// Returns a [key](Game::key) for a state that consists of these words. The
/// two halves of a 128-bit product per word are combined.
#[inline]
pub fn key_of_words(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0, |key: u64, word| {
        let product = u128::from((key ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15)) * 0xd6e8_feb8_6659_fd93;
        (product as u64) ^ (product >> 64) as u64
    })
}

/// The number of the move of a role that waits.
pub const NOOP: u32 = u32::MAX - 1;

/// The roles whose moves lead to the next state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// One role moves, the others wait.
    One(usize),
    /// All roles move simultaneously.
    All,
}

impl Turn {
    /// Returns the roles that move, in order, of `roles` roles.
    #[inline]
    pub fn acting(self, roles: usize) -> std::ops::Range<usize> {
        match self {
            Turn::One(role) => role..role + 1,
            Turn::All => 0..roles,
        }
    }
}

/// A game of any number of roles, turn-taking or simultaneous, with perfect
/// information.
///
/// A value of the type is the rules; a state is a value that can be cloned. The
/// search calls all methods from its innermost loops. The search is compiled
/// for each game, so that no call is dispatched at run time.
///
/// The game of single-heap Nim, in which taking the last stone wins:
///
/// ```
/// use sternhalma_game::{Game, Turn};
///
/// struct Nim;
///
/// impl Game for Nim {
///     type State = (u32, usize); // stones, role to move
///     type Move = u32;
///     fn roles(&self) -> usize { 2 }
///     fn initial(&self) -> (u32, usize) { (10, 0) }
///     fn turn(&self, state: &(u32, usize)) -> Turn { Turn::One(state.1) }
///     fn legal(&self, state: &(u32, usize), _: usize, moves: &mut Vec<u32>) {
///         moves.extend(1..=state.0.min(3));
///     }
///     fn number(&self, _: usize, mv: u32) -> u32 { mv }
///     fn play(&self, state: &mut (u32, usize), joint: &[u32]) {
///         *state = (state.0 - joint[0], 1 - state.1);
///     }
///     fn is_terminal(&self, state: &(u32, usize)) -> bool { state.0 == 0 }
///     fn goal(&self, state: &(u32, usize), role: usize) -> u8 {
///         if role == state.1 { 0 } else { 100 }
///     }
/// }
///
/// let mut state = Nim.initial();
/// Nim.play(&mut state, &[3]);
/// assert_eq!(state, (7, 1));
/// ```
pub trait Game: Sync {
    /// A state of the game.
    type State: Clone + Send + Sync;
    /// A move of one role.
    type Move: Copy + Eq + Debug + Send + Sync;

    /// Returns the number of roles, at least 1.
    fn roles(&self) -> usize;

    /// Returns the state in which a match begins.
    fn initial(&self) -> Self::State;

    /// Returns the roles whose moves lead from a state to the next one.
    fn turn(&self, state: &Self::State) -> Turn;

    /// Appends the legal moves of an acting role to `moves`, always in the same
    /// order. A state that is not terminal has at least one.
    fn legal(&self, state: &Self::State, role: usize, moves: &mut Vec<Self::Move>);

    /// Returns whether a role has a choice in a state that is not terminal. A
    /// role that waits has no choice.
    #[inline]
    fn has_choice(&self, state: &Self::State, role: usize) -> bool {
        self.turn(state).acting(self.roles()).contains(&role)
    }

    /// Appends the legal moves that a playout considers, always in the same
    /// order. Override this to omit moves that are known to be pointless.
    #[inline]
    fn playout_moves(&self, state: &Self::State, role: usize, moves: &mut Vec<Self::Move>) {
        self.legal(state, role, moves);
    }

    /// Returns a uniformly random move of an acting role among the
    /// [`playout_moves`](Game::playout_moves), or `None` if there are none.
    /// `moves` is a buffer whose contents are lost. Override this if a move can
    /// be drawn without a list of all moves.
    #[inline]
    fn random_move(
        &self,
        state: &Self::State,
        role: usize,
        moves: &mut Vec<Self::Move>,
        rng: &mut Rng,
    ) -> Option<Self::Move> {
        moves.clear();
        self.playout_moves(state, role, moves);
        if moves.is_empty() { None } else { Some(moves[rng.random_range(0..moves.len())]) }
    }

    /// Returns the number of a move, which is the same in all states and differs
    /// from those of the role's other moves. Numbers must be small, because
    /// tables of moves are as long as the largest number. The largest number
    /// must be below [`NOOP`].
    fn number(&self, role: usize, mv: Self::Move) -> u32;

    /// Appends, role by role, the number of the move that each role plays if the
    /// acting roles play `joint`. A role that waits has [`NOOP`], unless waiting
    /// is a move of the game.
    #[inline]
    fn numbers(&self, state: &Self::State, joint: &[Self::Move], numbers: &mut Vec<u32>) {
        let acting = self.turn(state).acting(self.roles());
        numbers.extend((0..self.roles()).map(|role| match acting.contains(&role) {
            true => self.number(role, joint[role - acting.start]),
            false => NOOP,
        }));
    }

    /// Plays one move of each acting role, in the order of roles.
    fn play(&self, state: &mut Self::State, joint: &[Self::Move]);

    /// Plays a joint move, given its [`numbers`](Game::numbers) as well.
    /// Override this if the numbers save work.
    #[inline]
    fn play_numbered(&self, state: &mut Self::State, joint: &[Self::Move], _numbers: &[u32]) {
        self.play(state, joint);
    }

    /// Returns 64 well-mixed bits that identify a state, or `None` if the search
    /// must not recognise states that it reaches by different moves.
    /// [`key_of_words`] mixes the words of a state.
    ///
    /// The search combines the key with the number of joint moves of the match,
    /// so that the search graph has no cycle.
    #[inline]
    fn key(&self, _state: &Self::State) -> Option<u64> {
        None
    }

    /// Returns whether the match is over.
    fn is_terminal(&self, state: &Self::State) -> bool;

    /// Returns the goal of a role in a terminal state, 0 to 100.
    fn goal(&self, state: &Self::State, role: usize) -> u8;

    /// Appends the goals of all roles in a terminal state, in order. Override
    /// this if computing all goals at once is cheaper than one by one.
    fn goals(&self, state: &Self::State, goals: &mut Vec<u8>) {
        goals.extend((0..self.roles()).map(|role| self.goal(state, role)));
    }
}
