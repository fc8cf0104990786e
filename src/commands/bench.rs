use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use rayon::prelude::*;
use serde::Serialize;
use sternhalma_builder::TableBuilder;
use sternhalma_data::{Board, Position, Prefix, Table};
use sternhalma_engine::{Distances, bench, board_of};

use crate::args::threads::threads;
use crate::output::{self, CommandOutcome};
use crate::values::{count, positive};

/// Count the nodes of searches of 20 fixed positions
///
/// The default player searches each position to the same depth, with a small
/// table that the command builds itself. The number of nodes is the same on
/// every machine and with every number of threads, and changes only if the
/// search changes.
#[derive(clap::Args)]
pub struct Args {
    /// Depth of the searches in plies
    #[arg(long, value_name = "PLIES", default_value_t = 8, value_parser = count::<u32>(1))]
    depth: u32,
    /// Positions that are searched at once, each on one thread
    #[arg(long, value_name = "N", default_value = "1", value_parser = positive, help_heading = "Resources")]
    threads: NonZeroUsize,
    /// Also print the count for each position
    #[arg(long)]
    divide: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The prefixes whose tables are built: pieces and cells. A search meets states inside and outside of them.
const PREFIXES: [(u64, u64); 2] = [(6, 25), (10, 20)];

/// The counts of all positions.
#[derive(Serialize)]
struct Report {
    depth: u32,
    nodes: u64,
    seconds: f64,
    nodes_per_second: f64,
    positions: Vec<PositionRow>,
}

/// The count of a position.
#[derive(Serialize)]
struct PositionRow {
    position: String,
    nodes: u64,
}

pub fn run(args: &Args) -> Result<CommandOutcome> {
    let threads = threads(Some(args.threads)).get();
    let tables = PREFIXES.map(|prefix| distances(prefix, threads)).into_iter().collect::<Result<Vec<Distances>>>()?;
    let count = |position: &Position| {
        let board = board_of(position).expect("the positions are of games");
        let distances = tables.iter().find(|distances| distances.board() == board).expect("each board has a table");
        let nodes = bench::search(position, distances, args.depth).expansions;
        PositionRow { position: position.to_string(), nodes }
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.context("cannot start the threads")?;
    let begin = Instant::now();
    let positions: Vec<PositionRow> = pool.install(|| bench::positions().par_iter().map(count).collect());
    let seconds = begin.elapsed().as_secs_f64();
    let nodes: u64 = positions.iter().map(|row| row.nodes).sum();
    let report = Report { depth: args.depth, nodes, seconds, nodes_per_second: nodes as f64 / seconds, positions };
    output::answer(args.json, &report, || report.text(args.divide))
}

/// Builds the table of a prefix, which only this process uses.
fn distances((pieces, within): (u64, u64), threads: usize) -> Result<Distances> {
    let prefix = Prefix::new(Board::new(9, pieces)?, within)?;
    let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
    let path = dir.path().join("bench.sht");
    TableBuilder::new(prefix).threads(threads).build(&path, &())?;
    // The map outlives the file's name.
    Ok(Distances::new(Arc::new(Table::open(&path)?)))
}

impl Report {
    fn text(&self, divide: bool) -> String {
        let rows = self.positions.iter().filter(|_| divide).map(|row| format!("{}  {}\n", row.position, row.nodes));
        let Report { depth, nodes, seconds, nodes_per_second, .. } = self;
        format!(
            "{}depth {depth}: {nodes} nodes in {seconds:.2} s, {nodes_per_second:.0} nodes/s",
            rows.collect::<String>()
        )
    }
}
