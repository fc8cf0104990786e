//! Distances of many states.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rayon::slice::ParallelSlice;
use serde::{Deserialize, Serialize};
use sternhalma_data::{Board, Encoding, Rank, Side, State as ArmyState, Table};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{self, NDJSON, typed};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Input, Path, Query, TablePath};
use crate::openapi::{self, Shared};
use crate::tables::OpenTable;
use crate::work::Deadline;

/// The most states of a request.
pub const MAX_STATES: usize = 100_000;

/// The states that are looked up between two looks at the clock.
const PART: usize = 1024;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DistancesParams {
    /// The side of the pieces; by default `x`.
    #[param(value_type = Option<openapi::Side>)]
    player: Option<Side>,
}

/// Either `ranks` or `states`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DistancesRequest)]
pub struct DistancesBody {
    #[schema(value_type = Option<openapi::Side>)]
    player: Option<Side>,
    #[schema(max_items = 100_000)]
    ranks: Option<Vec<u64>>,
    #[schema(max_items = 100_000)]
    states: Option<Vec<String>>,
}

/// A line of a request.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Rank(u64),
    State(String),
}

/// The distances, in the order of the states.
#[derive(Serialize, ToSchema)]
struct Distances {
    #[schema(value_type = Vec<Option<openapi::Moves>>)]
    distances: Vec<Option<u8>>,
}

/// Looks up at most 100,000 states.
///
/// The answer to a line of JSON with a rank or a state is a line with a distance, null or an error.
#[utoipa::path(
    post,
    path = "/api/tables/{table}/distances",
    params(TablePath, DistancesParams),
    request_body(content(
        (DistancesBody = "application/json"),
        (Value = "application/x-ndjson", example = "0\n\"startpos\"\n")
    )),
    responses(
        (status = 200, content((Distances = "application/json"), (Value = "application/x-ndjson"))),
        Shared<404>,
        Shared<500>
    )
)]
pub async fn distances(
    State(app): State<Arc<App>>,
    Path(TablePath { table }): Path<TablePath>,
    Query(params): Query<DistancesParams>,
    input: Input<DistancesBody>,
) -> Result<Response, ApiError> {
    let shared = app.clone();
    let answer = move |deadline| {
        let open = shared.tables.open(&table)?;
        match input {
            Input::Json(body) => {
                let player = body.player.or(params.player).unwrap_or(Side::X);
                json_answer(&open, player, body, deadline)
            }
            Input::Lines(lines) => lines_answer(&open, params.player.unwrap_or(Side::X), &lines, deadline),
        }
    };
    app.work.run(answer).await
}

fn json_answer(open: &OpenTable, side: Side, body: DistancesBody, deadline: Deadline) -> Result<Response, ApiError> {
    let board = open.table.board();
    let states: Vec<ArmyState> = match (body.ranks, body.states) {
        (Some(ranks), None) => {
            check_count(ranks.len())?;
            ranks.par_iter().map(|&rank| state_of(board, rank)).collect::<Result<_, ApiError>>()?
        }
        (None, Some(texts)) => {
            check_count(texts.len())?;
            texts.par_iter().map(|text| Ok(board.parse_state(text, side)?)).collect::<Result<_, ApiError>>()?
        }
        _ => return Err(ApiError::invalid("expected either `ranks` or `states`")),
    };
    Ok(answer::json(&Distances { distances: look_up(&open.table, &states, deadline)? }))
}

fn lines_answer(open: &OpenTable, side: Side, lines: &Bytes, deadline: Deadline) -> Result<Response, ApiError> {
    let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
    let lines: Vec<&[u8]> = if lines.is_empty() { Vec::new() } else { lines.split(|&byte| byte == b'\n').collect() };
    check_count(lines.len())?;
    let board = open.table.board();
    let parsed: Vec<Result<ArmyState, ApiError>> = lines.par_iter().map(|line| parse_line(board, side, line)).collect();
    let states: Vec<ArmyState> = parsed.iter().filter_map(|line| line.as_ref().ok().copied()).collect();
    let mut found = look_up(&open.table, &states, deadline)?.into_iter();
    let mut text = Vec::with_capacity(4 * lines.len());
    for line in parsed {
        match line {
            Ok(_) => push_json(&mut text, &found.next().flatten()),
            Err(error) => push_json(&mut text, &error.body()),
        }
        text.push(b'\n');
    }
    Ok(typed(NDJSON, text).into_response())
}

fn parse_line(board: Board, side: Side, line: &[u8]) -> Result<ArmyState, ApiError> {
    match serde_json::from_slice(line) {
        Ok(Line::Rank(rank)) => state_of(board, rank),
        Ok(Line::State(text)) => Ok(board.parse_state(&text, side)?),
        Err(_) => Err(ApiError::invalid("expected a rank (a number) or a state (a string)")),
    }
}

fn check_count(count: usize) -> Result<(), ApiError> {
    match count {
        0..=MAX_STATES => Ok(()),
        _ => Err(ApiError::too_large(format!("expected at most {MAX_STATES} states, got {count}"))),
    }
}

fn state_of(board: Board, rank: u64) -> Result<ArmyState, ApiError> {
    if rank >= board.states() {
        let last = board.states() - 1;
        return Err(ApiError::invalid(format!("`{rank}` is not a rank of {board}; expected 0 to {last}")));
    }
    Ok(Rank(rank).state(board.pieces()))
}

/// Looks up states. The result is in their order, with `None` for states that the table does not cover.
fn look_up(table: &Table, states: &[ArmyState], deadline: Deadline) -> Result<Vec<Option<u8>>, ApiError> {
    if matches!(table.encoding(), Encoding::Byte | Encoding::Mod3) {
        return probe_parts(table, states, deadline);
    }
    // States of the same block follow each other, so that the block is decompressed once.
    let mut order: Vec<(Rank, usize)> = states.iter().enumerate().map(|(place, state)| (state.rank(), place)).collect();
    order.sort_unstable();
    let sorted: Vec<ArmyState> = order.iter().map(|&(_, place)| states[place]).collect();
    let mut distances = vec![None; states.len()];
    for ((_, place), distance) in order.into_iter().zip(probe_parts(table, &sorted, deadline)?) {
        distances[place] = distance;
    }
    Ok(distances)
}

fn probe_parts(table: &Table, states: &[ArmyState], deadline: Deadline) -> Result<Vec<Option<u8>>, ApiError> {
    let probe_part = |part: &[ArmyState]| {
        deadline.check()?;
        let probe = |&state: &ArmyState| Ok(table.probe(state)?.distance().map(|distance| distance.0));
        part.iter().map(probe).collect::<Result<Vec<_>, ApiError>>()
    };
    let parts = states.par_chunks(PART).map(probe_part).collect::<Result<Vec<_>, ApiError>>()?;
    Ok(parts.concat())
}

fn push_json(text: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(text, value).expect("distances and errors can be JSON");
}
