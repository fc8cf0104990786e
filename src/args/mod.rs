//! Groups of arguments that several commands share.

pub mod blocks;
pub mod board;
pub mod cluster;
pub mod engine;
pub mod limits;
pub mod mirror;
pub mod output;
pub mod player;
pub mod position;
pub mod protocol_log;
pub mod rule_set;
pub mod rulesheet;
pub mod state;
pub mod threads;
pub mod tournament;
mod tournament_file;
