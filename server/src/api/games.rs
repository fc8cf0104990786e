//! Games between people.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::response::sse::{Event, KeepAlive};
use serde::Deserialize;
use sternhalma_data::{Board, RuleSet, Side};
use sternhalma_engine::GameSetup;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use utoipa::{IntoParams, ToSchema};

use crate::answer::{event, events};
use crate::app::App;
use crate::connections::Connection;
use crate::error::ApiError;
use crate::extract::{Json, NoParams, Path, Query};
use crate::facts;
use crate::games::{GameReport, Seat};
use crate::openapi::{self, Shared};
use crate::rows::default_player;

/// The time between events without a change, by which a client notices that its connection is lost.
const PULSE: Duration = Duration::from_secs(15);

/// The game in the path of a route.
#[derive(Deserialize, IntoParams)]
pub struct GamePath {
    /// The name of a game.
    #[param(min_length = 1, pattern = r"^[^/\\]+$", example = "00000000000000000000000000000000")]
    game: String,
}

/// A game to begin.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GameRequest)]
pub struct GameBody {
    /// The cells along an edge.
    #[schema(minimum = 3, maximum = 11)]
    side: u64,
    /// The pieces of an army.
    #[schema(minimum = 1, maximum = 15)]
    pieces: u64,
    /// The rule set; by default the newest one.
    #[serde(default = "facts::newest_rules")]
    #[schema(value_type = openapi::RuleSet)]
    rules: RuleSet,
    /// The side of the caller; by default `x`, which moves first.
    #[serde(default = "default_player")]
    #[schema(value_type = openapi::Side)]
    player: Side,
}

/// The empty body of a request to join.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = JoinRequest)]
pub struct JoinBody {}

/// A player, by its secret.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SeatRequest)]
pub struct SeatBody {
    /// The secret of the player.
    seat: String,
}

/// A move in a game.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GameMoveRequest)]
pub struct MoveBody {
    /// The secret of the player.
    seat: String,
    /// The moves before this one. A request may be repeated if its answer was lost.
    ply: u32,
    #[serde(rename = "move")]
    #[schema(value_type = openapi::Move)]
    mv: String,
}

/// Begins a game between two people.
#[utoipa::path(
    post,
    path = "/api/games",
    operation_id = "beginGame",
    responses((status = 201, description = "The game waits for a second player.", body = Seat))
)]
pub async fn begin(
    State(app): State<Arc<App>>,
    Query(NoParams {}): Query<NoParams>,
    Json(body): Json<GameBody>,
) -> Result<(StatusCode, Json<Seat>), ApiError> {
    let board = Board::new(body.side, body.pieces).and_then(Board::for_two)?;
    let setup = GameSetup::new(board).with_rules(body.rules);
    Ok((StatusCode::CREATED, Json(app.games.create(setup, body.player)?)))
}

/// Returns a game.
#[utoipa::path(
    get,
    path = "/api/games/{game}",
    params(GamePath),
    operation_id = "liveGame",
    responses((status = 200, body = GameReport), Shared<404>)
)]
pub async fn game(
    State(app): State<Arc<App>>,
    Path(GamePath { game }): Path<GamePath>,
    Query(NoParams {}): Query<NoParams>,
) -> Result<Json<GameReport>, ApiError> {
    Ok(Json(app.games.report(&game)?))
}

/// Takes the free seat of a game.
#[utoipa::path(
    post,
    path = "/api/games/{game}/join",
    params(GamePath),
    operation_id = "joinGame",
    responses((status = 200, body = Seat), Shared<404>, Shared<409>)
)]
pub async fn join(
    State(app): State<Arc<App>>,
    Path(GamePath { game }): Path<GamePath>,
    Query(NoParams {}): Query<NoParams>,
    Json(JoinBody {}): Json<JoinBody>,
) -> Result<Json<Seat>, ApiError> {
    Ok(Json(app.games.join(&game)?))
}

/// Plays a move.
#[utoipa::path(
    post,
    path = "/api/games/{game}/moves",
    params(GamePath),
    operation_id = "playGameMove",
    responses((status = 200, body = GameReport), Shared<404>, Shared<409>)
)]
pub async fn play(
    State(app): State<Arc<App>>,
    Path(GamePath { game }): Path<GamePath>,
    Query(NoParams {}): Query<NoParams>,
    Json(body): Json<MoveBody>,
) -> Result<Json<GameReport>, ApiError> {
    Ok(Json(app.games.play(&game, &body.seat, body.ply as usize, &body.mv)?))
}

/// Resigns a game.
#[utoipa::path(
    post,
    path = "/api/games/{game}/resign",
    params(GamePath),
    operation_id = "resignGame",
    responses((status = 200, body = GameReport), Shared<404>, Shared<409>)
)]
pub async fn resign(
    State(app): State<Arc<App>>,
    Path(GamePath { game }): Path<GamePath>,
    Query(NoParams {}): Query<NoParams>,
    Json(body): Json<SeatBody>,
) -> Result<Json<GameReport>, ApiError> {
    Ok(Json(app.games.resign(&game, &body.seat)?))
}

/// Begins another game of the same players, who change sides.
#[utoipa::path(
    post,
    path = "/api/games/{game}/rematch",
    params(GamePath),
    operation_id = "repeatGame",
    responses((status = 200, body = Seat), Shared<404>, Shared<409>)
)]
pub async fn rematch(
    State(app): State<Arc<App>>,
    Path(GamePath { game }): Path<GamePath>,
    Query(NoParams {}): Query<NoParams>,
    Json(body): Json<SeatBody>,
) -> Result<Json<Seat>, ApiError> {
    Ok(Json(app.games.rematch(&game, &body.seat)?))
}

/// Follows a game.
///
/// Events are `game` (LiveGame): one at once, and one after each change. Every 15 seconds without a change an event
/// `pulse` follows. The stream ends when the game is forgotten.
#[utoipa::path(
    get,
    path = "/api/games/{game}/events",
    params(GamePath),
    operation_id = "followGame",
    responses(
        (status = 200, description = "Server-sent events.", content_type = "text/event-stream", body = GameReport),
        Shared<404>
    )
)]
pub async fn follow(
    State(app): State<Arc<App>>,
    Path(GamePath { game }): Path<GamePath>,
    Query(NoParams {}): Query<NoParams>,
    connection: Option<Extension<Arc<Connection>>>,
) -> Result<Response, ApiError> {
    let mut changes = app.games.watch(&game)?;
    // A client that reads slowly misses earlier states, but not the last one.
    let (sender, stream) = mpsc::channel::<Event>(1);
    tokio::spawn(async move {
        loop {
            changes.mark_unchanged();
            let Ok(report) = app.games.report(&game) else { return };
            if sender.send(event("game", &report)).await.is_err() {
                return;
            }
            loop {
                tokio::select! {
                    changed = changes.changed() => match changed {
                        Ok(()) => break,
                        Err(_) => return,
                    },
                    () = sender.closed() => return,
                    () = tokio::time::sleep(PULSE) => if !app.games.has(&game) { return },
                }
            }
        }
    });
    // The connection is in use as long as the client follows.
    let alive = connection.map(|Extension(connection)| connection.begin());
    let stream = ReceiverStream::new(stream).map(move |event| {
        let _ = &alive;
        event
    });
    let pulse = Event::default().event("pulse").data("");
    Ok(events(stream, KeepAlive::new().interval(PULSE).event(pulse)))
}
