//! The number of threads.

use std::num::NonZeroUsize;
use std::sync::Once;

use clap::Args;
use sternhalma_builder::{thread_count, thread_notice};

use crate::output::status;
use crate::values::count;

/// The threads of a command that works on one table.
#[derive(Args, Clone, Copy)]
pub struct ThreadArgs {
    /// Threads, at most 4 per core or 16; 0 is one per core
    #[arg(long, value_name = "N", value_parser = count::<usize>(0), default_value = "0", help_heading = "Resources")]
    threads: usize,
}

impl ThreadArgs {
    /// Returns the given number of threads; 0 is one per core.
    pub fn given(self) -> usize {
        if self.threads == 0 { 0 } else { self.get() }
    }

    /// Returns the number of threads, at least 1.
    pub fn get(self) -> usize {
        threads(NonZeroUsize::new(self.threads)).get()
    }
}

/// Returns the given number of threads, or one per core. Prints a notice if the number is above the largest one.
pub fn threads(given: Option<NonZeroUsize>) -> NonZeroUsize {
    let given = given.map_or(0, NonZeroUsize::get);
    if let Some(notice) = thread_notice(given) {
        static NOTICE: Once = Once::new();
        NOTICE.call_once(|| status!("{notice}"));
    }
    NonZeroUsize::new(thread_count(given)).unwrap_or(NonZeroUsize::MIN)
}
