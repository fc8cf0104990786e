//! Games as files that open without a server.

mod document;
mod saved;

pub use saved::{SavedGame, SavedGameError, Search};
