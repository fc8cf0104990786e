//! Playouts that learn: what moves were worth in the simulations so far.
//!
//! [`Learned`] chooses by what moves are [worth](Worth): [`Mast`] keeps an
//! average a move, [`Nst`] also one a sequence of moves. A [`Selector`] turns
//! worths into a choice, good [`Replies`] go before it, and [`Decay`] lets
//! what is old weigh less. All is kept for each role by itself.

mod average;
mod context;
mod learned;
mod mast;
mod nst;
mod replies;
mod selector;
mod variants;

pub use average::Decay;
pub use learned::{Learned, Worth};
pub use mast::Mast;
pub use nst::Nst;
pub use replies::Replies;
pub use selector::Selector;
pub use variants::Variants;

/// What a move is worth that was never played: the highest goal.
const UNSEEN: f32 = 1.0;

/// An average of so little weight is none.
const LEAST_WEIGHT: f32 = 1e-6;
