//! The only module that writes to stdout and stderr.
//!
//! Answers go to stdout. A failed write, e.g. to a pipe that its reader has
//! closed, is an error. Everything else goes to stderr, where failed writes are
//! ignored, so that a closed stderr does not end the work.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;

/// The result of a command that did not fail. Each has its exit code.
pub enum CommandOutcome {
    /// The question is answered: exit code 0.
    Answered,
    /// What was asked for does not exist, or two things differ: exit code 1.
    NotFound,
    /// Some of the inputs were wrong and have been reported: exit code 2.
    SomeInvalid,
}

impl From<CommandOutcome> for ExitCode {
    fn from(outcome: CommandOutcome) -> ExitCode {
        ExitCode::from(match outcome {
            CommandOutcome::Answered => 0,
            CommandOutcome::NotFound => 1,
            CommandOutcome::SomeInvalid => 2,
        })
    }
}

/// Prints the answer of a command: a value as JSON, or a text.
pub fn answer(json: bool, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<CommandOutcome> {
    if json {
        print_json(value)?
    } else {
        print_line(&text())?
    }
    Ok(CommandOutcome::Answered)
}

/// Prints a value on stdout as one line of JSON.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print_line(&serde_json::to_string(value)?)
}

/// Prints a line on stdout.
pub fn print_line(line: &str) -> Result<()> {
    Ok(writeln!(io::stdout(), "{line}")?)
}

/// Prints a line on stderr in one write, so that lines of several threads stay
/// whole. Ignores errors. Call it as [`status!`](crate::output::status).
pub fn print_status(message: fmt::Arguments<'_>) {
    let _ = io::stderr().write_all(format!("{message}\n").as_bytes());
}

/// Prints the beginning of a line on stderr. Ignores errors.
pub fn prompt(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Returns a number and a noun, in the plural unless the number is 1.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Prints a line on stderr. Takes the arguments of [`format!`] and ignores errors.
macro_rules! status {
    ($($message:tt)*) => { $crate::output::print_status(format_args!($($message)*)) };
}
pub(crate) use status;
