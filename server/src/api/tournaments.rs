//! Tournaments: the results in their logs, and single games.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sternhalma_engine::record::{AnnotatedGame, JsonGame};
use sternhalma_ggp::arena::{GameRecord, RoundSummary, Termination, result_text};
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Json, NoParams, Path, Query};
use crate::logs::ReadLog;
use crate::openapi::{self, Record, Shared};
use crate::rows::Unreadable;

/// The most games of an answer.
const MAX_GAMES: usize = 1000;
/// The most points of a curve.
const MAX_POINTS: usize = 200;

/// The log in the path of a route.
#[derive(Deserialize, IntoParams)]
pub struct LogPath {
    /// The name of a log.
    #[param(min_length = 1, pattern = r"^[^/\\]+$", example = "games.ndjson")]
    log: String,
}

/// The game in the path of a route.
#[derive(Deserialize, IntoParams)]
pub struct GamePath {
    /// The name of a log.
    #[param(min_length = 1, pattern = r"^[^/\\]+$", example = "games.ndjson")]
    log: String,
    /// The number of the game.
    #[param(value_type = u64, minimum = 1, example = 1)]
    number: String,
}

/// The tournaments, and the logs that cannot be read.
#[derive(Serialize, ToSchema)]
pub struct Tournaments {
    tournaments: Vec<TournamentRow>,
    unreadable: Vec<Unreadable>,
}

/// A tournament, and how far it is.
#[derive(Serialize, ToSchema)]
#[schema(as = Tournament)]
struct TournamentRow {
    name: String,
    /// The description of the game in the log.
    #[schema(value_type = BTreeMap<String, Value>)]
    game: Value,
    players: Vec<String>,
    /// The games when all are played.
    games: u64,
    played: u64,
}

impl TournamentRow {
    fn new(log: &ReadLog) -> TournamentRow {
        let standings = &log.results().standings;
        TournamentRow {
            name: log.name.clone(),
            game: log.schedule.game.clone(),
            players: log.schedule.entrants.iter().map(|entrant| entrant.title().to_owned()).collect(),
            games: standings.expected(),
            played: standings.played(),
        }
    }
}

/// Lists the logs of tournaments.
#[utoipa::path(
    get,
    path = "/api/tournaments",
    operation_id = "tournaments",
    responses((status = 200, body = Tournaments), Shared<500>)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    Query(NoParams {}): Query<NoParams>,
) -> Result<Json<Tournaments>, ApiError> {
    let shared = app.clone();
    let list = move |_| {
        let (mut tournaments, mut unreadable) = (Vec::new(), Vec::new());
        for name in shared.logs.names()? {
            match shared.logs.read(&name) {
                Ok(log) => tournaments.push(TournamentRow::new(&log)),
                Err(error) => unreadable.push(Unreadable { name, error: error.to_string() }),
            }
        }
        Ok(Json(Tournaments { tournaments, unreadable }))
    };
    app.log_reader.run(list).await
}

/// The results of a tournament.
#[derive(Serialize, ToSchema)]
#[schema(as = TournamentResults)]
pub struct TournamentDetails {
    #[serde(flatten)]
    tournament: TournamentRow,
    /// The results of each round, as `sternhalma tournament show --json` prints them.
    #[schema(value_type = Vec<Object>)]
    rounds: Vec<RoundSummary>,
    /// The courses of the sequential tests.
    curves: Vec<SprtCurve>,
}

/// The course of the sequential test of a pairing.
#[derive(Serialize, ToSchema)]
struct SprtCurve {
    /// The index of the round.
    round: usize,
    /// The index of the pairing.
    pairing: usize,
    points: Vec<SprtPoint>,
}

/// The log-likelihood ratio after a number of pairs of games.
#[derive(Serialize, ToSchema)]
struct SprtPoint {
    pairs: u64,
    llr: f64,
}

/// Returns the course of a sequential test with at most `MAX_POINTS` points and the last one.
fn sprt_curve((round, pairing): (usize, usize), course: &[(u64, f64)]) -> SprtCurve {
    let shown = course.iter().step_by(course.len().div_ceil(MAX_POINTS).max(1));
    let mut points: Vec<_> = shown.map(|&(pairs, llr)| SprtPoint { pairs, llr }).collect();
    let last = course.last().filter(|last| points.last().is_some_and(|point| point.pairs < last.0));
    points.extend(last.map(|&(pairs, llr)| SprtPoint { pairs, llr }));
    SprtCurve { round, pairing, points }
}

/// Returns the results of a tournament so far.
#[utoipa::path(
    get,
    path = "/api/tournaments/{log}",
    params(LogPath),
    responses((status = 200, body = TournamentDetails), Shared<404>, Shared<500>)
)]
pub async fn tournament(
    State(app): State<Arc<App>>,
    Path(LogPath { log: name }): Path<LogPath>,
    Query(NoParams {}): Query<NoParams>,
) -> Result<Json<TournamentDetails>, ApiError> {
    let shared = app.clone();
    let details = move |_| {
        let log = shared.logs.read(&name)?;
        let results = log.results();
        let curves = results.courses.iter().map(|(&slot, course)| sprt_curve(slot, course)).collect();
        Ok(Json(TournamentDetails {
            tournament: TournamentRow::new(&log),
            rounds: results.standings.summary(),
            curves,
        }))
    };
    app.log_reader.run(details).await
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GamesParams {
    /// A player of the games.
    player: Option<String>,
    /// The result: `1-0`, `0-1`, `1/2-1/2`, or the goals of all roles, e.g., `70-30`.
    result: Option<String>,
    /// The reason for the end.
    #[param(value_type = Option<openapi::End>)]
    end: Option<Termination>,
    /// The number of matching games to leave out.
    #[serde(default)]
    skip: u32,
    /// The number of games to list.
    count: Option<u32>,
}

/// Games of a tournament.
#[derive(Serialize, ToSchema)]
pub struct Games {
    /// The number of games that match.
    matching: usize,
    games: Vec<GameRow>,
}

/// A game of a tournament.
#[derive(Serialize, ToSchema)]
struct GameRow {
    #[schema(minimum = 1)]
    number: u64,
    round: String,
    /// The players, by role.
    players: Vec<String>,
    result: String,
    #[schema(value_type = openapi::End)]
    end: Termination,
    plies: u32,
    /// What a player did wrong.
    fault: Option<String>,
}

impl GameRow {
    fn new(log: &ReadLog, record: &GameRecord) -> GameRow {
        let (schedule, id) = (&log.schedule, record.id);
        GameRow {
            number: schedule.number(id),
            round: schedule.rounds.get(id.round).map(|round| round.name.clone()).unwrap_or_default(),
            players: schedule.titles(id).into_iter().map(str::to_owned).collect(),
            result: result_text(&record.goals),
            end: record.end,
            plies: record.plies,
            fault: record.fault.as_ref().map(|fault| fault.fault.to_string()),
        }
    }

    fn matches(&self, params: &GamesParams) -> bool {
        params.player.as_ref().is_none_or(|player| self.players.contains(player))
            && params.result.as_ref().is_none_or(|result| self.result == *result)
            && params.end.is_none_or(|end| self.end == end)
    }
}

/// Lists games of a tournament, at most 1000.
#[utoipa::path(
    get,
    path = "/api/tournaments/{log}/games",
    params(LogPath, GamesParams),
    responses((status = 200, body = Games), Shared<404>, Shared<500>)
)]
pub async fn games(
    State(app): State<Arc<App>>,
    Path(LogPath { log: name }): Path<LogPath>,
    Query(params): Query<GamesParams>,
) -> Result<Json<Games>, ApiError> {
    let shared = app.clone();
    let select = move |_| {
        let log = shared.logs.read(&name)?;
        let rows = log.games.iter().map(|record| GameRow::new(&log, record));
        let mut games: Vec<GameRow> = rows.filter(|row| row.matches(&params)).collect();
        games.sort_by_key(|row| row.number);
        let (matching, count) = (games.len(), params.count.map_or(MAX_GAMES, |count| MAX_GAMES.min(count as usize)));
        Ok(Json(Games { matching, games: games.into_iter().skip(params.skip as usize).take(count).collect() }))
    };
    app.log_reader.run(select).await
}

/// A game and its moves.
#[derive(Serialize, ToSchema)]
pub struct Game {
    #[serde(flatten)]
    row: GameRow,
    /// The game as a record, if it is one of Chinese Checkers.
    #[schema(value_type = Option<Record>)]
    record: Option<JsonGame>,
    /// The joint moves of a game of a rulesheet.
    moves: Vec<String>,
}

/// Returns a game.
#[utoipa::path(
    get,
    path = "/api/tournaments/{log}/games/{number}",
    params(GamePath),
    responses((status = 200, body = Game), Shared<404>, Shared<500>)
)]
pub async fn game(
    State(app): State<Arc<App>>,
    Path(GamePath { log: name, number }): Path<GamePath>,
    Query(NoParams {}): Query<NoParams>,
) -> Result<Json<Game>, ApiError> {
    let shared = app.clone();
    let read = move |_| {
        let log = shared.logs.read(&name)?;
        let missing = || ApiError::missing(format!("the log has no game `{number}`"));
        let id = number.parse().ok().and_then(|number| log.schedule.numbered(number)).ok_or_else(missing)?;
        let record = log.games.iter().find(|record| record.id == id).ok_or_else(missing)?;
        let is_board = log.schedule.game.get("pieces").is_some();
        let replayed = is_board.then(|| AnnotatedGame::from_log(&log.schedule, record)).transpose();
        let replayed = replayed.map_err(|why| ApiError::internal(format!("the game cannot be replayed: {why}")))?;
        Ok(Json(Game {
            row: GameRow::new(&log, record),
            record: replayed.as_ref().map(JsonGame::from),
            moves: if is_board { Vec::new() } else { record.moves.clone() },
        }))
    };
    app.log_reader.run(read).await
}
