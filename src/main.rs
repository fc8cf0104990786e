//! The `sternhalma` command: parses, calls the libraries, prints.
#![forbid(unsafe_code)]

mod build;
mod compare;
mod convert;
mod export;
mod files;
mod gdl;
mod ggp_match;
mod ggp_player;
mod info;
mod line;
mod matches;
mod moves;
mod output;
mod plan;
mod play;
mod players;
mod progress;
mod query;
mod rank;
mod state;
mod tournament;
mod tune;
mod ugi;
mod verify;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use files::Tables;

/// Chinese Checkers: distance tables, and players that use them.
///
/// Exit codes: 0 answered, 1 the thing asked for is not there, 2 usage or failure.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    tables: Tables,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Build(build::Args),
    Convert(convert::Args),
    Info(info::Args),
    Verify(verify::Args),
    Compare(compare::Args),
    Query(query::Args),
    Line(line::Args),
    Rank(rank::RankArgs),
    Unrank(rank::UnrankArgs),
    Export(export::Args),
    Moves(moves::MovesArgs),
    Perft(moves::PerftArgs),
    Play(play::Args),
    Tournament(tournament::Args),
    Match(matches::Args),
    Tune(tune::Args),
    Ugi(ugi::Args),
    Gdl(gdl::Args),
    GgpPlayer(ggp_player::Args),
    GgpMatch(ggp_match::Args),
}

/// How a command ended, when nothing went wrong.
enum Outcome {
    Answered,
    NotThere,
    /// Some of many inputs were bad; each has been reported in its place.
    SomeBad,
}

fn main() -> ExitCode {
    sternhalma_data::exit_if_a_map_is_cut_short();
    let Cli { tables, command } = Cli::parse();
    let outcome = match command {
        Command::Build(args) => build::run(&tables, &args),
        Command::Convert(args) => convert::run(&tables, &args),
        Command::Info(args) => info::run(&tables, &args),
        Command::Verify(args) => verify::run(&tables, &args),
        Command::Compare(args) => compare::run(&tables, &args),
        Command::Query(args) => query::run(&tables, &args),
        Command::Line(args) => line::run(&tables, &args),
        Command::Rank(args) => rank::run_rank(&args),
        Command::Unrank(args) => rank::run_unrank(&args),
        Command::Export(args) => export::run(&tables, &args),
        Command::Moves(args) => moves::run_moves(&args),
        Command::Perft(args) => moves::run_perft(&args),
        Command::Play(args) => play::run(&tables, &args),
        Command::Tournament(args) => tournament::run(&tables, &args),
        Command::Match(args) => matches::run(&tables, &args),
        Command::Tune(args) => tune::run(&tables, &args),
        Command::Ugi(args) => ugi::run(&tables, &args),
        Command::Gdl(args) => gdl::run(&args),
        Command::GgpPlayer(args) => ggp_player::run(&args),
        Command::GgpMatch(args) => ggp_match::run(&args),
    };
    match outcome {
        Ok(Outcome::Answered) => ExitCode::SUCCESS,
        Ok(Outcome::NotThere) => ExitCode::from(1),
        Ok(Outcome::SomeBad) => ExitCode::from(2),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", in_a_line(&error));
            ExitCode::from(2)
        }
    }
}

/// An error and its causes, but for those that it tells itself.
fn in_a_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !line.contains(&cause) {
            line += if line.is_empty() { "" } else { ": " };
            line += &cause;
        }
    }
    line.replace(char::is_control, " ")
}

/// A reader that has seen enough is no failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.chain().filter_map(|cause| cause.downcast_ref()).any(broken)
}
