use std::fs;

use anyhow::{Context, Result, bail};
use indicatif::HumanBytes;
use serde::Serialize;
use sternhalma_data::Table;
use sternhalma_data::table::TableFile;

use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, columns, print_line, status};

/// List the tables in the tables directory, or remove one
///
/// Prints what each table covers, its encoding and size, and the largest
/// distance that is guaranteed exact.
#[derive(clap::Args)]
pub struct Args {
    /// Remove the table with this name, and print the path of its file
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    remove: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct TableRow {
    name: String,
    file: String,
    #[serde(flatten)]
    contents: Option<Contents>,
    /// The reason why the file cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// What a table contains. The names are those of `info --json`.
#[derive(Serialize)]
struct Contents {
    side: usize,
    pieces: usize,
    within: usize,
    states: u64,
    encoding: String,
    bytes: u64,
    max_distance: u8,
    exact_to: Option<u32>,
    #[serde(skip)]
    covers: String,
}

impl Contents {
    fn of(table: &Table) -> Contents {
        let prefix = table.prefix();
        Contents {
            side: prefix.board().size(),
            pieces: prefix.board().pieces(),
            within: prefix.within(),
            states: prefix.states(),
            encoding: table.encoding().to_string(),
            bytes: table.file_bytes(),
            max_distance: table.max_distance().0,
            exact_to: table.proven_depth(),
            covers: prefix.to_string(),
        }
    }
}

impl From<TableFile> for TableRow {
    fn from(file: TableFile) -> TableRow {
        let (contents, error) = match &file.table {
            Ok(table) => (Some(Contents::of(table)), None),
            Err(error) => (None, Some(error.to_string())),
        };
        TableRow { name: file.name, file: file.path.display().to_string(), contents, error }
    }
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let dir = ctx.tables.dir()?;
    if let Some(name) = &args.remove {
        return remove(ctx, name);
    }
    let rows: Vec<TableRow> = ctx.tables.directory()?.list()?.into_iter().map(TableRow::from).collect();
    if !args.json {
        status!("tables in {}", dir.display());
        if rows.is_empty() {
            status!("there are none; `sternhalma build` builds one");
            return Ok(CommandOutcome::Answered);
        }
    }
    output::answer(args.json, &rows, || text(&rows))
}

/// Removes the file of a table. A damaged table can be removed, too.
fn remove(ctx: &CommandContext, name: &str) -> Result<CommandOutcome> {
    let name = name.strip_suffix(".sht").unwrap_or(name);
    let Some(path) = ctx.tables.directory()?.file(name) else {
        // The error has the names of the tables. A file elsewhere is not removed.
        let found = ctx.tables.find(name.as_ref())?;
        bail!(
            "{}: expected the name of a table in {}; remove other files yourself",
            found.display(),
            ctx.tables.dir()?.display()
        )
    };
    fs::remove_file(&path).with_context(|| format!("{}: cannot remove", path.display()))?;
    print_line(&path.display().to_string())?;
    Ok(CommandOutcome::Answered)
}

fn text(rows: &[TableRow]) -> String {
    let header = ["name", "covers", "encoding", "size", "farthest", "exact to"].map(str::to_owned).to_vec();
    let cells = |row: &TableRow| match &row.contents {
        Some(contents) => vec![
            row.name.clone(),
            contents.covers.clone(),
            contents.encoding.clone(),
            HumanBytes(contents.bytes).to_string(),
            contents.max_distance.to_string(),
            contents.exact_to.map_or("all".to_owned(), |exact_to| exact_to.to_string()),
        ],
        None => vec![row.name.clone(), row.error.clone().unwrap_or_default()],
    };
    columns(std::iter::once(header).chain(rows.iter().map(cells)).collect())
}
