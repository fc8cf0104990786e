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

use crate::context::CommandContext;
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

pub fn run(ctx: &CommandContext, command: &Command) -> Result<Outcome> {
    match command {
        Command::Build(args) => build::run(ctx, args),
        Command::Convert(args) => convert::run(ctx, args),
        Command::Info(args) => info::run(ctx, args),
        Command::Verify(args) => verify::run(ctx, args),
        Command::Compare(args) => compare::run(ctx, args),
        Command::Query(args) => query::run(ctx, args),
        Command::Line(args) => line::run(ctx, args),
        Command::Rank(args) => rank::run_rank(args),
        Command::Unrank(args) => rank::run_unrank(args),
        Command::Export(args) => export::run(ctx, args),
        Command::Moves(args) => moves::run_moves(args),
        Command::Perft(args) => moves::run_perft(args),
        Command::Play(args) => play::run(ctx, args),
        Command::Tournament(args) => tournament::run(ctx, args),
        Command::Match(args) => match_::run(ctx, args),
        Command::Tune(args) => tune::run(ctx, args),
        Command::Ugi(args) => ugi::run(ctx, args),
        Command::Gdl(args) => gdl::run(args),
        Command::GgpPlayer(args) => ggp_player::run(ctx, args),
        Command::GgpMatch(args) => ggp_match::run(ctx, args),
    }
}
