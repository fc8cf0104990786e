#[cfg(feature = "cluster")]
mod local;

use std::path::{Path, PathBuf};

#[cfg(feature = "cluster")]
use anyhow::Context;
use anyhow::{Result, bail};
use bytesize::ByteSize;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use indicatif::HumanBytes;
use sternhalma_builder::{BuildMode, BuildOutcome, BuilderError, ModeReason, ResourceError, TableBuilder};
#[cfg(feature = "cluster")]
use sternhalma_builder::{ClusterError, ClusterMember, PartReport};
#[cfg(feature = "cluster")]
use sternhalma_data::TableError;
use sternhalma_data::{Encoding, Prefix, Table};

use crate::args::blocks::BlockArgs;
use crate::args::board::BoardArgs;
#[cfg(feature = "cluster")]
use crate::args::cluster::{ClusterArgs, ClusterSpec};
use crate::args::mirror::MirrorArgs;
use crate::args::threads::ThreadArgs;
use crate::commands::{estimate, info};
use crate::context::CommandContext;
use crate::output::{CommandOutcome, counted, status};
#[cfg(feature = "cluster")]
use crate::output::{is_quiet, print_line, shows_progress};
#[cfg(feature = "cluster")]
use crate::progress::counted_processes;
use crate::resources::{advise, memory_limit};
use crate::values::{count, size};

/// Build a distance table
///
/// Without options, builds the complete table for 6 pieces on the 9x9 board,
/// with one byte per state, in the tables directory. Prints the path of the
/// file. If the same table exists, prints its path and builds nothing.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    board: BoardArgs,
    /// Cover only states whose pieces all lie within the B cells nearest the goal
    #[arg(long, value_name = "B", value_parser = count::<u64>(0), help_heading = "Board")]
    within: Option<u64>,
    /// Encoding of distances: `byte`, `mod3` (2 bits), `zstd` (about 1 bit), or `ans` (about 0.6 bits, with slow look-ups)
    #[arg(long, default_value = "byte", help_heading = "Encoding")]
    encoding: Encoding,
    #[command(flatten)]
    blocks: BlockArgs,
    #[command(flatten)]
    mirror: MirrorArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    /// File to write [default: named after the board, in the tables directory]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Memory limit, e.g. `2GiB` [default: three quarters of the machine's memory]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Resources")]
    memory: Option<ByteSize>,
    /// Search in memory, or out of core in a work directory [default: in memory if the limit allows]
    #[arg(long, value_name = "MODE", value_parser = mode_parser(), help_heading = "Resources")]
    mode: Option<BuildMode>,
    /// Work directory of an out-of-core build [default: beside the file]
    #[arg(long, value_name = "DIR", help_heading = "Resources")]
    work_dir: Option<PathBuf>,
    /// Discard the work of an earlier build in the work directory
    #[arg(long, help_heading = "Resources")]
    fresh: bool,
    /// Drop work files from the system's page cache after use
    #[arg(long, help_heading = "Resources")]
    uncached: bool,
    /// Estimate time, memory and disk space from smaller builds, and do not build the table
    #[arg(long, help_heading = "Estimate")]
    plan: bool,
    #[command(flatten)]
    machine: estimate::MachineArgs,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Print JSON: the output of `info --json` for the new table, or the estimate
    #[arg(long)]
    json: bool,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let board = args.board.board()?;
    let prefix = args.within.map_or(Ok(Prefix::whole(board)), |within| Prefix::new(board, within))?;
    let encoding = args.blocks.apply(args.encoding)?;
    let path = match &args.output {
        Some(path) => path.clone(),
        None => ctx.tables.directory()?.default_path(prefix, encoding),
    };
    let builder = args.builder(prefix, encoding);
    builder.spec().layout()?;
    if args.plan {
        return estimate::run(&builder, &args.machine, args.limit(), &path, args.json);
    }
    if let Some(table) = args.existing(&builder, &path) {
        let form = match (table.info().mirrored, builder.spec().mirrored) {
            (true, false) => " without mirror images (`convert --no-mirror` adds them)",
            (false, true) => " with mirror images (`convert --mirror` removes them)",
            _ => "",
        };
        status!("already built: {prefix} in the encoding {encoding}{form}; --force builds it again");
        return info::print_new(&table, &path, args.json);
    }
    #[cfg(feature = "cluster")]
    match &args.cluster.cluster {
        Some(ClusterSpec::Hosts(hosts)) => return args.build_part(ctx, &builder, hosts, &path),
        Some(ClusterSpec::Local(processes)) => {
            args.build_on_this_machine(ctx, &builder, *processes, &path)?;
            return info::print_new(&Table::open(&path)?, &path, args.json);
        }
        None => {}
    }
    status!(
        "building {prefix}: {} in {}, {}",
        counted(prefix.states() as usize, "state"),
        path.display(),
        counted(builder.thread_count(), "thread"),
    );
    let built = args.build(ctx, &builder, &path)?;
    let table = Table::open(&path)?;
    match built {
        BuildOutcome::Built => status!(
            "built in {:.1} s: {}, {}",
            table.provenance().wall_s,
            counted(table.info().layers.len(), "layer"),
            HumanBytes(table.file_bytes())
        ),
        BuildOutcome::AlreadyComplete => status!("already complete: the table of this work directory exists"),
    }
    info::print_new(&table, &path, args.json)
}

fn mode_parser() -> impl TypedValueParser<Value = BuildMode> {
    let mode = |name: String| BuildMode::ALL.into_iter().find(|mode| mode.name() == name);
    PossibleValuesParser::new(BuildMode::ALL.map(BuildMode::name))
        .map(move |name| mode(name).expect("the parser accepts the names of modes"))
}

impl Args {
    /// Returns the table at the path, if it has the states and the encoding of the one to build in
    /// either form, and no work is left to do.
    fn existing(&self, builder: &TableBuilder, path: &Path) -> Option<Table> {
        if self.force || builder.work_dir_exists(path) {
            return None;
        }
        let spec = builder.spec();
        Table::open(path).ok().filter(|table| table.prefix() == spec.prefix && table.encoding() == spec.encoding)
    }

    /// Builds a part of the table as a process of a cluster.
    #[cfg(feature = "cluster")]
    fn build_part(
        &self,
        ctx: &CommandContext,
        builder: &TableBuilder,
        hosts: &Path,
        path: &Path,
    ) -> Result<CommandOutcome> {
        let member = self.cluster.member(hosts)?;
        let (process, processes) = (member.process(), member.processes());
        let progress = ctx.progress()?;
        if let Some(metrics) = &self.cluster.metrics {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(metrics);
            progress.write_metrics(file.with_context(|| format!("{}: cannot write", metrics.display()))?);
        }
        if self.cluster.with_parent {
            let stop = ctx.stop()?;
            std::thread::spawn(move || {
                // The end of the input and an error mean the same.
                let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            });
        }
        let part = ClusterMember::part_path(path, process, processes);
        status!("process {process} of {processes}: building a part of {} in {}", builder.spec(), part.display());
        let built = builder.build_part(path, &member, &progress);
        progress.finish();
        match built {
            // The process that started this one reports these itself.
            Err(BuilderError::Cancelled | BuilderError::Cluster(ClusterError::Lost { .. }))
                if self.cluster.with_parent =>
            {
                return Ok(CommandOutcome::Lost);
            }
            Err(BuilderError::Cancelled) => {
                bail!("interrupted: the same command on all machines resumes after the last complete layer")
            }
            built => {
                let PartReport { sent, received } = built?;
                let (sent, received) = (HumanBytes(sent), HumanBytes(received));
                status!("process {process} of {processes}: sent {sent}, received {received}");
            }
        }
        print_line(&part.display().to_string())?;
        Ok(CommandOutcome::Answered)
    }

    /// Builds the table with several processes on this machine.
    #[cfg(feature = "cluster")]
    fn build_on_this_machine(
        &self,
        ctx: &CommandContext,
        builder: &TableBuilder,
        processes: usize,
        path: &Path,
    ) -> Result<()> {
        if path.exists() && !self.force {
            return Err(TableError::Exists { path: path.to_owned() }.into());
        }
        builder.check_parts(path)?;
        let share = |all: u64| (all / processes as u64).max(1);
        let memory = self.memory.map_or_else(|| share(self.limit()), |memory| memory.as_u64());
        let threads = match self.threads.given() {
            0 => share(builder.thread_count() as u64),
            threads => threads as u64,
        };
        status!(
            "building {}: {} with {}, each with {} and {}",
            builder.spec().prefix,
            counted(builder.spec().prefix.states() as usize, "state"),
            counted_processes(processes),
            counted(threads as usize, "thread"),
            HumanBytes(memory)
        );
        let board = builder.spec().prefix.board();
        let mut arguments: Vec<std::ffi::OsString> = vec!["build".into()];
        let mut add = |argument: String| arguments.push(argument.into());
        add(format!("--side={}", board.size()));
        add(format!("--pieces={}", board.pieces()));
        add(format!("--within={}", builder.spec().prefix.within()));
        add(format!("--encoding={}", self.encoding));
        self.blocks.arguments().into_iter().for_each(&mut add);
        self.mirror.argument().map(str::to_owned).into_iter().for_each(&mut add);
        add(format!("--threads={threads}"));
        add(format!("--memory={memory}B"));
        add(format!("--copies={}", self.cluster.copies));
        self.uncached.then(|| "--uncached".to_owned()).into_iter().for_each(&mut add);
        arguments.push("--output".into());
        arguments.push(path.into());
        if is_quiet() {
            arguments.push("--quiet".into());
        } else if !shows_progress() {
            arguments.push("--no-progress".into());
        }
        // A part does not replace a table, which is replaced when the parts are joined.
        arguments.push("--force".into());
        let first_arguments = self.cluster.metrics.iter().flat_map(|file| ["--metrics".into(), file.into()]).collect();
        let stop = &*ctx.stop()?;
        let started = std::time::Instant::now();
        local::LocalCluster { builder, path, processes, arguments, first_arguments, stop }
            .build(self.fresh, self.force)?;
        status!("built in {:.1} s", started.elapsed().as_secs_f64());
        Ok(())
    }

    fn limit(&self) -> u64 {
        memory_limit(self.memory)
    }

    fn builder(&self, prefix: Prefix, encoding: Encoding) -> TableBuilder {
        let mut builder = TableBuilder::new(prefix)
            .encoding(encoding)
            .threads(self.threads.get())
            .memory_limit(self.limit())
            .restart(self.fresh)
            .overwrite(self.force)
            .drop_page_cache(self.uncached);
        match self.mirror.mirrored() {
            Some(true) => builder = builder.mirrored(true),
            Some(false) => builder = builder.mirror(false),
            None => {}
        }
        if let Some(mode) = self.mode {
            builder = builder.mode(mode);
        }
        if let Some(work_dir) = &self.work_dir {
            builder = builder.work_dir(work_dir);
        }
        builder
    }

    /// Builds the table with a progress display. The message of an interrupted
    /// build depends on the mode, because only builds out of core resume.
    fn build(&self, ctx: &CommandContext, builder: &TableBuilder, path: &Path) -> Result<BuildOutcome> {
        let mode = self.choose_mode(builder, path);
        self.check_resources(builder, path, mode)?;
        let progress = ctx.progress()?;
        let built = builder.build(path, &progress);
        progress.finish();
        match (built, mode) {
            (Err(BuilderError::Cancelled), BuildMode::InMemory) => {
                bail!("interrupted: no table was written; the same command starts again")
            }
            (Err(BuilderError::Cancelled), BuildMode::OutOfCore) => {
                bail!("interrupted: the same command resumes after the last complete layer")
            }
            (built, _) => Ok(built?),
        }
    }

    /// Returns the mode of the build, and reports it with the reason.
    fn choose_mode(&self, builder: &TableBuilder, path: &Path) -> BuildMode {
        let choice = builder.choose_mode(path);
        let allows = HumanBytes(self.limit());
        let limit = if self.memory.is_some() { "--memory" } else { "three quarters of the memory" };
        let reason = match (choice.reason, choice.mode) {
            (ModeReason::Requested, _) => "given by --mode".to_owned(),
            (ModeReason::SinglePiece, _) => "a single piece needs very little memory".to_owned(),
            (ModeReason::WorkDirExists, _) => {
                format!("{} has unfinished work", builder.work_dir_of(path).display())
            }
            (ModeReason::Memory { needed }, BuildMode::InMemory) => {
                format!("the search needs {} and {limit} allows {allows}", HumanBytes(needed))
            }
            (ModeReason::Memory { needed }, BuildMode::OutOfCore) => {
                format!("in memory the search needs {} and {limit} allows {allows}", HumanBytes(needed))
            }
        };
        match choice.mode {
            BuildMode::InMemory => status!("in memory: {reason}"),
            BuildMode::OutOfCore => status!("out of core: {reason}"),
        }
        choice.mode
    }

    fn check_resources(&self, builder: &TableBuilder, path: &Path, mode: BuildMode) -> Result<()> {
        let work_dir = builder.work_dir_of(path);
        if mode == BuildMode::OutOfCore {
            status!("work directory {}", work_dir.display());
        }
        let shortage = match builder.check_resources(path) {
            Err(BuilderError::Resources(shortage)) => shortage,
            checked => return Ok(checked?),
        };
        let advice = match (&shortage, mode) {
            (ResourceError::Disk { file, .. }, BuildMode::OutOfCore) if *file == work_dir => {
                "choose another place with --work-dir, or a part of the table with --within; --plan estimates the need"
            }
            (ResourceError::Disk { .. }, BuildMode::OutOfCore) => "choose another place with -o",
            (ResourceError::Disk { .. }, BuildMode::InMemory) => {
                "choose another place with -o, or a part of the table with --within"
            }
            _ => "cover fewer cells with --within, store less with --encoding mod3, or free some memory",
        };
        advise(Err(shortage), advice)
    }
}
