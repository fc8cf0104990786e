//! Distances of many states.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rayon::slice::ParallelSlice;
use serde::Deserialize;
use sternhalma_data::{Board, Encoding, Rank, Side, State as ArmyState, Table};

use crate::answer::{JSON, NDJSON, typed};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Input, Name, Params};
use crate::tables::OpenTable;
use crate::work::Deadline;

/// The most states of a request.
pub const MOST_STATES: usize = 100_000;

/// The states that are looked up between two looks at the clock.
const PART: usize = 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistancesParams {
    player: Option<Side>,
}

/// The body of a request: either ranks or states.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistancesBody {
    player: Option<Side>,
    ranks: Option<Vec<u64>>,
    states: Option<Vec<String>>,
}

/// A line of a request.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Rank(u64),
    State(String),
}

pub async fn distances(
    State(app): State<Arc<App>>,
    Name(name): Name,
    Params(params): Params<DistancesParams>,
    input: Input<DistancesBody>,
) -> Result<Response, ApiError> {
    let shared = app.clone();
    let answer = move |deadline| {
        let open = shared.tables.open(&name)?;
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
    let mut text = b"{\"distances\":[".to_vec();
    for (index, distance) in look_up(&open.table, &states, deadline)?.into_iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        push_distance(&mut text, distance);
    }
    text.extend(b"]}");
    Ok(typed(JSON, text))
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
            Ok(_) => push_distance(&mut text, found.next().flatten()),
            Err(error) => text.extend(error.body().to_string().bytes()),
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
        0..=MOST_STATES => Ok(()),
        _ => Err(ApiError::too_large(format!("expected at most {MOST_STATES} states, got {count}"))),
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

fn push_distance(text: &mut Vec<u8>, distance: Option<u8>) {
    match distance {
        Some(distance) => text.extend(distance.to_string().bytes()),
        None => text.extend(b"null"),
    }
}
