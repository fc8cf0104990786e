use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use sternhalma_ggp::Policy;
use sternhalma_ggp::gdl::network::{Network, NetworkGame};
use sternhalma_ggp::protocol::http::Server;
use sternhalma_ggp::protocol::{EngineFactory, GgpPlayer, PlayerOptions};

use crate::args::values::{seconds, symbol};
use crate::context::CommandContext;
use crate::output::{self, CommandOutcome, status};

/// Play any game with game managers, over HTTP
///
/// Prints the address it listens at, and a line an event on stderr. Ctrl-C ends it.
#[derive(clap::Args)]
pub struct Args {
    /// The port to listen at; 0 for a free one
    #[arg(long, default_value_t = 9147)]
    port: u16,
    /// The address to listen at
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    host: String,
    /// How moves are found: a policy like `nst,epsilon=0.1`, or `random`
    #[arg(long, default_value = "adaptive")]
    policy: Policy,
    /// The name to give
    #[arg(long, default_value = "sternhalma", value_parser = symbol)]
    name: String,
    /// Answer so long before a clock runs out, or after half of the clock if that is later
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    margin: Duration,
    /// Give a match up that is not heard of for its clock and so long
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    patience: Duration,
    /// Think on the time of others, too
    #[arg(long)]
    ponder: bool,
    /// The seed of all randomness
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

pub fn run(ctx: &CommandContext, args: &Args) -> Result<CommandOutcome> {
    let player = GgpPlayer::new(PlayerOptions {
        name: args.name.clone(),
        policy: args.policy.clone(),
        margin: args.margin,
        patience: args.patience,
        ponder: args.ponder,
        seed: args.seed,
        compiler: Some(EngineFactory::new(|rules, over| {
            Network::unless(rules, over).map(|network| NetworkGame::new(network).with_rules(rules.clone()))
        })),
        log: Arc::new(|line| status!("{}", line.replace(char::is_control, " "))),
    });
    let address = (args.host.as_str(), args.port);
    let server = Server::bind(address).with_context(|| format!("cannot listen at {}:{}", args.host, args.port))?;
    let stop = ctx.stop()?;
    output::print_line(&server.address()?.to_string())?;
    server.run(Arc::new(move |text, arrived| player.answer_text(text, arrived)), &stop);
    Ok(CommandOutcome::Answered)
}
