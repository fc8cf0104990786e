use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use sternhalma_data::{Geometry, Probe, Side};
use sternhalma_engine::record::{Mark, ReviewedMove, review};
use sternhalma_engine::{
    AnalysedMove, ChineseCheckers, Distances, Follower, GameHistory, GameState, Outcome, SearchValue, analyse, ugi,
};

use super::tournament::read_logged;
use crate::args::engine::EngineArgs;
use crate::args::player::{DEFAULT_PLAYER, distances_or_estimates};
use crate::args::position::{read_record, rules};
use crate::context::CommandContext;
use crate::drawing::drawing;
use crate::output::{self, CommandOutcome, columns};
use crate::progress::SearchProgress;
use crate::search_text::{line_text, value_text};
use crate::values::count;

/// Search a position for its best moves, or every position of a game
///
/// Prints, for each move, its value for the player to move (a lead in moves),
/// the depth of the search, the node expansions and the principal variation.
/// Without a distance table, distances are estimated.
#[derive(clap::Args)]
pub struct Args {
    /// Number of moves to show, each with its own search
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u32>(1))]
    lines: u32,
    /// Search every position of a game, and compare its moves with the best ones: the file of a saved game, or a
    /// tournament log with --number
    #[arg(long, value_name = "FILE", conflicts_with_all = ["position", "size", "pieces", "rules", "lines", "board", "ply_limit"])]
    game: Option<PathBuf>,
    /// Game of a tournament log, by its number in the order in which games start
    #[arg(long, value_name = "N", requires = "game", conflicts_with = "position", value_parser = count::<u64>(1))]
    number: Option<u64>,
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

/// The analysis of a game.
#[derive(Serialize)]
struct GameReport {
    player: String,
    /// The path of the table, if there is one.
    table: Option<String>,
    moves: Vec<ReviewRow>,
    x: SideSummary,
    o: SideSummary,
}

/// A move of a game beside the best one. Scores are for the player that moves.
#[derive(Serialize)]
struct ReviewRow {
    ply: u32,
    side: Side,
    #[serde(rename = "move")]
    mv: String,
    score: Option<SearchValue>,
    best: String,
    best_score: Option<SearchValue>,
    loss: Option<f64>,
    mark: Option<&'static str>,
}

/// The moves of a player.
#[derive(Serialize, Default)]
struct SideSummary {
    moves: u64,
    inaccuracies: u64,
    mistakes: u64,
    blunders: u64,
    /// The mean loss, if all moves have one.
    mean_loss: Option<f64>,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    if let Some(file) = &args.game {
        return review_game(ctx, args, file);
    }
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

/// Searches every position of a game.
fn review_game(ctx: &CommandContext, args: &Args, file: &Path) -> Result<CommandOutcome> {
    let record = match args.number {
        Some(number) => read_logged(file, number)?,
        None => read_record(file)?,
    };
    let history = GameHistory::from_record(rules(&record.start)?, &record);
    let history = history.with_context(|| format!("{}: a move of the game is not legal", file.display()))?;
    let game = history.rules();
    let config = args.engine.players.config(&args.player)?;
    let distances = distances_or_estimates(ctx, game.board(), args.engine.players.table())?;
    let player = config.prepare(game.setup(), Some(&distances))?.start(&args.engine.memory.budget())?;
    let (stop, limits) = (ctx.stop()?, args.engine.limits.limits());
    let mut progress = SearchProgress::new(history.actions().len() as u64 + 1);
    let moves = review(&history, player, args.engine.seed, limits, &stop, &mut || progress.advance());
    progress.finish();
    if stop.load(Relaxed) {
        bail!("interrupted");
    }
    let [x, o] = Side::BOTH.map(|side| SideSummary::of(&moves, side));
    let rounded = |loss: f64| (100.0 * loss).round() / 100.0;
    let row = |mv: &ReviewedMove| ReviewRow {
        ply: mv.ply,
        side: mv.side,
        mv: ugi::action_text(game.geometry(), mv.action),
        score: mv.value,
        best: ugi::action_text(game.geometry(), mv.best),
        best_score: mv.best_value,
        loss: mv.loss().map(rounded),
        mark: mv.mark().map(mark_text),
    };
    let report = GameReport {
        player: args.player.clone(),
        table: distances.table().map(|table| table.path().display().to_string()),
        moves: moves.iter().map(row).collect(),
        x,
        o,
    };
    output::answer(args.json, &report, || report.text())
}

/// Returns the mark of a move, as in game records.
fn mark_text(mark: Mark) -> &'static str {
    match mark {
        Mark::Inaccuracy => "?!",
        Mark::Mistake => "?",
        Mark::Blunder => "??",
    }
}

impl SideSummary {
    fn of(moves: &[ReviewedMove], side: Side) -> SideSummary {
        let own = || moves.iter().filter(|mv| mv.side == side);
        let marked = |mark| own().filter(|mv| mv.mark() == Some(mark)).count() as u64;
        // A mean over some of the moves would hide those that lost a proof.
        let losses = own().map(|mv| Some(mv.loss()?.max(0.0))).collect::<Option<Vec<f64>>>().unwrap_or_default();
        let mean = losses.iter().sum::<f64>() / losses.len() as f64;
        SideSummary {
            moves: own().count() as u64,
            inaccuracies: marked(Mark::Inaccuracy),
            mistakes: marked(Mark::Mistake),
            blunders: marked(Mark::Blunder),
            mean_loss: (!losses.is_empty()).then(|| (100.0 * mean).round() / 100.0),
        }
    }

    fn text(&self, side: Side) -> String {
        let counts = [(self.inaccuracies, "inaccuracy"), (self.mistakes, "mistake"), (self.blunders, "blunder")];
        let counts = counts.map(|(count, noun)| output::counted(count as usize, noun));
        let loss = self.mean_loss.map_or(String::new(), |loss| format!(", mean loss {loss:.2}"));
        format!("{side}: {} in {}{loss}", counts.join(", "), output::counted(self.moves as usize, "move"))
    }
}

impl GameReport {
    /// Returns a row per move, and a line per player.
    fn text(&self) -> String {
        let value = |value: Option<SearchValue>| value.map_or("-".to_owned(), value_text);
        let head = ["ply", "", "move", "value", "best", "value", "loss", ""];
        let row = |mv: &ReviewRow| {
            vec![
                mv.ply.to_string(),
                mv.side.to_string(),
                mv.mv.clone(),
                value(mv.score),
                mv.best.clone(),
                value(mv.best_score),
                mv.loss.map_or("-".to_owned(), |loss| format!("{loss:.2}")),
                mv.mark.unwrap_or_default().to_owned(),
            ]
        };
        let rows = std::iter::once(head.map(str::to_owned).to_vec()).chain(self.moves.iter().map(row));
        format!("{}\n{}\n{}", columns(rows.collect()), self.x.text(Side::X), self.o.text(Side::O))
    }
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
