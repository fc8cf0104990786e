//! The arena: tournaments between contestants, in any [game](ArenaGame).
//!
//! A [`Schedule`] says who plays whom, by which [`Budget`] and from which
//! openings; [`run`] plays its games on many threads, [`Log`] keeps them so
//! that a run that was stopped goes on where it was, and [`Standings`] tells
//! what they show. A [`Contestant`] is a search of this process or another
//! program; whatever it does wrong is a [`Fault`] that loses its game.

mod budget;
mod contestant;
mod lock_step;
mod log;
mod openings;
mod play;
mod record;
mod rulesheet;
mod run;
mod schedule;
mod standings;

pub use crate::rng::derive_seed;
pub use budget::{Budget, Clock, TimeControl};
pub use contestant::{Contestant, Fault, FaultKind, PolicyPlayer, Request};
pub use lock_step::{LockStepHost, run_in_lock_step};
pub use log::{Log, LogError};
pub use play::{Adjudicator, ArenaGame, Host, Make, Opening};
pub use record::{End, Record, RoleFault, Scoring, Totals};
pub use run::run;
pub use schedule::{Entrant, GameId, Round, Schedule, ScheduleError, Shard, Test};
pub use standings::{Ends, EntrantSummary, PairingSummary, Rated, RoundSummary, Standings, TestSummary};
