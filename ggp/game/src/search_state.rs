//! States as searches read them.

use crate::features::{FoundSuccessors, StateFeatures, SuccessorPart};
use crate::game::{Game, Turn};
use crate::rng::Rng;
use crate::util::FluentSet;

/// What a step of a search reads of a state besides its moves and goals, and what a view of a lane must therefore have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StateNeeds {
    /// The [key](SearchState::key).
    pub key: bool,
    /// The [facts](SearchState::mark).
    pub facts: bool,
}

/// A state as a step of a search reads it: a whole state, or a view of a lane among others, which answers the questions of
/// a search without a `Game::State`.
///
/// The methods return what those of the same name of [`Game`] return. A search reads states of both kinds in one tree.
pub trait SearchState<G: Game> {
    /// Returns the roles whose moves lead to the next state.
    fn turn(&self, game: &G) -> Turn;

    /// Returns whether a role has a choice in a state that is not terminal.
    fn has_choice(&self, game: &G, role: usize) -> bool;

    /// Appends the legal moves of an acting role.
    fn legal(&self, game: &G, role: usize, moves: &mut Vec<G::Move>);

    /// Appends the legal moves that a playout considers.
    fn playout_moves(&self, game: &G, role: usize, moves: &mut Vec<G::Move>);

    /// Returns a uniformly random move of an acting role among the
    /// [`playout_moves`](SearchState::playout_moves).
    fn random_move(&self, game: &G, role: usize, moves: &mut Vec<G::Move>, rng: &mut Rng) -> Option<G::Move>;

    /// Appends the number of the move that each role plays if the acting roles play `joint`.
    fn numbers(&self, game: &G, joint: &[G::Move], numbers: &mut Vec<u32>);

    /// Returns 64 bits that identify the state, or `None` if the search must not recognise it.
    fn key(&self, game: &G) -> Option<u64>;

    /// Returns whether the match is over.
    fn is_terminal(&self, game: &G) -> bool;

    /// Appends the goals of all roles in a terminal state, in order.
    fn goals(&self, game: &G, goals: &mut Vec<u8>);

    /// Sets `facts` to those that hold in the state. A view must have been given [its facts](StateNeeds::facts).
    fn mark(&self, game: &G, features: &dyn StateFeatures<G>, facts: &mut FluentSet);

    /// Sets this part of `found` to that of the [`successors`](StateFeatures::successors) of the state. A view must have been
    /// given the same part of these successors, or its [facts](StateNeeds::facts).
    fn successors(
        &self,
        game: &G,
        features: &mut dyn StateFeatures<G>,
        joints: &[G::Move],
        part: SuccessorPart,
        found: &mut FoundSuccessors,
    );
}

impl<G: Game> SearchState<G> for G::State {
    fn turn(&self, game: &G) -> Turn {
        game.turn(self)
    }

    fn has_choice(&self, game: &G, role: usize) -> bool {
        game.has_choice(self, role)
    }

    fn legal(&self, game: &G, role: usize, moves: &mut Vec<G::Move>) {
        game.legal(self, role, moves);
    }

    fn playout_moves(&self, game: &G, role: usize, moves: &mut Vec<G::Move>) {
        game.playout_moves(self, role, moves);
    }

    fn random_move(&self, game: &G, role: usize, moves: &mut Vec<G::Move>, rng: &mut Rng) -> Option<G::Move> {
        game.random_move(self, role, moves, rng)
    }

    fn numbers(&self, game: &G, joint: &[G::Move], numbers: &mut Vec<u32>) {
        game.numbers(self, joint, numbers);
    }

    fn key(&self, game: &G) -> Option<u64> {
        game.key(self)
    }

    fn is_terminal(&self, game: &G) -> bool {
        game.is_terminal(self)
    }

    fn goals(&self, game: &G, goals: &mut Vec<u8>) {
        game.goals(self, goals);
    }

    fn mark(&self, game: &G, features: &dyn StateFeatures<G>, facts: &mut FluentSet) {
        features.mark(game, self, facts);
    }

    fn successors(
        &self,
        game: &G,
        features: &mut dyn StateFeatures<G>,
        joints: &[G::Move],
        part: SuccessorPart,
        found: &mut FoundSuccessors,
    ) {
        features.successors(game, self, joints, part == SuccessorPart::Mobility, &mut found.states);
        match part {
            SuccessorPart::Facts => found.find_facts(),
            SuccessorPart::Mobility => {}
            SuccessorPart::Degrees { role } => {
                if let Some(tree) = features.goal_tree(role) {
                    found.find_degrees(tree);
                }
            }
        }
    }
}
