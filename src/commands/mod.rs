//! The subcommands, one file each.

mod build;
mod compare;
mod convert;
mod estimate;
mod export;
mod gdl;
mod ggp_match;
mod ggp_player;
mod info;
mod line;
mod match_;
mod moves;
mod play;
mod query;
mod rank;
mod tournament;
mod tune;
mod ugi;
mod verify;

use anyhow::Result;
use clap::Subcommand;

use crate::args::tables::Tables;
use crate::outcome::Outcome;

#[derive(Subcommand)]
pub enum Command {
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
    Match(match_::Args),
    Tune(tune::Args),
    Ugi(ugi::Args),
    Gdl(gdl::Args),
    GgpPlayer(ggp_player::Args),
    GgpMatch(ggp_match::Args),
}

pub fn run(tables: &Tables, command: &Command) -> Result<Outcome> {
    match command {
        Command::Build(args) => build::run(tables, args),
        Command::Convert(args) => convert::run(tables, args),
        Command::Info(args) => info::run(tables, args),
        Command::Verify(args) => verify::run(tables, args),
        Command::Compare(args) => compare::run(tables, args),
        Command::Query(args) => query::run(tables, args),
        Command::Line(args) => line::run(tables, args),
        Command::Rank(args) => rank::run_rank(args),
        Command::Unrank(args) => rank::run_unrank(args),
        Command::Export(args) => export::run(tables, args),
        Command::Moves(args) => moves::run_moves(args),
        Command::Perft(args) => moves::run_perft(args),
        Command::Play(args) => play::run(tables, args),
        Command::Tournament(args) => tournament::run(tables, args),
        Command::Match(args) => match_::run(tables, args),
        Command::Tune(args) => tune::run(tables, args),
        Command::Ugi(args) => ugi::run(tables, args),
        Command::Gdl(args) => gdl::run(args),
        Command::GgpPlayer(args) => ggp_player::run(args),
        Command::GgpMatch(args) => ggp_match::run(args),
    }
}
