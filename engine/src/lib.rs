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

mod adversaries;
mod analysis;
mod config;
mod contest;
mod distance;
mod draw_in;
mod engine_player;
mod evaluate;
mod external;
mod features;
mod filter;
mod follower;
mod fortress;
mod game;
mod history;
mod host;
mod lanes;
mod learned;
mod level;
mod machine;
mod openings;
mod player;
mod playout;
mod pvs;
pub mod record;
mod repetition;
mod tune;
pub mod ugi;

pub use analysis::{AnalysedMove, analyse, analyse_watched};
pub use config::{
    AlphaBetaConfig, Config, ConfigError, DecisionRule, Evaluation, PlayoutEnd, PositionalEvaluation, PvsConfig,
    Roster, UctConfig,
};
pub use contest::EngineContestant;
pub use distance::Distances;
pub use draw_in::DrawIn;
pub use engine_player::{Choice, EnginePlayer, SearchInfo, SearchObserver, SearchValue};
pub use evaluate::{MeanRow, Separated, TableDifference, TableForesight};
pub use external::{
    ComplianceCheck, ExternalPlayer, ExternalPlayerError, ProgramCommand, ProtocolLog, ProtocolTrace, check_compliance,
    replies,
};
pub use filter::{Filter, Pieces};
pub use follower::Follower;
pub use game::{Action, ChineseCheckers, GameSetup, GameState, Outcome, PLY_LIMIT, Placement, board_of};
pub use history::GameHistory;
pub use host::{BoardBackend, BoardPlayer, ExternalCommand, introduce};
pub use lanes::{Lane, LaneArrays, RewardedGame};
pub use learned::{
    HiddenSums, LearnedWeights, LinearWeights, MOST_HIDDEN, MOST_OUTPUT, NetworkWeights, OUTPUT_UNIT, UNIT,
    WeightsError,
};
pub use level::Level;
pub use machine::machine_rate;
pub use openings::{BalanceTest, DistinctOpenings, MAX_UNBALANCED, OpeningSearch, OpeningShortage};
pub use player::{PrepareError, PreparedPlayer};
pub use playout::FarthestMix;
pub use pvs::AllocationError;
pub use repetition::{OCCURRENCES, Repetitions};
pub use sternhalma_data::RuleSet;
pub use sternhalma_ggp::statistics::Score;
pub use tune::{ClimbParameter, HillClimb, Trial, TuningSetup, tune};
