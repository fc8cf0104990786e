//! The arena: tournaments between contestants, in any [game](ArenaGame).
//!
//! A [`Schedule`] lists the entrants, their pairings, and the [`Budget`] and openings of the
//! games. [`run`] plays the games on several threads, and [`run_in_lock_step`] plays many
//! games per thread. [`Standings`] summarizes the results. A [`Log`] stores every game, so
//! that an interrupted run can resume.
//!
//! A [`Contestant`] is a search in this process or an external program. An illegal move, a
//! crash, or a late move is a [`Fault`], which loses the game.

mod budget;
mod contestant;
mod estimate;
mod game;
mod lock_step;
mod log;
mod merge;
mod openings;
mod record;
mod rules_backend;
mod rulesheet;
mod run;
mod runner;
mod schedule;
mod series;
mod session;
mod standings;
mod text;
mod tournament;

pub use crate::rng::derive_seed;
pub use budget::{Budget, GameClock, TimeControl};
pub use contestant::{Contestant, Fault, FaultKind, PolicyPlayer, Request};
pub use estimate::TournamentEstimate;
pub use game::{Adjudicator, ArenaGame, ContestantFactory, Opening, TournamentSetup};
pub use lock_step::{LockStepSetup, run_in_lock_step};
pub use log::{GameLog, Log, LogEntry, LogError};
pub use merge::{MergeError, MergedLogs, merge_directories, merge_logs};
pub use record::{GameRecord, RoleFault, Scoring, Termination, Totals};
pub use rules_backend::{RulesEngine, rules_backend};
pub use run::run;
pub use schedule::{Entrant, GameId, RoundSpec, Schedule, ScheduleError, Shard, SprtSpec};
pub use series::{PublishedResult, SeriesEstimate, SeriesGame, SeriesInfo, SeriesReport};
pub use standings::{
    EntrantSummary, PairingSummary, RoundSummary, ScoreSummary, Standings, TerminationCounts, TestSummary,
};
pub use text::{pairing_text, progress_line, standings_text};
pub use tournament::{ArenaError, Backend, GameObserver, Tournament};
