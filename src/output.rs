//! The only module that writes to stdout and stderr.
//!
//! Answers go to stdout. A failed write, e.g. to a pipe that its reader has
//! closed, is an error. Everything else goes to stderr, where failed writes are
//! ignored, so that a closed stderr does not end the work.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::Result;
use clap::{Args, ColorChoice, ValueEnum};
use indicatif::HumanCount;
use serde::Serialize;
use sternhalma_ggp::messages::shorten_quotes;

/// The options for output besides answers and errors.
#[derive(Args, Clone, Copy, Default)]
pub struct OutputArgs {
    /// Print nothing on stderr but errors and questions
    #[arg(short, long, global = true, help_heading = "Global options")]
    quiet: bool,
    /// Do not report the progress of long work
    #[arg(long, global = true, help_heading = "Global options")]
    no_progress: bool,
    /// Use colors: always, never, or on terminals unless NO_COLOR is set
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_possible_values = true,
        global = true,
        help_heading = "Global options"
    )]
    color: ColorArg,
}

/// When colors are used.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColorArg {
    #[default]
    Auto,
    Always,
    Never,
}

impl From<ColorArg> for ColorChoice {
    fn from(color: ColorArg) -> ColorChoice {
        match color {
            ColorArg::Auto => ColorChoice::Auto,
            ColorArg::Always => ColorChoice::Always,
            ColorArg::Never => ColorChoice::Never,
        }
    }
}

/// The arguments of this process, which are set once.
static OUTPUT: OnceLock<OutputArgs> = OnceLock::new();

/// What was reported while the arguments were parsed. Whether it is printed depends on them.
static EARLY: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Applies the arguments to all output.
pub fn configure(args: OutputArgs) {
    OUTPUT.get_or_init(|| args);
    let early = std::mem::take(&mut *EARLY.lock().unwrap_or_else(PoisonError::into_inner));
    early.iter().for_each(|message| print_status(format_args!("{message}")));
}

fn configured() -> OutputArgs {
    OUTPUT.get().copied().unwrap_or_default()
}

/// Returns whether nothing but errors and questions is printed on stderr.
pub fn is_quiet() -> bool {
    configured().quiet
}

/// Returns whether the progress of long work is reported.
pub fn shows_progress() -> bool {
    !configured().quiet && !configured().no_progress
}

/// Returns whether text on stdout has colors.
pub fn uses_color() -> bool {
    match configured().color {
        ColorArg::Always => true,
        ColorArg::Never => false,
        ColorArg::Auto => {
            let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            io::stdout().is_terminal() && !set("NO_COLOR") && !dumb
        }
    }
}

/// The exit code of a process of a cluster that has lost another one.
pub const EXIT_LOST: u8 = 3;

/// The result of a command that did not fail. Each outcome has its exit code.
pub enum CommandOutcome {
    /// The question is answered: exit code 0.
    Answered,
    /// The requested item does not exist, or two items differ: exit code 1.
    NotFound,
    /// Some of the inputs were wrong and have been reported: exit code 2.
    SomeInvalid,
    /// A process of a cluster was interrupted or has lost another one, which the process that started it reports.
    Lost,
}

impl From<CommandOutcome> for ExitCode {
    fn from(outcome: CommandOutcome) -> ExitCode {
        ExitCode::from(match outcome {
            CommandOutcome::Answered => 0,
            CommandOutcome::NotFound => 1,
            CommandOutcome::SomeInvalid => 2,
            CommandOutcome::Lost => EXIT_LOST,
        })
    }
}

/// Prints the answer of a command: a value as one line of JSON if `json` is set, or else a text.
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

/// Prints a line on stderr, unless `--quiet` is given. Ignores errors. Call it as [`status!`](crate::output::status).
pub fn print_status(message: fmt::Arguments<'_>) {
    match OUTPUT.get() {
        None => EARLY.lock().unwrap_or_else(PoisonError::into_inner).push(message.to_string()),
        Some(OutputArgs { quiet: true, .. }) => {}
        Some(_) => print_stderr(&shorten_quotes(&message.to_string())),
    }
}

/// Prints an error on stderr.
pub fn print_error(message: &str) {
    print_stderr(&format!("error: {}", shorten_quotes(message)));
}

/// Prints an error of usage, which begins with `error: `.
pub fn print_usage_error(message: &str) {
    print_stderr(&shorten_quotes(message.trim_end()));
}

/// Prints a line in one write, so that lines of several threads stay whole.
fn print_stderr(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Prints the beginning of a line on stderr. Ignores errors.
pub fn prompt(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Returns a number and a noun, in the plural unless the number is 1.
pub fn counted(number: usize, noun: &str) -> String {
    let plural = || match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    };
    format!("{} {}", HumanCount(number as u64), if number == 1 { noun.to_owned() } else { plural() })
}

/// Returns rows of cells as lines with aligned columns. Rows may have fewer cells than the first.
pub fn columns(rows: Vec<Vec<String>>) -> String {
    let count = rows.first().map_or(0, Vec::len);
    // A row with fewer cells does not widen the columns: its last cell extends over the others.
    let full = || rows.iter().filter(|row| row.len() == count);
    let width = |column: usize| full().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Prints a line on stderr, unless `--quiet` is given. Takes the arguments of [`format!`] and ignores errors.
macro_rules! status {
    ($($message:tt)*) => { $crate::output::print_status(format_args!($($message)*)) };
}
pub(crate) use status;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_have_their_plural() {
        for (number, noun, text) in [
            (1, "inaccuracy", "1 inaccuracy"),
            (0, "inaccuracy", "0 inaccuracies"),
            (2, "ply", "2 plies"),
            (2, "way", "2 ways"),
            (1200, "move", "1,200 moves"),
        ] {
            assert_eq!(counted(number, noun), text);
        }
    }
}
