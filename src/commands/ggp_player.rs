use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use sternhalma_ggp::Policy;
use sternhalma_ggp::gdl::GroundError;
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::protocol::http::Server;
use sternhalma_ggp::protocol::{EngineFactory, GgpPlayer, PlayerOptions};

use crate::args::limits::MemoryArgs;
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, status};
use crate::values::{count, policy, seconds, symbol};

/// Play any game for a game manager, over HTTP
///
/// Prints the address on stdout, and a line per event on stderr. Ctrl-C stops it.
#[derive(clap::Args)]
pub struct Args {
    /// Port to listen on; 0 selects a free port
    #[arg(long, default_value_t = 9147, value_parser = count::<u16>(0))]
    port: u16,
    /// Address to listen on; 0.0.0.0 accepts connections from other machines
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: String,
    /// Policy of the player, e.g. `nst,epsilon=0.1` or `random`
    #[arg(long, default_value = "adaptive", value_parser = policy)]
    policy: Policy,
    /// Name of the player
    #[arg(long, default_value = "sternhalma", value_parser = symbol)]
    name: String,
    /// Time between an answer and the end of the clock, at most half of the clock
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    margin: Duration,
    /// Time, beyond the clock, after which a match without messages yields to another match
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    patience: Duration,
    /// Think while waiting for the next message
    #[arg(long)]
    ponder: bool,
    /// Seed of all random numbers
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = count::<u64>(0))]
    seed: u64,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let memory = args.memory.budget();
    let compiler = EngineFactory::new({
        let memory = memory.clone();
        move |rules, over| {
            // Half of the memory is for trees and the prover.
            let network = Network::within(rules, memory.limit() / 2, over)?;
            Ok::<_, GroundError>(NetworkGame::new(network).with_rules(rules.clone()).within(&memory))
        }
    });
    let player = GgpPlayer::new(PlayerOptions {
        name: args.name.clone(),
        policy: args.policy.clone(),
        margin: args.margin,
        patience: args.patience,
        ponder: args.ponder,
        seed: args.seed,
        memory,
        compiler: Some(compiler),
        log: Arc::new(|line| {
            let hint = if line.contains("memory limit") { "; raise --memory" } else { "" };
            status!("{}{hint}", line.replace(char::is_control, " "));
        }),
    });
    let address = (args.host.as_str(), args.port);
    let server = Server::bind(address).with_context(|| format!("cannot listen on {}:{}", args.host, args.port))?;
    let stop = ctx.stop()?;
    output::print_line(&server.address()?.to_string())?;
    server.run(Arc::new(move |text, arrived| player.answer_text(text, arrived)), &stop);
    Ok(CommandOutcome::Answered)
}
