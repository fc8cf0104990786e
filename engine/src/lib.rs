//! Two-player Chinese Checkers and its players, using the tables of
//! `sternhalma-data` and the search of `sternhalma-ggp`.
//!
//! [`ChineseCheckers`] is the game, [`Roster`] has the named configurations of
//! `players.toml`, and [`Config::prepare`] makes a player ready for games. The arena of
//! `sternhalma-ggp` plays matches between them.
//!
//! ```
//! use sternhalma_data::Board;
//! use sternhalma_engine::{ChineseCheckers, Filter, Roster};
//! use sternhalma_ggp::{Game, Limits, MemoryBudget};
//! let board = Board::new(7, 3)?;
//! let game = ChineseCheckers::new(board, Filter::All);
//! let config = Roster::built_in().config("base0,c=0.3")?;
//! let mut player = config.prepare(game.setup(), None)?.start(&MemoryBudget::unlimited())?;
//! player.reset(1);
//! let mut state = game.initial();
//! let choice = player.choose(&state, Limits::playouts(100), &Default::default());
//! game.play_action(&mut state, choice.action);
//! player.observe(choice.action);
//! assert_eq!(state.ply(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod arena;
mod distances;
pub mod players;
mod protocol;
pub mod record;
mod rules;

pub use distances::{Distances, DrawIn, TableAdvice};
pub use players::{
    AllocationError, AnalysedMove, Choice, Config, ConfigError, EnginePlayer, Follower, Level, LevelError,
    PrepareError, PreparedPlayer, Roster, SearchInfo, SearchObserver, SearchValue, WeightsFiles, analyse,
    analyse_watched, bench, learned,
};
pub use protocol::{external, ugi};
pub use record::GameHistory;
pub use rules::{
    Action, ChineseCheckers, Filter, GameSetup, GameState, OCCURRENCES, Outcome, PLY_LIMIT, Pieces, Placement,
    Repetitions, board_of, lanes,
};
