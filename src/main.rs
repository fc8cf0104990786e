//! The `sternhalma` command: parses, calls the libraries, prints.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod context;
mod error;
mod outcome;
mod output;
mod progress;
mod resources;
mod tables_dir;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;
use context::CommandContext;
use outcome::Outcome;
use output::status;
use tables_dir::TablesArgs;

/// Chinese Checkers: distance tables, and players that use them.
///
/// Exit codes: 0 answered, 1 the thing asked for is not there, 2 usage or failure.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    tables: TablesArgs,
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    sternhalma_data::exit_if_a_map_is_cut_short();
    let Cli { tables, command } = Cli::parse();
    let outcome = commands::run(&CommandContext::new(tables), &command);
    match outcome {
        Ok(Outcome::Answered) => ExitCode::SUCCESS,
        Ok(Outcome::NotThere) => ExitCode::from(1),
        Ok(Outcome::SomeBad) => ExitCode::from(2),
        Err(error) if error::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            status!("error: {}", error::in_a_line(&error));
            ExitCode::from(2)
        }
    }
}
