use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use bytesize::ByteSize;
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;
use sternhalma_builder::{BuildMode, BuilderError, SampleExtent, SampleSpec, UnfinishedProof, Verifier};
use sternhalma_cluster::{discard_part, part_state_path};
use sternhalma_data::Table;

use crate::args::cluster::{ClusterArgs, ClusterSpec};
use crate::args::threads::ThreadArgs;
use crate::context::CommandContext;
use crate::local_processes::{LocalProcesses, resources_of_each};
use crate::output::{self, CommandOutcome, counted, status};
use crate::progress::ProgressDisplay;
use crate::resources::memory_limit;
use crate::values::{count, size};

/// Check a table against its checksums, or prove every distance in it
#[derive(clap::Args)]
pub struct Args {
    /// Table: a path, or a name in the tables directory
    file: PathBuf,
    /// Prove every distance, with a separate move generator
    #[arg(long)]
    deep: bool,
    /// Prove only a sample of whole context classes from every partition, with at least STATES states
    #[arg(long, value_name = "STATES", value_parser = count::<u64>(1), requires = "deep", help_heading = "Sample")]
    #[arg(conflicts_with = "cluster")]
    sample: Option<u64>,
    /// Seed of the sample
    #[arg(long, value_name = "N", default_value_t = 1, requires = "sample", help_heading = "Sample", value_parser = count::<u64>(0))]
    seed: u64,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Memory limit of the proof, e.g. `2GiB` [default: three quarters of the machine's memory]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Resources")]
    memory: Option<ByteSize>,
    /// Directory for the state of a proof out of core, of a sample or by several processes [default: beside the table]
    #[arg(long, value_name = "DIR", requires = "deep", help_heading = "Resources")]
    work_dir: Option<PathBuf>,
    /// Discard the state of an interrupted proof
    #[arg(long, requires = "deep", help_heading = "Resources")]
    fresh: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let table = ctx.open_unchecked(&args.file)?;
    let mut verifier = Verifier::new(&table).threads(args.threads.get()).memory_limit(memory_limit(args.memory));
    verifier = verifier.restart(args.fresh);
    if let Some(dir) = &args.work_dir {
        verifier = verifier.work_dir(dir);
    }
    if let Some(states) = args.sample {
        let spec = SampleSpec { states, seed: args.seed };
        let mut plan = verifier.plan_sample(spec)?;
        report_unfinished(plan.unfinished());
        let result = show_progress(ctx, |progress| plan.run(progress))?;
        let extent = not_cancelled(result, || plan.remaining())?;
        return print_sample(args, &table, spec, &extent);
    }
    match &args.cluster.cluster {
        Some(_) if !args.deep => bail!("--cluster needs --deep"),
        Some(ClusterSpec::Hosts(hosts)) => return prove_part(ctx, args, &table, &verifier, hosts),
        Some(ClusterSpec::Local(processes)) => {
            prove_on_this_machine(ctx, args, &verifier, &table, *processes)?;
            return print_result(args, &table);
        }
        None => {}
    }
    if args.deep && verifier.mode() == BuildMode::OutOfCore {
        status!("out of core: in memory the proof needs {}", HumanBytes(verifier.memory_needed()));
    }
    if args.deep {
        let mut plan = verifier.plan()?;
        report_unfinished(plan.unfinished());
        let result = show_progress(ctx, |progress| plan.run(progress))?;
        not_cancelled(result, || plan.remaining())?;
    } else {
        let result = show_progress(ctx, |progress| verifier.check(progress))?;
        not_cancelled(result, || Ok(UnfinishedProof::Nothing))?;
    }
    print_result(args, &table)
}

/// Prints that the table is right.
fn print_result(args: &Args, table: &Table) -> Result<CommandOutcome> {
    let checksum = table.checksum_text();
    let (file, states) = (table.path().display().to_string(), table.prefix().states());
    let report = json!({ "file": file, "ok": true, "deep": args.deep, "states": states, "checksum": checksum });
    output::answer(args.json, &report, || {
        let result = match (args.deep, table.proven_depth()) {
            (false, _) => "all checksums match".to_owned(),
            (true, None) => "every distance proven".to_owned(),
            // Larger distances are those of ways within the covered cells.
            (true, Some(exact)) => {
                let within = table.prefix().within();
                format!("every distance within {within} cells proven (on the whole board, upper bounds above {exact})")
            }
        };
        format!("{file}: {result}, {}, {checksum}", counted(states as usize, "state"))
    })
}

/// Proves a part of the table as a process of a cluster.
fn prove_part(
    ctx: &CommandContext,
    args: &Args,
    table: &Table,
    verifier: &Verifier,
    hosts: &Path,
) -> Result<CommandOutcome> {
    let member = args.cluster.member(hosts)?;
    args.cluster.end_with_parent(ctx.stop()?);
    let (process, processes) = (member.process(), member.processes());
    status!("process {process} of {processes}: proving a part of {}", table.path().display());
    match show_progress(ctx, |progress| sternhalma_cluster::prove_part(verifier, &member, progress))? {
        Err(error) if args.cluster.leaves_to_parent(&error) => Ok(CommandOutcome::Lost),
        Err(BuilderError::Cancelled) => bail!("interrupted: the same command on all machines resumes the proof"),
        proven => {
            proven?;
            print_result(args, table)
        }
    }
}

/// Proves the table with several processes on this machine.
fn prove_on_this_machine(
    ctx: &CommandContext,
    args: &Args,
    verifier: &Verifier,
    table: &Table,
    processes: usize,
) -> Result<()> {
    let (threads, memory) = resources_of_each(processes, args.threads.given(), args.memory);
    let mut arguments: Vec<OsString> = vec!["verify".into(), "--deep".into(), table.path().into()];
    arguments.extend([format!("--threads={threads}"), format!("--memory={memory}B")].map(OsString::from));
    args.work_dir.iter().for_each(|dir| arguments.extend(["--work-dir".into(), dir.into()]));
    let stop = &*ctx.stop()?;
    if args.fresh {
        (0..processes).try_for_each(|process| discard_part(verifier, process, processes))?;
    }
    let work = part_state_path(verifier, 0, processes).with_extension("processes");
    let local = LocalProcesses { processes, arguments, first_arguments: Vec::new(), dir: work.clone(), stop };
    let state = |process| part_state_path(verifier, process, processes).metadata();
    let changed = |process| state(process).and_then(|state| state.modified()).ok();
    let proven = local.run(|| (0..processes).map(changed).max());
    let removed = std::fs::remove_dir_all(&work).with_context(|| format!("{}: cannot remove", work.display()));
    proven.and(removed)
}

/// Reports whether the proof resumes an interrupted one.
fn report_unfinished(unfinished: UnfinishedProof) {
    match unfinished {
        UnfinishedProof::Resumes { share } => status!("resuming an interrupted proof at {:.1}%", 100.0 * share),
        UnfinishedProof::Unusable => status!(
            "starting again: the state of the interrupted proof is damaged, or is of another table, sample or version"
        ),
        UnfinishedProof::Nothing => {}
    }
}

/// Runs a verification with a progress display.
fn show_progress<T>(
    ctx: &CommandContext,
    verify: impl FnOnce(&ProgressDisplay) -> Result<T, BuilderError>,
) -> Result<Result<T, BuilderError>> {
    let progress = ctx.progress()?;
    let result = verify(&progress);
    progress.finish();
    Ok(result)
}

/// Returns the result of a verification, or says how to resume a cancelled one.
fn not_cancelled<T>(
    result: Result<T, BuilderError>,
    left: impl FnOnce() -> Result<UnfinishedProof, BuilderError>,
) -> Result<T> {
    if !matches!(result, Err(BuilderError::Cancelled)) {
        return Ok(result?);
    }
    match left()? {
        UnfinishedProof::Resumes { .. } => bail!("interrupted: the same command resumes the proof (without --fresh)"),
        _ => bail!("interrupted: nothing is proven; the same command starts again"),
    }
}

/// Prints what a sample has proven, and what it has not.
fn print_sample(args: &Args, table: &Table, spec: SampleSpec, extent: &SampleExtent) -> Result<CommandOutcome> {
    let checksum = table.checksum_text();
    let (file, all_states) = (table.path().display().to_string(), table.prefix().states());
    let share = extent.states as f64 / all_states as f64;
    let report = json!({
        "file": file,
        "ok": true,
        "deep": false,
        "states": all_states,
        "checksum": checksum,
        "sample": {
            "seed": spec.seed,
            "requested": spec.states,
            "fixed_pieces": extent.fixed_pieces,
            "classes": extent.classes,
            "all_classes": extent.all_classes,
            "states": extent.states,
            "share": share,
            "contexts": extent.contexts,
            "all_contexts": extent.all_contexts,
        },
    });
    status!(
        "a sample is not a proof of the table: the other classes, and the layers in the header, are not checked; \
         without --sample everything is proven"
    );
    output::answer(args.json, &report, || {
        format!(
            "{file}: sample of {} of {} context classes (seed {}) meets the conditions of the proof, {} of {} ({:.2}%), {checksum}",
            HumanCount(extent.classes),
            HumanCount(extent.all_classes),
            spec.seed,
            HumanCount(extent.states),
            counted(all_states as usize, "state"),
            100.0 * share
        )
    })
}
