//! Random states at a distance.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use sternhalma_data::{DistanceStream, Rank, Table};

use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Json, Name, Params};
use crate::rows::Player;
use crate::work::Deadline;

/// The random states that are tried before all states are read.
const TRIES: u64 = 20_000;

/// The states that are read at a time.
const PART: usize = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomParams {
    distance: u8,
    #[serde(default)]
    player: Player,
    seed: Option<u64>,
}

#[derive(Serialize)]
struct RandomAnswer {
    state: String,
    player: String,
    rank: u64,
    distance: u8,
}

/// Returns a random state at a distance; every state at the distance is equally likely. Returns `None` if there is
/// none.
///
/// Cost: a few look-ups at a common distance, and at a rare one a pass over the table.
fn random_state(table: &Table, distance: u8, seed: u64, deadline: Deadline) -> Result<Option<Rank>, ApiError> {
    let at_distance = table.info().layers.get(usize::from(distance)).copied().unwrap_or(0);
    if at_distance == 0 {
        return Ok(None);
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    for _ in 0..TRIES {
        deadline.check()?;
        let rank = Rank(rng.random_range(0..table.prefix().states()));
        let probe = table.probe(rank.state(table.board().pieces()))?;
        if probe.distance().is_some_and(|found| found.0 == distance) {
            return Ok(Some(rank));
        }
    }
    nth_state(table, distance, rng.random_range(0..at_distance), deadline)
}

/// Returns the state with this index among those at a distance, in the order of their ranks.
fn nth_state(table: &Table, distance: u8, mut index: u64, deadline: Deadline) -> Result<Option<Rank>, ApiError> {
    let states = table.prefix().states();
    let mut stream = DistanceStream::new(table, 0..states)?;
    let mut part = vec![0; PART];
    let mut first = 0;
    while first < states {
        deadline.check()?;
        let part = &mut part[..(states - first).min(PART as u64) as usize];
        stream.read(part)?;
        let mut found = part.iter().enumerate().filter(|&(_, &found)| found == distance);
        let here = found.clone().count() as u64;
        if index < here {
            return Ok(found.nth(index as usize).map(|(place, _)| Rank(first + place as u64)));
        }
        index -= here;
        first += part.len() as u64;
    }
    Ok(None)
}

pub async fn random(
    State(app): State<Arc<App>>,
    Name(name): Name,
    Params(params): Params<RandomParams>,
) -> Result<Response, ApiError> {
    let shared = app.clone();
    let draw = move |deadline| {
        let open = shared.tables.open(&name)?;
        let (table, RandomParams { distance, player: Player(side), seed }) = (&*open.table, params);
        let seed = seed.unwrap_or_else(|| rand::rng().random());
        let none = || ApiError::missing(format!("the table has no state at distance {distance}"));
        let rank = random_state(table, distance, seed, deadline)?.ok_or_else(none)?;
        let board = table.board();
        let state = board.state_text(rank.state(board.pieces()), side);
        Ok(RandomAnswer { state, player: side.to_string(), rank: rank.0, distance })
    };
    let answer = Json(app.work.run(draw).await?);
    Ok(([(CACHE_CONTROL, HeaderValue::from_static("no-store"))], answer).into_response())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sternhalma_data::{Board, Prefix};
    use sternhalma_testutil::{Reference, encodings};

    use super::*;

    #[test]
    fn every_state_at_a_distance_is_drawn_equally_often() {
        let dir = tempfile::tempdir().unwrap();
        let reference = Reference::search(Prefix::whole(Board::new(3, 2).unwrap()));
        let deadline = Deadline::after(Duration::from_secs(60));
        let table = reference.write(&dir.path().join("t"), encodings()[1]);
        let states: Vec<u64> = (0..36).filter(|&rank| reference.distances[rank as usize] == 2).collect();
        let draws = 300 * states.len() as u64;
        let mut counts = vec![0; 36];
        for seed in 0..draws {
            let Rank(rank) = random_state(&table, 2, seed, deadline).unwrap().unwrap();
            counts[rank as usize] += 1;
        }
        // A fair count exceeds these bounds, more than 5 standard deviations from 300, about once in a million runs;
        // the seeds are fixed.
        assert!(states.iter().all(|&rank| (210..390).contains(&counts[rank as usize])), "{counts:?}");
        assert_eq!(states.iter().map(|&rank| counts[rank as usize]).sum::<u64>(), draws);
        assert_eq!(random_state(&table, 200, 1, deadline).unwrap(), None);
    }

    #[test]
    fn states_are_numbered_within_their_distance_in_every_encoding() {
        let dir = tempfile::tempdir().unwrap();
        let reference = Reference::search(Prefix::whole(Board::new(4, 3).unwrap()));
        let deadline = Deadline::after(Duration::from_secs(60));
        for encoding in encodings() {
            let table = reference.write(&dir.path().join(encoding.to_string()), encoding);
            for distance in 0..=table.max_distance().0 {
                let ranks = (0..).zip(&reference.distances).filter(|&(_, &found)| found == distance);
                for (index, (rank, _)) in ranks.enumerate() {
                    let found = nth_state(&table, distance, index as u64, deadline).unwrap();
                    assert_eq!(found, Some(Rank(rank)), "{encoding} {distance} {index}");
                }
            }
        }
    }
}
