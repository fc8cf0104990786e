use std::io::{self, StdoutLock, Write};
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;
use serde::Serialize;
use sternhalma_data::{Position, Probe, Side, State, Table};

use crate::args::state::StatesArgs;
use crate::batch::{Answerer, Invalid};
use crate::context::CommandContext;
use crate::drawing::{draw_army, drawing};
use crate::output::CommandOutcome;

/// Look up distances to the goal
///
/// A state is a list of cells (`a1,b1,c1,a2,b2,a3`), a position string (only
/// the pieces of --player count), `startpos`, or `#RANK`. Exit code 1 if the
/// table does not cover a state, or has none at the distance.
#[derive(clap::Args)]
pub struct Args {
    /// Table: a path, or a name in the tables directory
    file: PathBuf,
    #[command(flatten)]
    states: StatesArgs,
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
    player: Option<Side>,
    state: String,
    rank: u64,
    #[serde(flatten)]
    probe: Probe,
    #[serde(skip_serializing_if = "Option::is_none")]
    moves: Option<Vec<MoveRow>>,
}

/// A move, and the distance after it.
#[derive(Serialize)]
struct MoveRow {
    #[serde(rename = "move")]
    mv: String,
    #[serde(flatten)]
    after: Probe,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let table = ctx.open_table(&args.file)?;
    let mut query = Query { table: &table, args, printer: RowPrinter::new(args) };
    let side = match args.player {
        Sides::One(side) => side,
        Sides::Both if args.states.are_selected() => {
            bail!("--player both expects position strings; --distance and --random find states of one player")
        }
        Sides::Both => Side::X,
    };
    let question = |state| Asked { states: vec![(side, state)], position: None };
    let outcome = args.states.answer_all(&mut query, &table, question)?;
    query.printer.finish()?;
    Ok(outcome)
}

/// Looks up states.
struct Query<'a> {
    table: &'a Table,
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
        match self.args.player {
            Sides::One(side) => Ok(Asked { states: vec![(side, board.parse_state(text, side)?)], position: None }),
            Sides::Both if text.contains('/') || text.eq_ignore_ascii_case("startpos") => {
                let position = board.parse_position(text)?;
                let state = |side| -> Result<(Side, State)> {
                    Ok((side, State::from_army(board, side, board.check_army(position.army(side))?)))
                };
                Ok(Asked {
                    states: Side::BOTH.into_iter().map(state).collect::<Result<_>>()?,
                    position: Some(position),
                })
            }
            Sides::Both => bail!("`{text}` is the state of one player; --player both expects a position string"),
        }
    }

    fn answer(&mut self, asked: Asked) -> Result<bool> {
        let mut found = true;
        for &(side, state) in &asked.states {
            let row = self.row(side, state)?;
            found &= row.probe.distance().is_some();
            self.printer.row(&row)?;
        }
        if self.args.draw {
            let board = self.table.board();
            let picture = match (asked.position, &asked.states[..]) {
                (Some(position), _) => drawing().draw(&position),
                (None, &[(side, state), ..]) => draw_army(board, side, state.to_army(board, side), None),
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
        let board = self.table.board();
        let probed = self.table.side(side).probed_state(state)?;
        let moves = match probed.probe() {
            _ if !self.args.moves => None,
            Probe::NotCovered => Some(Vec::new()),
            _ => {
                let row = |(mv, after)| MoveRow { mv: board.geometry().move_text(mv), after };
                Some(probed.moves()?.into_iter().map(row).collect())
            }
        };
        Ok(QueryRow {
            player: (self.args.player == Sides::Both).then_some(side),
            state: board.state_text(state, side),
            rank: state.rank().0,
            probe: probed.probe(),
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
                let [distance, exact] = probe_cells(row.probe);
                let own = [row.state.clone(), row.rank.to_string(), distance, exact];
                let own: Vec<String> = row.player.iter().map(Side::to_string).chain(own).collect();
                match &row.moves {
                    Some(moves) if !moves.is_empty() => {
                        for mv in moves {
                            let [distance, exact] = probe_cells(mv.after);
                            let after = [mv.mv.clone(), distance, exact, String::new()];
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
        let player = row.player.map_or(String::new(), |player| format!("{player}: "));
        writeln!(self.out, "{player}{}  rank {}  {}", row.state, row.rank, probe_text(row.probe))?;
        for mv in row.moves.iter().flatten() {
            writeln!(self.out, "  {}  {}", mv.mv, probe_text(mv.after))?;
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
        match self.format {
            OutputFormat::Json => self.out.write_all(if self.rows == 0 { b"[]\n" } else { b"]\n" })?,
            OutputFormat::Csv => self.csv_header()?,
            OutputFormat::Text | OutputFormat::Ndjson => {}
        }
        Ok(self.out.flush()?)
    }
}

/// Returns the cells of an answer: the distance, and whether it is exact. Both are empty without a distance.
fn probe_cells(probe: Probe) -> [String; 2] {
    let exact = probe.is_exact().map(|exact| exact.to_string());
    [probe.distance().map(|distance| distance.to_string()), exact].map(Option::unwrap_or_default)
}

fn probe_text(probe: Probe) -> String {
    match probe {
        Probe::Exact(distance) => format!("distance {distance}  exact"),
        Probe::UpperBound(distance) => format!("distance {distance}  upper bound"),
        Probe::NotCovered => "not covered".to_owned(),
    }
}
