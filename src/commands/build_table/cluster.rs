//! Builds by several processes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use indicatif::HumanBytes;
use sternhalma_builder::{BuilderError, TableBuilder};
use sternhalma_cluster::{ClusterMember, PartReport, assemble, check_part_memory, check_parts};
use sternhalma_data::{Table, TableError};
use sternhalma_files::Stream;

use super::args::Args;
use crate::args::cluster::{BuildClusterArgs, ClusterSpec};
use crate::commands::{estimate, info};
use crate::context::CommandContext;
use crate::local_processes::{LocalProcesses, resources_of_each};
use crate::output::{CommandOutcome, counted, print_line, status};
use crate::progress::counted_processes;

/// Prints the estimate of the build if the arguments describe a cluster.
pub fn plan(
    ctx: &CommandContext,
    args: &Args,
    builder: &TableBuilder,
    limit: u64,
    path: &Path,
) -> Result<Option<CommandOutcome>> {
    let Some(cluster) = &args.cluster.args.cluster else { return Ok(None) };
    let processes = cluster.processes()?;
    // Processes on this machine share it.
    let (resources, shared_cores) = match cluster {
        ClusterSpec::Local(_) => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            (resources_of_each(processes, args.threads.given(), args.memory), Some(cores))
        }
        ClusterSpec::Hosts(_) => ((args.threads.get(), limit), None),
    };
    let builder = builder.clone().threads(resources.0);
    estimate::run_cluster(ctx, &builder, &args.machine, (processes, shared_cores), resources, path, args.json).map(Some)
}

/// Builds the table, or a part of it, if the arguments describe a cluster.
pub fn build(ctx: &CommandContext, args: &Args, builder: &TableBuilder, path: &Path) -> Result<Option<CommandOutcome>> {
    match &args.cluster.args.cluster {
        Some(ClusterSpec::Hosts(hosts)) => build_part(ctx, &args.cluster, builder, hosts, path).map(Some),
        Some(ClusterSpec::Local(processes)) => {
            LocalBuild { args, builder, processes: *processes, path }.run(ctx)?;
            info::print_new(&Table::open(path)?, path, args.json).map(Some)
        }
        None => Ok(None),
    }
}

/// Builds a part of the table as a process of a cluster.
fn build_part(
    ctx: &CommandContext,
    args: &BuildClusterArgs,
    builder: &TableBuilder,
    hosts: &Path,
    path: &Path,
) -> Result<CommandOutcome> {
    let member = args.args.member(hosts)?.copies(args.copies)?;
    let (process, processes) = (member.process(), member.processes());
    let progress = ctx.progress()?;
    if let Some(metrics) = &args.metrics {
        let file = Stream::open(metrics);
        progress.write_metrics(file.with_context(|| format!("{}: cannot write", metrics.display()))?);
    }
    args.args.end_with_parent(ctx.stop()?);
    let part = ClusterMember::part_path(path, process, processes);
    status!("process {process} of {processes}: building a part of {} in {}", builder.spec(), part.display());
    let built = sternhalma_cluster::build_part(builder, path, &member, &progress);
    progress.finish();
    match built {
        Err(error) if args.args.leaves_to_parent(&error) => return Ok(CommandOutcome::Lost),
        Err(BuilderError::Cancelled) => {
            bail!(
                "interrupted: the same command on all machines resumes after the last complete layer (without --fresh)"
            )
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

/// A build with several processes on this machine.
struct LocalBuild<'a> {
    args: &'a Args,
    builder: &'a TableBuilder,
    processes: usize,
    path: &'a Path,
}

impl LocalBuild<'_> {
    fn run(&self, ctx: &CommandContext) -> Result<()> {
        if self.path.exists() && !self.args.force {
            return Err(TableError::Exists { path: self.path.to_owned() }.into());
        }
        check_parts(self.builder, self.path)?;
        let (threads, memory) = resources_of_each(self.processes, self.args.threads.given(), self.args.memory);
        // Each process would print the same error.
        check_part_memory(&self.builder.clone().threads(threads).memory_limit(memory), self.processes)?;
        let prefix = self.builder.spec().prefix;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if threads.saturating_mul(self.processes) > cores && self.args.threads.given() > 0 {
            status!(
                "--threads is the number of each process: {} in all, for {}",
                counted(threads.saturating_mul(self.processes), "thread"),
                counted(cores, "core")
            );
        }
        status!(
            "building {prefix}: {} with {}, each with {} and {}",
            counted(prefix.states() as usize, "state"),
            counted_processes(self.processes),
            counted(threads, "thread"),
            HumanBytes(memory)
        );
        if self.args.fresh {
            self.remove_work()?;
        }
        let metrics = self.args.cluster.metrics.iter();
        let stop = &*ctx.stop()?;
        let started = Instant::now();
        let processes = LocalProcesses {
            processes: self.processes,
            arguments: self.arguments(threads, memory),
            first_arguments: metrics.flat_map(|file| ["--metrics".into(), file.to_path_buf().into()]).collect(),
            dir: self.work_dir(),
            stop,
        };
        processes.run(|| self.progress())?;
        let parts = self.parts();
        assemble(&parts, self.path, self.args.force)?;
        self.remove_work()?;
        // A directory with other files remains.
        let _ = fs::remove_dir(self.work_dir());
        status!("built in {:.1} s", started.elapsed().as_secs_f64());
        Ok(())
    }

    /// Returns the arguments of all processes.
    fn arguments(&self, threads: usize, memory: u64) -> Vec<OsString> {
        let prefix = self.builder.spec().prefix;
        let mut arguments: Vec<OsString> = vec!["build".into()];
        let mut add = |argument: String| arguments.push(argument.into());
        add(format!("--side={}", prefix.board().size()));
        add(format!("--pieces={}", prefix.board().pieces()));
        add(format!("--within={}", prefix.within()));
        add(format!("--encoding={}", self.args.encoding));
        self.args.blocks.arguments().into_iter().for_each(&mut add);
        self.args.mirror.argument().map(str::to_owned).into_iter().for_each(&mut add);
        add(format!("--threads={threads}"));
        add(format!("--memory={memory}B"));
        add(format!("--copies={}", self.args.cluster.copies));
        self.args.uncached.then(|| "--uncached".to_owned()).into_iter().for_each(&mut add);
        // A part does not replace a table, which is replaced when the parts are joined.
        add("--force".to_owned());
        arguments.extend(["--output".into(), self.path.into(), "--work-dir".into(), self.work_dir().into()]);
        arguments
    }

    fn work_dir(&self) -> PathBuf {
        self.builder.work_dir_of(self.path)
    }

    fn parts(&self) -> Vec<PathBuf> {
        let part = |process| ClusterMember::part_path(self.path, process, self.processes);
        (0..self.processes).map(part).collect()
    }

    /// Returns the directories of processes, which may be those of another number of processes.
    fn part_dirs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.work_dir()).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_part = |path: &PathBuf| path.is_dir() && path.file_name().is_some_and(ClusterMember::is_directory_name);
        entries.filter(is_part).collect()
    }

    /// Returns the parts of the table, which may be those of another number of processes.
    fn all_parts(&self) -> Vec<PathBuf> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_part = |path: &PathBuf| {
            let part = path.file_name().and_then(|file| file.to_str()?.strip_prefix(&name)?.strip_prefix('.'));
            part.is_some_and(|part| ClusterMember::is_directory_name(part.as_ref()))
        };
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_part).collect()
    }

    /// Removes the directories of processes, and parts of the table.
    fn remove_work(&self) -> Result<()> {
        for dir in self.part_dirs() {
            fs::remove_dir_all(&dir).with_context(|| format!("{}: cannot remove", dir.display()))?;
        }
        for part in self.all_parts() {
            fs::remove_file(&part).with_context(|| format!("{}: cannot remove", part.display()))?;
        }
        Ok(())
    }

    /// Returns a number that grows with every layer and every part.
    fn progress(&self) -> usize {
        let first = self.work_dir().join(ClusterMember::directory_name(0, self.processes));
        let layers = fs::read_dir(first).into_iter().flatten().flatten();
        let layers = layers.filter(|file| file.path().extension().is_some_and(|end| end == "json")).count();
        // The layers are removed when all parts are complete.
        layers + 1000 * self.parts().iter().filter(|part| part.exists()).count()
    }
}
