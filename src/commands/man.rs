use std::path::Path;

use anyhow::{Context, Result};
use clap_mangen::Man;

use crate::args::output::OutputPath;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome};

/// Print the manual page, or write the pages of all commands
#[derive(clap::Args)]
pub struct Args {
    /// Directory for the pages of all commands, e.g. `~/.local/share/man/man1`; existing pages are replaced [default:
    /// print the main page]
    #[arg(value_name = "DIR")]
    directory: Option<OutputPath>,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let command = (ctx.describe)();
    match &args.directory {
        None => Man::new(command).render(&mut std::io::stdout())?,
        Some(directory) => {
            let mut command = command.disable_help_subcommand(true);
            command.build();
            std::fs::create_dir_all(directory)
                .with_context(|| format!("{}: cannot create the directory", directory.display()))?;
            write_pages(ctx, command, directory)?;
            output::print_line(&directory.display().to_string())?;
        }
    }
    Ok(CommandOutcome::Answered)
}

/// Writes the pages of a command and of its subcommands.
fn write_pages(ctx: &CommandContext, command: clap::Command, directory: &Path) -> Result<()> {
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        write_pages(ctx, subcommand.clone(), directory)?;
    }
    let page = Man::new(command);
    let path = directory.join(page.get_filename());
    let mut file = ctx.output(&path, true, &[])?;
    page.render(&mut file).with_context(|| format!("{}: cannot write", path.display()))?;
    file.finish()?;
    Ok(())
}
