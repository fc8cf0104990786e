//! The offer to build a missing table.

use std::io::{self, BufRead};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{HumanBytes, HumanDuration};
use sternhalma_builder::{BuilderError, MachineSpec, TableBuilder};
use sternhalma_data::table::{Layout, table_name};
use sternhalma_data::{Board, Cell, Encoding, Prefix};

use crate::context::CommandContext;
use crate::error::one_line;
use crate::output::{prompt, status};
use crate::resources::memory_limit;
use crate::tables_dir::largest_prefix;

/// The most states of a table that is offered. Such a table is built in memory
/// in one or two minutes.
const MOST_STATES: u64 = 400_000_000;

/// The most states of a table whose plan is the base of an estimate.
const MEASURED_STATES: u64 = 12_000_000;

/// Offers to build a table of a board that has none, and builds it if the person agrees. Returns whether there is a
/// table now, and reports a build that fails.
pub fn offer_table(ctx: &CommandContext, board: Board) -> Result<bool> {
    let prefix = suggested_table(board);
    let path = ctx.tables.directory()?.default_path(prefix, Encoding::Byte);
    let bytes = Layout::new(prefix, Encoding::Byte).estimated_file_bytes();
    let planned = TableBuilder::new(prefix).memory_limit(memory_limit(None)).plan(&path);
    let plan = match planned.and_then(|plan| plan.check().map(|()| plan)) {
        Ok(plan) => plan,
        Err(error) => {
            status!("there is no distance table of {board}, and none is offered: {}", one_line(&error.into()));
            return Ok(false);
        }
    };
    let time = build_time(prefix).map_or("an unknown time".to_owned(), |time| HumanDuration(time).to_string());
    // `--quiet` does not hide a question.
    prompt(&format!(
        "There is no distance table of {board}. The computer plays better with one.\nBuild the table of {prefix} now? \
         It takes about {time} and {} in {}.\n[y/N] ",
        HumanBytes(bytes),
        path.display()
    ));
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).context("cannot read stdin")?;
    if !["y", "yes"].contains(&&*line.trim().to_ascii_lowercase()) {
        return Ok(false);
    }
    let stop = ctx.stop()?;
    let progress = ctx.progress()?;
    let built = plan.run(&progress);
    progress.finish();
    let is_built = built.is_ok();
    match built {
        Ok(_) => status!("built {}", path.display()),
        Err(BuilderError::Cancelled) => {
            stop.store(false, Relaxed);
            status!("interrupted: no table was written");
        }
        Err(error) => status!("no table was written: {}", one_line(&error.into())),
    }
    Ok(is_built)
}

/// Returns a rough estimate of the time of a build, scaled from the plan of a
/// smaller table. Measuring takes about a second.
fn build_time(prefix: Prefix) -> Option<Duration> {
    let measured = largest_prefix(prefix.board(), MEASURED_STATES.min(prefix.states()));
    let plan =
        TableBuilder::new(measured).plan(std::env::temp_dir().join(table_name(measured, Encoding::Byte))).ok()?;
    let memory = memory_limit(None);
    let machine = MachineSpec { cores: plan.threads(), memory, disk_rate: 1e9, cache: memory };
    let estimate = plan.estimate(&[machine], &()).ok()?.into_iter().next()?;
    let ratio = prefix.states() as f64 / measured.states() as f64;
    Some(Duration::from_secs_f64((estimate.wall_s * ratio).max(1.0)))
}

/// Returns the largest table that is offered for a board: all states, or the
/// states within whole rows.
fn suggested_table(board: Board) -> Prefix {
    let row = |index| board.geometry().row(Cell::new(index));
    let row_ends = (1..board.cells()).filter(|&within| row(within - 1) != row(within));
    let prefixes = row_ends.filter_map(|within| Prefix::new(board, within as u64).ok());
    let prefixes: Vec<Prefix> = prefixes.chain([Prefix::whole(board)]).collect();
    *prefixes.iter().rev().find(|prefix| prefix.states() <= MOST_STATES).unwrap_or(&prefixes[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_small_table_is_offered() {
        for (size, pieces, within) in
            [(9, 6, 81), (9, 7, 60), (9, 10, 36), (9, 15, 28), (5, 3, 25), (11, 15, 28), (3, 1, 9)]
        {
            let prefix = suggested_table(Board::new(size, pieces).unwrap());
            assert_eq!(prefix.within(), within);
            assert!(prefix.states() <= MOST_STATES);
        }
    }
}
