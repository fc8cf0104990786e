//! A game with its analysis.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde::{Deserialize, Serialize};
use sternhalma_data::{Table, TableError};
use sternhalma_engine::record::{AnnotatedGame, JsonGame, MoveLine};
use sternhalma_engine::{ChineseCheckers, EnginePlayer, Filter, GameSetup, GameState, analyse, board_of};
use sternhalma_ggp::Limits;

use super::document::inline;
use crate::facts::{PositionAnswer, ShortPosition};
use crate::page::{PageError, text};
use crate::rows::InfoRow;

/// The document of a saved game.
const DOCUMENT: &str = "saved.html";

/// The most positions of a game that is saved.
const MOST_POSITIONS: usize = 20_000;

/// A recorded game with its analysis: the moves and distances of every position, in variations too, and results of
/// searches.
///
/// ```
/// use sternhalma_engine::record::AnnotatedGame;
/// use sternhalma_server::SavedGame;
///
/// let game: AnnotatedGame = "[Size \"5\"]\n[Pieces \"1\"]\n\n1. a1-b1 {quiet} e5-d5 *".parse()?;
/// let page = SavedGame::new(&game, None)?.page()?;
/// assert!(page.starts_with("<!doctype html>") && page.contains("quiet"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SavedGame {
    rules: ChineseCheckers,
    /// The different positions, in variations too.
    states: Vec<GameState>,
    data: Data,
}

/// The result of a search of a position.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    position: String,
    info: InfoRow,
}

/// The data of the page.
#[derive(Serialize)]
struct Data {
    record: JsonGame,
    /// The record as text.
    text: String,
    /// The name of the table.
    table: Option<String>,
    positions: Vec<(String, ShortPosition)>,
    searches: Vec<Search>,
}

/// The reason why a game cannot be saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedGameError {
    /// The game is too long.
    #[error("the game has more than {MOST_POSITIONS} positions; remove some of its variations")]
    TooLong,
    /// The game does not follow the rules.
    #[error("{0}")]
    Game(String),
    /// The table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl SavedGame {
    /// Looks up all positions of a game in a table with a name, if there is one.
    ///
    /// # Errors
    /// If the game has too many positions, or the table cannot be read.
    pub fn new(game: &AnnotatedGame, table: Option<(&str, &Table)>) -> Result<SavedGame, SavedGameError> {
        let Positions { rules, states, .. } = Positions::of(game)?;
        let mut positions = Vec::with_capacity(states.len());
        for state in &states {
            let facts = PositionAnswer::new(&rules, state, table)?;
            positions.push((rules.position(state).to_string(), facts.short()));
        }
        let data = Data {
            record: JsonGame::from(game),
            text: game.to_string(),
            table: table.map(|(name, _)| name.to_owned()),
            positions,
            searches: Vec::new(),
        };
        Ok(SavedGame { rules, states, data })
    }

    /// Returns the number of positions, in variations too.
    pub fn positions(&self) -> usize {
        self.states.len()
    }

    /// Adds results of searches.
    pub fn add_searches(&mut self, searches: impl IntoIterator<Item = Search>) {
        self.data.searches.extend(searches);
    }

    /// Searches all positions. The search ends early after `stop` is set. Calls `advance` after each position.
    pub fn search(
        &mut self,
        player: &mut dyn EnginePlayer,
        seed: u64,
        limits: Limits,
        stop: &AtomicBool,
        advance: &mut dyn FnMut(),
    ) {
        for state in &self.states {
            if stop.load(Relaxed) {
                return;
            }
            if state.outcome().is_none() {
                player.reset(seed);
                let found = analyse(player, state, limits, 1, stop);
                let info = found.first().map(|found| InfoRow::new(self.rules.geometry(), 0, &found.info));
                let position = self.rules.position(state).to_string();
                self.data.searches.extend(info.map(|info| Search { position, info }));
            }
            advance();
        }
    }

    /// Returns the page: one document that loads nothing.
    ///
    /// # Errors
    /// If the files of the page cannot be one document.
    pub fn page(&self) -> Result<String, PageError> {
        // All keys are texts, so that the data can be JSON.
        let data = serde_json::to_string(&self.data).unwrap_or_default();
        inline(DOCUMENT, &data, &text)
    }
}

/// The different positions of a game, in variations too.
struct Positions {
    rules: ChineseCheckers,
    known: HashSet<String>,
    states: Vec<GameState>,
}

impl Positions {
    fn of(game: &AnnotatedGame) -> Result<Positions, SavedGameError> {
        let board = board_of(&game.start).map_err(SavedGameError::Game)?;
        let rules = ChineseCheckers::of(GameSetup { board, rules: game.rules, ply_limit: game.ply_limit }, Filter::All);
        let missing = || SavedGameError::Game("no game has this position".to_owned());
        let start = rules.state(&game.start).ok_or_else(missing)?;
        let mut positions = Positions { rules, known: HashSet::new(), states: Vec::new() };
        positions.add(start)?;
        positions.follow(start, &game.line)?;
        Ok(positions)
    }

    fn add(&mut self, state: GameState) -> Result<(), SavedGameError> {
        if self.known.insert(self.rules.position(&state).to_string()) {
            self.states.push(state);
        }
        if self.states.len() > MOST_POSITIONS { Err(SavedGameError::TooLong) } else { Ok(()) }
    }

    fn follow(&mut self, mut state: GameState, line: &MoveLine) -> Result<(), SavedGameError> {
        for mv in &line.moves {
            let before = state;
            self.rules.play_action(&mut state, mv.action);
            self.add(state)?;
            for variation in &mv.variations {
                self.follow(before, variation)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;
    use sternhalma_builder::TableBuilder;
    use sternhalma_data::{Board, Prefix};

    use super::*;

    const RECORD: &str = "[Size \"4\"]\n[Pieces \"2\"]\n\n\
        1. a1-a3 (1. a2-b2 d4-c4 2. b2-c2) (1. a2-b2 d4-d2) d4-d2 {a jump} *";

    fn data(page: &str) -> Value {
        let (_, rest) = page.split_once(" id=\"data\">").unwrap();
        serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
    }

    #[test]
    fn every_position_has_its_moves_and_distances() {
        let game: AnnotatedGame = RECORD.parse().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let prefix = Prefix::whole(Board::new(4, 2).unwrap());
        let path = dir.path().join("t.sht");
        TableBuilder::new(prefix).threads(1).build(&path, &()).unwrap();
        let table = Table::open(&path).unwrap();
        let saved = SavedGame::new(&game, Some(("t", &table))).unwrap();
        let data = data(&saved.page().unwrap());
        // The start, two moves, and the variations with a common first move.
        assert_eq!((saved.positions(), data["positions"].as_array().unwrap().len()), (7, 7));
        for (state, row) in saved.states.iter().zip(data["positions"].as_array().unwrap()) {
            let answer = PositionAnswer::new(&saved.rules, state, Some(("t", &table))).unwrap();
            let full = serde_json::to_value(&answer).unwrap();
            assert_eq!(row[0], full["position"]);
            assert_eq!(row[1]["x"], format!("={}", full["distances"]["x"]["distance"]));
            let moves: Vec<String> = full["moves"]
                .as_array()
                .unwrap()
                .iter()
                .map(|mv| {
                    let path: Vec<&str> = mv["path"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                    format!("{}={}", path.join("-"), mv["distance"])
                })
                .collect();
            assert_eq!(row[1]["moves"], moves.join(" "));
        }
    }

    #[test]
    fn pages_without_a_table_have_no_distances() {
        let game: AnnotatedGame = RECORD.parse().unwrap();
        let data = data(&SavedGame::new(&game, None).unwrap().page().unwrap());
        for row in data["positions"].as_array().unwrap() {
            let moves = row[1]["moves"].as_str().unwrap();
            assert!(row[1]["x"].is_null() && !moves.contains(['=', '<']) && moves.contains('-'), "{row}");
        }
    }

    #[test]
    fn pages_load_nothing() {
        let game: AnnotatedGame = RECORD.parse().unwrap();
        let page = SavedGame::new(&game, None).unwrap().page().unwrap();
        assert!(page.len() < 150_000, "{} bytes", page.len());
        for part in page.split(['<', '>']).filter(|part| part.contains("src=\"") || part.contains("href=\"")) {
            assert!(part.contains("=\"data:") || part.contains("=\"#"), "{part}");
        }
        for style in page.split("<style>").skip(1).filter_map(|rest| rest.split("</style>").next()) {
            assert!(!style.contains("@import") && !style.contains("url("));
        }
    }

    proptest! {
        #[test]
        fn no_text_of_a_record_is_markup(tag in "[ -~\u{a0}-\u{2fff}]*", comment in "(<!--|</script>|<script|[ -~\n])*") {
            let mut game: AnnotatedGame = RECORD.parse().unwrap();
            game.set_tag("Event", tag.as_str());
            game.line.comments = vec![comment];
            let page = SavedGame::new(&game, None).unwrap().page().unwrap();
            let (before, rest) = page.split_once(" id=\"data\">").unwrap();
            let (data, after) = rest.split_once("</script>").unwrap();
            prop_assert!(!data.contains('<'));
            let parsed: Value = serde_json::from_str(data).unwrap();
            prop_assert_eq!(&parsed["record"]["tags"][0][1], &Value::from(tag));
            prop_assert_eq!(&parsed["record"]["comments"][0], &Value::from(game.line.comments[0].as_str()));
            // The rest of the page does not depend on the record.
            let plain: AnnotatedGame = RECORD.parse().unwrap();
            let plain = SavedGame::new(&plain, None).unwrap().page().unwrap();
            prop_assert!(plain.starts_with(before) && plain.ends_with(after));
        }
    }
}
