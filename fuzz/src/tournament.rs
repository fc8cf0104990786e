//! Tournament files and files of players under arbitrary input.

use sternhalma_engine::Roster;

/// Parses the bytes as a tournament file and as a file of players.
///
/// An error must have a message, and the first line of it no control characters.
pub fn target(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    if let Err(message) = sternhalma::check_tournament_file(text) {
        let first = message.lines().next().expect("an error has a message");
        assert!(!first.contains(char::is_control), "{message:?}");
    }
    if let Ok(roster) = Roster::parse(text) {
        for name in roster.names() {
            match roster.config(name) {
                Ok(config) => assert!(!config.search_name().is_empty()),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}
