//! Verification of tables.
//!
//! A proof shares the partitioning, the spill buffer and the board geometry
//! with the search, but not the generation of moves: nothing here imports
//! `search` or a module that does.

mod partitioned;
mod proof;
mod verifier;

pub use verifier::Verifier;
