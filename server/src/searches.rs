//! The running searches.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use sternhalma_ggp::MemoryBudget;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;

/// The running searches, of which there is a limited number, and their memory.
#[derive(Debug)]
pub struct Searches {
    places: Arc<Semaphore>,
    memory: MemoryBudget,
    /// The flags that stop the running searches.
    running: Mutex<Vec<Arc<AtomicBool>>>,
}

/// A running search.
#[derive(Debug)]
pub struct Search {
    /// The flag that stops the search.
    pub stop: Arc<AtomicBool>,
    /// The memory of all searches.
    pub memory: MemoryBudget,
    _place: OwnedSemaphorePermit,
}

/// Stops a search when it is dropped.
#[derive(Debug)]
pub struct StopOnDrop(pub Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl Searches {
    /// Creates up to `most` searches that share `memory` bytes.
    pub fn new(most: usize, memory: u64) -> Searches {
        let places = Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS)));
        Searches { places, memory: MemoryBudget::new(memory), running: Mutex::default() }
    }

    /// Begins a search.
    ///
    /// # Errors
    /// If too many searches are running.
    pub fn begin(&self) -> Result<Search, ApiError> {
        let full = |_| ApiError::busy("too many searches are running; stop one, or try again later");
        let place = self.places.clone().try_acquire_owned().map_err(full)?;
        let stop = Arc::new(AtomicBool::new(false));
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|stop| Arc::strong_count(stop) > 1);
        running.push(stop.clone());
        Ok(Search { stop, memory: self.memory.clone(), _place: place })
    }

    /// Stops all searches.
    pub fn stop_all(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.iter().for_each(|stop| stop.store(true, Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_searches_is_limited() {
        let searches = Searches::new(2, 1 << 20);
        let (first, second) = (searches.begin().unwrap(), searches.begin().unwrap());
        assert!(searches.begin().is_err());
        drop(first);
        let third = searches.begin().unwrap();
        searches.stop_all();
        assert!(second.stop.load(Relaxed) && third.stop.load(Relaxed));
        assert_eq!(searches.running.lock().unwrap().len(), 2);
    }
}
