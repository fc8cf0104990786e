use std::path::PathBuf;

use anyhow::Result;
use sternhalma_data::Table;

use crate::args::output::OutputPath;
use crate::commands::info;
use crate::context::CommandContext;
use crate::output::{CommandOutcome, counted, status};

/// Join the parts of a table that a cluster has built
///
/// Every block is compared with its checksum. Prints the path of the table. The parts remain.
#[derive(clap::Args)]
pub struct Args {
    /// Parts, one of each process, in any order
    #[arg(required = true)]
    parts: Vec<PathBuf>,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: OutputPath,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Print JSON: the output of `info --json` for the table
    #[arg(long)]
    json: bool,
}

pub fn run(_: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    status!("joining {} in {}", counted(args.parts.len(), "part"), args.output.display());
    sternhalma_cluster::assemble(&args.parts, &args.output, args.force)?;
    info::print_new(&Table::open(&args.output)?, &args.output, args.json)
}
