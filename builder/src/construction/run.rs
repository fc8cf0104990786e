//! The entry point of builds.

use std::path::Path;

use super::in_memory::build_in_memory;
use super::memory::fit_to_limit;
use super::out_of_core::{BuildOutcome, OutOfCoreBuild};
use super::table_builder::TableBuilder;
use crate::error::Result;
use crate::observer::Observer;
use crate::options::BuildMode;
use crate::process::{thread_count, thread_pool};

impl TableBuilder {
    /// Builds the table and writes it to `path`.
    ///
    /// # Errors
    /// If the table is to be mirrored and cannot be; if the memory or the memory limit does not suffice; if a file cannot
    /// be written; if `path` exists and is not to be replaced; if the work
    /// directory is in use, damaged, or contains an unfinished build of
    /// another table; or if the observer cancels the build. `path` is unchanged
    /// then, and the work directory keeps its complete layers.
    pub fn build(&self, path: impl AsRef<Path>, observer: &dyn Observer) -> Result<BuildOutcome> {
        let path = path.as_ref();
        self.spec.layout()?;
        if self.choose_mode(path).mode == BuildMode::InMemory {
            build_in_memory(path, self, &thread_pool(self.threads_in_memory()?)?, observer)?;
            return Ok(BuildOutcome::Built);
        }
        let (params, threads) = fit_to_limit(self.spec, thread_count(self.threads), self.memory_limit)?;
        let pool = &thread_pool(threads)?;
        OutOfCoreBuild::new(self, params, self.choose_layer_form(path), pool, observer).run(path)
    }
}
