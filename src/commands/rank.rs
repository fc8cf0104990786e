use std::io;

use anyhow::Result;
use serde::Serialize;
use sternhalma_data::{Board, Rank};

use crate::args::board::BoardArgs;
use crate::args::state::SideArg;
use crate::batch::{Answerer, Invalid, LinePrinter, answer_all};
use crate::drawing::draw_army;
use crate::output::CommandOutcome;

/// Print the ranks of states
#[derive(clap::Args)]
pub struct RankArgs {
    /// States: cells, position strings, or `startpos`
    #[arg(value_name = "STATE", required_unless_present = "stdin")]
    states: Vec<String>,
    /// Also read states from stdin, one per line, and answer each line immediately
    #[arg(long)]
    stdin: bool,
    /// Print JSON, one object per state
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    board: BoardArgs,
    #[command(flatten)]
    side: SideArg,
}

/// Print the cells of the states with some ranks
#[derive(clap::Args)]
pub struct UnrankArgs {
    /// Ranks, with or without `#`; 0 is the goal
    #[arg(value_name = "RANK", required_unless_present = "stdin")]
    ranks: Vec<String>,
    /// Also read ranks from stdin, one per line, and answer each line immediately
    #[arg(long)]
    stdin: bool,
    /// Draw the board of each state
    #[arg(long = "board", conflicts_with = "json")]
    draw: bool,
    /// Print JSON, one object per state
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    board: BoardArgs,
    #[command(flatten)]
    side: SideArg,
}

pub fn run_rank(args: &RankArgs) -> Result<CommandOutcome> {
    let (board, printer) = (args.board.board()?, LinePrinter::new(args.json));
    let mut ranks = Ranks { board, side: args.side, printer, question: Question::Rank };
    answer_all(&mut ranks, &args.states, args.stdin)
}

pub fn run_unrank(args: &UnrankArgs) -> Result<CommandOutcome> {
    let (board, printer) = (args.board.board()?, LinePrinter::new(args.json));
    let question = Question::State { draw: args.draw };
    let mut states = Ranks { board, side: args.side, printer, question };
    answer_all(&mut states, &args.ranks, args.stdin)
}

#[derive(Serialize)]
struct RankRow {
    state: String,
    rank: u64,
}

/// What is asked for.
enum Question {
    Rank,
    State { draw: bool },
}

/// Converts between ranks and states.
struct Ranks {
    board: Board,
    side: SideArg,
    printer: LinePrinter,
    question: Question,
}

impl Answerer for Ranks {
    type Question = Rank;

    fn parse(&self, text: &str) -> Result<Rank> {
        Ok(match self.question {
            Question::Rank => self.side.parse(self.board, text)?.rank(),
            Question::State { .. } => self.board.parse_rank(text.strip_prefix('#').unwrap_or(text))?,
        })
    }

    fn answer(&mut self, rank: Rank) -> Result<bool> {
        let row = RankRow { state: self.side.rank_text(self.board, rank), rank: rank.0 };
        let text = match self.question {
            Question::Rank => rank.to_string(),
            Question::State { draw: false } => row.state.clone(),
            Question::State { draw: true } => {
                let state = rank.state(self.board.pieces());
                format!(
                    "{}\n{}",
                    row.state,
                    draw_army(self.board, self.side.side(), state.to_army(self.board, self.side.side()), None)
                )
            }
        };
        self.printer.print(&row, text)?;
        Ok(true)
    }

    fn invalid(&mut self, invalid: &Invalid<'_>) -> Result<()> {
        self.printer.print_invalid(invalid)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.printer.flush()
    }
}
