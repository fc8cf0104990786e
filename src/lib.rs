//! The `sternhalma` command: parses arguments, calls the libraries, prints.
//!
//! This library has only the entry points of the program and of its fuzz
//! targets. Programs use `sternhalma-data`, `sternhalma-builder`,
//! `sternhalma-engine` and `sternhalma-ggp`.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![deny(clippy::print_stdout)]

mod args;
mod batch;
mod commands;
mod completion;
mod context;
mod cpu;
mod drawing;
mod error;
mod help;
mod local_processes;
mod match_text;
mod output;
mod progress;
mod resources;
mod search_text;
mod tables_dir;
mod values;

use std::iter;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser};
use clap_complete::CompleteEnv;
use sternhalma_builder::set_program;
use sternhalma_ggp::messages::{excerpt, shorten_quotes};

use args::output::OutputPath;
use args::tournament::TournamentOptions;
use commands::CliCommand;
use context::CommandContext;
use output::OutputArgs;
use tables_dir::TablesArgs;

/// Chinese Checkers: distance tables, and players that use them.
///
/// Exit codes: 0 answered, 1 not found or different, 2 wrong usage or failure.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    tables: TablesArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(subcommand)]
    command: CliCommand,
}

impl Cli {
    /// Describes all commands, with their help.
    fn describe() -> clap::Command {
        help::complete(Cli::command())
    }

    /// Parses the arguments of the process. Prints help, versions and errors of usage itself.
    fn of_process(version: &str) -> Cli {
        let long_version: &'static str = format!("{version}\n{}", cpu::describe()).leak();
        let mut command = Cli::describe().long_version(long_version).color(help::color_choice(std::env::args_os()));
        let matches = command.try_get_matches_from_mut(std::env::args_os()).unwrap_or_else(|error| exit_with(error));
        let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| exit_with(error.format(&mut command)));
        if let Some(message) = args::output::conflict(&matches, &cli.tables) {
            output::print_error(&message);
            std::process::exit(2);
        }
        cli
    }
}

/// Shortens the quotations of an error of usage. Returns the shorter text if one is too long.
fn shorten_usage_error(error: &mut clap::Error) -> Option<String> {
    let whole = error.render().to_string();
    let quoted: Vec<(ContextKind, String)> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(text) => Some((kind, excerpt(text))),
            _ => None,
        })
        .collect();
    for (kind, text) in quoted {
        error.insert(kind, ContextValue::String(text));
    }
    let short = shorten_quotes(&error.render().to_string());
    (short != whole).then_some(short)
}

/// Returns what to do in place of an option that no command has.
fn unknown_option_tip(option: &str) -> Option<&'static str> {
    match option {
        "--level" => Some("a player has its level among its parameters: `sternhalma,level=3`"),
        "--board" | "--star" => Some(
            "the board is the diamond, the part of the star that two players use: --side sets its size and --pieces the \
             pieces per army (docs/guide/rules.md#the-diamond-and-the-star)",
        ),
        _ => None,
    }
}

/// Prints help, a version or an error of usage, and ends the process.
fn exit_with(mut message: clap::Error) -> ! {
    let wrong = message.get(ContextKind::InvalidArg).map(ToString::to_string);
    let tip = wrong.as_deref().filter(|_| message.kind() == ErrorKind::UnknownArgument).and_then(unknown_option_tip);
    if let Some(tip) = tip {
        // An option with a similar name is no better.
        message.remove(ContextKind::SuggestedArg);
        message.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    if message.use_stderr()
        && let Some(short) = shorten_usage_error(&mut message)
    {
        output::print_usage_error(&short);
        std::process::exit(message.exit_code());
    }
    let printed = message.print().and_then(|()| std::io::Write::flush(&mut std::io::stdout()));
    match printed {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            output::print_error(&format!("cannot write: {error}"));
            std::process::exit(2)
        }
        _ => std::process::exit(message.exit_code()),
    }
}

/// Reports that the processor lacks an instruction set extension that the program is compiled for.
#[inline(never)]
pub fn refuse_processor(extension: &str) -> ExitCode {
    cpu::report_missing(extension);
    ExitCode::from(2)
}

/// Runs the command with the arguments of the process. `commit` is empty if it is unknown.
#[inline(never)]
pub fn run(commit: &str) -> ExitCode {
    // Answers a shell that completes a line, and ends the process.
    CompleteEnv::with_factory(|| completion::with_names(Cli::describe())).var(completion::VARIABLE).complete();
    sternhalma_data::table::install_sigbus_handler();
    let commit = (!commit.is_empty()).then_some(commit);
    let shown = commit.map_or(String::new(), |commit| format!(" ({commit})"));
    let version: &'static str = format!("{}{shown}", env!("CARGO_PKG_VERSION")).leak();
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    set_program(commit.map(str::to_owned), iter::once("sternhalma".to_owned()).chain(arguments).collect());
    let level = cpu::set_level();
    let Cli { tables, output, command } = Cli::of_process(version);
    output::configure(output);
    match level.and_then(|()| commands::run(&CommandContext::new(tables, version, Cli::describe), &command)) {
        Ok(outcome) => outcome.into(),
        Err(error) if error::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if error.is::<error::Reported>() => ExitCode::from(2),
        Err(error) => {
            output::print_error(&error::report(&error));
            error::exit_code(&error)
        }
    }
}

/// Returns the options of outputs of all commands: the words of the command, and the option or argument.
pub fn output_options() -> Vec<(String, String)> {
    let mut found = Vec::new();
    help::visit(&Cli::describe(), &mut |path, command| {
        let is_output = |arg: &&clap::Arg| arg.get_value_parser().type_id() == std::any::TypeId::of::<OutputPath>();
        let name =
            |arg: &clap::Arg| arg.get_long().map_or_else(|| arg.get_id().to_string(), |long| format!("--{long}"));
        found.extend(command.get_arguments().filter(is_output).map(|arg| (path.join(" "), name(arg))));
    });
    found
}

/// Parses and checks the text of a tournament file. Files that it names are not opened.
///
/// # Errors
/// Returns the message that the command prints for an invalid file.
pub fn check_tournament_file(text: &str) -> Result<(), String> {
    let check = || {
        let file = TournamentOptions::parse(text)?;
        file.player.iter().try_for_each(|player| player.kind().map(drop))?;
        file.series_info();
        file.select_games(&[], true)?.into_iter().try_for_each(|game| file.step_clock(game).map(drop))
    };
    check().map_err(|error| error::report(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_of_the_commands_is_consistent() {
        Cli::describe().debug_assert();
    }

    #[test]
    fn every_command_is_in_a_group_and_has_examples_that_parse() {
        let command = Cli::describe();
        let mut grouped: Vec<&str> = help::GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).chain(["help"]).collect();
        grouped.sort_unstable();
        names.sort_unstable();
        assert_eq!(grouped, names);
        let mut paths = Vec::new();
        help::visit(&command, &mut |path, command| {
            if !command.has_subcommands() || !command.is_subcommand_required_set() {
                paths.push(path.join(" "));
            }
        });
        for path in paths.iter().filter(|path| !path.is_empty()) {
            assert!(help::examples(path).next().is_some(), "`{path}` has no example");
        }
        for (path, line) in help::EXAMPLES {
            assert!(paths.iter().any(|known| known == path), "an example is of the unknown command `{path}`");
            let line = line.split(" | ").find(|part| part.contains("sternhalma ")).unwrap();
            let line = line.split(" > ").next().unwrap();
            let words = shlex::split(line).unwrap();
            assert_eq!(words[..=path.split(' ').count()].join(" "), format!("sternhalma {path}"));
            Cli::describe().try_get_matches_from(&words).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }

    #[test]
    fn effects_of_global_options_name_known_commands() {
        let command = Cli::describe();
        let mut known = Vec::new();
        help::visit(&command, &mut |path, _| known.push(path.join(" ")));
        for (option, paths) in help::EFFECTS {
            assert!(command.get_arguments().any(|arg| arg.get_id() == option), "{option}");
            for path in paths {
                assert!(known.iter().any(|name| name == path), "{option}: {path}");
            }
        }
    }

    /// Returns whether a value parser is that of a number, a range of numbers, a size or a time.
    fn is_numeric(parser: &clap::builder::ValueParser) -> bool {
        use std::any::TypeId;
        let types = [
            TypeId::of::<u8>(),
            TypeId::of::<u16>(),
            TypeId::of::<u32>(),
            TypeId::of::<u64>(),
            TypeId::of::<usize>(),
            TypeId::of::<std::num::NonZeroUsize>(),
            TypeId::of::<f32>(),
            TypeId::of::<f64>(),
            TypeId::of::<[f64; 2]>(),
            TypeId::of::<std::ops::RangeInclusive<u32>>(),
            TypeId::of::<bytesize::ByteSize>(),
            TypeId::of::<std::time::Duration>(),
        ];
        types.iter().any(|&known| parser.type_id() == known)
    }

    /// Returns the bounds that an error message names.
    fn bounds(message: &str) -> Option<(&str, &str)> {
        let (least, rest) = message.split_once(" from ")?.1.split_once(" to ")?;
        Some((least, &rest[..rest.find([',', '\n'])?]))
    }

    #[test]
    fn numbers_outside_their_range_are_refused_with_both_bounds() {
        let mut options = Vec::new();
        help::visit(&Cli::describe(), &mut |path, command| {
            for arg in command.get_arguments().filter(|arg| is_numeric(arg.get_value_parser())) {
                let pair = arg.get_value_parser().type_id() == std::any::TypeId::of::<[f64; 2]>();
                let name = arg.get_long().map(str::to_owned);
                let before = command.get_positionals().take_while(|other| other.get_id() != arg.get_id()).count();
                options.push((path.join(" "), name, before, pair));
            }
        });
        assert!(options.len() > 60, "{} numeric options", options.len());
        for (path, name, before, pair) in &options {
            let parse = |value: &str| {
                let value = if *pair { format!("0,{value}") } else { value.to_owned() };
                let mut words: Vec<String> = std::iter::once("sternhalma")
                    .chain(path.split(' '))
                    .filter(|word| !word.is_empty())
                    .map(str::to_owned)
                    .collect();
                match name {
                    Some(name) => words.push(format!("--{name}={value}")),
                    None => {
                        words.extend(["--".to_owned()].into_iter().chain(vec!["x".to_owned(); *before]).chain([value]))
                    }
                }
                let error = Cli::describe().try_get_matches_from(words).err();
                let error = error.filter(|error| error.kind() == clap::error::ErrorKind::ValueValidation);
                error.map(|error| error.to_string())
            };
            let refused = |value: &str| {
                let error = parse(value).unwrap_or_else(|| panic!("{path} {name:?} accepts {value}"));
                let (least, most) = bounds(&error).unwrap_or_else(|| panic!("{path} {name:?} {value}: {error}"));
                (least.to_owned(), most.to_owned())
            };
            let (least, most) = refused("nan");
            let outside = |text: &str, by: i32| match text.parse::<i128>() {
                Ok(bound) => (bound + i128::from(by)).to_string(),
                Err(_) => (text.parse::<f64>().unwrap() + f64::from(by)).to_string(),
            };
            for value in ["inf", "18446744073709551616", "x", &outside(&least, -1), &outside(&most, 1)] {
                assert_eq!(refused(value), (least.clone(), most.clone()), "{path} {name:?} {value}");
            }
            for value in [&least, &most] {
                assert_eq!(parse(value), None, "{path} {name:?} {value}");
            }
        }
    }
}
