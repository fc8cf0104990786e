//! Playout policies: random moves, and policies that learn from simulations.
//!
//! [`ValueGuidedPlayout`] chooses moves by their [values](MoveValues).
//! [`Mast`] keeps one average per move, and [`Nst`] also one per sequence of
//! moves. A [`Selector`] turns values into a choice, a [`LastGoodReply`] takes
//! precedence over it, and [`Decay`] reduces the weight of old rewards. Each
//! role has its own statistics.

mod context;
mod decay;
mod followers;
mod last_good_reply;
mod mast;
pub mod mini;
mod nst;
mod nst_ensemble;
mod random;
mod selector;
mod value_guided;

use rand::RngExt;
use sternhalma_game::features::SuccessorPart;
use sternhalma_game::{Game, Rng, SearchState};

use super::{MoveHistory, ParamOverrides};

pub use decay::Decay;
pub use last_good_reply::LastGoodReply;
pub use mast::Mast;
pub use nst::Nst;
pub use nst_ensemble::NstEnsemble;
pub use random::RandomPlayout;
pub use selector::Selector;
pub use value_guided::{MoveValues, ValueGuidedPlayout};

/// The value of a move that was never played: the highest goal.
const UNSEEN: f32 = 1.0;

/// The weight below which an average counts as unknown.
const LEAST_WEIGHT: f32 = 1e-6;

/// What the next step of a simulation reads of a state besides what every step reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Foresight {
    /// Nothing.
    Nothing,
    /// Successors that are not known before the step.
    Any,
    /// This part of the successors by some joint moves.
    Successors(SuccessorPart),
}

/// A policy for moves beyond the tree and for untried moves in the tree.
///
/// `V` is what the policy reads of states. A policy that reads nothing but a [`SearchState`] plays with every such `V`.
pub trait Playout<G: Game, V = <G as Game>::State> {
    /// Whether the policy learns from the moves of simulations, or depends on
    /// previous moves.
    const LEARNS: bool = false;

    /// Whether the policy may read the facts or the successors of states.
    const READS_STATES: bool = false;

    /// Returns whether the move history must mark roles without a choice.
    #[inline]
    fn skips_waits(&self) -> bool {
        false
    }

    /// Sets the role that the search is for.
    fn play_for(&mut self, _role: usize) {}

    /// Begins a simulation. Before the match, `start_elapsed` is the share of the
    /// start clock, 0 to 1, that has elapsed; in the match, it is `None`.
    #[inline]
    fn begin(&mut self, _game: &G, _start_elapsed: Option<f64>, _rng: &mut Rng) {}

    /// Receives each state of a simulation in order, including the root and a
    /// terminal state.
    #[inline]
    fn watch(&mut self, _game: &G, _state: &V) {}

    /// Returns whether [`watch`](Playout::watch) reads the facts of states in the current simulation.
    #[inline]
    fn watches_facts(&self) -> bool {
        false
    }

    /// Returns what the choice of a joint move will read of a state that is not terminal. With `untried` moves, the choice
    /// is among these moves of a node at which one role acts; otherwise it is beyond the tree. For
    /// [`Foresight::Successors`], sets `joints` to the joint moves in the layout of
    /// [`StateFeatures::successors`](sternhalma_game::features::StateFeatures::successors). `rng` is a copy of the generator
    /// that the choice will use.
    #[inline]
    fn foresee(
        &mut self,
        _game: &G,
        _state: &V,
        _untried: Option<&[G::Move]>,
        _history: &MoveHistory,
        _rng: Rng,
        _joints: &mut Vec<G::Move>,
    ) -> Foresight {
        Foresight::Nothing
    }

    /// Chooses a move of an acting role in a non-terminal state.
    ///
    /// The policy generates the moves itself and need not consider all legal
    /// moves. If the policy does not learn, the history only contains the
    /// number of roles.
    fn choose(&mut self, game: &G, state: &V, role: usize, history: &MoveHistory, rng: &mut Rng) -> G::Move;

    /// Returns the index of the move to try first among some untried moves of
    /// a node.
    fn choose_untried(
        &mut self,
        _game: &G,
        _state: &V,
        _role: usize,
        untried: &[G::Move],
        _history: &MoveHistory,
        rng: &mut Rng,
    ) -> usize {
        rng.random_range(0..untried.len())
    }

    /// Sets the parameters of a role.
    fn set_params(&mut self, _role: usize, _params: &ParamOverrides) {}

    /// Learns from a simulation with one reward per role.
    #[inline]
    fn learn(&mut self, _game: &G, _history: &MoveHistory, _rewards: &[f64]) {}

    /// Returns the memory of the learned statistics, in bytes.
    #[inline]
    fn memory(&self) -> usize {
        0
    }

    /// Sets the number of bytes by which the memory of the playout policy may
    /// grow in the next [`learn`](Playout::learn). Without room the policy
    /// learns less.
    #[inline]
    fn set_room(&mut self, _bytes: usize) {}

    /// Returns whether something could not grow, for lack of room, since the last call.
    #[inline]
    fn take_shortage(&mut self) -> bool {
        false
    }

    /// Records a joint move of the match.
    fn advance(&mut self, _game: &G) {}

    /// Returns a tie-break value for moves that the search finds equally good;
    /// higher is better.
    fn preference(&self, _game: &G, _role: usize, _mv: G::Move) -> f64 {
        0.0
    }
}
