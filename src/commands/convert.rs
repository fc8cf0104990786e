use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use indicatif::{HumanBytes, HumanCount};
use sternhalma_builder::{ConvertError, convert};
use sternhalma_data::{Encoding, Layout, Table, Zstd};

use crate::commands::build::check_disk;
use crate::args::tables::Tables;
use crate::progress::Progress;
use crate::commands::info;
use crate::outcome::Outcome;
use crate::output::{self, status};

/// Write a table in another encoding
///
/// Reads and writes in parts, on all cores. Prints the path of the new file.
#[derive(clap::Args)]
pub struct Args {
    /// The table: a path, or a name in the tables directory
    file: PathBuf,
    /// How the new table stores distances: `byte`, `mod3`, or `zstd` in about one bit
    #[arg(long)]
    encoding: Encoding,
    /// The file to make
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    zstd: ZstdArgs,
    /// Threads [default: one a core]
    #[arg(long, value_name = "T")]
    threads: Option<NonZeroUsize>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Print what `info --json` prints of the new table
    #[arg(long)]
    json: bool,
}

/// How blocks of the encoding `zstd` are made.
#[derive(clap::Args)]
pub struct ZstdArgs {
    /// With --encoding zstd: states in a block, a power of two from 64 to 1048576 [default: 32768]
    ///
    /// Small blocks make look-ups fast, large ones the file small.
    #[arg(long, value_name = "N")]
    block_states: Option<u64>,
    /// With --encoding zstd: the level of zstd, 1 to 22 [default: 19]
    #[arg(long, value_name = "L")]
    level: Option<u8>,
}

impl ZstdArgs {
    /// The encoding with its blocks as the user wants them.
    pub fn apply(&self, encoding: Encoding) -> Result<Encoding> {
        match encoding {
            Encoding::Zstd(zstd) => {
                let block_states = self.block_states.unwrap_or(zstd.block_states());
                let level = self.level.unwrap_or(zstd.level());
                Zstd::new(block_states, level).map(Encoding::Zstd).map_err(anyhow::Error::msg)
            }
            _ if self.block_states.is_some() || self.level.is_some() => {
                bail!("--block-states and --level are for --encoding zstd")
            }
            _ => Ok(encoding),
        }
    }
}

pub fn run(tables: &Tables, args: &Args) -> Result<Outcome> {
    let encoding = args.zstd.apply(args.encoding)?;
    let table = tables.open(&args.file)?;
    let threads = args.threads.or(thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    status!(
        "converting {}: {} states from {} to {encoding} in {}",
        table.path().display(),
        HumanCount(table.prefix().states()),
        table.encoding(),
        args.output.display()
    );
    check_disk(&args.output, Layout::new(table.prefix(), encoding).file_bytes())?;
    let started = Instant::now();
    let new = convert_to(&table, &args.output, encoding, threads, args.force)?;
    status!(
        "converted in {:.1} s: {}, {:.2} bits a state",
        started.elapsed().as_secs_f64(),
        HumanBytes(new.file_bytes()),
        info::bits_per_state(&new)
    );
    match args.json {
        true => info::print_json(&new)?,
        false => output::print_line(&args.output.display().to_string())?,
    }
    Ok(Outcome::Answered)
}

fn convert_to(table: &Table, output: &Path, encoding: Encoding, threads: usize, force: bool) -> Result<Table> {
    let progress = Progress::new()?;
    let converted = convert(table, output, encoding, threads, force, &progress);
    progress.finish();
    match converted {
        Err(ConvertError::Cancelled) => bail!("interrupted: no table was written; the same command starts anew"),
        converted => converted?,
    }
    Table::open(output).context("the new table does not open")
}
