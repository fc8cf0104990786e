//! The offer to build a missing table.

use std::io::{self, BufRead};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::HumanDuration;
use sternhalma_builder::{BuilderError, MachineSpec, TableBuilder};
use sternhalma_data::{Board, Encoding, Prefix};

use crate::best_table::{best_table, suggested_table, table_size};
use crate::context::CommandContext;
use crate::error::one_line;
use crate::output::{prompt, status};
use crate::resources::{check_disk, check_memory, memory_limit};

/// The most states of a table whose plan is the base of an estimate.
const MEASURED_STATES: u64 = 12_000_000;

/// Offers to build a table if there is none for the board, and builds it if the
/// person agrees. Reports a build that fails, and returns.
pub fn offer_table(ctx: &CommandContext, board: Board) -> Result<()> {
    if best_table(ctx, board)?.is_some() {
        return Ok(());
    }
    let prefix = suggested_table(board);
    let path = ctx.tables.default_path(prefix, Encoding::Byte)?;
    let builder = TableBuilder::new(prefix).memory_limit(memory_limit(None));
    let room = check_memory(builder.memory_needed(), "").and_then(|()| check_disk(&path, table_size(prefix).0));
    if room.is_err() {
        return Ok(());
    }
    let time = build_time(prefix).map_or("an unknown time".to_owned(), |time| HumanDuration(time).to_string());
    status!("There is no distance table of {board}. The computer plays better with one.");
    status!("Build the table of {prefix} now? It takes about {time} and {} in {}.", table_size(prefix), path.display());
    prompt("[y/N] ");
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).context("cannot read stdin")?;
    if !["y", "yes"].contains(&&*line.trim().to_ascii_lowercase()) {
        return Ok(());
    }
    let stop = ctx.stop()?;
    let progress = ctx.progress()?;
    let built = builder.build(&path, &progress);
    progress.finish();
    match built {
        Ok(_) => status!("built {}", path.display()),
        Err(BuilderError::Cancelled) => {
            stop.store(false, Relaxed);
            status!("interrupted: no table was written");
        }
        Err(error) => status!("no table was written: {}", one_line(&error.into())),
    }
    Ok(())
}

/// Returns a rough estimate of the time of a build, scaled from the plan of a
/// smaller table. Measuring takes about a second.
fn build_time(prefix: Prefix) -> Option<Duration> {
    let board = prefix.board();
    let smaller = (board.pieces()..=prefix.within()).rev();
    let mut smaller = smaller.filter_map(|within| Prefix::new(board, within as u64).ok());
    let measured = smaller.find(|smaller| smaller.states() <= MEASURED_STATES)?;
    let builder = TableBuilder::new(measured);
    let memory = memory_limit(None);
    let machine = MachineSpec { cores: builder.thread_count(), memory, disk_rate: 1e9, cache: memory };
    let plan = builder.estimate(&[machine], std::env::temp_dir()).ok()?.into_iter().next()?;
    let ratio = prefix.states() as f64 / measured.states() as f64;
    Some(Duration::from_secs_f64((plan.wall_s * ratio).max(1.0)))
}
