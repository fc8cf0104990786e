//! The searches of a session, each on a separate thread.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use sternhalma_ggp::Limits;

use super::command::{action_text, info_line};
use super::game::CurrentGame;
use crate::players::{EnginePlayer, Follower, SearchInfo, analyse};
use crate::rules::{Action, GameSetup};

/// The depth up to which a search without an end for several lines is repeated.
const INFINITE_DEPTH: u32 = 200;

/// A writer of whole lines for several threads.
#[derive(Debug)]
pub(super) struct LineOutput<W>(Arc<Mutex<W>>);

impl<W: Write> LineOutput<W> {
    pub fn new(writer: W) -> LineOutput<W> {
        LineOutput(Arc::new(Mutex::new(writer)))
    }

    /// Returns another handle of the same writer.
    pub fn share(&self) -> LineOutput<W> {
        LineOutput(self.0.clone())
    }

    pub fn print(&self, line: &str) -> io::Result<()> {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writer.write_all(format!("{line}\n").as_bytes())?;
        writer.flush()
    }
}

/// A player and its game.
pub(super) struct EngineHandle {
    pub follower: Follower,
    pub setup: GameSetup,
}

impl fmt::Debug for EngineHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineHandle").field("setup", &self.setup).finish_non_exhaustive()
    }
}

/// A search on a separate thread.
#[derive(Debug)]
pub(super) struct RunningSearch {
    signals: Arc<SearchSignals>,
    thread: JoinHandle<EngineHandle>,
    /// Whether the search ends only when it is stopped.
    waits_for_stop: bool,
}

/// Calls a function when it is dropped.
struct CallOnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for CallOnDrop<F> {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            call();
        }
    }
}

/// The flags that a session and its search share.
#[derive(Debug, Default)]
struct SearchSignals {
    stop: AtomicBool,
    /// Set before `bestmove` is printed, so that the next command can follow immediately.
    answered: AtomicBool,
}

impl RunningSearch {
    /// Starts a search with a player. Its thread calls `on_end` at its end, also after a panic.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread cannot be started. The player is lost then.
    pub fn start<W: Write + Send + 'static>(
        job: SearchJob<W>,
        engine: EngineHandle,
        on_end: impl FnOnce() + Send + 'static,
    ) -> io::Result<RunningSearch> {
        let signals = Arc::<SearchSignals>::default();
        let (shared, waits_for_stop) = (signals.clone(), job.infinite);
        let thread = thread::Builder::new().spawn(move || {
            let _on_end = CallOnDrop(Some(on_end));
            job.search(engine, &shared)
        })?;
        Ok(RunningSearch { signals, thread, waits_for_stop })
    }

    /// Returns whether the next command can follow.
    pub fn has_ended(&self) -> bool {
        self.signals.answered.load(Relaxed) || self.thread.is_finished()
    }

    /// Returns whether the search continues until it is stopped.
    pub fn is_endless(&self) -> bool {
        self.waits_for_stop && !self.signals.stop.load(Relaxed)
    }

    /// Stops the search, which then answers.
    pub fn stop(&self) {
        self.signals.stop.store(true, Relaxed);
        // An infinite search that has its result parks until it is stopped.
        self.thread.thread().unpark();
    }

    /// Waits for the answer, and returns the player, or `None` after a panic.
    pub fn join(self) -> Option<EngineHandle> {
        self.thread.join().ok()
    }
}

/// The job of a search thread.
pub(super) struct SearchJob<W> {
    pub game: CurrentGame,
    pub seed: u64,
    pub limits: Limits,
    pub infinite: bool,
    /// The number of lines.
    pub lines: usize,
    pub received: Instant,
    pub output: LineOutput<W>,
}

impl<W: Write> SearchJob<W> {
    /// Searches, prints the answer and returns the player. Ignores a closed
    /// output: the thread that reads commands will fail on it.
    fn search(self, mut engine: EngineHandle, signals: &SearchSignals) -> EngineHandle {
        let player = engine.follower.follow(&self.game.start, &self.game.actions, self.seed);
        let geometry = self.game.rules.geometry();
        // The clock has been running since the command arrived.
        let time = self.limits.time.map(|time| time.saturating_sub(self.received.elapsed()));
        let limits = Limits { time, ..self.limits };
        let action = match self.lines {
            1 => {
                let print = &mut |info: &SearchInfo| drop(self.output.print(&info_line(geometry, info, None)));
                player.think(&self.game.now, limits, &signals.stop, print).action
            }
            _ => self.search_lines(player, limits, &signals.stop),
        };
        while self.infinite && !signals.stop.load(Relaxed) {
            thread::park();
        }
        signals.answered.store(true, Relaxed);
        let _ = self.output.print(&format!("bestmove {}", action_text(geometry, action)));
        engine
    }

    /// Searches for several lines, prints them, best first, and returns the best move. The lines share
    /// the time, and each has the other limits. A search without an end is repeated with
    /// growing depth, so that all lines are searched equally deep.
    fn search_lines(&self, player: &mut dyn EnginePlayer, limits: Limits, stop: &AtomicBool) -> Action {
        let shared = Limits { time: limits.time.map(|time| time / self.lines as u32), ..limits };
        let depths = (1..=INFINITE_DEPTH).map(|depth| Limits { depth: Some(depth), ..shared });
        let passes: Vec<Limits> = if self.infinite { depths.collect() } else { vec![shared] };
        let mut best = None;
        for limits in passes {
            let found = analyse(player, &self.game.now, limits, self.lines, stop);
            // A pass that was stopped has fewer lines, and the last one is incomplete.
            if best.is_some() && stop.load(Relaxed) {
                break;
            }
            for (at, line) in found.iter().enumerate() {
                drop(self.output.print(&info_line(self.game.rules.geometry(), &line.info, Some(at + 1))));
            }
            best = found.first().map(|line| line.action);
        }
        best.flatten()
    }
}
