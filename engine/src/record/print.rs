//! Printing of recorded games.

use std::fmt::{self, Write};

use sternhalma_data::{Geometry, Position, Side};

use super::game::{AnnotatedGame, AnnotatedMove, MoveInfo, MoveLine, RULE_SET, result_text};
use crate::players::SearchValue;
use crate::protocol::ugi::action_text;
use crate::rules::board_of;

/// The length of the lines of moves.
const WIDTH: usize = 80;

/// Prints the game in the format of `docs/reference/game-records.md`, which ends with a
/// line break.
impl fmt::Display for AnnotatedGame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for tag in self.tags() {
            print_tag(f, tag.name(), tag.value())?;
        }
        print_tag(f, "Result", result_text(self.result))?;
        print_tag(f, "RuleSet", RULE_SET)?;
        if !self.rules.is_paper() {
            print_tag(f, "Rules", self.rules.stored_name())?;
        }
        print_tag(f, "Size", &self.start.geometry().size().to_string())?;
        print_tag(f, "Pieces", &self.start.army(Side::X).len().to_string())?;
        if !board_of(&self.start).is_ok_and(|board| Position::initial(board) == self.start) {
            print_tag(f, "Start", &self.start.to_string())?;
        }
        print_tag(f, "PlyLimit", &self.ply_limit.to_string())?;
        let mut words = Words { geometry: self.start.geometry(), text: String::new(), column: 0 };
        words.line(&self.line, self.start.side_to_move(), self.start.ply());
        words.push(result_text(self.result));
        writeln!(f, "\n{}", words.text)
    }
}

fn print_tag(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    writeln!(f, "[{name} \"{}\"]", escaped(value, '"').replace('\n', "\\n"))
}

/// Returns a text with a backslash before each backslash and each `end`.
fn escaped(text: &str, end: char) -> String {
    text.replace('\\', "\\\\").replace(end, &format!("\\{end}"))
}

/// Text that is broken into lines between its words.
struct Words<'a> {
    geometry: &'a Geometry,
    text: String,
    /// The length of the last line.
    column: usize,
}

impl Words<'_> {
    fn push(&mut self, word: &str) {
        let first = word.lines().next().unwrap_or_default().chars().count();
        if self.column > 0 && !self.text.ends_with('(') {
            let breaks = self.column + 1 + first > WIDTH;
            self.text.push(if breaks { '\n' } else { ' ' });
            self.column = if breaks { 0 } else { self.column + 1 };
        }
        self.text += word;
        match word.rsplit_once('\n') {
            None => self.column += first,
            Some((_, last)) => self.column = last.chars().count(),
        }
    }

    /// Adds moves; `side` plays the first one at a ply.
    fn line(&mut self, line: &MoveLine, mut side: Side, start: u32) {
        self.comments(&line.comments);
        // A move of `o` has a number only if it does not follow the one of `x`.
        let mut numbered = false;
        for (played, mv) in (0..).zip(&line.moves) {
            let ply = start.saturating_add(played);
            let number = ply / 2 + 1;
            match side {
                Side::X => self.push(&format!("{number}.")),
                Side::O if !numbered => self.push(&format!("{number}...")),
                Side::O => {}
            }
            self.push(&action_text(self.geometry, mv.action));
            self.annotations(mv, side, ply);
            numbered = side == Side::X && mv.comments.is_empty() && mv.variations.is_empty();
            side = side.other();
        }
    }

    fn annotations(&mut self, mv: &AnnotatedMove, side: Side, ply: u32) {
        let info = info_text(&mv.info);
        if !info.is_empty() {
            self.push(&format!("<{info}>"));
        }
        self.comments(&mv.comments);
        for variation in &mv.variations {
            self.push("(");
            self.line(variation, side, ply);
            self.text.push(')');
            self.column += 1;
        }
    }

    fn comments(&mut self, comments: &[String]) {
        comments.iter().for_each(|comment| self.push(&format!("{{{}}}", escaped(comment, '}'))));
    }
}

fn info_text(info: &MoveInfo) -> String {
    let mut text = String::new();
    let mut add = |key: &str, value: &dyn fmt::Display| {
        let blank = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{blank}{key}={value}");
    };
    match info.score {
        None => {}
        Some(SearchValue::Lead(lead)) => add("score", &format_args!("{lead:+}")),
        Some(SearchValue::Reward(reward)) => add("reward", &format_args!("{reward:+}")),
        Some(SearchValue::Won(plies)) => add("score", &format_args!("#{plies}")),
        Some(SearchValue::Lost(plies)) => add("score", &format_args!("-#{plies}")),
    }
    if let Some(depth) = info.depth {
        add("depth", &depth);
    }
    if let Some(nodes) = info.nodes {
        add("nodes", &nodes);
    }
    if let Some(time) = info.time {
        let decimals = format!("{:09}", time.subsec_nanos());
        let (milliseconds, rest) = decimals.split_at(3);
        add("time", &format_args!("{}.{milliseconds}{}", time.as_secs(), rest.trim_end_matches('0')));
    }
    info.others.iter().for_each(|(key, value)| add(key, value));
    text
}
