//! The parts of a recorded game.

use std::time::Duration;

use sternhalma_data::{Board, NotationError, Position, RuleSet, Side};

use crate::players::{SearchInfo, SearchValue};
use crate::rules::{Action, Outcome, PLY_LIMIT, board_of};

/// The name of the board in the tag `RuleSet`. Tables have the same name.
pub const RULE_SET: &str = "diamond";

/// The names of the tags that follow from other parts of a game.
pub(super) const DERIVED_TAGS: [&str; 7] = ["Result", "RuleSet", "Rules", "Size", "Pieces", "Start", "PlyLimit"];

/// A game with tags, comments and variations. All moves of a parsed game are
/// legal.
#[derive(Clone, PartialEq, Debug)]
pub struct AnnotatedGame {
    /// The tags, in order, except those that follow from the other fields.
    pub(super) tags: Vec<Tag>,
    /// The position before the first move.
    pub start: Position,
    /// The rule set.
    pub rules: RuleSet,
    /// The ply at which the game is a draw.
    pub ply_limit: u32,
    /// The moves of the game.
    pub line: MoveLine,
    /// The result, or `None` if the game is unfinished.
    pub result: Option<Outcome>,
}

/// A named text about a game, such as the name of a player.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tag {
    pub(super) name: String,
    pub(super) value: String,
}

/// A sequence of moves: the game itself, or a variation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MoveLine {
    /// The comments before the first move.
    pub comments: Vec<String>,
    /// The moves.
    pub moves: Vec<AnnotatedMove>,
}

/// A move with its data, comments and alternatives.
#[derive(Clone, PartialEq, Debug)]
pub struct AnnotatedMove {
    /// The move, or a pass.
    pub action: Action,
    /// The data of the move.
    pub info: MoveInfo,
    /// The comments after the move.
    pub comments: Vec<String>,
    /// Lines that start with another move in place of this one.
    pub variations: Vec<MoveLine>,
}

/// Data about the choice of a move.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MoveInfo {
    /// The time that the player used.
    pub time: Option<Duration>,
    /// The value for the player that moves.
    pub score: Option<SearchValue>,
    /// The depth of the search, in plies.
    pub depth: Option<u32>,
    /// The number of node expansions.
    pub nodes: Option<u64>,
    /// Other keys and values, in order. The values contain no blanks and none
    /// of `()[]{}<>"`.
    pub others: Vec<(String, String)>,
}

impl Tag {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the value.
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl AnnotatedGame {
    /// Returns an unfinished game without tags and moves, with the rules of a record that names none.
    pub fn new(start: Position) -> AnnotatedGame {
        let (rules, ply_limit) = (RuleSet::unnamed(), PLY_LIMIT);
        AnnotatedGame { tags: Vec::new(), start, rules, ply_limit, line: MoveLine::default(), result: None }
    }

    /// Returns the tags, in order. The tags `Result`, `RuleSet`, `Rules`,
    /// `Size`, `Pieces`, `Start` and `PlyLimit` follow from the other parts of the
    /// game and are not among them.
    pub fn tags(&self) -> &[Tag] {
        &self.tags
    }

    /// Returns the value of a tag.
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.tags.iter().find(|tag| tag.name == name).map(|tag| tag.value.as_str())
    }

    /// Sets a tag. A new tag is added at the end.
    ///
    /// # Panics
    ///
    /// Panics if the name is not a letter followed by letters, digits and `_`,
    /// or if the tag follows from other parts of the game.
    pub fn set_tag(&mut self, name: &str, value: impl Into<String>) {
        assert!(is_name(name) && !DERIVED_TAGS.contains(&name), "`{name}` is not the name of a free tag");
        let value = value.into();
        match self.tags.iter_mut().find(|tag| tag.name == name) {
            Some(tag) => tag.value = value,
            None => self.tags.push(Tag { name: name.to_owned(), value }),
        }
    }
}

impl AnnotatedMove {
    /// Returns a move without comments and variations.
    pub fn new(action: Action, info: MoveInfo) -> AnnotatedMove {
        AnnotatedMove { action, info, comments: Vec::new(), variations: Vec::new() }
    }
}

/// Rounds times to milliseconds and scores to hundredths.
impl From<&SearchInfo> for MoveInfo {
    fn from(info: &SearchInfo) -> MoveInfo {
        let rounded = |value: f64| (100.0 * value).round() / 100.0;
        let score = info.value.map(|value| match value {
            SearchValue::Lead(lead) => SearchValue::Lead(rounded(lead)),
            SearchValue::Reward(reward) => SearchValue::Reward(rounded(reward)),
            proven => proven,
        });
        let counted = |count: u64| (count > 0).then_some(count);
        MoveInfo {
            time: Some(Duration::from_millis(info.spent.time.as_millis() as u64)),
            score,
            depth: counted(info.spent.depth.into()).map(|depth| depth as u32),
            nodes: counted(info.spent.expansions),
            others: Vec::new(),
        }
    }
}

/// Returns whether a text can name a tag or a key of move data.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns the text of a result.
pub(super) fn result_text(result: Option<Outcome>) -> &'static str {
    match result {
        Some(Outcome::Won(Side::X)) => "1-0",
        Some(Outcome::Won(Side::O)) => "0-1",
        Some(Outcome::Draw) => "1/2-1/2",
        None => "*",
    }
}

/// Returns the result with this text, or `None` if it is not a result.
pub(super) fn parse_result(text: &str) -> Option<Option<Outcome>> {
    let results = [Some(Outcome::Won(Side::X)), Some(Outcome::Won(Side::O)), Some(Outcome::Draw), None];
    results.into_iter().find(|&result| result_text(result) == text)
}

/// Parses a position for the tag `Start`.
pub(super) fn parse_start(text: &str) -> Result<(Position, Board), String> {
    let start: Position = text.parse().map_err(|error: NotationError| error.to_string())?;
    Ok((start, board_of(&start).map_err(|error| error.to_string())?))
}
