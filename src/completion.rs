//! Completion in shells: commands, options, and the names that exist when the key is pressed.

use std::ffi::OsStr;
use std::path::Path;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use sternhalma_data::RuleSet;
use sternhalma_data::table::{TablesDir, tables_dir};
use sternhalma_engine::Roster;
use sternhalma_ggp::gdl::{Atom, GAMES, Rules, Term, read_rulesheet};
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
    /// Built-in games.
    Games,
    /// Built-in games, and files with the extension of rulesheets.
    Rulesheets,
    /// Roles of the rulesheet in the command line.
    Roles,
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
        let is_file = arg.is_positional() && ["file", "files", "a", "b", "game"].contains(&arg.get_id().as_str());
        match (command, value) {
            (_, "PLAYER") | ("match", "A" | "B") => Some(Names::Players),
            (_, "POLICY") => Some(Names::Policies),
            (_, "RULES|FILE") => Some(Names::Rules),
            _ if arg.get_long() == Some("policy") => Some(Names::Policies),
            _ if arg.get_long() == Some("table") => Some(Names::Tables),
            _ if arg.get_long() == Some("role") => Some(Names::Roles),
            ("games", "GAME") => Some(Names::Games),
            _ if is_file && (parent == "gdl" || command == "ggp-match") => Some(Names::Rulesheets),
            ("query" | "line" | "info" | "verify" | "convert" | "export" | "compare", _) if is_file => {
                Some(Names::Tables)
            }
            _ => None,
        }
    }

    /// Returns the names that begin with what is typed, and files and folders if the argument may be a file.
    fn candidates(self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let text = typed.to_string_lossy();
        let names = self.all().into_iter().filter(|name| name.starts_with(&*text)).map(CompletionCandidate::new);
        let files = match self {
            Names::Tables => PathCompleter::file(),
            Names::Rulesheets | Names::Rules => PathCompleter::any().filter(is_rulesheet),
            Names::Players | Names::Policies | Names::Games | Names::Roles => return names.collect(),
        };
        names.chain(files.complete(typed)).collect()
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
            Names::Games | Names::Rulesheets => sheets().collect(),
            Names::Roles => std::env::args_os().skip(1).find_map(|word| roles(word.as_ref())).unwrap_or_default(),
            Names::Rules => RuleSet::OPTION_NAMES.into_iter().map(str::to_owned).chain(sheets()).collect(),
        }
    }
}

/// Returns whether a path has the extension of rulesheets.
fn is_rulesheet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("kif")) && path.is_file()
}

/// Returns the roles of a rulesheet, if the path is one.
fn roles(path: &Path) -> Option<Vec<String>> {
    let rules = Rules::parse(&read_rulesheet(path).ok()?).ok()?;
    let role = |head: &Atom| match &head.args[..] {
        [Term::Constant(name)] if head.name == "role" => Some(name.clone()),
        _ => None,
    };
    Some(rules.iter().filter_map(|rule| role(&rule.head)).collect()).filter(|roles: &Vec<String>| !roles.is_empty())
}
