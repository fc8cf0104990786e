//! Tournaments: a schedule with everything that is needed to play it.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use sternhalma_game::Limits;
use thiserror::Error;

use super::{
    Budget, Fault, GameId, GameLog, GameRecord, LogError, OpeningsError, Origin, RunError, Schedule, ScheduleError,
    Standings, WrongEntry,
};

/// A game and its players, ready to play.
pub trait Backend {
    /// Returns the description of the game, for logs.
    fn game(&self) -> Value;

    /// Returns the number of roles of the game.
    fn roles(&self) -> usize;

    /// Returns the descriptions of the players, for logs.
    fn players(&self) -> Vec<Value>;

    /// Returns a logged schedule with the descriptions of players as this version writes them. `requested` is the
    /// schedule that continues it.
    fn renewed(&self, _requested: &Schedule, logged: Schedule) -> Schedule {
        logged
    }

    /// Reads the openings of a schedule, and checks that its budgets bound all searches. All games belong to this
    /// schedule, or to one that it continues.
    ///
    /// # Errors
    /// Returns an error if a listed opening is invalid, or if the players cannot play with their budgets.
    fn set_schedule(&mut self, schedule: &Schedule) -> Result<(), ArenaError>;

    /// Returns the reason why a slower engine than usual plays the game, if it does.
    fn notice(&self) -> Option<&str> {
        None
    }

    /// Returns the number of simultaneous games on a number of threads.
    fn concurrency(&self, threads: NonZeroUsize) -> NonZeroUsize {
        threads
    }

    /// Checks a logged game, such as by a replay of its moves. Only games of logs of earlier versions are checked, whose
    /// lines have no checksum.
    ///
    /// # Errors
    /// Returns the reason why the moves are illegal or have another result.
    fn check_logged(&self, _schedule: &Schedule, _record: &GameRecord) -> Result<(), WrongEntry> {
        Ok(())
    }

    /// Draws the openings of a schedule, until `stop` is set.
    ///
    /// # Errors
    /// Returns an error if there are too few different openings.
    fn draw_openings(&self, schedule: &Schedule, stop: &AtomicBool) -> Result<(), ArenaError>;

    /// Plays the games that the standings lack, until all are played or `stop` is set.
    ///
    /// # Errors
    /// Returns the error of the observer, and an error if the games cannot be played.
    fn play(
        &self,
        standings: &mut Standings,
        threads: NonZeroUsize,
        stop: &AtomicBool,
        observer: &mut GameObserver<'_>,
    ) -> Result<(), ArenaError>;
}

/// Receives the record of each game as it ends, and the standings with it.
pub type GameObserver<'a> = dyn FnMut(&GameRecord, &Standings) -> Result<(), ArenaError> + 'a;

/// An error of a tournament.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArenaError {
    /// The schedule is invalid.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The log cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The rulesheet cannot be played.
    #[error(transparent)]
    Rules(Box<dyn std::error::Error + Send + Sync>),
    /// The games cannot be played with these openings, budgets or players.
    #[error(transparent)]
    Run(RunError),
    /// The tournament has no openings.
    #[error(transparent)]
    Openings(#[from] OpeningsError),
    /// A search would not end.
    #[error("the budget of {player} ({budget}) does not bound its searches: add nodes or a time")]
    Unbounded {
        /// The name of the player.
        player: String,
        /// Its budget.
        budget: Budget,
    },
    /// A start clock is a multiple of a budget per move.
    #[error("a start clock is a multiple of a budget of playouts, nodes or movetime, and a player has none of these")]
    StartClock,
    /// Games with limits of time cannot be played again.
    #[error("{player} has {budget}, and games with limits of time differ each time that they are played")]
    TimedReplay {
        /// The name of the player.
        player: String,
        /// Its budget.
        budget: Budget,
    },
    /// A player cannot be started.
    #[error("{player}: {fault}")]
    Start {
        /// The player.
        player: String,
        /// The fault.
        fault: Fault,
    },
    /// A player failed in a sample game.
    #[error("{player} failed in a sample game: {fault}")]
    Sample {
        /// The name of the player.
        player: String,
        /// The fault.
        fault: Fault,
    },
    /// The work was interrupted.
    #[error("interrupted")]
    Interrupted,
}

impl From<RunError> for ArenaError {
    fn from(error: RunError) -> ArenaError {
        match error {
            RunError::Openings(error) => ArenaError::Openings(error),
            error => ArenaError::Run(error),
        }
    }
}

/// A schedule and the backend that plays it.
pub struct Tournament {
    pub(super) backend: Box<dyn Backend>,
    pub(super) schedule: Schedule,
    origin: Option<Origin>,
}

impl Tournament {
    /// Creates a tournament. The backend replaces the descriptions of the game and of the players,
    /// and the number of roles in the schedule. The players of the backend must
    /// be those of the schedule, in order.
    ///
    /// # Errors
    /// Returns an error if the schedule or one of its openings is invalid, or if a search would not end.
    pub fn new(mut backend: Box<dyn Backend>, mut schedule: Schedule) -> Result<Tournament, ArenaError> {
        schedule.game = backend.game();
        schedule.roles = backend.roles();
        for (entrant, player) in schedule.entrants.iter_mut().zip(backend.players()) {
            entrant.player = player;
        }
        schedule.check()?;
        backend.set_schedule(&schedule)?;
        Ok(Tournament { backend, schedule, origin: None })
    }

    /// Adds the program that plays to the records of the log.
    #[must_use]
    pub fn with_origin(self, origin: Origin) -> Tournament {
        Tournament { origin: Some(origin), ..self }
    }

    /// Returns the schedule.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Plays the games that the log lacks, until all are played or `stop` is set. The log may be of
    /// a tournament with fewer games or players, which is [continued](Schedule::continuing).
    /// `observer` is called after each game.
    ///
    /// # Errors
    /// Returns an error if the log cannot be used or the games cannot be played.
    pub fn run(
        &self,
        log: Option<&Path>,
        threads: NonZeroUsize,
        stop: &AtomicBool,
        mut observer: impl FnMut(&GameRecord, &Standings),
    ) -> Result<Standings, ArenaError> {
        // A tournament that cannot be played leaves no log.
        if log.is_none_or(|path| !path.exists()) {
            self.backend.draw_openings(&self.schedule, stop)?;
        }
        let (mut log, records) = match log {
            Some(path) => {
                let renew = |logged| self.backend.renewed(&self.schedule, logged);
                let check = |schedule: &Schedule, record: &GameRecord| self.backend.check_logged(schedule, record);
                let (log, records) = GameLog::open_checked(path, &self.schedule, &check, &renew)?;
                (Some(log), records)
            }
            None => (None, Vec::new()),
        };
        let schedule = log.as_ref().map_or(&self.schedule, |log| log.head()).clone();
        let mut standings = Standings::with_games(schedule, &records);
        let played = self.backend.play(&mut standings, threads, stop, &mut |record, standings| {
            if let Some(log) = &mut log {
                log.append(&GameRecord { origin: self.origin.clone(), ..record.clone() })?;
            }
            observer(record, standings);
            Ok(())
        });
        if let Some(log) = &log {
            log.sync()?;
        }
        played.map(|()| standings)
    }
}

impl Schedule {
    /// Checks that every search ends. `is_bounded` returns whether every search of an entrant ends, by itself or by
    /// limits.
    ///
    /// # Errors
    /// Returns an error if a search would not end, or if a start clock has no budget per move.
    pub fn check_budgets(&self, is_bounded: impl Fn(usize, &Limits) -> bool) -> Result<(), ArenaError> {
        for (round, pairing, player) in self.slots().flat_map(|(round, at)| [(round, at, 0), (round, at, 1)]) {
            let budget = self.budget(GameId { round, pairing, game: 0 }, player);
            let time = budget.time.map(|time| time.base);
            let limits = budget.limits().and(Limits { time, ..Limits::default() });
            if !is_bounded(self.pairings[pairing][player], &limits) {
                return Err(ArenaError::Unbounded { player: self.name(pairing, player).to_owned(), budget });
            }
            if self.start > 0.0 && budget.playouts.or(budget.nodes).or(budget.movetime).is_none() {
                return Err(ArenaError::StartClock);
            }
        }
        Ok(())
    }
}
