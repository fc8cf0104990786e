//! General game playing: search for any game that implements [`Game`].
//!
//! [`Mcts`] is Monte-Carlo tree search put together from parts, [`alpha_beta`]
//! depth-first search for two players. Neither knows any game, and this crate
//! knows no other of the project. [`gdl`] reads, checks and plays rulesheets of
//! the Game Description Language, and [`protocol`] plays them with others.
//! [`statistics`] says what games between two players tell of their strength.
#![forbid(unsafe_code)]

mod alphabeta;
pub mod arena;
mod arrivals;
mod game;
pub mod gdl;
mod grave;
mod limits;
mod lock_step;
mod mcts;
pub mod mini;
mod parts;
pub mod playouts;
mod policy;
pub mod protocol;
mod solver;
pub mod statistics;
#[cfg(test)]
mod testing;
mod trail;
mod tree;
mod tree_parallel;
pub mod tuning;

pub use alphabeta::{Heuristic, Line, WIN, alpha_beta};
pub use game::{Game, Rng, Together, Turn};
pub use grave::{Form, Grave, GraveSettings};
pub use limits::{Limits, Spent};
pub use lock_step::LockStep;
pub use mcts::{Clock, Found, Mcts, Settings};
pub use parts::{
    Controls, Cutoff, Decision, Evaluator, FixedDepth, Foresight, Guided, Hint, LengthBonus, MoveStats, Phase, Place,
    Playout, PlayoutKind, RandomPlayout, Selection, ToTheEnd, Uct,
};
pub use policy::{
    PartsVisitor, PlayoutPolicy, Policy, PolicyError, PolicyText, SearchPolicy, SelectionPolicy, WorthPolicy,
};
pub use trail::Trail;
pub use tree_parallel::SideBySide;
