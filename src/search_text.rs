//! The results of searches as text for people.

use sternhalma_data::Geometry;
use sternhalma_engine::{Action, SearchValue, ugi};

/// Returns the text of a value, as seen by the player that it is for.
pub fn value_text(value: SearchValue) -> String {
    let plies = |plies: u32| crate::output::counted(plies as usize, "ply");
    match value {
        SearchValue::Lead(lead) => format!("{lead:+.2}"),
        SearchValue::Reward(reward) => format!("{:.0}%", 50.0 + 50.0 * reward),
        SearchValue::Won(0) => "won".to_owned(),
        SearchValue::Lost(0) => "lost".to_owned(),
        SearchValue::Won(count) => format!("win in {}", plies(count)),
        SearchValue::Lost(count) => format!("loss in {}", plies(count)),
    }
}

/// Returns the moves of a line, joined by blanks.
pub fn line_text(geometry: &Geometry, line: &[Action]) -> String {
    line.iter().map(|&action| ugi::action_text(geometry, action)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_leads_shares_or_plies() {
        for (value, text) in [
            (SearchValue::Lead(0.5), "+0.50"),
            (SearchValue::Lead(-12.345), "-12.35"),
            (SearchValue::Reward(-1.0), "0%"),
            (SearchValue::Reward(0.5), "75%"),
            (SearchValue::Won(0), "won"),
            (SearchValue::Won(1), "win in 1 ply"),
            (SearchValue::Lost(4), "loss in 4 plies"),
        ] {
            assert_eq!(value_text(value), text);
        }
    }
}
