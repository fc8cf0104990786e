use anyhow::Result;
use serde_json::json;
use sternhalma_ggp::arena::Standings;

use crate::commands::tournament::{self, Player, RunArgs, Settings, play, report};
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome};

/// Let two players play a match: the tournament of two
///
/// Games come in pairs from the same opening, with sides changed. With --log an
/// interrupted run goes on where it was when the same command is given again.
#[derive(clap::Args)]
pub struct Args {
    /// A player: its name, `name,key=value,…` to change it, or `ugi:COMMAND` for a program
    a: String,
    /// Its opponent
    b: String,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    run: RunArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let mut settings = args.settings.clone();
    settings.player = [&args.a, &args.b].map(|text| Player::named(text)).to_vec();
    if args.a == args.b {
        // Names in results are different ones.
        settings.player[1] = settings.player[1].clone().called(format!("{} (2)", args.b));
    }
    let room = tournament::open(ctx, &settings)?;
    let schedule = settings.schedule(room.game(), room.roles(), room.players(), None)?;
    play(ctx, &*room, schedule, &args.run, |standings| print(standings, args.json))
}

fn print(standings: &Standings, json: bool) -> Result<()> {
    let pairing = standings.summary().remove(0).pairings.remove(0);
    if !json {
        return output::print_line(&report::pairing(&pairing));
    }
    let mut answer = serde_json::to_value(&pairing)?;
    answer["seed"] = json!(standings.schedule().seed);
    answer["spent"] = json!({ "a": pairing.spent[0], "b": pairing.spent[1] });
    output::print_json(&answer)
}
