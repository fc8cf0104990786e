use std::io::{self, StdoutLock, Write};
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use serde::Serialize;
use sternhalma_data::{Position, Probe, Side, State, Table};

use crate::args::state::SideArg;
use crate::batch::{Answerer, Invalid, answer_all};
use crate::context::CommandContext;
use crate::drawing::{draw_state, drawing};
use crate::output::CommandOutcome;

/// Look up distances to the goal
///
/// A state is a list of cells (`a1,b1,c1,a2,b2,a3`), a position string (only
/// the pieces of --player count), `startpos`, or `#RANK`. Exit code 1 if the
/// table does not cover a state.
#[derive(clap::Args)]
pub struct Args {
    /// Table: a path, or a name in the tables directory
    file: PathBuf,
    /// States to look up
    #[arg(value_name = "STATE", required_unless_present = "stdin")]
    states: Vec<String>,
    /// Also read states from stdin, one per line, and answer each line immediately
    #[arg(long)]
    stdin: bool,
    /// List every move and the distance after it, best first
    #[arg(long)]
    moves: bool,
    /// Draw the board of each state
    #[arg(long = "board", conflicts_with_all = ["json", "format"])]
    draw: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    /// Print JSON: the same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Side of the pieces: `x` starts at a1, `o` in the opposite corner; `both` answers positions for both
    #[arg(long, value_name = "x|o|both", default_value = "x", value_parser = parse_sides, help_heading = "Board")]
    player: Sides,
}

/// The sides for which a state is looked up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sides {
    One(Side),
    Both,
}

fn parse_sides(text: &str) -> Result<Sides, String> {
    match text {
        "both" => Ok(Sides::Both),
        side => side.parse().map(Sides::One).map_err(|_| "expected `x`, `o` or `both`".to_owned()),
    }
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
    /// The side of the pieces, with `--player both`.
    #[serde(skip_serializing_if = "Option::is_none")]
    player: Option<String>,
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

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let table = ctx.open_table(&args.file)?;
    let mut query = Query { table, args, printer: RowPrinter::new(args) };
    let outcome = answer_all(&mut query, &args.states, args.stdin)?;
    query.printer.finish()?;
    Ok(outcome)
}

/// Looks up states.
struct Query<'a> {
    table: Table,
    args: &'a Args,
    printer: RowPrinter,
}

/// The states of a question, each with its side, and the position if both armies are asked for.
struct Asked {
    states: Vec<(Side, State)>,
    position: Option<Position>,
}

impl Answerer for Query<'_> {
    type Question = Asked;

    fn parse(&self, text: &str) -> Result<Asked> {
        let board = self.table.board();
        let state = |side| -> Result<(Side, State)> { Ok((side, board.parse_state(text, side)?)) };
        match self.args.player {
            Sides::One(side) => Ok(Asked { states: vec![state(side)?], position: None }),
            Sides::Both if text.contains('/') || text.eq_ignore_ascii_case("startpos") => {
                let position = Some(board.parse_position(text)?);
                Ok(Asked { states: Side::BOTH.into_iter().map(state).collect::<Result<_>>()?, position })
            }
            Sides::Both => bail!("`{text}` is the state of one player; --player both expects a position string"),
        }
    }

    fn answer(&mut self, asked: Asked) -> Result<bool> {
        let mut found = true;
        for &(side, state) in &asked.states {
            let row = self.row(side, state)?;
            found &= row.distance.is_some();
            self.printer.row(&row)?;
        }
        if self.args.draw {
            let board = self.table.board();
            let picture = match (asked.position, &asked.states[..]) {
                (Some(position), _) => drawing().draw(&position),
                (None, &[(side, state), ..]) => draw_state(board, side, state, None),
                (None, []) => String::new(),
            };
            writeln!(self.printer.out, "{picture}")?;
        }
        Ok(found)
    }

    fn invalid(&mut self, invalid: &Invalid<'_>) -> Result<()> {
        self.printer.invalid(invalid)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.printer.out.flush()
    }
}

impl Query<'_> {
    fn row(&self, side: Side, state: State) -> Result<QueryRow> {
        let (board, side) = (self.table.board(), SideArg::from(side));
        let probed = self.table.probed_state(state)?;
        let probe = probed.as_ref().map_or(Probe::NotCovered, |probed| probed.probe());
        let moves = match &probed {
            Some(probed) if self.args.moves => {
                let row = |(mv, after): (_, Probe)| MoveRow {
                    mv: side.move_text(board, mv),
                    distance: after.distance().map(|d| d.0),
                    exact: after.is_exact(),
                };
                Some(probed.moves()?.into_iter().map(row).collect())
            }
            None if self.args.moves => Some(Vec::new()),
            _ => None,
        };
        Ok(QueryRow {
            player: (self.args.player == Sides::Both).then(|| side.side().to_string()),
            state: side.cells_text(board, state),
            rank: state.rank().0,
            distance: probe.distance().map(|d| d.0),
            exact: probe.is_exact(),
            moves,
        })
    }
}

/// Prints rows in the chosen format.
struct RowPrinter {
    format: OutputFormat,
    moves: bool,
    /// Whether rows have a player.
    players: bool,
    out: io::BufWriter<StdoutLock<'static>>,
    rows: u64,
}

impl RowPrinter {
    fn new(args: &Args) -> RowPrinter {
        RowPrinter {
            format: if args.json { OutputFormat::Json } else { args.format },
            moves: args.moves,
            players: args.player == Sides::Both,
            out: io::BufWriter::new(io::stdout().lock()),
            rows: 0,
        }
    }

    fn row(&mut self, row: &QueryRow) -> Result<()> {
        match self.format {
            OutputFormat::Text => self.text(row)?,
            OutputFormat::Csv => {
                self.csv_header()?;
                let own = [row.state.clone(), row.rank.to_string(), or_empty(row.distance), or_empty(row.exact)];
                let own: Vec<String> = row.player.iter().cloned().chain(own).collect();
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

    fn invalid(&mut self, invalid: &Invalid<'_>) -> Result<()> {
        match self.format {
            OutputFormat::Text => invalid.print_text(&mut self.out)?,
            OutputFormat::Csv => {
                self.csv_header()?;
                let player = self.players.then(String::new);
                let blank = vec![String::new(); if self.moves { 6 } else { 3 }];
                let cells = player.into_iter().chain([invalid.input.to_owned()]).chain(blank);
                self.csv(cells.chain([invalid.error.clone()]))?;
            }
            _ => self.json(invalid)?,
        }
        self.rows += 1;
        Ok(())
    }

    fn text(&mut self, row: &QueryRow) -> Result<()> {
        let player = row.player.as_ref().map_or(String::new(), |player| format!("{player}: "));
        writeln!(self.out, "{player}{}  rank {}  {}", row.state, row.rank, distance_text(row.distance, row.exact))?;
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
        if self.rows > 0 {
            return Ok(());
        }
        let player = self.players.then_some("player");
        let moves: &[&str] = if self.moves { &["move", "distance_after", "exact_after"] } else { &[] };
        let own = player.into_iter().chain(["state", "rank", "distance", "exact"]);
        self.csv(own.chain(moves.iter().copied()).chain(["error"]))
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
