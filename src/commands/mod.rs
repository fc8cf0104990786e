//! The subcommands, one file each.

mod analyse;
mod assemble;
mod bench;
mod build_table;
mod compare;
mod completions;
mod convert;
mod datagen;
mod estimate;
mod explorer;
mod export;
mod export_game;
mod games;
mod gdl;
mod ggp_match;
mod ggp_player;
mod info;
mod line;
mod man;
mod match_;
mod moves;
mod play;
mod players;
mod policies;
mod query;
mod rank;
mod serve;
mod show;
mod tables;
mod tournament;
mod train;
mod tune;
mod ugi;
mod verify;

use anyhow::Result;
use clap::Subcommand;

use crate::context::CommandContext;
use crate::output::CommandOutcome;

#[derive(Subcommand)]
pub enum CliCommand {
    Build(build_table::Args),
    Tables(tables::Args),
    Info(info::Args),
    Verify(verify::Args),
    Convert(convert::Args),
    Export(export::Args),
    Explorer(explorer::Args),
    Compare(compare::Args),
    Assemble(assemble::Args),
    Query(query::Args),
    Line(line::Args),
    Show(show::Args),
    Rank(rank::RankArgs),
    Unrank(rank::UnrankArgs),
    Play(play::Args),
    Serve(serve::Args),
    Analyse(analyse::Args),
    ExportGame(export_game::Args),
    Ugi(ugi::Args),
    Moves(moves::MovesArgs),
    Perft(moves::PerftArgs),
    Bench(bench::Args),
    Players(players::Args),
    Tune(tune::Args),
    Datagen(datagen::Args),
    Train(train::Args),
    Match(match_::Args),
    Tournament(tournament::Args),
    Games(games::Args),
    Gdl(gdl::Args),
    Policies(policies::Args),
    GgpPlayer(ggp_player::Args),
    GgpMatch(ggp_match::Args),
    Completions(completions::Args),
    Man(man::Args),
}

pub fn run(ctx: &CommandContext, command: &CliCommand) -> Result<CommandOutcome> {
    match command {
        CliCommand::Build(args) => build_table::run(ctx, args),
        CliCommand::Convert(args) => convert::run(ctx, args),
        CliCommand::Info(args) => info::run(ctx, args),
        CliCommand::Verify(args) => verify::run(ctx, args),
        CliCommand::Compare(args) => compare::run(ctx, args),
        CliCommand::Assemble(args) => assemble::run(ctx, args),
        CliCommand::Query(args) => query::run(ctx, args),
        CliCommand::Line(args) => line::run(ctx, args),
        CliCommand::Rank(args) => rank::run_rank(args),
        CliCommand::Unrank(args) => rank::run_unrank(args),
        CliCommand::Export(args) => export::run(ctx, args),
        CliCommand::Explorer(args) => explorer::run(ctx, args),
        CliCommand::ExportGame(args) => export_game::run(ctx, args),
        CliCommand::Moves(args) => moves::run_moves(args),
        CliCommand::Perft(args) => moves::run_perft(args),
        CliCommand::Bench(args) => bench::run(args),
        CliCommand::Play(args) => play::run(ctx, args),
        CliCommand::Serve(args) => serve::run(ctx, args),
        CliCommand::Analyse(args) => analyse::run(ctx, args),
        CliCommand::Tournament(args) => tournament::run(ctx, args),
        CliCommand::Match(args) => match_::run(ctx, args),
        CliCommand::Tune(args) => tune::run(ctx, args),
        CliCommand::Datagen(args) => datagen::run(ctx, args),
        CliCommand::Train(args) => train::run(ctx, args),
        CliCommand::Ugi(args) => ugi::run(ctx, args),
        CliCommand::Gdl(args) => gdl::run(ctx, args),
        CliCommand::GgpPlayer(args) => ggp_player::run(ctx, args),
        CliCommand::GgpMatch(args) => ggp_match::run(ctx, args),
        CliCommand::Tables(args) => tables::run(ctx, args),
        CliCommand::Show(args) => show::run(args),
        CliCommand::Players(args) => players::run(args),
        CliCommand::Games(args) => games::run(args),
        CliCommand::Policies(args) => policies::run(args),
        CliCommand::Completions(args) => completions::run(args),
        CliCommand::Man(args) => man::run(ctx, args),
    }
}
