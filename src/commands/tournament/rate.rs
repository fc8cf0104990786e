//! `tournament rate`: rates the players of logs.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args as ClapArgs;
use sternhalma_engine::record::check_logged;
use sternhalma_ggp::arena::{MergedLogs, RatingList, merge_directories, merge_logs};

use crate::output::{self, CommandOutcome};
use crate::values::number;

/// Rate all players of logs against each other
///
/// Prints the players with their ratings in Elo, best first, and 95% intervals.
/// Players with the same name are the same player. Games that ended by a fault
/// do not count.
#[derive(ClapArgs)]
pub struct Args {
    /// Logs of games with two roles, or directories of logs
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Player with a fixed rating [default: the mean of the players with estimates is 0]
    #[arg(long, value_name = "PLAYER=ELO", value_parser = anchor)]
    anchor: Option<(String, f64)>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The largest distance of a rating from 0.
const MAX_ELO: f64 = 100_000.0;

/// Parses a player with its rating. The name may contain `=`.
fn anchor(text: &str) -> Result<(String, f64), String> {
    let (name, elo) = text.rsplit_once('=').ok_or_else(|| format!("expected PLAYER=ELO, got `{text}`"))?;
    Ok((name.to_owned(), number(-MAX_ELO..=MAX_ELO)(elo)?))
}

pub fn run(args: &Args) -> Result<CommandOutcome> {
    let mut logs: Vec<MergedLogs> = Vec::new();
    for path in &args.logs {
        match path.is_dir() {
            true => logs
                .extend(merge_directories(std::slice::from_ref(path), &check_logged)?.into_iter().map(|(_, log)| log)),
            false => logs.push(merge_logs(std::slice::from_ref(path), &check_logged)?),
        }
    }
    let anchor = args.anchor.as_ref().map(|(name, elo)| (name.as_str(), *elo));
    let list = RatingList::new(logs.iter().map(|(schedule, records)| (schedule, &records[..])), anchor)?;
    if list.games == 0 {
        bail!("the logs have no games to rate");
    }
    output::answer(args.json, &list, || list.text())
}
