use std::path::PathBuf;

use anyhow::Result;
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use sternhalma_data::{Encoding, Provenance, Table, Zstd};

use crate::files::Tables;
use crate::{Outcome, output};

/// Tell what a table holds, and how and when it was built
#[derive(clap::Args)]
pub struct Args {
    /// The table: a path, or a name in the tables directory
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Info<'a> {
    file: String,
    side: usize,
    pieces: usize,
    within: usize,
    states: u64,
    encoding: String,
    bytes: u64,
    /// Of the whole file.
    bits_per_state: f64,
    /// Of the encoding `zstd`: states in a block, and the level of zstd.
    block_states: Option<u64>,
    level: Option<u8>,
    max_distance: u8,
    layers: &'a [u64],
    /// Of the whole army in the corner opposite the goal.
    start_distance: Option<u8>,
    escape_layer: Option<u32>,
    exact_to: Option<u32>,
    checksum: String,
    #[serde(flatten)]
    provenance: &'a Provenance,
}

impl Info<'_> {
    fn of(table: &Table) -> Result<Info<'_>> {
        let board = table.prefix().board();
        let start = board.home().turned(board.cells());
        Ok(Info {
            file: table.path().display().to_string(),
            side: board.side(),
            pieces: board.pieces(),
            within: table.prefix().within(),
            states: table.prefix().states(),
            encoding: table.encoding().to_string(),
            bytes: table.file_bytes(),
            bits_per_state: bits_per_state(table),
            block_states: zstd(table).map(Zstd::block_states),
            level: zstd(table).map(Zstd::level),
            max_distance: table.max_distance().0,
            layers: &table.contents().layers,
            start_distance: table.distance(start)?.distance().map(|distance| distance.0),
            escape_layer: table.contents().escape_layer,
            exact_to: table.exact_to(),
            checksum: format!("{:016x}", table.checksum()),
            provenance: table.provenance(),
        })
    }
}

/// The bits of the file for each of its states.
pub fn bits_per_state(table: &Table) -> f64 {
    8.0 * table.file_bytes() as f64 / table.prefix().states() as f64
}

fn zstd(table: &Table) -> Option<Zstd> {
    match table.encoding() {
        Encoding::Zstd(zstd) => Some(zstd),
        _ => None,
    }
}

pub fn print_json(table: &Table) -> Result<()> {
    output::print_json(&Info::of(table)?)
}

pub fn run(tables: &Tables, args: &Args) -> Result<Outcome> {
    let table = tables.open(&args.file)?;
    if args.json {
        print_json(&table)?;
    } else {
        output::print_line(&text(&table, &Info::of(&table)?))?;
    }
    Ok(Outcome::Answered)
}

fn text(table: &Table, info: &Info) -> String {
    let start = info.start_distance.map_or("not covered".to_owned(), |d| format!("{d} moves from the goal"));
    let exact = match info.exact_to {
        None => "all distances".to_owned(),
        Some(limit) => format!("distances up to {limit}; larger ones are upper bounds"),
    };
    let blocks = zstd(table).map_or(String::new(), |zstd| {
        format!(", blocks of {} states, zstd level {}", HumanCount(zstd.block_states()), zstd.level())
    });
    let mut lines = vec![
        format!("{}: {}", info.file, table.prefix()),
        format!("states    {}, {} encoding, {}", HumanCount(info.states), info.encoding, HumanBytes(info.bytes)),
        format!("storage   {:.3} bits a state{blocks}", info.bits_per_state),
        format!("start     {start}"),
        format!("farthest  {} moves", info.max_distance),
        format!("exact     {exact}"),
        format!("checksum  {}", info.checksum),
        format!(
            "built     {} by {}, {}, in {:.1} s on {} thread(s)",
            info.provenance.built,
            info.provenance.program,
            info.provenance.mode,
            info.provenance.wall_s,
            info.provenance.threads
        ),
        "distance  states".to_owned(),
    ];
    lines.extend(
        info.layers.iter().enumerate().map(|(distance, states)| format!("{distance:>8}  {}", HumanCount(*states))),
    );
    lines.join("\n")
}
