//! Records of games, as text and as JSON.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sternhalma_engine::board_of;
use sternhalma_engine::record::{AnnotatedGame, JsonGame};

use crate::app::App;
use crate::error::ApiError;
use crate::export::{SavedGame, SavedGameError, Search};
use crate::extract::{Json, NoParams, Params};

/// A record as text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordText {
    text: String,
}

/// A record, and the results of searches of its positions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageBody {
    record: JsonGame,
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

pub async fn parse(
    State(app): State<Arc<App>>,
    Params(NoParams {}): Params<NoParams>,
    Json(record): Json<RecordText>,
) -> Result<Json<JsonGame>, ApiError> {
    let parse = move |_| {
        let game: AnnotatedGame = record.text.parse().map_err(ApiError::invalid)?;
        Ok(Json(JsonGame::from(&game)))
    };
    app.work.run(parse).await
}

pub async fn print(
    State(app): State<Arc<App>>,
    Params(NoParams {}): Params<NoParams>,
    Json(record): Json<JsonGame>,
) -> Result<Json<RecordText>, ApiError> {
    let print = move |_| {
        let game = AnnotatedGame::try_from(&record).map_err(ApiError::invalid)?;
        Ok(Json(RecordText { text: game.to_string() }))
    };
    app.work.run(print).await
}

pub async fn page(
    State(app): State<Arc<App>>,
    Params(NoParams {}): Params<NoParams>,
    Json(body): Json<PageBody>,
) -> Result<Json<RecordText>, ApiError> {
    let shared = app.clone();
    let save = move |_| {
        let game = AnnotatedGame::try_from(&body.record).map_err(ApiError::invalid)?;
        let open = shared.tables.best(board_of(&game.start)?)?;
        let mut saved = SavedGame::new(&game, open.as_ref().map(|open| (open.name.as_str(), &*open.table)))?;
        saved.add_searches(body.searches);
        Ok(Json(RecordText { text: saved.page().map_err(ApiError::internal)? }))
    };
    app.work.run(save).await
}
