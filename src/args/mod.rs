//! Groups of arguments that several commands share.

pub mod player;
pub mod state;
pub mod tables;
