//! Completion in shells: commands, options, and the names that exist when the key is pressed.

use std::ffi::OsStr;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use sternhalma_data::RuleSet;
use sternhalma_data::table::{TablesDir, tables_dir};
use sternhalma_engine::Roster;
use sternhalma_ggp::gdl::GAMES;
use sternhalma_ggp::policy::NAMED_POLICIES;

/// The environment variable by which a shell asks for completions. It has the name of the shell.
pub const VARIABLE: &str = "STERNHALMA_COMPLETE";

/// The names that an argument can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Names {
    /// Tables of the tables directory, and files.
    Tables,
    /// Players and policies.
    Players,
    Policies,
    /// Built-in rulesheets, and files.
    Rulesheets,
    /// Rule sets of Chinese Checkers and built-in rulesheets, and files.
    Rules,
}

/// Adds the names to the arguments of all commands.
pub fn with_names(command: Command) -> Command {
    add_names("", command)
}

fn add_names(parent: &str, command: Command) -> Command {
    let name = command.get_name().to_owned();
    let add = |arg: Arg| match Names::of(parent, &name, &arg) {
        Some(names) => arg.add(ArgValueCompleter::new(move |typed: &OsStr| names.candidates(typed))),
        None => arg,
    };
    command.mut_args(add).mut_subcommands(|command| add_names(&name, command))
}

impl Names {
    fn of(parent: &str, command: &str, arg: &Arg) -> Option<Names> {
        let value = arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
        let is_file = arg.is_positional() && ["file", "files", "a", "b"].contains(&arg.get_id().as_str());
        match (command, value) {
            (_, "PLAYER") | ("match", "A" | "B") => Some(Names::Players),
            (_, "POLICY") => Some(Names::Policies),
            (_, "RULES|FILE") => Some(Names::Rules),
            _ if arg.get_long() == Some("policy") => Some(Names::Policies),
            _ if arg.get_long() == Some("table") => Some(Names::Tables),
            _ if is_file && parent == "gdl" => Some(Names::Rulesheets),
            ("query" | "line" | "info" | "verify" | "convert" | "export" | "compare", _) if is_file => {
                Some(Names::Tables)
            }
            _ => None,
        }
    }

    /// Returns the names that begin with what is typed, and files if the argument may be one.
    fn candidates(self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let text = typed.to_string_lossy();
        let names = self.all().into_iter().filter(|name| name.starts_with(&*text)).map(CompletionCandidate::new);
        let is_file = !matches!(self, Names::Players | Names::Policies);
        let files = if is_file { PathCompleter::file().complete(typed) } else { Vec::new() };
        names.chain(files).collect()
    }

    fn all(self) -> Vec<String> {
        let sheets = || GAMES.iter().map(|game| game.name.to_owned());
        let policies = || NAMED_POLICIES.iter().map(|policy| policy.name.to_owned());
        match self {
            Names::Tables => {
                let files = tables_dir().and_then(|dir| TablesDir::new(dir).files().ok());
                files.unwrap_or_default().into_iter().map(|(name, _)| name).collect()
            }
            Names::Players => Roster::built_in().names().map(str::to_owned).chain(policies()).collect(),
            Names::Policies => policies().collect(),
            Names::Rulesheets => sheets().collect(),
            Names::Rules => RuleSet::OPTION_NAMES.into_iter().map(str::to_owned).chain(sheets()).collect(),
        }
    }
}
