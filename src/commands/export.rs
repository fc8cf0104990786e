use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use sternhalma_builder::check_memory;
use sternhalma_data::table::write_lex;
use sternhalma_data::{DistanceStream, Table};

use crate::args::output::OutputPath;
use crate::context::CommandContext;
use crate::output::{CommandOutcome, print_line};
use crate::resources::advise;

/// Write all distances, one byte per state, for numpy and similar programs
#[derive(clap::Args)]
pub struct Args {
    /// Table: a path, or a name in the tables directory
    file: PathBuf,
    /// Order of the states
    #[arg(long, value_enum, default_value_t = OrderArg::Colex)]
    order: OrderArg,
    /// File to write; `-` is stdout
    #[arg(short, long, value_name = "FILE|-", default_value = "-")]
    output: OutputPath,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OrderArg {
    /// By rank
    Colex,
    /// By the numbering of other published programs; complete tables only
    Lex,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let table = ctx.open_verified(&args.file)?;
    if args.order == OrderArg::Lex && !table.prefix().is_whole() {
        bail!("{}: only complete tables have the order `lex`; use --order colex", table.path().display());
    }
    if args.order == OrderArg::Lex && table.as_bytes().is_none() {
        advise(check_memory(table.prefix().states()), "use --order colex or free some memory")?;
    }
    if args.output.is_stdout() {
        if io::stdout().is_terminal() {
            bail!("this writes binary data, and stdout is a terminal; name a file with -o, or use a pipe");
        }
        write(&table, args, io::stdout().lock())?;
    } else {
        let path = &args.output;
        let failed = || format!("{}: cannot write", path.display());
        let mut file = ctx.output(path, args.force, &[table.path()])?;
        let stop = ctx.stop()?;
        write(&table, args, Stoppable { out: &mut file, stop: &stop }).with_context(failed)?;
        file.finish()?;
        print_line(&path.display().to_string())?;
    }
    Ok(CommandOutcome::Answered)
}

/// A writer that stops at Ctrl-C. The writer writes in pieces of 1 MiB, so that it stops soon.
struct Stoppable<'a, W> {
    out: W,
    stop: &'a AtomicBool,
}

impl<W: Write> Write for Stoppable<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stop.load(Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        self.out.write(&bytes[..bytes.len().min(1 << 20)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn write(table: &Table, args: &Args, out: impl Write) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, out);
    match args.order {
        OrderArg::Colex => write_colex(table, &mut out)?,
        OrderArg::Lex => {
            write_lex(table.board(), &table.distances()?, &mut out)?;
        }
    }
    Ok(out.flush()?)
}

fn write_colex(table: &Table, out: &mut impl Write) -> Result<()> {
    let mut left = table.prefix().states();
    let mut reader = DistanceStream::new(table, 0..left)?;
    let mut part = vec![0; 1 << 16];
    while left > 0 {
        let part = &mut part[..left.min(1 << 16) as usize];
        reader.read(part)?;
        out.write_all(part)?;
        left -= part.len() as u64;
    }
    Ok(())
}
