//! Records of games, as text and as JSON.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sternhalma_engine::record::{AnnotatedGame, JsonGame};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Json, NoParams, Params};

/// A record as text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordText {
    text: String,
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
