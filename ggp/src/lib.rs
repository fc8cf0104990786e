//! General game playing: search for any game that implements [`Game`].
//!
//! [`Mcts`] is Monte-Carlo tree search put together from parts, [`alpha_beta`]
//! depth-first search for two players. Neither knows any game, and this crate
//! knows no other of the project. [`gdl`] reads, checks and plays rulesheets of
//! the Game Description Language, and [`protocol`] plays them with others.
//! [`statistics`] says what games between two players tell of their strength.
#![forbid(unsafe_code)]

mod alpha_beta;
pub mod arena;
mod batch;
pub mod features;
mod game;
pub mod gdl;
mod limits;
pub mod mcts;
pub mod policy;
pub mod protocol;
mod rng;
pub mod statistics;

pub use alpha_beta::{Heuristic, Line, WIN, alpha_beta};
pub use batch::SideBySide;
pub use game::{Game, NOOP, Turn};
pub use limits::{Limits, Spent};
pub use mcts::tuning;
pub use mcts::{
    Clock, Controls, Cutoff, Decision, Evaluator, FixedDepth, Foresight, Form, Found, Grave, GraveSettings, Guided,
    Hint, LengthBonus, Mcts, MoveStats, Phase, Place, Playout, PlayoutKind, RandomPlayout, Selection, Settings,
    ToTheEnd, Trail, Uct,
};
pub use policy::{
    LockStep, PartsVisitor, PlayoutPolicy, Policy, PolicyError, PolicyText, SearchPolicy, SelectionPolicy, WorthPolicy,
};
pub use rng::{Rng, derive_seed};
