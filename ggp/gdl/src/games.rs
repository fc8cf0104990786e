//! The rulesheets that were written for this project.

use std::io;
use std::path::Path;

/// A rulesheet of `games/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltInGame {
    /// The name of the file without its extension.
    pub name: &'static str,
    /// The text of the rulesheet.
    pub text: &'static str,
}

impl BuiltInGame {
    /// Returns the title of the game, with which the rulesheet begins.
    pub fn title(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default().trim_start_matches([';', ' ']);
        first.split(", written").next().unwrap_or_default()
    }
}

macro_rules! game {
    ($name:literal) => {
        BuiltInGame { name: $name, text: include_str!(concat!("../games/", $name, ".kif")) }
    };
}

/// The rulesheets, ordered by name.
pub const GAMES: [BuiltInGame; 16] = [
    game!("breakthrough"),
    game!("chinese-checkers-2p"),
    game!("chinese-checkers-3p"),
    game!("clobber-4x5"),
    game!("connect-four"),
    game!("connect5"),
    game!("fighter"),
    game!("grid-game-2"),
    game!("knightthrough"),
    game!("matching-pennies"),
    game!("odd-one-out"),
    game!("othello"),
    game!("runners"),
    game!("subtraction"),
    game!("tic-tac-toe"),
    game!("tic-tac-toe-3d"),
];

/// Returns the text of a rulesheet. A name without a folder also selects a rulesheet of [`GAMES`], with or without
/// `.kif`, if there is no such file.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn read_rulesheet(path: &Path) -> io::Result<String> {
    let name = path.to_str().map(|text| text.strip_suffix(".kif").unwrap_or(text));
    match GAMES.iter().find(|game| Some(game.name) == name) {
        Some(game) if !path.exists() => Ok(game.text.to_owned()),
        _ => sternhalma_game::messages::read_text(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CheckOptions, check};

    #[test]
    fn names_select_rulesheets_unless_there_is_a_file() {
        for path in ["othello", "othello.kif"] {
            assert!(read_rulesheet(Path::new(path)).unwrap().contains("(role"), "{path}");
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("othello");
        assert_eq!(read_rulesheet(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::write(&path, "own").unwrap();
        assert_eq!(read_rulesheet(&path).unwrap(), "own");
    }

    #[test]
    fn every_rulesheet_of_the_directory_is_built_in() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/games");
        let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let rulesheets = files.filter(|path| path.extension().is_some_and(|extension| extension == "kif"));
        let mut names: Vec<String> =
            rulesheets.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
        names.sort();
        assert_eq!(GAMES.map(|game| game.name).to_vec(), names);
        for game in GAMES {
            assert_eq!(check(game.text, &CheckOptions::before_play()), [], "{}", game.name);
            assert!(!game.title().is_empty() && !game.title().contains("written"), "{}: {}", game.name, game.title());
        }
    }
}
