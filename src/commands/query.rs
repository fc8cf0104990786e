use std::io::{self, BufRead, BufReader, StdoutLock, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Serialize;
use sternhalma_data::{Probe, State, Table};

use crate::args::state::SideArg;
use crate::context::CommandContext;
use crate::output::CommandOutcome;

/// Look up distances to the goal
///
/// A state is a list of cells (`a1,b1,c1,a2,b2,a3`), a position string (only
/// the pieces of --player count), or `#RANK`. Exit code 1 if the table does
/// not cover a state.
#[derive(clap::Args)]
pub struct Args {
    /// Table: a path, or a name in the tables directory
    file: PathBuf,
    /// States to look up
    #[arg(value_name = "STATE", required_unless_present = "stdin")]
    states: Vec<String>,
    /// Also read states from stdin, one per line, and answer each line at once
    #[arg(long)]
    stdin: bool,
    /// List every move and the distance after it, best first
    #[arg(long)]
    moves: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    #[command(flatten)]
    side: SideArg,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    /// One line per state
    Text,
    /// One JSON array
    Json,
    /// One JSON object per line
    Ndjson,
    /// Comma-separated values with a header
    Csv,
}

/// The answer for a state.
#[derive(Serialize)]
struct QueryRow {
    state: String,
    rank: u64,
    /// `None` if the table does not cover the state.
    distance: Option<u8>,
    exact: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moves: Option<Vec<MoveRow>>,
}

/// A move, and the distance after it.
#[derive(Serialize)]
struct MoveRow {
    #[serde(rename = "move")]
    mv: String,
    distance: Option<u8>,
    exact: Option<bool>,
}

/// A line of stdin that is not a state.
#[derive(Serialize)]
struct InvalidLine<'a> {
    line: u64,
    input: &'a str,
    error: String,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let table = ctx.open_table(&args.file)?;
    let board = table.prefix().board();
    let states = args.states.iter().map(|text| args.side.parse(board, text));
    let states = states.collect::<Result<Vec<State>>>()?;
    let mut printer = RowPrinter::new(args);
    let mut outcome = CommandOutcome::Answered;
    for state in states {
        let row = answer(&table, args, state)?;
        if row.distance.is_none() {
            outcome = CommandOutcome::NotFound;
        }
        printer.row(&row)?;
    }
    if args.stdin {
        outcome = stream(&table, args, &mut printer, outcome)?;
    }
    printer.finish()?;
    Ok(outcome)
}

/// Answers the lines of stdin. Flushes the answers whenever no further line is
/// waiting, so that a program can wait for an answer before its next line.
fn stream(table: &Table, args: &Args, printer: &mut RowPrinter, mut outcome: CommandOutcome) -> Result<CommandOutcome> {
    let mut input = BufReader::new(io::stdin().lock());
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).context("cannot read stdin")? == 0 {
            return Ok(outcome);
        }
        number += 1;
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        match args.side.parse(table.prefix().board(), text) {
            Ok(state) => {
                let row = answer(table, args, state)?;
                if row.distance.is_none() && matches!(outcome, CommandOutcome::Answered) {
                    outcome = CommandOutcome::NotFound;
                }
                printer.row(&row)?;
            }
            Err(error) => {
                outcome = CommandOutcome::SomeInvalid;
                printer.invalid(&InvalidLine { line: number, input: text, error: error.to_string() })?;
            }
        }
        if !input.buffer().contains(&b'\n') {
            printer.out.flush()?;
        }
    }
}

fn answer(table: &Table, args: &Args, state: State) -> Result<QueryRow> {
    let board = table.prefix().board();
    let probed = table.probed_state(state)?;
    let probe = probed.as_ref().map_or(Probe::NotCovered, |probed| probed.probe());
    let moves = match &probed {
        Some(probed) if args.moves => {
            let row = |(mv, after): (_, Probe)| MoveRow {
                mv: args.side.move_text(board, mv),
                distance: after.distance().map(|d| d.0),
                exact: after.is_exact(),
            };
            Some(probed.moves()?.into_iter().map(row).collect())
        }
        None if args.moves => Some(Vec::new()),
        _ => None,
    };
    Ok(QueryRow {
        state: args.side.cells_text(board, state),
        rank: state.rank().0,
        distance: probe.distance().map(|d| d.0),
        exact: probe.is_exact(),
        moves,
    })
}

/// Prints rows in the chosen format.
struct RowPrinter {
    format: OutputFormat,
    moves: bool,
    out: io::BufWriter<StdoutLock<'static>>,
    rows: u64,
}

impl RowPrinter {
    fn new(args: &Args) -> RowPrinter {
        RowPrinter { format: args.format, moves: args.moves, out: io::BufWriter::new(io::stdout().lock()), rows: 0 }
    }

    fn row(&mut self, row: &QueryRow) -> Result<()> {
        match self.format {
            OutputFormat::Text => self.text(row)?,
            OutputFormat::Csv => {
                self.csv_header()?;
                let own = [row.state.clone(), row.rank.to_string(), or_empty(row.distance), or_empty(row.exact)];
                match &row.moves {
                    Some(moves) if !moves.is_empty() => {
                        for mv in moves {
                            let after = [mv.mv.clone(), or_empty(mv.distance), or_empty(mv.exact), String::new()];
                            self.csv(own.iter().chain(&after))?;
                        }
                    }
                    _ => self.csv(own.into_iter().chain(vec![String::new(); if self.moves { 4 } else { 1 }]))?,
                }
            }
            _ => self.json(row)?,
        }
        self.rows += 1;
        Ok(())
    }

    fn invalid(&mut self, invalid: &InvalidLine) -> Result<()> {
        match self.format {
            OutputFormat::Text => writeln!(self.out, "error: line {}: {}", invalid.line, invalid.error)?,
            OutputFormat::Csv => {
                self.csv_header()?;
                let blank = if self.moves { 6 } else { 3 };
                let cells = [invalid.input.to_owned()].into_iter().chain((0..blank).map(|_| String::new()));
                self.csv(cells.chain([invalid.error.clone()]))?;
            }
            _ => self.json(invalid)?,
        }
        self.rows += 1;
        Ok(())
    }

    fn text(&mut self, row: &QueryRow) -> Result<()> {
        writeln!(self.out, "{}  rank {}  {}", row.state, row.rank, distance_text(row.distance, row.exact))?;
        for mv in row.moves.iter().flatten() {
            writeln!(self.out, "  {}  {}", mv.mv, distance_text(mv.distance, mv.exact))?;
        }
        Ok(())
    }

    fn json(&mut self, row: &impl Serialize) -> Result<()> {
        if self.format == OutputFormat::Json {
            self.out.write_all(if self.rows == 0 { b"[" } else { b",\n " })?;
        }
        self.out.write_all(&serde_json::to_vec(row)?)?;
        if self.format == OutputFormat::Ndjson {
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn csv_header(&mut self) -> Result<()> {
        match (self.rows, self.moves) {
            (0, false) => self.csv(["state", "rank", "distance", "exact", "error"]),
            (0, true) => {
                self.csv(["state", "rank", "distance", "exact", "move", "distance_after", "exact_after", "error"])
            }
            _ => Ok(()),
        }
    }

    fn csv(&mut self, fields: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<()> {
        let mut record = csv::Writer::from_writer(Vec::new());
        record.write_record(fields)?;
        let record = record.into_inner().map_err(|error| error.into_error())?;
        Ok(self.out.write_all(&record)?)
    }

    fn finish(mut self) -> Result<()> {
        if self.format == OutputFormat::Json {
            self.out.write_all(if self.rows == 0 { b"[]\n" } else { b"]\n" })?;
        }
        Ok(self.out.flush()?)
    }
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn distance_text(distance: Option<u8>, exact: Option<bool>) -> String {
    match (distance, exact) {
        (Some(distance), Some(true)) => format!("distance {distance}  exact"),
        (Some(distance), _) => format!("distance {distance}  upper bound"),
        (None, _) => "not covered".to_owned(),
    }
}
