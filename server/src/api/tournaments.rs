//! Tournaments: the results in their logs, and single games.

use std::sync::Arc;

use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sternhalma_engine::record::{AnnotatedGame, JsonGame};
use sternhalma_ggp::arena::{GameRecord, RoundSummary, Termination, result_text};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Json, Name, NoParams, Params};
use crate::logs::ReadLog;

/// The most games of an answer.
const MOST_GAMES: usize = 1000;
/// The most points of a curve.
const MOST_POINTS: usize = 200;

#[derive(Serialize)]
pub struct Tournaments {
    tournaments: Vec<TournamentRow>,
    unreadable: Vec<Unreadable>,
}

/// A tournament, and how far it is.
#[derive(Serialize)]
struct TournamentRow {
    name: String,
    /// The description of the game in the log.
    game: Value,
    players: Vec<String>,
    /// The games when all are played.
    games: u64,
    played: u64,
}

#[derive(Serialize)]
struct Unreadable {
    name: String,
    error: String,
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

pub async fn list(
    State(app): State<Arc<App>>,
    Params(NoParams {}): Params<NoParams>,
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

#[derive(Serialize)]
pub struct TournamentDetails {
    #[serde(flatten)]
    tournament: TournamentRow,
    /// The results of each round, as `sternhalma tournament show --json` prints them.
    rounds: Vec<RoundSummary>,
    /// The courses of the sequential tests.
    curves: Vec<SprtCurve>,
}

/// The course of the sequential test of a pairing.
#[derive(Serialize)]
struct SprtCurve {
    /// The index of the round.
    round: usize,
    /// The index of the pairing.
    pairing: usize,
    points: Vec<SprtPoint>,
}

/// The log-likelihood ratio after a number of pairs of games.
#[derive(Serialize)]
struct SprtPoint {
    pairs: u64,
    llr: f64,
}

/// Returns the course of a sequential test with at most `MOST_POINTS` points and the last one.
fn sprt_curve((round, pairing): (usize, usize), course: &[(u64, f64)]) -> SprtCurve {
    let shown = course.iter().step_by(course.len().div_ceil(MOST_POINTS).max(1));
    let mut points: Vec<_> = shown.map(|&(pairs, llr)| SprtPoint { pairs, llr }).collect();
    let last = course.last().filter(|last| points.last().is_some_and(|point| point.pairs < last.0));
    points.extend(last.map(|&(pairs, llr)| SprtPoint { pairs, llr }));
    SprtCurve { round, pairing, points }
}

pub async fn tournament(
    State(app): State<Arc<App>>,
    Name(name): Name,
    Params(NoParams {}): Params<NoParams>,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GamesParams {
    /// A player of the games.
    player: Option<String>,
    /// The result: `1-0`, `0-1`, `1/2-1/2`, or the goals of all roles, e.g., `70-30`.
    result: Option<String>,
    /// The reason for the end.
    end: Option<Termination>,
    /// The number of matching games to leave out.
    #[serde(default)]
    skip: u32,
    count: Option<u32>,
}

#[derive(Serialize)]
pub struct Games {
    /// The number of games that match.
    matching: usize,
    games: Vec<GameRow>,
}

#[derive(Serialize)]
struct GameRow {
    number: u64,
    round: String,
    /// The players, by role.
    players: Vec<String>,
    result: String,
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

pub async fn games(
    State(app): State<Arc<App>>,
    Name(name): Name,
    Params(params): Params<GamesParams>,
) -> Result<Json<Games>, ApiError> {
    let shared = app.clone();
    let select = move |_| {
        let log = shared.logs.read(&name)?;
        let rows = log.games.iter().map(|record| GameRow::new(&log, record));
        let mut games: Vec<GameRow> = rows.filter(|row| row.matches(&params)).collect();
        games.sort_by_key(|row| row.number);
        let (matching, count) = (games.len(), params.count.map_or(MOST_GAMES, |count| MOST_GAMES.min(count as usize)));
        Ok(Json(Games { matching, games: games.into_iter().skip(params.skip as usize).take(count).collect() }))
    };
    app.log_reader.run(select).await
}

#[derive(Serialize)]
pub struct Game {
    #[serde(flatten)]
    row: GameRow,
    /// The game as a record, if it is one of Chinese Checkers.
    record: Option<JsonGame>,
    /// The joint moves of a game of a rulesheet.
    moves: Vec<String>,
}

pub async fn game(
    State(app): State<Arc<App>>,
    path: Result<Path<(String, String)>, axum::extract::rejection::PathRejection>,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<Game>, ApiError> {
    let Path((name, number)) = path.map_err(|_| ApiError::invalid("expected UTF-8 in the path"))?;
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
