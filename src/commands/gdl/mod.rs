mod bench;
mod strategies;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Subcommand, ValueEnum};
use flate2::read::MultiGzDecoder;
use serde_json::json;
use sternhalma_ggp::gdl::network::{InLanes, Network, NetworkGame};
use sternhalma_ggp::gdl::{
    self, CheckOptions, Finding, Prover, ReplayError, Rules, Severity, TraceLine, check, replay_line, trace,
};

use crate::outcome::CommandOutcome;
use crate::output::{self, status};

/// Games told by rulesheets in the Game Description Language
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Gdl,
}

#[derive(Subcommand)]
enum Gdl {
    Check(CheckArgs),
    Trace(TraceArgs),
    Replay(ReplayArgs),
    Bench(bench::Args),
    Strategies(Box<strategies::Args>),
}

/// Tell what is wrong with rulesheets: exit code 1 if anything is an error
#[derive(clap::Args)]
struct CheckArgs {
    /// The rulesheets
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Tell what reasoners play all the same, as arities that differ, as warnings
    #[arg(long)]
    lenient: bool,
    /// Random matches to play of a rulesheet without errors
    #[arg(long, value_name = "N", default_value_t = 10)]
    playouts: u64,
    /// The seed of the matches
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Play random matches and print each visited state as a line of JSON
#[derive(clap::Args)]
struct TraceArgs {
    /// The rulesheet
    file: PathBuf,
    /// The seed of the matches
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Matches to play
    #[arg(long, value_name = "P", default_value_t = 1)]
    playouts: u64,
    /// Steps after which a match is given up
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    steps: usize,
}

/// Play the moves of a trace and compare every state: exit code 1 at the first difference
#[derive(clap::Args)]
struct ReplayArgs {
    /// The rulesheet
    file: PathBuf,
    /// The trace, plain or gzipped
    trace: PathBuf,
    /// The engine that is compared
    #[arg(long, value_enum, default_value_t = Engine::Prover)]
    engine: Engine,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// Proof, state by state
    Prover,
    /// The network, one match at a time
    Sequential,
    /// The network, 512 matches at once
    Lanes,
}

impl Engine {
    fn name(self) -> &'static str {
        match self {
            Engine::Prover => "prover",
            Engine::Sequential => "sequential",
            Engine::Lanes => "lanes",
        }
    }
}

pub fn run(args: &Args) -> Result<CommandOutcome> {
    match &args.command {
        Gdl::Check(args) => run_check(args),
        Gdl::Trace(args) => run_trace(args),
        Gdl::Replay(args) => run_replay(args),
        Gdl::Bench(args) => bench::run(args),
        Gdl::Strategies(args) => strategies::run(args),
    }
}

fn run_check(args: &CheckArgs) -> Result<CommandOutcome> {
    let options =
        CheckOptions { lenient: args.lenient, playouts: args.playouts, seed: args.seed, ..CheckOptions::default() };
    let (mut rows, mut wrong, mut unreadable) = (Vec::new(), false, false);
    for file in &args.files {
        let text = match read_text(file) {
            Ok(text) => text,
            Err(error) => {
                status!("error: {error:#}");
                unreadable = true;
                continue;
            }
        };
        let findings = check(&text, &options);
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
        wrong |= errors > 0;
        if args.json {
            rows.push(json!({
                "file": file.display().to_string(),
                "ok": errors == 0,
                "findings": findings.iter().map(finding_json).collect::<Vec<_>>(),
            }));
        } else {
            print_findings(file, &findings, errors)?;
        }
    }
    if args.json {
        output::print_json(&rows)?;
    }
    Ok(match (unreadable, wrong) {
        (true, _) => CommandOutcome::SomeInvalid,
        (false, true) => CommandOutcome::NotFound,
        (false, false) => CommandOutcome::Answered,
    })
}

fn finding_json(finding: &Finding) -> serde_json::Value {
    json!({
        "severity": finding.severity.to_string(),
        "code": finding.code.name(),
        "line": finding.place.map(|place| place.line),
        "column": finding.place.map(|place| place.column),
        "message": finding.message,
    })
}

fn print_findings(file: &Path, findings: &[Finding], errors: usize) -> Result<()> {
    for finding in findings {
        let gap = if finding.place.is_some() { "" } else { " " };
        output::print_line(&format!("{}:{gap}{finding}", file.display()))?;
    }
    let warnings = findings.len() - errors;
    let verdict = if errors == 0 { "valid" } else { "not valid" };
    let (errors, warnings) = (counted(errors, "error"), counted(warnings, "warning"));
    output::print_line(&format!("{}: {verdict}, {errors}, {warnings}", file.display()))
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn read_text(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("{}: cannot be read", file.display()))
}

fn rules(file: &Path) -> Result<Rules> {
    Rules::parse(&read_text(file)?).with_context(|| file.display().to_string())
}

fn prover(file: &Path) -> Result<Prover> {
    Prover::new(&rules(file)?).with_context(|| file.display().to_string())
}

fn network(file: &Path) -> Result<NetworkGame> {
    let rules = rules(file)?;
    let network = Network::new(&rules).with_context(|| file.display().to_string())?;
    Ok(NetworkGame::new(network).with_rules(rules))
}

fn run_trace(args: &TraceArgs) -> Result<CommandOutcome> {
    let mut prover = prover(&args.file)?;
    let mut out = BufWriter::new(io::stdout().lock());
    trace(&mut prover, args.seed, args.playouts, args.steps, |line| -> Result<()> {
        Ok(writeln!(out, "{}", serde_json::to_string(line)?)?)
    })?;
    out.flush()?;
    Ok(CommandOutcome::Answered)
}

fn run_replay(args: &ReplayArgs) -> Result<CommandOutcome> {
    match args.engine {
        Engine::Prover => replay(args, &mut prover(&args.file)?),
        Engine::Sequential => replay(args, &mut network(&args.file)?),
        Engine::Lanes => replay(args, &mut InLanes::new(network(&args.file)?)?),
    }
}

fn replay(args: &ReplayArgs, engine: &mut impl gdl::Engine) -> Result<CommandOutcome> {
    let mut state = None;
    let mut lines = 0;
    for (number, text) in open(&args.trace)?.lines().enumerate() {
        let place = || format!("{}:{}", args.trace.display(), number + 1);
        let text = text.with_context(place)?;
        if text.trim().is_empty() {
            continue;
        }
        let line: TraceLine = serde_json::from_str(&text).with_context(place)?;
        match replay_line(engine, &mut state, &line) {
            Ok(()) => lines += 1,
            Err(difference @ ReplayError::Differs { .. }) => {
                output::print_line(&format!("{}: {difference}", place()))?;
                return Ok(CommandOutcome::NotFound);
            }
            Err(error) => return Err(error).with_context(place),
        }
    }
    let verb = if lines == 1 { "agrees" } else { "agree" };
    output::print_line(&format!("{} {verb}", counted(lines, "line")))?;
    Ok(CommandOutcome::Answered)
}

/// A file's text, unpacked if it begins as gzip does.
fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    let cannot = || format!("{}: cannot be read", path.display());
    let mut file = BufReader::new(File::open(path).with_context(cannot)?);
    let gzipped = file.fill_buf().with_context(cannot)?.starts_with(&[0x1f, 0x8b]);
    let text: Box<dyn Read> = if gzipped { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    Ok(Box::new(BufReader::new(text)))
}
