mod args;
mod cluster;

pub use args::Args;

use anyhow::{Context, Result, bail};
use indicatif::HumanBytes;
use sternhalma_builder::{BuildMode, BuildOutcome, BuildPlan, BuilderError, LayerForm, ModeReason, ResourceError};
use sternhalma_data::{Prefix, Table};
use sternhalma_files::check_regular;

use crate::commands::{estimate, info};
use crate::context::CommandContext;
use crate::output::{CommandOutcome, counted, status};
use crate::resources::advise;

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let board = args.board.board()?;
    let prefix = args.within.map_or(Ok(Prefix::whole(board)), |within| Prefix::new(board, within))?;
    let encoding = args.blocks.apply(args.encoding)?;
    let path = match &args.output {
        Some(path) => path.to_path_buf(),
        None => ctx.tables.directory()?.default_path(prefix, encoding),
    };
    // The table may exist behind a link. Opening a pipe would wait for its writer.
    if !path.is_file() {
        check_regular(&path).with_context(|| format!("{}: cannot write", path.display()))?;
    }
    let limit = args.limit();
    let builder = args.builder(prefix, encoding, limit);
    let plan = builder.plan(&path)?;
    if args.plan
        && let Some(answered) = cluster::plan(ctx, args, &builder, limit, &path)?
    {
        return Ok(answered);
    }
    if args.plan {
        return estimate::run(ctx, &plan, &args.machine, (args.threads.get(), limit), args.json);
    }
    if let Some(table) = plan.existing() {
        let form = match (table.spec().mirrored, plan.spec().mirrored) {
            (true, false) => " without mirror images (`convert --no-mirror` adds them)",
            (false, true) => " with mirror images (`convert --mirror` removes them)",
            _ => "",
        };
        status!("already built: {prefix} in the encoding {encoding}{form}; --force builds it again");
        return info::print_new(table, &path, args.json);
    }
    if let Some(answered) = cluster::build(ctx, args, &builder, &path)? {
        return Ok(answered);
    }
    status!(
        "building {prefix}: {} in {}, {}",
        counted(prefix.states() as usize, "state"),
        path.display(),
        counted(plan.threads(), "thread"),
    );
    let built = args.build(ctx, &plan)?;
    let table = Table::open(&path).context("the table is complete, and cannot be opened to report what it contains")?;
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

impl Args {
    /// Builds the table with a progress display. The message of an interrupted
    /// build depends on the mode, because only builds out of core resume.
    fn build(&self, ctx: &CommandContext, plan: &BuildPlan) -> Result<BuildOutcome> {
        self.report(plan);
        self.check(plan)?;
        let progress = ctx.progress()?;
        let built = plan.run(&progress);
        progress.finish();
        match (built, plan.mode().mode) {
            (Err(BuilderError::Cancelled), BuildMode::InMemory) => {
                bail!("interrupted: no table was written; the same command starts again")
            }
            (Err(BuilderError::Cancelled), BuildMode::OutOfCore) => {
                bail!("interrupted: the same command resumes after the last complete layer")
            }
            (built, _) => Ok(built?),
        }
    }

    /// Reports the mode of the build with the reason, and the work files.
    fn report(&self, plan: &BuildPlan) {
        let (mode, work_dir) = (plan.mode().mode, plan.work_dir().display());
        let reason = match (plan.mode().reason, mode) {
            (ModeReason::Requested, _) => "given by --mode".to_owned(),
            (ModeReason::SinglePiece, _) => "a single piece needs very little memory".to_owned(),
            (ModeReason::WorkDirExists, _) => format!("{work_dir} has unfinished work"),
            (ModeReason::Memory { needed }, BuildMode::InMemory) => self.need_and_limit(needed, plan),
            (ModeReason::Memory { needed }, BuildMode::OutOfCore) => {
                format!("in memory {}", self.need_and_limit(needed, plan))
            }
        };
        match plan.layer_form() {
            None => status!("in memory: {reason}"),
            Some(form) => {
                status!("out of core: {reason}");
                let size = HumanBytes(plan.work_bytes());
                status!("work directory {work_dir}: {} layers, about {size}", form.name());
            }
        }
    }

    /// Returns a clause about the memory of a search in memory, in bytes, and the limit of the plan.
    fn need_and_limit(&self, needed: u64, plan: &BuildPlan) -> String {
        let limit = if self.memory.is_some() { "--memory" } else { "three quarters of the memory" };
        format!("the search needs {} and {limit} allows {}", HumanBytes(needed), HumanBytes(plan.memory_limit()))
    }

    fn check(&self, plan: &BuildPlan) -> Result<()> {
        let (mode, work_dir) = (plan.mode().mode, plan.work_dir());
        let shortage = match plan.check() {
            Err(BuilderError::Resources(shortage)) => shortage,
            Err(BuilderError::MemoryLimit { least, .. }) if mode == BuildMode::InMemory => {
                bail!("in memory {}; raise --memory, or leave out --mode", self.need_and_limit(least, plan))
            }
            checked => return Ok(checked?),
        };
        let advice = match (&shortage, mode) {
            (ResourceError::Disk { file, .. }, BuildMode::OutOfCore)
                if *file == work_dir && self.layers == Some(LayerForm::Whole) =>
            {
                "store less with --layers delta, or choose another place with --work-dir; --plan estimates the need"
            }
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
