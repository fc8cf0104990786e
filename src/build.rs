use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, bail};
use indicatif::{HumanBytes, HumanCount};
use sternhalma_builder::{BuildError, BuildOptions, build, memory_needed};
use sternhalma_data::{Encoding, Layout, Prefix, Table};

use crate::convert::ZstdArgs;
use crate::files::Tables;
use crate::progress::Progress;
use crate::state::BoardArgs;
use crate::{Outcome, info, output};

/// Make a distance table
///
/// Without options this is the whole table of 6 pieces on the 9x9 board, one
/// byte a state, in the tables directory. Prints the path of the file.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    board: BoardArgs,
    /// Cover only the states with every piece within the B cells nearest the goal
    #[arg(long, value_name = "B")]
    within: Option<u64>,
    /// How distances are stored: `byte`, `mod3` in two bits, or `zstd` in about one
    #[arg(long, default_value = "byte")]
    encoding: Encoding,
    #[command(flatten)]
    zstd: ZstdArgs,
    /// Threads to search with [default: one a core]
    #[arg(long, value_name = "T")]
    threads: Option<NonZeroUsize>,
    /// The file to make [default: named after the board, in the tables directory]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Print what `info --json` prints of the new table
    #[arg(long)]
    json: bool,
}

pub fn run(tables: &Tables, args: &Args) -> Result<Outcome> {
    let board = args.board.board()?;
    let prefix = args.within.map_or(Ok(Prefix::whole(board)), |within| Prefix::new(board, within))?;
    let encoding = args.zstd.apply(args.encoding)?;
    let path = args.output.clone().map_or_else(|| tables.default_path(prefix, encoding), Ok)?;
    let threads = args.threads.or(thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let memory = memory_needed(prefix, encoding, threads);
    eprintln!(
        "building {prefix}: {} states in {}, {} of memory, {threads} thread{}",
        HumanCount(prefix.states()),
        path.display(),
        HumanBytes(memory),
        if threads == 1 { "" } else { "s" },
    );
    check_memory(memory)?;
    check_disk(&path, Layout::new(prefix, encoding).file_bytes())?;
    let progress = Progress::new()?;
    let options = BuildOptions { prefix, encoding, threads };
    let built = build(&path, options, args.force, &progress);
    progress.finish();
    match built {
        Err(BuildError::Cancelled) => bail!("interrupted: no table was written; the same command starts anew"),
        built => built?,
    }
    let table = Table::open(&path)?;
    eprintln!(
        "built in {:.1} s: {} layers, {}",
        table.provenance().wall_s,
        table.contents().layers.len(),
        HumanBytes(table.file_bytes())
    );
    match args.json {
        true => info::print_json(&table)?,
        false => output::print_line(&path.display().to_string())?,
    }
    Ok(Outcome::Answered)
}

pub fn check_memory(needed: u64) -> Result<()> {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let mut available = system.available_memory();
    if let Some(limits) = system.cgroup_limits() {
        available = available.min(limits.free_memory);
    }
    // A system that tells nothing is taken to have enough.
    if available > 0 && needed > available {
        bail!(
            "this needs {} of memory and {} are available; cover fewer cells with --within, \
             store less with --encoding mod3, or free some memory",
            HumanBytes(needed),
            HumanBytes(available)
        );
    }
    Ok(())
}

pub fn check_disk(path: &Path, needed: u64) -> Result<()> {
    let existing = path.ancestors().skip(1).find(|dir| dir.exists() && !dir.as_os_str().is_empty());
    let dir = existing.unwrap_or(Path::new("."));
    let available =
        fs4::available_space(dir).with_context(|| format!("cannot ask for the space in {}", dir.display()))?;
    if needed > available {
        bail!(
            "the table needs {} of disk and {} has {} available; choose another place with -o",
            HumanBytes(needed),
            dir.display(),
            HumanBytes(available)
        );
    }
    Ok(())
}
