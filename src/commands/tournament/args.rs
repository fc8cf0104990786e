//! Arguments that the parts of `tournament` and `match` share.

use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Result, bail};
use sternhalma_engine::external::ProtocolLog;
use sternhalma_ggp::arena::Shard;

use super::open::ResolvedTournament;
use crate::args::limits::MemoryArgs;
use crate::args::output::OutputPath;
use crate::args::protocol_log::ProtocolLogArgs;
use crate::args::threads::threads;
use crate::values::positive;

/// The time for the sample games of an estimate.
pub const ESTIMATE_TIME: Duration = Duration::from_secs(60);

/// Arguments that do not change the results.
#[derive(clap::Args)]
pub struct RunArgs {
    /// Simultaneous games [default: one per core]
    #[arg(long, alias = "concurrency", value_name = "N", value_parser = positive, help_heading = "Resources")]
    threads: Option<NonZeroUsize>,
    /// Log of all games, a JSON object per line; for a series file, a directory with a log per game
    #[arg(long, value_name = "FILE", help_heading = "Resources")]
    pub log: Option<OutputPath>,
    #[command(flatten)]
    pub protocol: ProtocolLogArgs,
    #[command(flatten)]
    pub memory: MemoryArgs,
}

impl RunArgs {
    pub fn threads(&self) -> NonZeroUsize {
        threads(self.threads)
    }

    /// Opens the log of the engine protocol of a tournament.
    pub fn protocol_log(&self, tournament: &ResolvedTournament) -> Result<Option<ProtocolLog>> {
        if self.protocol.debug.is_some() && !tournament.has_programs() {
            bail!("--debug records the protocol of external programs, and no player is one; leave it out");
        }
        self.protocol.open()
    }

    pub fn resume_hint(&self) -> &'static str {
        if self.log.is_some() { "the same command resumes" } else { "with --log it could resume" }
    }
}

/// Arguments that select what to play and what to print.
#[derive(clap::Args)]
pub struct PlayArgs {
    #[command(flatten)]
    pub run: RunArgs,
    /// Games of a series file to play, including those on demand
    #[arg(long, value_name = "NAME", num_args = 1.., help_heading = "Schedule")]
    pub game: Vec<String>,
    /// Play all games and pairings of a series file, including those on demand
    #[arg(long, help_heading = "Schedule")]
    pub all: bool,
    /// Print the number of games and an estimate of the time, without playing
    #[arg(long)]
    pub plan: bool,
    /// Play N random games of each pairing of the log again, and compare them with the log, which is not changed
    #[arg(long, value_name = "N", value_parser = positive, requires = "log", conflicts_with_all = ["plan", "shard"])]
    pub replay: Option<NonZeroUsize>,
    /// Play one of several parts, e.g. `1/3`; `tournament merge` merges their logs
    #[arg(long, value_name = "I/N", help_heading = "Schedule")]
    pub shard: Option<Shard>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
