use std::path::PathBuf;

use anyhow::{Result, bail};
use bytesize::ByteSize;
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;
use sternhalma_builder::{BuildError, VerifyError, proof_memory_needed, verify, verify_out_of_core};

use crate::args::threads::ThreadArgs;
use crate::context::CommandContext;
use crate::outcome::CommandOutcome;
use crate::output::{self, status};
use crate::resources::memory_limit;

/// Check a table against its checksums, or prove every distance in it
#[derive(clap::Args)]
pub struct Args {
    /// Table: a path, or a name in the tables directory
    file: PathBuf,
    /// Prove every distance, with a move generator of its own
    #[arg(long)]
    deep: bool,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Memory limit of the proof, e.g. `2GiB` [default: three quarters of the machine's memory]
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let table = ctx.open_unchecked(&args.file)?;
    let limit = memory_limit(args.memory);
    let progress = ctx.progress()?;
    let verified = match args.deep && proof_memory_needed(table.prefix()) > limit {
        true => {
            status!("out of core: in memory the proof needs {}", HumanBytes(proof_memory_needed(table.prefix())));
            verify_out_of_core(&table, limit, args.threads.get(), &progress)
        }
        false => verify(&table, args.deep, args.threads.get(), &progress),
    };
    progress.finish();
    match verified {
        Err(VerifyError::Work(BuildError::Limit { least, limit })) => bail!(
            "this proof needs at least {} of memory and the limit is {}; raise --memory",
            HumanBytes(least),
            HumanBytes(limit)
        ),
        Err(VerifyError::Cancelled) => bail!("interrupted: nothing is proven; the same command starts again"),
        verified => verified?,
    }
    let checksum = format!("{:016x}", table.checksum());
    if args.json {
        output::print_json(&json!({
            "file": table.path().display().to_string(),
            "ok": true,
            "deep": args.deep,
            "states": table.prefix().states(),
            "checksum": checksum,
        }))?;
    } else {
        let what = if args.deep { "every distance proven" } else { "all checksums match" };
        let states = HumanCount(table.prefix().states());
        output::print_line(&format!("{}: {what}, {states} states, {checksum}", table.path().display()))?;
    }
    Ok(CommandOutcome::Answered)
}
