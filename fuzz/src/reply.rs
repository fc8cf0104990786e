//! The output of an external engine under arbitrary input.

use sternhalma_data::Board;
use sternhalma_engine::external::replies::{Introduction, best_move, error, note};
use sternhalma_engine::ugi::action_text;
use sternhalma_ggp::SearchStats;

/// The seeds that are mapped into the range of an engine's option.
const SEEDS: [u64; 3] = [0, 1, u64::MAX];

/// Parses each line in every way in which lines of an engine are parsed.
pub fn target(bytes: &[u8]) {
    let geometry = Board::new(5, 3).expect("the board exists").geometry();
    let mut introduction = Introduction::default();
    let (mut spent, mut value) = (SearchStats::default(), None);
    for line in String::from_utf8_lossy(bytes).lines() {
        introduction.add(line);
        note(&mut spent, &mut value, line);
        assert!(error(line).is_none_or(|message| line.ends_with(message)), "{line}");
        match best_move(geometry, line) {
            Some(Ok(action)) => {
                let text = format!("bestmove {}", action_text(geometry, action));
                assert_eq!(best_move(geometry, &text), Some(Ok(action)), "{line}");
            }
            Some(Err(fault)) => assert!(!fault.detail.contains(char::is_control), "{fault:?}"),
            None => {}
        }
    }
    assert!(!introduction.name.contains(char::is_control), "{:?}", introduction.name);
    for offer in &introduction.options {
        assert!(introduction.option(&offer.name).is_some(), "{}", offer.name);
        for seed in SEEDS {
            let text = offer.seed(seed).to_string();
            assert!(text.parse::<i128>().is_ok(), "{text}");
        }
    }
}
