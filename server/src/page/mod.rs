//! The page: its files, and its modules as one script.

mod assets;
mod bundle;
mod module;
mod script;

pub use assets::{asset, text};
pub use bundle::{PageError, ReadFile, bundle};
