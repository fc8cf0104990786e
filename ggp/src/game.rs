//! What a game is to the search.

use std::fmt::Debug;

use rand::RngExt;

use crate::rng::Rng;

/// The number of the move of a role that waits.
pub const NOOP: u32 = u32::MAX - 1;

/// Whose moves lead to the next state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// One role moves, the others wait.
    One(usize),
    /// All roles move at once.
    All,
}

impl Turn {
    /// The roles that move, in order, of `roles` roles.
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
/// A game is the rules; a state is a value that can be copied. All methods
/// are called from the innermost loops of the search, which is compiled for
/// each game, so that nothing is dispatched at run time.
///
/// The game of single-heap Nim, last stone wins:
///
/// ```
/// use sternhalma_ggp::{Game, Turn};
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

    /// The number of roles, at least 1.
    fn roles(&self) -> usize;

    /// The state a match begins in.
    fn initial(&self) -> Self::State;

    /// Whose moves lead on from a state.
    fn turn(&self, state: &Self::State) -> Turn;

    /// Adds the legal moves of an acting role to `moves`, always in the same
    /// order. In a state that is not terminal there is at least one.
    fn legal(&self, state: &Self::State, role: usize, moves: &mut Vec<Self::Move>);

    /// Whether a role has a choice in a state that is not terminal. One that
    /// waits has none.
    #[inline]
    fn has_choice(&self, state: &Self::State, role: usize) -> bool {
        self.turn(state).acting(self.roles()).contains(&role)
    }

    /// Adds the legal moves that a playout considers, always in the same order:
    /// all of them, unless the game knows that some lead nowhere.
    #[inline]
    fn playout_moves(&self, state: &Self::State, role: usize, moves: &mut Vec<Self::Move>) {
        self.legal(state, role, moves);
    }

    /// A move of an acting role that a playout considers, all equally likely;
    /// none if the role has none. `moves` is a buffer, left with anything in
    /// it. Games that can choose without making all moves do so here.
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

    /// A number that tells the moves of a role apart, the same in all states:
    /// small, as tables of moves are as long as the largest, and below
    /// [`NOOP`].
    fn number(&self, role: usize, mv: Self::Move) -> u32;

    /// Adds, role by role, the number of what each role plays if the acting
    /// roles play `joint`: [`NOOP`] of a role that waits, unless to
    /// wait is a move of the game.
    #[inline]
    fn numbers(&self, state: &Self::State, joint: &[Self::Move], numbers: &mut Vec<u32>) {
        let acting = self.turn(state).acting(self.roles());
        numbers.extend((0..self.roles()).map(|role| match acting.contains(&role) {
            true => self.number(role, joint[role - acting.start]),
            false => NOOP,
        }));
    }

    /// Plays as [`play`](Game::play) does. `numbers` are those of `joint`, for
    /// games that can make use of them.
    #[inline]
    fn play_numbered(&self, state: &mut Self::State, joint: &[Self::Move], _numbers: &[u32]) {
        self.play(state, joint);
    }

    /// A number of 64 well-mixed bits that tells states apart, by which a
    /// search knows a state it has met on another way; none if it is not to
    /// look. Only states after the same number of moves may have the same, so
    /// that no way leads back to a state.
    #[inline]
    fn key(&self, _state: &Self::State) -> Option<u64> {
        None
    }

    /// Plays one move of each acting role, in the order of roles.
    fn play(&self, state: &mut Self::State, joint: &[Self::Move]);

    /// Whether the match is over.
    fn is_terminal(&self, state: &Self::State) -> bool;

    /// The goal of a role in a terminal state, 0 to 100.
    fn goal(&self, state: &Self::State, role: usize) -> u8;

    /// Adds the goals of all roles in a terminal state to `goals`, in order.
    /// To be told where that costs less than to tell each.
    fn goals(&self, state: &Self::State, goals: &mut Vec<u8>) {
        goals.extend((0..self.roles()).map(|role| self.goal(state, role)));
    }
}
