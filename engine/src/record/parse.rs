//! Parsing of recorded games.

use std::str::FromStr;
use std::time::Duration;

use sternhalma_data::{Board, Position, RuleSet};
use sternhalma_ggp::Game;

use super::cursor::{Cursor, excerpt};
use super::error::{RecordError, RecordFault};
use super::game::{
    AnnotatedGame, AnnotatedMove, DERIVED_TAGS, MoveInfo, MoveLine, RULE_SET, Tag, is_name, parse_result, parse_start,
    result_text,
};
use crate::players::SearchValue;
use crate::protocol::ugi::{UgiError, legal_action};
use crate::rules::{ChineseCheckers, Filter, GameSetup, GameState, Outcome, PLY_LIMIT, Repetitions};

/// The maximum nesting depth of variations.
pub const MAX_NESTING: usize = 32;

/// The maximum number of keys of a move that have no field in [`MoveInfo`].
const MAX_KEYS: usize = 32;

/// The longest text of a move: a pass, or two cells such as `k11-k10`.
const LONGEST_MOVE: usize = 7;

impl FromStr for AnnotatedGame {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<AnnotatedGame, RecordError> {
        let mut parser = Parser { cursor: Cursor::new(text) };
        let game = parser.game()?;
        parser.cursor.skip_blanks();
        match parser.cursor.peek() {
            None => Ok(game),
            Some(_) => Err(parser.cursor.expected("the end of the text after the result")),
        }
    }
}

struct Parser<'a> {
    cursor: Cursor<'a>,
}

/// A tag, and the place of its value.
struct PlacedTag<'a> {
    place: Cursor<'a>,
    name: &'a str,
    value: String,
}

/// The start and the rules of a game, according to its tags.
struct Setup {
    rules: ChineseCheckers,
    start: Position,
    state: GameState,
    /// The result in the tag `Result`.
    result: Option<Option<Outcome>>,
}

impl<'a> Parser<'a> {
    fn game(&mut self) -> Result<AnnotatedGame, RecordError> {
        let tags = self.tags()?;
        let setup = setup(&tags, self.cursor)?;
        let mut played = Repetitions::new(&setup.rules, &setup.state);
        let (line, end) = self.line(&setup.rules, setup.state, 0, &mut played)?;
        let place = self.cursor;
        let result = parse_result(self.word()).ok_or_else(|| place.expected("a move, a comment or a result"))?;
        let drawn = || played.is_over().then_some(Outcome::Draw);
        // `*` is always allowed, also after moves that end the game. Any other result agrees with the tag and the moves.
        let by_rules = end.outcome().or_else(drawn).filter(|_| result.is_some()).map(Some);
        for (other, source_of_other) in [(setup.result, "the tag `Result` is"), (by_rules, "the moves end with")] {
            if let Some(other) = other.filter(|&other| other != result) {
                let [found, other] = [result, other].map(result_text);
                return Err(place.error(RecordFault::Result { found, source_of_other, other }));
            }
        }
        let (rules, ply_limit) = (setup.rules.rules(), setup.rules.ply_limit());
        let free = tags.into_iter().filter(|tag| !DERIVED_TAGS.contains(&tag.name));
        let tags = free.map(|tag| Tag { name: tag.name.to_owned(), value: tag.value }).collect();
        Ok(AnnotatedGame { tags, rules, ply_limit, line, result, ..AnnotatedGame::new(setup.start) })
    }

    /// Parses the lines `[Name "value"]`.
    fn tags(&mut self) -> Result<Vec<PlacedTag<'a>>, RecordError> {
        let mut tags: Vec<PlacedTag<'a>> = Vec::new();
        let mut names = std::collections::BTreeSet::new();
        loop {
            self.cursor.skip_blanks();
            if !self.cursor.eat('[') {
                return Ok(tags);
            }
            self.cursor.skip_blanks();
            let place = self.cursor;
            let name = self.cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
            if !is_name(name) {
                return Err(place.expected("the name of a tag"));
            }
            if !names.insert(name) {
                return Err(place.error(RecordFault::TagTwice(excerpt(name))));
            }
            self.cursor.skip_blanks();
            let place = self.cursor;
            if !self.cursor.eat('"') {
                return Err(place.expected("a value in quotes"));
            }
            let value = self.escaped('"').ok_or_else(|| place.error(RecordFault::Unclosed("the value of the tag")))?;
            self.cursor.skip_blanks();
            if !self.cursor.eat(']') {
                return Err(self.cursor.expected("`]`"));
            }
            tags.push(PlacedTag { place, name, value });
        }
    }

    /// Consumes text up to a character, and that character. After a backslash,
    /// `n` is a line break, and any other character is itself. Returns `None`
    /// if the text ends before the character.
    fn escaped(&mut self, end: char) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.cursor.bump()? {
                next if next == end => return Some(text),
                '\\' => text.push(match self.cursor.bump()? {
                    'n' => '\n',
                    next => next,
                }),
                next => text.push(next),
            }
        }
    }

    /// Consumes the characters up to a blank or a mark of the format.
    fn word(&mut self) -> &'a str {
        self.cursor.take_while(|c| !c.is_whitespace() && !"()[]{}<>\"".contains(c))
    }

    /// Parses moves up to a result, `)` or the end of the text, which are left.
    /// Returns the moves and the state after them. `played` has the states of the
    /// game up to `state`, and then those of these moves too.
    fn line(
        &mut self,
        rules: &ChineseCheckers,
        mut state: GameState,
        depth: usize,
        played: &mut Repetitions,
    ) -> Result<(MoveLine, GameState), RecordError> {
        let mut line = MoveLine::default();
        let mut before = state;
        loop {
            self.cursor.skip_blanks();
            let place = self.cursor;
            match self.cursor.peek() {
                Some('{') => {
                    self.cursor.bump();
                    let text = self.escaped('}').ok_or_else(|| place.error(RecordFault::Unclosed("the comment")))?;
                    line.moves.last_mut().map_or(&mut line.comments, |last| &mut last.comments).push(text);
                }
                Some('<') => {
                    let last = line.moves.last_mut();
                    let last = last.ok_or_else(|| place.error(RecordFault::BeforeFirstMove("move data")))?;
                    self.info(&mut last.info)?;
                }
                Some('(') => {
                    let last = line.moves.last_mut();
                    let last = last.ok_or_else(|| place.error(RecordFault::BeforeFirstMove("a variation")))?;
                    last.variations.push(self.variation(rules, before, depth + 1, played)?);
                }
                None | Some(')' | '[' | ']' | '}' | '>' | '"') => return Ok((line, state)),
                Some(_) => {
                    let word = self.word();
                    if parse_result(word).is_some() {
                        self.cursor = place;
                        return Ok((line, state));
                    }
                    let text = without_number(word);
                    if text.is_empty() {
                        continue;
                    }
                    if text.len() > LONGEST_MOVE {
                        return Err(place.expected("a move such as `c1-e3`"));
                    }
                    if played.is_over() {
                        return Err(place.error(UgiError::after_repetition(text, state.ply())));
                    }
                    let action = legal_action(rules, &state, text).map_err(|error| place.error(error))?;
                    before = state;
                    rules.play_action(&mut state, action);
                    played.push(rules, &state);
                    line.moves.push(AnnotatedMove::new(action, MoveInfo::default()));
                }
            }
        }
    }

    /// Parses a variation in parentheses, which starts at a state. `played` has the
    /// states up to this one and the next of the game.
    fn variation(
        &mut self,
        rules: &ChineseCheckers,
        state: GameState,
        depth: usize,
        played: &Repetitions,
    ) -> Result<MoveLine, RecordError> {
        let place = self.cursor;
        if depth > MAX_NESTING {
            return Err(place.error(RecordFault::Nesting(MAX_NESTING)));
        }
        self.cursor.bump();
        let mut played = played.clone();
        played.truncate(played.len().saturating_sub(1));
        let (line, _) = self.line(rules, state, depth, &mut played)?;
        match self.cursor.peek() {
            None => Err(place.error(RecordFault::Unclosed("the variation"))),
            Some(')') if !line.moves.is_empty() => {
                self.cursor.bump();
                Ok(line)
            }
            Some(_) => Err(self.cursor.expected("a move or a comment of the variation")),
        }
    }

    /// Parses the data of a move: `<key=value …>`.
    fn info(&mut self, info: &mut MoveInfo) -> Result<(), RecordError> {
        let opened = self.cursor;
        self.cursor.bump();
        loop {
            self.cursor.skip_blanks();
            let place = self.cursor;
            match self.cursor.peek() {
                None => return Err(opened.error(RecordFault::Unclosed("the move data"))),
                Some('>') => {
                    self.cursor.bump();
                    return Ok(());
                }
                Some(_) => {}
            }
            let word = self.word();
            let pair = word.split_once('=').filter(|(key, value)| is_name(key) && !value.is_empty());
            let (key, value) = pair.ok_or_else(|| place.expected("`key=value` or `>`"))?;
            set_info(info, key, value)
                .map_err(|why| place.error(RecordFault::MoveData { text: excerpt(word), why }))?;
        }
    }
}

/// Sets one value of the data of a move.
fn set_info(info: &mut MoveInfo, key: &str, value: &str) -> Result<(), &'static str> {
    let twice = match key {
        "time" => info.time.is_some(),
        "score" | "reward" => info.score.is_some(),
        "depth" => info.depth.is_some(),
        "nodes" => info.nodes.is_some(),
        _ => info.others.iter().any(|(other, _)| other == key),
    };
    if twice {
        return Err("the value is given twice");
    }
    match key {
        "time" => info.time = Some(parse_time(value).ok_or("expected seconds, such as `0.250`")?),
        "score" => info.score = Some(parse_score(value).ok_or("expected a lead such as `+1.5`, or `#5` or `-#5`")?),
        "reward" => {
            let reward = parse_finite(value).ok_or("expected a number")?;
            info.score = Some(SearchValue::Reward(reward));
        }
        "depth" => info.depth = Some(value.parse().map_err(|_| "expected a number of plies")?),
        "nodes" => info.nodes = Some(value.parse().map_err(|_| "expected a number")?),
        _ if info.others.len() == MAX_KEYS => return Err("a move has at most 32 other keys"),
        _ => info.others.push((key.to_owned(), value.to_owned())),
    }
    Ok(())
}

fn parse_finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Parses seconds with up to nine decimals.
fn parse_time(text: &str) -> Option<Duration> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 9 {
        return None;
    }
    Some(Duration::new(whole.parse().ok()?, format!("{decimals:0<9}").parse().ok()?))
}

/// Parses a lead, or the plies to a win or a loss.
fn parse_score(text: &str) -> Option<SearchValue> {
    if let Some(plies) = text.strip_prefix("-#") {
        return Some(SearchValue::Lost(plies.parse().ok()?));
    }
    match text.strip_prefix('#') {
        Some(plies) => Some(SearchValue::Won(plies.parse().ok()?)),
        None => parse_finite(text).map(SearchValue::Lead),
    }
}

/// Returns a word without its move number: `12.c1-e3` is `c1-e3`.
fn without_number(word: &str) -> &str {
    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == word.len() || !rest.starts_with('.') { word } else { rest.trim_start_matches('.') }
}

/// Returns the start and the rules of a game. `end` is the place after the
/// tags.
fn setup(tags: &[PlacedTag<'_>], end: Cursor<'_>) -> Result<Setup, RecordError> {
    let tag = |name: &str| tags.iter().find(|tag| tag.name == name);
    let invalid =
        |tag: &PlacedTag<'_>, why: String| tag.place.error(RecordFault::TagValue { name: tag.name.to_owned(), why });
    let number = |name: &str| {
        let parse = |tag: &PlacedTag<'_>| {
            let error = |_| invalid(tag, format!("expected a number, got `{}`", excerpt(&tag.value)));
            tag.value.parse::<u32>().map_err(error)
        };
        tag(name).map(parse).transpose()
    };
    if let Some(tag) = tag("RuleSet").filter(|tag| tag.value != RULE_SET) {
        return Err(invalid(tag, format!("the rules `{}` are unknown; expected `{RULE_SET}`", excerpt(&tag.value))));
    }
    let rule_set = |tag: &PlacedTag<'_>| {
        RuleSet::from_stored(excerpt(&tag.value).as_ref()).map_err(|error| invalid(tag, error.to_string()))
    };
    let rule_set = tag("Rules").map(rule_set).transpose()?.unwrap_or(RuleSet::unnamed());
    let (size, pieces) = (number("Size")?, number("Pieces")?);
    let (start, board) = match (tag("Start"), size, pieces) {
        (Some(tag), ..) => parse_start(&tag.value).map_err(|why| invalid(tag, why))?,
        (None, Some(size), Some(pieces)) => {
            let board = Board::new(size.into(), pieces.into()).and_then(Board::for_two);
            let place = tag("Pieces").expect("the tag has a value");
            let board = board.map_err(|error| invalid(place, error.to_string()))?;
            (Position::initial(board), board)
        }
        _ => return Err(end.error(RecordFault::NoBoard)),
    };
    for (name, given, found) in [("Size", size, board.size()), ("Pieces", pieces, board.pieces())] {
        if let (Some(tag), Some(given)) = (tag(name), given)
            && given as usize != found
        {
            return Err(invalid(tag, format!("expected {found}, as in the tag `Start`, got {given}")));
        }
    }
    let result = |tag: &PlacedTag<'_>| {
        let expected = "expected `1-0`, `0-1`, `1/2-1/2` or `*`";
        parse_result(&tag.value).ok_or_else(|| invalid(tag, format!("{expected}, got `{}`", excerpt(&tag.value))))
    };
    let result = tag("Result").map(result).transpose()?;
    let ply_limit = number("PlyLimit")?.unwrap_or(PLY_LIMIT);
    let rules = ChineseCheckers::of(GameSetup { board, rules: rule_set, ply_limit }, Filter::All);
    let state = rules.state(&start).unwrap_or_else(|| rules.initial());
    Ok(Setup { rules, start, state, result })
}
