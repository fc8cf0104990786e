//! General game playing from the outside: rulesheets, searches, tournaments.
#![allow(clippy::disallowed_methods)]

mod arena;
#[cfg(unix)]
mod bench;
mod common;
mod gdl;
mod gdl_oracle;
mod lock_step;
mod mini;
mod network;
mod own_games;
mod policies;
mod search;
mod tuning;
