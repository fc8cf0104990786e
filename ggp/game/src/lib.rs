//! Games, and what every search of them shares: limits, memory, random numbers, features of states.
//!
//! A game is a type that implements [`Game`]. `sternhalma-mcts` and `sternhalma-ggp` search it, and `sternhalma-gdl`
//! makes games of rulesheets.
//!
//! | module | contents |
//! |---|---|
//! | [`features`] | features of states that playouts use |
//! | [`messages`] | suggestions for misspelt names, and excerpts of inputs |
//! | [`param_table`] | parameters that are declared once: their texts, values, bounds and help |
//! | [`util`] | sets of bits |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod features;
mod game;
mod limits;
mod memory;
pub mod messages;
pub mod param_table;
mod rng;
mod search_state;
pub mod util;

pub use game::{Game, NOOP, Turn, key_of_words};
pub use limits::{LimitChecker, Limits, SearchClock, SearchStats, SearchTask};
pub use memory::{MemoryBudget, MemoryUse, Room, hash_table_bytes, reserve_within};
pub use rng::{Rng, derive_seed};
pub use search_state::{SearchState, StateNeeds};
