//! Formatting of errors: on one line, with hints about options, and with a
//! picture of the place in a file.
//!
//! The libraries describe an error. This module adds the remedy on the command
//! line.

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::process::ExitCode;

use indicatif::HumanBytes;
use sternhalma_builder::BuilderError;
use sternhalma_cluster::ClusterError;
use sternhalma_data::{RuleSet, TableError};
use sternhalma_engine::ConfigError;
use sternhalma_files::OutputError;
use sternhalma_ggp::arena::{ArenaError, Difference, LogError, OpeningsError, SpecError};
use sternhalma_ggp::gdl::{GroundError, ProverError};
use sternhalma_ggp::messages::{excerpt_around, plain_serde, shorten_quotes};
use sternhalma_ggp::policy::PolicyError;
use sternhalma_server::BindError;

/// An error that a process which this process started has printed.
#[derive(Debug)]
pub struct Reported;

impl std::fmt::Display for Reported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a process has failed, and its message has the reason")
    }
}

impl Error for Reported {}

/// Formats an error, its causes and a hint on one line, and then the lines of a file in which it is, if it is in TOML.
pub fn report(error: &anyhow::Error) -> String {
    let picture = error.chain().find_map(|cause| Some(picture(cause.downcast_ref()?)));
    one_line(error) + &picture.map_or(String::new(), |picture| format!("\n{picture}"))
}

/// Returns the lines of a TOML file around an error, with a caret below the place.
fn picture(error: &toml::de::Error) -> String {
    let text = error.to_string();
    let is_of_file = |line: &&str| line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').starts_with('|');
    let lines: Vec<&str> = text.lines().filter(is_of_file).map(str::trim_end).collect();
    let [top, line, marks] = lines[..] else { return shorten_quotes(&lines.join("\n")) };
    let gutter = marks.find('|').map_or(0, |bar| bar + 2);
    let [(head, source), (edge, carets)] =
        [line, marks].map(|line| line.split_at_checked(gutter).unwrap_or((line, "")));
    let (source, column) = excerpt_around(source, carets.find('^').unwrap_or(0));
    // The carets end with the excerpt.
    let width = carets.matches('^').count().min(source.chars().count().saturating_sub(column)).max(1);
    format!("{top}\n{head}{source}\n{edge}{}{}", " ".repeat(column), "^".repeat(width))
}

/// Returns the message of an error in TOML, with its place.
fn toml_message(error: &toml::de::Error) -> String {
    let text = error.to_string();
    let place = text.lines().next().and_then(|line| line.strip_prefix("TOML parse error at "));
    let message = plain_serde(error.message());
    place.map_or(message.clone(), |place| format!("{place}: {message}"))
}

/// Formats an error, its causes and a hint on one line.
pub fn one_line(error: &anyhow::Error) -> String {
    let causes = error.chain().map(message).collect::<Vec<_>>().join(": ");
    let separator = if causes.ends_with('?') { " " } else { "; " };
    let hint = error.chain().find_map(hint).map_or(String::new(), |hint| format!("{separator}{hint}"));
    shorten_quotes(&(causes + &hint)).replace(char::is_control, " ")
}

/// Returns the message of one error of a chain, with sizes in readable units.
fn message(error: &(dyn Error + 'static)) -> String {
    if let Some(error) = error.downcast_ref() {
        return toml_message(error);
    }
    match error.downcast_ref() {
        Some(BuilderError::MemoryLimit { least, limit }) => {
            format!("at least {} of memory are needed, and the limit is {}", HumanBytes(*least), HumanBytes(*limit))
        }
        _ => error.to_string(),
    }
}

/// Returns whether the reader of stdout has closed it, which is no failure.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.chain().filter_map(|cause| cause.downcast_ref()).any(broken)
}

/// Returns the exit code for an error.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    let lost = matches!(error.downcast_ref().and_then(ClusterError::of), Some(ClusterError::Lost { .. }));
    ExitCode::from(if lost { crate::output::EXIT_LOST } else { 2 })
}

/// Returns the remedy of the user for an error.
fn hint(error: &(dyn Error + 'static)) -> Option<Cow<'static, str>> {
    let log = match error.downcast_ref() {
        Some(ArenaError::Log(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    if let Some(LogError::OtherRun { difference: Difference::RuleSet { logged, .. }, .. }) = log {
        let name = RuleSet::from_stored(logged).map_or_else(|_| logged.clone(), |rules| rules.option_name().to_owned());
        return Some(format!("--rules {name} continues the log").into());
    }
    fixed_hint(error).map(Cow::Borrowed)
}

/// Returns the remedy for an error that is always the same.
fn fixed_hint(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref() {
        table_hint(error)
    } else if let Some(error) = error.downcast_ref() {
        builder_hint(error)
    } else if let Some(ConfigError::Unknown { name, .. }) = error.downcast_ref() {
        let is_program = name.contains(['/', '.', ' ', ':']);
        Some(match is_program {
            true => "`match` and `tournament` play with a program that is given as `ugi:COMMAND`",
            false => "`sternhalma players` and `sternhalma policies` list what there is",
        })
    } else if let Some(PolicyError::Unknown { .. }) = error.downcast_ref() {
        Some("`sternhalma policies` lists them")
    } else if let Some(PolicyError::Parameter { .. }) = error.downcast_ref() {
        Some("`sternhalma policies` lists the parameters")
    } else if let Some(ArenaError::Openings(OpeningsError::Random(_))) = error.downcast_ref() {
        Some("--opening-plies sets the number, e.g. `--opening-plies 0`")
    } else if let Some(ArenaError::Rules(error)) = error.downcast_ref() {
        fixed_hint(&**error)
    } else if let Some(GroundError::TooLarge { .. }) = error.downcast_ref() {
        Some("raise --memory")
    } else if let Some(ProverError::Memory { .. }) = error.downcast_ref() {
        Some("raise --memory")
    } else if let Some(SpecError::NoTest) = error.downcast_ref() {
        Some("add --sprt LOW,HIGH")
    } else if let Some(LogError::Output(OutputError::Exists { .. })) = error.downcast_ref() {
        Some("--force replaces it")
    } else if let Some(BindError::Address { source, .. }) = error.downcast_ref() {
        (source.kind() == io::ErrorKind::AddrInUse)
            .then_some("another program has the port, perhaps another `sternhalma serve`; --port 0 takes a free one")
    } else if let Some(error) = error.downcast_ref() {
        output_hint(error)
    } else {
        None
    }
}

fn output_hint(error: &OutputError) -> Option<&'static str> {
    match error {
        OutputError::Exists { .. } => Some("--force replaces it"),
        OutputError::Io { source, .. } => place_hint(source),
        _ => None,
    }
}

/// Returns the remedy for a place that cannot be written.
fn place_hint(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::StorageFull => Some("free some space, or choose another place with -o"),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Some("choose another place with -o"),
        _ => None,
    }
}

fn table_hint(error: &TableError) -> Option<&'static str> {
    match error {
        TableError::Exists { .. } => Some("--force replaces it"),
        TableError::Absent { .. } => Some("`sternhalma build` makes tables"),
        TableError::Io { action, source, .. } => match source.kind() {
            // A file is mapped as a whole, which takes address space and no memory.
            io::ErrorKind::OutOfMemory if *action == "map" => {
                Some("raise the limit of the address space of the process, e.g. with `ulimit -v unlimited`")
            }
            io::ErrorKind::OutOfMemory => Some("give a smaller --load-budget"),
            io::ErrorKind::StorageFull => Some("free some space, or choose another place with -o"),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                if !["open", "read", "map"].contains(action) =>
            {
                Some("choose another place with -o")
            }
            _ => None,
        },
        _ => None,
    }
}

fn builder_hint(error: &BuilderError) -> Option<&'static str> {
    if let Some(error) = ClusterError::of(error) {
        return cluster_hint(error);
    }
    match error {
        BuilderError::Table(error) => table_hint(error),
        BuilderError::MemoryLimit { .. } => Some("raise --memory, or --plan-memory for an estimate"),
        BuilderError::SinglePiece => Some("leave out --mode out-of-core"),
        BuilderError::SameFile { .. } => Some("name another file with -o"),
        BuilderError::DamagedManifest { .. }
        | BuilderError::WorkDirFormat { .. }
        | BuilderError::DamagedJournal { .. }
        | BuilderError::NotResumable { .. } => Some("--fresh starts again"),
        BuilderError::WorkDirMismatch { .. } => {
            Some("choose another directory with --work-dir, or start again with --fresh")
        }
        BuilderError::File { action: "create", source, .. }
            if matches!(source.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) =>
        {
            Some("choose another directory with --work-dir")
        }
        BuilderError::WorkDirMemory { .. } => Some("raise --memory, or start again with --fresh"),
        BuilderError::SeveralProcesses { .. } => Some("finish it with --cluster, or use another --work-dir"),
        _ => None,
    }
}

fn cluster_hint(error: &ClusterError) -> Option<&'static str> {
    match error {
        ClusterError::OneProcess { .. } => Some("finish it without --cluster, or use another --work-dir"),
        ClusterError::DamagedPart { .. } => Some(
            "with --copies 2, remove the work directory of this process, and the next process restores it; otherwise \
             start again with --fresh on all processes",
        ),
        ClusterError::MissingParts { .. } | ClusterError::OtherPart { .. } => Some("--fresh starts again"),
        ClusterError::Differs { .. } => Some("see --memory, --threads, --copies and --fresh"),
        ClusterError::Lost { .. } => Some("the same command on all machines resumes (without --fresh)"),
        _ => None,
    }
}
