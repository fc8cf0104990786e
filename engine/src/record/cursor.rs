//! A place in a text, with its line and column.

use super::error::{RecordError, RecordFault};

/// The number of characters of the text that an error shows.
const SHOWN: usize = 24;

/// The rest of a text, and the place where it begins.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a str,
    line: usize,
    column: usize,
}

impl<'a> Cursor<'a> {
    /// Returns a cursor at the beginning of a text. A byte order mark is
    /// skipped.
    pub fn new(text: &'a str) -> Cursor<'a> {
        Cursor { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1, column: 1 }
    }

    /// Returns the next character.
    pub fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Consumes and returns the next character.
    pub fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        (self.line, self.column) = if next == '\n' { (self.line + 1, 1) } else { (self.line, self.column + 1) };
        Some(next)
    }

    /// Consumes a character and returns whether it was the next one.
    pub fn eat(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.bump();
        }
        found
    }

    /// Consumes and returns the characters that pass a test.
    pub fn take_while(&mut self, test: impl Fn(char) -> bool) -> &'a str {
        let text = self.rest;
        while self.peek().is_some_and(&test) {
            self.bump();
        }
        &text[..text.len() - self.rest.len()]
    }

    /// Consumes blanks and line breaks.
    pub fn skip_blanks(&mut self) {
        self.take_while(char::is_whitespace);
    }

    /// Returns an error at this place.
    pub fn error(&self, fault: impl Into<RecordFault>) -> RecordError {
        RecordError { line: self.line, column: self.column, fault: fault.into() }
    }

    /// Returns an error that shows the expected text and the next word.
    pub fn expected(&self, expected: impl Into<String>) -> RecordError {
        let word = self.rest.split_whitespace().next().filter(|_| !self.rest.starts_with(char::is_whitespace));
        let found = match word {
            None if self.rest.is_empty() => "the end of the text".to_owned(),
            None => "a blank".to_owned(),
            Some(word) => format!("`{}`", excerpt(word)),
        };
        self.error(RecordFault::Unexpected { expected: expected.into(), found })
    }
}

/// Returns the beginning of a text.
pub(super) fn excerpt(text: &str) -> String {
    let shown: String = text.chars().take(SHOWN).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() { shown + "…" } else { shown }
}
