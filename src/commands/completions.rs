use std::io::Write;

use anyhow::Result;
use clap_complete::Shell;
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};

use crate::completion::VARIABLE;
use crate::output::CommandOutcome;

/// Print a script that completes commands, options and names in a shell
///
/// The shell asks the program, which knows the tables, players, policies and
/// rulesheets that exist when the key is pressed.
#[derive(clap::Args)]
pub struct Args {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(args: &Args) -> Result<CommandOutcome> {
    let completer: &dyn EnvCompleter = match args.shell {
        Shell::Elvish => &Elvish,
        Shell::Fish => &Fish,
        Shell::PowerShell => &Powershell,
        Shell::Zsh => &Zsh,
        _ => &Bash,
    };
    let (mut script, name) = (Vec::new(), env!("CARGO_PKG_NAME"));
    completer.write_registration(VARIABLE, name, name, name, &mut script)?;
    std::io::stdout().write_all(&script)?;
    Ok(CommandOutcome::Answered)
}
