//! Proofs about states of rulesheets, off the threads for look-ups: a rulesheet may take any time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sternhalma_ggp::MemoryBudget;
use sternhalma_ggp::gdl::ProverLimits;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::error::ApiError;
use crate::searches::StopOnDrop;

/// The most rows that one proof visits.
pub const MAX_ROWS: u64 = 20_000_000;

/// The running proofs, of which there is a limited number, and their limits.
#[derive(Debug)]
pub struct Proofs {
    places: Arc<Semaphore>,
    /// The memory of the proofs of one request, in bytes.
    memory: u64,
    time: Duration,
}

impl Proofs {
    /// Creates up to `most` requests at a time, each with `memory` bytes, that take at most `time`.
    pub fn new(most: usize, memory: u64, time: Duration) -> Proofs {
        let places = Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS)));
        Proofs { places, memory, time }
    }

    /// Runs a job on a thread of its own. The flag of the limits is set when the time is up or the client leaves.
    ///
    /// # Errors
    /// If the job fails or panics, or if there is no place in time.
    pub async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&ProverLimits) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let late = |_| ApiError::busy("the rulesheet takes too long; try again later");
        let places = self.places.clone();
        let memory = MemoryBudget::new(self.memory);
        let interrupt = Arc::new(AtomicBool::new(false));
        let _stop = StopOnDrop(interrupt.clone());
        let answered = async move {
            let place = places.acquire_owned().await.map_err(ApiError::internal)?;
            let limits = ProverLimits { rows: MAX_ROWS, memory, interrupt };
            let job = tokio::task::spawn_blocking(move || {
                let _place = place;
                job(&limits)
            });
            let failed = |_| Err(ApiError::internal("the request failed; this is an error of the server"));
            job.await.unwrap_or_else(failed)
        };
        timeout(self.time, answered).await.map_err(late)?
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[tokio::test]
    async fn proofs_are_interrupted_in_time_and_free_their_place() {
        let mut proofs = Proofs::new(1, 1 << 20, Duration::from_millis(50));
        let endless = proofs.run(|limits| {
            while !limits.interrupt.load(Relaxed) {
                std::thread::yield_now();
            }
            Ok(1)
        });
        assert!(endless.await.unwrap_err().to_string().contains("too long"));
        proofs.time = Duration::from_secs(60);
        assert_eq!(proofs.run(|_| Ok(2)).await, Ok(2));
        let panic: Result<(), ApiError> = proofs.run(|_| panic!("a job that panics")).await;
        assert!(panic.is_err());
        assert_eq!(proofs.run(|_| Ok(3)).await, Ok(3));
    }
}
