//! Builds of tables.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use sternhalma_builder::{BuilderError, TableBuilder};
use sternhalma_data::table::table_name;
use sternhalma_data::{Board, Encoding, Prefix, TableError};

use crate::app::App;
use crate::builds::BuildReport;
use crate::error::ApiError;
use crate::extract::{Json, Name, NoParams, Params};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildBody {
    side: u64,
    pieces: u64,
    within: Option<u64>,
    encoding: Option<String>,
}

#[derive(Serialize)]
pub struct BuildList {
    builds: Vec<BuildReport>,
}

pub async fn list(State(app): State<Arc<App>>, Params(NoParams {}): Params<NoParams>) -> Json<BuildList> {
    Json(BuildList { builds: app.builds.list().iter().map(|job| job.report()).collect() })
}

pub async fn build(
    State(app): State<Arc<App>>,
    Name(id): Name,
    Params(NoParams {}): Params<NoParams>,
) -> Result<Json<BuildReport>, ApiError> {
    Ok(Json(app.builds.find(&id)?.report()))
}

pub async fn cancel(
    State(app): State<Arc<App>>,
    Name(id): Name,
    Params(NoParams {}): Params<NoParams>,
) -> Result<StatusCode, ApiError> {
    app.builds.find(&id)?.cancel();
    Ok(StatusCode::NO_CONTENT)
}

pub async fn start(
    State(app): State<Arc<App>>,
    Params(NoParams {}): Params<NoParams>,
    Json(body): Json<BuildBody>,
) -> Result<(StatusCode, Json<BuildReport>), ApiError> {
    let shared = app.clone();
    let report = app.work.run(move |_| start_build(&shared, &body)).await?;
    Ok((StatusCode::ACCEPTED, Json(report)))
}

/// Starts a build after the checks of `sternhalma build`.
fn start_build(app: &App, body: &BuildBody) -> Result<BuildReport, ApiError> {
    let board = Board::new(body.side, body.pieces)?;
    let prefix = body.within.map_or(Ok(Prefix::whole(board)), |within| Prefix::new(board, within))?;
    let encoding = body.encoding.as_deref().map_or(Ok(Encoding::Byte), str::parse).map_err(ApiError::invalid)?;
    let (name, path) = (table_name(prefix, encoding), app.tables.dir().default_path(prefix, encoding));
    let builder = TableBuilder::new(prefix)
        .encoding(encoding)
        .threads(app.threads)
        .memory_limit(app.build_memory)
        // Several builds, one after another, must not fill the disk.
        .disk_reserve(app.disk_reserve);
    let plan = builder.plan(path)?;
    plan.check().map_err(|error| match error {
        BuilderError::Table(TableError::Exists { .. }) => ApiError::conflict(format!("the table `{name}` exists")),
        error => error.into(),
    })?;
    Ok(app.builds.start(plan, name)?.report())
}
