use anyhow::Result;
use serde_json::json;
use sternhalma_ggp::arena::{Standings, pairing_text};

use super::tournament::{RunArgs, open, play, resolve};
use crate::args::tournament::{PlayerEntry, TournamentOptions};
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome};

/// Play a match between two players
///
/// Games come in pairs from the same opening, with sides exchanged. With --log,
/// the same command resumes an interrupted run, and more --games extend it.
/// Exit code 2 if every game ended by a fault.
#[derive(clap::Args)]
pub struct Args {
    /// First player: a name, `name,key=value,…` to change parameters, or `ugi:COMMAND` for a program
    a: String,
    /// Second player
    b: String,
    #[command(flatten)]
    options: TournamentOptions,
    #[command(flatten)]
    run: RunArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let mut player = [&args.a, &args.b].map(|text| PlayerEntry::from_argument(text)).to_vec();
    if args.a == args.b {
        // Names in results must differ.
        player[1] = player[1].clone().copied(format!("{} (2)", args.b));
    }
    let options = args.options.clone().with_players(player);
    let resolved = resolve(options, None)?;
    let (memory, log) = (args.run.memory.budget(), args.run.protocol_log(&resolved)?);
    let tournament = open(ctx, resolved, &memory, log.as_ref())?;
    let outcome = play(ctx, &tournament, &memory, &args.run, |standings| print(standings, args.json));
    args.run.protocol.check(log.as_ref())?;
    outcome
}

fn print(standings: &Standings, json: bool) -> Result<CommandOutcome> {
    let pairing = standings.summary().remove(0).pairings.remove(0);
    let mut value = serde_json::to_value(&pairing)?;
    value["seed"] = json!(standings.schedule().seed);
    value["spent"] = json!({ "a": pairing.spent[0], "b": pairing.spent[1] });
    output::answer(json, &value, || pairing_text(&pairing))
}
