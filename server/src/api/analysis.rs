//! Searches as server-sent events.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use axum::response::sse::{Event, KeepAlive};
use serde::{Deserialize, Serialize};
use sternhalma_builder::Observer;
use sternhalma_data::{RuleSet, Side};
use sternhalma_engine::ugi::action_text;
use sternhalma_engine::{Config, Distances, Follower, SearchInfo, analyse_watched};
use sternhalma_ggp::arena::Budget;
use sternhalma_ggp::{Limits, MemoryBudget};
use tokio_stream::StreamExt;
use utoipa::{IntoParams, ToSchema};

use crate::answer::{event, events};
use crate::app::App;
use crate::connections::Connection;
use crate::error::{ApiError, ErrorCode};
use crate::extract::Query;
use crate::facts::{self, Placed};
use crate::openapi;
use crate::reports::{Reports, reports};
use crate::rows::{InfoRow, path};
use crate::searches::{Search, StopOnDrop};

/// The player that searches by default.
const DEFAULT_PLAYER: &str = "sternhalma";

/// The most lines of a search.
const MAX_LINES: usize = 100;

/// The seed of the players. The same request gives the same search.
const SEED: u64 = 1;

/// The interval of messages without an event, by which the server notices that a client has left.
const PULSE: Duration = Duration::from_secs(1);

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AnalysisParams {
    /// A position string, or `startpos`.
    #[param(min_length = 1, example = "startpos")]
    position: String,
    /// The rule set; by default the newest one.
    #[serde(default = "facts::newest_rules")]
    #[param(value_type = openapi::RuleSet)]
    rules: RuleSet,
    /// A player, perhaps with parameters; by default `sternhalma`.
    #[param(min_length = 1, example = "sternhalma")]
    player: Option<String>,
    /// Node expansions. The default is 100,000 if there is no other limit.
    #[param(minimum = 1, example = 1000)]
    nodes: Option<u64>,
    /// The depth, in plies.
    #[param(minimum = 1)]
    depth: Option<u32>,
    /// The time.
    #[param(exclusive_minimum = 0)]
    seconds: Option<f64>,
    /// Playouts of Monte-Carlo search.
    #[param(minimum = 1)]
    playouts: Option<u64>,
    /// The number of best moves to find, each by a search of its own.
    #[param(minimum = 1, maximum = 100)]
    lines: Option<usize>,
    /// The moves of the game from the position on, separated by commas; the search begins after them.
    #[param(
        pattern = "^((pass|[a-k](1[01]|[1-9])-[a-k](1[01]|[1-9]))(,(pass|[a-k](1[01]|[1-9])-[a-k](1[01]|[1-9])))*)?$"
    )]
    moves: Option<String>,
}

impl AnalysisParams {
    /// Returns the limits: the given ones, or by default a number of node expansions, and the longest time.
    fn limits(&self, longest: Duration) -> Result<Limits, ApiError> {
        let positive = |name, valid: bool| match valid {
            true => Ok(()),
            false => Err(ApiError::invalid(format!("expected `{name}` greater than 0"))),
        };
        positive("nodes", self.nodes != Some(0))?;
        positive("depth", self.depth != Some(0))?;
        positive("playouts", self.playouts != Some(0))?;
        positive("seconds", self.seconds.is_none_or(|seconds| seconds > 0.0))?;
        let time = self.seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(longest));
        let given = Limits { playouts: self.playouts, expansions: self.nodes, depth: self.depth, time };
        let default = if given == Limits::default() { Budget::DEFAULT.limits() } else { given };
        Ok(default.and(Limits::time(longest)))
    }

    fn lines(&self) -> Result<usize, ApiError> {
        match self.lines.unwrap_or(1) {
            lines @ 1..=MAX_LINES => Ok(lines),
            lines => Err(ApiError::invalid(format!("expected 1 to {MAX_LINES} lines, got {lines}"))),
        }
    }

    /// Returns the position after the moves.
    fn placed(&self) -> Result<Placed, ApiError> {
        let mut placed = Placed::parse(&self.position, None, self.rules)?;
        let moves = self.moves.iter().flat_map(|moves| moves.split(',')).filter(|text| !text.is_empty());
        for text in moves {
            placed.play(text)?;
        }
        match placed.history.outcome() {
            None => Ok(placed),
            Some(_) => Err(ApiError::invalid("the game is over").with_code(ErrorCode::GameOver)),
        }
    }
}

/// The result of a search.
#[derive(Serialize, ToSchema)]
#[schema(as = Best)]
struct BestRow {
    /// The best move.
    #[serde(rename = "move")]
    #[schema(value_type = openapi::Move)]
    mv: String,
    #[schema(value_type = openapi::Path)]
    path: Vec<String>,
    #[serde(flatten)]
    info: InfoRow,
}

/// The search of a request.
struct Job {
    placed: Placed,
    config: Config,
    limits: Limits,
    lines: usize,
    stop: Arc<AtomicBool>,
    memory: MemoryBudget,
}

/// Cancels the check of a table when a search is stopped.
struct StopFlag<'a>(&'a AtomicBool);

impl Observer for StopFlag<'_> {
    fn cancelled(&self) -> bool {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl Job {
    /// Searches, and sends the events.
    fn run(&self, app: &App, reports: &Reports<Event>) -> Result<(), ApiError> {
        let (game, state) = (self.placed.game(), self.placed.state());
        let (board, geometry) = (game.board(), game.geometry());
        let distances = self.distances(app)?;
        let player = self.config.prepare(game.setup(), Some(&distances)).map_err(ApiError::invalid)?;
        let mut follower = Follower::new(player.start(&self.memory).map_err(ApiError::invalid)?);
        let player =
            follower.follow_anew(self.placed.history.start(), &self.placed.history.actions().collect::<Vec<_>>(), SEED);
        let mut watch = |index, info: &SearchInfo| {
            reports.report(index, event("info", &InfoRow::new(geometry, index, info)));
        };
        let found = analyse_watched(player, state, self.limits, self.lines, &self.stop, &mut watch);
        let best = found.first().ok_or_else(|| ApiError::internal("the player has chosen no move"))?;
        let occupied = state.army(Side::X) | state.army(Side::O);
        let path = best.action.map_or_else(Vec::new, |mv| path(board, occupied.without(mv.from), mv));
        let (mv, info) = (action_text(geometry, best.action), InfoRow::new(geometry, 0, &best.info));
        reports.end(event("best", &BestRow { mv, path, info }));
        Ok(())
    }

    /// Returns the best table of the board, checked, or estimates.
    fn distances(&self, app: &App) -> Result<Distances, ApiError> {
        let board = self.placed.game().board();
        let open = if self.config.needs_table() { app.tables.best(board)? } else { None };
        let Some(open) = open else { return Ok(Distances::estimated(board)) };
        open.check_all(&StopFlag(&self.stop))?;
        Ok(Distances::new(open.table.clone()))
    }
}

/// Searches a position.
///
/// Events are `info` (Info), then `best` (Best) or `error` (Error).
#[utoipa::path(
    get,
    path = "/api/analysis",
    params(AnalysisParams),
    responses((status = 200, description = "Server-sent events.", content_type = "text/event-stream", body = BestRow))
)]
pub async fn analysis(
    State(app): State<Arc<App>>,
    connection: Option<Extension<Arc<Connection>>>,
    Query(params): Query<AnalysisParams>,
) -> Result<Response, ApiError> {
    let config = app.roster.config(params.player.as_deref().unwrap_or(DEFAULT_PLAYER)).map_err(ApiError::invalid)?;
    // Clients must not read files of the server.
    if config.reads_file() {
        return Err(ApiError::invalid("`weights` names a file, which this interface does not read"));
    }
    let (placed, limits, lines) = (params.placed()?, params.limits(app.search_time)?, params.lines()?);
    let search = app.searches.begin()?;
    let (stop, memory) = (search.stop.clone(), search.memory.clone());
    let (sender, stream) = reports();
    let job = Job { placed, config, limits, lines, stop: stop.clone(), memory };
    tokio::task::spawn_blocking(move || run(&job, &app, &sender, search));
    // The stream is dropped when it ends or the client leaves.
    let alive = (StopOnDrop(stop), connection.map(|Extension(connection)| connection.begin()));
    let stream = stream.map(move |event| {
        let _ = &alive;
        event
    });
    Ok(events(stream, KeepAlive::new().interval(PULSE)))
}

/// Runs a search, which holds its place until the end, and sends an error if it fails.
fn run(job: &Job, app: &App, reports: &Reports<Event>, search: Search) {
    let searched = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job.run(app, reports)));
    let failed = || Err(ApiError::internal("the search failed; this is an error of the server"));
    if let Err(error) = searched.unwrap_or_else(|_| failed()) {
        reports.end(event("error", &error.body()));
    }
    drop(search);
}
