//! The context of a command: the tables directory, the stop flag and progress.

use std::path::Path;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Context, Result};
use sternhalma_builder::Verifier;
use sternhalma_data::Table;
use sternhalma_files::{OutputFile, stop_waiting};

use crate::progress::ProgressDisplay;
use crate::tables_dir::TablesArgs;

/// The tables directory, the version of the program, and the stop flag of a command.
#[derive(Clone)]
pub struct CommandContext {
    pub tables: TablesArgs,
    /// The version number and the commit.
    pub version: &'static str,
    /// Describes all commands of the program.
    pub describe: fn() -> clap::Command,
    stop: OnceLock<Arc<AtomicBool>>,
}

impl CommandContext {
    pub fn new(tables: TablesArgs, version: &'static str, describe: fn() -> clap::Command) -> CommandContext {
        CommandContext { tables, version, describe, stop: OnceLock::new() }
    }

    /// Returns the flag that Ctrl-C and termination signals set. Until a
    /// command calls this, the signals end the process.
    pub fn stop(&self) -> Result<Arc<AtomicBool>> {
        if let Some(stop) = self.stop.get() {
            return Ok(stop.clone());
        }
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        let end = move || {
            flag.store(true, Relaxed);
            stop_waiting();
        };
        ctrlc::set_handler(end).context("cannot watch for Ctrl-C")?;
        watch_other_signals(&stop).context("cannot watch for signals")?;
        Ok(self.stop.get_or_init(|| stop).clone())
    }

    /// Creates an output: see [`OutputFile::create`]. From now on, signals end the work in time to remove a partial file.
    pub fn output(&self, path: &Path, force: bool, inputs: &[&Path]) -> Result<OutputFile> {
        self.stop()?;
        Ok(OutputFile::create(path, force, inputs)?)
    }

    /// Returns a progress display that ends the work on Ctrl-C.
    pub fn progress(&self) -> Result<ProgressDisplay> {
        Ok(ProgressDisplay::new(self.stop()?))
    }

    /// Opens the table that a user names. Each block is checked against its
    /// checksum before its first use.
    pub fn open_table(&self, name: &Path) -> Result<Table> {
        self.tables.open(name, Table::options().verify_blocks(true))
    }

    /// Opens the table that a user names and checks only its header.
    pub fn open_unchecked(&self, name: &Path) -> Result<Table> {
        self.tables.open(name, Table::options())
    }

    /// Opens the table that a user names and checks all of its blocks at once.
    /// Later look-ups check nothing. Commands that read the whole table use this.
    pub fn open_verified(&self, name: &Path) -> Result<Table> {
        verified(self.open_unchecked(name)?)
    }
}

/// Makes the other signals that would end the process end the work. A file that exceeds the limit of its size is an error
/// of the write, and ends nothing else.
#[cfg(unix)]
fn watch_other_signals(stop: &Arc<AtomicBool>) -> std::io::Result<()> {
    use signal_hook::consts::{SIGALRM, SIGQUIT, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ};
    for signal in [SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM] {
        signal_hook::flag::register(signal, Arc::clone(stop))?;
    }
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop)
}

#[cfg(not(unix))]
fn watch_other_signals(_: &Arc<AtomicBool>) -> std::io::Result<()> {
    Ok(())
}

/// Checks all blocks of a table.
pub fn verified(table: Table) -> Result<Table> {
    Verifier::new(&table).check(&())?;
    Ok(table)
}
