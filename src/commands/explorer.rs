use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use sternhalma_builder::{BuildPhase, BuilderError, Observer, TableConverter, check_disk};
use sternhalma_data::table::Ans;
use sternhalma_data::{Encoding, Table, TableError};
use sternhalma_files::ScratchDirectory;
use sternhalma_server::{ExplorerTable, explorer_index, explorer_page, explorer_samples};

use crate::args::output::OutputPath;
use crate::args::threads::ThreadArgs;
use crate::context::CommandContext;
use crate::output::{CommandOutcome, counted, print_line, status};
use crate::progress::ProgressDisplay;
use crate::resources::advise;
use crate::values::count;

/// The states per block of converted tables. A page decodes such a block in a few milliseconds.
const BLOCK_STATES: u64 = 1 << 14;

/// Write tables as a page that any file server can serve
///
/// The page shows distances and puzzles. It looks up states in the browser, in parts of the tables of at most 256 KiB.
/// Tables of the encoding `zstd` are converted to `ans`. Prints the path of the folder.
#[derive(clap::Args)]
pub struct Args {
    /// Folder to write: a new or an empty one, or with --force one that this command has written
    #[arg(value_name = "DIR")]
    directory: OutputPath,
    /// Tables: paths, or names in the tables directory
    #[arg(value_name = "TABLE", required = true)]
    tables: Vec<PathBuf>,
    /// Seed of the random states that the page has for each distance
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u64>(0))]
    seed: u64,
    /// Replace the page in the folder
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    threads: ThreadArgs,
}

/// A folder that may have a page of this command.
#[derive(Deserialize)]
struct WrittenIndex {
    #[serde(rename = "explorer")]
    _version: u32,
    tables: Vec<WrittenTable>,
}

#[derive(Deserialize)]
struct WrittenTable {
    folder: String,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let tables = open_tables(ctx, &args.tables)?;
    let inputs = tables.iter().map(|(_, table)| table.path()).collect();
    let folder = Folder::check(ctx, &args.directory, inputs, args.force)?;
    check_space(&args.directory, &tables)?;
    // This reads all blocks, so a damaged table is noticed before anything is written.
    let samples = draw_samples(ctx, &tables, args.seed)?;
    folder.begin()?;
    let converted = ConvertedTables::of(ctx, &folder, &tables, args.threads.get())?;
    let divided = tables.iter().map(|(name, table)| ExplorerTable::new(name, converted.get(name, table)));
    let explorers = divided.collect::<Result<Vec<_>, TableError>>()?;
    let progress = ctx.progress()?;
    let written = folder.write_all(&explorers, &samples, &progress);
    progress.finish();
    written?;
    folder.remove_old(&explorers);
    let files: u64 = explorers.iter().map(ExplorerTable::shards).sum();
    status!("{} in {}", counted(tables.len(), "table"), counted(files as usize, "file"));
    let directory = args.directory.display().to_string();
    let quoted = shlex::try_quote(&directory).unwrap_or((&*directory).into());
    let server = format!("python3 -m http.server --bind 127.0.0.1 --directory {quoted}");
    status!("to look at it, run `{server}` and open http://localhost:8000");
    print_line(&directory)?;
    Ok(CommandOutcome::Answered)
}

/// Opens the tables with their names, which must differ.
fn open_tables(ctx: &CommandContext, files: &[PathBuf]) -> Result<Vec<(String, Table)>> {
    let mut tables: Vec<(String, Table)> = Vec::new();
    for file in files {
        let table = ctx.open_table(file)?;
        let name = table.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Some((_, other)) = tables.iter().find(|(other, _)| *other == name) {
            let (one, two) = (other.path().display(), table.path().display());
            bail!("{one} and {two} have the same name `{name}`; rename one of them");
        }
        tables.push((name, table));
    }
    Ok(tables)
}

/// Returns the files with random states of the tables.
fn draw_samples(ctx: &CommandContext, tables: &[(String, Table)], seed: u64) -> Result<Vec<String>> {
    let progress = ctx.progress()?;
    let draw = |(_, table): &(String, Table)| explorer_samples(table, seed, &progress);
    let samples = tables.iter().map(draw).collect::<Result<Option<Vec<_>>, _>>();
    progress.finish();
    samples?.context("interrupted: nothing was written")
}

/// Returns how a table is converted that a page cannot read.
fn converter(table: &Table) -> Result<TableConverter<'_>> {
    Ok(TableConverter::new(table, Encoding::Ans(Ans::new(BLOCK_STATES)?)))
}

fn check_space(directory: &Path, tables: &[(String, Table)]) -> Result<()> {
    let mut needed = 0;
    for (_, table) in tables {
        needed += if ExplorerTable::fits(table) {
            ExplorerTable::disk_bytes(table.layout().data_bytes())
        } else {
            let converted = converter(table)?.spec().layout()?.estimated_file_bytes();
            converted + ExplorerTable::disk_bytes(converted)
        };
    }
    advise(check_disk(&directory.join(ExplorerTable::INDEX), needed, 0), "choose another place for the folder")
}

/// The tables that were converted, by name. They are removed at the end.
struct ConvertedTables {
    tables: HashMap<String, Table>,
    _directory: Option<ScratchDirectory>,
}

impl ConvertedTables {
    fn of(
        ctx: &CommandContext,
        folder: &Folder,
        tables: &[(String, Table)],
        threads: usize,
    ) -> Result<ConvertedTables> {
        let unfit: Vec<_> = tables.iter().filter(|(_, table)| !ExplorerTable::fits(table)).collect();
        let mut converted = ConvertedTables { tables: HashMap::new(), _directory: None };
        if unfit.is_empty() {
            return Ok(converted);
        }
        let scratch = ScratchDirectory::create_in(folder.path, ".converted-")
            .with_context(|| format!("{}: cannot make a directory in it", folder.path.display()))?;
        for (number, (name, table)) in unfit.into_iter().enumerate() {
            status!("converting {name} from {} to ans, which the page can read", table.encoding());
            let progress = ctx.progress()?;
            let path = scratch.path().join(format!("{number}.sht"));
            let written = converter(table)?.threads(threads).convert(&path, &progress);
            progress.finish();
            match written {
                Err(BuilderError::Cancelled) => return Err(interrupted()),
                written => written?,
            }
            converted.tables.insert(name.clone(), Table::options().verify_blocks(true).open(&path)?);
        }
        converted._directory = Some(scratch);
        Ok(converted)
    }

    /// Returns the converted form of a table, or the table itself.
    fn get<'a>(&'a self, name: &str, table: &'a Table) -> &'a Table {
        self.tables.get(name).unwrap_or(table)
    }
}

fn interrupted() -> anyhow::Error {
    anyhow!("interrupted: the folder is not complete; the same command starts again")
}

/// The folder of the page.
struct Folder<'a> {
    ctx: &'a CommandContext,
    path: &'a Path,
    /// Files that must not be replaced.
    inputs: Vec<&'a Path>,
    /// The tables that the folder had before.
    old: Vec<String>,
    /// Whether it has the index of a page, which stays until the new one is complete.
    is_page: bool,
}

impl<'a> Folder<'a> {
    /// Checks that the folder is new, or empty, or has a page that may be replaced.
    fn check(ctx: &'a CommandContext, path: &'a Path, inputs: Vec<&'a Path>, force: bool) -> Result<Folder<'a>> {
        let shown = path.display();
        let folder = |old, is_page| Ok(Folder { ctx, path, inputs, old, is_page });
        let mut entries = match std::fs::read_dir(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !path.is_symlink() => {
                return folder(Vec::new(), false);
            }
            entries => entries.with_context(|| format!("{shown}: expected a folder"))?,
        };
        if entries.next().is_none() {
            return folder(Vec::new(), false);
        }
        let index = std::fs::read(path.join(ExplorerTable::INDEX)).ok();
        let index: Option<WrittenIndex> = index.and_then(|index| serde_json::from_slice(&index).ok());
        let Some(index) = index else {
            bail!("{shown}: the folder is not empty, and was not written by this command; name a new folder");
        };
        if !index.tables.is_empty() && !force {
            bail!("{shown}: the folder has a page with tables; --force replaces it");
        }
        folder(index.tables.into_iter().map(|table| table.folder).collect(), true)
    }

    /// Makes the folder, and marks it as that of a page without tables.
    fn begin(&self) -> Result<()> {
        // From now on, signals end the work between two files.
        self.ctx.stop()?;
        if self.is_page { Ok(()) } else { self.write(ExplorerTable::INDEX, explorer_index(&[]).as_bytes()) }
    }

    fn write_all(&self, tables: &[ExplorerTable], samples: &[String], progress: &ProgressDisplay) -> Result<()> {
        for (path, content) in explorer_page()? {
            self.write(&path, content.as_bytes())?;
        }
        for (table, samples) in tables.iter().zip(samples) {
            self.write(&table.samples_path(), samples.as_bytes())?;
            if let Some((path, content)) = table.common_file() {
                self.write(path, &content)?;
            }
            progress.begin(BuildPhase::Write, table.shards());
            for number in 0..table.shards() {
                let (path, content) = table.shard(number)?;
                self.write(&path, &content)?;
                progress.advance(1);
                if progress.cancelled() {
                    return Err(interrupted());
                }
            }
        }
        // The index is last, so that the page has no tables that are not complete.
        self.write(ExplorerTable::INDEX, explorer_index(tables).as_bytes())
    }

    /// Writes a file. The page checks the contents of the parts of tables.
    fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let path = self.path.join(name);
        let failed = || format!("{}: cannot write", path.display());
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).with_context(failed)?;
        }
        let mut file = self.ctx.output(&path, true, &self.inputs)?;
        file.write_all(content).with_context(failed)?;
        match name {
            ExplorerTable::INDEX => drop(file.finish()?),
            _ => file.finish_unsynced()?,
        }
        Ok(())
    }

    /// Removes the parts of the tables that are no longer in the folder. Other files are kept.
    fn remove_old(&self, tables: &[ExplorerTable]) {
        let is_old = |folder: &&String| !tables.iter().any(|table| table.folder() == **folder) && is_part_name(folder);
        for folder in self.old.iter().filter(is_old).map(|folder| self.path.join(folder)) {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let number = name.strip_suffix(".bin");
                if name == "samples.json"
                    || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
                {
                    let _ = std::fs::remove_file(entry.path());
                }
            }
            // A folder with files of the user stays.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Returns whether a folder is named as this command names those of tables.
fn is_part_name(folder: &str) -> bool {
    let parts = folder.strip_prefix("tables/").and_then(|name| name.split_once('-'));
    parts.is_some_and(|(checksum, per_shard)| {
        checksum.len() == 16
            && checksum.bytes().all(|byte| byte.is_ascii_hexdigit())
            && per_shard.bytes().all(|byte| byte.is_ascii_digit())
    })
}
