use std::io::Write;

use anyhow::{Context, Result};
use clap_mangen::{Man, generate_to};

use crate::args::output::OutputPath;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome};

/// Print the manual page, or write the pages of all commands
#[derive(clap::Args)]
pub struct Args {
    /// Directory for the pages of all commands, e.g. `~/.local/share/man/man1` [default: print the main page]
    #[arg(value_name = "DIR")]
    directory: Option<OutputPath>,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let command = (ctx.describe)();
    match &args.directory {
        None => {
            let mut page = Vec::new();
            Man::new(command).render(&mut page)?;
            std::io::stdout().write_all(&page)?;
        }
        Some(directory) => {
            std::fs::create_dir_all(directory)
                .and_then(|()| generate_to(command, directory))
                .with_context(|| format!("{}: cannot write the manual pages", directory.display()))?;
            output::print_line(&directory.display().to_string())?;
        }
    }
    Ok(CommandOutcome::Answered)
}
