//! Positions of the two-player game.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use sternhalma_data::RuleSet;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Json, NoParams, Params};
use crate::facts::{Placed, PositionAnswer};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PositionParams {
    position: String,
    #[serde(default)]
    rules: RuleSet,
    table: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayBody {
    position: String,
    #[serde(rename = "move")]
    mv: String,
    #[serde(default)]
    rules: RuleSet,
    table: Option<String>,
}

/// Looks up a position, after a move if there is one.
async fn look_up(
    app: Arc<App>,
    position: String,
    rules: RuleSet,
    mv: Option<String>,
    table: Option<String>,
) -> Result<Json<PositionAnswer>, ApiError> {
    let shared = app.clone();
    let job = move |_| {
        let named = table.map(|name| shared.tables.open(&name)).transpose()?;
        let mut placed = Placed::parse(&position, named.as_ref().map(|open| open.table.board()), rules)?;
        if let Some(open) = named.as_ref().filter(|open| open.table.board() != placed.game().board()) {
            let (board, found) = (open.table.board(), placed.game().board());
            return Err(ApiError::invalid(format!("the table is of {board}, and the position of {found}")));
        }
        if let Some(mv) = mv {
            placed.play(&mv)?;
        }
        let open = named.map_or_else(|| shared.tables.best(placed.game().board()), |open| Ok(Some(open)))?;
        let table = open.as_deref().map(|open| (open.name.as_str(), &*open.table));
        Ok(Json(PositionAnswer::new(placed.game(), placed.state(), table)?))
    };
    app.work.run(job).await
}

pub async fn position(
    State(app): State<Arc<App>>,
    Params(params): Params<PositionParams>,
) -> Result<Json<PositionAnswer>, ApiError> {
    look_up(app, params.position, params.rules, None, params.table).await
}

pub async fn play(
    State(app): State<Arc<App>>,
    Params(NoParams {}): Params<NoParams>,
    Json(body): Json<PlayBody>,
) -> Result<Json<PositionAnswer>, ApiError> {
    look_up(app, body.position, body.rules, Some(body.mv), body.table).await
}
