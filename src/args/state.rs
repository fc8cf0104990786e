//! States of one army.

use anyhow::Result;
use clap::Args;
use sternhalma_data::{Board, Rank, Side, State, Table, TableError};

use crate::batch::{Answerer, answer_all};
use crate::output::{CommandOutcome, status};
use crate::values::{count, count_in};

/// The maximum number of random states, which are in memory.
const MAX_RANDOM: u64 = 10_000_000;

/// The states of a table that a command answers.
#[derive(Args)]
pub struct StatesArgs {
    /// States: cells, position strings, `startpos`, or `#RANK`
    #[arg(value_name = "STATE", required_unless_present_any = ["stdin", "distance", "random"])]
    pub states: Vec<String>,
    /// Answer all states at this distance, in the order of their ranks; with --random only some of them
    #[arg(long, value_name = "N", value_parser = count_in::<u8>(0..=255), conflicts_with_all = ["states", "stdin"])]
    distance: Option<u8>,
    /// Answer this number of different random states of the table; all are equally likely
    #[arg(long, value_name = "N", value_parser = count_in::<u64>(1..=MAX_RANDOM), conflicts_with_all = ["states", "stdin"])]
    random: Option<u64>,
    /// Seed of the random states
    #[arg(long, value_name = "N", requires = "random", default_value_t = 1, value_parser = count::<u64>(0))]
    seed: u64,
    /// Also read states from stdin, one per line, and answer each line immediately; a line may be a JSON object with a `state`
    #[arg(long)]
    pub stdin: bool,
}

impl StatesArgs {
    /// Returns whether the table selects the states.
    pub fn are_selected(&self) -> bool {
        self.distance.is_some() || self.random.is_some()
    }

    /// Returns whether the states have one answer each, also if there is only one.
    pub fn is_batch(&self) -> bool {
        self.stdin || self.are_selected() || self.states.len() > 1
    }

    /// Answers the states. The outcome is `NotFound` if the table has no answer for one of them, or no state at the
    /// distance.
    pub fn answer_all<A: Answerer>(
        &self,
        answerer: &mut A,
        table: &Table,
        question: impl Fn(State) -> A::Question,
    ) -> Result<CommandOutcome> {
        let sampled = |ranks: Vec<Rank>| -> Box<dyn Iterator<Item = Result<Rank, TableError>>> {
            Box::new(ranks.into_iter().map(Ok))
        };
        let ranks = match (self.distance, self.random) {
            (None, None) => return answer_all(answerer, &self.states, self.stdin),
            (Some(distance), None) => Box::new(table.states_at(distance)?),
            (None, Some(count)) => sampled(table.sample(count, self.seed)),
            (Some(distance), Some(count)) => sampled(table.sample_at(distance, count, self.seed)?),
        };
        let mut outcome = CommandOutcome::NotFound;
        for rank in ranks {
            answerer.answer(question(rank?.state(table.board().pieces())))?;
            outcome = CommandOutcome::Answered;
        }
        answerer.flush()?;
        if let (CommandOutcome::NotFound, Some(distance)) = (&outcome, self.distance) {
            status!("no state of the table has distance {distance}; the largest distance is {}", table.max_distance());
        }
        Ok(outcome)
    }
}

/// The side whose army a state is.
#[derive(Args, Clone, Copy)]
pub struct SideArg {
    /// Side of the pieces: `x` starts at a1, `o` in the opposite corner
    #[arg(long = "player", value_name = "x|o", default_value = "x", help_heading = "Board")]
    side: Side,
}

impl SideArg {
    pub fn side(self) -> Side {
        self.side
    }

    /// Parses a state and converts it to goal order.
    pub fn parse(self, board: Board, text: &str) -> Result<State> {
        Ok(board.parse_state(text, self.side)?)
    }

    /// Returns the names of the cells of a state.
    pub fn cells_text(self, board: Board, state: State) -> String {
        board.state_text(state, self.side)
    }

    /// Returns the names of the cells of the state with this rank.
    pub fn rank_text(self, board: Board, rank: Rank) -> String {
        self.cells_text(board, rank.state(board.pieces()))
    }
}
