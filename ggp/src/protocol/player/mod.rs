//! A player of matches, which answers the messages of a game manager.

mod ggp_player;
mod match_slot;
mod options;
mod startup;
#[cfg(test)]
mod tests;
mod worker;

pub use ggp_player::GgpPlayer;
pub use options::{Logger, PlayerOptions};
