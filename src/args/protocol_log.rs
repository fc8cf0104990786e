//! The log of the engine protocol.

use anyhow::{Context, Result};
use sternhalma_engine::external::ProtocolLog;

use super::output::OutputPath;

/// The option for a log of the engine protocol.
#[derive(clap::Args)]
pub struct ProtocolLogArgs {
    /// File to which all lines of the engine protocol are added, with time, game and player
    #[arg(long, value_name = "FILE", help_heading = "Resources")]
    pub debug: Option<OutputPath>,
}

impl ProtocolLogArgs {
    /// Opens the log, if there is one.
    pub fn open(&self) -> Result<Option<ProtocolLog>> {
        let open = |path: &OutputPath| {
            ProtocolLog::open(path).with_context(|| format!("{}: cannot write the protocol log", path.display()))
        };
        self.debug.as_ref().map(open).transpose()
    }

    /// Checks that the log is complete.
    pub fn check(&self, log: Option<&ProtocolLog>) -> Result<()> {
        let Some((path, log)) = self.debug.as_ref().zip(log) else { return Ok(()) };
        log.check().with_context(|| format!("{}: the protocol log is incomplete", path.display()))
    }
}
