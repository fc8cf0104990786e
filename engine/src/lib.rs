//! Two-player Chinese Checkers and its players, on the tables of
//! `sternhalma-data` and the search of `sternhalma-ggp`.
//!
//! [`ChineseCheckers`] is the game, [`Roster`] the named configurations of
//! `players.toml`, [`player()`] makes one ready to play, and [`play_match`] lets
//! two of them play each other.
//!
//! ```
//! use sternhalma_data::Board;
//! use sternhalma_engine::{PLY_LIMIT, Roster, Score, Terms, play_match, player};
//! use sternhalma_ggp::Limits;
//! let roster = Roster::built_in();
//! let (greedy, random) = (roster.config("greedy")?, roster.config("random")?);
//! let board = Board::new(7, 3)?;
//! let terms =
//!     Terms { board, games: 4, limits: Limits::default(), opening_plies: 2, ply_limit: PLY_LIMIT, seed: 1 };
//! let make = || [&greedy, &random].map(|config| player(config, board, PLY_LIMIT, None).unwrap());
//! let mut score = Score::default();
//! play_match(&terms, make, &Default::default(), |_| ()).iter().for_each(|game| score.add(game.score()));
//! assert_eq!((score.games, score.wins), (4, 4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod config;
mod contest;
mod distance;
mod evaluate;
mod filter;
mod game;
mod player;
mod playout;
mod tune;
pub mod ugi;

pub use config::{AlphaBetaConfig, Config, ConfigError, Decision, End, Evaluation, Roster, UctConfig};
pub use contest::{Played, Record, Terms, Totals, derive_seed, play_game, play_match};
pub use distance::{Distances, draw_in};
pub use evaluate::{MeanRow, Separated, TableDifference, TableForesight};
pub use filter::{Filter, Pieces};
pub use game::{Action, ChineseCheckers, Outcome, PLY_LIMIT, State};
pub use player::{Choice, Insight, Player, Value, player};
pub use playout::FarthestMix;
pub use sternhalma_ggp::statistics::Score;
pub use tune::{Parameter, Trial, Tuning, tune};
