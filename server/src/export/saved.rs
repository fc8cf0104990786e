//! A game with its analysis.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde::{Deserialize, Serialize};
use sternhalma_data::{Table, TableError};
use sternhalma_engine::record::{AnnotatedGame, JsonGame, MoveLine};
use sternhalma_engine::{
    Action, ChineseCheckers, EnginePlayer, Filter, Follower, GameSetup, GameState, Repetitions, analyse, board_of,
};
use sternhalma_ggp::Limits;
use utoipa::ToSchema;

use super::document::inline;
use crate::facts::{PositionAnswer, ShortPosition};
use crate::page::{PageError, SAVED, text};
use crate::rows::{InfoRow, MarkLimitsRow, RulesRow};

/// The most positions of a game that is saved.
const MAX_POSITIONS: usize = 20_000;

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
    /// The positions in the order of the record, in variations too.
    nodes: Vec<Node>,
    data: Data,
}

/// A position of a game.
struct Node {
    /// The number of the position before, and the action between; `None` at the start.
    before: Option<(usize, Action)>,
    state: GameState,
}

/// The result of a search of a position.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The number of the position: 0 is the start, and the positions after the moves follow in the order in which the
    /// record has the moves, each move before its variations.
    node: usize,
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
    rules: Vec<RulesRow>,
    marks: MarkLimitsRow,
    positions: Vec<(String, ShortPosition)>,
    searches: Vec<Search>,
}

/// The reason why a game cannot be saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedGameError {
    /// The game is too long.
    #[error("the game has more than {MAX_POSITIONS} positions; remove some of its variations")]
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
        let (rules, nodes) = nodes_of(game)?;
        let (mut positions, mut known) = (Vec::new(), HashSet::new());
        for Node { state, .. } in &nodes {
            let position = rules.position(state).to_string();
            if known.insert(position.clone()) {
                positions.push((position, PositionAnswer::new(&rules, state, table)?.short()));
            }
        }
        let data = Data {
            record: JsonGame::from(game),
            text: game.to_string(),
            table: table.map(|(name, _)| name.to_owned()),
            rules: RulesRow::all(),
            marks: MarkLimitsRow::new(),
            positions,
            searches: Vec::new(),
        };
        Ok(SavedGame { rules, nodes, data })
    }

    /// Returns the number of positions, in variations too.
    pub fn positions(&self) -> usize {
        self.nodes.len()
    }

    /// Adds results of searches.
    pub fn add_searches(&mut self, searches: impl IntoIterator<Item = Search>) {
        self.data.searches.extend(searches);
    }

    /// Searches all positions, with a player that has followed the game to each of them. The search ends early after
    /// `stop` is set. Calls `advance` after each position.
    pub fn search(
        &mut self,
        player: Box<dyn EnginePlayer>,
        seed: u64,
        limits: Limits,
        stop: &AtomicBool,
        advance: &mut dyn FnMut(),
    ) {
        let mut follower = Follower::new(player);
        for (node, Node { state, .. }) in self.nodes.iter().enumerate() {
            if stop.load(Relaxed) {
                return;
            }
            let (actions, repetitions) = self.line_to(node);
            if state.outcome().is_none() && !repetitions.is_over() {
                // A result does not depend on the order of the searches.
                follower.forget();
                let player = follower.follow(&self.nodes[0].state, &actions, seed);
                let found = analyse(player, state, limits, 1, stop);
                let info = found.first().map(|found| InfoRow::new(self.rules.geometry(), 0, &found.info));
                self.data.searches.extend(info.map(|info| Search { node, info }));
            }
            advance();
        }
    }

    /// Returns the actions from the start to a position, and the placements on the way.
    fn line_to(&self, node: usize) -> (Vec<Action>, Repetitions) {
        let before = |&node: &usize| self.nodes[node].before.map(|(before, _)| before);
        let mut line: Vec<usize> = std::iter::successors(Some(node), before).collect();
        line.reverse();
        let mut repetitions = Repetitions::default();
        for &node in &line {
            repetitions.push(&self.rules, &self.nodes[node].state);
        }
        (line.iter().filter_map(|&node| self.nodes[node].before.map(|(_, action)| action)).collect(), repetitions)
    }

    /// Returns the page: one document that loads nothing.
    ///
    /// # Errors
    /// If the files of the page cannot be one document.
    pub fn page(&self) -> Result<String, PageError> {
        // All keys are texts, so that the data can be JSON.
        let data = serde_json::to_string(&self.data).unwrap_or_default();
        inline(SAVED, &data, &text)
    }
}

/// Returns the rules of a game, and its positions.
fn nodes_of(game: &AnnotatedGame) -> Result<(ChineseCheckers, Vec<Node>), SavedGameError> {
    let board = board_of(&game.start).map_err(|error| SavedGameError::Game(error.to_string()))?;
    let rules = ChineseCheckers::of(GameSetup { board, rules: game.rules, ply_limit: game.ply_limit }, Filter::All);
    let missing = || SavedGameError::Game("no game has this position".to_owned());
    let state = rules.state(&game.start).ok_or_else(missing)?;
    let mut nodes = vec![Node { before: None, state }];
    add_line(&rules, &mut nodes, 0, &game.line)?;
    Ok((rules, nodes))
}

/// Adds the positions of a line after the one with a number.
fn add_line(
    rules: &ChineseCheckers,
    nodes: &mut Vec<Node>,
    mut last: usize,
    line: &MoveLine,
) -> Result<(), SavedGameError> {
    for mv in &line.moves {
        let (before, mut state) = (last, nodes[last].state);
        rules.play_action(&mut state, mv.action);
        last = nodes.len();
        nodes.push(Node { before: Some((before, mv.action)), state });
        if nodes.len() > MAX_POSITIONS {
            return Err(SavedGameError::TooLong);
        }
        for variation in &mv.variations {
            add_line(rules, nodes, before, variation)?;
        }
    }
    Ok(())
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
        assert_eq!((saved.positions(), data["positions"].as_array().unwrap().len()), (8, 7));
        let mut known = HashSet::new();
        let states = saved.nodes.iter().map(|node| &node.state);
        let states = states.filter(|state| known.insert(saved.rules.position(state).to_string()));
        for (state, row) in states.zip(data["positions"].as_array().unwrap()) {
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
    fn searches_follow_the_line_to_their_position() {
        // The last move of the main line makes a position occur for the third time; the variation reaches the position
        // before it with another history.
        let text = "[Start \"2x1/3x/3x/ooo1 o 10\"]\n[Rules \"blocked-goal\"]\n\n\
            a1-a2 d3-d1 a2-a1 d1-d3 (c4-c3 a1-a2) a1-a2 d3-d1 (d3-d4) a2-a1 *";
        let game: AnnotatedGame = text.parse().unwrap();
        let mut saved = SavedGame::new(&game, None).unwrap();
        assert_eq!(saved.positions(), 11);
        let config = sternhalma_engine::Roster::built_in().config("sternhalma,table_megabytes=1").unwrap();
        let distances = sternhalma_engine::Distances::estimated(saved.rules.board());
        let player = config.prepare(saved.rules.setup(), Some(&distances)).unwrap();
        let player = player.start(&sternhalma_ggp::MemoryBudget::unlimited()).unwrap();
        saved.search(player, 1, Limits::expansions(5000), &AtomicBool::new(false), &mut || ());
        let data = data(&saved.page().unwrap());
        let searches = data["searches"].as_array().unwrap();
        let value = |node: usize| {
            let found = searches.iter().find(|search| search["node"] == node);
            found.map(|search| search["info"]["value"].clone())
        };
        let at = |node: usize| saved.rules.position(&saved.nodes[node].state).to_string();
        assert_eq!(at(10), "2x1/4/3x/ooox x 17");
        // Without the game, `d1-d3` would win.
        assert_eq!(value(10).unwrap()["value"], 0.0, "{searches:?}");
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

    /// Returns a page without its nonce, which depends on the record.
    fn without_nonce(page: &str) -> String {
        let (_, rest) = page.split_once("'nonce-").unwrap();
        let (nonce, _) = rest.split_once('\'').unwrap();
        page.replace(nonce, "")
    }

    proptest! {
        #[test]
        fn no_text_of_a_record_is_markup(tag in "[ -~\u{a0}-\u{2fff}]*", comment in "(<!--|</script>|<script|[ -~\n])*") {
            let mut game: AnnotatedGame = RECORD.parse().unwrap();
            game.set_tag("Event", tag.as_str());
            game.line.comments = vec![comment];
            let page = without_nonce(&SavedGame::new(&game, None).unwrap().page().unwrap());
            let (before, rest) = page.split_once(" id=\"data\">").unwrap();
            let (data, after) = rest.split_once("</script>").unwrap();
            prop_assert!(!data.contains('<'));
            let parsed: Value = serde_json::from_str(data).unwrap();
            prop_assert_eq!(&parsed["record"]["tags"][0][1], &Value::from(tag));
            prop_assert_eq!(&parsed["record"]["comments"][0], &Value::from(game.line.comments[0].as_str()));
            // The rest of the page does not depend on the record.
            let plain: AnnotatedGame = RECORD.parse().unwrap();
            let plain = without_nonce(&SavedGame::new(&plain, None).unwrap().page().unwrap());
            prop_assert!(plain.starts_with(before) && plain.ends_with(after));
        }
    }
}
