//! Logs of tournaments under arbitrary input.

use sternhalma_engine::record::AnnotatedGame;
use sternhalma_ggp::arena::{GameLog, Standings, standings_text};

use crate::scratch::Scratch;

thread_local! {
    static SCRATCH: Scratch = Scratch::new();
}

/// Reads the bytes as a log and as a compressed log.
///
/// A log that can be read must have standings, its games of Chinese Checkers must
/// be valid records, and the same tournament must be able to resume it. An error
/// must name the file.
pub fn target(bytes: &[u8]) {
    SCRATCH.with(|scratch| {
        let path = scratch.write("fuzzed.ndjson", bytes);
        match GameLog::read(&path) {
            Ok((schedule, records)) if schedule.check().is_ok() => {
                let (_, resumed) = GameLog::open(&path, &schedule).expect("the log can be resumed");
                assert_eq!(resumed, records);
                for game in records.iter().filter_map(|record| AnnotatedGame::from_log(&schedule, record).ok()) {
                    assert_eq!(game.to_string().parse(), Ok(game));
                }
                assert!(!standings_text(&Standings::with_games(schedule, &records)).is_empty());
            }
            Ok(_) => {}
            Err(error) => assert!(error.to_string().contains("fuzzed.ndjson"), "{error}"),
        }
        if let Err(error) = GameLog::read(&scratch.write("fuzzed.ndjson.zst", bytes)) {
            assert!(error.to_string().contains("fuzzed.ndjson.zst"), "{error}");
        }
    });
}
