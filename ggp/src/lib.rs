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
#[cfg(unix)]
pub mod bench;
pub mod features;
mod game;
pub mod gdl;
mod limits;
pub mod mcts;
pub mod policy;
pub mod protocol;
mod rng;
pub mod statistics;
pub mod util;

pub use alpha_beta::{AlphaBetaResult, Heuristic, WIN, alpha_beta};
pub use batch::Parallelism;
pub use game::{Game, NOOP, Turn};
pub use limits::{Limits, SearchStats};
pub use mcts::tuning;
pub use mcts::{
    Cutoff, Decision, Evaluator, FixedDepth, Grave, GraveForm, GraveSettings, LengthBonus, Mcts, MctsConfig,
    MoveEvaluator, MoveHistory, MoveStats, NodeVisit, ParamOverrides, Playout, PlayoutKind, Prior, Puct, RandomPlayout,
    SearchClock, SearchResult, Selection, ToTheEnd, Uct,
};
pub use policy::{
    LockStep, MoveValuePolicy, PartsVisitor, PlayoutPolicy, Policy, PolicyError, PolicyText, SearchPolicy,
    SelectionPolicy,
};
pub use rng::{Rng, derive_seed};
