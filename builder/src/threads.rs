//! The number of threads of an operation.

use std::num::NonZeroUsize;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::BuilderError;

/// A number of threads: a given one, or one per processor core.
///
/// A `usize` converts to it, with 0 for one per core.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Threads(Option<NonZeroUsize>);

impl Threads {
    /// One thread per processor core.
    pub const PER_CORE: Threads = Threads(None);

    /// Returns the number of threads on this machine.
    pub fn count(self) -> usize {
        let threads = self.0.or_else(|| std::thread::available_parallelism().ok());
        threads.map_or(1, usize::from).min(rayon::max_num_threads())
    }

    /// Starts the threads.
    pub(crate) fn pool(self) -> Result<ThreadPool, BuilderError> {
        let threads = self.count();
        let started = ThreadPoolBuilder::new().num_threads(threads).build();
        started.map_err(|error| BuilderError::Threads { threads, source: Box::new(error) })
    }
}

impl From<usize> for Threads {
    fn from(count: usize) -> Threads {
        Threads(NonZeroUsize::new(count))
    }
}

impl From<NonZeroUsize> for Threads {
    fn from(count: NonZeroUsize) -> Threads {
        Threads(Some(count))
    }
}

impl From<Option<NonZeroUsize>> for Threads {
    fn from(count: Option<NonZeroUsize>) -> Threads {
        Threads(count)
    }
}
