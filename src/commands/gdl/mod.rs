mod bench;
mod check;
mod play;
mod rulesheet;
mod show;
mod strategies;
mod trace;

use anyhow::Result;
use clap::Subcommand;

use crate::context::CommandContext;
use crate::output::CommandOutcome;

/// Check, play and measure games written in the Game Description Language
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: GdlCommand,
}

#[derive(Subcommand)]
enum GdlCommand {
    Check(check::Args),
    Show(show::Args),
    Play(Box<play::Args>),
    Trace(trace::TraceArgs),
    Replay(trace::ReplayArgs),
    Bench(bench::Args),
    Strategies(Box<strategies::Args>),
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    match &args.command {
        GdlCommand::Check(args) => check::run(args),
        GdlCommand::Show(args) => show::run(args),
        GdlCommand::Play(args) => play::run(ctx, args),
        GdlCommand::Trace(args) => trace::run_trace(args),
        GdlCommand::Replay(args) => trace::run_replay(args),
        GdlCommand::Bench(args) => bench::run(args),
        GdlCommand::Strategies(args) => strategies::run(args),
    }
}
