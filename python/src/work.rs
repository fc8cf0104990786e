//! Threads, and long work that Python can watch and interrupt.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use sternhalma_builder::{BuildPhase, BuilderError, Observer};

use crate::errors::builder_error;

/// The time between two reports.
const INTERVAL: Duration = Duration::from_millis(50);

/// Returns the number of threads for a given one, which is 0 for one per processor core, and a notice if it is smaller
/// than the given one.
#[pyfunction]
pub fn thread_count(threads: usize) -> (usize, Option<String>) {
    (sternhalma_builder::thread_count(threads), sternhalma_builder::thread_notice(threads))
}

/// Returns the memory of the machine that this process may use, in bytes.
#[pyfunction]
pub fn machine_memory() -> u64 {
    sternhalma_builder::total_memory()
}

/// Returns the default memory limit of builds and proofs, in bytes.
#[pyfunction]
pub fn default_memory_limit() -> u64 {
    sternhalma_builder::memory_limit(None)
}

/// Returns the memory limit of searches for a given one in bytes, or the default, and a notice if it is less than the
/// given one.
#[pyfunction]
pub fn search_memory(memory: Option<u64>) -> (u64, Option<String>) {
    sternhalma_builder::search_memory(memory)
}

/// Runs `work` in a pool of threads; 0 is one per processor core. If the threads cannot be started, the pool of the
/// process runs it.
pub fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// The names of phases; the first stands for none.
const PHASES: [&str; 9] = ["", "search", "resume", "write", "check", "prove", "compare", "read", "work"];
/// The number of the search in [`PHASES`].
const SEARCH: usize = 1;

/// The progress of work, which another thread reads.
#[derive(Default)]
struct Progress {
    /// A number of [`PHASES`].
    phase: AtomicUsize,
    done: AtomicU64,
    total: AtomicU64,
    is_cancelled: AtomicBool,
}

impl Observer for Progress {
    fn begin(&self, phase: BuildPhase, total: u64) {
        let number = match phase {
            BuildPhase::Layer(_) => SEARCH,
            BuildPhase::Resume => 2,
            BuildPhase::Write => 3,
            BuildPhase::Check => 4,
            BuildPhase::Prove => 5,
            BuildPhase::Compare => 6,
            BuildPhase::Read => 7,
            _ => 8,
        };
        // The layers of a search are one phase, which counts the states that were found.
        if self.phase.swap(number, Relaxed) != number || number != SEARCH {
            self.done.store(0, Relaxed);
            self.total.store(if number == SEARCH { 0 } else { total }, Relaxed);
        }
    }

    fn advance(&self, steps: u64) {
        if self.phase.load(Relaxed) != SEARCH {
            self.done.fetch_add(steps, Relaxed);
        }
    }

    fn layer(&self, _: u32, _: u64, seen: u64, all: u64) {
        self.done.store(seen, Relaxed);
        self.total.store(all, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.is_cancelled.load(Relaxed)
    }
}

impl Progress {
    /// Calls `callback` with the phase and its complete and total steps, if these have changed.
    fn report(&self, callback: Option<&Bound<'_, PyAny>>, last: &mut (&'static str, u64, u64)) -> PyResult<()> {
        let now = (PHASES[self.phase.load(Relaxed)], self.done.load(Relaxed), self.total.load(Relaxed));
        if let Some(callback) = callback.filter(|_| now != *last && !now.0.is_empty()) {
            callback.call1(now)?;
        }
        *last = now;
        Ok(())
    }
}

/// Runs work in another thread. Meanwhile `tick` is called again and again with the interpreter. If it returns an
/// exception, `cancel` is called once, and the exception is returned after the end of the work.
pub fn watch<T: Send>(
    py: Python<'_>,
    mut tick: impl FnMut() -> PyResult<()>,
    cancel: impl Fn(),
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let mut raised = None;
    let result = thread::scope(|scope| {
        let (sender, receiver) = channel();
        let worker = thread::Builder::new().name("sternhalma".to_owned()).spawn_scoped(scope, move || {
            // The receiver exists until the worker has ended.
            let _ = sender.send(work());
        })?;
        // The receiver cannot be shared, and the call without the interpreter must not take it.
        let receiver = Mutex::new(receiver);
        let result = loop {
            let received = py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(INTERVAL));
            match received {
                Ok(result) => break Some(result),
                Err(RecvTimeoutError::Disconnected) => break None,
                Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                    raised = tick().err();
                    if raised.is_some() {
                        cancel();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        if let Err(panic) = worker.join() {
            std::panic::resume_unwind(panic);
        }
        Ok::<_, std::io::Error>(result)
    })?;
    match raised {
        Some(error) => Err(error),
        None => Ok(result.expect("the worker sends its result unless it panics")),
    }
}

/// Runs work that stops early when the flag is set, and sets it when a signal arrives.
pub fn run_until_stopped<T: Send>(py: Python<'_>, work: impl FnOnce(&AtomicBool) -> T + Send) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    watch(py, || py.check_signals(), || stop.store(true, Relaxed), || work(&stop))
}

/// Runs work that reports to an observer. Meanwhile `callback` gets the progress, and signals are handled.
///
/// If the callback or the handler of a signal raises an exception, the work is cancelled, and the exception is returned
/// after its end.
pub fn run<T: Send>(
    py: Python<'_>,
    callback: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Observer) -> Result<T, BuilderError> + Send,
) -> PyResult<T> {
    let progress = Progress::default();
    let mut last = ("", 0, 0);
    let tick = || {
        progress.report(callback, &mut last)?;
        py.check_signals()
    };
    let result = watch(py, tick, || progress.is_cancelled.store(true, Relaxed), || work(&progress))?;
    let value = result.map_err(builder_error)?;
    progress.report(callback, &mut last)?;
    Ok(value)
}
