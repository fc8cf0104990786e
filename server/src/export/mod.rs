//! Games and tables as files that need no server of this program.

mod document;
mod explorer;
mod samples;
mod saved;

pub use explorer::{ExplorerTable, explorer_index, explorer_page, explorer_samples};
pub use saved::{SavedGame, SavedGameError, Search};
