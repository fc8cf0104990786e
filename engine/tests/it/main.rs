//! The game and the players from the outside.

mod rules;
mod search;
