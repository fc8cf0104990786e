//! Lines from a terminal, with history and completion, or from a pipe.

use std::io::{self, BufRead, IsTerminal};

use anyhow::{Context, Result};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Editor, Helper};
use sternhalma_ggp::messages::without_bom;

use crate::output::print_line;

/// The source of a person's lines.
pub enum LineInput {
    Terminal(Box<Editor<WordCompleter, MemHistory>>),
    /// Plain lines of stdin, without prompts.
    Pipe,
}

impl LineInput {
    /// Returns whether a person sits at a terminal.
    pub fn is_terminal() -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    pub fn new() -> Result<LineInput> {
        if !LineInput::is_terminal() {
            return Ok(LineInput::Pipe);
        }
        let config = Config::builder().completion_type(CompletionType::List).auto_add_history(true).build();
        let mut editor = Editor::with_history(config, MemHistory::new()).context("cannot use the terminal")?;
        editor.set_helper(Some(WordCompleter { words: Vec::new() }));
        Ok(LineInput::Terminal(Box::new(editor)))
    }

    /// Returns the next line, or `None` at the end of the input. The terminal
    /// completes `words`.
    pub fn next(&mut self, prompt: &str, words: Vec<String>) -> Result<Option<String>> {
        let LineInput::Terminal(editor) = self else {
            let mut line = Vec::new();
            let read = io::stdin().lock().read_until(b'\n', &mut line).context("cannot read stdin")?;
            return Ok((read > 0).then(|| without_bom(&String::from_utf8_lossy(&line)).to_owned()));
        };
        if let Some(helper) = editor.helper_mut() {
            helper.words = words;
        }
        loop {
            match editor.readline(prompt) {
                Ok(line) => return Ok(Some(line)),
                Err(ReadlineError::Eof) => return Ok(None),
                Err(ReadlineError::Interrupted) => print_line("`quit` leaves the game")?,
                Err(error) => return Err(error).context("cannot read the terminal"),
            }
        }
    }
}

/// Completes a line to one of several words.
pub struct WordCompleter {
    words: Vec<String>,
}

/// Returns the words that begin with the typed text. Case, blanks and `-` do not
/// matter.
fn completions(words: &[String], typed: &str) -> Vec<String> {
    let plain = |text: &str| text.chars().filter(|c| !" -".contains(*c)).collect::<String>().to_ascii_lowercase();
    let typed = plain(typed);
    words.iter().filter(|word| plain(word).starts_with(&typed)).cloned().collect()
}

impl Completer for WordCompleter {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &rustyline::Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok((0, completions(&self.words, &line[..pos])))
    }
}

impl Hinter for WordCompleter {
    type Hint = String;
}

impl Highlighter for WordCompleter {}
impl Validator for WordCompleter {}
impl Helper for WordCompleter {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_complete_in_every_form() {
        let words = ["a1-b1", "c1-c3", "c1-e3", "c10-c11", "help", "hint"].map(String::from);
        for (typed, found) in
            [("c1-", &words[1..4]), ("C1E", &words[2..3]), ("c1 c3", &words[1..2]), ("h", &words[4..]), ("x", &[])]
        {
            assert_eq!(completions(&words, typed), found, "{typed}");
        }
    }
}
