use anyhow::Result;
use clap::ValueEnum;
use serde_json::{Value, json};
use sternhalma_data::RuleSet;
use sternhalma_data::board::SealRule;
use sternhalma_data::{Move, Position, Side};
use sternhalma_engine::{Filter, board_of};

use crate::args::position::PositionArgs;
use crate::args::rule_set::{DEFAULT_RULES, rule_set_parser};
use crate::drawing::drawing;
use crate::output::{self, CommandOutcome, status};
use crate::values::count_in;

/// List the legal moves of a position
///
/// Applies only the rules of movement: moves are listed after a win too, and
/// a filter that leaves no move is not widened.
#[derive(clap::Args)]
pub struct MovesArgs {
    #[command(flatten)]
    position: MovePositionArgs,
    /// Moves to list; `forward` moves end in a row nearer the goal
    #[arg(long, value_enum, default_value_t = FilterArg::All)]
    filter: FilterArg,
    /// Draw the board, with the cells that the moves reach in parentheses
    #[arg(long = "board", conflicts_with = "json")]
    draw: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum FilterArg {
    All,
    NonBackward,
    Forward,
}

/// Count the move sequences of a given length from a position
///
/// Applies only the rules of movement: sequences continue after a win.
#[derive(clap::Args)]
pub struct PerftArgs {
    /// Depth in plies, at most 1000
    #[arg(value_parser = depth)]
    depth: u32,
    #[command(flatten)]
    position: MovePositionArgs,
    /// Also print the count for each first move
    #[arg(long)]
    divide: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The largest depth. The search recurses, and its stack is limited.
const MAX_DEPTH: u32 = 1000;

/// Parses a depth in plies.
fn depth(text: &str) -> Result<u32, String> {
    count_in(0..=MAX_DEPTH.into())(text)
}

/// The position, and the rules of movement.
#[derive(clap::Args)]
struct MovePositionArgs {
    #[command(flatten)]
    position: PositionArgs,
    /// Rules: paper, or blocked-goal, which forbids moves that seal the goal of the opponent [default: those of a
    /// saved game, otherwise blocked-goal]
    #[arg(long, value_name = "RULES", value_parser = rule_set_parser(), hide_possible_values = true, help_heading = "Board")]
    rules: Option<RuleSet>,
}

impl MovePositionArgs {
    fn read(&self) -> Result<(Position, Rules)> {
        let (position, rules) = self.position.with_rules(self.rules, DEFAULT_RULES)?;
        if rules == RuleSet::Paper {
            return Ok((position, Rules { rules, seal: None }));
        }
        match board_of(&position) {
            Ok(board) => Ok((position, Rules { rules, seal: SealRule::of(rules, board) })),
            // A position that is none of a game has the rules of movement alone.
            Err(_) if self.rules.is_none() => Ok((position, Rules { rules: RuleSet::Paper, seal: None })),
            Err(error) => Err(error.into()),
        }
    }
}

/// The rules of movement.
struct Rules {
    rules: RuleSet,
    /// The rule that forbids moves, if there is one.
    seal: Option<SealRule>,
}

impl Rules {
    fn name(&self) -> &'static str {
        self.rules.option_name()
    }

    fn moves(&self, position: &Position) -> Vec<Move> {
        self.seal.as_ref().map_or_else(|| position.moves().collect(), |rule| rule.moves(position))
    }

    fn perft(&self, position: &Position, depth: u32) -> u64 {
        self.seal.as_ref().map_or_else(|| position.perft(depth), |rule| rule.perft(position, depth))
    }

    /// Reports the moves that the rules forbid, if there are some.
    fn report_forbidden(&self, position: &Position, legal: &[Move]) {
        let forbidden: Vec<String> =
            (position.moves()).filter(|mv| !legal.contains(mv)).map(|mv| position.geometry().move_text(mv)).collect();
        if !forbidden.is_empty() {
            let moves = output::counted(forbidden.len(), "further move");
            status!("the rules {} forbid {moves}, which would seal a goal: {}", self.name(), forbidden.join(" "));
        }
    }
}

pub fn run_moves(args: &MovesArgs) -> Result<CommandOutcome> {
    let (position, rules) = args.position.read()?;
    let filter = match args.filter {
        FilterArg::All => Filter::All,
        FilterArg::NonBackward => Filter::NonBackward,
        FilterArg::Forward => Filter::Forward,
    };
    let geometry = position.geometry();
    let mut moves = rules.moves(&position);
    rules.report_forbidden(&position, &moves);
    moves.retain(|&mv| filter.keeps(rows_toward_goal(&position, mv)));
    if args.draw {
        output::print_line(&drawing().marked(moves.iter().map(|mv| mv.to).collect()).draw(&position))?;
    }
    let names: Vec<String> = moves.iter().map(|&mv| geometry.move_text(mv)).collect();
    if names.is_empty() && !args.json {
        return Ok(CommandOutcome::Answered);
    }
    let rows: Vec<Value> = names.iter().map(|name| json!({ "move": name })).collect();
    output::answer(args.json, &rows, || names.join("\n"))
}

fn rows_toward_goal(position: &Position, mv: Move) -> i32 {
    let row = |cell| position.geometry().row(cell) as i32;
    let rows = row(mv.to) - row(mv.from);
    if position.side_to_move() == Side::X { rows } else { -rows }
}

pub fn run_perft(args: &PerftArgs) -> Result<CommandOutcome> {
    let (position, rules) = args.position.read()?;
    let geometry = position.geometry();
    let first = |mv| (geometry.move_text(mv), rules.perft(&position.after(mv), args.depth - 1));
    let divided: Option<Vec<(String, u64)>> =
        (args.divide && args.depth > 0).then(|| rules.moves(&position).into_iter().map(first).collect());
    let nodes = match &divided {
        Some(moves) => moves.iter().map(|(_, nodes)| nodes).sum(),
        None => rules.perft(&position, args.depth),
    };
    let mut report = json!({ "rules": rules.rules, "depth": args.depth, "nodes": nodes });
    if let Some(moves) = &divided {
        report["moves"] = moves.iter().map(|(name, nodes)| json!({ "move": name, "nodes": nodes })).collect();
    }
    output::answer(args.json, &report, || {
        let rows = divided.iter().flatten().map(|(name, nodes)| format!("{name}  {nodes}\n"));
        let (depth, lines) = (args.depth, output::counted(nodes as usize, "line"));
        format!("{}depth {depth}: {lines} (rules {})", rows.collect::<String>(), rules.name())
    })
}
