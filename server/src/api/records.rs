//! Records of games, as text and as JSON.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sternhalma_engine::board_of;
use sternhalma_engine::record::{AnnotatedGame, JsonGame, JsonGameError, RecordError, RecordFault};
use utoipa::ToSchema;

use crate::app::App;
use crate::error::ApiError;
use crate::export::{SavedGame, SavedGameError, Search};
use crate::extract::{Json, NoParams, Query};
use crate::openapi::{Record, Shared};

/// A record as text, or a page with it as HTML.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordText {
    text: String,
}

/// A record, and the results of searches of its positions.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PageRequest)]
pub struct PageBody {
    #[schema(value_type = Record)]
    record: JsonGame,
    /// Results of searches of positions of the game.
    #[serde(default)]
    searches: Vec<Search>,
}

impl From<SavedGameError> for ApiError {
    fn from(error: SavedGameError) -> ApiError {
        match error {
            SavedGameError::Table(error) => error.into(),
            error => ApiError::invalid(error),
        }
    }
}

impl From<RecordError> for ApiError {
    fn from(error: RecordError) -> ApiError {
        match &error.fault {
            RecordFault::Move(fault) => ApiError::from(fault.clone()).with_message(error),
            _ => ApiError::invalid(error),
        }
    }
}

impl From<JsonGameError> for ApiError {
    fn from(error: JsonGameError) -> ApiError {
        match &error {
            JsonGameError::Record(fault) => ApiError::from(fault.clone()).with_message(error),
            _ => ApiError::invalid(error),
        }
    }
}

/// Parses a record.
#[utoipa::path(
    post,
    path = "/api/records/parse",
    operation_id = "parseRecord",
    responses((status = 200, body = Record))
)]
pub async fn parse(
    State(app): State<Arc<App>>,
    Query(NoParams {}): Query<NoParams>,
    Json(record): Json<RecordText>,
) -> Result<Json<JsonGame>, ApiError> {
    let parse = move |_| {
        let game = record.text.parse::<AnnotatedGame>()?;
        Ok(Json(JsonGame::from(&game)))
    };
    app.work.run(parse).await
}

/// Prints a record.
#[utoipa::path(
    post,
    path = "/api/records/print",
    operation_id = "printRecord",
    request_body = Record,
    responses((status = 200, body = RecordText))
)]
pub async fn print(
    State(app): State<Arc<App>>,
    Query(NoParams {}): Query<NoParams>,
    Json(record): Json<JsonGame>,
) -> Result<Json<RecordText>, ApiError> {
    let print = move |_| {
        let game = AnnotatedGame::try_from(&record)?;
        Ok(Json(RecordText { text: game.to_string() }))
    };
    app.work.run(print).await
}

/// Returns a page with the game of a record and its analysis, which opens without a server.
#[utoipa::path(
    post,
    path = "/api/records/page",
    operation_id = "recordPage",
    responses((status = 200, body = RecordText), Shared<500>)
)]
pub async fn page(
    State(app): State<Arc<App>>,
    Query(NoParams {}): Query<NoParams>,
    Json(body): Json<PageBody>,
) -> Result<Json<RecordText>, ApiError> {
    let shared = app.clone();
    let save = move |_| {
        let game = AnnotatedGame::try_from(&body.record)?;
        let open = shared.tables.best(board_of(&game.start)?)?;
        let mut saved = SavedGame::new(&game, open.as_ref().map(|open| (open.name.as_str(), &*open.table)))?;
        saved.add_searches(body.searches);
        Ok(Json(RecordText { text: saved.page().map_err(ApiError::internal)? }))
    };
    app.work.run(save).await
}
