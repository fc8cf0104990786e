use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use crate::args::state::SideArg;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, status};

/// Print a shortest solution of a state
///
/// If the distance is an upper bound, the solution is a shortest one inside
/// the table. Exit code 1 if the table does not cover the state.
#[derive(clap::Args)]
pub struct Args {
    /// Table: a path, or a name in the tables directory
    file: PathBuf,
    /// State: cells, a position string, or `#RANK`
    state: String,
    #[command(flatten)]
    side: SideArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let table = ctx.open_table(&args.file)?;
    let board = table.prefix().board();
    let state = args.side.parse(board, &args.state)?;
    let probed = table.probed_state(state)?;
    let line = probed.as_ref().map(|probed| probed.solution()).transpose()?;
    let moves: Option<Vec<String>> =
        line.map(|line| line.into_iter().map(|mv| args.side.move_text(board, mv)).collect());
    if args.json {
        let lookup = probed.as_ref().map(|probed| probed.probe());
        output::print_json(&json!({
            "state": args.side.cells_text(board, state),
            "rank": state.rank().0,
            "distance": lookup.and_then(|lookup| lookup.distance()).map(|distance| distance.0),
            "exact": lookup.and_then(|lookup| lookup.is_exact()),
            "moves": moves,
        }))?;
    } else if let Some(moves) = &moves {
        output::print_line(&moves.join(" "))?;
    } else {
        status!("{}: the table does not cover this state", args.state);
    }
    Ok(if moves.is_some() { CommandOutcome::Answered } else { CommandOutcome::NotFound })
}
