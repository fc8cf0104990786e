use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bytesize::ByteSize;
use indicatif::{HumanBytes, HumanCount};
use sternhalma_builder::{
    BuildError, BuildOptions, Done, OutOfCore, build, build_out_of_core, is_begun, memory_needed,
};
use sternhalma_data::table::Layout;
use sternhalma_data::{Encoding, Prefix, Table};

use crate::args::board::BoardArgs;
use crate::args::threads::ThreadArgs;
use crate::args::zstd::ZstdArgs;
use crate::commands::{estimate, info};
use crate::context::CommandContext;
use crate::outcome::CommandOutcome;
use crate::output::{self, status};
use crate::resources::{check_disk, check_memory, memory_limit};

/// Build a distance table
///
/// Without options, builds the complete table for 6 pieces on the 9x9 board,
/// with one byte per state, in the tables directory. Prints the path of the
/// file.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    board: BoardArgs,
    /// Cover only states whose pieces all lie within the B cells nearest the goal
    #[arg(long, value_name = "B")]
    within: Option<u64>,
    /// Encoding of distances: `byte`, `mod3` (2 bits), or `zstd` (about 1 bit)
    #[arg(long, default_value = "byte")]
    encoding: Encoding,
    #[command(flatten)]
    zstd: ZstdArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    /// File to write [default: named after the board, in the tables directory]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Memory limit, e.g. `2GiB` [default: three quarters of the machine's memory]
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
    /// Search in memory, or out of core in a work directory [default: in memory if the limit allows]
    #[arg(long, value_name = "MODE")]
    mode: Option<Mode>,
    /// Work directory of an out-of-core build [default: beside the file]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    /// Discard the work of an earlier build in the work directory
    #[arg(long)]
    fresh: bool,
    /// Drop work files from the system's page cache after use
    #[arg(long)]
    uncached: bool,
    /// Estimate time, memory and disk space from smaller builds, and do not build the table
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    machine: estimate::MachineArgs,
    /// Print JSON: the output of `info --json` for the new table, or the estimate
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Mode {
    InMemory,
    OutOfCore,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let board = args.board.board()?;
    let prefix = args.within.map_or(Ok(Prefix::whole(board)), |within| Prefix::new(board, within))?;
    let encoding = args.zstd.apply(args.encoding)?;
    let path = args.output.clone().map_or_else(|| ctx.tables.default_path(prefix, encoding), Ok)?;
    let threads = args.threads.get();
    let options = BuildOptions { prefix, encoding, threads };
    if args.plan {
        return estimate::run(options, &args.machine, args.limit(), &path, args.json);
    }
    status!(
        "building {prefix}: {} states in {}, {threads} thread{}",
        HumanCount(prefix.states()),
        path.display(),
        if threads == 1 { "" } else { "s" },
    );
    let built = match args.mode(options, &path) {
        Mode::InMemory => args.build_in_memory(ctx, options, &path)?,
        Mode::OutOfCore => args.build_out_of_core(ctx, options, &path)?,
    };
    let table = Table::open(&path)?;
    match built {
        Done::Built => status!(
            "built in {:.1} s: {} layers, {}",
            table.provenance().wall_s,
            table.info().layers.len(),
            HumanBytes(table.file_bytes())
        ),
        Done::Before => status!("already complete: the table of this work directory exists"),
    }
    match args.json {
        true => info::print_json(&table)?,
        false => output::print_line(&path.display().to_string())?,
    }
    Ok(CommandOutcome::Answered)
}

impl Args {
    fn limit(&self) -> u64 {
        memory_limit(self.memory)
    }

    fn work_dir(&self, path: &Path) -> PathBuf {
        self.work_dir.clone().unwrap_or_else(|| {
            let mut name = path.as_os_str().to_owned();
            name.push(".work");
            name.into()
        })
    }

    /// Chooses where to search and prints the reason.
    fn mode(&self, options: BuildOptions, path: &Path) -> Mode {
        let (needed, limit) = (memory_needed(options.prefix, options.encoding, options.threads), self.limit());
        let (needs, allows) = (HumanBytes(needed), HumanBytes(limit));
        let asked = match self.memory {
            Some(_) => "--memory",
            None => "three quarters of the memory",
        };
        let (mode, why) = match self.mode {
            Some(mode) => (mode, "given by --mode".to_owned()),
            None if options.prefix.board().pieces() == 1 => {
                (Mode::InMemory, "a single piece needs very little memory".to_owned())
            }
            None if is_begun(&self.work_dir(path)) && !self.fresh => {
                (Mode::OutOfCore, format!("{} has unfinished work", self.work_dir(path).display()))
            }
            None if needed <= limit => {
                (Mode::InMemory, format!("the search needs {needs} and {asked} allows {allows}"))
            }
            None => (Mode::OutOfCore, format!("in memory the search needs {needs} and {asked} allows {allows}")),
        };
        match mode {
            Mode::InMemory => status!("in memory: {why}"),
            Mode::OutOfCore => status!("out of core: {why}"),
        }
        mode
    }

    fn build_in_memory(&self, ctx: &CommandContext, options: BuildOptions, path: &Path) -> Result<Done> {
        let needed = memory_needed(options.prefix, options.encoding, options.threads);
        check_memory(needed, "cover fewer cells with --within, store less with --encoding mod3, or free some memory")?;
        check_disk(path, Layout::new(options.prefix, options.encoding).file_bytes())?;
        let progress = ctx.progress()?;
        let built = build(path, options, self.force, &progress);
        progress.finish();
        match built {
            Err(BuildError::Cancelled) => bail!("interrupted: no table was written; the same command starts again"),
            built => built?,
        }
        Ok(Done::Built)
    }

    fn build_out_of_core(&self, ctx: &CommandContext, options: BuildOptions, path: &Path) -> Result<Done> {
        let work = OutOfCore {
            directory: self.work_dir(path),
            memory: self.limit(),
            fresh: self.fresh,
            uncached: self.uncached,
        };
        if options.prefix.board().pieces() == 1 {
            bail!("a table with a single piece is built in memory; leave out --mode out-of-core");
        }
        status!("work directory {}", work.directory.display());
        // Layers take about 3 bits per state. Unfinished work already has part of them.
        let layers = if is_begun(&work.directory) { 0 } else { options.prefix.states() / 8 * 3 };
        let table = Layout::new(options.prefix, options.encoding).file_bytes();
        check_disk(path, table.saturating_add(layers))?;
        let progress = ctx.progress()?;
        let built = build_out_of_core(path, options, &work, self.force, &progress);
        progress.finish();
        match built {
            Err(BuildError::Cancelled) => bail!("interrupted: the same command resumes after the last complete layer"),
            Err(BuildError::Limit { least, limit }) => bail!(
                "this build needs at least {} of memory, and the limit is {}; raise --memory",
                HumanBytes(least),
                HumanBytes(limit)
            ),
            built => Ok(built?),
        }
    }
}
