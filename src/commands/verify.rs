use std::path::PathBuf;

use anyhow::{Result, bail};
use bytesize::ByteSize;
use indicatif::HumanBytes;
use serde_json::json;
use sternhalma_builder::{BuildMode, BuilderError, Verifier};

use crate::args::threads::ThreadArgs;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, status};
use crate::resources::memory_limit;
use crate::values::size;

/// Check a table against its checksums, or prove every distance in it
#[derive(clap::Args)]
pub struct Args {
    /// Table: a path, or a name in the tables directory
    file: PathBuf,
    /// Prove every distance, with a separate move generator
    #[arg(long)]
    deep: bool,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Memory limit of the proof, e.g. `2GiB` [default: three quarters of the machine's memory]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Resources")]
    memory: Option<ByteSize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let table = ctx.open_unchecked(&args.file)?;
    let verifier = Verifier::new(&table).threads(args.threads.get()).memory_limit(memory_limit(args.memory));
    if args.deep && verifier.mode() == BuildMode::OutOfCore {
        status!("out of core: in memory the proof needs {}", HumanBytes(verifier.memory_needed()));
    }
    let progress = ctx.progress()?;
    let verified = if args.deep { verifier.prove(&progress) } else { verifier.check(&progress) };
    progress.finish();
    match verified {
        Err(BuilderError::Cancelled) => bail!("interrupted: nothing is proven; the same command starts again"),
        verified => verified?,
    }
    let checksum = format!("{:016x}", table.checksum());
    let (file, states) = (table.path().display().to_string(), table.prefix().states());
    let report = json!({ "file": file, "ok": true, "deep": args.deep, "states": states, "checksum": checksum });
    output::answer(args.json, &report, || {
        let result = if args.deep { "every distance proven" } else { "all checksums match" };
        format!("{file}: {result}, {}, {checksum}", output::counted(states as usize, "state"))
    })
}
