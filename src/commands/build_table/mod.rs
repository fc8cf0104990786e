mod args;
#[cfg(feature = "cluster")]
mod cluster;

pub use args::Args;

use std::path::Path;

use anyhow::{Context, Result, bail};
use indicatif::HumanBytes;
use sternhalma_builder::{BuildMode, BuildOutcome, BuilderError, LayerForm, ModeReason, ResourceError, TableBuilder};
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
    let builder = args.builder(prefix, encoding);
    builder.spec().layout()?;
    #[cfg(feature = "cluster")]
    if args.plan
        && let Some(answered) = cluster::plan(ctx, args, &builder, &path)?
    {
        return Ok(answered);
    }
    if args.plan {
        return estimate::run(ctx, &builder, &args.machine, args.limit(), &path, args.json);
    }
    if let Some(table) = args.existing(&builder, &path) {
        let form = match (table.spec().mirrored, builder.spec().mirrored) {
            (true, false) => " without mirror images (`convert --no-mirror` adds them)",
            (false, true) => " with mirror images (`convert --mirror` removes them)",
            _ => "",
        };
        status!("already built: {prefix} in the encoding {encoding}{form}; --force builds it again");
        return info::print_new(&table, &path, args.json);
    }
    #[cfg(feature = "cluster")]
    if let Some(answered) = cluster::build(ctx, args, &builder, &path)? {
        return Ok(answered);
    }
    status!(
        "building {prefix}: {} in {}, {}",
        counted(prefix.states() as usize, "state"),
        path.display(),
        counted(builder.thread_count(), "thread"),
    );
    let built = args.build(ctx, &builder, &path)?;
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
    /// Returns the table at the path, if it has the states and the encoding of the one to build in
    /// either form, and no work is left to do.
    fn existing(&self, builder: &TableBuilder, path: &Path) -> Option<Table> {
        if self.force || builder.work_dir_exists(path) {
            return None;
        }
        let spec = builder.spec();
        Table::open(path).ok().filter(|table| table.prefix() == spec.prefix && table.encoding() == spec.encoding)
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
        let reason = match (choice.reason, choice.mode) {
            (ModeReason::Requested, _) => "given by --mode".to_owned(),
            (ModeReason::SinglePiece, _) => "a single piece needs very little memory".to_owned(),
            (ModeReason::WorkDirExists, _) => {
                format!("{} has unfinished work", builder.work_dir_of(path).display())
            }
            (ModeReason::Memory { needed }, BuildMode::InMemory) => self.need_and_limit(needed),
            (ModeReason::Memory { needed }, BuildMode::OutOfCore) => {
                format!("in memory {}", self.need_and_limit(needed))
            }
        };
        match choice.mode {
            BuildMode::InMemory => status!("in memory: {reason}"),
            BuildMode::OutOfCore => status!("out of core: {reason}"),
        }
        choice.mode
    }

    /// Returns a clause about the memory of a search in memory, in bytes, and the limit.
    fn need_and_limit(&self, needed: u64) -> String {
        let limit = if self.memory.is_some() { "--memory" } else { "three quarters of the memory" };
        format!("the search needs {} and {limit} allows {}", HumanBytes(needed), HumanBytes(self.limit()))
    }

    fn check_resources(&self, builder: &TableBuilder, path: &Path, mode: BuildMode) -> Result<()> {
        let work_dir = builder.work_dir_of(path);
        if mode == BuildMode::OutOfCore {
            let form = builder.choose_layer_form(path);
            let size = HumanBytes(builder.work_bytes(form)?);
            status!("work directory {}: {} layers, about {size}", work_dir.display(), form.name());
        }
        let shortage = match builder.check_resources(path) {
            Err(BuilderError::Resources(shortage)) => shortage,
            Err(BuilderError::MemoryLimit { least, .. }) if mode == BuildMode::InMemory => {
                bail!("in memory {}; raise --memory, or leave out --mode", self.need_and_limit(least))
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
