//! The arena: tournaments between players, in any [game](ArenaGame).
//!
//! A [`Tournament`] is a [`Schedule`] with a [`Backend`] that plays it:
//!
//! - The schedule lists the entrants, their pairings, and the [`Budget`] and openings of the games.
//! - The backend provides the game and the players. [`rules_backend`] creates one for a rulesheet
//!   and [policies](crate::Policy).
//!
//! [`Standings`] summarize the results, [`standings_text`] prints them, and a [`GameLog`] stores the
//! games. An interrupted run resumes from its log. [`merge_logs`] merges the logs of several parts.
//!
//! ```
//! use std::num::NonZeroUsize;
//! use std::sync::atomic::AtomicBool;
//! use sternhalma_ggp::MemoryBudget;
//! use sternhalma_ggp::arena::{Budget, Entrant, RulesEngine, Schedule, Tournament, rules_backend};
//! use sternhalma_ggp::gdl::Rulesheet;
//!
//! let rules = Rulesheet::parse(include_str!("../../games/tic-tac-toe.kif"))?;
//! let names = ["uct", "random"];
//! let policies = names.map(|name| name.parse().unwrap()).to_vec();
//! let backend = rules_backend(&rules, RulesEngine::Auto, policies, &MemoryBudget::new(1 << 30))?;
//! let budget = Budget { playouts: Some(50), ..Budget::default() };
//! let schedule = Schedule::new(names.map(Entrant::named).to_vec(), budget, 10);
//! let tournament = Tournament::new(backend, schedule)?;
//! let standings = tournament.run(None, NonZeroUsize::MIN, &AtomicBool::new(false), |_, _| ())?;
//! assert_eq!(standings.score(0, 0).games, 10);
//! assert!(standings.score(0, 0).rate() > 0.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! For a game that is not a rulesheet, implement [`ArenaGame`] and [`Contestant`], and call [`run`]
//! with a [`TournamentSetup`]. [`run_in_lock_step`] plays many games of a network per thread. An
//! illegal move, a crash or a late move of a contestant is a [`Fault`], which loses the game.

mod budget;
mod contestant;
mod continuation;
mod estimate;
mod game;
mod lock_step;
mod log;
mod merge;
mod openings;
mod rating_list;
mod record;
mod replay;
mod rule_set;
mod rules_backend;
mod rulesheet;
mod run;
mod runner;
mod schedule;
mod search_record;
mod series;
mod session;
mod setup;
mod spec;
mod standings;
mod table;
mod text;
mod tournament;

pub use budget::{Budget, GameClock, MOVE_NODES, TimeControl, TimeControlError};
pub use contestant::{Contestant, Fault, FaultKind, PolicyPlayer, Request};
pub use estimate::TournamentEstimate;
pub use game::{ArenaGame, Opening, OpeningError};
pub use lock_step::{LockStepSetup, run_in_lock_step};
pub use log::{Difference, EntryCheck, GameCheck, GameLog, Log, LogEntry, LogError, RenewHead, WrongEntry};
pub use merge::{MergeError, MergedLogs, merge_directories, merge_logs};
pub use openings::{MAX_OPENING_PLIES, Openings, OpeningsError};
pub use rating_list::{RatedPlayer, RatingList, RatingListError};
pub use record::{GameRecord, Origin, RoleFault, Scoring, Termination, Totals};
pub use replay::{Replay, ReplayDifference, ReplayedPairing};
pub use rules_backend::{RulesEngine, check_policies, rules_backend};
pub use run::{RunError, run};
pub use schedule::{
    Entrant, GameId, OPENING_PLIES, PAIRING_GAMES, RoundSpec, Schedule, ScheduleError, Shard, ShardError, SprtSpec,
    TEST_GAMES,
};
pub use search_record::{MoveSearch, SearchValue};
pub use series::{PublishedResult, SeriesEstimate, SeriesGame, SeriesInfo, SeriesReport};
pub use setup::{Adjudicator, ContestantError, ContestantFactory, TournamentSetup};
pub use spec::{Pairings, RoundOptions, SpecError, TournamentSpec};
pub use standings::{
    EntrantSummary, PairingSummary, RoundSummary, ScoreSummary, Standings, TerminationCounts, TestSummary,
};
pub use sternhalma_game::derive_seed;
pub use text::{pairing_text, progress_line, result_text, score_so_far, standings_text};
pub use tournament::{ArenaError, Backend, GameObserver, Tournament};
