//! The errors of a session.

use std::io;

use sternhalma_data::BoardError;
use sternhalma_data::board::ParseRuleSetError;
use thiserror::Error;

use super::command::{MAX_LINES, UgiError};
use crate::players::{ConfigError, MAX_MEGABYTES, MAX_THREADS};

/// The reason why a session cannot begin, or does not execute a command.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The command is not allowed during a search.
    #[error("a search is running; until `bestmove` only isready, query, stop and quit are allowed")]
    Searching,
    /// There is no move to search for.
    #[error("the game is over")]
    GameOver,
    /// A position string has armies of different sizes.
    #[error("both armies need the same number of pieces")]
    UnequalArmies,
    /// The value of the option `Seed` is not a number of 64 bits.
    #[error("`{0}` is not a seed; expected a number from 0 to {max}", max = u64::MAX)]
    Seed(String),
    /// The value of the option `Hash` is not a size.
    #[error("`{0}` is not a size; expected a number of MiB from 1 to {MAX_MEGABYTES}")]
    Hash(String),
    /// The value of the option `Threads` is not a number of threads.
    #[error("`{0}` is not a number of threads; expected one from 1 to {MAX_THREADS}")]
    Threads(String),
    /// The value of the option `MultiPV` is not a number of lines.
    #[error("`{0}` is not a number of lines; expected 1 to {MAX_LINES}")]
    MultiPv(String),
    /// The option `Tables` is set without a value.
    #[error("the option `Tables` needs a directory")]
    NoTablesDir,
    /// The option does not exist.
    #[error("there is no option `{0}`; the options are Player, Seed, Hash, Threads, MultiPV, Tables and Rules")]
    UnknownOption(String),
    /// The value of the option `Rules` is not a rule set.
    #[error(transparent)]
    Rules(#[from] ParseRuleSetError),
    /// The thread of the search cannot be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// The host cannot create the player.
    #[error(transparent)]
    Host(Box<dyn std::error::Error + Send + Sync>),
    /// The command is malformed.
    #[error(transparent)]
    Command(#[from] UgiError),
    /// The player cannot be configured.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no two-player game on the board.
    #[error(transparent)]
    Board(#[from] BoardError),
}
