//! The offer to build a missing table.

use std::io::{self, BufRead};
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context, Result};
use indicatif::{HumanBytes, HumanDuration};
use sternhalma_builder::{BuilderError, TableBuilder, TableOffer};
use sternhalma_data::{Board, Encoding};

use crate::context::CommandContext;
use crate::error::one_line;
use crate::output::{prompt, status};
use crate::resources::memory_limit;

/// Offers to build a table of a board that has none, and builds it if the person agrees. Returns whether there is a
/// table now, and reports a build that fails.
pub fn offer_table(ctx: &CommandContext, board: Board) -> Result<bool> {
    let offer = TableOffer::of(board);
    let prefix = offer.prefix();
    let path = ctx.tables.directory()?.default_path(prefix, Encoding::Byte);
    let planned = TableBuilder::new(prefix).memory_limit(memory_limit(None)).plan(&path);
    let plan = match planned.and_then(|plan| plan.check().map(|()| plan)) {
        Ok(plan) => plan,
        Err(error) => {
            status!("there is no distance table of {board}, and none is offered: {}", one_line(&error.into()));
            return Ok(false);
        }
    };
    let time = offer.time(plan.threads()).map_or("an unknown time".to_owned(), |time| HumanDuration(time).to_string());
    let known = match prefix.is_whole() {
        true => "With a table it knows the way, and plays better.".to_owned(),
        false => format!(
            "With this part of a table it knows the way once all its pieces are within the {} cells nearest the goal, and \
             plays better.",
            prefix.within()
        ),
    };
    // `--quiet` does not hide a question.
    prompt(&format!(
        "There is no distance table of {board}. You can play without one: the computer estimates the way to the goal.\n\
         {known}\nBuild the table of {prefix} now? It takes about {time} and {} in {}.\n[y/N] ",
        HumanBytes(offer.bytes()),
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
