//! Builds of tables.

use std::sync::{Arc, PoisonError};

use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use sternhalma_builder::{BuilderError, TableBuilder, TableOffer};
use sternhalma_data::table::table_name;
use sternhalma_data::{Board, Encoding, Prefix, TableError};
use utoipa::{IntoParams, ToSchema};

use crate::app::App;
use crate::builds::BuildReport;
use crate::error::ApiError;
use crate::extract::{Json, NoParams, Path, Query};
use crate::openapi::{self, Shared};

/// The table to build, as the options of `sternhalma build` name it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BuildRequest)]
pub struct BuildBody {
    /// The cells along an edge.
    #[schema(minimum = 3, maximum = 11)]
    side: u64,
    /// The pieces of an army.
    #[schema(minimum = 1, maximum = 15)]
    pieces: u64,
    /// The number of covered cells, those nearest the goal; all by default.
    #[schema(minimum = 1, maximum = 121)]
    within: Option<u64>,
    /// The encoding; `byte` by default.
    #[schema(value_type = Option<openapi::Encoding>)]
    encoding: Option<String>,
}

/// The builds in the order of their start.
#[derive(Serialize, ToSchema)]
#[schema(as = Builds)]
pub struct BuildList {
    builds: Vec<BuildReport>,
}

/// The build in the path of a route.
#[derive(Deserialize, IntoParams)]
pub struct BuildPath {
    /// The identifier of a build.
    #[param(min_length = 1, pattern = r"^[^/\\]+$", example = "1")]
    id: String,
}

/// The board of an offer.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OfferParams {
    /// The cells along an edge.
    #[param(minimum = 3, maximum = 11, example = 9)]
    side: u64,
    /// The pieces of an army.
    #[param(minimum = 1, maximum = 15, example = 10)]
    pieces: u64,
}

/// The table that the page proposes to build for a board.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = Offer)]
pub struct OfferAnswer {
    /// The number of covered cells, those nearest the goal.
    #[schema(minimum = 1, maximum = 121)]
    within: usize,
    states: u64,
    /// The size of the file.
    bytes: u64,
    /// An estimate of the time of the build.
    #[schema(minimum = 0)]
    seconds: Option<f64>,
    /// The states of the table of the whole board.
    whole_states: u64,
    /// The maximum number of states of a table that is proposed.
    max_states: u64,
}

/// Proposes a table for a board.
#[utoipa::path(get, path = "/api/offer", operation_id = "offer", params(OfferParams),
    responses((status = 200, body = OfferAnswer)))]
pub async fn offer(
    State(app): State<Arc<App>>,
    Query(params): Query<OfferParams>,
) -> Result<Json<OfferAnswer>, ApiError> {
    let board = Board::new(params.side, params.pieces)?;
    let shared = app.clone();
    app.work.run(move |_| Ok(Json(offer_of(&shared, board)))).await
}

/// Returns the offer for a board. Its time is measured for the first request.
fn offer_of(app: &App, board: Board) -> OfferAnswer {
    let offer = TableOffer::of(board);
    let times = || app.build_times.lock().unwrap_or_else(PoisonError::into_inner);
    let known = times().get(&board).copied();
    // The lock is not held while measuring: the pool may run another request on this thread, which would wait for it.
    let time = known.unwrap_or_else(|| {
        let time = offer.time(app.threads);
        times().insert(board, time);
        time
    });
    OfferAnswer {
        within: offer.prefix().within(),
        states: offer.prefix().states(),
        bytes: offer.bytes(),
        seconds: time.map(|time| time.as_secs_f64()),
        whole_states: Prefix::whole(board).states(),
        max_states: TableOffer::MAX_STATES,
    }
}

/// Lists the builds since the server was started.
#[utoipa::path(get, path = "/api/builds", operation_id = "builds", responses((status = 200, body = BuildList)))]
pub async fn list(State(app): State<Arc<App>>, Query(NoParams {}): Query<NoParams>) -> Json<BuildList> {
    Json(BuildList { builds: app.builds.list().iter().map(|job| job.report()).collect() })
}

/// Returns the progress of a build.
#[utoipa::path(get, path = "/api/builds/{id}",
    params(BuildPath), responses((status = 200, body = BuildReport), Shared<404>))]
pub async fn build(
    State(app): State<Arc<App>>,
    Path(BuildPath { id }): Path<BuildPath>,
    Query(NoParams {}): Query<NoParams>,
) -> Result<Json<BuildReport>, ApiError> {
    Ok(Json(app.builds.find(&id)?.report()))
}

/// Cancels a build.
#[utoipa::path(
    delete,
    path = "/api/builds/{id}",
    params(BuildPath),
    operation_id = "cancelBuild",
    responses((status = 204, description = "The build ends soon, or has ended."), Shared<404>)
)]
pub async fn cancel(
    State(app): State<Arc<App>>,
    Path(BuildPath { id }): Path<BuildPath>,
    Query(NoParams {}): Query<NoParams>,
) -> Result<StatusCode, ApiError> {
    app.builds.find(&id)?.cancel();
    Ok(StatusCode::NO_CONTENT)
}

/// Starts to build a table.
#[utoipa::path(
    post,
    path = "/api/builds",
    operation_id = "startBuild",
    responses((status = 202, description = "The build has begun.", body = BuildReport), Shared<409>, Shared<500>)
)]
pub async fn start(
    State(app): State<Arc<App>>,
    Query(NoParams {}): Query<NoParams>,
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
