//! The parser of game records under arbitrary input.

use sternhalma_engine::record::AnnotatedGame;

/// Parses the bytes as a game record. A parsed game must stay the same when it
/// is printed and parsed again, and the place of an error must be in the text.
pub fn target(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    match text.parse::<AnnotatedGame>() {
        Ok(game) => {
            let printed = game.to_string();
            assert_eq!(printed.parse::<AnnotatedGame>().as_ref(), Ok(&game), "{printed}");
        }
        Err(error) => {
            let line = text.split('\n').nth(error.line.checked_sub(1).expect("lines are numbered from 1"));
            let line = line.unwrap_or_else(|| panic!("{error}: there is no such line"));
            assert!((1..=line.chars().count() + 1).contains(&error.column), "{error}: there is no such column");
        }
    }
}
