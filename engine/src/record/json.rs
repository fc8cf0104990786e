//! Recorded games as JSON.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sternhalma_data::{Geometry, Position, RuleSet};

use super::error::RecordError;
use super::game::{
    AnnotatedGame, AnnotatedMove, DERIVED_TAGS, MoveInfo, MoveLine, Tag, is_name, parse_result, parse_start,
    result_text,
};
use crate::players::SearchValue;
use crate::protocol::ugi::{PASS, action_text};
use crate::rules::{Action, PLY_LIMIT};

/// A recorded game as JSON.
///
/// ```
/// use sternhalma_engine::record::{AnnotatedGame, JsonGame};
///
/// let game: AnnotatedGame = "[Size \"5\"]\n[Pieces \"1\"]\n\n1. a1-b1 {quiet} *".parse()?;
/// let json = serde_json::to_value(JsonGame::from(&game))?;
/// assert_eq!(json["game"][0]["comments"][0], "quiet");
/// let same: JsonGame = serde_json::from_value(json)?;
/// assert_eq!(AnnotatedGame::try_from(&same)?, game);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonGame {
    /// The names and values of the tags that do not follow from the other fields.
    #[serde(default)]
    pub tags: Vec<(String, String)>,
    /// The position before the first move.
    pub position: String,
    /// The rule set; `paper` if it is left out.
    #[serde(default = "RuleSet::unnamed", skip_serializing_if = "RuleSet::is_paper")]
    pub rules: RuleSet,
    /// The ply at which the game is a draw.
    #[serde(default = "default_ply_limit")]
    pub ply_limit: u32,
    /// The comments before the first move.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<String>,
    /// The moves.
    pub game: Vec<JsonMove>,
    /// The result: `1-0`, `0-1`, `1/2-1/2`, or `*` for an unfinished game.
    #[serde(default = "unfinished")]
    pub result: String,
}

/// A move of a [`JsonGame`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonMove {
    /// The move, or `pass`.
    #[serde(rename = "move")]
    pub mv: String,
    /// The value for the player that moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<JsonValue>,
    /// The depth of the search, in plies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The number of node expansions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// The time that the player used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Other keys and values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<(String, String)>,
    /// The comments after the move.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<String>,
    /// Lines that start with another move in place of this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variations: Vec<JsonLine>,
}

/// A variation of a [`JsonGame`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonLine {
    /// The comments before the first move.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<String>,
    /// The moves.
    pub game: Vec<JsonMove>,
}

/// The value of a state: its kind and its number.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum JsonValue {
    /// The mean reward of Monte-Carlo search, from -1 (lost) to 1 (won).
    Reward(f64),
    /// The lead in moves.
    Lead(f64),
    /// A proven win in a number of plies.
    Won(u32),
    /// A proven loss in a number of plies.
    Lost(u32),
}

/// The reason why JSON is not a recorded game.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonGameError {
    /// A field is invalid.
    #[error("{0}")]
    Field(String),
    /// The game is invalid. The place is that in its text.
    #[error("as text, {0}")]
    Record(#[from] RecordError),
    /// The data of a move cannot be printed.
    #[error(
        "expected names without a field of their own as keys of `data`, and values without blanks and ()[]{{}}<>\""
    )]
    Data,
}

fn default_ply_limit() -> u32 {
    PLY_LIMIT
}

fn unfinished() -> String {
    result_text(None).to_owned()
}

impl From<SearchValue> for JsonValue {
    fn from(value: SearchValue) -> JsonValue {
        match value {
            SearchValue::Reward(reward) => JsonValue::Reward(reward),
            SearchValue::Lead(lead) => JsonValue::Lead(lead),
            SearchValue::Won(plies) => JsonValue::Won(plies),
            SearchValue::Lost(plies) => JsonValue::Lost(plies),
        }
    }
}

impl From<JsonValue> for SearchValue {
    fn from(value: JsonValue) -> SearchValue {
        match value {
            JsonValue::Reward(reward) => SearchValue::Reward(reward),
            JsonValue::Lead(lead) => SearchValue::Lead(lead),
            JsonValue::Won(plies) => SearchValue::Won(plies),
            JsonValue::Lost(plies) => SearchValue::Lost(plies),
        }
    }
}

impl From<&AnnotatedGame> for JsonGame {
    fn from(game: &AnnotatedGame) -> JsonGame {
        JsonGame {
            tags: game.tags().iter().map(|tag| (tag.name.clone(), tag.value.clone())).collect(),
            position: game.start.to_string(),
            rules: game.rules,
            ply_limit: game.ply_limit,
            comments: game.line.comments.clone(),
            game: json_moves(game.start.geometry(), &game.line),
            result: result_text(game.result).to_owned(),
        }
    }
}

fn json_moves(geometry: &Geometry, line: &MoveLine) -> Vec<JsonMove> {
    let variation = |line: &MoveLine| JsonLine { comments: line.comments.clone(), game: json_moves(geometry, line) };
    let json = |mv: &AnnotatedMove| JsonMove {
        mv: action_text(geometry, mv.action),
        value: mv.info.score.map(JsonValue::from),
        depth: mv.info.depth,
        nodes: mv.info.nodes,
        seconds: mv.info.time.map(|time| time.as_secs_f64()),
        data: mv.info.others.clone(),
        comments: mv.comments.clone(),
        variations: mv.variations.iter().map(variation).collect(),
    };
    line.moves.iter().map(json).collect()
}

/// Checks everything that the parser of the text checks, including that all moves are legal.
impl TryFrom<&JsonGame> for AnnotatedGame {
    type Error = JsonGameError;

    fn try_from(json: &JsonGame) -> Result<AnnotatedGame, JsonGameError> {
        let (start, _) = parse_start(&json.position).map_err(JsonGameError::Field)?;
        let result = parse_result(&json.result).ok_or_else(|| {
            JsonGameError::Field(format!("expected the result `1-0`, `0-1`, `1/2-1/2` or `*`, got `{}`", json.result))
        })?;
        let tags = json.tags.iter().map(|(name, value)| tag(name, value)).collect::<Result<_, _>>()?;
        let moves = moves(&start, &json.game)?;
        let line = MoveLine { comments: json.comments.clone(), moves };
        let game = AnnotatedGame { tags, rules: json.rules, ply_limit: json.ply_limit, line, result, start };
        // The parser checks the rest. Data with marks of the format changes the structure.
        match game.to_string().parse::<AnnotatedGame>()? {
            parsed if parsed == game => Ok(game),
            _ => Err(JsonGameError::Data),
        }
    }
}

fn tag(name: &str, value: &str) -> Result<Tag, JsonGameError> {
    if !is_name(name) || DERIVED_TAGS.contains(&name) {
        return Err(JsonGameError::Field(format!("`{name}` is not the name of a free tag")));
    }
    Ok(Tag { name: name.to_owned(), value: value.to_owned() })
}

fn moves(start: &Position, line: &[JsonMove]) -> Result<Vec<AnnotatedMove>, JsonGameError> {
    line.iter().map(|json| annotated(start, json)).collect()
}

fn annotated(start: &Position, json: &JsonMove) -> Result<AnnotatedMove, JsonGameError> {
    let field = |error: String| JsonGameError::Field(error);
    let variation =
        |line: &JsonLine| Ok(MoveLine { comments: line.comments.clone(), moves: moves(start, &line.game)? });
    let info = MoveInfo {
        time: json.seconds.map(time).transpose()?,
        score: json.value.map(SearchValue::from),
        depth: json.depth,
        nodes: json.nodes,
        others: json.data.clone(),
    };
    Ok(AnnotatedMove {
        action: action(start.geometry(), &json.mv).map_err(field)?,
        info,
        comments: json.comments.clone(),
        variations: json.variations.iter().map(variation).collect::<Result<_, JsonGameError>>()?,
    })
}

fn action(geometry: &Geometry, text: &str) -> Result<Action, String> {
    if text == PASS {
        return Ok(None);
    }
    geometry.parse_move(text).map(Some).map_err(|error| error.to_string())
}

fn time(seconds: f64) -> Result<Duration, JsonGameError> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| JsonGameError::Field(format!("expected seconds ≥ 0, got {seconds}")))
}
