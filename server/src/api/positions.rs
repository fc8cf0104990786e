//! Positions of the two-player game.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use sternhalma_data::RuleSet;
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Json, NoParams, Query};
use crate::facts::{self, Placed, PositionAnswer};
use crate::openapi::{self, Shared};

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PositionParams {
    /// A position string, or `startpos`.
    #[param(min_length = 1, example = "startpos")]
    position: String,
    /// The rule set; by default the newest one.
    #[serde(default = "facts::newest_rules")]
    #[param(value_type = openapi::RuleSet)]
    rules: RuleSet,
    /// The table of the distances; by default the best one of the board.
    #[param(min_length = 1, pattern = r"^[^/\\]+$")]
    table: Option<String>,
}

/// A position, and a move to play.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PlayRequest)]
pub struct PlayBody {
    /// A position string, or `startpos`.
    position: String,
    #[serde(rename = "move")]
    #[schema(value_type = openapi::Move)]
    mv: String,
    /// The rule set; by default the newest one.
    #[serde(default = "facts::newest_rules")]
    #[schema(value_type = openapi::RuleSet)]
    rules: RuleSet,
    /// The table of the distances; by default the best one of the board.
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

/// Looks up a position of the two-player game and its moves.
#[utoipa::path(
    get,
    path = "/api/position",
    params(PositionParams),
    responses((status = 200, body = PositionAnswer), Shared<404>, Shared<500>)
)]
pub async fn position(
    State(app): State<Arc<App>>,
    Query(params): Query<PositionParams>,
) -> Result<Json<PositionAnswer>, ApiError> {
    look_up(app, params.position, params.rules, None, params.table).await
}

/// Plays a move and looks up the position after it.
#[utoipa::path(
    post,
    path = "/api/position/play",
    responses((status = 200, body = PositionAnswer), Shared<404>, Shared<500>)
)]
pub async fn play(
    State(app): State<Arc<App>>,
    Query(NoParams {}): Query<NoParams>,
    Json(body): Json<PlayBody>,
) -> Result<Json<PositionAnswer>, ApiError> {
    look_up(app, body.position, body.rules, Some(body.mv), body.table).await
}
