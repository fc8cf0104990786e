//! The state of the connections of a process, and the loss of another process.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sternhalma_builder::{BuilderError, Observer};
use timely::communication::allocator::zero_copy::stream::Stream;

use crate::error::ClusterError;

/// The time for which messages of a lost process are still processed.
const GRACE: Duration = Duration::from_millis(500);

/// The interval at which a wait checks whether the work is cancelled or has failed.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The state that the threads of a process share.
#[derive(Debug, Default)]
pub(crate) struct Link {
    state: Mutex<LinkState>,
    changed: Condvar,
    sent: AtomicU64,
    received: AtomicU64,
    /// All connections.
    streams: Mutex<Vec<TcpStream>>,
}

#[derive(Debug, Default)]
struct LinkState {
    progress: Progress,
    failure: Option<Failure>,
    /// Whether all processes have finished, so that connections may end.
    closing: bool,
}

/// The steps of the exchange that are complete in all processes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// The bands of this process that all processes have received.
    pub bands: u64,
    pub barriers: u64,
}

#[derive(Debug)]
enum Failure {
    Lost {
        process: usize,
        what: String,
    },
    /// An error of this process, until it is reported.
    Own(Option<Box<BuilderError>>),
    /// The observer has cancelled the work.
    Cancelled,
}

impl Link {
    fn state(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds complete steps of the exchange.
    pub fn advance(&self, bands: u64, barriers: u64) {
        let mut state = self.state();
        state.progress.bands += bands;
        state.progress.barriers += barriers;
        self.changed.notify_all();
    }

    /// Waits until a condition holds.
    ///
    /// # Errors
    /// If another process is lost, or a thread of this process has failed.
    pub fn wait(&self, holds: impl Fn(Progress) -> bool) -> Result<(), BuilderError> {
        let mut state = self.state();
        // What a process has sent before it ended may still be on its way through the dataflow.
        let mut deadline = None;
        while !holds(state.progress) {
            if state.failure.is_none() {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let left = deadline.get_or_insert(Instant::now() + GRACE).saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(state);
                return Err(self.failure());
            }
            (state, _) = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    /// Returns whether another process is lost, or a thread of this process has failed.
    pub fn has_failed(&self) -> bool {
        self.state().failure.is_some()
    }

    /// Returns an error if another process is lost, or a thread of this process has failed.
    pub fn check(&self) -> Result<(), BuilderError> {
        if self.has_failed() { Err(self.failure()) } else { Ok(()) }
    }

    /// Returns the reason of the failure.
    pub fn failure(&self) -> BuilderError {
        let mut state = self.state();
        match &mut state.failure {
            Some(Failure::Own(error)) if error.is_some() => *error.take().expect("there is an error"),
            Some(Failure::Lost { process, what }) => {
                ClusterError::Lost { process: *process, what: what.clone() }.into()
            }
            Some(Failure::Cancelled) => BuilderError::Cancelled,
            _ => ClusterError::Parts { what: "the exchange of this process ended".to_owned() }.into(),
        }
    }

    /// Does work that waits for other processes. If the observer cancels it, every wait of this link fails soon.
    pub fn cancelled_by<T>(&self, observer: &dyn Observer, work: impl FnOnce() -> T) -> T {
        let (working, finished) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while finished.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    if observer.cancelled() {
                        return self.fail(Failure::Cancelled);
                    }
                }
            });
            // The end of the work, also by a panic, closes the channel.
            let _working = working;
            work()
        })
    }

    fn fail(&self, failure: Failure) {
        let mut state = self.state();
        state.failure.get_or_insert(failure);
        self.changed.notify_all();
    }

    /// Records an error of a thread of this process.
    pub fn fail_with(&self, error: BuilderError) {
        self.fail(Failure::Own(Some(Box::new(error))));
    }

    /// Records that another process is lost. Returns false if connections may end.
    pub fn lose(&self, process: usize, what: impl ToString) -> bool {
        if self.state().closing {
            return false;
        }
        self.fail(Failure::Lost { process, what: what.to_string() });
        true
    }

    /// Records that connections may end from now on.
    pub fn close(&self) {
        self.state().closing = true;
    }

    /// Adds a connection, which ends when this process fails.
    pub fn add(&self, stream: &TcpStream) -> io::Result<()> {
        let stream = stream.try_clone()?;
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
        Ok(())
    }

    /// Ends all connections, so that the other processes notice that this one has failed. They still receive what was
    /// sent before.
    pub fn shut_down(&self) {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in &*streams {
            // A connection that is closed already has ended.
            let _ = stream.shutdown(Shutdown::Write);
        }
    }

    /// Returns the bytes that were sent and received so far.
    pub fn traffic(&self) -> (u64, u64) {
        (self.sent.load(Relaxed), self.received.load(Relaxed))
    }
}

/// A connection to another process.
///
/// The threads of timely panic if a connection fails. They never see a failure: the stream reports it to
/// the [`Link`], and then blocks its thread until the process ends.
pub(crate) struct PeerStream {
    pub stream: TcpStream,
    pub process: usize,
    pub link: Arc<Link>,
}

impl PeerStream {
    /// Returns the result unless the connection has failed.
    fn checked(&self, result: io::Result<usize>) -> io::Result<usize> {
        let what = match &result {
            Ok(0) => "it closed the connection, and its own message has the reason".to_owned(),
            Ok(_) => return result,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return result,
            Err(error) => error.to_string(),
        };
        while self.link.lose(self.process, &what) {
            std::thread::park();
        }
        result
    }
}

impl Read for PeerStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let result = self.stream.read(bytes);
        self.link.received.fetch_add(*result.as_ref().unwrap_or(&0) as u64, Relaxed);
        self.checked(result)
    }
}

impl Write for PeerStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.stream.write(bytes);
        self.link.sent.fetch_add(*result.as_ref().unwrap_or(&0) as u64, Relaxed);
        self.checked(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Stream for PeerStream {
    fn try_clone(&self) -> io::Result<PeerStream> {
        Ok(PeerStream { stream: self.stream.try_clone()?, process: self.process, link: Arc::clone(&self.link) })
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.stream.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.stream.shutdown(how)
    }
}
