//! `build --plan`: estimates the resources of a build.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use bytesize::ByteSize;
use indicatif::{HumanBytes, HumanCount, HumanDuration};
use serde_json::json;
use sternhalma_builder::{
    BuildEstimate, BuildPlan, BuilderError, Calibration, MachineSpec, Observer, TableBuilder, disk_rate, total_memory,
};
use sternhalma_cluster::ClusterEstimate;
use sternhalma_data::TableSpec;
use sternhalma_data::table::fs::parent_directory;

use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, counted, status};
use crate::progress::counted_processes;
use crate::values::{count, size};

/// A machine other than this one, to estimate for.
#[derive(clap::Args)]
pub struct MachineArgs {
    /// With --plan: estimate for a machine with N cores like this machine's
    #[arg(long, value_name = "N", requires = "plan", value_parser = count::<usize>(1), help_heading = "Estimate")]
    plan_cores: Option<usize>,
    /// With --plan: estimate for this memory limit, e.g. `256GiB`
    #[arg(long, value_name = "SIZE", requires = "plan", value_parser = size, help_heading = "Estimate")]
    plan_memory: Option<ByteSize>,
    /// With --plan: estimate for a disk of this speed, e.g. `2GB/s`
    #[arg(long, value_name = "RATE", requires = "plan", value_parser = parse_rate, help_heading = "Estimate")]
    plan_disk_rate: Option<ByteSize>,
}

fn parse_rate(text: &str) -> Result<ByteSize, String> {
    let rate = text.trim();
    size(rate.strip_suffix("/s").unwrap_or(rate))
        .map_err(|reason| format!("expected a speed such as `500MB/s` or `2GB/s`: {reason}"))
}

impl MachineArgs {
    /// Returns the machine that the options describe, or `None` if none of them is given. Missing
    /// properties are those of this machine, `here`.
    fn described(&self, here: MachineSpec) -> Option<MachineSpec> {
        let memory = self.plan_memory.map(|memory| memory.as_u64());
        let rate = self.plan_disk_rate.map(|rate| rate.as_u64() as f64);
        let any = self.plan_cores.is_some() || memory.is_some() || rate.is_some();
        any.then(|| MachineSpec {
            cores: self.plan_cores.unwrap_or(here.cores),
            memory: memory.unwrap_or(here.memory),
            disk_rate: rate.unwrap_or(here.disk_rate),
            // The limit is usually three quarters of the memory. The page cache has the other
            // quarter, which is a third of the limit.
            cache: memory.map_or(here.cache, |memory| memory / 3),
        })
    }
}

/// Measures this machine, with this number of threads and this memory limit in bytes. Writes to the disk for a moment.
fn measure_this_machine(ctx: &CommandContext, threads: usize, limit: u64, directory: &Path) -> Result<MachineSpec> {
    // From here on a signal sets the flag that the observers read, and does not end the process before files are removed.
    ctx.stop()?;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create the directory {}", directory.display()))?;
    status!("measuring the disk and builds of smaller tables");
    Ok(MachineSpec {
        cores: threads,
        memory: limit,
        disk_rate: disk_rate(directory)?,
        cache: total_memory().saturating_sub(limit),
    })
}

/// Cancels the builds of smaller tables when a signal ends the work.
struct Stopper(Arc<AtomicBool>);

impl Observer for Stopper {
    fn cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// Returns the error of an estimate.
fn interrupted(error: BuilderError) -> anyhow::Error {
    match error {
        BuilderError::Cancelled => anyhow!("interrupted: the same command starts again"),
        error => error.into(),
    }
}

/// The rates of links between machines, in bytes per second, and their delays, in seconds: networks of 1, 10 and
/// 100 Gbit/s.
const LINKS: [(f64, f64); 3] = [(125e6, 1e-4), (1250e6, 5e-5), (12500e6, 2e-5)];

/// The link between processes on one machine.
const LOOPBACK: [(f64, f64); 1] = [(2e9, 1e-5)];

/// Prints the estimate of a build by several processes. Each has a machine with `limit` bytes of memory, or the one that
/// the options describe. If they share one machine, `shared_cores` is the number of its cores.
pub fn run_cluster(
    ctx: &CommandContext,
    builder: &TableBuilder,
    args: &MachineArgs,
    (processes, shared_cores): (usize, Option<usize>),
    (threads, limit): (usize, u64),
    path: &Path,
    as_json: bool,
) -> Result<CommandOutcome> {
    let directory = parent_directory(path);
    let here = measure_this_machine(ctx, threads, limit, directory)?;
    let machine = args.described(here).unwrap_or(here);
    let links = if shared_cores.is_some() { &LOOPBACK[..] } else { &LINKS };
    let plan = ClusterEstimate::new(builder, processes, machine, shared_cores, links, directory, &Stopper(ctx.stop()?))
        .map_err(interrupted)?;
    let spec = builder.spec();
    if as_json {
        let board = spec.prefix.to_string();
        output::print_json(&json!({ "board": board, "within": spec.prefix.within(), "plan": plan }))?;
    } else {
        print_heading(spec)?;
        output::print_line(&cluster_text(&plan))?;
    }
    Ok(CommandOutcome::Answered)
}

fn print_heading(spec: TableSpec) -> Result<()> {
    let form = if spec.mirrored { ", mirrored" } else { "" };
    output::print_line(&format!("{}, {} encoding{form}", spec.prefix, spec.encoding))
}

fn cluster_text(plan: &ClusterEstimate) -> String {
    let MachineSpec { cores, memory, .. } = plan.machine;
    let share = |all: u64| HumanBytes(all / plan.processes as u64);
    let mut lines = vec![
        format!(
            "on {} with {} and {} of memory each:",
            counted_processes(plan.processes),
            counted(cores, "core"),
            HumanBytes(memory)
        ),
        format!("  states   {}", HumanCount(plan.states)),
        format!("  layers   about {}, {}", plan.layers, HumanBytes(plan.layer_bytes)),
        format!("  table    {}", HumanBytes(plan.table_bytes)),
        format!("  memory   at most {} per process", HumanBytes(plan.memory_bytes)),
        format!("  disk     {} per process", HumanBytes(plan.disk_bytes)),
        format!(
            "  sent     {}, {} per process, up to {}",
            HumanBytes(plan.sent_bytes),
            share(plan.sent_bytes),
            HumanBytes(plan.busiest_bytes)
        ),
        format!("  work     {} of processor time", seconds(plan.cpu_s)),
    ];
    for link in &plan.links {
        lines.push(format!(
            "  time     {} at {} Gbit/s: {} to compute, {} to send, {} at barriers",
            seconds(link.wall_s),
            link.bytes_per_s * 8.0 / 1e9,
            seconds(link.compute_s),
            seconds(link.transfer_s),
            seconds(link.barrier_s),
        ));
    }
    lines.push(scaled_from(&plan.calibrations));
    lines.join("\n")
}

/// Returns a time in words. Long times are hours, because a number of days has too few digits.
fn seconds(seconds: f64) -> String {
    let hours = seconds / 3600.0;
    if hours < 24.0 { HumanDuration(Duration::from_secs_f64(seconds)).to_string() } else { format!("{hours:.0} hours") }
}

fn scaled_from(calibrations: &[Calibration]) -> String {
    let calibrations = calibrations.iter().map(|c| format!("within {} in {:.1} s", c.within, c.wall_s));
    format!("  scaled from {}", calibrations.collect::<Vec<_>>().join(" and "))
}

/// Prints the estimates for this machine, with a number of threads and a memory limit in bytes, and for the machine that
/// the options describe, if any.
pub fn run(
    ctx: &CommandContext,
    plan: &BuildPlan,
    args: &MachineArgs,
    (threads, limit): (usize, u64),
    as_json: bool,
) -> Result<CommandOutcome> {
    let spec = plan.spec();
    let here = measure_this_machine(ctx, threads, limit, parent_directory(plan.path()))?;
    let machines: Vec<MachineSpec> = std::iter::once(here).chain(args.described(here)).collect();
    let plans = plan.estimate(&machines, &Stopper(ctx.stop()?)).map_err(interrupted)?;
    if as_json {
        output::print_json(
            &json!({ "board": spec.prefix.to_string(), "within": spec.prefix.within(), "plans": plans }),
        )?;
    } else {
        print_heading(spec)?;
        for plan in &plans {
            output::print_line(&text(plan))?;
        }
    }
    Ok(CommandOutcome::Answered)
}

fn text(plan: &BuildEstimate) -> String {
    let MachineSpec { cores, memory, disk_rate, .. } = plan.machine;
    let form = plan.layer_form.map_or(String::new(), |form| format!(", {} layers", form.name()));
    [
        format!("on {cores} cores, {} of memory, {}/s of disk:", HumanBytes(memory), HumanBytes(disk_rate as u64)),
        format!("  states   {}", HumanCount(plan.states)),
        format!("  layers   about {}", plan.layers),
        format!("  search   {}{form}", plan.mode.name()),
        format!("  memory   at most {}", HumanBytes(plan.memory_bytes)),
        format!("  table    {}", HumanBytes(plan.table_bytes)),
        format!("  disk     {}", HumanBytes(plan.disk_bytes)),
        format!("  read     {}", HumanBytes(plan.read_bytes)),
        format!("  written  {}", HumanBytes(plan.written_bytes)),
        format!("  time     {}, {} of processor time", seconds(plan.wall_s), seconds(plan.cpu_s)),
        scaled_from(&plan.calibrations),
    ]
    .join("\n")
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn long_times_are_hours() {
        assert_eq!(seconds(80.0), "80 seconds");
        assert_eq!(seconds(22.0 * 60.0), "22 minutes");
        assert_eq!(seconds(37.2 * 3600.0), "37 hours");
        assert_eq!(seconds(1000.0 * 3600.0), "1000 hours");
    }
}
