use std::io::Write;

use anyhow::Result;
use clap_complete::{Shell, generate};

use crate::context::CommandContext;
use crate::output::CommandOutcome;

/// Print a script that completes commands and options in a shell
#[derive(clap::Args)]
pub struct Args {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let mut script = Vec::new();
    generate(args.shell, &mut (ctx.describe)(), env!("CARGO_PKG_NAME"), &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(CommandOutcome::Answered)
}
