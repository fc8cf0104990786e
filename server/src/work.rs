//! Work that may wait for a disk, off the threads that serve connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use tokio::sync::oneshot;

use crate::error::ApiError;

/// The threads for look-ups, and how long a request may take.
#[derive(Debug)]
pub struct Work {
    threads: ThreadPool,
    time: Duration,
}

/// The time at which a request must be answered, and whether its client still waits.
#[derive(Clone, Debug)]
pub struct Deadline {
    end: Instant,
    has_left: Arc<AtomicBool>,
}

/// The client of a job. When the value is dropped, the job may end, because its result is not needed.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl Deadline {
    /// Creates a deadline that is `time` away.
    pub fn after(time: Duration) -> Deadline {
        Deadline { end: Instant::now() + time, has_left: Arc::default() }
    }

    /// Tests whether the time has passed, or the client has left.
    ///
    /// # Errors
    /// If so.
    pub fn check(&self) -> Result<(), ApiError> {
        if Instant::now() < self.end && !self.has_left.load(Relaxed) { Ok(()) } else { Err(late()) }
    }
}

impl Work {
    /// Starts threads for requests that take at most `time`.
    ///
    /// # Errors
    /// If the system does not start threads.
    pub fn new(threads: usize, time: Duration) -> Result<Work, ThreadPoolBuildError> {
        let builder = ThreadPoolBuilder::new().num_threads(threads.max(1));
        let name = |index| format!("look-up {index}");
        // Without a handler, a panic ends the process.
        let threads = builder.thread_name(name).panic_handler(|_| ()).build()?;
        Ok(Work { threads, time })
    }

    /// Runs a job on one of the threads. The parallel iterators of the job use the other ones too. The job must
    /// end by itself after the deadline.
    ///
    /// # Errors
    /// If the job fails, or if no thread is free in time.
    pub async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(Deadline) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let deadline = Deadline::after(self.time);
        let _waiting = Waiting(deadline.has_left.clone());
        let (sender, result) = oneshot::channel();
        self.threads.spawn(move || {
            // A client that has left needs no result.
            if !sender.is_closed() {
                let _ = sender.send(deadline.check().and_then(|()| job(deadline)));
            }
        });
        result.await.unwrap_or_else(|_| Err(ApiError::internal("the request failed; this is an error of the server")))
    }
}

fn late() -> ApiError {
    ApiError::busy("the request takes too long; ask for less, or again later")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_job_ends_when_its_client_leaves() {
        let work = Work::new(1, Duration::from_secs(3600)).unwrap();
        let (started, running) = oneshot::channel();
        let endless = work.run(|deadline| {
            let _ = started.send(());
            while deadline.check().is_ok() {
                std::thread::yield_now();
            }
            Ok(1)
        });
        tokio::select! {
            _ = endless => unreachable!("the job does not end by itself"),
            _ = running => {}
        }
        // The only thread is free again.
        assert_eq!(work.run(|_| Ok(2)).await, Ok(2));
    }

    #[tokio::test]
    async fn jobs_wait_for_a_thread_and_end_in_time() {
        let work = Work::new(1, Duration::from_millis(20)).unwrap();
        let slow = work.run(|deadline| {
            while deadline.check().is_ok() {
                std::thread::yield_now();
            }
            Ok(1)
        });
        // The second job has the same deadline as the first, after which the thread is free.
        assert_eq!(tokio::join!(slow, work.run(|_| Ok(2))), (Ok(1), Err(late())));
        assert_eq!(work.run(|_| Ok(3)).await, Ok(3));
        let panic: Result<(), ApiError> = work.run(|_| panic!("a job that panics")).await;
        assert_eq!(panic.unwrap_err().to_string(), "the request failed; this is an error of the server");
    }
}
