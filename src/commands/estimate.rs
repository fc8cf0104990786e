//! `build --plan`: estimates the resources of a build.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use bytesize::ByteSize;
use indicatif::{HumanBytes, HumanCount, HumanDuration};
use serde_json::json;
use sternhalma_builder::{BuildEstimate, MachineSpec, TableBuilder, disk_rate, total_memory};
use sternhalma_data::table::fs::parent_directory;

use crate::output::{self, CommandOutcome, status};
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
        .map_err(|_| "expected a speed such as `500MB/s` or `2GB/s`".to_owned())
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

/// Prints the estimates for this machine and for the machine that the options describe, if any.
/// `limit` is the memory limit in bytes.
pub fn run(
    builder: &TableBuilder,
    args: &MachineArgs,
    limit: u64,
    path: &Path,
    as_json: bool,
) -> Result<CommandOutcome> {
    let (spec, directory) = (builder.spec(), parent_directory(path));
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create the directory {}", directory.display()))?;
    status!("measuring the disk and builds of smaller tables");
    let here = MachineSpec {
        cores: builder.thread_count(),
        memory: limit,
        disk_rate: disk_rate(directory)?,
        cache: total_memory().saturating_sub(limit),
    };
    let machines: Vec<MachineSpec> = std::iter::once(here).chain(args.described(here)).collect();
    let plans = builder.estimate(&machines, directory, &())?;
    if as_json {
        output::print_json(
            &json!({ "board": spec.prefix.to_string(), "within": spec.prefix.within(), "plans": plans }),
        )?;
    } else {
        let form = if spec.mirrored { ", mirrored" } else { "" };
        output::print_line(&format!("{}, {} encoding{form}", spec.prefix, spec.encoding))?;
        for plan in &plans {
            output::print_line(&text(plan))?;
        }
    }
    Ok(CommandOutcome::Answered)
}

fn text(plan: &BuildEstimate) -> String {
    let MachineSpec { cores, memory, disk_rate, .. } = plan.machine;
    let duration = |seconds: f64| HumanDuration(Duration::from_secs_f64(seconds));
    let calibrations = plan.calibrations.iter().map(|c| format!("within {} in {:.1} s", c.within, c.wall_s));
    [
        format!("on {cores} cores, {} of memory, {}/s of disk:", HumanBytes(memory), HumanBytes(disk_rate as u64)),
        format!("  states   {}", HumanCount(plan.states)),
        format!("  layers   about {}", plan.layers),
        format!("  search   {}", plan.mode.name()),
        format!("  memory   at most {}", HumanBytes(plan.memory_bytes)),
        format!("  table    {}", HumanBytes(plan.table_bytes)),
        format!("  disk     {}", HumanBytes(plan.disk_bytes)),
        format!("  read     {}", HumanBytes(plan.read_bytes)),
        format!("  written  {}", HumanBytes(plan.written_bytes)),
        format!("  time     {}, {} of processor time", duration(plan.wall_s), duration(plan.cpu_s)),
        format!("  scaled from {}", calibrations.collect::<Vec<_>>().join(" and ")),
    ]
    .join("\n")
}
