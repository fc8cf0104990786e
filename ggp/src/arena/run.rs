//! Games on several threads.

use std::collections::{HashMap, HashSet, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use thiserror::Error;

use super::openings::{Openings, OpeningsError};
use super::runner::GameRunner;
use super::{
    ArenaGame, Budget, Contestant, ContestantError, GameId, GameRecord, Opening, Schedule, Standings, TournamentSetup,
};

/// The reason why the games of a schedule cannot be played.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// There are no openings.
    #[error(transparent)]
    Openings(#[from] OpeningsError),
    /// A contestant cannot be created.
    #[error(transparent)]
    Contestant(#[from] ContestantError),
    /// A player cannot play many games side by side.
    #[error("{0} cannot play in lock step; leave out `lanes`")]
    LockStep(String),
    /// A budget does not suit games side by side.
    #[error("games in lock step need a budget of playouts or nodes alone, and that of {player} is {budget}")]
    LockStepBudget {
        /// The player.
        player: String,
        /// Its budget.
        budget: Budget,
    },
}

/// The interval at which a run checks whether to stop.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Plays the games of a schedule that `standings` lacks, on a number of threads.
///
/// Each finished game is added to the standings and passed to `report`. When `stop` is set,
/// no further game begins and games in progress are dropped.
///
/// A contestant is reused from game to game, and replaced after a fault. Openings,
/// seeds and decisions follow from the schedule alone. Without limits of time, the
/// results are therefore the same at any number of threads, stopped and resumed or not.
///
/// # Errors
/// Returns an error if `report` fails, which ends the run, if a listed opening is invalid, or if there are fewer
/// different openings than pairs of games.
pub fn run<G: ArenaGame, E: From<RunError>>(
    setup: &TournamentSetup<'_, G>,
    standings: &mut Standings,
    threads: NonZeroUsize,
    stop: &AtomicBool,
    report: impl FnMut(&GameRecord, &Standings) -> Result<(), E>,
) -> Result<(), E> {
    run_workers(setup.game, setup.openings, standings, threads, stop, report, |queue, sender| {
        play_games(setup, queue, sender);
    })
}

/// Plays the games that `standings` lacks, with a worker per thread. A worker takes games
/// from the queue until it is empty, and sends their records.
pub(super) fn run_workers<G: ArenaGame, E: From<RunError>>(
    game: &G,
    openings: Option<&Openings<G::State>>,
    standings: &mut Standings,
    threads: NonZeroUsize,
    stop: &AtomicBool,
    mut report: impl FnMut(&GameRecord, &Standings) -> Result<(), E>,
    worker: impl Fn(&GameQueue<'_, G>, &SyncSender<PlayedGame>) + Sync,
) -> Result<(), E> {
    let schedule = standings.schedule().clone();
    let mut read = None;
    let openings = match openings {
        Some(openings) => openings,
        None => read.insert(Openings::new(game, &schedule).map_err(RunError::Openings)?),
    };
    let cancelled: Vec<AtomicBool> =
        (0..schedule.rounds.len() * schedule.pairings.len()).map(|_| false.into()).collect();
    let slot = |id: GameId| id.round * schedule.pairings.len() + id.pairing;
    standings.decided().for_each(|id| cancelled[slot(id)].store(true, Relaxed));
    let known: HashSet<GameId> = standings.games().collect();
    let only = standings.only().cloned();
    let unplayed = |id: &GameId| {
        let is_chosen = only.as_ref().is_none_or(|only| only.contains(id));
        is_chosen && !known.contains(id) && !cancelled[slot(*id)].load(Relaxed)
    };
    let mut left = schedule.games().filter(unplayed).peekable();
    if left.peek().is_some() {
        openings.draw(game, &schedule, stop).map_err(RunError::Openings)?;
    }
    let left = Mutex::new(Box::new(left) as Box<_>);
    let queue = GameQueue { game, schedule: &schedule, openings, left, cancelled: &cancelled };
    thread::scope(|scope| {
        let (sender, records) = mpsc::sync_channel(threads.get());
        for _ in 0..threads.get() {
            let (sender, queue, worker) = (sender.clone(), &queue, &worker);
            scope.spawn(move || worker(queue, &sender));
        }
        drop(sender);
        let mut result = Ok(());
        loop {
            match records.recv_timeout(STOP_CHECK_INTERVAL) {
                Ok(Err(reason)) if result.is_ok() => result = Err(E::from(reason)),
                Ok(Ok(record)) if result.is_ok() => {
                    let decided = standings.add(&record);
                    if decided {
                        cancelled[slot(record.id)].store(true, Relaxed);
                    }
                    result = report(&record, standings);
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break result,
            }
            if result.is_err() || stop.load(Relaxed) {
                cancelled.iter().for_each(|flag| flag.store(true, Relaxed));
            }
        }
    })
}

/// The games that are left to play.
pub(super) struct GameQueue<'a, G: ArenaGame> {
    game: &'a G,
    pub schedule: &'a Schedule,
    openings: &'a Openings<G::State>,
    left: Mutex<Box<dyn Iterator<Item = GameId> + Send + 'a>>,
    /// By round and pairing: set after the decision of a test, and for all when the run stops.
    cancelled: &'a [AtomicBool],
}

impl<G: ArenaGame> GameQueue<'_, G> {
    /// Returns the next game, with its opening. Sends the reason if there is no opening, which ends the run.
    pub fn next(&self, sender: &SyncSender<PlayedGame>) -> Option<(GameId, Opening<G::State>)> {
        loop {
            let mut left = self.left.lock().expect("no thread panics while it takes a game");
            let id = left.find(|&id| !self.cancelled(id).load(Relaxed))?;
            drop(left);
            match self.openings.get(self.game, self.schedule, id.pair(), self.cancelled(id)) {
                Ok(Some(opening)) => return Some((id, opening)),
                // The game has been cancelled.
                Ok(None) => {}
                Err(error) => {
                    // The send fails only when the run has ended.
                    let _ = sender.send(Err(error.into()));
                    return None;
                }
            }
        }
    }

    /// Returns the flag that is set when a game is no longer needed.
    pub fn cancelled(&self, id: GameId) -> &AtomicBool {
        &self.cancelled[id.round * self.schedule.pairings.len() + id.pairing]
    }
}

/// The record of a game, or the reason why no game can be played.
pub(super) type PlayedGame = Result<GameRecord, RunError>;

/// Contestants of a thread that are not playing, by entrant and copy, the longest idle first.
type IdleContestants<G> = VecDeque<((usize, usize), Box<dyn Contestant<G>>)>;

/// The maximum number of idle contestants per thread. Each contestant may hold
/// a process or a large tree.
const MAX_IDLE: usize = 4;

/// Plays games one after the other until the queue is empty.
fn play_games<G: ArenaGame>(setup: &TournamentSetup<'_, G>, queue: &GameQueue<'_, G>, sender: &SyncSender<PlayedGame>) {
    let mut idle = VecDeque::new();
    while let Some((id, opening)) = queue.next(sender) {
        let played = play(setup, queue, id, opening, &mut idle).map_err(RunError::from).transpose();
        let is_failed = matches!(played, Some(Err(_)));
        if played.is_some_and(|played| sender.send(played).is_err()) || is_failed {
            return;
        }
    }
}

fn play<G: ArenaGame>(
    setup: &TournamentSetup<'_, G>,
    queue: &GameQueue<'_, G>,
    id: GameId,
    opening: Opening<G::State>,
    idle: &mut IdleContestants<G>,
) -> Result<Option<GameRecord>, ContestantError> {
    // By role: the entrant, and the number of its copy.
    let mut copies = HashMap::new();
    let keys: Vec<(usize, usize)> = (queue.schedule.seats(id).into_iter())
        .map(|seat| {
            let entrant = queue.schedule.pairings[id.pairing][seat];
            let copy = copies.entry(entrant).or_insert(0);
            *copy += 1;
            (entrant, *copy)
        })
        .collect();
    let mut playing: Vec<_> = (keys.iter())
        .map(|&key| match idle.iter().position(|(other, _)| *other == key) {
            Some(at) => Ok(idle.remove(at).expect("the position was just found").1),
            None => (setup.contestants)(key.0),
        })
        .collect::<Result<_, ContestantError>>()?;
    let mut contestants: Vec<&mut dyn Contestant<G>> = playing.iter_mut().map(|it| &mut **it as _).collect();
    let runner = GameRunner::new(setup, queue.schedule, id, queue.cancelled(id), opening);
    let record = runner.play(&mut contestants);
    let at_fault = record.as_ref().and_then(|record| record.fault.as_ref()).map(|fault| fault.role);
    let reusable = keys.into_iter().zip(playing).enumerate().filter(|(role, _)| Some(*role) != at_fault);
    idle.extend(reusable.map(|(_, contestant)| contestant));
    idle.drain(..idle.len().saturating_sub(MAX_IDLE));
    Ok(record)
}
