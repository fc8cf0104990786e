//! The connection between a player and the thread of its match.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::protocol::engine::EngineResult;

/// A connection to the thread of a match.
#[derive(Clone)]
pub struct MatchHandle {
    pub commands: Sender<MatchCommand>,
    pub hurry: Arc<AtomicBool>,
    pub over: Arc<AtomicBool>,
}

impl MatchHandle {
    /// The thread ends its search only after it can see the command.
    pub fn send(&self, command: MatchCommand) {
        // If the thread has ended there is no answer, and the clock runs out.
        let _ = self.commands.send(command);
        self.hurry.store(true, Relaxed);
    }
}

pub enum MatchCommand {
    Play { moves: Option<Vec<String>>, deadline: Instant, expires: Instant, answer: Publisher<Option<String>> },
    Stop { moves: Option<Vec<String>>, answer: Publisher<()> },
    Compiled(EngineResult),
    Leave,
}

/// An answer that improves until it is taken.
pub struct BestSoFar<T> {
    best: Mutex<(Option<T>, bool)>,
    finished: Condvar,
}

/// The sender of improving answers. Dropping the sender marks the last answer
/// as final.
pub struct Publisher<T>(Arc<BestSoFar<T>>);

impl<T> Publisher<T> {
    pub fn put(&self, answer: T) {
        lock(&self.0.best).0 = Some(answer);
    }
}

impl<T> Drop for Publisher<T> {
    fn drop(&mut self) {
        lock(&self.0.best).1 = true;
        self.0.finished.notify_all();
    }
}

impl<T: Clone> BestSoFar<T> {
    pub fn new() -> (Arc<BestSoFar<T>>, Publisher<T>) {
        let slot = Arc::new(BestSoFar { best: Mutex::new((None, false)), finished: Condvar::new() });
        (slot.clone(), Publisher(slot))
    }

    /// Returns the best answer at the deadline, or the final answer if it
    /// comes earlier.
    pub fn take(&self, deadline: Instant) -> Option<T> {
        let left = deadline.saturating_duration_since(Instant::now());
        let best = self.finished.wait_timeout_while(lock(&self.best), left, |(_, finished)| !*finished);
        best.unwrap_or_else(PoisonError::into_inner).0.0.clone()
    }
}

/// Locks a mutex, ignoring poisoning. The locked data are consistent after
/// every statement.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
