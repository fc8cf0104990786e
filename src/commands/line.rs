use std::io;
use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;
use sternhalma_data::{CellSet, Move, Probe, State, Table};

use crate::args::state::{SideArg, StatesArgs};
use crate::batch::{Answerer, Invalid, LinePrinter};
use crate::context::CommandContext;
use crate::drawing::draw_army;
use crate::output::{CommandOutcome, status};

/// Print a shortest solution of states
///
/// If the distance is an upper bound, the solution is a shortest one inside
/// the table. Exit code 1 if the table does not cover a state, or has none at the
/// distance.
#[derive(clap::Args)]
pub struct Args {
    /// Table: a path, or a name in the tables directory
    file: PathBuf,
    #[command(flatten)]
    states: StatesArgs,
    /// Draw the board before the first move and after each move
    #[arg(long = "board", conflicts_with = "json")]
    draw: bool,
    /// Print JSON, one object per state
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    side: SideArg,
}

#[derive(Serialize)]
struct LineRow {
    state: String,
    rank: u64,
    #[serde(flatten)]
    probe: Probe,
    moves: Option<Vec<String>>,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let table = ctx.open_table(&args.file)?;
    let (printer, batch) = (LinePrinter::new(args.json), args.states.is_batch());
    args.states.answer_all(&mut Lines { table: &table, args, batch, printer }, &table, |state| state)
}

/// Answers states by solutions.
struct Lines<'a> {
    table: &'a Table,
    args: &'a Args,
    /// Whether every state has a line of output.
    batch: bool,
    printer: LinePrinter,
}

impl Answerer for Lines<'_> {
    type Question = State;

    fn parse(&self, text: &str) -> Result<State> {
        self.args.side.parse(self.table.board(), text)
    }

    fn answer(&mut self, state: State) -> Result<bool> {
        let (board, side) = (self.table.board(), self.args.side);
        let probed = self.table.side(side.side()).probed_state(state)?;
        let line = probed.solution()?;
        let names = |line: &Vec<Move>| line.iter().map(|&mv| board.geometry().move_text(mv)).collect();
        let row = LineRow {
            state: side.cells_text(board, state),
            rank: state.rank().0,
            probe: probed.probe(),
            moves: line.as_ref().map(names),
        };
        match &row.moves {
            // A single state without moves has no line.
            None if !self.args.json && !self.batch => status!("{}: the table does not cover this state", row.state),
            Some(moves) if moves.is_empty() && !self.args.json && !self.batch && !self.args.draw => {
                status!("{}: all pieces are in the goal", row.state);
            }
            moves => {
                let text = moves.as_ref().map_or("not covered".to_owned(), |moves| moves.join(" "));
                let boards = line.iter().filter(|_| self.args.draw).map(|line| self.boards(probed.army(), line));
                let text = text + &boards.collect::<String>();
                self.printer.print(&row, text)?;
            }
        }
        Ok(line.is_some())
    }

    fn invalid(&mut self, invalid: &Invalid<'_>) -> Result<()> {
        self.printer.print_invalid(invalid)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.printer.flush()
    }
}

impl Lines<'_> {
    /// Draws an army, and the army after each move of a line.
    fn boards(&self, mut army: CellSet, line: &[Move]) -> String {
        let (board, side) = (self.table.board(), self.args.side.side());
        let mut text = format!("\n{}\n", draw_army(board, side, army, None));
        for (number, &mv) in (1..).zip(line) {
            army = army.without(mv.from).with(mv.to);
            let name = board.geometry().move_text(mv);
            text += &format!("\n{number}. {name}\n{}\n", draw_army(board, side, army, Some(mv)));
        }
        text.truncate(text.trim_end().len());
        text
    }
}
