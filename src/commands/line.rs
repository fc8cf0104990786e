use std::io;
use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;
use sternhalma_data::{Move, State, Table};

use crate::args::state::SideArg;
use crate::batch::{Answerer, Invalid, LinePrinter, answer_all};
use crate::context::CommandContext;
use crate::drawing::draw_state;
use crate::output::{CommandOutcome, status};

/// Print a shortest solution of states
///
/// If the distance is an upper bound, the solution is a shortest one inside
/// the table. Exit code 1 if the table does not cover a state.
#[derive(clap::Args)]
pub struct Args {
    /// Table: a path, or a name in the tables directory
    file: PathBuf,
    /// States: cells, position strings, `startpos`, or `#RANK`
    #[arg(value_name = "STATE", required_unless_present = "stdin")]
    states: Vec<String>,
    /// Also read states from stdin, one per line, and answer each line immediately
    #[arg(long)]
    stdin: bool,
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
    /// `None` if the table does not cover the state.
    distance: Option<u8>,
    exact: Option<bool>,
    moves: Option<Vec<String>>,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let table = ctx.open_table(&args.file)?;
    let printer = LinePrinter::new(args.json);
    let batch = args.stdin || args.states.len() > 1;
    answer_all(&mut Lines { table, args, batch, printer }, &args.states, args.stdin)
}

/// Answers states by solutions.
struct Lines<'a> {
    table: Table,
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
        let probed = self.table.probed_state(state)?;
        let line = probed.as_ref().map(|probed| probed.solution()).transpose()?;
        let lookup = probed.as_ref().map(|probed| probed.probe());
        let names = |line: &Vec<Move>| line.iter().map(|&mv| side.move_text(board, mv)).collect();
        let row = LineRow {
            state: side.cells_text(board, state),
            rank: state.rank().0,
            distance: lookup.and_then(|lookup| lookup.distance()).map(|distance| distance.0),
            exact: lookup.and_then(|lookup| lookup.is_exact()),
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
                let boards = line.iter().filter(|_| self.args.draw).map(|line| self.boards(state, line));
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
    /// Draws a state, and the states after each move of a line.
    fn boards(&self, mut state: State, line: &[Move]) -> String {
        let (board, side) = (self.table.board(), self.args.side);
        let mut text = format!("\n{}\n", draw_state(board, side.side(), state, None));
        for (number, &mv) in (1..).zip(line) {
            state = state.after(mv);
            let last = mv.to_board_order(board, side.side());
            text += &format!(
                "\n{number}. {}\n{}\n",
                side.move_text(board, mv),
                draw_state(board, side.side(), state, Some(last))
            );
        }
        text.truncate(text.trim_end().len());
        text
    }
}
