//! The number of threads.

use std::num::NonZeroUsize;

use clap::Args;

use crate::values::count;

/// The threads of a command that works on one table.
#[derive(Args, Clone, Copy)]
pub struct ThreadArgs {
    /// Threads; 0 is one per core
    #[arg(long, value_name = "N", value_parser = count::<usize>(0), default_value = "0", help_heading = "Resources")]
    threads: usize,
}

impl ThreadArgs {
    /// Returns the given number of threads; 0 is one per core.
    #[cfg(feature = "cluster")]
    pub fn given(self) -> usize {
        self.threads
    }

    /// Returns the number of threads, at least 1.
    pub fn get(self) -> usize {
        threads(NonZeroUsize::new(self.threads)).get()
    }
}

/// Returns the given number of threads, or one per core.
pub fn threads(given: Option<NonZeroUsize>) -> NonZeroUsize {
    given.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}
