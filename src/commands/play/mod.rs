//! `play`: a game in the terminal.

mod build_offer;
mod command;
mod input;
mod rules;
mod seats;
mod session;
mod strength;

use std::path::PathBuf;

use anyhow::Result;

use crate::args::engine::EngineArgs;
use crate::args::player::DEFAULT_PLAYER;
use crate::context::CommandContext;
use crate::output::{CommandOutcome, print_line};
use input::LineInput;
use seats::SeatFactory;
use session::{PlaySession, Reply};
use strength::Strength;

/// Play a game in the terminal, or watch one
///
/// Enter moves such as `a2-a4`. `help` lists the commands of the game, which
/// docs/guide/playing.md explains. Without a distance table, the computer plays with
/// estimates.
#[derive(clap::Args)]
pub struct Args {
    /// Player of `x`, which moves first: a player name, or `human`
    #[arg(short, long = "player-x", value_name = "PLAYER", default_value = "human", help_heading = "Players")]
    x: String,
    /// Player of `o`
    #[arg(short, long = "player-o", value_name = "PLAYER", default_value = DEFAULT_PLAYER, help_heading = "Players")]
    o: String,
    /// Strength of the computer, 1 to 10, instead of a limit [default: 3]
    #[arg(long, value_name = "N", value_parser = Strength::parse_level, help_heading = "Limits per move",
        conflicts_with_all = ["nodes", "playouts", "depth", "movetime"])]
    level: Option<Strength>,
    /// Continue the game of a file that `save` wrote
    #[arg(long, value_name = "FILE", conflicts_with_all = ["position", "pieces", "size", "rules"])]
    load: Option<PathBuf>,
    /// Do not offer to build a missing table
    #[arg(long)]
    no_build: bool,
    #[command(flatten)]
    engine: EngineArgs,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let names = [args.x.clone(), args.o.clone()];
    let offers_table = !args.no_build && LineInput::is_terminal();
    let factory = SeatFactory::new(ctx, &args.engine.players, names, args.engine.seed, offers_table)?
        .within(&args.engine.memory.budget());
    let strength = args.level.unwrap_or_else(|| Strength::of(args.engine.limits.budget()));
    let mut session = match &args.load {
        Some(path) => PlaySession::load(&factory, path, strength)?,
        None => PlaySession::new(&factory, args.engine.game()?, strength)?,
    };
    print_line(&session.banner())?;
    session.advance()?;
    if !factory.has_human() {
        return Ok(CommandOutcome::Answered);
    }
    let mut input = LineInput::new()?;
    while let Some(line) = input.next(&session.prompt(), session.words())? {
        match session.obey(&line)? {
            Reply::Continue => session.advance()?,
            Reply::Quit => break,
        }
    }
    Ok(CommandOutcome::Answered)
}
