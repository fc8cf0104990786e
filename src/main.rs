//! The `sternhalma` command: parses arguments, calls the libraries, prints.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout)]

mod args;
mod best_table;
mod commands;
mod context;
mod error;
mod output;
mod progress;
mod resources;
mod search_text;
mod tables_dir;

use std::process::ExitCode;

use clap::Parser;

use commands::CliCommand;
use context::CommandContext;
use output::status;
use tables_dir::TablesArgs;

/// Chinese Checkers: distance tables, and players that use them.
///
/// Exit codes: 0 answered, 1 not found or different, 2 wrong usage or failure.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    tables: TablesArgs,
    #[command(subcommand)]
    command: CliCommand,
}

fn main() -> ExitCode {
    sternhalma_data::table::install_sigbus_handler();
    let Cli { tables, command } = Cli::parse();
    match commands::run(&CommandContext::new(tables), &command) {
        Ok(outcome) => outcome.into(),
        Err(error) if error::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            status!("error: {}", error::one_line(&error));
            ExitCode::from(2)
        }
    }
}
