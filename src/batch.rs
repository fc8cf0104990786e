//! Commands that answer several questions: each argument, then each line of stdin. An invalid question is reported in
//! its place, and the others are answered.

use std::fmt::Display;
use std::io::{self, BufRead, BufReader, BufWriter, StdoutLock, Write};

use anyhow::{Context, Result};
use serde::Serialize;
use sternhalma_ggp::messages::{shorten_quotes, without_bom};

use crate::output::{CommandOutcome, print_error};

/// Answers questions of one kind.
pub trait Answerer {
    /// A parsed question.
    type Question;

    /// Parses a question.
    fn parse(&self, text: &str) -> Result<Self::Question>;

    /// Prints the answer. Returns whether there is an answer.
    fn answer(&mut self, question: Self::Question) -> Result<bool>;

    /// Prints that a question is invalid.
    fn invalid(&mut self, invalid: &Invalid<'_>) -> Result<()>;

    /// Flushes the printed answers.
    fn flush(&mut self) -> io::Result<()>;
}

/// An argument or a line of stdin that is not a question.
#[derive(Serialize)]
pub struct Invalid<'a> {
    /// The number of the argument, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    argument: Option<u64>,
    /// The number of the line of stdin, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    pub input: &'a str,
    pub error: String,
}

impl Invalid<'_> {
    /// Prints the error as text: of a line in its place on stdout, and of an argument on stderr.
    pub fn print_text(&self, out: &mut impl Write) -> Result<()> {
        match self.line {
            Some(line) => writeln!(out, "error: line {line}: {}", self.error)?,
            None => {
                out.flush()?;
                print_error(&self.error.replace(char::is_control, " "));
            }
        }
        Ok(())
    }
}

/// Answers the arguments, and then the lines of stdin if `stdin` is set. Flushes the answers whenever no further line is
/// waiting, so that a program can wait for an answer before its next line.
pub fn answer_all(answerer: &mut impl Answerer, arguments: &[String], stdin: bool) -> Result<CommandOutcome> {
    let mut tally = Tally::default();
    for (number, text) in (1..).zip(arguments) {
        tally.answer(answerer, Some(number), None, text)?;
    }
    if stdin {
        let mut input = BufReader::new(io::stdin().lock());
        let (mut line, mut number) = (Vec::new(), 0);
        while input.read_until(b'\n', &mut line).context("cannot read stdin")? > 0 {
            number += 1;
            let text = String::from_utf8_lossy(&line);
            let text = if number == 1 { without_bom(&text) } else { &text };
            let text = text.trim();
            let state = state_of_object(text);
            tally.answer(answerer, None, Some(number), state.as_deref().unwrap_or(text))?;
            line.clear();
            if !input.buffer().contains(&b'\n') {
                answerer.flush()?;
            }
        }
    }
    answerer.flush()?;
    Ok(match tally {
        Tally { invalid: true, .. } => CommandOutcome::SomeInvalid,
        Tally { missing: true, .. } => CommandOutcome::NotFound,
        _ => CommandOutcome::Answered,
    })
}

/// Returns the `state` of a JSON object, such as an answer of `query --format ndjson`.
fn state_of_object(line: &str) -> Option<String> {
    if !line.starts_with('{') {
        return None;
    }
    let object: serde_json::Value = serde_json::from_str(line).ok()?;
    object.get("state")?.as_str().map(str::to_owned)
}

/// Whether a question was invalid, or had no answer.
#[derive(Default)]
struct Tally {
    invalid: bool,
    missing: bool,
}

impl Tally {
    /// Answers one question.
    fn answer(
        &mut self,
        answerer: &mut impl Answerer,
        argument: Option<u64>,
        line: Option<u64>,
        text: &str,
    ) -> Result<()> {
        match answerer.parse(text) {
            Ok(question) => self.missing |= !answerer.answer(question)?,
            Err(error) => {
                self.invalid = true;
                let empty = if text.is_empty() { "empty text: " } else { "" };
                answerer.invalid(&Invalid {
                    argument,
                    line,
                    input: text,
                    error: shorten_quotes(&format!("{empty}{error:#}")),
                })?;
            }
        }
        Ok(())
    }
}

/// Prints answers as text or as one JSON object per line.
pub struct LinePrinter {
    json: bool,
    out: BufWriter<StdoutLock<'static>>,
}

impl LinePrinter {
    pub fn new(json: bool) -> LinePrinter {
        LinePrinter { json, out: BufWriter::new(io::stdout().lock()) }
    }

    /// Prints an answer.
    pub fn print(&mut self, value: &impl Serialize, text: impl Display) -> Result<()> {
        if self.json {
            writeln!(self.out, "{}", serde_json::to_string(value)?)?;
        } else {
            writeln!(self.out, "{text}")?;
        }
        Ok(())
    }

    /// Prints that a question is invalid.
    pub fn print_invalid(&mut self, invalid: &Invalid<'_>) -> Result<()> {
        if self.json { self.print(invalid, "") } else { invalid.print_text(&mut self.out) }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
