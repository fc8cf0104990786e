use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use indicatif::HumanBytes;
use sternhalma_builder::{BuilderError, TableConverter, check_disk};
use sternhalma_data::{Encoding, Table};

use crate::args::blocks::{BlockArgs, encoding_parser};
use crate::args::mirror::MirrorArgs;
use crate::args::output::OutputPath;
use crate::args::threads::ThreadArgs;
use crate::commands::info;
use crate::context::CommandContext;
use crate::output::{CommandOutcome, counted, status};
use crate::resources::advise;

/// Write a table in another encoding or form
///
/// Needs little memory and uses all cores. Prints the path of the new file.
#[derive(clap::Args)]
pub struct Args {
    /// Table: a path, or a name in the tables directory
    file: PathBuf,
    /// Encoding of the new table: `byte`, `mod3` (2 bits), `zstd` (about 1 bit), or `ans` (about 0.6 bits, with slow look-ups)
    #[arg(long, value_parser = encoding_parser(), hide_possible_values = true, help_heading = "Encoding")]
    encoding: Encoding,
    /// File to write [default: in the tables directory]
    #[arg(short, long, value_name = "FILE")]
    output: Option<OutputPath>,
    #[command(flatten)]
    blocks: BlockArgs,
    #[command(flatten)]
    mirror: MirrorArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Print JSON: the output of `info --json` for the new table
    #[arg(long)]
    json: bool,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let encoding = args.blocks.apply(args.encoding)?;
    let table = ctx.open_table(&args.file)?;
    let mut converter = TableConverter::new(&table, encoding).threads(args.threads.get()).overwrite(args.force);
    if let Some(mirrored) = args.mirror.mirrored() {
        converter = converter.mirrored(mirrored);
    }
    let spec = converter.spec();
    let file_bytes = spec.layout()?.estimated_file_bytes();
    let output = match &args.output {
        Some(output) => output.to_path_buf(),
        None => ctx.tables.directory()?.default_path(spec.prefix, encoding),
    };
    let form = |mirrored| if mirrored { " (mirrored)" } else { "" };
    status!(
        "converting {}: {} from {}{} to {encoding}{} in {}",
        table.path().display(),
        counted(table.prefix().states() as usize, "state"),
        table.encoding(),
        form(table.spec().mirrored),
        form(spec.mirrored),
        output.display()
    );
    advise(check_disk(&output, file_bytes, 0), "choose another place for the new file")?;
    let started = Instant::now();
    let new = convert_to(ctx, &converter, &output)?;
    status!(
        "converted in {:.1} s: {}, {:.2} bits per state",
        started.elapsed().as_secs_f64(),
        HumanBytes(new.file_bytes()),
        info::bits_per_state(&new)
    );
    info::print_new(&new, &output, args.json)
}

fn convert_to(ctx: &CommandContext, converter: &TableConverter, output: &Path) -> Result<Table> {
    let progress = ctx.progress()?;
    let converted = converter.convert(output, &progress);
    progress.finish();
    match converted {
        Err(BuilderError::Cancelled) => bail!("interrupted: no table was written; the same command starts again"),
        converted => converted?,
    }
    Table::open(output).context("cannot open the new table")
}
