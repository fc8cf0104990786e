//! Searches for moves, as logs contain them.

use serde::{Deserialize, Serialize};
use sternhalma_game::SearchStats;

/// The value of a state for the player to move, according to a search.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchValue {
    /// The mean reward of Monte-Carlo search, from -1 (lost) to 1 (won).
    Reward(f64),
    /// The lead of alpha-beta search, in units of its evaluation.
    Lead(f64),
    /// A win in a number of plies, among the moves that the search considers.
    #[serde(rename = "win_in")]
    Won(u32),
    /// A loss in a number of plies, among the moves that the search considers.
    #[serde(rename = "loss_in")]
    Lost(u32),
}

/// The search for one move. A number is 0 if it is not known.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct MoveSearch {
    /// The value for the player that moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<SearchValue>,
    /// The depth in plies.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: u32,
    /// Node expansions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nodes: u64,
    /// Playouts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub playouts: u64,
    /// Time, in seconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seconds: f64,
}

pub(super) fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

/// Rounds to a number of parts per unit.
fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

impl SearchValue {
    /// Returns the value of a state in which the mean reward of the player to move is `mean`, 0 to 1.
    pub fn of_mean(mean: f64) -> SearchValue {
        SearchValue::Reward(2.0 * mean - 1.0)
    }

    /// Returns the value, rounded to thousandths, or `None` if it is not finite.
    fn rounded(self) -> Option<SearchValue> {
        match self {
            SearchValue::Reward(value) => value.is_finite().then(|| SearchValue::Reward(rounded(value, 1e3))),
            SearchValue::Lead(value) => value.is_finite().then(|| SearchValue::Lead(rounded(value, 1e3))),
            proven => Some(proven),
        }
    }
}

impl MoveSearch {
    /// Creates the record of a search. Rounds the value to thousandths, and the time to a tenth of
    /// a millisecond.
    pub fn new(spent: SearchStats, value: Option<SearchValue>) -> MoveSearch {
        MoveSearch {
            score: value.and_then(SearchValue::rounded),
            depth: spent.depth,
            nodes: spent.expansions,
            playouts: spent.playouts,
            seconds: rounded(spent.time.as_secs_f64(), 1e4),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_search_is_short_in_a_log() {
        let spent =
            SearchStats { depth: 3, expansions: 7, time: Duration::from_micros(1234), ..SearchStats::default() };
        for (value, text) in [
            (None, r#"{"depth":3,"nodes":7,"seconds":0.0012}"#),
            (Some(SearchValue::Lead(f64::NAN)), r#"{"depth":3,"nodes":7,"seconds":0.0012}"#),
            (
                Some(SearchValue::Reward(-1.0 / 3.0)),
                r#"{"score":{"reward":-0.333},"depth":3,"nodes":7,"seconds":0.0012}"#,
            ),
            (Some(SearchValue::Lost(4)), r#"{"score":{"loss_in":4},"depth":3,"nodes":7,"seconds":0.0012}"#),
        ] {
            let search = MoveSearch::new(spent, value);
            assert_eq!(serde_json::to_string(&search).unwrap(), text);
            assert_eq!(serde_json::from_str::<MoveSearch>(text).unwrap(), search);
        }
        assert_eq!(serde_json::to_string(&MoveSearch::default()).unwrap(), "{}");
    }
}
