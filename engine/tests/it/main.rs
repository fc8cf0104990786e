//! The game and the players from the outside.

mod rule_sets;
mod rules;
mod search;
mod separation;
