//! Playouts that learn: what moves were worth in the simulations so far.
//!
//! [`Learned`] chooses by what moves are [worth](MoveValues): [`Mast`] keeps an
//! average a move, [`Nst`] also one a sequence of moves. A [`Selector`] turns
//! worths into a choice, good [`LastGoodReply`] go before it, and [`Decay`] lets
//! what is old weigh less. All is kept for each role by itself.

mod context;
mod decay;
mod last_good_reply;
mod mast;
pub mod mini;
mod nst;
mod nst_ensemble;
mod random;
mod selector;
mod value_guided;

use rand::RngExt;

use super::move_history::MoveHistory;
use super::params::ParamOverrides;
use crate::game::Game;
use crate::rng::Rng;
pub use decay::Decay;
pub use last_good_reply::LastGoodReply;
pub use mast::Mast;
pub use nst::Nst;
pub use nst_ensemble::NstEnsemble;
pub use random::RandomPlayout;
pub use selector::Selector;
pub use value_guided::{MoveValues, ValueGuidedPlayout};

/// What a move is worth that was never played: the highest goal.
const UNSEEN: f32 = 1.0;

/// An average of so little weight is none.
const LEAST_WEIGHT: f32 = 1e-6;

/// The clock under which a simulation is run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Phase {
    /// The start clock, before the match; the share of it that is gone, 0 to 1.
    Start(f64),
    /// The clock of a move.
    Play,
}

/// How moves are chosen beyond the tree, and among the untried moves in it.
pub trait Playout<G: Game> {
    /// Whether it learns from the moves of simulations, or chooses by the
    /// moves before.
    const LEARNS: bool = false;

    /// Whether it is shown the states of a simulation.
    const WATCHES: bool = false;

    /// Whether the trail is to tell which roles had no choice.
    #[inline]
    fn skips_waits(&self) -> bool {
        false
    }

    /// Takes a role for the one that the search is for.
    fn play_for(&mut self, _role: usize) {}

    /// Begins a simulation.
    #[inline]
    fn begin(&mut self, _game: &G, _phase: Phase, _rng: &mut Rng) {}

    /// Sees a state of a simulation: each in turn, that of the root and a
    /// terminal one included.
    #[inline]
    fn watch(&mut self, _game: &G, _state: &G::State) {}

    /// A move of an acting role in a state that is not terminal. It generates
    /// the moves itself, and need not consider all that are legal. The trail
    /// is empty but for its roles if the playout does not learn.
    fn choose(&mut self, game: &G, state: &G::State, role: usize, trail: &MoveHistory, rng: &mut Rng) -> G::Move;

    /// The index of the move to try first of some untried moves of a node.
    fn choose_untried(
        &mut self,
        _game: &G,
        _state: &G::State,
        _role: usize,
        untried: &[G::Move],
        _trail: &MoveHistory,
        rng: &mut Rng,
    ) -> usize {
        rng.random_range(0..untried.len())
    }

    /// Takes other numbers for a role.
    fn set(&mut self, _role: usize, _controls: &ParamOverrides) {}

    /// Learns from a simulation that came to rewards, one a role.
    #[inline]
    fn learn(&mut self, _game: &G, _trail: &MoveHistory, _rewards: &[f64]) {}

    /// Follows a joint move of the match.
    fn advance(&mut self, _game: &G) {}

    /// What tells moves of a role apart that the search finds equally good:
    /// the higher, the better.
    fn prefer(&self, _game: &G, _role: usize, _mv: G::Move) -> f64 {
        0.0
    }
}
