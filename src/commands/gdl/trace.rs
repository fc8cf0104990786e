use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::Result;
use sternhalma_ggp::gdl::trace;

use super::rulesheet::prover;

use crate::output::CommandOutcome;

/// Play random matches and print each state as a line of JSON
#[derive(clap::Args)]
pub struct Args {
    /// Rulesheet
    file: PathBuf,
    /// Seed of the matches
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Matches to play
    #[arg(long, value_name = "P", default_value_t = 1)]
    playouts: u64,
    /// Steps after which a match is an error
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    steps: usize,
}

pub fn run(args: &Args) -> Result<CommandOutcome> {
    let mut prover = prover(&args.file)?;
    let mut out = BufWriter::new(io::stdout().lock());
    trace(&mut prover, args.seed, args.playouts, args.steps, |line| -> Result<()> {
        Ok(writeln!(out, "{}", serde_json::to_string(line)?)?)
    })?;
    out.flush()?;
    Ok(CommandOutcome::Answered)
}
