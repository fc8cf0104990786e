//! What goes to stdout.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;

/// Prints one value as a line of JSON.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print_line(&serde_json::to_string(value)?)
}

/// Prints a line; a closed pipe is an error like any other here.
pub fn print_line(line: &str) -> Result<()> {
    Ok(writeln!(io::stdout(), "{line}")?)
}
