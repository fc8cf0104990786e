use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use sternhalma_ggp::gdl::network::InLanes;
use sternhalma_ggp::gdl::{ReplayError, TraceEngine, TraceLine, replay_line, trace};
use sternhalma_ggp::messages::without_bom;

use super::rulesheet::{EngineArg, network, prover};
use crate::output::{self, CommandOutcome};
use crate::values::count;

/// Play random matches and print each state as a line of JSON
#[derive(clap::Args)]
pub struct TraceArgs {
    /// Rulesheet
    file: PathBuf,
    /// Seed of the matches
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = count::<u64>(0))]
    seed: u64,
    /// Matches to play
    #[arg(long, alias = "playouts", value_name = "N", default_value_t = 1, value_parser = count::<u64>(0))]
    matches: u64,
    /// Steps after which a match is an error
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = count::<usize>(1))]
    steps: usize,
}

pub fn run_trace(args: &TraceArgs) -> Result<CommandOutcome> {
    let mut prover = prover(&args.file)?;
    let mut out = BufWriter::new(io::stdout().lock());
    trace(&mut prover, args.seed, args.matches, args.steps, |line| -> Result<()> {
        Ok(writeln!(out, "{}", serde_json::to_string(line)?)?)
    })?;
    out.flush()?;
    Ok(CommandOutcome::Answered)
}

/// Play the moves of a trace and compare every state
///
/// Exit code 1 at the first difference.
#[derive(clap::Args)]
pub struct ReplayArgs {
    /// Rulesheet
    file: PathBuf,
    /// Trace, plain or compressed with gzip
    trace: PathBuf,
    /// Engine to compare with the trace
    #[arg(long, value_enum, default_value_t = EngineArg::Prover)]
    engine: EngineArg,
}

pub fn run_replay(args: &ReplayArgs) -> Result<CommandOutcome> {
    match args.engine {
        EngineArg::Prover => replay(args, &mut prover(&args.file)?),
        EngineArg::Sequential => replay(args, &mut network(&args.file)?),
        EngineArg::Lanes => replay(args, &mut InLanes::new(network(&args.file)?)?),
    }
}

fn replay(args: &ReplayArgs, engine: &mut impl TraceEngine) -> Result<CommandOutcome> {
    let mut state = None;
    let mut lines = 0;
    for (number, text) in open(&args.trace)?.lines().enumerate() {
        let place = || format!("{}:{}", args.trace.display(), number + 1);
        let text = text.with_context(place)?;
        let text = if number == 0 { without_bom(&text) } else { &text };
        if text.trim().is_empty() {
            continue;
        }
        let line: TraceLine = serde_json::from_str(text).with_context(place)?;
        match replay_line(engine, &mut state, &line) {
            Ok(()) => lines += 1,
            Err(difference @ ReplayError::Differs { .. }) => {
                output::print_line(&format!("{}: {difference}", place()))?;
                return Ok(CommandOutcome::NotFound);
            }
            Err(error) => return Err(error).with_context(place),
        }
    }
    anyhow::ensure!(lines > 0, "{}: the trace has no lines: expected at least one state", args.trace.display());
    let verb = if lines == 1 { "agrees" } else { "agree" };
    output::print_line(&format!("{} {verb}", output::counted(lines, "line")))?;
    Ok(CommandOutcome::Answered)
}

/// Opens a file, and decompresses it if it begins as gzip does.
fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    let cannot = || format!("{}: cannot read", path.display());
    let mut file = BufReader::new(File::open(path).with_context(cannot)?);
    let gzipped = file.fill_buf().with_context(cannot)?.starts_with(&[0x1f, 0x8b]);
    let text: Box<dyn Read> = if gzipped { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    Ok(Box::new(BufReader::new(text)))
}
