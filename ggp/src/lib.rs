//! General game playing: search for any game that implements [`Game`].
//!
//! [`Mcts`] is Monte-Carlo tree search, put together from components.
//! [`gdl`] reads, checks and plays rulesheets of the Game Description Language.
//! [`arena`] plays tournaments, and [`protocol`] plays matches with other
//! programs.
//!
//! # Example
//!
//! A game is a type with its rules. The game of this example is Nim: two
//! players take 1 to 3 stones in turn, and the player who takes the last stone
//! wins.
//!
//! ```
//! use sternhalma_ggp::{Game, Limits, Mcts, Turn};
//!
//! struct Nim;
//!
//! impl Game for Nim {
//!     type State = (u32, usize); // stones, player to move
//!     type Move = u32;
//!     fn roles(&self) -> usize { 2 }
//!     fn initial(&self) -> (u32, usize) { (10, 0) }
//!     fn turn(&self, state: &(u32, usize)) -> Turn { Turn::One(state.1) }
//!     fn legal(&self, state: &(u32, usize), _: usize, moves: &mut Vec<u32>) {
//!         moves.extend(1..=state.0.min(3));
//!     }
//!     fn number(&self, _: usize, mv: u32) -> u32 { mv }
//!     fn play(&self, state: &mut (u32, usize), joint: &[u32]) {
//!         *state = (state.0 - joint[0], 1 - state.1);
//!     }
//!     fn is_terminal(&self, state: &(u32, usize)) -> bool { state.0 == 0 }
//!     fn goal(&self, state: &(u32, usize), role: usize) -> u8 {
//!         if role == state.1 { 0 } else { 100 }
//!     }
//! }
//!
//! // UCT with exploration constant 0.7 and seed 1.
//! let mut mcts = Mcts::uct(0.7, 1);
//! let result = mcts.search(&Nim, &Nim.initial(), 0, Limits::playouts(2000), &Default::default());
//! assert_eq!(result.best, 2, "8 stones are left, a multiple of four");
//! ```
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | [`mcts`] | Monte-Carlo tree search: selection, playouts, decisions, solver, tuning |
//! | [`alpha_beta`] | alpha-beta search for two players |
//! | [`gdl`] | parser, checker, prover and networks of the Game Description Language |
//! | [`features`] | features of states that playouts use |
//! | [`policy`] | policies as text, and the agents that play by them |
//! | [`arena`] | tournaments, their logs and standings |
//! | [`messages`] | suggestions for misspelt names |
//! | [`statistics`] | win rates with confidence intervals, Elo, sequential tests |
//! | [`protocol`] | players and managers of the GGP protocol |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod arena;
mod batch;
#[cfg(unix)]
pub mod bench;
pub mod policy;
pub mod protocol;
pub mod statistics;

pub use policy::Policy;
pub use sternhalma_game::{
    Game, LimitChecker, Limits, MemoryBudget, MemoryUse, NOOP, Rng, SearchState, SearchStats, Turn, derive_seed,
    features, key_of_words, messages, param_table, util,
};
pub use sternhalma_gdl as gdl;
pub use sternhalma_mcts::{self as mcts, Mcts, SearchResult, alpha_beta};
