use std::sync::atomic::AtomicBool;

use anyhow::Result;
use serde::Serialize;
use sternhalma_data::{Geometry, Probe, Side};
use sternhalma_engine::{
    AnalysedMove, ChineseCheckers, Distances, Follower, GameState, Outcome, SearchValue, analyse, ugi,
};

use crate::args::engine::EngineArgs;
use crate::args::player::{DEFAULT_PLAYER, distances_or_estimates};
use crate::context::CommandContext;
use crate::drawing::drawing;
use crate::output::{self, CommandOutcome};
use crate::search_text::{line_text, value_text};
use crate::values::count;

/// Search a position for its best moves
///
/// Prints, for each move, its value for the player to move (a lead in moves),
/// the depth of the search, the node expansions and the principal variation.
/// Without a distance table, distances are estimated.
#[derive(clap::Args)]
pub struct Args {
    /// Number of moves to show, each with its own search
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u32>(1))]
    lines: u32,
    /// Draw the board
    #[arg(long)]
    board: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Player that searches
    #[arg(long, value_name = "PLAYER", default_value = DEFAULT_PLAYER, help_heading = "Players")]
    player: String,
    #[command(flatten)]
    engine: EngineArgs,
}

/// The analysis of a position.
#[derive(Serialize)]
struct Report {
    position: String,
    side: String,
    ply: u32,
    /// The result of a finished game.
    result: Option<&'static str>,
    player: String,
    /// The path of the table, if there is one.
    table: Option<String>,
    x: ArmyDistance,
    o: ArmyDistance,
    lines: Vec<LineRow>,
}

/// The distance of an army to its goal. An army beyond the table has an
/// estimate.
#[derive(Serialize)]
struct ArmyDistance {
    distance: Option<u8>,
    exact: Option<bool>,
    estimate: Option<f64>,
}

/// A move with its value and line.
#[derive(Serialize)]
struct LineRow {
    #[serde(rename = "move")]
    mv: String,
    score: Option<SearchValue>,
    depth: u32,
    nodes: u64,
    playouts: u64,
    seconds: f64,
    line: Vec<String>,
    #[serde(skip)]
    text: String,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let history = args.engine.game()?;
    let (position, game, state) = (history.position(), history.rules(), history.state());
    let board = game.board();
    let config = args.engine.players.config(&args.player)?;
    let distances = distances_or_estimates(ctx, board, args.engine.players.table())?;
    let found = match history.outcome() {
        Some(_) => Vec::new(),
        None => {
            let player = config.prepare(game.setup(), Some(&distances))?;
            let mut follower = Follower::new(player.start(&args.engine.memory.budget())?);
            let player =
                follower.follow_anew(history.start(), &history.actions().collect::<Vec<_>>(), args.engine.seed);
            analyse(player, state, args.engine.limits.limits(), args.lines as usize, &AtomicBool::new(false))
        }
    };
    let geometry = game.geometry();
    let [x, o] = Side::BOTH.map(|side| army_distance(&distances, game, state, side));
    let report = Report {
        position: position.to_string(),
        side: state.player().to_string(),
        ply: state.ply(),
        result: history.outcome().map(result_text),
        player: args.player.clone(),
        table: distances.table().map(|table| table.path().display().to_string()),
        x: x?,
        o: o?,
        lines: found.iter().map(|found| line_row(geometry, found)).collect(),
    };
    output::answer(args.json, &report, || {
        let drawing = args.board.then(|| drawing().draw(&position));
        [report.heading(game), report.distances()]
            .into_iter()
            .chain(drawing)
            .chain(report.lines.iter().map(|line| line.text.clone()))
            .collect::<Vec<_>>()
            .join("\n")
    })
}

fn army_distance(distances: &Distances, game: &ChineseCheckers, state: &GameState, side: Side) -> Result<ArmyDistance> {
    let (army, rank) = game.ranked(state, side);
    let probe = distances.table().map_or(Ok(Probe::NotCovered), |table| table.probe(army))?;
    let distance = probe.distance().map(|distance| distance.0);
    let estimate = distance.is_none().then(|| (100.0 * distances.of(army, rank)).round() / 100.0);
    Ok(ArmyDistance { distance, exact: probe.is_exact(), estimate })
}

fn line_row(geometry: &Geometry, found: &AnalysedMove) -> LineRow {
    let spent = found.info.spent;
    let mv = ugi::action_text(geometry, found.action);
    let value = found.info.value.map_or("-".to_owned(), value_text);
    let line = line_text(geometry, &found.info.line);
    let text = format!("{mv}  {value}  depth {}  nodes {}  {line}", spent.depth, spent.expansions);
    LineRow {
        mv,
        score: found.info.value,
        depth: spent.depth,
        nodes: spent.expansions,
        playouts: spent.playouts,
        seconds: spent.time.as_secs_f64(),
        line: line.split(' ').map(str::to_owned).collect(),
        text,
    }
}

fn result_text(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Won(Side::X) => "x has won",
        Outcome::Won(Side::O) => "o has won",
        Outcome::Draw => "the game is drawn",
    }
}

impl Report {
    fn heading(&self, game: &ChineseCheckers) -> String {
        let turn = self.result.map_or_else(|| format!("{} to move", self.side), str::to_owned);
        format!("{}, {turn} at ply {}", game.board(), self.ply)
    }

    fn distances(&self) -> String {
        let text = |army: &ArmyDistance| match (army.distance, army.exact, army.estimate) {
            (Some(distance), Some(true), _) => format!("{distance} exact"),
            (Some(distance), ..) => format!("at most {distance}"),
            (None, _, Some(estimate)) => format!("about {estimate:.1} (estimate)"),
            (None, ..) => "unknown".to_owned(),
        };
        format!("moves to the goal: x {}, o {}", text(&self.x), text(&self.o))
    }
}
